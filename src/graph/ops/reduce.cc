#include "graph/ops/reduce.h"

#include "graph/graph.h"
#include "graph/ops/map.h"
#include "kernels/common/element_work.h"
#include "kernels/reduce/reduction.h"
#include "weft/error.h"
#include "weft/kernels/reduce.h"

namespace weft {
namespace {

struct Row {
  ReduceOp op;
  std::string_view name;
  bool floats_only, booleans_only, complex = false;
};
constexpr Row kRows[] = {
    {ReduceOp::sum, "reduce_sum", false, false, true},
    {ReduceOp::mean, "reduce_mean", true, false, true},
    {ReduceOp::prod, "reduce_prod", false, false, true},
    {ReduceOp::min, "reduce_min", false, false},
    {ReduceOp::max, "reduce_max", false, false},
    {ReduceOp::sum_squares, "reduce_sum_squares", false, false},
    {ReduceOp::l1, "reduce_l1", false, false},
    {ReduceOp::l2, "reduce_l2", true, false},
    {ReduceOp::log_sum, "reduce_log_sum", true, false},
    {ReduceOp::log_sum_exp, "reduce_log_sum_exp", true, false},
    {ReduceOp::any, "reduce_any", false, true},
    {ReduceOp::all, "reduce_all", false, true},
    {ReduceOp::variance, "variance", true, false},
    {ReduceOp::deviation, "deviation", true, false},
};

const Row& row(ReduceOp op) {
  const auto found = std::ranges::find(kRows, op, &Row::op);
  if (found == std::end(kRows)) throw InternalError("reduce: no row for operation {}", static_cast<int>(op));
  return *found;
}

Shape reduced(const Shape& shape, const std::vector<int>& axes, bool keep_dims) {
  Shape result;
  std::size_t next = 0;
  for (int i = 0; i < shape.rank(); ++i) {
    const bool gone = next < axes.size() && axes[next] == i;
    if (gone) ++next;
    if (!gone) result.push_back(shape[i]);
    else if (keep_dims) result.push_back(1);
  }
  return result;
}

// In ascending order, counted from the front.
std::vector<int> sorted_axes(std::string_view what, Value x, std::span<const int> axes) {
  if (!x) throw InvalidArgument("{}: the operand is an empty Value", what);
  std::vector<int> sorted;
  for (const int a : axes) sorted.push_back(normalize_axis(a, x.rank(), what));
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) throw InvalidArgument("{}: an axis is named twice", what);
  return sorted;
}

Value moment(ReduceOp op, Value x, std::span<const int> axes, double correction, bool keep_dims) {
  return apply(make_op<ReduceOpNode>(op, sorted_axes(row(op).name, x, axes), keep_dims, correction), {x});
}

Value arg_reduce(kernels::ArgOp op, Value x, std::span<const int> axes, bool keep_dims) {
  const std::string_view name = op == kernels::ArgOp::max ? "argmax" : "argmin";
  return apply(make_op<ArgReduceOp>(op, sorted_axes(name, x, axes), keep_dims), {x});
}

}  // namespace

std::string_view ReduceOpNode::name() const { return row(op_).name; }

void ReduceOpNode::fields(Fields& f) const {
  if (before_) f.add("x", before_->to_string());
  f.add("axes", axes_);
  if (kernels::is_moment(op_)) f.add("correction", correction_);
  if (keep_dims_) f.add("keep_dims", true);
  if (after_) f.add("y", after_->to_string());
}

std::vector<TensorType> ReduceOpNode::infer(std::span<const TensorType> in) const {
  TensorType x = in[0];
  if (before_) {
    if (in.size() < input_count()) throw InvalidArgument("{}: {} operands, expected more", name(), in.size());
    x = {before_->output_type(0), {}};
    for (const TensorType& t : in.first(input_count())) x.shape = broadcast(x.shape, t.shape);
  }
  const bool boolean = x.dtype == DType::boolean;
  const bool takes = x.dtype == DType::c64 ? row(op_).complex : !row(op_).floats_only || is_floating(x.dtype);
  if (row(op_).booleans_only != boolean || (!boolean && !takes)) {
    throw InvalidArgument("{}: x is {}, expected {}", name(), weft::to_string(x),
                          row(op_).booleans_only ? "bool"
                          : row(op_).floats_only ? "a float type"
                          : row(op_).complex     ? "numbers"
                                                 : "real numbers");
  }
  TensorType y{x.dtype, reduced(x.shape, axes_, keep_dims_)};
  const std::size_t more = after_ ? static_cast<std::size_t>(after_->input_count()) - 1 : 0;
  if (in.size() != input_count() + more) {
    throw InvalidArgument("{}: {} operands, expected {}", name(), in.size(), input_count() + more);
  }
  for (const TensorType& t : in.subspan(input_count())) {
    if (!broadcasts_to(t.shape, y.shape)) {
      throw InvalidArgument("{}: operand {} does not broadcast to the result {}", name(), weft::to_string(t),
                            weft::to_string(y.shape));
    }
  }
  if (after_) y.dtype = after_->output_type(0);
  std::vector<TensorType> results{y};
  for (std::size_t k = 1; before_ && k < before_->outputs().size(); ++k) {
    results.push_back({before_->output_type(static_cast<int>(k)), x.shape});
  }
  return results;
}

Shape ReduceOpNode::reduced_shape(std::span<const TensorType> in) const {
  Shape shape;
  for (const TensorType& t : in.first(input_count())) shape = broadcast(shape, t.shape);
  return shape;
}

