// The gradients of grid_sample on the CPU.
#include <algorithm>
#include <vector>

#include "core/format.h"
#include "kernels/grid_sample/positions_cpu.h"

namespace weft::kernels {
namespace {

// Adds a block's elements, `width` channels each, to the sums of an image, whose elements are `width` apart.
template <class A, int width>
struct AddLoop {
  static WEFT_INLINE void run(const SampleTaps<A>& taps, int n, const A* elements, A* sums) {
    for (int i = 0; i < n; ++i) {
      for (int t = 0; t < taps.count; ++t) {
        const A w = taps.weights[t][i];
        if (w == 0) continue;
        A* WEFT_RESTRICT sum = sums + taps.offsets[t][i] * width;
        const A* WEFT_RESTRICT element = elements + i * width;
        for (int c = 0; c < width; ++c) sum[c] += w * element[c];
      }
    }
  }
};

// A task has some channels of an item of the batch: it adds to sums of its own, in the order of the places.
template <class T, class A, int width>
void add_up(cpu::Executor& executor, const SampleCall& s) {
  const int spatial = s.spatial();
  Dims strides = Dims::filled(spatial, 1);
  for (int d = spatial - 2; d >= 0; --d) strides[d] = strides[d + 1] * s.x.shape()[3 + d];
  const SamplePlaces<A> places(s, strides, false);
  const Layout from = places_of(s.y), to = places_of(s.x);
  const std::int64_t channels = s.x.shape()[1], parts = (channels + width - 1) / width, image = element_count(to.shape);
  const auto add = CompiledLoop<AddLoop<A, width>, const SampleTaps<A>&, int, const A*, A*>::choose();
  parallel(executor, s.x.shape()[0] * parts, 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<A> sums(static_cast<std::size_t>(image * width));
    const auto taps = std::make_unique_for_overwrite<SampleTaps<A>>();
    std::int64_t offsets[kSamplePlaces];
    A elements[kSamplePlaces * width] = {};
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t item = task / parts, c0 = task % parts * width,
                         count = std::min<std::int64_t>(width, channels - c0);
      const T* dy = data<const T>(s.y) + item * s.y.strides()[0] + c0 * s.y.strides()[1];
      std::ranges::fill(sums, A(0));
      for (std::int64_t block = 0; block < places.blocks(); ++block) {
        const int n = places.size(block);
        places.find(item, block, *taps);
        offsets_of(from, places.begin(block), n, offsets);
        for (std::int64_t c = 0; c < count; ++c) {
          const T* channel = dy + c * s.y.strides()[1];
          for (int i = 0; i < n; ++i) elements[i * width + c] = static_cast<A>(channel[offsets[i]]);
        }
        add(*taps, n, elements, sums.data());
      }
      T* dx = data<T>(s.x) + item * s.x.strides()[0] + c0 * s.x.strides()[1];
      for (std::int64_t first = 0; first < image; first += kSamplePlaces) {
        const int n = static_cast<int>(std::min<std::int64_t>(kSamplePlaces, image - first));
        offsets_of(to, first, n, offsets);
        for (std::int64_t c = 0; c < count; ++c) {
          T* channel = dx + c * s.x.strides()[1];
          const A* sum = sums.data() + first * width + c;
          for (int i = 0; i < n; ++i) channel[offsets[i]] = static_cast<T>(sum[i * width]);
        }
      }
    }
  });
}

// Adds the products of a channel's elements at the places and at the taps.
template <class T, class A>
struct ProductLoop {
  static WEFT_INLINE void run(const SampleTaps<A>& taps, int n, const A* dy, const T* x,
                              A (*WEFT_RESTRICT products)[kSamplePlaces]) {
    for (int t = 0; t < taps.count; ++t) {
      for (int i = 0; i < n; ++i) products[t][i] += dy[i] * static_cast<A>(x[taps.offsets[t][i]]);
    }
  }
};
// Adds up the slopes by each number, times their taps' products. Taps without slopes do not count, whatever they are.
template <class A, int rank>
struct SlopeLoop {
  static WEFT_INLINE void run(const SampleTaps<A>& taps, int n, const A (*products)[kSamplePlaces],
                              A (*WEFT_RESTRICT sums)[kSamplePlaces]) {
    for (int t = 0; t < taps.count; ++t) {
      for (int i = 0; i < n; ++i) {
        bool counts = false;
        for (int d = 0; d < rank; ++d) counts |= taps.slopes[d][t][i] != 0;
        for (int d = 0; d < rank; ++d) {
          const A product = taps.slopes[d][t][i] * products[t][i];
          sums[d][i] += counts ? product : A(0);
        }
      }
    }
  }
};

