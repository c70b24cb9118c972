#include "kernels/compact/compact_cpu.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/host_memory.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/elementwise/scalar_ops_cpu.h"

namespace weft::kernels {
namespace {

constexpr int kBlock = CpuExpression::kBlock;

// Finds the chosen elements of a mask's row.
class Finder {
 public:
  explicit Finder(const View& mask)
      : data_(mask.buffer.data() + mask.offset),
        load_(block_memory(mask.dtype).load),
        is_true_(mask.dtype == DType::boolean ? nullptr : cpu_to_boolean(cpu_register(mask.dtype))) {}

  // Tests `n` elements from `first` on, at most a block: how many are chosen.
  int count(std::int64_t first, std::int64_t stride, int n) {
    test(first, stride, n);
    int found = 0;
    for (int i = 0; i < n; i += 8) found += ones(word(i));
    return found;
  }
  // The same; puts the positions of the chosen ones into places().
  int find(std::int64_t first, std::int64_t stride, int n) {
    test(first, stride, n);
    int found = 0;
    for (int i = 0; i < n; i += 8) {
      // The places in a word are looked up by its eight flags, and stored together.
      const std::uint64_t flags = word(i);
      const Positions& places = kPositions[static_cast<std::size_t>(flags * kGather >> 56)];
      for (int k = 0; k < 8; ++k) places_[found + k] = i + places[static_cast<std::size_t>(k)];
      found += ones(flags);
    }
    return found;
  }
  const int* places() const { return places_; }

 private:
  // Of the flags of eight elements, bytes of a word that are 0 or 1, the product has those in its highest byte: that of
  // byte k is its bit k.
  static constexpr std::uint64_t kGather = 0x0102040810204080;
  using Positions = std::array<std::uint8_t, 8>;
  // The positions of the ones among eight bits, in order.
  static constexpr std::array<Positions, 256> kPositions = [] {
    std::array<Positions, 256> all{};
    for (unsigned bits = 0; bits < 256; ++bits) {
      std::size_t found = 0;
      for (unsigned k = 0; k < 8; ++k) {
        if (bits >> k & 1) all[bits][found++] = static_cast<std::uint8_t>(k);
      }
    }
    return all;
  }();

  // 0 or 1 for each element, and 0 for those behind them in the last word.
  void test(std::int64_t first, std::int64_t stride, int n) {
    if (!is_true_) {
      load_(data_, first, stride, n, flags_);
    } else {
      load_(data_, first, stride, n, values_);
      is_true_(values_, nullptr, nullptr, flags_, n);
    }
    std::fill(flags_ + n, flags_ + (n + 7) / 8 * 8, std::uint8_t{0});
  }
  // How many of a word's flags are 1: the sum of its bytes, in the highest one.
  static int ones(std::uint64_t flags) { return static_cast<int>(flags * 0x0101010101010101 >> 56); }
  // The flags of eight elements from `i` on, that of the first one in the low byte.
  std::uint64_t word(int i) const {
    std::uint64_t flags;
    std::memcpy(&flags, flags_ + i, sizeof(flags));
    return flags;
  }

  const std::byte* data_;
  LoadBlock load_;
  CpuExpression::Function is_true_;
  alignas(64) std::uint64_t values_[kBlock];
  alignas(64) std::uint8_t flags_[kBlock];
  int places_[kBlock + 8];
};

// Moves single elements between two tensors of one type.
struct Mover {
  const std::byte* from;
  std::byte* to;
  DType type;

  void operator()(std::int64_t source, std::int64_t target) const {
    switch (bits(type)) {
      case 8:
        return move<1>(source, target);
      case 16:
        return move<2>(source, target);
      case 32:
        return move<4>(source, target);
      case 64:
        return move<8>(source, target);
      default: {
        std::uint64_t v = 0;
        load_block(type)(from, source, 0, 1, &v);
        store_block(type)(to, target, 0, 1, &v);
      }
    }
  }
  template <std::size_t bytes>
  void move(std::int64_t source, std::int64_t target) const {
    std::memcpy(to + target * static_cast<std::int64_t>(bytes), from + source * static_cast<std::int64_t>(bytes),
                bytes);
  }
};

// The mask's elements in row-major order, in pieces that are within a row.
class Pieces {
 public:
  static constexpr std::int64_t kLength = 64 * kBlock;

  explicit Pieces(const CompactProblem& problem) {
    const Strides strides[] = {problem.mask.strides(),
                               problem.form == Compaction::indices ? problem.mask.strides() : problem.moved.strides()};
    const Collapsed c = collapse(problem.mask.shape(), strides);
    mask_ = {c.shape, c.strides[0]};
    moved_ = {c.shape, c.strides[1]};
    if (mask_.rank() == 0) mask_ = moved_ = {{1}, {0}};
    length_ = mask_.shape[-1];
    across_ = (length_ + kLength - 1) / kLength;
  }
  std::int64_t count() const { return mask_.count() / length_ * across_; }

