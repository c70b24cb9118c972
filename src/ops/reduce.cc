#include "ops/reduce.h"

#include "core/format.h"
#include "graph/graph.h"
#include "kernels/common/element_work.h"
#include "kernels/reduce/reduction.h"
#include "ops/composition.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/fused.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/promotion.h"
#include "ops/range_scale.h"
#include "ops/rules.h"
#include "ops/scan.h"
#include "weft/error.h"
#include "weft/kernels/reduce.h"

namespace weft {
namespace {

Shape reduced(const Shape& shape, const std::vector<int>& axes, bool keep_dims) {
  Shape result;
  std::size_t next = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool gone = next < axes.size() && axes[next] == i;
    if (gone) ++next;
    if (!gone)
      result.push_back(shape[i]);
    else if (keep_dims)
      result.push_back(1);
  }
  return result;
}

// How many elements become one. The axes are counted from the front.
std::int64_t reduced_elements(const Shape& shape, const std::vector<int>& axes) {
  Shape along;
  for (const int a : axes) along.push_back(shape[a]);
  return element_count(along);
}

// In ascending order, counted from the front.
std::vector<int> sorted_axes(std::string_view what, int rank, const std::vector<int>& axes) {
  std::vector<int> sorted;
  for (const int a : axes) sorted.push_back(normalize_axis(a, rank, what));
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) throw ShapeError("{}: an axis is named twice", what);
  return sorted;
}

std::vector<int> sorted_axes(std::string_view what, const Tensor& x, const Axes& axes) {
  if (!x.defined()) throw InvalidArgument("{}: the operand is an undefined Tensor", what);
  return sorted_axes(what, x.rank(), axes.of(x.rank()));
}

// Types of numbers whose squares, or sums of some, may leave the range of the type in which these are computed.
constexpr TypeSet kSquaresLeaveRange = {DType::f32, DType::bf16, DType::f64, DType::i64, DType::u64};

Tensor moment(ReduceKind kind, const Tensor& x, const Axes& axes, double correction, bool keep_dims) {
  const std::vector<int> sorted = sorted_axes(kernels::reduce_name(kind), x, axes);
  const Tensor v = cast(x, averaged(x.dtype()));
  const auto of = [&](const Tensor& t, bool keep) {
    return apply(make_op<ReduceOp>(ReduceAttributes{kind, sorted, keep, correction}), {t});
  };
  // A deviation is in range wherever its elements are, whose squares need not be.
  if (kind == ReduceKind::variance || !kSquaresLeaveRange.contains(x.dtype())) return of(v, keep_dims);
  const RangeScale scale(v, sorted);
  const Tensor y = scale.undone(of(scale.scaled(v), true));
  return keep_dims ? y : reshape(y, reduced(x.shape(), sorted, false));
}

Tensor arg_reduce(kernels::ArgKind kind, const Tensor& x, const Axes& axes, bool keep_dims) {
  const std::string_view name = kind == kernels::ArgKind::max ? "argmax" : "argmin";
  return apply(make_op<ArgReduceOp>(ArgReduceAttributes{kind, sorted_axes(name, x, axes), keep_dims}), {x});
}

constexpr const char* kAxesMeaning = "the axes that are reduced";
constexpr const char* kKeepMeaning = "keep the axes, with size 1";

}  // namespace

std::string_view ReduceOp::name() const { return kernels::reduce_name(a.kind); }

void ReduceAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axes = sorted_axes(op, in[0].shape.rank(), axes);
}

void ReduceAttributes::fields(AttributeVisitor& v) {
  v("axes", axes, kAxesMeaning);
  if (kernels::is_moment(kind)) v("correction", correction, 0, "comes off the number of elements: 1 for a sample");
  v.brief("keep_dims", keep_dims, false, kKeepMeaning);
}

