#include "graph/ops/reduce.h"

#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_schemas.h"
#include "graph/ops/elementwise.h"
#include "graph/promotion.h"
#include "kernels/common/element_work.h"
#include "kernels/reduce/reduction.h"
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
std::vector<int> sorted_axes(std::string_view what, const Tensor& x, const Axes& axes) {
  if (!x.defined()) throw InvalidArgument("{}: the operand is an undefined Tensor", what);
  std::vector<int> sorted;
  for (const int a : axes.of(x.rank())) sorted.push_back(normalize_axis(a, x.rank(), what));
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) throw ShapeError("{}: an axis is named twice", what);
  return sorted;
}

Tensor moment(ReduceKind op, const Tensor& x, const Axes& axes, double correction, bool keep_dims) {
  const std::vector<int> sorted = sorted_axes(kernels::reduce_name(op), x, axes);
  const bool fractions = is_integer(x.dtype()) || x.dtype() == DType::boolean;
  return apply(make_op<ReduceOp>(op, sorted, keep_dims, correction), {fractions ? cast(x, DType::f32) : x});
}

Tensor arg_reduce(kernels::ArgKind op, const Tensor& x, const Axes& axes, bool keep_dims) {
  const std::string_view name = op == kernels::ArgKind::max ? "argmax" : "argmin";
  return apply(make_op<ArgReduceOp>(op, sorted_axes(name, x, axes), keep_dims), {x});
}

}  // namespace

std::string_view ReduceOp::name() const { return kernels::reduce_name(op_); }

void ReduceOp::attributes(Attributes& f) const {
  if (prologue_) f.add("x", prologue_->to_string());
  f.add("axes", axes_);
  if (kernels::is_moment(op_)) f.add("correction", correction_);
  if (keep_dims_) f.add("keep_dims", true);
  if (epilogue_) f.add("y", epilogue_->to_string());
}

std::vector<TensorType> ReduceOp::infer(std::span<const TensorType> in) const {
  TensorType x = in[0];
  if (prologue_) {
    if (in.size() < input_count()) throw InvalidArgument("{}: {} operands, expected more", name(), in.size());
    x = {prologue_->output_type(0), {}};
    for (const TensorType& t : in.first(input_count())) x.shape = broadcast(x.shape, t.shape);
  }
  TensorType y{infer_dtype(name(), {&x}), reduced(x.shape, axes_, keep_dims_)};
  const std::size_t more = epilogue_ ? static_cast<std::size_t>(epilogue_->input_count()) - 1 : 0;
  if (in.size() != input_count() + more) {
    throw InvalidArgument("{}: {} operands, expected {}", name(), in.size(), input_count() + more);
  }
  for (const TensorType& t : in.subspan(input_count())) {
    if (!broadcasts_to(t.shape, y.shape)) {
      throw ShapeError("{}: operand {} does not broadcast to the result {}", name(), weft::to_string(t),
                       weft::to_string(y.shape));
    }
  }
  if (epilogue_) y.dtype = epilogue_->output_type(0);
  std::vector<TensorType> results{y};
  for (std::size_t k = 1; prologue_ && k < prologue_->outputs().size(); ++k) {
    results.push_back({prologue_->output_type(static_cast<int>(k)), x.shape});
  }
  return results;
}

Shape ReduceOp::reduced_shape(std::span<const TensorType> in) const {
  Shape shape;
  for (const TensorType& t : in.first(input_count())) shape = broadcast(shape, t.shape);
  return shape;
}

// On the CPU no extra outputs: blocks of elements go through work and sum in turn there, at half the speed of both
// apart (4096 x 1024 along rows, two cores). Nor of variance and deviation, whose rows may be read twice. Types
// narrower than a word would be stored one by one where rows do not divide into fours.
FusionSpec ReduceOp::fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> in,
                                 std::span<const TensorType> out) const {
  const Shape shape = reduced_shape(in);
  const bool rounds = is_floating(out[0].dtype) && out[0].dtype != DType::f64;  // an epilogue takes f32
  return {.prologue = !prologue_ && !epilogue_,
          .shared = SharedPrologue::repeated,
          .extra_outputs = device && out.size() == 1 && !kernels::is_moment(op_) && element_count(shape) > 0,
          .narrow_extra_outputs = device && kernels::reduces_in_fours(shape, axes_),
          .epilogue_outputs = !epilogue_ && rounds ? 1 : 0};
}

