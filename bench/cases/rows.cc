// Kernels of rows: softmax, norms, reductions.
#include <array>
#include <cmath>

#include "../bench.h"

namespace weft::bench {
namespace {

void row_kernels(KernelBench& b, DType type, std::int64_t rows, std::int64_t columns) {
  const View x = b.random({rows, columns}, type), scale = b.random({columns}, type),
             y = b.poisoned({rows, columns}, type);
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

// a · scale + b, computed in f32, as `type`; with `both` the same as a second result.
Expression scaled_sum(DType type, double scale, bool both) {
  Expression e;
  const int a = e.cast(e.input(type), DType::f32);
  const int sum = e.apply(
      ScalarOp::add, {e.apply(ScalarOp::mul, {a, e.constant(scale, DType::f32)}), e.cast(e.input(type), DType::f32)});
  e.output(sum);
  if (both) e.output(e.cast(sum, type));
  return e;
}

// With elementwise work before them, in one dispatch.
void row_work(KernelBench& b, DType type, std::int64_t rows, std::int64_t columns) {
  const View x = b.random({rows, columns}, type), more = b.random({rows, columns}, type),
             row = b.random({columns}, type);
  const View y = b.poisoned({rows, columns}, type), sum = b.poisoned({rows, columns}, type);
  const auto elements = static_cast<double>(rows * columns);
  const double bytes = elements * bits(type) / 8, tolerance = type == DType::f32 ? 1e-5 : 4e-3;
  const auto label = [&](const char* op) { return std::format("{} {} [{}, {}]", op, name(type), rows, columns); };
  const auto last = [&](const View& v) { return b.read(v, (rows - 1) * columns, columns); };
  const Expression masked = scaled_sum(type, 0.125, false), residual = scaled_sum(type, 1, true);
  b.measure(label("softmax of scaled x + mask"), Unit::bytes, 2 * bytes,
            [&](Stream& s) { kernels::softmax(s, std::array{x, row}, std::array{y}, -1, {.before = &masked}); }, [&] {
    const auto in = last(x), mask = b.read(row, 0, columns);
    double all = 0;
    for (std::size_t i = 0; i < in.size(); ++i) all += std::exp(0.125 * in[i] + mask[i]);
    return close(last(y)[7], std::exp(0.125 * in[7] + mask[7]) / all, tolerance);
  }, {.functions = 0.75 * elements});
  b.measure(label("layer norm of x + r, both"), Unit::bytes, 4 * bytes, [&](Stream& s) {
    kernels::layer_norm(s, std::array{x, more}, row, row, std::array{y, sum}, 1, 1e-5f, {.before = &residual});
  }, [&] {
    auto in = last(x);
    const auto other = last(more);
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < in.size(); ++i) mean += (in[i] += other[i]) / static_cast<double>(columns);
    for (double v : in) variance += (v - mean) * (v - mean) / static_cast<double>(columns);
    const double w = b.read(row, 7, 1)[0];
    return close(last(sum)[7], in[7], tolerance) &&
           close(last(y)[7], (in[7] - mean) / std::sqrt(variance + 1e-5) * w + w, 4 * tolerance);
  }, {.functions = 0.4 * elements});
}

void cases(KernelBench& b) {
  const auto all = [&](std::int64_t bytes) {
    for (const DType type : {DType::f32, DType::f16}) {
      const std::int64_t rows = bytes * 8 / bits(type) / 1024;
      if (type == DType::f32 || bytes == b.bytes()) row_kernels(b, type, rows, 1024);
      row_work(b, type, rows, 1024);
    }
  };
  all(b.bytes());
  for (const std::int64_t mebibytes : {1, 4, 16, 64}) {
    if (mebibytes << 20 < b.bytes()) all(mebibytes << 20);
  }
}

const bool registered = register_cases("rows", cases);

}  // namespace
}  // namespace weft::bench
