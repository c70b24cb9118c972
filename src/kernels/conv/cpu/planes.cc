// Convolutions on the CPU by planes: the part of a channel of x that some results need is copied with its padding,
// split by the remainders of its positions by the strides. There the element that result i takes for an element of the
// window is always the same number of elements behind element i, so results are computed in vectors across the ends of
// rows. What is computed between the rows is left out.
#include <algorithm>
#include <atomic>

#include "cpu/kernel_form.h"
#include "kernels/common/instruction_sets.h"
#include "kernels/common/lanes.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/common/scratch_cpu.h"
#include "kernels/conv/cpu/forms.h"
#include "kernels/conv/product.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/expression_cpu.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

// An axis of results, and of the elements that they read: result i takes x[i · stride + k · dilation − before].
struct PlaneAxis {
  std::int64_t x_size, size;  // elements, results
  std::int64_t window = 1, stride = 1, dilation = 1, before = 0;
};

template <class Sum>
WEFT_VECTOR_CLONES void copy_every(const Sum* x, std::int64_t stride, std::int64_t count, Sum* to) {
  if (stride == 2) {
    for (std::int64_t j = 0; j < count; ++j) to[j] = x[2 * j];
  } else {
    for (std::int64_t j = 0; j < count; ++j) to[j] = x[j * stride];
  }
}

// Rows are often shorter than what a call of memcpy costs.
template <class Sum>
WEFT_INLINE void copy_row(const Sum* from, std::int64_t count, Sum* to) {
  const auto some = [&]<int n>(std::int64_t i, std::integral_constant<int, n>)
                        WEFT_INLINE_LAMBDA { std::memcpy(to + i, from + i, n * sizeof(Sum)); };
  // The last ones overlap those before them.
  if (count >= 8) {
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8) some(i, std::integral_constant<int, 8>());
    if (i < count) some(count - 8, std::integral_constant<int, 8>());
  } else if (count >= 4) {
    some(0, std::integral_constant<int, 4>());
    some(count - 4, std::integral_constant<int, 4>());
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
  }
}

// Copies rows along the last of `axes` axes, adjacent on both sides.
template <class Sum>
void copy_rows(int axes, const std::int64_t* shape, const Sum* from, const std::int64_t* from_strides, Sum* to,
               const std::int64_t* to_strides) {
  if (axes == 1) {
    copy_row(from, shape[0], to);
    return;
  }
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    copy_rows(axes - 1, shape + 1, from + i * from_strides[0], from_strides + 1, to + i * to_strides[0],
              to_strides + 1);
  }
}

class Planes {
 public:
  static constexpr int kAxes = 4;
  using Numbers = std::array<std::int64_t, kAxes>;
  // Results of one index of the axes before cut(), some along it, and all along those behind it.
  struct Piece {
    Numbers begin{}, shape{};
  };

