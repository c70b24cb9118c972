// Convolutions as matrix products on the CPU, whose columns are places of y: for each channel and element of the window
// a row of x is copied, from which a vector takes neighbouring places.
#include <algorithm>
#include <array>
#include <format>

#include "cpu/kernel_form.h"
#include "cpu/packed_weight_cache.h"
#include "kernels/common/instruction_sets.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/common/scratch_cpu.h"
#include "kernels/conv/cpu/forms.h"
#include "kernels/conv/product.h"
#include "kernels/cpu_loops.h"
#include "kernels/matmul/cpu/pairs.h"
#include "kernels/matmul/cpu/panels.h"
#include "kernels/matmul/row_store.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

// A run of places along the last axis, at an element of the window.
struct Run {
  std::int64_t first = 0;          // offset in x of the run's first place, whether x has it or not
  std::int64_t low = 0, high = 0;  // the places that x has
  std::int64_t count = 0;
};

// to[…] = the runs one after the other, zero where x has no element.
template <class Sum>
WEFT_VECTOR_CLONES void copy_runs(const Sum* x, const Run* runs, std::size_t count, std::int64_t step, Sum* to) {
  for (std::size_t i = 0; i < count; ++i) {
    const Run& r = runs[i];
    const Sum* const from = x + r.first;
    for (std::int64_t j = 0; j < r.low; ++j) to[j] = 0;
    if (step == 1) {
      std::memcpy(to + r.low, from + r.low, static_cast<std::size_t>(r.high - r.low) * sizeof(Sum));
    } else if (step == 2) {
      for (std::int64_t j = r.low; j < r.high; ++j) to[j] = from[2 * j];
    } else {
      for (std::int64_t j = r.low; j < r.high; ++j) to[j] = from[j * step];
    }
    for (std::int64_t j = r.high; j < r.count; ++j) to[j] = 0;
    to += r.count;
  }
}

// How the filter's elements follow each other, each filter dense.
std::optional<bool> channels_first(const View& w) {
  for (const bool first : {true, false}) {
    std::vector<int> axes;
    for (int d = ConvProblem::kSpatial; d < w.rank(); ++d) axes.push_back(d);
    axes.insert(first ? axes.begin() : axes.end(), 2);
    if (common_stride(w, axes) == 1) return first;
  }
  return std::nullopt;
}

// to[pairs][width][2] = two rows of x, panel by panel, `panel` elements from one to the next.
WEFT_VECTOR_CLONES void interleave(const std::int16_t* first, const std::int16_t* second, std::int64_t cols,
                                   std::int64_t width, std::int16_t* to, std::int64_t panel) {
  for (std::int64_t col = 0; col < cols; col += width, to += panel) {
    for (std::int64_t j = 0; j < width; ++j) {
      to[2 * j] = first[col + j];
      to[2 * j + 1] = second[col + j];
    }
  }
}

// Sum: i16 stands for integers, which are summed in i32.
template <class Sum>
class Places {
  static constexpr bool kPairs = std::is_same_v<Sum, std::int16_t>;
  using Total = std::conditional_t<kPairs, std::uint32_t, Sum>;

 public:
  Places(cpu::Executor& executor, const ConvProblem& given, const Expression* epilogue)
      : p_(prepared(executor, given)),
        channels_first_(*channels_first(p_.w)),
        taps_(p_.taps()),
        matmul_(product()),
        store_(matmul_, epilogue) {}

