// The gradient of attention on the CPU, in f64: a head of keys and values is a piece of work, so that no two threads
// add to the same gradient.
#include <cmath>
#include <limits>
#include <vector>

#include "core/host_memory.h"
#include "kernels/attention/attention.h"
#include "kernels/cpu_loops.h"

namespace weft::kernels {
namespace {

// `count` elements from `start` on.
void read(const View& view, std::int64_t start, std::int64_t stride, std::int64_t count, double* out) {
  with_type(view.dtype, [&]<class T>() {
    if constexpr (std::is_convertible_v<T, double>) {
      const T* source = data<const T>(view) + start;
      for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<double>(source[i * stride]);
    }
  });
}

void write(const View& view, std::int64_t start, std::int64_t stride, std::int64_t count, const double* values) {
  with_type(view.dtype, [&]<class T>() {
    if constexpr (std::is_constructible_v<T, float>) {
      T* target = data<T>(view) + start;
      for (std::int64_t i = 0; i < count; ++i) target[i * stride] = static_cast<T>(static_cast<float>(values[i]));
    }
  });
}

// The sum of products, in eight sums that a vector holds.
double dot(const double* a, const double* b, std::int64_t count) {
  constexpr int kSums = 8;
  double sums[kSums] = {};
  std::int64_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (int s = 0; s < kSums; ++s) sums[s] += a[i + s] * b[i + s];
  }
  double sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const double s : sums) sum += s;
  return sum;
}

void add(double factor, const double* x, std::int64_t count, double* sum) {
  for (std::int64_t i = 0; i < count; ++i) sum[i] += factor * x[i];
}

std::int64_t row_start(const View& view, std::int64_t batch, std::int64_t head, std::int64_t i) {
  const Strides& s = view.strides();
  return batch * s[0] + head * s[1] + i * s[2];
}

// The rows of one head of keys or values.
std::vector<double> rows_of(const View& view, std::int64_t batch, std::int64_t head) {
  const std::int64_t count = view.shape()[2], width = view.shape()[3];
  std::vector<double> rows = host_list<double>(count * width);
  for (std::int64_t i = 0; i < count && width > 0; ++i) {
    read(view, row_start(view, batch, head, i), view.strides()[3], width, rows.data() + i * width);
  }
  return rows;
}

void write_rows(const View& view, std::int64_t batch, std::int64_t head, const std::vector<double>& rows) {
  const std::int64_t width = view.shape()[3];
  for (std::int64_t i = 0; i < view.shape()[2] && width > 0; ++i) {
    write(view, row_start(view, batch, head, i), view.strides()[3], width, rows.data() + i * width);
  }
}

void run_head(const AttentionGradientCall& c, std::int64_t batch, std::int64_t kv_head) {
  const AttentionCall& a = c.forward;
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  const std::vector<double> k = rows_of(a.k, batch, kv_head), v = rows_of(a.v, batch, kv_head);
  std::vector<double> dk = host_list<double>(a.keys * a.dim), dv = host_list<double>(a.keys * a.value_dim);
  std::vector<double> q = host_list<double>(a.dim), dq = q, g = host_list<double>(a.value_dim),
                      weights = host_list<double>(a.keys), mask = weights;
  const bool boolean = a.mask && a.mask->dtype == DType::boolean;
  for (std::int64_t row = 0; row < a.rows(); ++row) {
    const std::int64_t head = kv_head * a.group + row / a.queries, query = row % a.queries;
    std::ranges::fill(dq, 0.0);
    const AttentionCall::Keys seen = a.seen(batch, query);
    double highest = kHidden, sum = 0;
    bool nan = false;
    if (seen.end > seen.first) {
      read(a.q, row_start(a.q, batch, head, query), a.q.strides()[3], a.dim, q.data());
      if (a.mask) {
        const std::int64_t stride = a.mask->strides()[3];
        read(*a.mask, row_start(*a.mask, batch, head, query) + seen.first * stride, stride, seen.end - seen.first,
             mask.data() + seen.first);
      }
      for (std::int64_t j = seen.first; j < seen.end; ++j) {
        double& w = weights[static_cast<std::size_t>(j)];
        w = dot(q.data(), k.data() + j * a.dim, a.dim) * a.options.scale;
        const double m = mask[static_cast<std::size_t>(j)];
        if (a.mask) w = boolean ? (m != 0 ? w : kHidden) : w + m;
        nan |= std::isnan(w);
        highest = std::max(highest, w);
      }
      for (std::int64_t j = seen.first; j < seen.end && (nan || highest != kHidden); ++j) {
        double& w = weights[static_cast<std::size_t>(j)];
        if (w != kHidden || nan)
          w = nan ? std::nan("") : std::exp(w - highest);
        else
          w = 0;
        sum += w;
      }
    }
    if (sum != 0) {
      double delta = 0;
      const Strides& s = c.delta.strides();
      read(c.delta, batch * s[0] + head * s[1] + query * s[2], 1, 1, &delta);
      if (a.value_dim > 0) read(a.y, row_start(a.y, batch, head, query), a.y.strides()[3], a.value_dim, g.data());
      for (std::int64_t j = seen.first; j < seen.end; ++j) {
        const double w = weights[static_cast<std::size_t>(j)] / sum;
        if (w == 0) continue;  // so that what is hidden does not reach the gradients
        const double of_score = w * (dot(g.data(), v.data() + j * a.value_dim, a.value_dim) - delta) * a.options.scale;
        add(of_score, k.data() + j * a.dim, a.dim, dq.data());
        add(of_score, q.data(), a.dim, dk.data() + j * a.dim);
        add(w, g.data(), a.value_dim, dv.data() + j * a.value_dim);
      }
    }
    write(c.dq, row_start(c.dq, batch, head, query), c.dq.strides()[3], a.dim, dq.data());
  }
  write_rows(c.dk, batch, kv_head, dk);
  write_rows(c.dv, batch, kv_head, dv);
}

}  // namespace

void attention_gradient_cpu(cpu::Executor& executor, const AttentionGradientCall& c) {
  const AttentionCall& a = c.forward;
  parallel(executor, a.batch * a.kv_heads, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) run_head(c, i / a.kv_heads, i % a.kv_heads);
  });
}

}  // namespace weft::kernels