  // A piece has about `most` elements.
  Planes(std::vector<PlaneAxis> axes, std::int64_t most) : axes_(std::move(axes)) {
    const int last = rank() - 1;
    std::vector<std::int64_t> offsets{0};
    std::array<std::vector<std::vector<std::int64_t>>, kAxes> taps;  // of each: the phase's place, the shift
    for (int d = 0; d <= last; ++d) {
      const PlaneAxis& a = axes_[at(d)];
      for (std::int64_t k = 0; k < a.window; ++k) {
        const std::int64_t phase = k * a.dilation % a.stride, shift = k * a.dilation / a.stride;
        const auto found = std::ranges::find(phases_[at(d)], phase);
        taps[at(d)].push_back({found - phases_[at(d)].begin(), shift});
        if (found == phases_[at(d)].end()) phases_[at(d)].push_back(phase);
        reach_[at(d)] = std::max(reach_[at(d)], shift);
      }
    }
    // A window that reaches over several times as much as there are results.
    for (int d = 0; d <= last; ++d) suits_ &= reach_[at(d)] <= 3 * axes_[at(d)].size;
    if (!suits_) return;
    std::int64_t inner = 1;
    for (cut_ = last; cut_ > 0; --cut_) {
      const std::int64_t extent = axes_[at(cut_)].size + reach_[at(cut_)];
      if (inner * extent > most) break;
      inner *= extent;
    }
    const std::int64_t size = axes_[at(cut_)].size;
    part_ = std::clamp<std::int64_t>(most / inner - reach_[at(cut_)], 1, std::max<std::int64_t>(size, 1));
    parts_ = ceil_div(size, part_);
    part_ = ceil_div(size, std::max<std::int64_t>(parts_, 1));
    pieces_ = parts_;
    for (int d = 0; d < cut_; ++d) pieces_ *= axes_[at(d)].size;
    plane_ = 1;
    for (int d = last; d >= 0; --d) {
      pitch_[at(d)] = plane_;
      extent_[at(d)] = (d < cut_ ? 1 : d == cut_ ? part_ : axes_[at(d)].size) + reach_[at(d)];
      plane_ *= extent_[at(d)];
    }
    for (int d = 0; d <= last; ++d) {
      for (const std::int64_t phase : phases_[at(d)]) reads_[at(d)].push_back(reads(d, phase, 0));
    }
    std::int64_t results = part_;
    for (int d = cut_ + 1; d <= last; ++d) results *= axes_[at(d)].size;
    suits_ = plane_ <= 4 * results;
    size_ = plane_;
    for (int d = last; d >= 0; --d) {
      phase_pitch_[at(d)] = size_;
      size_ *= static_cast<std::int64_t>(phases_[at(d)].size());
    }
    for (int d = 0; d <= last; ++d) {
      const std::vector<std::int64_t> before = std::move(offsets);
      offsets.clear();
      for (const std::int64_t offset : before) {
        for (const auto& tap : taps[at(d)])
          offsets.push_back(offset + tap[0] * phase_pitch_[at(d)] + tap[1] * pitch_[at(d)]);
      }
    }
    offsets_ = std::move(offsets);
  }

  int rank() const { return static_cast<int>(axes_.size()); }
  int cut() const { return cut_; }
  std::int64_t pieces() const { return pieces_; }
  std::int64_t size() const { return size_; }  // elements of a channel's part of x
  const Numbers& pitch() const { return pitch_; }
  // Where result 0 takes the element for each element of the window, the last axis varying fastest.
  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  // Whether what is computed between the rows is little beside the results.
  bool suits() const { return suits_; }

  Piece operator[](std::int64_t i) const {
    Piece piece;
    piece.shape.fill(1);
    piece.begin[at(cut_)] = i % parts_ * part_;
    piece.shape[at(cut_)] = std::min(part_, axes_[at(cut_)].size - piece.begin[at(cut_)]);
    i /= parts_;
    for (int d = cut_ - 1; d >= 0; --d) {
      piece.begin[at(d)] = i % axes_[at(d)].size;
      i /= axes_[at(d)].size;
    }
    for (int d = cut_ + 1; d < rank(); ++d) piece.shape[at(d)] = axes_[at(d)].size;
    return piece;
  }
  // Elements from a piece's first result to its last, with what is between the rows.
  std::int64_t length(const Piece& piece) const {
    std::int64_t length = 1;
    for (int d = 0; d < rank(); ++d) length += (piece.shape[at(d)] - 1) * pitch_[at(d)];
    return length;
  }
  std::int64_t length() const { return length((*this)[0]); }  // of the largest piece

  // Copies what a piece reads to memory that was zero before the first piece: `x` is position 0 of all axes, the last
  // of which is adjacent.
  template <class Sum>
  void pack(const Piece& piece, const Sum* x, const std::int64_t* strides, Sum* to) const {
    pack_axis(0, piece, x, strides, to);
  }
  // Copies a piece's results from a view to the places that these have in planes, or to dense memory from these.
  template <class Sum>
  void spread(const Piece& piece, const Sum* y, const std::int64_t* strides, Sum* to) const {
    for (int d = 0; d < rank(); ++d) y += piece.begin[at(d)] * strides[d];
    copy_rows(rank() - cut_, piece.shape.data() + cut_, y, strides + cut_, to, pitch_.data() + cut_);
  }
  template <class Sum>
  void gather(const Piece& piece, const Sum* planes, Sum* to) const {
    Numbers dense{};
    std::int64_t step = 1;
    for (int d = rank() - 1; d >= cut_; --d) dense[at(d)] = step, step *= piece.shape[at(d)];
    copy_rows(rank() - cut_, piece.shape.data() + cut_, planes, pitch_.data() + cut_, to, dense.data() + cut_);
  }

