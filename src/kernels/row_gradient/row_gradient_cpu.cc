#include <cmath>

#include "kernels/common/row_fusion_cpu.h"
#include "kernels/row_gradient/row_gradient.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

constexpr int kLanes = 16;

// The sum of f(i) over a row, in double.
template <class F>
WEFT_INLINE double sum_of(std::int64_t n, F&& f) {
  double sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) sums[k] += f(i + k);
  }
  for (; i < n; ++i) sums[0] += f(i);
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

// dx may be x or g.
template <class T>
WEFT_INLINE void gradient_row_of(const T* x, const T* g, const T* scale, T* dx, std::int64_t n, RowGradientKind kind,
                                 double epsilon) {
  const auto wide = [](T v) { return static_cast<double>(v); };
  if (kind == RowGradientKind::softmax) {
    const double sum = sum_of(n, [&](std::int64_t i) { return wide(x[i]) * wide(g[i]); });
    for (std::int64_t i = 0; i < n; ++i) dx[i] = static_cast<T>(wide(x[i]) * (wide(g[i]) - sum));
    return;
  }
  if (kind == RowGradientKind::log_softmax) {
    const double sum = sum_of(n, [&](std::int64_t i) { return wide(g[i]); });
    for (std::int64_t i = 0; i < n; ++i) dx[i] = static_cast<T>(wide(g[i]) - std::exp(wide(x[i])) * sum);
    return;
  }
  const bool centred = kind == RowGradientKind::centred;
  const double share = 1 / static_cast<double>(n);
  const auto d = [&](std::int64_t i) { return wide(g[i]) * wide(scale[i]); };
  const double mean = centred ? sum_of(n, [&](std::int64_t i) { return wide(x[i]); }) * share : 0;
  const double d_mean = centred ? sum_of(n, d) * share : 0;
  const double square = sum_of(n, [&](std::int64_t i) { return (wide(x[i]) - mean) * (wide(x[i]) - mean); }) * share;
  const double factor = 1 / std::sqrt(square + epsilon);
  const double product = sum_of(n, [&](std::int64_t i) { return d(i) * ((wide(x[i]) - mean) * factor); }) * share;
  for (std::int64_t i = 0; i < n; ++i) {
    dx[i] = static_cast<T>(factor * ((d(i) - d_mean) - (wide(x[i]) - mean) * factor * product));
  }
}

WEFT_VECTOR_CLONES
void gradient_row(const float* x, const float* g, const float* scale, float* dx, std::int64_t n, RowGradientKind kind,
                  double epsilon) {
  gradient_row_of(x, g, scale, dx, n, kind, epsilon);
}
void gradient_row(const double* x, const double* g, const double* scale, double* dx, std::int64_t n,
                  RowGradientKind kind, double epsilon) {
  gradient_row_of(x, g, scale, dx, n, kind, epsilon);
}

template <class T>
void run(cpu::Executor& executor, const RowGradient& gradient, const Rows& rows) {
  const std::vector<View>& operands = gradient.views.operands;
  const RowReader<T> g(operands[0], rows, 1);
  std::optional<RowReader<T>> scale;
  if (operands.size() > 1) scale.emplace(operands[1], rows, 2);
  const auto n = static_cast<std::size_t>(rows.length);
  for_each_row<T>(executor, gradient.views, rows, [&](const T* x, T* dx, std::int64_t length, std::int64_t row) {
    thread_local std::vector<T> cotangents, factors;
    if (!g.direct()) {
      cotangents.resize(n);
      g.gather(row, 1, cotangents.data());
    }
    factors.resize(n);
    if (scale)
      scale->gather(row, 1, factors.data());
    else
      std::ranges::fill(factors, T(1));
    gradient_row(x, g.direct() ? g.direct_row(row) : cotangents.data(), factors.data(), dx, length, gradient.kind,
                 gradient.epsilon);
  });
}

// Blocks of rows add up by themselves, then all blocks in their order.
template <class T>
void run_weights(cpu::Executor& executor, const RowGradient& gradient, const Rows& rows, const View& dscale,
                 const std::optional<View>& dbias) {
  const bool centred = gradient.kind == RowGradientKind::centred;
  const RowReader<T> x(gradient.views.inputs[0], rows, 0), g(gradient.views.operands[0], rows, 1);
  const std::int64_t n = rows.length, blocks = std::min<std::int64_t>(rows.count, 64);
  const auto wide = [](T v) { return static_cast<double>(v); };
  std::vector<double> sums = host_list<double>(blocks * 2 * n);
  parallel(executor, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> values(static_cast<std::size_t>(n)), cotangents(static_cast<std::size_t>(n));
    for (std::int64_t b = begin; b < end; ++b) {
      double *const of_scale = &sums[static_cast<std::size_t>(b * 2 * n)], *const of_bias = of_scale + n;
      for (std::int64_t row = b * rows.count / blocks; row < (b + 1) * rows.count / blocks; ++row) {
        x.gather(row, 1, values.data());
        g.gather(row, 1, cotangents.data());
        const double share = 1 / static_cast<double>(n);
        const double mean = centred ? sum_of(n, [&](std::int64_t i) { return wide(values[i]); }) * share : 0;
        const double square =
            sum_of(n, [&](std::int64_t i) { return (wide(values[i]) - mean) * (wide(values[i]) - mean); }) * share;
        const double factor = 1 / std::sqrt(square + static_cast<double>(gradient.epsilon));
        for (std::int64_t i = 0; i < n; ++i) {
          of_scale[i] += wide(cotangents[i]) * ((wide(values[i]) - mean) * factor);
          of_bias[i] += wide(cotangents[i]);
        }
      }
    }
  });
  for (std::int64_t b = 1; b < blocks; ++b) {
    for (std::int64_t i = 0; i < 2 * n; ++i)
      sums[static_cast<std::size_t>(i)] += sums[static_cast<std::size_t>(b * 2 * n + i)];
  }
  const auto put = [&](std::int64_t first, const View& result) {
    const View from(Buffer::host(static_cast<std::uint64_t>(n) * 8), 0, DType::f64, result.shape());
    std::copy_n(&sums[static_cast<std::size_t>(first)], n, reinterpret_cast<double*>(from.buffer.data()));
    copy(executor, from, result);
  };
  put(0, dscale);
  if (dbias) put(n, *dbias);
}

bool in_f64(const RowGradient& gradient) {
  return gradient.views.computes_in_f64() ||
         std::ranges::any_of(gradient.views.operands, [](const View& v) { return v.dtype == DType::f64; });
}

}  // namespace

void row_gradient_weights_cpu(cpu::Executor& executor, const RowGradient& gradient, const Rows& rows,
                              const View& dscale, const std::optional<View>& dbias) {
  in_f64(gradient) ? run_weights<double>(executor, gradient, rows, dscale, dbias)
                   : run_weights<float>(executor, gradient, rows, dscale, dbias);
}

void row_gradient_cpu(cpu::Executor& executor, const RowGradient& gradient, const Rows& rows) {
  if (in_f64(gradient))
    run<double>(executor, gradient, rows);
  else
    run<float>(executor, gradient, rows);
}

}  // namespace weft::kernels
