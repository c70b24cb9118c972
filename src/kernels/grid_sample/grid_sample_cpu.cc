#include <algorithm>
#include <vector>

#include "kernels/cpu_loops.h"
#include "kernels/grid_sample/grid_sample.h"
#include "kernels/grid_sample/positions_cpu.h"

namespace weft::kernels {
namespace {

// The weighted sums of a channel's elements.
template <class T, class A>
struct SumLoop {
  static WEFT_INLINE void run(const SampleTaps<A>& taps, int n, const T* x, A* WEFT_RESTRICT sums) {
    for (int i = 0; i < n; ++i) sums[i] = 0;
    for (int t = 0; t < taps.count; ++t) {
      for (int i = 0; i < n; ++i) {
        const A w = taps.weights[t][i], product = w * static_cast<A>(x[taps.offsets[t][i]]);
        sums[i] += w == 0 ? A(0) : product;
      }
    }
  }
};

// T: of x and of y.
template <class T, class A>
void sample(cpu::Executor& executor, const SampleCall& s) {
  Dims strides;
  for (int d = 0; d < s.spatial(); ++d) strides.push_back(s.x.strides()[2 + d]);
  const SamplePlaces<A> places(s, strides, false);
  const Layout y = places_of(s.y);
  const std::int64_t channels = s.y.shape()[1], blocks = places.blocks();
  const auto sum = CompiledLoop<SumLoop<T, A>, const SampleTaps<A>&, int, const T*, A*>::choose();
  parallel(executor, s.y.shape()[0] * blocks,
           std::max<std::int64_t>(4096 / kSamplePlaces / std::max<std::int64_t>(channels, 1), 1),
           [&](std::int64_t begin, std::int64_t end) {
             const auto taps = std::make_unique_for_overwrite<SampleTaps<A>>();
             std::int64_t offsets[kSamplePlaces];
             A sums[kSamplePlaces];
             for (std::int64_t i = begin; i < end; ++i) {
               const std::int64_t item = i / blocks, block = i % blocks;
               const int n = places.size(block);
               places.find(item, block, *taps);
               offsets_of(y, places.begin(block), n, offsets);
               const T* from = data<const T>(s.x) + item * s.x.strides()[0];
               T* to = data<T>(s.y) + item * s.y.strides()[0];
               for (std::int64_t c = 0; c < channels; ++c) {
                 sum(*taps, n, from + c * s.x.strides()[1], sums);
                 T* result = to + c * s.y.strides()[1];
                 for (int p = 0; p < n; ++p) result[offsets[p]] = static_cast<T>(sums[p]);
               }
             }
           });
}

}  // namespace

void grid_sample_cpu(cpu::Executor& executor, const SampleCall& s) {
  with_sample_types(s, [&]<class T, class A>() { sample<T, A>(executor, s); });
}

}  // namespace weft::kernels
