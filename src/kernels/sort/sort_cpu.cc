#include "core/host_memory.h"
#include "core/parallel_sort.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/sort/sort.h"

namespace weft::kernels {
namespace {

// The key above the index: a number in the order of the result.
struct Packed {
  using Pair = std::uint64_t;
  static Pair pack(std::uint64_t key, std::int64_t index) { return key << 32 | static_cast<std::uint64_t>(index); }
  static std::int64_t index(Pair p) { return static_cast<std::int64_t>(p & 0xffffffffu); }
};
struct Wide {
  using Pair = std::pair<std::uint64_t, std::int64_t>;
  static Pair pack(std::uint64_t key, std::int64_t index) { return {key, index}; }
  static std::int64_t index(const Pair& p) { return p.second; }
};

// Loads and stores an element's bits; types of less than a byte are parts of one.
std::uint64_t load_bits(const View& view, std::int64_t offset) {
  const int b = bits(view.dtype);
  const std::byte* base = view.buffer.data() + view.offset;
  if (b < 8) {
    const auto byte = static_cast<unsigned>(base[(offset * b) >> 3]);
    return byte >> ((offset * b) & 7) & ((1u << b) - 1);
  }
  std::uint64_t value = 0;
  std::memcpy(&value, base + offset * (b / 8), static_cast<std::size_t>(b / 8));
  return value;
}
void store_bits(const View& view, std::int64_t offset, std::uint64_t value) {
  const int b = bits(view.dtype);
  std::byte* base = view.buffer.data() + view.offset;
  if (b < 8) {
    std::byte& byte = base[(offset * b) >> 3];
    const unsigned mask = ((1u << b) - 1) << ((offset * b) & 7);
    byte = static_cast<std::byte>((static_cast<unsigned>(byte) & ~mask) |
                                  (static_cast<unsigned>(value) << ((offset * b) & 7)));
    return;
  }
  std::memcpy(base + offset * (b / 8), &value, static_cast<std::size_t>(b / 8));
}

template <class Form>
void run(cpu::Executor& executor, const SortProblem& p) {
  const auto start = [&](int operand, std::int64_t row) {
    return offset_of({p.outer.shape, p.outer.strides[operand]}, row);
  };
  // One long row is sorted by all cores, many rows by one core each.
  const bool wide = p.rows < executor.threads() && p.length > 65536;
  const auto rows = [&](std::int64_t begin, std::int64_t end) {
    auto pairs = host_list<typename Form::Pair>(p.length);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t x0 = start(0, row);
      for (std::int64_t j = 0; j < p.length; ++j) pairs[j] = Form::pack(p.rule(load_bits(p.x, x0 + j * p.steps[0])), j);
      if (p.keep < p.length) std::partial_sort(pairs.begin(), pairs.begin() + p.keep, pairs.end());
      else if (wide) sort_on_all_cores(pairs.begin(), pairs.end());
      else std::sort(pairs.begin(), pairs.end());
      for (std::int64_t j = 0; j < p.keep; ++j) {
        const std::int64_t place = Form::index(pairs[j]);
        if (p.values) store_bits(*p.values, start(1, row) + j * p.steps[1], load_bits(p.x, x0 + place * p.steps[0]));
        if (p.indices) store_bits(*p.indices, start(2, row) + j * p.steps[2], static_cast<std::uint64_t>(place));
      }
    }
  };
  if (wide) return rows(0, p.rows);
  // Types of less than a byte share bytes between rows.
  const bool shared_bytes = p.values && bits(p.values->dtype) < 8;
  parallel(executor, p.rows, shared_bytes ? p.rows : std::max<std::int64_t>(4096 / p.length, 1), rows);
}

}  // namespace

void sort_cpu(cpu::Executor& executor, const SortProblem& problem) {
  if (problem.rule.bits <= 32 && problem.length <= std::int64_t{1} << 32) run<Packed>(executor, problem);
  else run<Wide>(executor, problem);
}

}  // namespace weft::kernels