std::vector<TensorType> ReduceOp::infer(std::span<const TensorType> in) const {
  if (kernels::is_moment(a.kind)) kernels::check_correction(name(), a.correction);
  return {{infer_dtype(name(), {&in[0]}), reduced(in[0].shape, a.axes, a.keep_dims)}};
}

// On the CPU no extra outputs: blocks of elements go through work and sum in turn there, at half the speed of both
// apart (4096 x 1024 along rows, two cores). Nor of variance and deviation, whose rows may be read twice. Types
// narrower than a word would be stored one by one where rows do not divide into fours.
FusionSpec ReduceOp::fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> in,
                                 std::span<const TensorType> out) const {
  const Shape& shape = in[0].shape;
  const bool rounds = is_floating(out[0].dtype) && out[0].dtype != DType::f64;  // an epilogue takes f32
  return {.prologue = true,
          .shared = SharedPrologue::repeated,
          .extra_outputs = device && !kernels::is_moment(a.kind) && element_count(shape) > 0,
          .narrow_extra_outputs = kernels::reduces_in_fours(shape, a.axes),
          .epilogue_outputs = rounds ? 1 : 0,
          .again = true,
          .narrow_results = false,
          .doubles = true};
}

OpPtr ReduceOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                           std::span<const DType>) const {
  Expression prologue;
  prologue.output(converted_inputs(prologue, to, from)[0]);
  return with_fusion(shared_from_this(), 1, std::move(prologue), std::nullopt);
}

void ReduceOp::lower(const Launch& call) const {
  kernels::reduce(call.stream, a.kind, call.inputs[0], call.outputs[0], a.axes, a.correction, call.fusion);
}

std::optional<OwnWork> ReduceOp::own_work(std::span<const View> in, std::span<const View>) const {
  return OwnWork{kernels::reduce_work(a.kind), static_cast<double>(in[0].count())};
}

// ---- Derivatives and batching

namespace {

// For each element of x, the product of all others along the axes: exact with any number of zeros, and differentiable
// again. Zeros are multiplied by themselves, so that the product of the others may be infinite.
Tensor products_of_others(const Tensor& x, const std::vector<int>& axes) {
  std::vector<int> order;
  Shape flat;
  for (int i = 0; i < x.rank(); ++i) {
    if (std::ranges::binary_search(axes, i)) continue;
    order.push_back(i);
    flat.push_back(x.shape()[i]);
  }
  const int axis = flat.rank();
  flat.push_back(reduced_elements(x.shape(), axes));
  order.insert(order.end(), axes.begin(), axes.end());
  const Tensor moved = permute(x, order), rows = reshape(moved, flat);
  const auto others = [&](const Tensor& factors) {
    const auto product = [&](bool reverse) {
      return scan(kernels::ScanKind::prod, factors, axis, {.reverse = reverse, .exclusive = true});
    };
    return zeros_absorbing_product(product(false), product(true));
  };
  const Tensor zero = rows == 0, one = Graph::scalar(1, rows.dtype());
  const Tensor zeros = others(select(zero, rows, one));
  const Tensor made = zeros_absorbing_product(zeros, others(select(zero, one, rows)));
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  return permute(reshape(made, moved.shape()), back);
}

// a / b, and 0 where b is 0, there also of its derivatives.
Tensor quotient_or_zero(const Tensor& a, const Tensor& b) {
  const Tensor zero = equal(b, 0);
  return select(zero, 0, a / select(zero, 1, b));
}

}  // namespace

std::vector<Tensor> ReduceOp::decomposed(std::span<const Tensor> in) const {
  const auto sum_of_elements = [&](const Tensor& x) { return reduce(ReduceKind::sum, x, a.axes, a.keep_dims); };
  const Tensor& x = in[0];
  switch (a.kind) {
    case ReduceKind::sum_squares:
      return {sum_of_elements(square(x))};
    case ReduceKind::l1:
      return {sum_of_elements(abs(x))};
    case ReduceKind::log_sum:
      return {cast(log(sum_of_elements(accumulated(x))), x.dtype())};
    default:
      return {};
  }
}

