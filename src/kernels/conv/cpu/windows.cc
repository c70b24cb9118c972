// Convolutions as matrix products on the CPU, of rows that are gathered from windows.
#include <algorithm>
#include <array>

#include "kernels/common/rows_cpu.h"
#include "kernels/conv/cpu/forms.h"
#include "kernels/conv/product.h"
#include "kernels/cpu_loops.h"
#include "kernels/matmul/cpu/panels.h"
#include "kernels/matmul/matmul.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"

namespace weft::kernels {
namespace {

constexpr std::int64_t kLongRun = 8;  // of a window, along the last spatial axis: worth being copied as one

template <class T>
WEFT_VECTOR_CLONES void copy_strided(const T* x, std::int64_t stride, std::int64_t count, T* to) {
  if (stride == 2) {
    for (std::int64_t j = 0; j < count; ++j) to[j] = x[2 * j];
  } else {
    for (std::int64_t j = 0; j < count; ++j) to[j] = x[j * stride];
  }
}
template <class T>
WEFT_VECTOR_CLONES void copy_from_places(const T* x, const std::int64_t* offsets, std::int64_t count, T* to) {
  for (std::int64_t j = 0; j < count; ++j) to[j] = x[offsets[j]];
}

// The rows of the product: each is gathered from the window of a place.
template <class Sum>
class Windows {
 public:
  Windows(const ConvProblem& p, const ConvProduct& product) : p_(p), product_(product), taps_(p.taps()) {
    const int last = p.spatial() - 1;
    const bool one_after_the_other = product.channels_first || p.channels() == 1;
    run_ = !product.channels_first && p.x.strides()[2] == 1 ? p.channels() : 1;
    last_ = p.w.shape()[ConvProblem::kSpatial + last];
    by_rows_ = one_after_the_other && last_ >= kLongRun;
    merges_ = run_ > 1 && p.dilations[last] * p.x.strides()[ConvProblem::kSpatial + last] == run_;
    if (by_rows_) return;
    for (std::int64_t t = 0; t < taps_; ++t) {
      const auto k = window_place(p, p.w.shape(), t);
      std::int64_t offset = 0;
      for (int d = 0; d <= last; ++d)
        offset += k[static_cast<std::size_t>(d)] * p.dilations[d] * p.x.strides()[ConvProblem::kSpatial + d];
      tap_.push_back({k, offset});
    }
    const std::int64_t channels = p.channels();
    for (std::int64_t i = 0; i < product.matmul.k; ++i) {
      const std::int64_t c = product.channels_first ? i / taps_ : i % channels;
      const std::int64_t t = product.channels_first ? i % taps_ : i / channels;
      offset_.push_back(c * p.x.strides()[2] + tap_[static_cast<std::size_t>(t)].offset);
    }
  }

  void gather(std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t depth, Sum* to,
              std::int64_t pitch) const {
    Place at{};
    for (std::size_t i = product_.batch_axes.size(); i-- > 0;) {
      const int axis = product_.batch_axes[i];
      at[static_cast<std::size_t>(axis)] = batch % p_.y.shape()[axis];
      batch /= p_.y.shape()[axis];
    }
    std::vector<char> inside(by_rows_ ? 0 : static_cast<std::size_t>(taps_));
    for (std::int64_t r = 0; r < rows; ++r, to += pitch) {
      std::int64_t rest = row + r;
      for (std::size_t i = product_.row_axes.size(); i-- > 0;) {
        const int axis = product_.row_axes[i];
        at[static_cast<std::size_t>(axis)] = rest % p_.y.shape()[axis];
        rest /= p_.y.shape()[axis];
      }
      const Sum* const image = data<const Sum>(p_.x) + at[0] * p_.x.strides()[0] + at[1] * p_.x.strides()[1];
      if (by_rows_) {
        gather_rows(image, at, k, depth, to);
        continue;
      }
      std::int64_t base = 0;
      for (int d = 0; d < p_.spatial(); ++d) {
        const int axis = ConvProblem::kSpatial + d;
        base += p_.position(d, at[static_cast<std::size_t>(axis)], 0) * p_.x.strides()[axis];
      }
      const bool whole = find_inside(at, inside);
      if (run_ > 1)
        gather_runs(image + base, whole, inside, k, depth, to);
      else if (whole)
        copy_from_places(image + base, offset_.data() + k, depth, to);
      else
        gather_some(image + base, inside, k, depth, to);
    }
  }

