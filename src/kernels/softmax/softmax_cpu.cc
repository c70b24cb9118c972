#include "kernels/softmax/softmax_cpu.h"

#include <bit>
#include <cmath>
#include <format>
#include <limits>

#include "kernels/common/row_fusion_cpu.h"
#include "kernels/common/scratch_cpu.h"

namespace weft::kernels {
namespace {

// exp(x) for x <= 0 or NaN, within 2 ULP: 2^n · exp(r) with |r| <= ln 2 / 2, written so that compilers vectorise it. ln
// 2 is subtracted in two parts; the product of n and the first part is exact (Cody and Waite, 1980).
WEFT_INLINE float exp_below_zero(float x) {
  x = x < -104.0f ? -104.0f : x;           // NaN stays NaN
  constexpr float kRounder = 12582912.0f;  // 1.5 · 2^23: adding it rounds to an integer, in the low bits
  const float shifted = x * 1.44269504f + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  float e = 1.0f / 5040;
  e = e * r + 1.0f / 720;
  e = e * r + 1.0f / 120;
  e = e * r + 1.0f / 24;
  e = e * r + 1.0f / 6;
  e = e * r + 0.5f;
  e = e * r * r + r + 1.0f;
  // 2^n as two factors, since the result may be denormal.
  const auto power =
      static_cast<std::int32_t>(std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(kRounder));
  const std::int32_t half = power >> 1;
  const auto two_to = [](std::int32_t k) { return std::bit_cast<float>(static_cast<std::uint32_t>(k + 127) << 23); };
  return e * two_to(half) * two_to(power - half);
}

constexpr int kLanes = 16;

WEFT_VECTOR_CLONES
void softmax_row(const float* x, float* y, std::int64_t n, bool log) {
  float tops[kLanes];
  for (float& t : tops) t = std::numeric_limits<float>::lowest();
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) tops[k] = x[i + k] > tops[k] ? x[i + k] : tops[k];
  }
  for (; i < n; ++i) tops[0] = x[i] > tops[0] ? x[i] : tops[0];
  float top = tops[0];
  for (float t : tops) top = t > top ? t : top;

  double sums[kLanes] = {};
  for (i = 0; i + kLanes <= n; i += kLanes) {
    for (int k = 0; k < kLanes; ++k) {
      const float e = exp_below_zero(x[i + k] - top);
      sums[k] += static_cast<double>(e);
      if (!log) y[i + k] = e;  // y may be x, which the logarithm still needs
    }
  }
  for (; i < n; ++i) {
    const float e = exp_below_zero(x[i] - top);
    sums[0] += static_cast<double>(e);
    if (!log) y[i] = e;
  }
  double sum = 0;
  for (double s : sums) sum += s;
  if (log) {
    const double total = std::log(sum);
    for (i = 0; i < n; ++i) y[i] = static_cast<float>((static_cast<double>(x[i]) - static_cast<double>(top)) - total);
    return;
  }
  const auto scale = static_cast<float>(1 / sum);
  for (i = 0; i < n; ++i) y[i] *= scale;
}

constexpr std::int64_t kColumns = 64;  // adjacent columns

// For columns of n elements, [n][kColumns], in place.
WEFT_VECTOR_CLONES
void softmax_columns(float* x, std::int64_t n, bool log) {
  float tops[kColumns];
  double sums[kColumns] = {};
  for (float& t : tops) t = std::numeric_limits<float>::lowest();
  for (std::int64_t i = 0; i < n; ++i) {
    const float* const row = x + i * kColumns;
    for (int c = 0; c < kColumns; ++c) tops[c] = row[c] > tops[c] ? row[c] : tops[c];
  }
  for (std::int64_t i = 0; i < n; ++i) {
    float* const row = x + i * kColumns;
    for (int c = 0; c < kColumns; ++c) {
      const float e = exp_below_zero(row[c] - tops[c]);
      sums[c] += static_cast<double>(e);
      row[c] = log ? row[c] : e;
    }
  }
  if (log) {
    for (double& s : sums) s = std::log(s);
    for (std::int64_t i = 0; i < n; ++i) {
      float* const row = x + i * kColumns;
      for (int c = 0; c < kColumns; ++c) {
        row[c] = static_cast<float>((static_cast<double>(row[c]) - static_cast<double>(tops[c])) - sums[c]);
      }
    }
    return;
  }
  float scales[kColumns];
  for (int c = 0; c < kColumns; ++c) scales[c] = static_cast<float>(1 / sums[c]);
  for (std::int64_t i = 0; i < n; ++i) {
    float* const row = x + i * kColumns;
    for (int c = 0; c < kColumns; ++c) row[c] *= scales[c];
  }
}

