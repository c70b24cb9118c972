#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/common/blocks_cpu.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/pad/remap.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kMost = 512;     // elements moved by a table
constexpr std::int64_t kShortest = 16;  // a run that is worth a copy of its own
constexpr std::int64_t kPiece = 16384;
constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();  // no element of x

// The mapping of an axis, without a division for each index.
class Mapping {
 public:
  Mapping(Remap mode, const RemapAxis& axis) : mode_(mode), axis_(axis) {}

  // True if all indices are mapped to one of x.
  bool is_constant() const { return axis_.mapped && mode_ == Remap::wrap && axis_.period == 1; }
  // How many indices from c on are mapped to adjacent ones of x; 0: it is outside.
  std::int64_t run(std::int64_t c) const {
    if (!axis_.mapped) return axis_.to - c;
    const std::int64_t j = c + axis_.shift, u = turned(j), from = axis_.from;
    switch (mode_) {
      case Remap::constant:
      case Remap::keep:
        return j < 0 ? 0 : std::max<std::int64_t>(from - j, 0);
      case Remap::edge:
        return j < 0 ? 1 : std::max<std::int64_t>(from - j, 1);
      case Remap::wrap:
        return axis_.period - u;
      case Remap::reflect:
      case Remap::symmetric:
        return std::max<std::int64_t>(from - u, 1);
      case Remap::repeat:
        return axis_.period == 1 ? axis_.to - c : 1;
    }
    return 1;
  }
  // The indices of x for c + unit() … are those for c … and unit_step(); 0: there is no such unit.
  std::int64_t unit() const {
    return axis_.mapped && (mode_ == Remap::wrap || mode_ == Remap::repeat) ? axis_.period : 0;
  }
  std::int64_t unit_step() const { return mode_ == Remap::repeat ? 1 : 0; }
  // The indices of x for c … c + n - 1; -1: none.
  void fill(std::int64_t c, std::int64_t n, std::int64_t* x) const {
    const std::int64_t first = c + (axis_.mapped ? axis_.shift : 0), from = axis_.from, period = axis_.period;
    for (std::int64_t i = 0; i < n; ++i) x[i] = first + i;
    if (!axis_.mapped) return;
    switch (mode_) {
      case Remap::constant:
      case Remap::keep:
        for (std::int64_t i = 0; i < n; ++i) x[i] = x[i] >= 0 && x[i] < from ? x[i] : -1;
        return;
      case Remap::edge:
        for (std::int64_t i = 0; i < n; ++i) x[i] = std::clamp<std::int64_t>(x[i], 0, from - 1);
        return;
      case Remap::wrap:
      case Remap::reflect:
      case Remap::symmetric:
        for (std::int64_t i = 0, u = turned(first); i < n; ++i, u = u + 1 == period ? 0 : u + 1) x[i] = u;
        if (mode_ == Remap::wrap) return;
        for (std::int64_t i = 0; i < n; ++i) x[i] = std::min(x[i], period - x[i] - (mode_ == Remap::symmetric));
        return;
      case Remap::repeat:
        for (std::int64_t i = 0, index = first / period, part = first % period; i < n; ++i) {
          x[i] = index;
          const bool last = ++part == period;
          index += last;
          part = last ? 0 : part;
        }
    }
  }

 private:
  std::int64_t turned(std::int64_t j) const { return (j % axis_.period + axis_.period) % axis_.period; }

  Remap mode_;
  const RemapAxis& axis_;
};

// Moves elements of x, which offsets name, to y.
class Mover {
 public:
  explicit Mover(const RemapProblem& p)
      : bits_(bits(p.x.dtype)),
        keeps_(p.mode == Remap::keep),
        misses_(p.mode == Remap::keep || p.mode == Remap::constant),
        value_(p.value),
        x_(p.x.buffer.data() + p.x.offset),
        y_(p.y.buffer.data() + p.y.offset),
        load_(load_block(p.x.dtype)),
        store_(store_block(p.y.dtype)) {}