 private:
  using Place = std::array<std::int64_t, kMaxRank>;
  struct Tap {
    std::array<std::int64_t, 3> k;
    std::int64_t offset;
  };

  // A row of the window along its last axis at a time.
  void gather_rows(const Sum* image, const Place& at, std::int64_t k, std::int64_t depth, Sum* to) const {
    const int last = p_.spatial() - 1, axis = ConvProblem::kSpatial + last;
    const std::int64_t size = p_.x.shape()[axis], step = p_.dilations[last], stride = p_.x.strides()[axis];
    for (std::int64_t done = 0; done < depth;) {
      std::int64_t t = (k + done) % taps_;
      std::int64_t offset = (k + done) / taps_ * p_.x.strides()[2];
      const std::int64_t first = t % last_, n = std::min(last_ - first, depth - done);
      t /= last_;
      bool inside = true;
      for (int d = last - 1; d >= 0; --d) {
        const int other = ConvProblem::kSpatial + d;
        const std::int64_t i = p_.position(d, at[static_cast<std::size_t>(other)], t % p_.w.shape()[other]);
        t /= p_.w.shape()[other];
        inside &= i >= 0 && i < p_.x.shape()[other];
        offset += i * p_.x.strides()[other];
      }
      const std::int64_t from = p_.position(last, at[static_cast<std::size_t>(axis)], first);
      const auto [low, high] = inside ? indices_inside(from, step, size, n) : IndexRange{n, n};
      std::fill_n(to, low, Sum(0));
      if (low < high) {
        const Sum* const x = image + offset + (from + low * step) * stride;
        if (step * stride == 1)
          std::copy_n(x, high - low, to + low);
        else
          copy_strided(x, step * stride, high - low, to + low);
      }
      std::fill_n(to + high, n - high, Sum(0));
      done += n, to += n;
    }
  }

  // Which elements of the window lie in x; true if all do.
  bool find_inside(const Place& at, std::vector<char>& inside) const {
    bool whole = true;
    for (std::size_t t = 0; t < tap_.size(); ++t) {
      bool is = true;
      for (int d = 0; d < p_.spatial(); ++d) {
        const int axis = ConvProblem::kSpatial + d;
        const std::int64_t i =
            p_.position(d, at[static_cast<std::size_t>(axis)], tap_[t].k[static_cast<std::size_t>(d)]);
        is &= i >= 0 && i < p_.x.shape()[axis];
      }
      inside[t] = is;
      whole &= is;
    }
    return whole;
  }
  // The channels of an element of the window are adjacent in x and in k.
  void gather_runs(const Sum* x, bool whole, const std::vector<char>& inside, std::int64_t k, std::int64_t depth,
                   Sum* to) const {
    for (std::int64_t done = 0; done < depth;) {
      const std::int64_t t = (k + done) / run_, c = (k + done) % run_;
      // Elements of the window that are adjacent, too, are taken together.
      std::int64_t taps = 1;
      if (merges_) {
        const std::int64_t in_row = last_ - t % last_;
        const auto is = [&](std::int64_t i) { return whole || inside[static_cast<std::size_t>(i)]; };
        while (taps < in_row && is(t + taps) == is(t)) ++taps;
      }
      const std::int64_t n = std::min(taps * run_ - c, depth - done);
      if (whole || inside[static_cast<std::size_t>(t)])
        std::copy_n(x + offset_[static_cast<std::size_t>(k + done)], n, to + done);
      else
        std::fill_n(to + done, n, Sum(0));
      done += n;
    }
  }
  void gather_some(const Sum* x, const std::vector<char>& inside, std::int64_t k, std::int64_t depth, Sum* to) const {
    const std::int64_t channels = p_.channels();
    for (std::int64_t j = 0; j < depth; ++j) {
      const std::int64_t t = product_.channels_first ? (k + j) % taps_ : (k + j) / channels;
      to[j] = inside[static_cast<std::size_t>(t)] ? x[offset_[static_cast<std::size_t>(k + j)]] : Sum(0);
    }
  }