 private:
  static constexpr std::size_t at(int axis) { return static_cast<std::size_t>(axis); }

  template <class Sum>
  void pack_axis(int d, const Piece& piece, const Sum* x, const std::int64_t* strides, Sum* to) const {
    const PlaneAxis& a = axes_[at(d)];
    for (std::size_t i = 0; i < phases_[at(d)].size(); ++i) {
      const auto [first, low, high] = d > cut_ ? reads_[at(d)][i] : reads(d, phases_[at(d)][i], piece.begin[at(d)]);
      const std::int64_t extent = extent_[at(d)];
      // In the planes of all phases of the axes behind it. Behind the cut all pieces have their padding at one place.
      const auto clear = [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t plane = 0; d <= cut_ && begin < end && plane < phase_pitch_[at(d)]; plane += plane_)
          std::fill(to + plane + begin * pitch_[at(d)], to + plane + end * pitch_[at(d)], Sum(0));
      };
      clear(0, low);
      if (d + 1 == rank() || d + 1 == kAxes) {  // the latter for the compiler
        if (a.stride == 1)
          copy_row(x + first + low, high - low, to + low);
        else if (low < high)
          copy_every(x + first + low * a.stride, a.stride, high - low, to + low);
      } else {
        for (std::int64_t e = low; e < high; ++e)
          pack_axis(d + 1, piece, x + (first + e * a.stride) * strides[d], strides, to + e * pitch_[at(d)]);
      }
      clear(high, extent);
      to += phase_pitch_[at(d)];
    }
  }

  // Of a plane's elements along an axis: the position of the first in x, and which have one there.
  struct Reads {
    std::int64_t first, low, high;
  };
  Reads reads(int d, std::int64_t phase, std::int64_t begin) const {
    const PlaneAxis& a = axes_[at(d)];
    const std::int64_t first = begin * a.stride + phase - a.before;
    const auto [low, high] = indices_inside(first, a.stride, a.x_size, extent_[at(d)]);
    return {first, low, high};
  }

  std::vector<PlaneAxis> axes_;
  std::array<std::vector<std::int64_t>, kAxes> phases_;  // remainders of positions by the stride
  std::array<std::vector<Reads>, kAxes> reads_;          // of each, from result 0 on
  Numbers reach_{}, pitch_{}, extent_{}, phase_pitch_{};
  std::int64_t part_ = 1, parts_ = 1, pieces_ = 1, plane_ = 1, size_ = 1;
  int cut_ = 0;
  bool suits_ = true;
  std::vector<std::int64_t> offsets_;
};

// y[i] = Σ x[offsets[t] + i] · filter[t], whole vectors of them.
template <class Sum, int vectors>
WEFT_INLINE void tap_sums(const Sum* x, const std::int64_t* offsets, const Sum* filter, std::int64_t taps, Sum* y) {
  constexpr int kLanes = Lanes<Sum>::kCount;
  Lanes<Sum> total[vectors];
  for (int v = 0; v < vectors; ++v) total[v].clear();
  for (std::int64_t t = 0; t < taps; ++t) {
    const Sum* const from = x + offsets[t];
    const Sum factor = filter[t];
    for (int v = 0; v < vectors; ++v) total[v].add_product(factor, from + v * kLanes);
  }
  for (int v = 0; v < vectors; ++v) total[v].store(y + v * kLanes);
}
template <class Sum>
WEFT_VECTOR_CLONES void sum_taps(const Sum* x, const std::int64_t* offsets, const Sum* filter, std::int64_t taps,
                                 std::int64_t count, Sum* y) {
  constexpr int kLanes = Lanes<Sum>::kCount;
  std::int64_t i = 0;
  for (; i + 3 * kLanes < count; i += 4 * kLanes) tap_sums<Sum, 4>(x + i, offsets, filter, taps, y + i);
  if (i + kLanes < count) tap_sums<Sum, 2>(x + i, offsets, filter, taps, y + i), i += 2 * kLanes;
  if (i < count) tap_sums<Sum, 1>(x + i, offsets, filter, taps, y + i);
}

