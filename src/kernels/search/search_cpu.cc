// The CPU implementation of positions in sorted lists.
#include <format>
#include <utility>

#include "core/host_memory.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/search/search.h"
#include "weft/shape.h"

namespace weft::kernels {
namespace {

constexpr int kBlock = 512;    // values that are searched for at a time
constexpr int kTogether = 16;  // of these, whose steps do not wait for each other

template <class T, bool right>
WEFT_INLINE bool comes_before(T element, T value) {
  return right ? element <= value : element < value;
}

// found[i] = how many elements come before values[i], which is not NaN, for i < count, a multiple of kTogether.
template <class T, bool right>
struct Search {
  static WEFT_INLINE void run(const T* sorted, std::int64_t n, const T* values, std::int64_t count,
                              std::int64_t* WEFT_RESTRICT found) {
    run(std::make_integer_sequence<int, kTogether>(), sorted, n, values, count, found);
  }
  // Elements are loaded one by one, which compilers do faster than what they make of a loop of such loads; comparisons
  // are of vectors, and none is a branch.
  template <int... k>
  static WEFT_INLINE void run(std::integer_sequence<int, k...>, const T* sorted, std::int64_t n, const T* values,
                              std::int64_t count, std::int64_t* WEFT_RESTRICT found) {
    for (std::int64_t i = 0; i < count; i += kTogether) {
      std::int64_t at[kTogether] = {};
      T value[kTogether], element[kTogether];
      for (int j = 0; j < kTogether; ++j) value[j] = values[i + j];
      std::int64_t left = n;
      while (left > 1) {
        const std::int64_t half = left / 2;
        ((element[k] = sorted[at[k] + half - 1]), ...);
        for (int j = 0; j < kTogether; ++j) at[j] += comes_before<T, right>(element[j], value[j]) ? half : 0;
        left -= half;
      }
      ((element[k] = sorted[at[k]]), ...);
      for (int j = 0; j < kTogether; ++j) found[i + j] = at[j] + (comes_before<T, right>(element[j], value[j]) ? 1 : 0);
    }
  }
};

template <class T>
void search(const T* sorted, std::int64_t n, SearchSide side, const T* values, std::int64_t count,
            std::int64_t* found) {
  using Left = CompiledLoop<Search<T, false>, const T*, std::int64_t, const T*, std::int64_t, std::int64_t*>;
  using Right = CompiledLoop<Search<T, true>, const T*, std::int64_t, const T*, std::int64_t, std::int64_t*>;
  static const auto left = Left::choose();
  static const auto right = Right::choose();
  (side == SearchSide::left ? left : right)(sorted, n, values, count, found);
}

// A view's elements as values of T, the type of its registers.
template <class T>
class Elements {
 public:
  explicit Elements(const View& view)
      : type_(view.dtype == DType::boolean ? DType::u8 : view.dtype),
        memory_(block_memory(type_)),
        data_(view.buffer.data() + view.offset),
        is_boolean_(view.dtype == DType::boolean) {}

  void load(const std::int64_t* offsets, int n, T* values) const {
    memory_.gather(data_, 0, offsets, n, values);
    as_truth(n, values);
  }
  void load(std::int64_t first, std::int64_t stride, int n, T* values) const {
    memory_.load(data_, first, stride, n, values);
    as_truth(n, values);
  }

 private:
  // A boolean may be any byte, of which only 0 is false.
  void as_truth(int n, T* values) const {
    for (int i = 0; is_boolean_ && i < n; ++i) values[i] = values[i] != 0;
  }

  DType type_;
  BlockMemory memory_;
  const std::byte* data_;
  bool is_boolean_;
};

template <class T>
void run(cpu::Executor& executor, DType own, const View& sorted, const View& values, const View& y, SearchSide side) {
  const std::int64_t n = sorted.count(), stride = sorted.strides()[0];
  const bool in_place = sorted.dtype == own && stride == 1;
  std::vector<T> copy;
  if (!in_place) {
    copy = host_list<T>(n);
    const Elements<T> elements(sorted);
    for (std::int64_t i = 0; i < n; i += kBlock) {
      elements.load(i * stride, stride, static_cast<int>(std::min<std::int64_t>(kBlock, n - i)), copy.data() + i);
    }
  }
  const T* const list = in_place ? data<const T>(sorted) : copy.data();
  cpu::say_form([&] {
    return std::pair(std::string(in_place ? "list_in_place" : "list_copied"),
                     std::format("{} values in a list of {}", y.count(), n));
  });
  // NaN comes after all numbers, which comparisons do not say.
  std::int64_t of_nan = n;
  if constexpr (std::is_floating_point_v<T>) {
    if (side == SearchSide::left) {
      of_nan = 0;
      for (std::int64_t left = n; left > 0;) {
        const std::int64_t half = left > 1 ? left / 2 : 1;
        if (const T last = list[of_nan + half - 1]; last == last) of_nan += half;
        left -= half;
      }
    }
  }
  const Strides strides[] = {values.strides(), y.strides()};
  Collapsed c = collapse(y.shape(), strides);
  const Layout from{c.shape, c.strides[0]}, to{c.shape, c.strides[1]};
  const Elements<T> elements(values);
  const BlockMemory results = block_memory(y.dtype);
  std::byte* const target = y.buffer.data() + y.offset;
  parallel(executor, y.count(), 4096, [&](std::int64_t begin, std::int64_t end) {
    alignas(64) T wanted[kBlock] = {};
    alignas(64) std::int64_t found[kBlock];
    std::int64_t offsets[kBlock];
    for (std::int64_t i = begin; i < end; i += kBlock) {
      const int count = static_cast<int>(std::min<std::int64_t>(kBlock, end - i));
      if (from.rank() <= 1) {
        const std::int64_t step = from.rank() ? from.strides[0] : 0;
        elements.load(i * step, step, count, wanted);
      } else {
        offsets_of(from, i, count, offsets);
        elements.load(offsets, count, wanted);
      }
      const std::int64_t padded = (count + kTogether - 1) / kTogether * kTogether;
      search(list, n, side, static_cast<const T*>(wanted), padded, found);
      if constexpr (std::is_floating_point_v<T>) {
        for (int k = 0; k < count; ++k) found[k] = wanted[k] != wanted[k] ? of_nan : found[k];
      }
      if (to.rank() <= 1) {
        const std::int64_t step = to.rank() ? to.strides[0] : 0;
        results.store(target, i * step, step, count, found);
      } else {
        offsets_of(to, i, count, offsets);
        results.scatter(target, 0, offsets, count, found);
      }
    }
  });
}

}  // namespace

void searchsorted_cpu(cpu::Executor& executor, const View& sorted, const View& values, const View& y, SearchSide side) {
  if (sorted.dtype == DType::f64) return run<double>(executor, DType::f64, sorted, values, y, side);
  if (is_floating(sorted.dtype)) return run<float>(executor, DType::f32, sorted, values, y, side);
  if (is_signed(sorted.dtype)) return run<std::int64_t>(executor, DType::i64, sorted, values, y, side);
  run<std::uint64_t>(executor, DType::u64, sorted, values, y, side);
}

}  // namespace weft::kernels
