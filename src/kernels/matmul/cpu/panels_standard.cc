// The loops of panels_block.h in standard C++. The inner loops have fixed lengths, so that compilers vectorise them.
#include <algorithm>
#include <cstdint>

#include "kernels/matmul/cpu/panels.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

constexpr int kWidth = 16;

// What b, of type T, is multiplied and summed in.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, double>, double, float>;
template <class T>
SumOf<T> widened(T x) {
  return static_cast<SumOf<T>>(x);
}

// rows × kWidth elements of the product.
template <class T, int rows>
void tile(const PanelRun<SumOf<T>>& r, std::int64_t row) {
  const SumOf<T>* const a = r.a + row * r.a_row;
  SumOf<T>* const y = r.y + row * r.pitch;
  SumOf<T> sum[rows][kWidth] = {};
  if (r.add) {
    for (int i = 0; i < rows; ++i) std::copy_n(y + i * r.pitch, kWidth, sum[i]);
  }
  const T* b = static_cast<const T*>(r.b);
  for (std::int64_t k = 0; k < r.depth; ++k, b += r.b_row) {
    SumOf<T> w[kWidth];
    for (int j = 0; j < kWidth; ++j) w[j] = widened(b[j]);
    for (int i = 0; i < rows; ++i) {
      const SumOf<T> x = a[i * r.a_row + k];
      for (int j = 0; j < kWidth; ++j) sum[i][j] += w[j] * x;
    }
  }
  for (int i = 0; i < rows; ++i) std::copy_n(sum[i], kWidth, y + i * r.pitch);
}

template <class T>
void panel(const PanelRun<SumOf<T>>& r) {
  std::int64_t row = 0;
  for (; row + 4 <= r.rows; row += 4) tile<T, 4>(r, row);
  for (; row < r.rows; ++row) tile<T, 1>(r, row);
}

// Products of rows with columns that are contiguous along k, in kWidth partial sums.
template <class T>
void dots(const PanelRun<SumOf<T>>& r) {
  for (std::int64_t row = 0; row < r.rows; ++row) {
    const SumOf<T>* const a = r.a + row * r.a_row;
    for (std::int64_t col = 0; col < r.cols; ++col) {
      const T* const b = static_cast<const T*>(r.b) + col * r.b_row;
      SumOf<T> sums[kWidth] = {};
      std::int64_t k = 0;
      for (; k + kWidth <= r.depth; k += kWidth) {
        for (int e = 0; e < kWidth; ++e) sums[e] += a[k + e] * widened(b[k + e]);
      }
      for (; k < r.depth; ++k) sums[0] += a[k] * widened(b[k]);
      SumOf<T> total = 0;
      for (const SumOf<T> s : sums) total += s;
      SumOf<T>& y = r.y[row * r.pitch + col];
      y = r.add ? y + total : total;
    }
  }
}

template <class T>
void pack(const void* from, std::int64_t stride, std::int64_t depth, std::int64_t cols, std::int64_t width, void* to) {
  const T* const b = static_cast<const T*>(from);
  T* const out = static_cast<T*>(to);
  for (std::int64_t k = 0; k < depth; ++k) {
    for (std::int64_t c = 0; c < width; ++c) out[k * width + c] = c < cols ? b[c * stride + k] : T{};
  }
}

}  // namespace

template <>
const PanelLoops<float>& standard_panel_loops() {
  static constexpr PanelLoops<float> kLoops = {
      kWidth,
      {panel<float>, panel<float16>, panel<bfloat16>, panel<std::int8_t>, panel<std::uint8_t>},
      {dots<float>, dots<float16>, dots<bfloat16>, dots<std::int8_t>, dots<std::uint8_t>},
      {pack<float>, pack<float16>, pack<bfloat16>, pack<std::int8_t>, pack<std::uint8_t>}};
  return kLoops;
}
template <>
const PanelLoops<double>& standard_panel_loops() {
  static constexpr PanelLoops<double> kLoops = {kWidth, {panel<double>}, {dots<double>}, {pack<double>}};
  return kLoops;
}

}  // namespace weft::kernels
