#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu_loops.h"
#include "kernels/grid_sample/grid_sample.h"

namespace weft::kernels {
namespace {

// Positions along an axis of x, in the order of operations that GPUs have.
template <class A>
class Axis {
 public:
  Axis(const SampleOptions& o, std::int64_t size, std::int64_t stride)
      : options_(o), size_(static_cast<A>(size)), count_(size), stride_(stride) {}

  struct Tap {
    std::int64_t offset;
    A weight;
  };

  // The elements that count for the number g of a grid; returns how many.
  int taps(A g, Tap* to) const {
    A q = options_.align_corners ? (g + 1) * A(0.5) * (size_ - 1) : ((g + 1) * size_ - 1) * A(0.5);
    if (!(std::abs(q) < A(1 << 30))) q = -100;
    if (options_.mode != SampleMode::cubic) {
      if (options_.padding == SamplePadding::border) q = std::clamp(q, A(0), size_ - 1);
      if (options_.padding == SamplePadding::reflection) q = reflected(q);
    }
    int n = 0;
    const auto add = [&](A i, A weight) {
      if (options_.padding == SamplePadding::border) i = std::clamp(i, A(0), size_ - 1);
      if (options_.padding == SamplePadding::reflection && options_.mode == SampleMode::cubic) i = reflected(i);
      const auto index = static_cast<std::int64_t>(i);
      if (index >= 0 && index < count_ && weight != 0) to[n++] = {index * stride_, weight};
    };
    if (options_.mode == SampleMode::nearest) {
      add(std::nearbyint(q), 1);
      return n;
    }
    const A first = std::floor(q), t = q - first;
    if (options_.mode == SampleMode::linear) {
      add(first, 1 - t);
      add(first + 1, t);
      return n;
    }
    add(first - 1, far(t + 1));
    add(first, near(t));
    add(first + 1, near(1 - t));
    add(first + 2, far(2 - t));
    return n;
  }

 private:
  A reflected(A q) const {
    const A span = options_.align_corners ? size_ - 1 : size_;
    if (span == 0) return 0;
    const A d = std::abs(options_.align_corners ? q : q + A(0.5)), flips = std::floor(d / span);
    const A rest = d - flips * span;
    const bool odd = std::fmod(flips, A(2)) != 0;
    return std::clamp((odd ? span - rest : rest) - (options_.align_corners ? A(0) : A(0.5)), A(0), size_ - 1);
  }
  static A near(A t) { return (A(1.25) * t - A(2.25)) * t * t + 1; }
  static A far(A t) { return ((A(-0.75) * t + A(3.75)) * t - 6) * t + 3; }

  SampleOptions options_;
  A size_;
  std::int64_t count_, stride_;
};

// T: of x and of y; G: of the grid.
template <class T, class G, class A>
void sample(cpu::Executor& executor, const SampleCall& s) {
  using Tap = typename Axis<A>::Tap;
  const int spatial = s.spatial();
  std::vector<Axis<A>> axes;
  for (int d = 0; d < spatial; ++d) axes.emplace_back(s.options, s.x.shape()[2 + d], s.x.strides()[2 + d]);
  // Batch and places, as the grid has them.
  Layout grid = s.grid.layout, y = s.y.layout;
  const std::int64_t number = grid.strides[-1], channels = y.shape[1];
  const std::int64_t x_channel = s.x.strides()[1], y_channel = y.strides[1];
  grid.shape.pop_back(), grid.strides.pop_back();
  y.shape.erase(1), y.strides.erase(1);
  Layout x = y;
  for (int d = 0; d < x.rank(); ++d) x.strides[d] = d == 0 ? s.x.strides()[0] : 0;
  const T* from = data<const T>(s.x);
  const G* numbers = data<const G>(s.grid);
  T* to = data<T>(s.y);
  parallel(executor, element_count(y.shape), std::max<std::int64_t>(4096 / channels, 1),
           [&](std::int64_t begin, std::int64_t end) {
             Tap own[4];
             std::vector<Tap> taps, more;
             for (std::int64_t i = begin; i < end; ++i) {
               const G* g = numbers + offset_of(grid, i);
               taps.assign(1, {offset_of(x, i), A(1)});
               for (int d = 0; d < spatial; ++d) {
                 const int n =
                     axes[static_cast<std::size_t>(d)].taps(static_cast<A>(g[(spatial - 1 - d) * number]), own);
                 more.clear();
                 for (const Tap& t : taps) {
                   for (int k = 0; k < n; ++k) {
                     const A w = t.weight * own[k].weight;
                     if (w != 0) more.push_back({t.offset + own[k].offset, w});
                   }
                 }
                 taps.swap(more);
               }
               T* result = to + offset_of(y, i);
               for (std::int64_t c = 0; c < channels; ++c) {
                 A sum = 0;
                 for (const Tap& t : taps) sum += t.weight * static_cast<A>(from[t.offset + c * x_channel]);
                 result[c * y_channel] = static_cast<T>(sum);
               }
             }
           });
}

template <class T>
constexpr bool kFloat = std::is_floating_point_v<T> || std::is_same_v<T, float16> || std::is_same_v<T, bfloat16> ||
                        std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;

}  // namespace

void grid_sample_cpu(cpu::Executor& executor, const SampleCall& s) {
  with_type(s.x.dtype, [&]<class T>() {
    with_type(s.grid.dtype, [&]<class G>() {
      if constexpr (kFloat<T> && kFloat<G>) {
        sample<T, G, std::conditional_t<std::is_same_v<T, double>, double, float>>(executor, s);
      } else {
        throw InternalError("grid_sample of {}", to_string(s.x));
      }
    });
  });
}

}  // namespace weft::kernels