OpPtr ReduceOp::with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const {
  return make_op<ReduceOp>(op_, axes_, keep_dims_, correction_, std::move(prologue), std::move(epilogue));
}

OpPtr ReduceOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                           std::span<const DType> results) const {
  const std::size_t first = input_count();
  Expression prologue;
  std::vector<int> values = converted_inputs(prologue, to.first(first), from.first(first));
  if (prologue_) values = splice(prologue, *prologue_, values);
  prologue.output(values[0]);
  const bool fours = kernels::reduces_in_fours(reduced_shape(from), axes_);
  for (std::size_t k = 1; k < results.size(); ++k)
    prologue.output(fours ? prologue.cast(values[k], results[k]) : values[k]);
  std::optional<Expression> epilogue;
  if (epilogue_) {
    epilogue.emplace();
    std::vector<int> args{epilogue->input(DType::f32)};
    for (const int node : converted_inputs(*epilogue, to.subspan(first), from.subspan(first))) args.push_back(node);
    epilogue->output(splice(*epilogue, *epilogue_, args)[0]);
  }
  return with_fusion(std::move(prologue), std::move(epilogue));
}

kernels::ReduceFusion ReduceOp::fusion(const Launch& call) const {
  return {prologue_ ? &*prologue_ : nullptr, epilogue_ ? &*epilogue_ : nullptr, call.inputs.subspan(input_count()),
          call.outputs.subspan(1)};
}

void ReduceOp::lower(const Launch& call) const {
  kernels::reduce(call.stream, op_, call.inputs.first(input_count()), call.outputs[0], axes_, fusion(call),
                  correction_);
}

Work ReduceOp::work(const Launch& call) const {
  Shape shape;
  for (const View& v : call.inputs.first(input_count())) shape = broadcast(shape, v.shape());
  return with_bytes(call,
                    kernels::work_of(kernels::reduce_work(op_), static_cast<double>(element_count(shape)),
                                     prologue_ ? &*prologue_ : nullptr, static_cast<double>(call.outputs[0].count()),
                                     epilogue_ ? &*epilogue_ : nullptr));
}

std::string ReduceOp::label(std::span<const TensorType>) const {
  return operations_around(name(), prologue_, epilogue_);
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
  return apply(make_op<ReduceOp>(op, sorted_axes(kernels::reduce_name(op), x, axes), keep_dims), {x});
}

Tensor variance(const Operand& x, const Axes& axes, double correction, bool keep_dims) {
  return moment(ReduceKind::variance, x, axes, correction, keep_dims);
}

Tensor deviation(const Operand& x, const Axes& axes, double correction, bool keep_dims) {
  return moment(ReduceKind::deviation, x, axes, correction, keep_dims);
}

Tensor argmax(const Operand& x, const Axes& axes, bool keep_dims) {
  return arg_reduce(kernels::ArgKind::max, x, axes, keep_dims);
}

Tensor argmin(const Operand& x, const Axes& axes, bool keep_dims) {
  return arg_reduce(kernels::ArgKind::min, x, axes, keep_dims);
}

void ArgReduceOp::attributes(Attributes& f) const {
  f.add("axes", axes_);
  if (keep_dims_) f.add("keep_dims", true);
}

std::vector<TensorType> ArgReduceOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  const DType type = position_type(reduced_elements(x.shape, axes_));
  infer_dtype(name(), {&x}, type);
  const Shape shape = reduced(x.shape, axes_, keep_dims_);
  if (element_count(x.shape) == 0 && element_count(shape) > 0) {
    throw ShapeError("{}: x is {}, there is nothing to choose from", name(), weft::to_string(x));
  }
  return {{type, shape}};
}

void ArgReduceOp::lower(const Launch& call) const {
  kernels::arg_reduce(call.stream, op_, call.inputs[0], call.outputs[0], axes_);
}

}  // namespace weft