  void run(cpu::Executor& executor) {
    const std::int64_t width = panel_width();
    const auto whole_panels = [&](std::int64_t n) { return (n + width - 1) / width * width; };
    // Elements of a block's sums, and of the rows of x that it reads at a time: parts of the second-level cache.
    constexpr std::int64_t kSums = (128 << 10) / sizeof(Total), kRows = (256 << 10) / sizeof(Sum), kMostPlaces = 512;
    std::int64_t block =
        std::clamp(kSums / matmul_.m / width * width, width, std::min(kMostPlaces, whole_panels(matmul_.n)));
    const auto blocks = [&] { return matmul_.batches() * ((matmul_.n + block - 1) / block); };
    while (executor.threads() > 1 && blocks() < 2 * executor.threads() && block > 2 * width)
      block = whole_panels(block / 2);
    const std::int64_t across = (matmul_.n + block - 1) / block;
    // Rows that are no multiple of a page apart, so that they do not evict each other.
    const std::int64_t pitch = block + 64 / static_cast<std::int64_t>(sizeof(Sum));
    const std::int64_t step = std::min(std::max<std::int64_t>(kRows / pitch / 2 * 2, 16), matmul_.k);
    parallel(executor, blocks(), 1, [&](std::int64_t begin, std::int64_t end) {
      thread_local Scratch rows_scratch, sums_scratch;
      Sum* const rows = rows_scratch.need<Sum>((step + 3) * pitch);
      Total* const sums = sums_scratch.need<Total>(matmul_.m * block);
      std::vector<Run> runs;
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t batch = i / across, first = i % across * block, count = std::min(block, matmul_.n - first);
        const Place at = place_of(batch);
        find_runs(at, first, count, runs);
        const std::size_t per_tap = runs.size() / static_cast<std::size_t>(taps_);
        const Sum* const x = data<const Sum>(p_.x) + at[0] * p_.x.strides()[0] + at[1] * p_.x.strides()[1];
        const Sum* const w = data<const Sum>(p_.w) + at[0] * p_.w.strides()[0];
        const std::int64_t cols = whole_panels(count);
        for (std::int64_t k = 0; k < matmul_.k; k += step) {
          const std::int64_t depth = std::min(step, matmul_.k - k);
          const auto take = [&](std::int64_t e, Sum* to) {
            const std::int64_t c = channels_first_ ? (k + e) / taps_ : (k + e) % p_.channels();
            const std::int64_t t = channels_first_ ? (k + e) % taps_ : (k + e) / p_.channels();
            copy_runs(x + c * p_.x.strides()[2], runs.data() + static_cast<std::size_t>(t) * per_tap, per_tap, step_,
                      to);
            std::fill(to + count, to + cols, Sum(0));
          };
          if constexpr (kPairs) {
            const PairLoops& loops = pair_loops();
            const std::int64_t pairs = (depth + 1) / 2;
            Sum *const first_row = rows + (step + 1) * pitch, *const second_row = rows + (step + 2) * pitch;
            for (std::int64_t e = 0; e < depth; e += 2) {
              take(e, first_row);
              if (e + 1 < depth)
                take(e + 1, second_row);
              else
                std::fill_n(second_row, cols, Sum(0));
              interleave(first_row, second_row, cols, width, rows + e * width, 2 * pairs * width);
            }
            for (std::int64_t col = 0; col < cols; col += width) {
              loops.panel[pair_type(DType::i16)](
                  {w + k, p_.w.strides()[1], rows + col * 2 * pairs, sums + col, block, matmul_.m, pairs, k > 0});
            }
          } else {
            for (std::int64_t e = 0; e < depth; ++e) take(e, rows + e * pitch);
            for (std::int64_t col = 0; col < cols; col += width) {
              panel_loops<Sum>().panel[0]({.a = w + k,
                                           .a_row = p_.w.strides()[1],
                                           .b = rows + col,
                                           .b_row = pitch,
                                           .y = sums + col,
                                           .pitch = block,
                                           .rows = matmul_.m,
                                           .cols = width,
                                           .depth = depth,
                                           .add = k > 0});
            }
          }
        }
        store_.rows(sums, block, batch, 0, matmul_.m, first, count);
      }
    });
  }

 private:
  using Place = std::array<std::int64_t, kMaxRank>;

  static std::int64_t panel_width() {
    if constexpr (kPairs)
      return pair_loops().width;
    else
      return panel_loops<Sum>().width;
  }

  static ConvProblem prepared(cpu::Executor& executor, const ConvProblem& given) {
    ConvProblem p = given;
    p.x = with_adjacent(executor, given.x, kConvSums<Sum>, given.x.rank() - 1);
    if constexpr (kPairs) {
      // Filters dense one after the other. The last pair of an odd number reads an element more.
      const auto dense = [&] {
        const Buffer memory = Buffer::host(byte_size(DType::i16, static_cast<std::uint64_t>(given.w.count())) + 4);
        copy(executor, given.w, View(memory, 0, DType::i16, given.w.shape()));
        return memory;
      };
      Buffer memory;
      if (PackedWeightCache* packed_weights = executor.packed_weights())
        memory = packed_weights->form(given.w, "dense_i16", dense);
      p.w = View(memory ? memory : dense(), 0, DType::i16, given.w.shape());
      return p;
    }
    p.w = as_type(executor, given.w, kConvSums<Sum>);
    if (!channels_first(p.w)) {
      p.w =
          View(Buffer::host(byte_size(p.w.dtype, static_cast<std::uint64_t>(p.w.count()))), 0, p.w.dtype, p.w.shape());
      copy(executor, given.w, p.w);
    }
    return p;
  }

  // y as rows of places, as many of its axes as one stride counts.
  MatmulProblem product() {
    const int last = p_.y.rank() - 1;
    std::vector<int>& axes = axes_;
    for (int d = last; d >= ConvProblem::kSpatial; --d) {
      std::vector<int> more = axes;
      more.insert(more.begin(), d);
      bool counts = common_stride(p_.y, more).has_value();
      for (const View& v : p_.operands) counts &= common_stride(v, more).has_value();
      if (!counts) break;
      axes = std::move(more);
    }
    split_ = axes.front();
    MatmulProblem m;
    for (int d = 0; d < split_; ++d) {
      if (d != 2) m.batch.push_back(p_.y.shape()[d]);
    }
    m.m = p_.outputs(), m.n = 1, m.k = p_.depth();
    for (const int d : axes) m.n *= p_.y.shape()[d];
    const auto like_y = [&](const View& v) {
      Layout layout;
      for (int d = 0; d < split_; ++d) {
        if (d != 2) layout.shape.push_back(p_.y.shape()[d]), layout.strides.push_back(v.strides()[d]);
      }
      layout.shape.push_back(m.m), layout.strides.push_back(v.strides()[2]);
      layout.shape.push_back(m.n), layout.strides.push_back(*common_stride(v, axes));
      return v.with_layout(layout);
    };
    m.a.dtype = m.b.dtype = kConvSums<Sum>;
    m.y = like_y(p_.y);
    for (const View& v : p_.operands) m.operands.push_back(like_y(v));
    step_ = p_.strides[p_.spatial() - 1];
    return m;
  }

  Place place_of(std::int64_t batch) const {
    Place at{};
    for (int d = split_ - 1; d >= 0; --d) {
      if (d == 2) continue;
      at[static_cast<std::size_t>(d)] = batch % p_.y.shape()[d];
      batch /= p_.y.shape()[d];
    }
    return at;
  }

  // For each element of the window the runs of `count` places from `first` on.
  void find_runs(Place at, std::int64_t first, std::int64_t count, std::vector<Run>& runs) const {
    const int last = p_.y.rank() - 1, spatial = std::max(p_.spatial(), 1);
    const std::int64_t length = p_.y.shape().back(), size = p_.x.shape().back(), stride = step_;
    runs.clear();
    for (std::int64_t t = 0; t < taps_; ++t) {
      const auto k = window_place(p_, p_.w.shape(), t);
      for (std::int64_t done = 0; done < count;) {
        std::int64_t rest = first + done;
        for (std::size_t a = axes_.size(); a-- > 0;) {
          at[static_cast<std::size_t>(axes_[a])] = rest % p_.y.shape()[axes_[a]];
          rest /= p_.y.shape()[axes_[a]];
        }
        const std::int64_t from = at[static_cast<std::size_t>(last)], n = std::min(length - from, count - done);
        Run run{.count = n};
        bool inside = true;
        for (int d = 0; d + 1 < spatial; ++d) {
          const int axis = ConvProblem::kSpatial + d;
          const std::int64_t i = p_.position(d, at[static_cast<std::size_t>(axis)], k[static_cast<std::size_t>(d)]);
          inside &= i >= 0 && i < p_.x.shape()[axis];
          run.first += i * p_.x.strides()[axis];
        }
        const std::int64_t begin = p_.position(spatial - 1, from, k[static_cast<std::size_t>(spatial - 1)]);
        run.first += begin;
        if (inside) {
          const auto [low, high] = indices_inside(begin, stride, size, n);
          run.low = low, run.high = high;
        }
        runs.push_back(run);
        done += n;
      }
    }
  }

  const ConvProblem p_;
  bool channels_first_;
  std::int64_t taps_, step_ = 1;
  std::vector<int> axes_;  // of y, which places count
  int split_ = 0;          // the first of them
  const MatmulProblem matmul_;
  const RowStore store_;
};

}  // namespace

template <class Sum>
void conv_by_places(cpu::Executor& executor, const ConvProblem& p, const Expression* epilogue) {
  cpu::say_form([] {
    return std::pair(
        std::format("places_{}", std::is_same_v<Sum, std::int16_t> ? pair_loops().name : instruction_set_name()),
        std::string("neighbouring places are adjacent in x, or a group has few outputs"));
  });
  Places<Sum>(executor, p, epilogue).run(executor);
}
template void conv_by_places<float>(cpu::Executor&, const ConvProblem&, const Expression*);
template void conv_by_places<double>(cpu::Executor&, const ConvProblem&, const Expression*);
template void conv_by_places<std::int16_t>(cpu::Executor&, const ConvProblem&, const Expression*);

}  // namespace weft::kernels
