// Convolutions on the CPU's cores: which form suits a problem, and the form that suits each, row by row along the last
// spatial axis. cpu/ has the others.
#include <algorithm>
#include <array>

#include "cpu/kernel_form.h"
#include "kernels/common/rows_cpu.h"
#include "kernels/conv/cpu/forms.h"
#include "kernels/conv/product.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/elementwise/expression_cpu.h"
#include "kernels/matmul/cpu/pairs.h"
#include "kernels/matmul/cpu/panels.h"

namespace weft::kernels {
namespace {

// An element of the filter along a row of y: the places that its element of x has, and where x is at place 0.
template <class Sum>
struct RowTerm {
  const Sum* x;
  Sum factor;
  std::int64_t low, high;
};

// sums[i] += Σ x[t][i · step] · factor[t] over `count` terms and the places from `low` to `high`.
template <class Sum>
WEFT_VECTOR_CLONES void add_terms(const RowTerm<Sum>* terms, std::size_t count, std::int64_t step, std::int64_t low,
                                  std::int64_t high, Sum* sums) {
  for (; count >= 4; count -= 4, terms += 4) {
    const Sum *x0 = terms[0].x, *x1 = terms[1].x, *x2 = terms[2].x, *x3 = terms[3].x;
    const Sum f0 = terms[0].factor, f1 = terms[1].factor, f2 = terms[2].factor, f3 = terms[3].factor;
    if (step == 1) {
      for (std::int64_t i = low; i < high; ++i) sums[i] += x0[i] * f0 + x1[i] * f1 + (x2[i] * f2 + x3[i] * f3);
    } else {
      for (std::int64_t i = low; i < high; ++i)
        sums[i] += x0[i * step] * f0 + x1[i * step] * f1 + (x2[i * step] * f2 + x3[i * step] * f3);
    }
  }
  for (; count > 0; --count, ++terms) {
    const Sum* const x = terms->x;
    const Sum factor = terms->factor;
    if (step == 1) {
      for (std::int64_t i = low; i < high; ++i) sums[i] += x[i] * factor;
    } else {
      for (std::int64_t i = low; i < high; ++i) sums[i] += x[i * step] * factor;
    }
  }
}

// A row of y along its last axis at a time: the sum of rows of x, each times an element of the filter.
template <class Sum>
void by_rows(cpu::Executor& executor, const ConvProblem& given, const Expression* epilogue) {
  cpu::say_form([] {
    return std::pair(
        std::string("rows"),
        std::string("integers of few channels or more than 16 bits, or infinities that must not meet the padding"));
  });
  ConvProblem p = given;
  p.x = as_type(executor, given.x, kConvSums<Sum>);
  p.w = as_type(executor, given.w, kConvSums<Sum>);
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
  const std::int64_t length = p.y.shape().back(), n = p.x.shape().back(), window = p.w.shape().back();
  const std::int64_t stride = p.strides.back(), step = stride * p.x.strides().back();
  // Along the last axis: the elements of the window that any place has.
  struct Element {
    std::int64_t x, w, low, high;
  };
  std::vector<Element> elements;
  for (std::int64_t k = 0; k < window; ++k) {
    const std::int64_t from = p.position(p.spatial() - 1, 0, k);
    const auto [low, high] = indices_inside(from, stride, n, length);
    if (low < high) elements.push_back({from * p.x.strides().back(), k * p.w.strides().back(), low, high});
  }
  Shape taps;
  for (int d = first; d < last; ++d) taps.push_back(p.w.shape()[d]);
  const Sum *const x_data = data<const Sum>(p.x), *const w_data = data<const Sum>(p.w);
  const std::int64_t outer_taps = element_count(taps), channels = p.channels(),
                     work = std::max<std::int64_t>(length * p.depth(), 1);
  parallel(executor, element_count(outer), std::max<std::int64_t>(32768 / work, 1),
           [&](std::int64_t begin, std::int64_t end) {
             std::vector<Sum> sums(static_cast<std::size_t>(length));
             std::vector<RowTerm<Sum>> terms;
             std::vector<CpuExpression::Row> inputs(p.operands.size() + 1);
             CpuExpression::Registers registers(expression);
             for (std::int64_t r = begin; r < end; ++r) {
               std::array<std::int64_t, kMaxRank> at{};
               for (std::int64_t rest = r, d = last - 1; d >= 0; --d) {
                 at[static_cast<std::size_t>(d)] = rest % outer[static_cast<int>(d)];
                 rest /= outer[static_cast<int>(d)];
               }
               terms.clear();
               std::int64_t all_from = 0, all_to = length;  // the places that have all terms
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
                 for (const Element& e : elements) {
                   all_from = std::max(all_from, e.low), all_to = std::min(all_to, e.high);
                   for (std::int64_t c = 0; c < channels; ++c) {
                     terms.push_back({x_data + x + c * p.x.strides()[2] + e.x, w_data[w + c * p.w.strides()[2] + e.w],
                                      e.low, e.high});
                   }
                 }
               }
               all_to = std::max(all_from, all_to);
               std::ranges::fill(sums, Sum(0));
               add_terms(terms.data(), terms.size(), step, all_from, all_to, sums.data());
               for (const RowTerm<Sum>& t : terms) {
                 for (std::int64_t i = t.low; i < std::min(all_from, t.high); ++i) sums[i] += t.x[i * step] * t.factor;
                 for (std::int64_t i = std::max(all_to, t.low); i < t.high; ++i) sums[i] += t.x[i * step] * t.factor;
               }
               const auto row_of = [&](const View& v) {
                 std::int64_t offset = 0;
                 for (int d = 0; d < last; ++d) offset += at[static_cast<std::size_t>(d)] * v.strides()[d];
                 return CpuExpression::Row{v.buffer.data() + v.offset, offset, v.strides()[last]};
               };
               inputs[0] = {reinterpret_cast<std::byte*>(sums.data()), 0, 1};
               for (std::size_t k = 0; k < p.operands.size(); ++k) inputs[k + 1] = row_of(p.operands[k]);
               const CpuExpression::Row output = row_of(p.y);
               expression.evaluate(registers, inputs, std::span(&output, 1), length);
             }
           });
}

template <class T>
WEFT_VECTOR_CLONES bool finite_block(const T* x, int n) {
  int others = 0;
  for (int i = 0; i < n; ++i) others += x[i] - x[i] != 0;
  return others == 0;
}

// Whether all elements are numbers: then a product with the zeros of the padding is zero.
bool all_finite(const View& v) {
  const Strides strides[] = {v.strides()};
  Collapsed c = sort_and_collapse(v.shape(), strides, 0);
  const std::int64_t length = c.shape.empty() ? 1 : c.shape.back(), stride = c.shape.empty() ? 1 : c.strides[0].back();
  if (!c.shape.empty()) c.shape.pop_back(), c.strides[0].pop_back();
  constexpr std::int64_t kBlock = 512;
  const LoadBlock load = load_block(v.dtype);
  alignas(64) std::byte block[kBlock * 8];
  bool finite = true;
  for_each_offset<1>(c.shape, {c.strides[0]}, [&](std::int64_t first) {
    for (std::int64_t i = 0; finite && i < length; i += kBlock) {
      const int n = static_cast<int>(std::min(kBlock, length - i));
      load(v.buffer.data() + v.offset, first + i * stride, stride, n, block);
      finite = v.dtype == DType::f64 ? finite_block(reinterpret_cast<const double*>(block), n)
                                     : finite_block(reinterpret_cast<const float*>(block), n);
    }
  });
  return finite;
}

// Products of windows have columns of outputs, those of places have rows of them: it depends on what lies adjacent.
bool suits_places(const ConvProblem& p, std::int64_t width) {
  const std::int64_t places = p.y.count() / std::max<std::int64_t>(1, p.groups() * p.outputs());
  if (places < p.taps() || places < width) return false;  // a filter's gradient
  return p.outputs() < width || p.x.strides()[-1] == 1;
}

// Copies of planes pay for several places of y, unless the operands are matrices as they are: where channels are
// adjacent and a filter has one element, or where the filter is a row of memory (a window that is all of x).
bool suits_planes(const ConvProblem& p) {
  constexpr std::int64_t kFewPlaces = 8;
  if (p.outputs() == 1) return true;
  const std::int64_t places = p.y.count() / (p.groups() * p.outputs());
  std::vector<int> depth{2};
  for (int d = ConvProblem::kSpatial; d < p.w.rank(); ++d) depth.push_back(d);
  const bool is_row = p.channels() > 1 && common_stride(p.w, depth) == 1;
  return places >= kFewPlaces && !is_row && (places > p.batch() || p.x.strides()[-1] == 1);
}

template <class Sum>
void run(cpu::Executor& executor, const ConvProblem& p, const Expression* epilogue) {
  constexpr std::int64_t kFewGroups = 8;  // half of a vector
  if (p.depth() == 0) return by_rows<Sum>(executor, p, epilogue);
  const std::int64_t places = p.y.count() / std::max<std::int64_t>(1, p.groups() * p.outputs());
  const bool depthwise = p.channels() == 1 && p.outputs() == 1 && places >= p.taps();
  const bool is_gradient = !depthwise && !epilogue && places <= p.batch() * p.taps();  // of a filter
  if (p.groups() >= kFewGroups && p.x.strides()[-1] != 1) {
    if (depthwise) return conv_by_groups<Sum>(executor, p, epilogue);
    if (is_gradient && p.outputs() == 1 && p.batch() == 1) return filter_gradient_by_groups<Sum>(executor, p);
  }
  if (is_gradient && suits_planes(p) && filter_gradient_by_planes<Sum>(executor, p)) return;
  bool reaches_out = false;
  for (int d = 0; d < p.spatial(); ++d) reaches_out |= p.reaches_out(d);
  if (reaches_out && !all_finite(p.w)) return by_rows<Sum>(executor, p, epilogue);
  if (depthwise && conv_by_planes<Sum>(executor, p, epilogue)) return;
  if (suits_places(p, panel_loops<Sum>().width)) return conv_by_places<Sum>(executor, p, epilogue);
  conv_by_windows<Sum>(executor, p, epilogue);
}

}  // namespace

void conv_cpu(cpu::Executor& executor, const ConvProblem& p, const Expression* epilogue) {
  switch (p.sum_type()) {
    case DType::f64:
      return run<double>(executor, p, epilogue);
    case DType::i32: {
      // Rows of one term or two are not worth being gathered.
      const bool pairs = pair_type(p.x.dtype) >= 0 && pair_type(p.w.dtype) >= 0 && p.depth() >= 4 && p.outputs() >= 4;
      if (!pairs) return by_rows<std::uint32_t>(executor, p, epilogue);
      if (suits_places(p, pair_loops().width)) return conv_by_places<std::int16_t>(executor, p, epilogue);
      return conv_by_windows<std::int16_t>(executor, p, epilogue);
    }
    default:
      return run<float>(executor, p, epilogue);
  }
}

}  // namespace weft::kernels
