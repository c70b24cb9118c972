// Fold: checks, the tables of both devices, and the launcher of fold.wgsl.
#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/common/spatial.h"
#include "kernels/cpu_loops.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/fold.h"

namespace weft::kernels {
namespace {

// x [n, C, window…, places…] and y, or parts of them: `first` is the first element of y along each spatial axis.
struct Fold {
  View x, y;
  Dims strides, dilations, before, first;
  int spatial() const { return y.rank() - 2; }

  // Where in x the elements are that add up to those of y along a spatial axis: for element i offsets[begin[i]] up to
  // begin[i + 1], by their places in the window.
  struct Offsets {
    std::vector<std::int64_t> begin, offsets;
    std::span<const std::int64_t> operator[](std::int64_t i) const {
      const auto at = static_cast<std::size_t>(i);
      return std::span(offsets).subspan(static_cast<std::size_t>(begin[at]),
                                        static_cast<std::size_t>(begin[at + 1] - begin[at]));
    }
  };
  Offsets offsets(int d) const {
    const std::int64_t window = x.shape()[2 + d], places = x.shape()[2 + spatial() + d], stride = strides[d],
                       dilation = dilations[d];
    // Element k of the window at place p is element p · stride + k · dilation of y with what is before it: of an
    // element, every `step`-th k has a place, the first of them by the element's remainder.
    const std::int64_t step = stride / std::gcd(stride, dilation);
    std::vector<std::int64_t> first_of(static_cast<std::size_t>(stride), window);
    for (std::int64_t k = std::min(step, window) - 1; k >= 0; --k) {
      first_of[static_cast<std::size_t>(k * dilation % stride)] = k;
    }
    Offsets all{{0}, {}};
    for (std::int64_t i = 0; i < y.shape()[2 + d]; ++i) {
      const std::int64_t at = i + first[d] + before[d];
      std::int64_t k = at < 0 ? window : first_of[static_cast<std::size_t>(at % stride)];
      // Those behind the last place.
      const std::int64_t behind = at - k * dilation - (places - 1) * stride;
      if (behind > 0) k += ceil_div(ceil_div(behind, dilation), step) * step;
      for (; k < window && at - k * dilation >= 0; k += step) {
        all.offsets.push_back(k * x.strides()[2 + d] + (at - k * dilation) / stride * x.strides()[2 + spatial() + d]);
      }
      all.begin.push_back(static_cast<std::int64_t>(all.offsets.size()));
    }
    return all;
  }
};

Fold fold_of(const View& x, const View& y, const FoldOptions& o) {
  const int spatial = y.rank() - 2;
  if (x.rank() != 2 + 2 * spatial) {
    throw InvalidArgument(
        "fold: x is {} and y {}; expected an axis for windows and one for places in x for each spatial axis",
        to_string(x), to_string(y));
  }
  if (x.shape()[0] != y.shape()[0] || x.shape()[1] != y.shape()[1]) {
    throw InvalidArgument("fold: x is {} and y {}; expected one batch and as many channels", to_string(x),
                          to_string(y));
  }
  return {x,
          y,
          numbers_of_axes("fold", "strides", o.strides, Dims::filled(spatial, 1), 1),
          numbers_of_axes("fold", "dilations", o.dilations, Dims::filled(spatial, 1), 1),
          numbers_of_axes("fold", "before", o.before, Dims::filled(spatial, 0), 0),
          Dims::filled(spatial, 0)};
}

void record(gpu::Commands& commands, const Fold& f) {
  Call call(commands, "fold");
  const int spatial = f.spatial(), rank = f.y.rank();
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater(),
                           [&](int d) { return f.y.shape()[d] == 1 ? INT64_MAX : std::abs(f.y.strides()[d]); });
  const int last = order.back();
  const int lanes = f.y.shape()[last] % 4 == 0 && can_vectorise(f.y.permuted(order)) ? 4 : 1;
  Shape shape;
  Strides x, y;
  std::vector<std::string> place;
  std::vector<std::uint32_t> words;
  for (const int d : order) {
    const std::int64_t block = d == last ? lanes : 1;
    if (d >= 2) {
      const Fold::Offsets rows = f.offsets(d - 2);
      std::size_t pitch = 1;
      for (std::int64_t i = 0; i < f.y.shape()[d]; ++i) pitch = std::max(pitch, rows[i].size() + 1);
      call.index_param(str_cat("base", place.size()), static_cast<std::int64_t>(words.size()));
      call.index_param(str_cat("pitch", place.size()), static_cast<std::int64_t>(pitch));
      for (std::int64_t i = 0; i < f.y.shape()[d]; ++i) {
        const std::size_t begin = words.size();
        words.push_back(static_cast<std::uint32_t>(rows[i].size()));
        for (const std::int64_t offset : rows[i]) words.push_back(static_cast<std::uint32_t>(offset));
        words.resize(begin + pitch);
      }
      place.push_back(std::to_string(shape.rank()));
    }
    shape.push_back(f.y.shape()[d] / block);
    x.push_back(d >= 2 ? 0 : f.x.strides()[d] * block);
    y.push_back(f.y.strides()[d] * block);
  }
  const Buffer table = call.device().allocate(words.size() * 4);
  call.device().upload(table, 0, std::as_bytes(std::span(words)));
  call.iterate(shape);
  call.read("x", f.x).strides("x", x);
  call.raw("table", View(table, 0, DType::u32, {static_cast<std::int64_t>(words.size())}), "u32", 4, gpu::Access::read);
  call.write("y", f.y, lanes).strides("y", y);
  const std::uint32_t threads = workgroup_size(call.capabilities(), call.capabilities().software ? 8 : 256);
  const std::int64_t count = element_count(shape);
  call.index_param("count", count);
  if (last < 2 && lanes == 4) call.index_param("x_next", f.x.strides()[last]);
  call.set("spatial", spatial).set("place", place).set("lanes", lanes).set("last_spatial", last >= 2);
  call.set("threads", threads);
  call.cost({.flops = static_cast<double>(f.x.count())});
  call.dispatch_groups("fold", ceil_div(count, threads));
}

View slice_of(const View& v, int axis, std::int64_t begin, std::int64_t size) {
  View part = v;
  part.offset =
      static_cast<std::uint64_t>(static_cast<std::int64_t>(v.offset) + begin * v.strides()[axis] * bits(v.dtype) / 8);
  part.layout.shape[axis] = size;
  return part;
}

// Cut along y until both fit; along a spatial axis, x's places are those that reach the part. Those lie apart in x, for
// each element of a window: where only that is too long for a binding, they are copied.
void in_parts(gpu::Commands& commands, const Fold& f) {
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  const std::uint64_t limit = chunk_limit(capabilities);
  const std::uint64_t x_bytes = byte_size(f.x.dtype, static_cast<std::uint64_t>(f.x.count()));
  const bool y_long = span_bytes(f.y) > limit || f.y.count() > kMaxElements;
  if (!y_long && x_bytes <= limit && f.x.count() <= kMaxElements) {
    if (span_bytes(f.x) <= limit) return record(commands, f);
    GpuScratch scratch(commands);
    const View bytes = scratch.take(x_bytes);
    Fold dense = f;
    dense.x = View(bytes.buffer, bytes.offset, f.x.dtype, f.x.shape());
    copy(commands, f.x, dense.x);
    return record(commands, dense);
  }
  int best = -1;
  std::int64_t most = 0;
  for (int d = 0; d < f.y.rank(); ++d) {
    const std::int64_t n = f.y.shape()[d], reach = y_long ? std::abs(f.y.strides()[d]) * (n - 1) : n;
    if (n > 1 && reach > most) best = d, most = reach;
  }
  if (best < 0) {
    throw Unsupported("fold: x {} is more than the {} bytes that this device binds, and cannot be cut", to_string(f.x),
                      capabilities.max_binding);
  }
  const std::int64_t size = f.y.shape()[best], half = first_half(size);
  for (const auto& [begin, count] : {std::pair(std::int64_t{0}, half), std::pair(half, size - half)}) {
    Fold part = f;
    part.y = slice_of(f.y, best, begin, count);
    if (best < 2) {
      part.x = slice_of(f.x, best, begin, count);
    } else {
      const int d = best - 2, axis = 2 + f.spatial() + d;
      const std::int64_t at = f.first[d] + begin + f.before[d];
      const std::int64_t reach = (f.x.shape()[2 + d] - 1) * f.dilations[d], places = f.x.shape()[axis];
      const std::int64_t low = std::clamp<std::int64_t>(ceil_div(std::max<std::int64_t>(at - reach, 0), f.strides[d]),
                                                        0, std::max<std::int64_t>(places - 1, 0));
      const std::int64_t high = std::clamp<std::int64_t>((at + count - 1) / f.strides[d] + 1, low, places);
      part.x = slice_of(f.x, axis, low, high - low);
      // Positions count from the first place that is left; they may be negative.
      part.first[d] = f.first[d] + begin - low * f.strides[d];
    }
    in_parts(commands, part);
  }
}

template <class T, class A>
void run_cpu(cpu::Executor& executor, const Fold& f) {
  const int spatial = f.spatial();
  std::vector<Fold::Offsets> offsets;
  Layout rows = f.y.layout;
  const std::int64_t length = rows.shape.back(), y_stride = rows.strides.back();
  rows.shape.pop_back(), rows.strides.pop_back();
  for (int d = 0; d < spatial; ++d) offsets.push_back(f.offsets(d));
  const T* x = data<const T>(f.x);
  T* y = data<T>(f.y);
  parallel(
      executor, element_count(rows.shape), std::max<std::int64_t>(4096 / std::max<std::int64_t>(length, 1), 1),
      [&](std::int64_t begin, std::int64_t end) {
        std::vector<std::int64_t> from, more;
        for (std::int64_t r = begin; r < end; ++r) {
          std::int64_t rest = r;
          std::array<std::int64_t, kMaxRank> at{};
          for (int d = rows.rank() - 1; d >= 0; --d)
            at[static_cast<std::size_t>(d)] = rest % rows.shape[d], rest /= rows.shape[d];
          from.assign(1, at[0] * f.x.strides()[0] + at[1] * f.x.strides()[1]);
          for (int d = 0; d + 1 < spatial; ++d) {
            more.clear();
            for (const std::int64_t o : from) {
              for (const std::int64_t k : offsets[static_cast<std::size_t>(d)][at[static_cast<std::size_t>(2 + d)]]) {
                more.push_back(o + k);
              }
            }
            from.swap(more);
          }
          T* to = y + offset_of(rows, r);
          for (std::int64_t i = 0; i < length; ++i) {
            A sum = 0;
            for (const std::int64_t o : from) {
              for (const std::int64_t k : offsets.back()[i]) sum += static_cast<A>(x[o + k]);
            }
            to[i * y_stride] = static_cast<T>(sum);
          }
        }
      });
}

void run_cpu(cpu::Executor& executor, const Fold& f) {
  with_type(f.x.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::uint32_t>) {
      run_cpu<T, std::uint32_t>(executor, f);
    } else if constexpr (std::is_same_v<T, double>) {
      run_cpu<T, double>(executor, f);
    } else if constexpr (!std::is_integral_v<T> && !std::is_same_v<T, std::complex<float>>) {
      run_cpu<T, float>(executor, f);
    } else {
      throw InternalError("fold of {}", to_string(f.x));
    }
  });
}

}  // namespace

void fold(Stream& stream, const View& x, const View& y, const FoldOptions& o) {
  call(stream, CallKey("fold", o.strides, o.dilations, o.before), {x, y}, [&](Stream& s) {
    check_views("fold", {&x}, {&y});
    const Fold f = fold_of(x, y, o);
    check_memory(s, "fold", {{"x", x}}, {{"y", y}}, Sharing::none);
    if (y.count() == 0) return;
    if (s.cpu()) return run_cpu(*s.cpu(), f);
    if (x.dtype == DType::f64) throw Unsupported("fold: {} on a GPU, which has no f64", to_string(x));
    in_parts(*s.gpu(), f);
  });
}

}  // namespace weft::kernels
