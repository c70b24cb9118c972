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

// Of a norm's row.
struct Moments {
  double mean = 0, factor = 0;
};

// dx may be x or g.
template <class T>
WEFT_INLINE Moments gradient_row_of(const T* x, const T* g, const T* scale, T* dx, std::int64_t n, RowGradientKind kind,
                                    double epsilon) {
  const auto wide = [](T v) { return static_cast<double>(v); };
  if (kind == RowGradientKind::softmax) {
    const double sum = sum_of(n, [&](std::int64_t i) { return wide(x[i]) * wide(g[i]); });
    for (std::int64_t i = 0; i < n; ++i) dx[i] = static_cast<T>(wide(x[i]) * (wide(g[i]) - sum));
    return {};
  }
  if (kind == RowGradientKind::log_softmax) {
    const double sum = sum_of(n, [&](std::int64_t i) { return wide(g[i]); });
    for (std::int64_t i = 0; i < n; ++i) dx[i] = static_cast<T>(wide(g[i]) - std::exp(wide(x[i])) * sum);
    return {};
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
  return {mean, factor};
}

WEFT_VECTOR_CLONES
Moments gradient_row(const float* x, const float* g, const float* scale, float* dx, std::int64_t n,
                     RowGradientKind kind, double epsilon) {
  return gradient_row_of(x, g, scale, dx, n, kind, epsilon);
}
Moments gradient_row(const double* x, const double* g, const double* scale, double* dx, std::int64_t n,
                     RowGradientKind kind, double epsilon) {
  return gradient_row_of(x, g, scale, dx, n, kind, epsilon);
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

// What a norm's rows leave for its weights: in double, for elements that are adjacent.
template <class T>
WEFT_INLINE void add_row_of(const T* x, const T* g, const Moments& m, std::int64_t n, double* of_scale,
                            double* of_bias) {
  for (std::int64_t i = 0; i < n; ++i) {
    of_scale[i] += static_cast<double>(g[i]) * ((static_cast<double>(x[i]) - m.mean) * m.factor);
    of_bias[i] += static_cast<double>(g[i]);
  }
}
WEFT_VECTOR_CLONES
void add_row(const float* x, const float* g, const Moments& m, std::int64_t n, double* of_scale, double* of_bias) {
  add_row_of(x, g, m, n, of_scale, of_bias);
}
WEFT_VECTOR_CLONES
void add_row(const double* x, const double* g, const Moments& m, std::int64_t n, double* of_scale, double* of_bias) {
  add_row_of(x, g, m, n, of_scale, of_bias);
}

// The same for elements of one weight.
template <class T>
WEFT_INLINE void add_run_of(const T* x, const T* g, const Moments& m, std::int64_t n, double& of_scale,
                            double& of_bias) {
  const auto wide = [](T v) { return static_cast<double>(v); };
  of_scale += sum_of(n, [&](std::int64_t i) { return wide(g[i]) * ((wide(x[i]) - m.mean) * m.factor); });
  of_bias += sum_of(n, [&](std::int64_t i) { return wide(g[i]); });
}
WEFT_VECTOR_CLONES
void add_run(const float* x, const float* g, const Moments& m, std::int64_t n, double& of_scale, double& of_bias) {
  add_run_of(x, g, m, n, of_scale, of_bias);
}
WEFT_VECTOR_CLONES
void add_run(const double* x, const double* g, const Moments& m, std::int64_t n, double& of_scale, double& of_bias) {
  add_run_of(x, g, m, n, of_scale, of_bias);
}

// Adjacent elements of a row that have one weight.
struct Run {
  std::int64_t begin = 0, length = 0, weight = 0;
};
std::vector<Run> runs_of(const RowSteps& steps, std::int64_t n) {
  std::vector<Run> runs;
  for (std::int64_t i = 0; i < n; ++i) {
    if (runs.empty() || runs.back().weight != steps[i]) runs.push_back({i, 0, steps[i]});
    ++runs.back().length;
  }
  return runs;
}

// Blocks of rows add up by themselves, then all blocks in their order.
template <class T>
void run_weights(cpu::Executor& executor, const RowGradient& gradient, const View& index, const View& dscale,
                 const std::optional<View>& dbias) {
  const RowViews& views = gradient.views;
  std::vector<Strides> strides;
  for (const View& v : views.all()) strides.push_back(v.strides());
  strides.push_back(index.strides());
  const Rows rows = rows_along(views.shape(), gradient.along, strides);
  const std::int64_t n = rows.length, weights = dscale.count();
  const RowReader<T> x(views.inputs[0], rows, 0), g(views.operands[0], rows, 1), scale(views.operands[1], rows, 2),
      dx(views.results[0], rows, 3);
  const Layout first_weight{rows.outer.shape, rows.outer.strides[4]};
  const RowSteps steps(rows.inner, 4, n);
  const std::vector<Run> runs = steps.contiguous() ? std::vector<Run>() : runs_of(steps, n);
  constexpr std::int64_t kMostBlocks = 64, kMostBytes = 64 << 20, kGathered = 1 << 16;
  const std::int64_t blocks =
      std::clamp<std::int64_t>(kMostBytes / (16 * weights), 1, std::min(rows.count, kMostBlocks));
  const std::int64_t beside = std::clamp<std::int64_t>(kGathered / n, 1, RowReader<T>::kBlock);
  std::vector<double> sums = host_list<double>(blocks * 2 * weights);
  parallel(executor, blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<T> values = host_list<T>(beside * n), cotangents = values, factors = values, made = values;
    for (std::int64_t b = begin; b < end; ++b) {
      double *const of_scale = &sums[static_cast<std::size_t>(b * 2 * weights)], *const of_bias = of_scale + weights;
      const std::int64_t last = (b + 1) * rows.count / blocks;
      for (std::int64_t row = b * rows.count / blocks; row < last; row += beside) {
        const std::int64_t count = std::min(beside, last - row);
        x.gather(row, count, values.data());
        g.gather(row, count, cotangents.data());
        scale.gather(row, count, factors.data());
        for (std::int64_t r = 0; r < count; ++r) {
          const T *const of_x = values.data() + r * n, *const of_g = cotangents.data() + r * n;
          const Moments m =
              gradient_row(of_x, of_g, factors.data() + r * n, made.data() + r * n, n, gradient.kind, gradient.epsilon);
          const std::int64_t at = offset_of(first_weight, row + r);
          if (steps.contiguous()) {
            add_row(of_x, of_g, m, n, of_scale + at, of_bias + at);
            continue;
          }
          for (const Run& run : runs) {
            add_run(of_x + run.begin, of_g + run.begin, m, run.length, of_scale[at + run.weight],
                    of_bias[at + run.weight]);
          }
        }
        dx.scatter(row, count, made.data());
      }
    }
  });
  for (std::int64_t b = 1; b < blocks; ++b) {
    for (std::int64_t i = 0; i < 2 * weights; ++i)
      sums[static_cast<std::size_t>(i)] += sums[static_cast<std::size_t>(b * 2 * weights + i)];
  }
  const auto put = [&](std::int64_t first, const View& result) {
    const View from(Buffer::host(static_cast<std::uint64_t>(weights) * 8), 0, DType::f64, result.shape());
    std::copy_n(&sums[static_cast<std::size_t>(first)], weights, reinterpret_cast<double*>(from.buffer.data()));
    copy(executor, from, result);
  };
  put(0, dscale);
  if (dbias) put(weights, *dbias);
}

bool in_f64(const RowGradient& gradient) {
  return gradient.views.computes_in_f64() ||
         std::ranges::any_of(gradient.views.operands, [](const View& v) { return v.dtype == DType::f64; });
}

}  // namespace

void row_gradient_weights_cpu(cpu::Executor& executor, const RowGradient& gradient, const View& index,
                              const View& dscale, const std::optional<View>& dbias) {
  in_f64(gradient) ? run_weights<double>(executor, gradient, index, dscale, dbias)
                   : run_weights<float>(executor, gradient, index, dscale, dbias);
}

void row_gradient_cpu(cpu::Executor& executor, const RowGradient& gradient, const Rows& rows) {
  if (in_f64(gradient))
    run<double>(executor, gradient, rows);
  else
    run<float>(executor, gradient, rows);
}

}  // namespace weft::kernels
