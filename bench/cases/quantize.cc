// Quantisation: a scale for the tensor, for each row, and for blocks of 32 elements.
#include "weft/kernels/quantize.h"

#include <format>

#include "../bench.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kColumns = 4096, kBlock = 32;

View in_blocks(const View& v) { return View(v.buffer, v.offset, v.dtype, {v.shape()[0], kColumns / kBlock, kBlock}); }

void quantize_cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    const std::int64_t rows = b.bytes() * 8 / bits(type) / kColumns;
    const View x = b.random({rows, kColumns}, type);
    const View one = b.random({}, DType::f32, 0.01f, 0.02f), row = b.random({rows, 1}, DType::f32, 0.01f, 0.02f);
    const View block = b.random({rows, kColumns / kBlock, 1}, DType::f16, 0.01f, 0.02f);
    for (const DType q_type : {DType::i8, DType::u4, DType::f8e4m3}) {
      const View q = b.poisoned({rows, kColumns}, q_type), y = b.poisoned({rows, kColumns}, type);
      const auto bytes = static_cast<double>(byte_size(type, static_cast<std::uint64_t>(x.count())) +
                                             byte_size(q_type, static_cast<std::uint64_t>(x.count())));
      const auto measure = [&](std::string_view what, const Call& call) {
        b.measure(std::format("{} {} {} [{}, {}]", what, name(type), name(q_type), rows, kColumns), Unit::bytes, bytes,
                  call, {});
      };
      const std::pair<const char*, const View*> scales[] = {{"", &one}, {" rows", &row}};
      for (const auto& [of, scale] : scales) {
        measure(std::format("quantize{}", of), [&](Stream& s) { kernels::quantize(s, x, *scale, {}, q); });
        measure(std::format("dequantize{}", of), [&](Stream& s) { kernels::dequantize(s, q, *scale, {}, y); });
      }
      measure("quantize blocks", [&](Stream& s) { kernels::quantize(s, in_blocks(x), block, {}, in_blocks(q)); });
      measure("dequantize blocks", [&](Stream& s) { kernels::dequantize(s, in_blocks(q), block, {}, in_blocks(y)); });
    }
    const View y = b.poisoned({rows, kColumns}, type);
    const auto twice = 2 * static_cast<double>(byte_size(type, static_cast<std::uint64_t>(x.count())));
    b.measure(std::format("fake_quantize {} [{}, {}]", name(type), rows, kColumns), Unit::bytes, twice,
              [&](Stream& s) { kernels::fake_quantize(s, x, one, {}, y); }, {});
  }
}

const bool registered = register_cases("quantize", quantize_cases);

}  // namespace
}  // namespace weft::bench