// On the CPU no extra outputs: blocks of elements go through work and sum in turn there, at half the speed of both
// apart (4096 x 1024 along rows, two cores). Nor of variance and deviation, whose rows may be read twice. Types
// narrower than a word would be stored one by one where rows do not divide into fours.
FusionSpec ReduceOpNode::fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> in,
                                     std::span<const TensorType> out) const {
  const Shape shape = reduced_shape(in);
  const bool rounds = is_floating(out[0].dtype) && out[0].dtype != DType::f64;  // an epilogue takes f32
  return {.prologue = !before_ && !after_,
          .shared = SharedPrologue::repeated,
          .extra_outputs = device && out.size() == 1 && !kernels::is_moment(op_) && element_count(shape) > 0,
          .narrow_extra_outputs = device && kernels::reduces_in_fours(shape, axes_),
          .epilogue_outputs = !after_ && rounds ? 1 : 0};
}

OpPtr ReduceOpNode::with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const {
  return make_op<ReduceOpNode>(op_, axes_, keep_dims_, correction_, std::move(prologue), std::move(epilogue));
}

OpPtr ReduceOpNode::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                               std::span<const DType> results) const {
  const std::size_t first = input_count();
  Expression before;
  std::vector<int> values = converted_inputs(before, to.first(first), from.first(first));
  if (before_) values = splice(before, *before_, values);
  before.output(values[0]);
  const bool fours = kernels::reduces_in_fours(reduced_shape(from), axes_);
  for (std::size_t k = 1; k < results.size(); ++k) before.output(fours ? before.cast(values[k], results[k]) : values[k]);
  std::optional<Expression> after;
  if (after_) {
    after.emplace();
    std::vector<int> args{after->input(DType::f32)};
    for (const int node : converted_inputs(*after, to.subspan(first), from.subspan(first))) args.push_back(node);
    after->output(splice(*after, *after_, args)[0]);
  }
  return with_fusion(std::move(before), std::move(after));
}

kernels::ReduceWork ReduceOpNode::around(const Launch& call) const {
  return {before_ ? &*before_ : nullptr, after_ ? &*after_ : nullptr, call.inputs.subspan(input_count()),
          call.outputs.subspan(1)};
}

void ReduceOpNode::lower(const Launch& call) const {
  kernels::reduce(call.stream, op_, call.inputs.first(input_count()), call.outputs[0], axes_, around(call), correction_);
}

Work ReduceOpNode::work(const Launch& call) const {
  Shape shape;
  for (const View& v : call.inputs.first(input_count())) shape = broadcast(shape, v.shape());
  return with_bytes(call, kernels::work_of(kernels::reduce_work(op_), static_cast<double>(element_count(shape)),
                                           before_ ? &*before_ : nullptr, static_cast<double>(call.outputs[0].count()),
                                           after_ ? &*after_ : nullptr));
}

std::string ReduceOpNode::label(std::span<const TensorType>) const {
  return operations_around(name(), before_, after_);
}

Value reduce(ReduceOp op, Value x, std::initializer_list<int> axes, bool keep_dims) {
  return reduce(op, x, std::span(axes.begin(), axes.size()), keep_dims);
}

Value reduce(ReduceOp op, Value x, std::span<const int> axes, bool keep_dims) {
  if (kernels::is_moment(op)) return moment(op, x, axes, 0, keep_dims);
  if (op == ReduceOp::count) {
    // The sum of what a comparison says, which the reduction's kernel makes itself.
    if (!x) throw InvalidArgument("reduce_count: the operand is an empty Value");
    if (x.dtype() != DType::boolean) x = binary(ScalarOp::not_equal, x, x.graph().scalar(0, x.dtype()));
    return reduce(ReduceOp::sum, cast(x, DType::i32), axes, keep_dims);
  }
  return apply(make_op<ReduceOpNode>(op, sorted_axes(row(op).name, x, axes), keep_dims), {x});
}

Value variance(Value x, std::initializer_list<int> axes, double correction, bool keep_dims) {
  return moment(ReduceOp::variance, x, std::span(axes.begin(), axes.size()), correction, keep_dims);
}

Value deviation(Value x, std::initializer_list<int> axes, double correction, bool keep_dims) {
  return moment(ReduceOp::deviation, x, std::span(axes.begin(), axes.size()), correction, keep_dims);
}

Value argmax(Value x, std::initializer_list<int> axes, bool keep_dims) {
  return arg_reduce(kernels::ArgOp::max, x, std::span(axes.begin(), axes.size()), keep_dims);
}

Value argmin(Value x, std::initializer_list<int> axes, bool keep_dims) {
  return arg_reduce(kernels::ArgOp::min, x, std::span(axes.begin(), axes.size()), keep_dims);
}

void ArgReduceOp::fields(Fields& f) const {
  f.add("axes", axes_);
  if (keep_dims_) f.add("keep_dims", true);
}

std::vector<TensorType> ArgReduceOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  if (info(x.dtype).kind == DTypeKind::complex) {
    throw InvalidArgument("{}: x is {}, which has no order", name(), weft::to_string(x));
  }
  const Shape shape = reduced(x.shape, axes_, keep_dims_);
  if (element_count(x.shape) == 0 && element_count(shape) > 0) {
    throw InvalidArgument("{}: x is {}, there is nothing to choose from", name(), weft::to_string(x));
  }
  return {{DType::i32, shape}};
}

void ArgReduceOp::lower(const Launch& call) const {
  kernels::arg_reduce(call.stream, op_, call.inputs[0], call.outputs[0], axes_);
}

}  // namespace weft