  // `n` elements from `from` on to those from `to` on, so far apart.
  void run(std::int64_t from, std::int64_t x_stride, std::int64_t to, std::int64_t y_stride, std::int64_t n) const {
    if (bits_ >= 8) {
      std::memcpy(y_ + to * bits_ / 8, x_ + from * bits_ / 8, static_cast<std::size_t>(n * bits_ / 8));
      return;
    }
    std::uint64_t numbers[kMost];
    for (std::int64_t i = 0; i < n; i += kMost) {
      const int count = static_cast<int>(std::min(kMost, n - i));
      load_(x_, from + i * x_stride, x_stride, count, numbers);
      store_(y_, to + i * y_stride, y_stride, count, numbers);
    }
  }
  // `n` elements from `to` on become the element `from` of x, or what is outside of it.
  void fill(std::int64_t from, std::int64_t to, std::int64_t n) const {
    if (from == kNone && keeps_) return;
    with_bits(bits_, [&]<class T>() {
      const T value = from == kNone ? static_cast<T>(value_) : reinterpret_cast<const T*>(x_)[from];
      std::fill_n(reinterpret_cast<T*>(y_) + to, n, value);
    });
  }
  // True if fill() takes elements of y so far apart.
  bool has_fills(std::int64_t y_stride) const { return bits_ >= 8 && y_stride == 1; }
  // True if run() takes elements so far apart.
  bool has_runs(std::int64_t x_stride, std::int64_t y_stride) const {
    return bits_ < 8 || (x_stride == 1 && y_stride == 1);
  }
  // The elements `from` to to + at(0), to + at(1), …
  template <class At>
  void table(const std::int64_t* from, std::int64_t to, const At& at, std::int64_t n) const {
    if (bits_ < 8) {
      for (std::int64_t i = 0; i < n; ++i) {
        if (from[i] == kNone && keeps_) continue;
        std::uint64_t number = value_;
        if (from[i] != kNone) load_(x_, from[i], 0, 1, &number);
        store_(y_, to + at(i), 0, 1, &number);
      }
      return;
    }
    with_bits(bits_, [&]<class T>() {
      const T* const x = reinterpret_cast<const T*>(x_);
      T* const y = reinterpret_cast<T*>(y_) + to;
      const T value = static_cast<T>(value_);
      if (!misses_ || std::find(from, from + n, kNone) == from + n) {
        for (std::int64_t i = 0; i < n; ++i) y[at(i)] = x[from[i]];
        return;
      }
      for (std::int64_t i = 0; i < n; ++i) {
        if (from[i] != kNone)
          y[at(i)] = x[from[i]];
        else if (!keeps_)
          y[at(i)] = value;
      }
    });
  }

 private:
  int bits_;
  bool keeps_, misses_;  // elements outside of x keep theirs; there may be some
  std::uint64_t value_;
  const std::byte* x_;
  std::byte* y_;
  LoadBlock load_;
  StoreBlock store_;
};

}  // namespace