  // Calls f(element, mask offset, moved offset, n) for the piece's blocks; `element` counts in row-major order.
  template <class F>
  void blocks(std::int64_t piece, F&& f) const {
    const std::int64_t row = piece / across_, begin = piece % across_ * kLength,
                       end = std::min(length_, begin + kLength);
    const std::int64_t mask = offset_of(mask_, row * length_), moved = offset_of(moved_, row * length_);
    for (std::int64_t i = begin; i < end; i += kBlock) {
      f(row * length_ + i, mask + i * mask_.strides[-1], moved + i * moved_.strides[-1],
        static_cast<int>(std::min<std::int64_t>(kBlock, end - i)));
    }
  }
  std::int64_t mask_stride() const { return mask_.strides[-1]; }
  std::int64_t moved_stride() const { return moved_.strides[-1]; }

 private:
  Layout mask_, moved_;
  std::int64_t length_ = 1, across_ = 1;
};

}  // namespace

void compact_cpu(cpu::Executor& all_cores, const CompactProblem& problem) {
  const View& list = problem.list;
  const bool compresses = problem.form == Compaction::compress;
  // Packed elements share bytes with those of other pieces.
  cpu::Executor one_core(1);
  cpu::Executor& executor = bits(list.dtype) < 8 ? one_core : all_cores;
  const Pieces pieces(problem);
  const std::int64_t grain =
      std::max<std::int64_t>(1, Pieces::kLength * pieces.count() / (2 * problem.mask.count() + 1));
  const auto over_pieces = [&](auto&& f) {
    parallel(executor, pieces.count(), grain, [&](std::int64_t begin, std::int64_t end) {
      Finder finder(problem.mask);
      for (std::int64_t piece = begin; piece < end; ++piece) f(finder, piece);
    });
  };

  // Counts, sums the counts, then stores the elements.
  auto first = host_list<std::int64_t>(pieces.count() + 1);
  over_pieces([&](Finder& finder, std::int64_t piece) {
    std::int64_t found = 0;
    pieces.blocks(piece, [&](std::int64_t, std::int64_t mask, std::int64_t, int n) {
      found += finder.count(mask, pieces.mask_stride(), n);
    });
    first[static_cast<std::size_t>(piece) + 1] = found;
  });
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  *data<std::uint32_t>(problem.count) = static_cast<std::uint32_t>(first.back());

  const std::int64_t capacity = list.shape()[0], stride = list.strides()[0];
  const auto memory = [](const View& v) { return v.buffer.data() + v.offset; };
  const Mover move = problem.form == Compaction::indices ? Mover{nullptr, memory(list), list.dtype}
                     : compresses                        ? Mover{memory(problem.moved), memory(list), list.dtype}
                                                         : Mover{memory(list), memory(problem.moved), list.dtype};
  const bool short_places = problem.mask.rank() == 1 && bits(list.dtype) == 32;
  const auto store_index = [&](std::int64_t element, std::int64_t place) {
    if (short_places) {
      reinterpret_cast<std::uint32_t*>(move.to)[place * stride] = static_cast<std::uint32_t>(element);
      return;
    }
    for (int d = problem.mask.rank() - 1; d >= 0; --d) {
      const std::int64_t v = element % problem.mask.shape()[d], at = place * stride + d * list.strides()[1];
      element /= problem.mask.shape()[d];
      std::memcpy(move.to + at * bits(list.dtype) / 8, &v, static_cast<std::size_t>(bits(list.dtype) / 8));
    }
  };
  over_pieces([&](Finder& finder, std::int64_t piece) {
    std::int64_t place = first[static_cast<std::size_t>(piece)];
    pieces.blocks(piece, [&](std::int64_t element, std::int64_t mask, std::int64_t moved, int n) {
      if (place >= capacity) return;
      const auto found =
          static_cast<int>(std::min<std::int64_t>(finder.find(mask, pieces.mask_stride(), n), capacity - place));
      if (problem.form == Compaction::indices && short_places && stride == 1) {
        auto* const to = reinterpret_cast<std::uint32_t*>(move.to) + place;
        for (int j = 0; j < found; ++j) to[j] = static_cast<std::uint32_t>(element + finder.places()[j]);
        place += found;
        return;
      }
      for (int j = 0; j < found; ++j) {
        const std::int64_t at = moved + finder.places()[j] * pieces.moved_stride(), to = (place + j) * stride;
        if (problem.form == Compaction::indices)
          store_index(element + finder.places()[j], place + j);
        else if (compresses)
          move(at, to);
        else
          move(to, at);
      }
      place += found;
    });
  });
}

}  // namespace weft::kernels