template <class T, class A>
void slopes(cpu::Executor& executor, const SampleCall& s, const View& dgrid) {
  const int spatial = s.spatial();
  Dims strides;
  for (int d = 0; d < spatial; ++d) strides.push_back(s.x.strides()[2 + d]);
  const SamplePlaces<A> places(s, strides, true);
  const Layout dy = places_of(s.y);
  Layout to = dgrid.layout;
  const std::int64_t item_stride = to.strides[0], number = to.strides[-1];
  to.shape.erase(0), to.strides.erase(0), to.shape.pop_back(), to.strides.pop_back();
  const std::int64_t channels = s.x.shape()[1], blocks = places.blocks();
  using Products = A[kSamplePlaces];
  const auto multiply =
      CompiledLoop<ProductLoop<T, A>, const SampleTaps<A>&, int, const A*, const T*, Products*>::choose();
  const auto add = [&] {
    const auto of = []<int rank>() {
      return CompiledLoop<SlopeLoop<A, rank>, const SampleTaps<A>&, int, const Products*, Products*>::choose();
    };
    return spatial == 1   ? of.template operator()<1>()
           : spatial == 2 ? of.template operator()<2>()
                          : of.template operator()<3>();
  }();
  using Store = void (*)(const View&, std::int64_t first, const std::int64_t* offsets, int n, const A* from);
  Store store = nullptr;
  with_type(dgrid.dtype, [&]<class G>() {
    if constexpr (kSampled<G>) {
      store = [](const View& v, std::int64_t first, const std::int64_t* offsets, int n, const A* from) {
        G* g = data<G>(v) + first;
        for (int i = 0; i < n; ++i) g[offsets[i]] = static_cast<G>(from[i]);
      };
    } else {
      throw InternalError("grid_sample_grid_gradient of {}", to_string(dgrid));
    }
  });
  parallel(executor, s.y.shape()[0] * blocks,
           std::max<std::int64_t>(4096 / kSamplePlaces / std::max<std::int64_t>(channels, 1), 1),
           [&](std::int64_t begin, std::int64_t end) {
             const auto taps = std::make_unique_for_overwrite<SampleTaps<A>>();
             std::int64_t offsets[kSamplePlaces];
             A elements[kSamplePlaces], products[SampleTaps<A>::kMost][kSamplePlaces], sums[3][kSamplePlaces];
             for (std::int64_t i = begin; i < end; ++i) {
               const std::int64_t item = i / blocks, block = i % blocks;
               const int n = places.size(block);
               places.find(item, block, *taps);
               std::fill_n(products[0], taps->count * kSamplePlaces, A(0));
               offsets_of(dy, places.begin(block), n, offsets);
               for (std::int64_t c = 0; c < channels; ++c) {
                 const T* from = data<const T>(s.y) + item * s.y.strides()[0] + c * s.y.strides()[1];
                 for (int p = 0; p < n; ++p) elements[p] = static_cast<A>(from[offsets[p]]);
                 multiply(*taps, n, elements, data<const T>(s.x) + item * s.x.strides()[0] + c * s.x.strides()[1],
                          products);
               }
               std::fill_n(sums[0], 3 * kSamplePlaces, A(0));
               add(*taps, n, products, sums);
               offsets_of(to, places.begin(block), n, offsets);
               for (int d = 0; d < spatial; ++d) {
                 store(dgrid, item * item_stride + (spatial - 1 - d) * number, offsets, n, sums[d]);
               }
             }
           });
}

}  // namespace

void grid_sample_gradient_cpu(cpu::Executor& executor, const SampleCall& s) {
  with_sample_types(s, [&]<class T, class A>() {
    if (s.x.shape()[1] <= 4)
      add_up<T, A, 4>(executor, s);
    else
      add_up<T, A, 16>(executor, s);
  });
}

void grid_sample_grid_gradient_cpu(cpu::Executor& executor, const SampleCall& s, const View& dgrid) {
  with_sample_types(s, [&]<class T, class A>() { slopes<T, A>(executor, s, dgrid); });
}

}  // namespace weft::kernels
