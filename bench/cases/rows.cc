// Kernels of rows: softmax, norms, reductions.
#include <array>
#include <cmath>

#include "../bench.h"

namespace weft::bench {
namespace {

void row_kernels(KernelBench& b, DType type, std::int64_t rows, std::int64_t columns) {
  const View x = b.random({rows, columns}, type), scale = b.random({columns}, type), y = b.poisoned({rows, columns}, type);
  const auto elements = static_cast<double>(rows * columns);
  const double bytes = elements * bits(type) / 8, tolerance = type == DType::f32 ? 1e-5 : 4e-3;
  const auto label = [&](const char* op) { return std::format("{} {} [{}, {}]", op, name(type), rows, columns); };
  const auto last_row = [&] { return b.read(x, (rows - 1) * columns, columns); };
  const auto result = [&](std::int64_t i) { return b.read(y, (rows - 1) * columns + i, 1)[0]; };
  b.measure(label("softmax"), Unit::bytes, 2 * bytes, [&](Stream& s) { kernels::softmax(s, x, y, -1); }, [&] {
    const auto in = last_row();
    double sum = 0;
    for (double v : in) sum += std::exp(v);
    return close(result(7), std::exp(in[7]) / sum, tolerance);
  }, {.functions = 0.6 * elements});
  b.measure(label("layer norm"), Unit::bytes, 2 * bytes,
            [&](Stream& s) { kernels::layer_norm(s, x, scale, scale, y, 1, 1e-5f); }, [&] {
              const auto in = last_row();
              double mean = 0, variance = 0;
              for (double v : in) mean += v / static_cast<double>(columns);
              for (double v : in) variance += (v - mean) * (v - mean) / static_cast<double>(columns);
              const double w = b.read(scale, 7, 1)[0];
              return close(result(7), (in[7] - mean) / std::sqrt(variance + 1e-5) * w + w, tolerance);
            }, {.functions = 0.3 * elements});
  const View sums = b.poisoned({rows, 1}, type);
  constexpr std::array<int, 1> kLast{1};
  b.measure(label("sum of rows"), Unit::bytes, bytes,
            [&](Stream& s) { kernels::reduce(s, kernels::ReduceOp::sum, x, sums, kLast); }, [&] {
              double sum = 0;
              for (double v : last_row()) sum += v;
              return close(b.read(sums, rows - 1, 1)[0], sum, 10 * tolerance);
            }, {.functions = 0.1 * elements});
}

void cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) row_kernels(b, type, b.bytes() * 8 / bits(type) / 1024, 1024);
  for (const std::int64_t mebibytes : {1, 4, 16, 64}) {
    if (mebibytes << 20 < b.bytes()) row_kernels(b, DType::f32, mebibytes << 8, 1024);
  }
}

const bool registered = register_cases("rows", cases);

}  // namespace
}  // namespace weft::bench
