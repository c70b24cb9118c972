#include "kernels/norm/layer_norm_cpu.h"

#include <cmath>

#include "kernels/common/rows_cpu.h"

namespace weft::kernels {
namespace {

constexpr int kLanes = 16;

// Two passes in double: the mean, then the squared deviations from it.
template <class T>
inline __attribute__((always_inline)) void layer_norm_row_of(const T* x, const T* scale, const T* bias, T* y,
                                                             std::int64_t n, double epsilon) {
  double sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) sums[k] += static_cast<double>(x[i + k]);
  }
  for (; i < n; ++i) sums[0] += static_cast<double>(x[i]);
  double mean = 0;
  for (double s : sums) mean += s;
  mean /= static_cast<double>(n);

  double squares[kLanes] = {};
  for (i = 0; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) {
      const double d = static_cast<double>(x[i + k]) - mean;
      squares[k] += d * d;
    }
  }
  for (; i < n; ++i) squares[0] += (static_cast<double>(x[i]) - mean) * (static_cast<double>(x[i]) - mean);
  double variance = 0;
  for (double s : squares) variance += s;
  const double factor = 1 / std::sqrt(variance / static_cast<double>(n) + epsilon);
  for (i = 0; i < n; ++i) {
    y[i] = static_cast<T>((static_cast<double>(x[i]) - mean) * factor * static_cast<double>(scale[i]) +
                          static_cast<double>(bias[i]));
  }
}

WEFT_VECTOR_CLONES
void layer_norm_row(const float* x, const float* scale, const float* bias, float* y, std::int64_t n, double epsilon) {
  layer_norm_row_of(x, scale, bias, y, n, epsilon);
}
void layer_norm_row(const double* x, const double* scale, const double* bias, double* y, std::int64_t n,
                    double epsilon) {
  layer_norm_row_of(x, scale, bias, y, n, epsilon);
}

// A weight as a dense array along a row; without one, `neutral` throughout.
template <class T>
std::vector<T> dense_weight(const std::optional<View>& weight, const Rows& rows, std::size_t operand, T neutral) {
  std::vector<T> values(rows.length, neutral);
  if (weight) RowReader<T>(*weight, rows, operand).gather(0, 1, values.data());
  return values;
}

}  // namespace

void layer_norm_cpu(cpu::Executor& executor, const View& x, const std::optional<View>& scale,
                    const std::optional<View>& bias, const View& y, const Rows& rows, float epsilon) {
  const auto run = [&]<class T>() {
    const std::vector<T> factors = dense_weight<T>(scale, rows, 2, 1);
    const std::vector<T> addends = dense_weight<T>(bias, rows, scale ? 3 : 2, 0);
    for_each_row<T>(executor, x, y, rows, [&](const T* in, T* out, std::int64_t n) {
      layer_norm_row(in, factors.data(), addends.data(), out, n, epsilon);
    });
  };
  const auto is_f64 = [](const View& v) { return v.dtype == DType::f64; };
  if (is_f64(x) || is_f64(y) || (scale && is_f64(*scale)) || (bias && is_f64(*bias))) {
    run.template operator()<double>();
  } else {
    run.template operator()<float>();
  }
}

}  // namespace weft::kernels
