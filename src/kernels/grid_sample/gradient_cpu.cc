// The gradients of grid_sample on the CPU.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/grid_sample/positions_cpu.h"

namespace weft::kernels {
namespace {

// Channels whose sums a task holds at once: positions are computed once for them.
constexpr std::int64_t kChannels = 16;

// The layout of v without its axis d.
Layout without(const View& v, int d) {
  Layout layout = v.layout;
  layout.shape.erase(d), layout.strides.erase(d);
  return layout;
}

// A task has some channels of an item of the batch: it adds to sums of its own, in the order of the places.
template <class T, class G, class A>
void add_up(cpu::Executor& executor, const SampleCall& s) {
  using Tap = typename SampleAxis<A>::Tap;
  const int spatial = s.spatial();
  // Sums of an image, whose elements are `kChannels` apart.
  SampleCall own = s;
  std::int64_t image = 1;
  for (int d = spatial - 1; d >= 0; --d) {
    own.x.layout.strides[2 + d] = image;
    image *= s.x.shape()[2 + d];
  }
  const std::vector<SampleAxis<A>> axes = sample_axes<A>(own);
  const Layout places = [&] {
    Layout l = s.y.layout;
    l.shape.erase(0), l.strides.erase(0), l.shape.erase(0), l.strides.erase(0);
    return l;
  }();
  Layout grid = places, to = s.x.layout;
  for (int d = 0; d < spatial; ++d) grid.strides[d] = s.grid.strides()[1 + d];
  to.shape.erase(0), to.strides.erase(0), to.shape.erase(0), to.strides.erase(0);
  const std::int64_t channels = s.x.shape()[1], blocks = (channels + kChannels - 1) / kChannels;
  const std::int64_t number = s.grid.strides()[-1], count = element_count(places.shape);
  parallel(executor, s.x.shape()[0] * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<A> sums(static_cast<std::size_t>(image * kChannels));
    Tap axis[4];
    std::vector<Tap> taps, more;
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t n = task / blocks, c0 = task % blocks * kChannels, c1 = std::min(c0 + kChannels, channels);
      const T* dy = data<const T>(s.y) + n * s.y.strides()[0];
      const G* numbers = data<const G>(s.grid) + n * s.grid.strides()[0];
      std::ranges::fill(sums, A(0));
      for (std::int64_t i = 0; i < count; ++i) {
        const G* g = numbers + offset_of(grid, i);
        taps.assign(1, {0, A(1), A(0)});
        for (int d = 0; d < spatial; ++d) {
          const int k = axes[static_cast<std::size_t>(d)].taps(static_cast<A>(g[(spatial - 1 - d) * number]), axis);
          more.clear();
          for (const Tap& t : taps) {
            for (int j = 0; j < k; ++j) more.push_back({t.offset + axis[j].offset, t.weight * axis[j].weight, A(0)});
          }
          taps.swap(more);
        }
        const T* from = dy + offset_of(places, i);
        for (const Tap& t : taps) {
          if (t.weight == 0) continue;
          A* sum = sums.data() + t.offset * kChannels;
          for (std::int64_t c = c0; c < c1; ++c) sum[c - c0] += t.weight * static_cast<A>(from[c * s.y.strides()[1]]);
        }
      }
      T* dx = data<T>(s.x) + n * s.x.strides()[0];
      for (std::int64_t i = 0; i < image; ++i) {
        T* element = dx + offset_of(to, i);
        for (std::int64_t c = c0; c < c1; ++c) {
          element[c * s.x.strides()[1]] = static_cast<T>(sums[static_cast<std::size_t>(i * kChannels + c - c0)]);
        }
      }
    }
  });
}

template <class T, class G, class A>
void slopes(cpu::Executor& executor, const SampleCall& s, const View& dgrid) {
  using Tap = typename SampleAxis<A>::Tap;
  struct Element {
    std::int64_t offset;
    A weight;
    std::array<A, 3> slopes;  // of the weight, by each number
  };
  const int spatial = s.spatial();
  const std::vector<SampleAxis<A>> axes = sample_axes<A>(s);
  const int last = dgrid.rank() - 1;
  const Layout grid = without(s.grid, last), to = without(dgrid, last), dy = without(s.y, 1);
  const std::int64_t channels = s.x.shape()[1], number = s.grid.strides()[-1], to_number = dgrid.strides()[-1];
  const std::int64_t places = element_count(dy.shape) / std::max<std::int64_t>(dy.shape[0], 1);
  parallel(executor, element_count(dy.shape), std::max<std::int64_t>(4096 / std::max<std::int64_t>(channels, 1), 1),
           [&](std::int64_t begin, std::int64_t end) {
             Tap axis[4];
             std::vector<Element> elements, more;
             for (std::int64_t i = begin; i < end; ++i) {
               const G* g = data<const G>(s.grid) + offset_of(grid, i);
               elements.assign(1, {i / places * s.x.strides()[0], A(1), {}});
               for (int d = 0; d < spatial; ++d) {
                 const A at = static_cast<A>(g[(spatial - 1 - d) * number]);
                 const int k = axes[static_cast<std::size_t>(d)].taps(at, axis, true);
                 more.clear();
                 for (const Element& e : elements) {
                   for (int j = 0; j < k; ++j) {
                     Element& next =
                         more.emplace_back(Element{e.offset + axis[j].offset, e.weight * axis[j].weight, {}});
                     for (int b = 0; b < d; ++b) {
                       const auto own = static_cast<std::size_t>(b);
                       next.slopes[own] = e.slopes[own] * axis[j].weight;
                     }
                     next.slopes[static_cast<std::size_t>(d)] = e.weight * axis[j].slope;
                   }
                 }
                 elements.swap(more);
               }
               std::array<A, 3> sums{};
               const T* from = data<const T>(s.y) + offset_of(dy, i);
               for (const Element& e : elements) {
                 if (std::ranges::all_of(e.slopes, [](A slope) { return slope == 0; })) continue;
                 A product = 0;
                 for (std::int64_t c = 0; c < channels; ++c) {
                   product += static_cast<A>(from[c * s.y.strides()[1]]) *
                              static_cast<A>(data<const T>(s.x)[e.offset + c * s.x.strides()[1]]);
                 }
                 for (std::size_t d = 0; d < 3; ++d) sums[d] += e.slopes[d] * product;
               }
               G* result = data<G>(dgrid) + offset_of(to, i);
               for (int d = 0; d < spatial; ++d) {
                 result[(spatial - 1 - d) * to_number] = static_cast<G>(sums[static_cast<std::size_t>(d)]);
               }
             }
           });
}

}  // namespace

void grid_sample_gradient_cpu(cpu::Executor& executor, const SampleCall& s) {
  with_sample_types(s, [&]<class T, class G, class A>() { add_up<T, G, A>(executor, s); });
}

void grid_sample_grid_gradient_cpu(cpu::Executor& executor, const SampleCall& s, const View& dgrid) {
  with_sample_types(s, [&]<class T, class G, class A>() { slopes<T, G, A>(executor, s, dgrid); });
}

}  // namespace weft::kernels
