#include <algorithm>
#include <vector>

#include "kernels/cpu_loops.h"
#include "kernels/grid_sample/grid_sample.h"
#include "kernels/grid_sample/positions_cpu.h"

namespace weft::kernels {
namespace {

// T: of x and of y; G: of the grid.
template <class T, class G, class A>
void sample(cpu::Executor& executor, const SampleCall& s) {
  using Tap = typename SampleAxis<A>::Tap;
  const int spatial = s.spatial();
  const std::vector<SampleAxis<A>> axes = sample_axes<A>(s);
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

}  // namespace

void grid_sample_cpu(cpu::Executor& executor, const SampleCall& s) {
  with_sample_types(s, [&]<class T, class G, class A>() { sample<T, G, A>(executor, s); });
}

}  // namespace weft::kernels