Derivatives ReduceOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  const Tensor x = accumulated(node.inputs[0]), g = accumulated(cotangents[0]), y = accumulated(node.outputs[0]);
  Shape kept = x.shape();
  for (const int axis : a.axes) kept[axis] = 1;
  const auto along_x = [&](const Tensor& t) { return broadcast_to(reshape(t, kept), x.shape()); };
  const auto given = [&](const Tensor& t) { return std::vector{cast(t, node.inputs[0].dtype())}; };
  const double n = static_cast<double>(reduced_elements(x.shape(), a.axes));
  const double freedom = std::max(n - a.correction, 0.0);
  switch (a.kind) {
    case ReduceKind::sum:
      return std::vector{along_x(cotangents[0])};
    case ReduceKind::mean:
      return given(along_x(g / n));
    case ReduceKind::prod: {
      const Tensor others = products_of_others(x, a.axes);
      return given(zeros_absorbing_product(along_x(g), x.dtype() == DType::c64 ? conj(others) : others));
    }
    case ReduceKind::min:
    case ReduceKind::max: {
      // Equal ones share evenly; none is equal to a NaN, and 0 / 0 makes all of them NaN, as in PyTorch's amax.
      const Tensor chosen = cast(equal(x, along_x(y)), x.dtype());
      return given(along_x(g) * chosen / along_x(reduce(ReduceKind::sum, chosen, a.axes, true)));
    }
    case ReduceKind::l2:  // 0 at 0, as in PyTorch
      return given(along_x(g) * quotient_or_zero(x, along_x(y)));
    case ReduceKind::log_sum_exp:
      return given(along_x(g) * exp(x - along_x(y)));
    case ReduceKind::variance:
    case ReduceKind::deviation: {
      const Tensor distances = x - reduce(ReduceKind::mean, x, a.axes, true);
      if (a.kind == ReduceKind::variance) return given(along_x(g * 2) * distances / freedom);
      // Of a deviation of 0 it is 0, as in PyTorch.
      return given(along_x(g) * quotient_or_zero(distances, along_x(y)) / freedom);
    }
    default:
      return std::nullopt;
  }
}

Derivatives ReduceOp::jvp(const Differentiated&, std::span<const Tensor> t) const {
  if (a.kind != ReduceKind::sum && a.kind != ReduceKind::mean) return std::nullopt;
  return std::vector{reduce(a.kind, t[0], a.axes, a.keep_dims)};
}

std::optional<Batched> ReduceOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  ReduceAttributes of_batch = a;
  for (int& axis : of_batch.axes) ++axis;
  return batched(apply(make_op<ReduceOp>(std::move(of_batch)), {batch_first(in[0], axes[0], 0)}));
}

namespace {

// The entries with those axes behind the others: [size, the others, those].
Tensor reduced_behind(const BatchInOrder& batch, const std::vector<int>& axes) {
  const Shape& entry = batch.entries[0].shape;
  std::vector<int> order, behind;
  std::int64_t kept = 1, gone = 1;
  for (int i = 0; i < entry.rank(); ++i) {
    const bool goes = std::ranges::find(axes, i) != axes.end();
    (goes ? behind : order).push_back(i);
    (goes ? gone : kept) *= entry[i];
  }
  order.insert(order.end(), behind.begin(), behind.end());
  return reshape(permute_in_order(batch.inputs[0], batch.size, entry, order), {batch.size, kept, gone});
}

}  // namespace

std::vector<Tensor> ReduceOp::vmap_in_order(const BatchInOrder& batch) const {
  ReduceAttributes last = a;
  last.axes = {2};
  return {apply(make_op<ReduceOp>(std::move(last)), {reduced_behind(batch, a.axes)})};
}

