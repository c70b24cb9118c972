#include "kernels/norm/row_norm.h"

#include <cmath>

#include "kernels/common/row_fusion_cpu.h"

namespace weft::kernels {
namespace {

constexpr int kLanes = 16;

// Two passes in double: the mean if needed, then the squared deviations from it.
template <class T>
WEFT_INLINE void norm_row_of(const T* x, const T* scale, const T* bias, T* y, std::int64_t n, bool centred,
                             double epsilon) {
  double mean = 0;
  std::int64_t i = 0;
  if (centred) {
    double sums[kLanes] = {};
    for (; i + kLanes <= n; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) sums[k] += static_cast<double>(x[i + k]);
    }
    for (; i < n; ++i) sums[0] += static_cast<double>(x[i]);
    for (double s : sums) mean += s;
    mean /= static_cast<double>(n);
  }

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
void norm_row(const float* x, const float* scale, const float* bias, float* y, std::int64_t n, bool centred,
              double epsilon) {
  norm_row_of(x, scale, bias, y, n, centred, epsilon);
}
void norm_row(const double* x, const double* scale, const double* bias, double* y, std::int64_t n, bool centred,
              double epsilon) {
  norm_row_of(x, scale, bias, y, n, centred, epsilon);
}

// A weight as a dense array along a row; `neutral` if there is none. Gathered once if all rows have the same.
template <class T>
class Weight {
 public:
  Weight(const std::optional<View>& view, const Rows& rows, std::size_t operand, T neutral)
      : values_(rows.length, neutral) {
    if (!view) return;
    reader_.emplace(*view, rows, operand);
    const Strides& outer = rows.outer.strides[operand];
    varies_ = std::ranges::any_of(outer, [](std::int64_t s) { return s != 0; });
    if (!varies_) reader_->gather(0, 1, values_.data());
  }
  const T* row(std::int64_t row, std::vector<T>& memory) const {
    if (!varies_) return values_.data();
    memory.resize(values_.size());
    reader_->gather(row, 1, memory.data());
    return memory.data();
  }

 private:
  std::optional<RowReader<T>> reader_;
  std::vector<T> values_;
  bool varies_ = false;
};

}  // namespace

void row_norm_cpu(cpu::Executor& executor, const RowNorm& norm, const Rows& rows) {
  const std::size_t weights = norm.views.all().size();
  const auto run = [&]<class T>() {
    const Weight<T> scale(norm.scale, rows, weights, 1), bias(norm.bias, rows, weights + (norm.scale ? 1 : 0), 0);
    for_each_row<T>(executor, norm.views, rows, [&](const T* in, T* out, std::int64_t n, std::int64_t row) {
      thread_local std::vector<T> factors, addends;
      norm_row(in, scale.row(row, factors), bias.row(row, addends), out, n, norm.centred, norm.epsilon);
    });
  };
  const auto is_f64 = [](const std::optional<View>& v) { return v && v->dtype == DType::f64; };
  if (norm.views.computes_in_f64() || is_f64(norm.scale) || is_f64(norm.bias))
    run.template operator()<double>();
  else
    run.template operator()<float>();
}

}  // namespace weft::kernels