// Processes rows that lie across memory as columns, a block of adjacent ones at a time; false for other rows.
bool by_columns(cpu::Executor& executor, const RowViews& views, const Rows& rows, bool log) {
  const View &x = views.inputs[0], &y = views.results[0];
  const Collapsed &outer = rows.outer, &inner = rows.inner;
  if (views.is_fused() || !widens_to_f32(x.dtype) || !widens_to_f32(y.dtype) || inner.shape.rank() != 1 ||
      outer.shape.empty() || outer.strides[0].back() != 1 || outer.strides[1].back() != 1 || outer.shape.back() < 8) {
    return false;
  }
  const std::int64_t width = outer.shape.back(), blocks = ceil_div(width, kColumns), n = rows.length;
  const auto load = load_block(x.dtype);
  const auto store = store_block(y.dtype);
  cpu::say_form([&] { return std::pair(std::string("columns"), std::format("{} rows of {}", rows.count, n)); });
  parallel(executor, rows.count / width * blocks, std::max<std::int64_t>(16384 / (n * kColumns), 1),
           [&](std::int64_t begin, std::int64_t end) {
             thread_local Scratch scratch;
             float* const columns = scratch.need(n * kColumns);
             for (std::int64_t b = begin; b < end; ++b) {
               const std::int64_t at = b % blocks * kColumns, row = b / blocks * width + at;
               const auto count = static_cast<int>(std::min(kColumns, width - at));
               const std::int64_t from = offset_of({outer.shape, outer.strides[0]}, row),
                                  to = offset_of({outer.shape, outer.strides[1]}, row);
               for (std::int64_t i = 0; i < n; ++i) {
                 float* const values = columns + i * kColumns;
                 load(x.buffer.data() + x.offset, from + i * inner.strides[0][0], 1, count, values);
                 std::fill(values + count, values + kColumns, 0.0f);
               }
               softmax_columns(columns, n, log);
               for (std::int64_t i = 0; i < n; ++i) {
                 store(y.buffer.data() + y.offset, to + i * inner.strides[1][0], 1, count, columns + i * kColumns);
               }
             }
           });
  return true;
}

void softmax_row(const double* x, double* y, std::int64_t n, bool log) {
  double top = std::numeric_limits<double>::lowest();
  for (std::int64_t i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
  double sum = 0;
  if (log) {
    for (std::int64_t i = 0; i < n; ++i) sum += std::exp(x[i] - top);
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - top) - std::log(sum);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) sum += y[i] = std::exp(x[i] - top);
  for (std::int64_t i = 0; i < n; ++i) y[i] /= sum;
}

}  // namespace

void softmax_cpu(cpu::Executor& executor, const RowViews& views, const Rows& rows, bool log) {
  if (by_columns(executor, views, rows, log)) return;
  const auto run = [&]<class T>() {
    for_each_row<T>(executor, views, rows,
                    [log](const T* in, T* out, std::int64_t n, std::int64_t) { softmax_row(in, out, n, log); });
  };
  if (views.computes_in_f64())
    run.template operator()<double>();
  else
    run.template operator()<float>();
}

}  // namespace weft::kernels