std::vector<Tensor> ArgReduceOp::vmap_in_order(const BatchInOrder& batch) const {
  ArgReduceAttributes last = a;
  last.axes = {2};
  return {apply(make_op<ArgReduceOp>(std::move(last)), {reduced_behind(batch, a.axes)})};
}

Tensor reduce(ReduceKind op, const Operand& x, const Axes& axes, bool keep_dims) {
  if (kernels::is_moment(op)) return moment(op, x, axes, 0, keep_dims);
  if (op == ReduceKind::count) {
    // The sum of what a comparison says, which the reduction's kernel makes itself.
    if (!x.defined()) throw InvalidArgument("reduce_count: the operand is an undefined Tensor");
    const bool is_boolean = x.dtype() == DType::boolean;
    const Tensor counted = is_boolean ? Tensor(x) : binary(ScalarOp::not_equal, x, Graph::scalar(0, x.dtype()));
    const DType type = position_type(reduced_elements(x.shape(), sorted_axes("reduce_count", x, axes)));
    return reduce(ReduceKind::sum, cast(counted, type), axes, keep_dims);
  }
  return apply(make_op<ReduceOp>(ReduceAttributes{op, sorted_axes(kernels::reduce_name(op), x, axes), keep_dims}), {x});
}

namespace {

// ---- Rows of functions

constexpr std::string_view kReductions[] = {"sum",         "mean", "prod",  "min",      "max",
                                            "sum_squares", "l1",   "l2",    "log_sum",  "log_sum_exp",
                                            "any",         "all",  "count", "variance", "deviation"};
constexpr std::string_view kMomentType = "x's type; integers and bool: f32";

// The errors of the C++ function name the operation, and so it does not call this.
struct ReduceFunctionAttributes : ReductionAttributes {
  ReduceKind op = ReduceKind::sum;
  void fields(AttributeVisitor& v) {
    v("op", op, ReduceKind::sum, kReductions, "what the elements are combined by");
    ReductionAttributes::fields(v);
  }
};
constexpr Function kReduce = {
    {.name = "reduce",
     .operands = {{"x"}},
     .results = {{"y", kReducedShape, "x's type; of any and all bool, of count i32, from 2^31 elements on i64"}},
     .formula = "y = op(x over axes)",
     .summary = "the elements over the axes combined to one, as the kernel reduce_… does it"},
    [](const Tensor& x, const ReduceFunctionAttributes& a) { return reduce(a.op, x, a.axes, a.keep_dims); }};

constexpr Function kVariance = {{.name = "variance",
                                 .operands = {{"x"}},
                                 .results = {{"y", kReducedShape, kMomentType}},
                                 .formula = "y = Σ (x - mean)² / (n - correction)",
                                 .summary = "the variance over the axes"},
                                [](const Tensor& x, const MomentAttributes& a) {
                                  return moment(ReduceKind::variance, x, a.axes, a.correction, a.keep_dims);
                                }};
constexpr Function kDeviation = {{.name = "deviation",
                                  .operands = {{"x"}},
                                  .results = {{"y", kReducedShape, kMomentType}},
                                  .formula = "y = sqrt(Σ (x - mean)² / (n - correction))",
                                  .summary = "the standard deviation over the axes"},
                                 [](const Tensor& x, const MomentAttributes& a) {
                                   return moment(ReduceKind::deviation, x, a.axes, a.correction, a.keep_dims);
                                 }};
constexpr Function kArgmax = {
    {.name = "argmax",
     .operands = {{"x"}},
     .results = {{"y", kReducedShape, kPositionType}},
     .formula = "y = argmax x",
     .summary = "the index of the greatest element, the first of equal ones; over several axes it counts in row-major "
                "order"},
    [](const Tensor& x, const ReductionAttributes& a) {
      return arg_reduce(kernels::ArgKind::max, x, a.axes, a.keep_dims);
    }};
constexpr Function kArgmin = {
    {.name = "argmin",
     .operands = {{"x"}},
     .results = {{"y", kReducedShape, kPositionType}},
     .formula = "y = argmin x",
     .summary = "the index of the least element, the first of equal ones; over several axes it counts in row-major "
                "order"},
    [](const Tensor& x, const ReductionAttributes& a) {
      return arg_reduce(kernels::ArgKind::min, x, a.axes, a.keep_dims);
    }};

}  // namespace