void remap_cpu(cpu::Executor& all_cores, const RemapProblem& problem) {
  Shape shape;
  Strides y_strides;
  std::vector<Mapping> mappings;
  for (int d = 0; d < problem.rank; ++d) {
    shape.push_back(problem.axes[d].to);
    y_strides.push_back(problem.axes[d].y_stride);
    mappings.emplace_back(problem.mode, problem.axes[d]);
  }
  const ElementBlocks blocks(shape, kMost, kPiece);
  const int axis = blocks.axis();
  const std::int64_t x_stride = problem.axes[axis].x_stride, y_stride = y_strides.back();
  const std::vector<std::int64_t> y_offsets = blocks.offsets(y_strides);
  // The elements of x for an index of the axis, from the first one on.
  std::vector<std::int64_t> inner{0};
  for (int d = axis + 1; d < problem.rank; ++d) {
    std::vector<std::int64_t> from(shape[d]), more;
    mappings[d].fill(0, shape[d], from.data());
    for (const std::int64_t offset : inner) {
      for (const std::int64_t i : from) {
        more.push_back(offset == kNone || i < 0 ? kNone : offset + i * problem.axes[d].x_stride);
      }
    }
    inner = std::move(more);
  }
  const Mover mover(problem);
  const bool single = inner.size() == 1;  // an index of the axis is one element
  const bool has_runs = single && y_offsets.empty() && mover.has_runs(x_stride, y_stride);
  const bool has_fills = single && y_offsets.empty() && mover.has_fills(y_stride);
  // How many indices from c on come before a run that is worth a copy, or `most`.
  const auto before_run = [&](std::int64_t c, std::int64_t most, std::int64_t stop) {
    std::int64_t n = 0;
    while (n < kShortest && n < most) {
      const std::int64_t run = std::min(mappings[axis].run(c + n), stop - c - n);
      if (run >= kShortest) return n;
      n += std::max<std::int64_t>(run, 1);
    }
    return most;
  };
  // A table for some units of a mapping serves the next ones, too.
  const std::int64_t most = kMost / blocks.inner(), unit = mappings[axis].unit();
  const bool has_units = single && unit > 0 && unit <= most;
  const std::int64_t at_once = has_units ? most / unit * unit : most;
  cpu::Executor one_core(1);  // packed elements share bytes
  const std::int64_t grain = std::max<std::int64_t>(kPiece / blocks.size(), 1);
  parallel(bits(problem.x.dtype) < 8 ? one_core : all_cores, blocks.count(), grain,
           [&](std::int64_t begin, std::int64_t end) {
             std::int64_t indices[kMost], from[kMost];
             for (std::int64_t b = begin; b < end; ++b) {
               const ElementBlocks::Block block = blocks[b];
               // The first element of x for the indices of the axes before.
               std::int64_t base = single ? inner[0] : 0, outer = block.outer, filled = kNone;
               for (int d = axis - 1; d >= 0; --d) {
                 const std::int64_t i = remapped(problem, problem.axes[d], outer % shape[d]);
                 outer /= shape[d];
                 base = base == kNone || i < 0 ? kNone : base + i * problem.axes[d].x_stride;
               }
               const std::int64_t to = blocks.offset(block, y_strides);
               const std::int64_t stop = block.begin + block.count / blocks.inner();
               for (std::int64_t c = block.begin; c < stop;) {
                 const std::int64_t at = (c - block.begin) * blocks.inner();  // in the block
                 const std::int64_t run = base != kNone && has_runs ? std::min(mappings[axis].run(c), stop - c) : 0;
                 if (run >= kShortest) {
                   mover.run(base + remapped(problem, problem.axes[axis], c) * x_stride, x_stride, to + at * y_stride,
                             y_stride, run);
                   c += run;
                   continue;
                 }
                 if (has_fills && (base == kNone || mappings[axis].is_constant())) {
                   mover.fill(base, to + at, stop - c);
                   break;
                 }
                 std::int64_t count = std::min(at_once, stop - c);
                 if (base != kNone && has_runs && !has_units) count = before_run(c, count, stop);
                 const std::int64_t n = count * blocks.inner();
                 if (has_units && filled == c - at_once) {
                   const std::int64_t step = mappings[axis].unit_step() * (at_once / unit) * x_stride;
                   for (std::int64_t i = 0; step != 0 && i < count; ++i) indices[i] += step;
                 } else {
                   mappings[axis].fill(c, count, indices);
                   for (std::int64_t i = 0; i < count; ++i) {
                     indices[i] = base == kNone || indices[i] < 0 ? kNone : base + indices[i] * x_stride;
                   }
                 }
                 filled = c;
                 const std::int64_t* source = indices;
                 if (!single) {
                   std::int64_t* next = from;
                   for (std::int64_t i = 0; i < count; ++i) {
                     const std::int64_t first = indices[i];
                     for (const std::int64_t offset : inner)
                       *next++ = first == kNone || offset == kNone ? kNone : first + offset;
                   }
                   source = from;
                 }
                 if (!y_offsets.empty())
                   mover.table(source, to, [&](std::int64_t i) { return y_offsets[at + i]; }, n);
                 else if (y_stride == 1)
                   mover.table(source, to + at, [](std::int64_t i) { return i; }, n);
                 else
                   mover.table(source, to + at * y_stride, [&](std::int64_t i) { return i * y_stride; }, n);
                 c += count;
               }
             }
           });
}

}  // namespace weft::kernels
