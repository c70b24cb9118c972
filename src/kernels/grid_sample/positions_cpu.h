// Positions of a grid on the CPU, for grid_sample and its gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernels/cpu_loops.h"
#include "kernels/grid_sample/grid_sample.h"
#include "weft/error.h"

namespace weft::kernels {

// Positions along an axis of x, in the order of operations that GPUs have.
template <class A>
class SampleAxis {
 public:
  SampleAxis(const SampleOptions& o, std::int64_t size, std::int64_t stride)
      : options_(o), size_(static_cast<A>(size)), count_(size), stride_(stride) {}

  struct Tap {
    std::int64_t offset;
    A weight;
    A slope;  // the weight's derivative by the grid's number
  };

  // The elements that count for the number g of a grid; returns how many. `slopes`: those that have a slope count, too.
  int taps(A g, Tap* to, bool slopes = false) const {
    const A unpadded = this->unpadded(g);
    A q = unpadded;
    if (options_.mode != SampleMode::cubic) {
      if (options_.padding == SamplePadding::border) q = std::clamp(q, A(0), size_ - 1);
      if (options_.padding == SamplePadding::reflection) q = reflected(q);
    }
    const A m = slopes ? slope(unpadded) : A(0);
    int n = 0;
    const auto add = [&](A i, A weight, A by_position) {
      if (options_.padding == SamplePadding::border) i = std::clamp(i, A(0), size_ - 1);
      if (options_.padding == SamplePadding::reflection && options_.mode == SampleMode::cubic) i = reflected(i);
      const auto index = static_cast<std::int64_t>(i);
      const A own = m * by_position;
      if (index >= 0 && index < count_ && (weight != 0 || own != 0)) to[n++] = {index * stride_, weight, own};
    };
    if (options_.mode == SampleMode::nearest) {
      add(std::nearbyint(q), 1, 0);
      return n;
    }
    const A first = std::floor(q), t = q - first;
    if (options_.mode == SampleMode::linear) {
      add(first, 1 - t, -1);
      add(first + 1, t, 1);
      return n;
    }
    add(first - 1, far(t + 1), far_slope(t + 1));
    add(first, near(t), near_slope(t));
    add(first + 1, near(1 - t), -near_slope(1 - t));
    add(first + 2, far(2 - t), -far_slope(2 - t));
    return n;
  }

 private:
  A unpadded(A g) const {
    const A q = options_.align_corners ? (g + 1) * A(0.5) * (size_ - 1) : ((g + 1) * size_ - 1) * A(0.5);
    return std::abs(q) < A(1 << 30) ? q : A(-100);
  }
  A span() const { return options_.align_corners ? size_ - 1 : size_; }
  // How far q is from where x is mirrored first.
  A from_low(A q) const { return options_.align_corners ? q : q + A(0.5); }
  static bool odd(A flips) { return std::fmod(flips, A(2)) != 0; }
  A reflected(A q) const {
    if (span() == 0) return 0;
    const A d = std::abs(from_low(q)), flips = std::floor(d / span());
    const A rest = d - flips * span();
    return std::clamp((odd(flips) ? span() - rest : rest) - (options_.align_corners ? A(0) : A(0.5)), A(0), size_ - 1);
  }
  // The derivative of a position by the grid's number, where it is q before padding.
  A slope(A q) const {
    if (q == -100) return 0;
    const A m = A(0.5) * span();
    if (options_.mode == SampleMode::cubic || options_.padding == SamplePadding::zeros) return m;
    const A r = options_.padding == SamplePadding::border ? q : reflected(q);
    if (r <= 0 || r >= size_ - 1) return 0;
    if (options_.padding == SamplePadding::border) return m;
    return odd(std::floor(std::abs(from_low(q)) / span())) != (from_low(q) < 0) ? -m : m;
  }
  static A near(A t) { return (A(1.25) * t - A(2.25)) * t * t + 1; }
  static A far(A t) { return ((A(-0.75) * t + A(3.75)) * t - 6) * t + 3; }
  static A near_slope(A t) { return (A(3.75) * t - A(4.5)) * t; }
  static A far_slope(A t) { return (A(-2.25) * t + A(7.5)) * t - 6; }

  SampleOptions options_;
  A size_;
  std::int64_t count_, stride_;
};

template <class A>
std::vector<SampleAxis<A>> sample_axes(const SampleCall& s) {
  std::vector<SampleAxis<A>> axes;
  for (int d = 0; d < s.spatial(); ++d) axes.emplace_back(s.options, s.x.shape()[2 + d], s.x.strides()[2 + d]);
  return axes;
}

template <class T>
constexpr bool kSampled = std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16> ||
                          std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;

// f<T, G, A>() of the types of x, of the grid, and of positions and sums.
template <class F>
void with_sample_types(const SampleCall& s, const F& f) {
  with_type(s.x.dtype, [&]<class T>() {
    with_type(s.grid.dtype, [&]<class G>() {
      if constexpr (kSampled<T> && kSampled<G>) {
        f.template operator()<T, G, std::conditional_t<std::is_same_v<T, double>, double, float>>();
      } else {
        throw InternalError("grid_sample of {}", to_string(s.x));
      }
    });
  });
}

}  // namespace weft::kernels