Tensor variance(const Operand& x, const Axes& axes, double correction, bool keep_dims) {
  return kVariance(x, {{axes, keep_dims}, correction});
}

Tensor deviation(const Operand& x, const Axes& axes, double correction, bool keep_dims) {
  return kDeviation(x, {{axes, keep_dims}, correction});
}

Tensor argmax(const Operand& x, const Axes& axes, bool keep_dims) { return kArgmax(x, {axes, keep_dims}); }

Tensor argmin(const Operand& x, const Axes& axes, bool keep_dims) { return kArgmin(x, {axes, keep_dims}); }

void add_reduce_functions(FunctionRows& rows) { rows.add(kReduce, kVariance, kDeviation, kArgmax, kArgmin); }

void ArgReduceAttributes::normalise(std::string_view op, std::span<const TensorType> in) {
  axes = sorted_axes(op, in[0].shape.rank(), axes);
}

void ArgReduceAttributes::fields(AttributeVisitor& v) {
  v("axes", axes, kAxesMeaning);
  v.brief("keep_dims", keep_dims, false, kKeepMeaning);
}

std::vector<TensorType> ArgReduceOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  const DType type = position_type(reduced_elements(x.shape, a.axes));
  infer_dtype(name(), {&x}, type);
  const Shape shape = reduced(x.shape, a.axes, a.keep_dims);
  if (element_count(x.shape) == 0 && element_count(shape) > 0) {
    throw ShapeError("{}: x is {}, there is nothing to choose from", name(), weft::to_string(x));
  }
  return {{type, shape}};
}

std::optional<Batched> ArgReduceOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  ArgReduceAttributes of_batch = a;
  for (int& axis : of_batch.axes) ++axis;
  return batched(apply(make_op<ArgReduceOp>(std::move(of_batch)), {batch_first(in[0], axes[0], 0)}));
}

void ArgReduceOp::lower(const Launch& call) const {
  kernels::arg_reduce(call.stream, a.kind, call.inputs[0], call.outputs[0], a.axes);
}

void add_reduce_ops(OpRows& rows) {
  for (int i = 0; i <= static_cast<int>(ReduceKind::deviation); ++i) {
    const auto kind = static_cast<ReduceKind>(i);
    const std::string_view name = kernels::reduce_name(kind);
    const bool counts = kind == ReduceKind::count;
    OpRow row = op_row<ReduceOp>(schema_of_kernel(name, {}, std::string(counts ? kPositionType : "")), {.kind = kind});
    if (counts) row.make = {};  // they are sums of comparisons
    // Moments of integers have fractions, and are computed in f32.
    row.call = [kind](std::span<const Tensor> operands, const AttributeMap& given) -> std::vector<Tensor> {
      const auto o = from_map(kernels::reduce_name(kind), given, ReduceAttributes{.kind = kind});
      if (kernels::is_moment(kind)) return {moment(kind, operands[0], Axes(o.axes), o.correction, o.keep_dims)};
      return {reduce(kind, operands[0], Axes(o.axes), o.keep_dims)};
    };
    rows.push_back(std::move(row));
  }
  for (const auto kind : {kernels::ArgKind::min, kernels::ArgKind::max}) {
    const std::string name = kind == kernels::ArgKind::min ? "argmin" : "argmax";
    rows.push_back(op_row<ArgReduceOp>(schema_of_kernel(name, {}, std::string(kPositionType)), {.kind = kind}));
  }
}

}  // namespace weft
