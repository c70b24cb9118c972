#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention/attention.h"
#include "kernels/cpu_loops.h"

namespace weft::kernels {
namespace {

// The view's elements in row-major order.
std::vector<double> read(const View& view) {
  std::vector<double> values;
  if (view.count() == 0) return values;
  values.reserve(static_cast<std::size_t>(view.count()));
  with_type(view.dtype, [&]<class T>() {
    if constexpr (std::is_convertible_v<T, double>) {
      const T* source = data<const T>(view);
      for_each_offset<1>(view.shape(), {view.strides()},
                         [&](std::int64_t i) { values.push_back(static_cast<double>(source[i])); });
    }
  });
  return values;
}

}  // namespace

void attention_plain(const AttentionCall& a) {
  const std::vector<double> q = read(a.q), k = read(a.k), v = read(a.v);
  const std::vector<double> mask = a.mask ? read(*a.mask) : std::vector<double>();
  const bool boolean = a.mask && a.mask->dtype == DType::boolean;
  const auto hides = [&](std::int64_t at) {
    return a.mask && (boolean ? mask[at] == 0 : mask[at] == -std::numeric_limits<double>::infinity());
  };
  constexpr double kHidden = -std::numeric_limits<double>::infinity();

  std::vector<double> y, log_sums, weights(static_cast<std::size_t>(a.keys));
  const std::int64_t heads = a.kv_heads * a.group;
  for (std::int64_t row = 0; row < a.batch * heads * a.queries; ++row) {
    const std::int64_t query = row % a.queries;
    const std::int64_t head = row / a.queries;  // counted through the batch
    const std::int64_t kv = head / a.group;
    const AttentionCall::Keys seen = a.seen(head / heads, query);
    double highest = kHidden;
    bool nan = false;
    for (std::int64_t key = seen.first; key < seen.end; ++key) {
      double score = 0;
      for (std::int64_t d = 0; d < a.dim; ++d) score += q[row * a.dim + d] * k[(kv * a.keys + key) * a.dim + d];
      score *= a.options.scale;
      if (a.mask && !boolean) score += mask[row * a.keys + key];
      if (hides(row * a.keys + key)) score = kHidden;
      weights[key] = score;
      nan |= std::isnan(score);
      highest = std::max(highest, score);
    }
    double sum = 0;
    for (std::int64_t key = seen.first; key < seen.end; ++key) {
      double& w = weights[key];
      // Nothing is visible if even the highest score is -inf; an infinite score gives NaN.
      w = nan ? std::nan("") : highest == kHidden ? 0 : std::exp(w - highest);
      sum += w;
    }
    log_sums.push_back(sum == 0 ? kHidden : highest + std::log(sum));
    for (std::int64_t d = 0; d < a.value_dim; ++d) {
      double value = 0;
      for (std::int64_t key = seen.first; key < seen.end; ++key) {
        if (!hides(row * a.keys + key)) value += weights[key] * v[(kv * a.keys + key) * a.value_dim + d];
      }
      y.push_back(sum == 0 ? a.empty() * 0 : value / sum);
    }
  }
  if (a.log_sums) {
    const double* next = log_sums.data();
    for_each_offset<1>(a.log_sums->shape(), {a.log_sums->strides()},
                       [&](std::int64_t i) { data<float>(*a.log_sums)[i] = static_cast<float>(*next++); });
  }
  with_type(a.y.dtype, [&]<class T>() {
    if constexpr (std::is_constructible_v<T, float>) {
      T* target = data<T>(a.y);
      const double* next = y.data();
      for_each_offset<1>(a.y.shape(), {a.y.strides()},
                         [&](std::int64_t i) { target[i] = static_cast<T>(static_cast<float>(*next++)); });
    }
  });
}

}  // namespace weft::kernels