// Sums over elements of rows of y and columns of x, spread over the lanes of vectors.
template <class Sum>
struct Dots {
  const Sum* y;
  std::int64_t y_pitch, rows;
  const Sum* const* x;
  std::int64_t cols;
  std::int64_t count;  // elements, whole vectors
  Sum* sums;           // [rows][cols][lanes], added to
};

template <class Sum, int rows, int cols>
WEFT_INLINE void dot_tile(const Dots<Sum>& d, std::int64_t row, std::int64_t col) {
  constexpr int kLanes = Lanes<Sum>::kCount;
  Sum* const sums = d.sums + (row * d.cols + col) * kLanes;
  Lanes<Sum> total[rows][cols], factor[rows];
  const Sum *x[cols], *y[rows];
  for (int r = 0; r < rows; ++r) y[r] = d.y + (row + r) * d.y_pitch;
  for (int c = 0; c < cols; ++c) x[c] = d.x[col + c];
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) total[r][c].load(sums + (r * d.cols + c) * kLanes);
  }
  for (std::int64_t i = 0; i < d.count; i += kLanes) {
    for (int r = 0; r < rows; ++r) factor[r].load(y[r] + i);
    for (int c = 0; c < cols; ++c) {
      for (int r = 0; r < rows; ++r) total[r][c].add_product(factor[r], x[c] + i);
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < cols; ++c) total[r][c].store(sums + (r * d.cols + c) * kLanes);
  }
}
template <class Sum, int rows, int most>
WEFT_INLINE void dot_row(const Dots<Sum>& d, std::int64_t row) {
  std::int64_t col = 0;
  for (; col + most <= d.cols; col += most) dot_tile<Sum, rows, most>(d, row, col);
  if constexpr (most > 3) {
    if (col + 3 <= d.cols) dot_tile<Sum, rows, 3>(d, row, col), col += 3;
  }
  for (; col < d.cols; ++col) dot_tile<Sum, rows, 1>(d, row, col);
}
// `wide`: the processor has the registers for tiles of 4 × 6 vectors.
template <class Sum>
WEFT_VECTOR_CLONES void add_dots(const Dots<Sum>& d, bool wide) {
  std::int64_t row = 0;
  if (wide) {
    for (; row + 4 <= d.rows; row += 4) dot_row<Sum, 4, 6>(d, row);
    for (; row + 2 <= d.rows; row += 2) dot_row<Sum, 2, 6>(d, row);
    if (row < d.rows) dot_row<Sum, 1, 6>(d, row);
  } else {
    for (; row + 2 <= d.rows; row += 2) dot_row<Sum, 2, 3>(d, row);
    if (row < d.rows) dot_row<Sum, 1, 3>(d, row);
  }
}

// to[i] = the sum of lanes i, by halves.
template <class Sum>
WEFT_VECTOR_CLONES void sum_lanes(const Sum* lanes, std::int64_t count, Sum* to) {
  constexpr int kLanes = Lanes<Sum>::kCount;
  for (std::int64_t i = 0; i < count; ++i, lanes += kLanes) {
    Sum part[kLanes];
    for (int e = 0; e < kLanes; ++e) part[e] = lanes[e];
    for (int n = kLanes / 2; n > 0; n /= 2) {
      for (int e = 0; e < n; ++e) part[e] += part[e + n];
    }
    to[i] = part[0];
  }
}

template <class Sum>
WEFT_VECTOR_CLONES bool all_finite(const Sum* x, std::int64_t count) {
  int others = 0;
  for (std::int64_t i = 0; i < count; ++i) others |= x[i] - x[i] != 0;
  return others == 0;
}

