// Positions of a grid on the CPU, for grid_sample and its gradients: a block of places at a time, as vector code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/format.h"
#include "kernels/cpu_loops.h"
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

// The elements of x for the places of a block. What does not count has weights and slopes of 0, and the first element.
template <class A>
struct SampleTaps {
  static constexpr int kMost = 64;  // of three axes with four elements each

  int count;
  std::int64_t offsets[kMost][kSamplePlaces];
  A weights[kMost][kSamplePlaces];
  A slopes[3][kMost][kSamplePlaces];  // of the weight, by the number of each axis of x
};

template <class A>
struct AxisTaps;

// The places of a grid, whose taps are found for a block of them at a time.
template <class A>
class SamplePlaces {
 public:
  // `strides`: of x's spatial axes.
  SamplePlaces(const SampleCall& s, const Dims& strides, bool has_slopes);

  std::int64_t count() const { return element_count(places_.shape); }
  std::int64_t blocks() const { return (count() + kSamplePlaces - 1) / kSamplePlaces; }
  // Block `b`'s places are from here on.
  static std::int64_t begin(std::int64_t b) { return b * kSamplePlaces; }
  int size(std::int64_t b) const { return static_cast<int>(std::min<std::int64_t>(kSamplePlaces, count() - begin(b))); }
  // The taps of block `b` of an item of the batch.
  void find(std::int64_t item, std::int64_t b, SampleTaps<A>& taps) const;

 private:
  View numbers_;
  Layout places_;
  int rank_;
  std::int64_t number_, batch_;
  bool is_empty_ = false;
  std::vector<SampleAxis<A>> axes_;
  void (*axis_)(const SampleAxis<A>&, const A*, int, AxisTaps<A>&);
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
