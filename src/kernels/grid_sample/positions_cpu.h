// Positions of a grid on the CPU, for grid_sample and its gradients: a block of places at a time, as vector code.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "core/format.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_loops.h"
#include "kernels/grid_sample/grid_sample.h"
#include "weft/error.h"

namespace weft::kernels {

template <class T>
constexpr bool kSampled = std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16> ||
                          std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;

// Places of a block.
constexpr int kSamplePlaces = 64;

// An axis of x.
template <class A>
struct SampleAxis {
  A size;
  std::int32_t count;  // that size, or the most of its type: positions are below 2^30 in magnitude
  std::int64_t stride;
  bool align_corners;
};

// What counts along an axis for the places of a block: up to four elements each, what is outside of x with weights of
// 0.
template <class A>
struct AxisTaps {
  int count;
  std::int64_t offsets[4][kSamplePlaces];
  A weights[4][kSamplePlaces];
  A slopes[4][kSamplePlaces];  // the weights' derivatives by the grid's number
};

// The taps for a block's numbers, in the order of operations that GPUs have. Without `has_slopes` they are 0.
template <class A, SampleMode mode, SamplePadding padding, bool has_slopes>
struct AxisLoop {
  static constexpr int kTaps = mode == SampleMode::nearest ? 1 : mode == SampleMode::linear ? 2 : 4;

  static WEFT_INLINE void run(const SampleAxis<A>& axis, const A* numbers, int n, AxisTaps<A>& to) {
    const AxisLoop a{axis};
    to.count = kTaps;
    std::int32_t indices[kTaps][kSamplePlaces];
    for (int i = 0; i < n; ++i) {
      const A unpadded = a.unpadded(numbers[i]);
      A q = unpadded;
      if constexpr (mode != SampleMode::cubic) {
        if constexpr (padding == SamplePadding::border) q = a.clamped(q);
        if constexpr (padding == SamplePadding::reflection) q = a.reflected(q);
      }
      const A m = has_slopes ? a.slope(unpadded) : A(0);
      const auto add = [&](int k, A position, A weight, A by_position) WEFT_INLINE_LAMBDA {
        if constexpr (padding == SamplePadding::border) position = a.clamped(position);
        if constexpr (padding == SamplePadding::reflection && mode == SampleMode::cubic) {
          position = a.reflected(position);
        }
        const auto index = static_cast<std::int32_t>(position);
        const bool inside = (index >= 0) & (index < a.axis.count);
        indices[k][i] = inside ? index : 0;
        to.weights[k][i] = inside ? weight : A(0);
        to.slopes[k][i] = inside ? m * by_position : A(0);
      };
      if constexpr (mode == SampleMode::nearest) {
        add(0, std::nearbyint(q), 1, 0);
      } else {
        const A first = std::floor(q), t = q - first;
        if constexpr (mode == SampleMode::linear) {
          add(0, first, 1 - t, -1);
          add(1, first + 1, t, 1);
        } else {
          add(0, first - 1, far(t + 1), far_slope(t + 1));
          add(1, first, near(t), near_slope(t));
          add(2, first + 1, near(1 - t), -near_slope(1 - t));
          add(3, first + 2, far(2 - t), -far_slope(2 - t));
        }
      }
    }
    for (int k = 0; k < kTaps; ++k) {
      for (int i = 0; i < n; ++i) to.offsets[k][i] = indices[k][i] * axis.stride;
    }
  }

  const SampleAxis<A>& axis;

