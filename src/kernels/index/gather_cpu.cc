#include <cstring>
#include <format>

#include "kernels/elementwise/block_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/index/gather.h"
#include "kernels/index/line_cpu.h"
#include "kernels/index/selected_cpu.h"

namespace weft::kernels {
namespace {

// Moves the rows of the whole to the part.
template <class T>
void move_rows(const SelectedElements& s, const SelectedElements::Rows& rows, const T* whole, T* part) {
  if (s.length() == 1 && rows.adjacent) {
    T* to = part + rows.part[0];
    for (int i = 0; i < rows.count; ++i) to[i] = whole[rows.whole[i]];
    return;
  }
  if (s.length() == 1) {
    for (int i = 0; i < rows.count; ++i) part[rows.part[i]] = whole[rows.whole[i]];
    return;
  }
  for (int i = 0; i < rows.count; ++i) {
    const T* from = whole + rows.whole[i];
    T* to = part + rows.part_of(i);
    if (s.whole_stride() == 1 && s.part_stride() == 1) {
      std::memcpy(to, from, static_cast<std::size_t>(s.length()) * sizeof(T));
    } else {
      for (std::int64_t j = 0; j < s.length(); ++j) to[j * s.part_stride()] = from[j * s.whole_stride()];
    }
  }
}

// Elements of less than a byte, by numbers.
void move_packed(const SelectedElements& s, const SelectedElements::Rows& rows, const View& whole, const View& part) {
  const LoadBlock load = load_block(whole.dtype);
  const StoreBlock store = store_block(part.dtype);
  std::uint64_t numbers[SelectedElements::kMost];
  for (int i = 0; i < rows.count; ++i) {
    for (std::int64_t j = 0; j < s.length(); j += SelectedElements::kMost) {
      const int n = static_cast<int>(std::min<std::int64_t>(s.length() - j, SelectedElements::kMost));
      load(whole.buffer.data() + whole.offset, rows.whole[i] + j * s.whole_stride(), s.whole_stride(), n, numbers);
      store(part.buffer.data() + part.offset, rows.part_of(i) + j * s.part_stride(), s.part_stride(), n, numbers);
    }
  }
}

// part[i] = whole[index · stride] of a line. Negative indices count from the end; those outside move to it.
template <class T, class I>
struct GatherLine {
  static WEFT_INLINE void run(const T* whole, std::int64_t size, std::int64_t stride, const I* indices, std::int64_t n,
                              T* WEFT_RESTRICT part) {
    const I last = static_cast<I>(size - 1);
    const auto index_of = [=](I index) WEFT_INLINE_LAMBDA {
      const I wrapped = index < 0 ? static_cast<I>(index + last + 1) : index;
      const I inside = wrapped < 0 ? I{0} : wrapped;
      return inside > last ? last : inside;
    };
    if (stride == 1) {
      for (std::int64_t i = 0; i < n; ++i) part[i] = whole[index_of(indices[i])];
    } else {
      for (std::int64_t i = 0; i < n; ++i) part[i] = whole[static_cast<std::int64_t>(index_of(indices[i])) * stride];
    }
  }
};

bool gather_line(cpu::Executor& executor, const Selection& s, const Collapsed& dims) {
  const auto line = IndexLine::of(s, dims);
  // (The last index must be one of their type.)
  if (!line || line->part_stride != 1 || (!line->is_long && line->size > std::int64_t{1} << 31)) return false;
  cpu::say_form(
      [&] { return std::pair(std::string("line"), std::format("{} elements of {}", line->count, line->size)); });
  with_bits(bits(s.whole.dtype), [&]<class T>() {
    line->with_indices([&]<class I>(const I* indices) {
      static const auto loop =
          CompiledLoop<GatherLine<T, I>, const T*, std::int64_t, std::int64_t, const I*, std::int64_t, T*>::choose();
      parallel(executor, line->count, 8192, [&](std::int64_t begin, std::int64_t end) {
        loop(data<const T>(s.whole), line->size, line->stride, indices + begin, end - begin, data<T>(s.part) + begin);
      });
    });
  });
  return true;
}

}  // namespace

void gather_cpu(cpu::Executor& all_cores, const Selection& problem) {
  const Strides strides[] = {problem.whole.strides(), problem.indices.strides(), problem.part.strides()};
  const Collapsed dims = collapse(problem.part.shape(), strides);
  if (gather_line(all_cores, problem, dims)) return;
  const SelectedElements selected(problem, true, dims);
  const int b = bits(problem.whole.dtype);
  cpu::say_form([&] {
    return std::pair(std::string(selected.length() > 1 ? "rows" : "elements"),
                     std::format("{} rows of {}", problem.part.count() / selected.length(), selected.length()));
  });
  constexpr std::int64_t kEvery = std::numeric_limits<std::int64_t>::max();
  cpu::Executor one_core(1);  // packed elements share bytes
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / (selected.tuples() * selected.length()));
  parallel(b < 8 ? one_core : all_cores, selected.blocks(), grain, [&](std::int64_t begin, std::int64_t end) {
    SelectedElements::Rows rows;
    for (std::int64_t block = begin; block < end; ++block) {
      selected.find(block, 0, kEvery, rows);
      if (b < 8) {
        move_packed(selected, rows, problem.whole, problem.part);
        continue;
      }
      with_bits(b, [&]<class T>() { move_rows(selected, rows, data<const T>(problem.whole), data<T>(problem.part)); });
    }
  });
}

}  // namespace weft::kernels
