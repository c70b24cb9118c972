// Convolutions on the CPU's cores. In f32, where a filter has several outputs, as the product of panels, whose rows are
// gathered a block at a time; where each channel has a filter of its own and channels are adjacent, along the channels;
// else row by row along the last spatial axis.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "cpu/kernel_form.h"
#include "kernels/common/element_cpu.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/common/scratch_cpu.h"
#include "kernels/conv/product.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/expression_cpu.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/row_store.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

// The view in elements of another type: itself, or a dense copy with its axes in the same order in memory. Axes without
// a place of their own, of size 1 or broadcast, come behind the others.
View as_type(cpu::Executor& executor, const View& v, DType type) {
  if (v.dtype == type) return v;
  std::vector<int> order(static_cast<std::size_t>(v.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::less(), [&](int d) {
    const bool own = v.shape()[d] > 1 && v.strides()[d] != 0;
    return own ? std::abs(v.strides()[d]) : INT64_MAX;
  });
  Strides strides = v.strides();
  std::int64_t step = 1;
  for (const int d : order) {
    strides[d] = step;
    step *= std::max<std::int64_t>(1, v.shape()[d]);
  }
  const View copied(Buffer::host(byte_size(type, static_cast<std::uint64_t>(v.count()))), 0, type, v.shape(), strides);
  copy(executor, v, copied);
  return copied;
}

// The rows of a convolution as a product: each is gathered from the window of a place.
class Windows {
 public:
  Windows(const ConvProblem& p, const ConvProduct& product) : p_(p), product_(product), taps_(p.taps()) {
    Shape window;
    for (int d = 0; d < p.spatial(); ++d) window.push_back(p.w.shape()[ConvProblem::kSpatial + d]);
    for (std::int64_t t = 0; t < taps_; ++t) {
      std::array<std::int64_t, 3> k{};
      std::int64_t rest = t, offset = 0;
      for (int d = p.spatial() - 1; d >= 0; --d) {
        k[static_cast<std::size_t>(d)] = rest % window[d];
        offset += rest % window[d] * p.dilations[d] * p.x.strides()[ConvProblem::kSpatial + d];
        rest /= window[d];
      }
      tap_.push_back({k, offset});
    }
    const std::int64_t channels = p.channels();
    for (std::int64_t i = 0; i < product.matmul.k; ++i) {
      const std::int64_t c = product.channels_first ? i / taps_ : i % channels;
      const std::int64_t t = product.channels_first ? i % taps_ : i / channels;
      offset_.push_back(c * p.x.strides()[2] + tap_[static_cast<std::size_t>(t)].offset);
    }
    run_ = !product.channels_first && p.x.strides()[2] == 1 ? channels : 1;
  }

  void gather(std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t depth, float* to,
              std::int64_t pitch) const {
    for_each_window(batch, row, rows, [&](const float* x, bool whole, const std::vector<char>& inside) {
      if (run_ > 1)
        gather_runs(x, whole, inside, k, depth, to);
      else if (whole)
        gather_all(x, offset_.data() + k, depth, to);
      else
        gather_some(x, inside, k, depth, to);
      to += pitch;
    });
  }

  // Padding takes no part in a sum, but the zeros that stand for it make NaN of what is infinite in the filter: such
  // sums are computed again without them.
  void leave_out_padding(std::int64_t batch, std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols,
                         float* sums, std::int64_t pitch) const {
    const View& w = product_.matmul.b;
    const std::int64_t first = batch_offset(w, product_.matmul.batch, batch) + col * w.strides()[-1];
    for_each_window(batch, row, rows, [&](const float* x, bool whole, const std::vector<char>& inside) {
      for (std::int64_t c = 0; !whole && c < cols; ++c) {
        if (std::isnan(sums[c])) sums[c] = sum_inside(x, inside, w, first + c * w.strides()[-1]);
      }
      sums += pitch;
    });
  }

 private:
  // Calls f(x at the first element of the window, whether all of it lies in x, which of its elements do) for each of
  // the rows.
  template <class F>
  void for_each_window(std::int64_t batch, std::int64_t row, std::int64_t rows, F&& f) const {
    std::array<std::int64_t, kMaxRank> at{};
    for (std::size_t i = product_.batch_axes.size(); i-- > 0;) {
      const int axis = product_.batch_axes[i];
      at[static_cast<std::size_t>(axis)] = batch % p_.y.shape()[axis];
      batch /= p_.y.shape()[axis];
    }
    std::vector<char> inside(static_cast<std::size_t>(taps_));
    for (std::int64_t r = 0; r < rows; ++r) {
      std::int64_t rest = row + r;
      for (std::size_t i = product_.row_axes.size(); i-- > 0;) {
        const int axis = product_.row_axes[i];
        at[static_cast<std::size_t>(axis)] = rest % p_.y.shape()[axis];
        rest /= p_.y.shape()[axis];
      }
      std::int64_t base = at[0] * p_.x.strides()[0] + at[1] * p_.x.strides()[1];
      for (int d = 0; d < p_.spatial(); ++d) {
        const int axis = ConvProblem::kSpatial + d;
        base += p_.position(d, at[static_cast<std::size_t>(axis)], 0) * p_.x.strides()[axis];
      }
      const bool whole = find_inside(at, inside);
      f(data<const float>(p_.x) + base, whole, inside);
    }
  }
  float sum_inside(const float* x, const std::vector<char>& inside, const View& w, std::int64_t first) const {
    double sum = 0;
    for (std::int64_t k = 0; k < product_.matmul.k; ++k) {
      const std::int64_t t = product_.channels_first ? k % taps_ : k / p_.channels();
      if (!inside[static_cast<std::size_t>(t)]) continue;
      sum += double{x[offset_[static_cast<std::size_t>(k)]]} * element_as_double(w, first + k * w.strides()[-2]);
    }
    return static_cast<float>(sum);
  }

  struct Tap {
    std::array<std::int64_t, 3> k;
    std::int64_t offset;
  };

  // Which elements of the window lie in x; true if all do.
  bool find_inside(const std::array<std::int64_t, kMaxRank>& at, std::vector<char>& inside) const {
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
  void gather_runs(const float* x, bool whole, const std::vector<char>& inside, std::int64_t k, std::int64_t depth,
                   float* to) const {
    for (std::int64_t done = 0; done < depth;) {
      const std::int64_t t = (k + done) / run_, c = (k + done) % run_, n = std::min(run_ - c, depth - done);
      if (whole || inside[static_cast<std::size_t>(t)]) {
        std::memcpy(to + done, x + offset_[static_cast<std::size_t>(k + done)], static_cast<std::size_t>(n) * 4);
      } else {
        std::fill_n(to + done, n, 0.0f);
      }
      done += n;
    }
  }
  WEFT_VECTOR_CLONES
  static void gather_all(const float* x, const std::int64_t* offsets, std::int64_t depth, float* to) {
    for (std::int64_t j = 0; j < depth; ++j) to[j] = x[offsets[j]];
  }
  void gather_some(const float* x, const std::vector<char>& inside, std::int64_t k, std::int64_t depth,
                   float* to) const {
    const std::int64_t channels = p_.channels();
    for (std::int64_t j = 0; j < depth; ++j) {
      const std::int64_t t = product_.channels_first ? (k + j) % taps_ : (k + j) / channels;
      to[j] = inside[static_cast<std::size_t>(t)] ? x[offset_[static_cast<std::size_t>(k + j)]] : 0.0f;
    }
  }

  const ConvProblem& p_;
  const ConvProduct& product_;
  std::int64_t taps_, run_ = 1;
  std::vector<Tap> tap_;
  std::vector<std::int64_t> offset_;  // in x, of each k
};

template <class T>
WEFT_VECTOR_CLONES void add_scaled(const T* x, std::int64_t stride, T factor, std::int64_t count, T* sums) {
  if (stride == 1) {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * x[i];
  } else {
    for (std::int64_t i = 0; i < count; ++i) sums[i] += factor * x[i * stride];
  }
}

// A row of y along its last axis at a time: the sum of rows of x, each times an element of the filter.
template <class Sum>
void by_rows(cpu::Executor& executor, const ConvProblem& given, const Expression* epilogue, DType type) {
  cpu::say_form(
      [] { return std::pair(std::string("rows"), std::string("few outputs a group, or sums that are no f32")); });
  ConvProblem p = given;
  p.x = as_type(executor, given.x, type);
  p.w = as_type(executor, given.w, type);
  // Dense: the spatial axes count the rows, whose elements the epilogue takes by y's strides.
  const int rank = p.y.rank(), last = rank - 1, first = ConvProblem::kSpatial;
  const DType sums_type = p.sum_type();
  Expression plain;
  if (!epilogue) {
    const int sum = plain.input(sums_type);
    plain.output(p.y.dtype == sums_type ? sum : plain.cast(sum, p.y.dtype));
  }
  const CpuExpression expression(epilogue ? *epilogue : plain);
  Shape outer = p.y.shape();
  outer.pop_back();
  const std::int64_t length = p.y.shape()[last], n = p.x.shape()[last], window = p.w.shape()[last];
  const std::int64_t stride = p.strides[p.spatial() - 1], step = stride * p.x.strides()[last];
  Shape taps;
  for (int d = first; d < last; ++d) taps.push_back(p.w.shape()[d]);
  const std::int64_t outer_taps = element_count(taps), work = std::max<std::int64_t>(length * p.depth(), 1);
  parallel(executor, element_count(outer), std::max<std::int64_t>(32768 / work, 1),
           [&](std::int64_t begin, std::int64_t end) {
             std::vector<Sum> sums(static_cast<std::size_t>(length));
             CpuExpression::Registers registers(expression);
             for (std::int64_t r = begin; r < end; ++r) {
               std::array<std::int64_t, kMaxRank> at{};
               for (std::int64_t rest = r, d = last - 1; d >= 0; --d) {
                 at[static_cast<std::size_t>(d)] = rest % outer[static_cast<int>(d)];
                 rest /= outer[static_cast<int>(d)];
               }
               std::ranges::fill(sums, Sum(0));
               for (std::int64_t t = 0; t < outer_taps; ++t) {
                 std::int64_t x = at[0] * p.x.strides()[0] + at[1] * p.x.strides()[1];
                 std::int64_t w = at[0] * p.w.strides()[0] + at[2] * p.w.strides()[1];
                 bool inside = true;
                 std::int64_t tap = t;
                 for (int axis = last - 1; axis >= first; --axis) {
                   const std::int64_t k = tap % p.w.shape()[axis];
                   const std::int64_t i = p.position(axis - first, at[static_cast<std::size_t>(axis)], k);
                   tap /= p.w.shape()[axis];
                   inside &= i >= 0 && i < p.x.shape()[axis];
                   x += i * p.x.strides()[axis];
                   w += k * p.w.strides()[axis];
                 }
                 if (!inside) continue;
                 for (std::int64_t k = 0; k < window; ++k) {
                   // The places whose element of x is there.
                   const std::int64_t from = p.position(p.spatial() - 1, 0, k);
                   const std::int64_t low = std::min(length, from >= 0 ? 0 : (-from + stride - 1) / stride);
                   const std::int64_t high =
                       from >= n ? low : std::clamp((n - from + stride - 1) / stride, low, length);
                   for (std::int64_t c = 0; c < p.channels(); ++c) {
                     const Sum* row =
                         data<const Sum>(p.x) + x + c * p.x.strides()[2] + (from + low * stride) * p.x.strides()[last];
                     const Sum factor = data<const Sum>(p.w)[w + c * p.w.strides()[2] + k * p.w.strides()[last]];
                     add_scaled(row, step, factor, high - low, sums.data() + low);
                   }
                 }
               }
               const auto row_of = [&](const View& v) {
                 std::int64_t offset = 0;
                 for (int d = 0; d < last; ++d) offset += at[static_cast<std::size_t>(d)] * v.strides()[d];
                 return CpuExpression::Row{v.buffer.data() + v.offset, offset, v.strides()[last]};
               };
               std::vector<CpuExpression::Row> inputs{{reinterpret_cast<std::byte*>(sums.data()), 0, 1}};
               for (const View& v : p.operands) inputs.push_back(row_of(v));
               const CpuExpression::Row output = row_of(p.y);
               expression.evaluate(registers, inputs, std::span(&output, 1), length);
             }
           });
}

// sums[c] += Σ x[t][c] · filters[t][c] over `count` elements of the window.
WEFT_VECTOR_CLONES void add_taps(const float* const* x, const float* const* filters, std::size_t count,
                                 std::int64_t channels, float* sums) {
  std::size_t t = 0;
  for (; t + 4 <= count; t += 4) {
    const float *x0 = x[t], *x1 = x[t + 1], *x2 = x[t + 2], *x3 = x[t + 3];
    const float *f0 = filters[t], *f1 = filters[t + 1], *f2 = filters[t + 2], *f3 = filters[t + 3];
    for (std::int64_t c = 0; c < channels; ++c)
      sums[c] += x0[c] * f0[c] + x1[c] * f1[c] + (x2[c] * f2[c] + x3[c] * f3[c]);
  }
  for (; t < count; ++t) {
    for (std::int64_t c = 0; c < channels; ++c) sums[c] += x[t][c] * filters[t][c];
  }
}

// One channel and one output a group, and groups are adjacent in x and y. (On two cores MobileNet-v3's convolutions of
// this kind take a fifth of the time that rows along the last spatial axis take.)
bool channels_are_adjacent(const ConvProblem& p) {
  constexpr std::int64_t kLeast = 8;  // half of a vector
  return p.outputs() == 1 && p.channels() == 1 && p.groups() >= kLeast && p.x.strides()[0] == 1 &&
         p.y.strides()[0] == 1;
}

// All channels of a place of y at a time.
void by_channels(cpu::Executor& executor, const ConvProblem& given, const Expression* epilogue) {
  cpu::say_form(
      [] { return std::pair(std::string("channels"), std::string("a filter a channel, channels adjacent")); });
  ConvProblem p = given;
  p.x = as_type(executor, given.x, DType::f32);
  p.w = as_type(executor, given.w, DType::f32);
  const std::int64_t channels = p.groups(), taps = p.taps();
  const int spatial = p.spatial(), first = ConvProblem::kSpatial, last = p.y.rank() - 1;
  // The filters' elements, each with all channels adjacent, and where they lie in the window.
  std::vector<float> filters(static_cast<std::size_t>(taps * channels));
  std::vector<std::array<std::int64_t, 3>> places(static_cast<std::size_t>(taps));
  for (std::int64_t t = 0; t < taps; ++t) {
    std::int64_t rest = t, from = 0;
    for (int d = spatial - 1; d >= 0; --d) {
      const std::int64_t k = rest % p.w.shape()[first + d];
      places[static_cast<std::size_t>(t)][static_cast<std::size_t>(d)] = k;
      from += k * p.w.strides()[first + d];
      rest /= p.w.shape()[first + d];
    }
    for (std::int64_t c = 0; c < channels; ++c)
      filters[static_cast<std::size_t>(t * channels + c)] = data<const float>(p.w)[from + c * p.w.strides()[0]];
  }
  Expression plain;
  if (!epilogue) {
    const int sum = plain.input(DType::f32);
    plain.output(p.y.dtype == DType::f32 ? sum : plain.cast(sum, p.y.dtype));
  }
  const CpuExpression expression(epilogue ? *epilogue : plain);
  // Places of y: the batch and the spatial axes.
  const std::int64_t count = p.y.count() / channels, work = std::max<std::int64_t>(channels * taps, 1);
  parallel(executor, count, std::max<std::int64_t>(32768 / work, 1), [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> sums(static_cast<std::size_t>(channels));
    std::vector<const float*> x(static_cast<std::size_t>(taps)), f(static_cast<std::size_t>(taps));
    std::vector<CpuExpression::Row> inputs(p.operands.size() + 1);
    CpuExpression::Registers registers(expression);
    for (std::int64_t i = begin; i < end; ++i) {
      std::array<std::int64_t, kMaxRank> at{};
      std::int64_t rest = i;
      for (int axis = last; axis >= ConvProblem::kBatch; --axis) {
        at[static_cast<std::size_t>(axis)] = rest % p.y.shape()[axis];
        rest /= p.y.shape()[axis];
      }
      std::size_t inside = 0;
      for (std::int64_t t = 0; t < taps; ++t) {
        std::int64_t offset = at[ConvProblem::kBatch] * p.x.strides()[ConvProblem::kBatch];
        bool is = true;
        for (int d = 0; d < spatial; ++d) {
          const std::int64_t k = places[static_cast<std::size_t>(t)][static_cast<std::size_t>(d)];
          const std::int64_t place = p.position(d, at[static_cast<std::size_t>(first + d)], k);
          is &= place >= 0 && place < p.x.shape()[first + d];
          offset += place * p.x.strides()[first + d];
        }
        if (!is) continue;
        x[inside] = data<const float>(p.x) + offset;
        f[inside++] = filters.data() + t * channels;
      }
      std::ranges::fill(sums, 0.0f);
      add_taps(x.data(), f.data(), inside, channels, sums.data());
      const auto row_of = [&](const View& v) {
        std::int64_t offset = 0;
        for (int axis = ConvProblem::kBatch; axis <= last; ++axis)
          offset += at[static_cast<std::size_t>(axis)] * v.strides()[axis];
        return CpuExpression::Row{v.buffer.data() + v.offset, offset, v.strides()[0]};
      };
      inputs[0] = {reinterpret_cast<std::byte*>(sums.data()), 0, 1};
      for (std::size_t k = 0; k < p.operands.size(); ++k) inputs[k + 1] = row_of(p.operands[k]);
      const CpuExpression::Row output = row_of(p.y);
      expression.evaluate(registers, inputs, std::span(&output, 1), channels);
    }
  });
}

}  // namespace

void conv_cpu(cpu::Executor& executor, const ConvProblem& p, const Expression* epilogue) {
  const DType product = p.sum_type();
  if (product == DType::f64) return by_rows<double>(executor, p, epilogue, DType::f64);
  if (product == DType::i32) return by_rows<std::uint32_t>(executor, p, epilogue, DType::i32);
  if (channels_are_adjacent(p)) return by_channels(executor, p, epilogue);
  constexpr std::int64_t kFewOutputs = 4;
  if (p.outputs() < kFewOutputs) return by_rows<float>(executor, p, epilogue, DType::f32);
  ConvProblem q = p;
  q.x = as_type(executor, p.x, DType::f32);
  if (!as_product(q)) {
    // The filter's elements one after the other, then its channels.
    q.w = View(Buffer::host(byte_size(p.w.dtype, static_cast<std::uint64_t>(p.w.count()))), 0, p.w.dtype, p.w.shape());
    copy(executor, p.w, q.w);
  }
  const ConvProduct product_form = *as_product(q);
  const Windows windows(q, product_form);
  bool padded = false;
  for (int d = 0; d < q.spatial(); ++d) padded |= q.reaches_out(d);
  FinishSums finish;
  if (padded) finish = std::bind_front(&Windows::leave_out_padding, &windows);
  matmul_cpu_of_rows(executor, product_form.matmul, epilogue, std::bind_front(&Windows::gather, &windows), finish);
}

}  // namespace weft::kernels