  WEFT_INLINE A clamped(A q) const { return q < 0 ? A(0) : axis.size - 1 < q ? axis.size - 1 : q; }
  WEFT_INLINE A unpadded(A g) const {
    const A q = axis.align_corners ? (g + 1) * A(0.5) * (axis.size - 1) : ((g + 1) * axis.size - 1) * A(0.5);
    return std::abs(q) < A(1 << 30) ? q : A(-100);
  }
  WEFT_INLINE A span() const { return axis.align_corners ? axis.size - 1 : axis.size; }
  // How far q is from where x is mirrored first.
  WEFT_INLINE A from_low(A q) const { return axis.align_corners ? q : q + A(0.5); }
  // Of a whole number.
  static WEFT_INLINE bool odd(A flips) { return flips * A(0.5) != std::floor(flips * A(0.5)); }
  WEFT_INLINE A reflected(A q) const {
    const A d = std::abs(from_low(q)), flips = std::floor(d / span());
    const A rest = d - flips * span();
    const A inside = clamped((odd(flips) ? span() - rest : rest) - (axis.align_corners ? A(0) : A(0.5)));
    return span() == 0 ? A(0) : inside;
  }
  // The derivative of a position by the grid's number, where it is q before padding.
  WEFT_INLINE A slope(A q) const {
    A m = A(0.5) * span();
    if constexpr (mode != SampleMode::cubic && padding != SamplePadding::zeros) {
      const A r = padding == SamplePadding::border ? q : reflected(q);
      if constexpr (padding == SamplePadding::reflection) {
        m = odd(std::floor(std::abs(from_low(q)) / span())) != (from_low(q) < 0) ? -m : m;
      }
      m = ((r <= 0) | (r >= axis.size - 1)) ? A(0) : m;
    }
    return q == -100 ? A(0) : m;
  }
  static WEFT_INLINE A near(A t) { return (A(1.25) * t - A(2.25)) * t * t + 1; }
  static WEFT_INLINE A far(A t) { return ((A(-0.75) * t + A(3.75)) * t - 6) * t + 3; }
  static WEFT_INLINE A near_slope(A t) { return (A(3.75) * t - A(4.5)) * t; }
  static WEFT_INLINE A far_slope(A t) { return (A(-2.25) * t + A(7.5)) * t - 6; }
};

// The elements of x for the places of a block. What does not count has weights and slopes of 0, and the first element.
template <class A>
struct SampleTaps {
  static constexpr int kMost = 64;  // of three axes with four elements each

  int count;
  std::int64_t offsets[kMost][kSamplePlaces];
  A weights[kMost][kSamplePlaces];
  A slopes[3][kMost][kSamplePlaces];  // of the weight, by the number of each axis of x
};

// The taps of the axes together; slopes where there are such.
template <class A, bool has_slopes>
struct TapLoop {
  static WEFT_INLINE void run(const AxisTaps<A>* axes, int rank, int n, SampleTaps<A>& to) {
    to.count = axes[0].count;
    for (int t = 0; t < to.count; ++t) {
      for (int i = 0; i < n; ++i) {
        to.offsets[t][i] = axes[0].offsets[t][i];
        to.weights[t][i] = axes[0].weights[t][i];
        if (has_slopes) to.slopes[0][t][i] = axes[0].slopes[t][i];
      }
    }
    for (int d = 1; d < rank; ++d) {
      const AxisTaps<A>& axis = axes[d];
      // From the last tap on, so that no tap is overwritten before it was read.
      for (int t = to.count - 1; t >= 0; --t) {
        for (int k = axis.count - 1; k >= 0; --k) {
          const int at = t * axis.count + k;
          for (int i = 0; i < n; ++i) {
            to.offsets[at][i] = to.offsets[t][i] + axis.offsets[k][i];
            if (has_slopes) {
              for (int b = 0; b < d; ++b) to.slopes[b][at][i] = to.slopes[b][t][i] * axis.weights[k][i];
              to.slopes[d][at][i] = to.weights[t][i] * axis.slopes[k][i];
            }
            to.weights[at][i] = to.weights[t][i] * axis.weights[k][i];
          }
        }
      }
      to.count *= axis.count;
    }
  }
};

// The places of a grid, whose taps are found for a block of them at a time.
template <class A>
class SamplePlaces {
 public:
  // `strides`: of x's spatial axes.
  SamplePlaces(const SampleCall& s, const Dims& strides, bool has_slopes)
      : numbers_(s.grid), places_(s.grid.layout), rank_(s.spatial()) {
    number_ = places_.strides[-1];
    batch_ = places_.strides[0];
    places_.shape.pop_back(), places_.strides.pop_back();
    places_.shape.erase(0), places_.strides.erase(0);
    for (int d = 0; d < rank_; ++d) {
      const std::int64_t size = s.x.shape()[2 + d];
      is_empty_ |= size == 0;
      axes_.push_back(
          {static_cast<A>(size),
           static_cast<std::int32_t>(std::min<std::int64_t>(size, std::numeric_limits<std::int32_t>::max())),
           strides[d], s.options.align_corners});
    }
    axis_ = axis_loop(s.options, has_slopes);
    join_ = has_slopes ? CompiledLoop<TapLoop<A, true>, const AxisTaps<A>*, int, int, SampleTaps<A>&>::choose()
                       : CompiledLoop<TapLoop<A, false>, const AxisTaps<A>*, int, int, SampleTaps<A>&>::choose();
    with_type(s.grid.dtype, [&]<class G>() {
      if constexpr (kSampled<G>) {
        load_ = [](const View& v, const std::int64_t* offsets, std::int64_t first, int n, A* to) {
          const G* g = data<const G>(v) + first;
          for (int i = 0; i < n; ++i) to[i] = static_cast<A>(g[offsets[i]]);
        };
      } else {
        throw InternalError("grid_sample at {}", to_string(s.grid));
      }
    });
  }