  const ConvProblem& p_;
  const ConvProduct& product_;
  std::int64_t taps_, run_ = 1, last_ = 1;
  bool by_rows_ = false;  // k counts the channels, then the window
  bool merges_ = false;   // rows of the window are adjacent in x and in k
  std::vector<Tap> tap_;
  std::vector<std::int64_t> offset_;  // in x, of each k
};

}  // namespace

template <class Sum>
void conv_by_windows(cpu::Executor& executor, const ConvProblem& given, const Expression* epilogue) {
  ConvProblem p = given;
  const int last = p.y.rank() - 1;
  constexpr bool integers = std::is_same_v<Sum, std::int16_t>;
  constexpr DType sums = integers ? DType::i32 : kConvSums<Sum>;
  bool few_outputs = false;
  if constexpr (!integers) few_outputs = 2 * p.outputs() <= panel_loops<Sum>().width && p.depth() >= 512;
  if (!as_product(p) || few_outputs) {
    // The filter's elements one after the other, then its channels. So they are read where they lie if there are few
    // outputs.
    p.w = View(Buffer::host(byte_size(p.w.dtype, static_cast<std::uint64_t>(p.w.count()))), 0, p.w.dtype, p.w.shape());
    copy(executor, given.w, p.w);
  }
  // Long windows, as filter gradients have, are read along the last axis.
  const bool has_long_rows = (as_product(p)->channels_first || p.channels() == 1) && p.w.shape()[last] >= kLongRun;
  p.x = has_long_rows ? with_adjacent(executor, given.x, kConvSums<Sum>, last)
                      : as_type(executor, given.x, kConvSums<Sum>);
  // Few places of y, as filter gradients have, that no one stride counts: they are rows of one product, whose result is
  // moved.
  const std::int64_t places = p.y.count() / std::max<std::int64_t>(1, p.groups() * p.outputs());
  const bool moves = as_product(p)->matmul.m < std::min<std::int64_t>(places, 32);
  if (moves) {
    Shape stored{p.groups(), p.batch()};
    std::vector<int> order{0, 1, last};
    for (int d = ConvProblem::kSpatial; d <= last; ++d) stored.push_back(p.y.shape()[d]), order.push_back(d - 1);
    stored.push_back(p.outputs());
    p.y = View(Buffer::host(byte_size(sums, static_cast<std::uint64_t>(p.y.count()))), 0, sums, stored).permuted(order);
    p.operands = {};
  }
  const ConvProduct product = *as_product(p);
  const Windows<Sum> windows(p, product);
  MatmulProblem matmul = product.matmul;
  matmul.a.dtype = kConvSums<Sum>;
  const GatherRows<Sum> gather = [&](std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t k,
                                     std::int64_t depth, Sum* to,
                                     std::int64_t pitch) { windows.gather(batch, row, rows, k, depth, to, pitch); };
  matmul_cpu_of_rows(executor, matmul, moves ? nullptr : epilogue, gather);
  if (!moves) return;
  if (!epilogue) return copy(executor, p.y, given.y);
  std::vector<View> inputs{p.y};
  inputs.insert(inputs.end(), given.operands.begin(), given.operands.end());
  map(executor, *epilogue, inputs, std::span(&given.y, 1));
}
template void conv_by_windows<float>(cpu::Executor&, const ConvProblem&, const Expression*);
template void conv_by_windows<double>(cpu::Executor&, const ConvProblem&, const Expression*);
template void conv_by_windows<std::int16_t>(cpu::Executor&, const ConvProblem&, const Expression*);

}  // namespace weft::kernels