template <class Sum>
std::int64_t whole_vectors(std::int64_t count) {
  return ceil_div(count, Lanes<Sum>::kCount) * Lanes<Sum>::kCount;
}

}  // namespace

template <class Sum>
bool conv_by_planes(cpu::Executor& executor, const ConvProblem& given, const Expression* epilogue) {
  constexpr DType kType = kConvSums<Sum>;
  constexpr std::int64_t kMost = 4096;  // 16 KiB
  const int spatial = given.spatial(), first = ConvProblem::kSpatial, last = given.y.rank() - 1;
  std::vector<PlaneAxis> axes;
  for (int d = 0; d < spatial; ++d) {
    axes.push_back({given.x.shape()[first + d], given.y.shape()[first + d], given.w.shape()[first + d],
                    given.strides[d], given.dilations[d], given.before[d]});
  }
  const Planes planes(axes, kMost);
  if (!planes.suits()) return false;
  cpu::say_form([] { return std::pair(std::string("planes"), std::string("a filter a channel: vectors of places")); });
  ConvProblem p = given;
  p.x = with_adjacent(executor, given.x, kType, last);
  p.w = as_type(executor, given.w, kType);
  Expression plain;
  if (!epilogue) {
    const int sum = plain.input(kType);
    plain.output(p.y.dtype == kType ? sum : plain.cast(sum, p.y.dtype));
  }
  const CpuExpression expression(epilogue ? *epilogue : plain);
  // Where a piece's results are in y and the operands: so far apart, or at these offsets from its first.
  struct Stored {
    const View& view;
    std::byte* data;
    std::int64_t stride;
    std::vector<std::int64_t> offsets;
  };
  std::vector<Stored> stored;
  const auto add = [&](const View& v) {
    std::vector<int> inner;
    for (int d = planes.cut(); d < spatial; ++d) inner.push_back(first + d);
    if (const auto stride = common_stride(v, inner))
      return stored.push_back({v, v.buffer.data() + v.offset, *stride, {}});
    std::vector<std::int64_t> offsets{0};
    const Planes::Piece largest = planes[0];
    for (const int axis : inner) {
      const std::vector<std::int64_t> before = std::move(offsets);
      offsets.clear();
      for (const std::int64_t offset : before) {
        for (std::int64_t i = 0; i < largest.shape[static_cast<std::size_t>(axis - first)]; ++i)
          offsets.push_back(offset + i * v.strides()[axis]);
      }
    }
    stored.push_back({v, v.buffer.data() + v.offset, 1, std::move(offsets)});
  };
  add(p.y);
  for (const View& v : p.operands) add(v);
  const std::int64_t taps = p.taps(), pieces = planes.pieces(), batch = p.batch();
  const std::int64_t length = whole_vectors<Sum>(planes.length());
  std::vector<std::int64_t> w_offsets;
  for (std::int64_t t = 0; t < taps; ++t) {
    const auto k = window_place(p, p.w.shape(), t);
    std::int64_t offset = 0;
    for (int d = 0; d < spatial; ++d) offset += k[static_cast<std::size_t>(d)] * p.w.strides()[first + d];
    w_offsets.push_back(offset);
  }
  const std::int64_t work = std::max<std::int64_t>(length * taps, 1);
  const Sum *const x_data = data<const Sum>(p.x), *const w_data = data<const Sum>(p.w);
  parallel(executor, p.groups() * batch * pieces, std::max<std::int64_t>(32768 / work, 1),
           [&](std::int64_t begin, std::int64_t end) {
             thread_local Scratch x_scratch, sums_scratch, dense_scratch;
             Sum* const x = x_scratch.need<Sum>(planes.size() + Lanes<Sum>::kCount);
             Sum* const sums = sums_scratch.need<Sum>(length);
             Sum* const dense = dense_scratch.need<Sum>(length);
             std::fill_n(x, planes.size() + Lanes<Sum>::kCount, Sum(0));
             std::vector<Sum> filter(static_cast<std::size_t>(taps));
             std::vector<CpuExpression::Row> rows(stored.size());
             CpuExpression::Registers registers(expression);
             for (std::int64_t task = begin; task < end; ++task) {
               const std::int64_t g = task / (pieces * batch), n = task / pieces % batch;
               const Planes::Piece piece = planes[task % pieces];
               for (std::size_t t = 0; t < filter.size(); ++t) filter[t] = w_data[g * p.w.strides()[0] + w_offsets[t]];
               planes.pack(piece, x_data + g * p.x.strides()[0] + n * p.x.strides()[1], p.x.strides().begin() + first,
                           x);
               sum_taps(x, planes.offsets().data(), filter.data(), taps, planes.length(piece), sums);
               planes.gather(piece, sums, dense);
               std::int64_t count = 1;
               for (int d = 0; d < spatial; ++d) count *= piece.shape[static_cast<std::size_t>(d)];
               for (std::size_t i = 0; i < stored.size(); ++i) {
                 const View& v = stored[i].view;
                 std::int64_t offset = g * v.strides()[0] + n * v.strides()[1];
                 for (int d = 0; d < spatial; ++d)
                   offset += piece.begin[static_cast<std::size_t>(d)] * v.strides()[first + d];
                 rows[i] = {stored[i].data, offset, stored[i].stride,
                            stored[i].offsets.empty() ? nullptr : stored[i].offsets.data()};
               }
               const CpuExpression::Row output = std::exchange(rows[0], {reinterpret_cast<std::byte*>(dense), 0, 1});
               expression.evaluate(registers, rows, std::span(&output, 1), count);
             }
           });
  return true;
}
template bool conv_by_planes<float>(cpu::Executor&, const ConvProblem&, const Expression*);
template bool conv_by_planes<double>(cpu::Executor&, const ConvProblem&, const Expression*);