  std::int64_t count() const { return element_count(places_.shape); }
  std::int64_t blocks() const { return (count() + kSamplePlaces - 1) / kSamplePlaces; }
  // Block `b`'s places are from here on.
  static std::int64_t begin(std::int64_t b) { return b * kSamplePlaces; }
  int size(std::int64_t b) const { return static_cast<int>(std::min<std::int64_t>(kSamplePlaces, count() - begin(b))); }
  // The taps of block `b` of an item of the batch.
  void find(std::int64_t item, std::int64_t b, SampleTaps<A>& taps) const {
    const int n = size(b);
    if (is_empty_) {
      taps.count = 0;
      return;
    }
    std::int64_t offsets[kSamplePlaces];
    offsets_of(places_, begin(b), n, offsets);
    A numbers[kSamplePlaces];
    AxisTaps<A> axes[3];
    for (int d = 0; d < rank_; ++d) {
      load_(numbers_, offsets, item * batch_ + (rank_ - 1 - d) * number_, n, numbers);
      axis_(axes_[static_cast<std::size_t>(d)], numbers, n, axes[d]);
    }
    join_(axes, rank_, n, taps);
  }

 private:
  using Axis = void (*)(const SampleAxis<A>&, const A*, int, AxisTaps<A>&);

  template <SampleMode mode, SamplePadding padding>
  static Axis axis_loop(bool has_slopes) {
    const auto of = []<bool slopes>() {
      return CompiledLoop<AxisLoop<A, mode, padding, slopes>, const SampleAxis<A>&, const A*, int,
                          AxisTaps<A>&>::choose();
    };
    return has_slopes ? of.template operator()<true>() : of.template operator()<false>();
  }
  template <SampleMode mode>
  static Axis axis_loop(SamplePadding padding, bool has_slopes) {
    switch (padding) {
      case SamplePadding::zeros:
        return axis_loop<mode, SamplePadding::zeros>(has_slopes);
      case SamplePadding::border:
        return axis_loop<mode, SamplePadding::border>(has_slopes);
      default:
        return axis_loop<mode, SamplePadding::reflection>(has_slopes);
    }
  }
  static Axis axis_loop(const SampleOptions& o, bool has_slopes) {
    switch (o.mode) {
      case SampleMode::linear:
        return axis_loop<SampleMode::linear>(o.padding, has_slopes);
      case SampleMode::nearest:
        return axis_loop<SampleMode::nearest>(o.padding, has_slopes);
      default:
        return axis_loop<SampleMode::cubic>(o.padding, has_slopes);
    }
  }

  View numbers_;
  Layout places_;
  int rank_;
  std::int64_t number_, batch_;
  bool is_empty_ = false;
  std::vector<SampleAxis<A>> axes_;
  Axis axis_;
  void (*join_)(const AxisTaps<A>*, int, int, SampleTaps<A>&);
  void (*load_)(const View&, const std::int64_t* offsets, std::int64_t first, int n, A* to) = nullptr;
};

// Where the places of an operand with the axes [batch, channel, place…] are: all but its first two axes.
inline Layout places_of(const View& v) {
  Layout places = v.layout;
  for (int i = 0; i < 2; ++i) places.shape.erase(0), places.strides.erase(0);
  return places;
}

// f<T, A>() of the types of x, and of positions and sums.
template <class F>
void with_sample_types(const SampleCall& s, const F& f) {
  with_type(s.x.dtype, [&]<class T>() {
    if constexpr (kSampled<T>) {
      f.template operator()<T, std::conditional_t<std::is_same_v<T, double>, double, float>>();
    } else {
      throw InternalError("grid_sample of {}", to_string(s.x));
    }
  });
}

}  // namespace weft::kernels
