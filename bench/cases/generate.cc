// Kernels that only write: fills and random numbers.
#include <cmath>
#include <cstring>
#include <format>
#include <numeric>

#include "../bench.h"

namespace weft::bench {
namespace {

void generate_cases(KernelBench& b) {
  const View key(b.device().allocate(8), 0, DType::u32, {2});
  const std::uint32_t words[] = {123, 456};
  b.device().upload(key.buffer, 0, std::as_bytes(std::span(words)));
  for (const DType type : {DType::f32, DType::f16}) {
    const std::int64_t count = b.bytes() * 8 / bits(type);
    const View y = b.poisoned({count}, type);
    const auto bytes = static_cast<double>(b.bytes());
    const auto label = [&](const char* what) { return std::format("{} {} [{}]", what, name(type), count); };
    const auto mean_square = [&] {
      const std::vector<double> v = b.read(y, count - 65536, 65536);
      return std::inner_product(v.begin(), v.end(), v.begin(), 0.0) / static_cast<double>(v.size());
    };
    b.measure(label("fill"), Unit::bytes, bytes, [&](Stream& s) { kernels::fill(s, 1.5, y); },
              [&] { return b.read(y, count - 1, 1)[0] == 1.5; });
    b.measure(label("random uniform"), Unit::bytes, bytes, [&](Stream& s) { kernels::random_uniform(s, key, 0, 1, y); },
              [&] { return close(mean_square(), 1.0 / 3, 0.02); });
    b.measure(label("random normal"), Unit::bytes, bytes, [&](Stream& s) { kernels::random_normal(s, key, 0, 1, y); },
              [&] { return close(mean_square(), 1, 0.02); });
  }
}

const bool registered = register_cases("generate", generate_cases);

}  // namespace
}  // namespace weft::bench