// The problem is that of conv_filter_gradient_problem(): w are the gradients of the convolution's results, whose batch
// is the channels.
template <class Sum>
bool filter_gradient_by_planes(cpu::Executor& executor, const ConvProblem& given) {
  constexpr DType kType = kConvSums<Sum>;
  constexpr int kLanes = Lanes<Sum>::kCount;
  // Elements of a piece; rows, sums of a task; tasks at least, if there are so many pieces.
  constexpr std::int64_t kMost = 2048, kRows = 32, kSums = 8192, kTasks = 64;
  const int spatial = given.spatial(), first = ConvProblem::kSpatial, last = given.y.rank() - 1;
  std::vector<PlaneAxis> axes{{given.channels(), given.channels()}};
  for (int d = 0; d < spatial; ++d) {
    axes.push_back({given.x.shape()[first + d], given.w.shape()[first + d], given.y.shape()[first + d],
                    given.dilations[d], given.strides[d], given.before[d]});
  }
  const Planes planes(axes, kMost);
  if (!planes.suits()) return false;
  cpu::say_form(
      [] { return std::pair(std::string("planes"), std::string("a filter's gradient: products of planes")); });
  ConvProblem p = given;
  p.x = with_adjacent(executor, given.x, kType, last);
  p.w = with_adjacent(executor, given.w, kType, last);
  const auto taps = static_cast<std::int64_t>(planes.offsets().size());
  const std::int64_t outputs = p.outputs(), channels = p.batch(), pieces = planes.pieces();
  const std::int64_t row_blocks = ceil_div(outputs, kRows), rows_of = ceil_div(outputs, row_blocks);
  const std::int64_t most = std::clamp<std::int64_t>(kSums / (rows_of * taps), 1, channels);
  const std::int64_t blocks = ceil_div(channels, most), channels_of = ceil_div(channels, blocks);
  const std::int64_t tasks = p.groups() * row_blocks * blocks;
  const std::int64_t slices = std::clamp<std::int64_t>(kTasks / tasks, 1, ceil_div(pieces, 4));
  // [slices, groups, outputs, channels, taps]
  const std::int64_t count = p.groups() * outputs * channels * taps;
  std::vector<Sum> results(static_cast<std::size_t>(slices * count));
  const std::int64_t length = whole_vectors<Sum>(planes.length());
  const std::int64_t x_pitch = whole_vectors<Sum>(planes.size()) + kLanes;
  const Sum *const x_data = data<const Sum>(p.x), *const y_data = data<const Sum>(p.w);
  std::atomic<bool> finite{true};
  parallel(executor, tasks * slices, 1, [&](std::int64_t begin, std::int64_t end) {
    thread_local Scratch x_scratch, y_scratch, sums_scratch;
    Sum* const x = x_scratch.need<Sum>(channels_of * x_pitch);
    Sum* const y = y_scratch.need<Sum>(rows_of * length);
    Sum* const sums = sums_scratch.need<Sum>(rows_of * channels_of * taps * kLanes);
    std::fill_n(x, channels_of * x_pitch, Sum(0));
    std::fill_n(y, rows_of * length, Sum(0));  // what is between the rows stays zero
    std::vector<const Sum*> cols(static_cast<std::size_t>(channels_of * taps));
    for (std::size_t i = 0; i < cols.size(); ++i) {
      const auto c = static_cast<std::int64_t>(i) / taps, t = static_cast<std::int64_t>(i) % taps;
      cols[i] = x + c * x_pitch + planes.offsets()[static_cast<std::size_t>(t)];
    }
    for (std::int64_t task = begin; task < end && finite; ++task) {
      std::int64_t rest = task;
      const std::int64_t c0 = rest % blocks * channels_of, some = std::min(channels_of, channels - c0);
      rest /= blocks;
      const std::int64_t o0 = rest % row_blocks * rows_of, rows = std::min(rows_of, outputs - o0);
      rest /= row_blocks;
      const std::int64_t g = rest % p.groups(), slice = rest / p.groups();
      std::fill_n(sums, rows * some * taps * kLanes, Sum(0));
      for (std::int64_t i = pieces * slice / slices; i < pieces * (slice + 1) / slices; ++i) {
        const Planes::Piece piece = planes[i];
        const std::int64_t size = planes.length(piece), padded = whole_vectors<Sum>(size);
        bool numbers = true;
        for (std::int64_t c = 0; c < some; ++c) {
          Sum* const to = x + c * x_pitch;
          planes.pack(piece, x_data + g * p.x.strides()[0] + (c0 + c) * p.x.strides()[1], p.x.strides().begin() + 2,
                      to);
          numbers &= all_finite(to, planes.size());
        }
        for (std::int64_t o = 0; o < rows; ++o) {
          Sum* const to = y + o * length;
          planes.spread(piece, y_data + g * p.w.strides()[0] + (o0 + o) * p.w.strides()[1], p.w.strides().begin() + 2,
                        to);
          std::fill(to + size, to + padded, Sum(0));
          numbers &= all_finite(to, size);
        }
        if (!numbers) finite = false;
        if (!finite) break;
        add_dots<Sum>({y, length, rows, cols.data(), some * taps, padded, sums}, instruction_set() == 4);
      }
      for (std::int64_t o = 0; o < rows; ++o) {
        sum_lanes(sums + o * some * taps * kLanes, some * taps,
                  results.data() + slice * count + ((g * outputs + o0 + o) * channels + c0) * taps);
      }
    }
  });
  if (!finite) return false;
  Shape shape{p.groups(), outputs, channels};
  std::vector<int> order{0, 2, 1};
  for (int d = first; d <= last; ++d) shape.push_back(p.y.shape()[d]), order.push_back(d);
  const View result(Buffer::host(byte_size(kType, static_cast<std::uint64_t>(count))), 0, kType, shape);
  auto* const sums = data<Sum>(result);
  for (std::int64_t i = 0; i < count; ++i) {
    Sum sum = 0;
    for (std::int64_t slice = 0; slice < slices; ++slice) sum += results[static_cast<std::size_t>(slice * count + i)];
    sums[i] = sum;
  }
  copy(executor, result.permuted(order), given.y);
  return true;
}
template bool filter_gradient_by_planes<float>(cpu::Executor&, const ConvProblem&);
template bool filter_gradient_by_planes<double>(cpu::Executor&, const ConvProblem&);

}  // namespace weft::kernels
