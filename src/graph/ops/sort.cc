#include "graph/ops/sort.h"

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_schemas.h"
#include "graph/promotion.h"
#include "weft/error.h"
#include "weft/kernels/sort.h"

namespace weft {

void SortOp::attributes(Attributes& f) const {
  f.add("axis", axis_);
  if (keep_ >= 0) f.add("k", keep_);
  if (descending_) f.add("descending", true);
  if (!indices_) f.add("indices", false);
}

std::vector<TensorType> SortOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  const TensorType* inputs[] = {&x};
  const DType type = infer_dtypes(keep_ < 0 ? "sort" : "top_k", inputs)[0];
  Shape shape = x.shape;
  if (keep_ > shape[axis_]) {
    throw ShapeError("{}: k is {}, more than axis {} of x {} has", name(), keep_, axis_, weft::to_string(x));
  }
  if (keep_ >= 0) shape[axis_] = keep_;
  std::vector<TensorType> results;
  if (values_) results.push_back({type, shape});
  if (indices_) results.push_back({position_type(x.shape[axis_]), shape});
  return results;
}

std::optional<View> SortOp::values_of(const Launch& call) const {
  return values_ ? std::optional(call.outputs[0]) : std::nullopt;
}
std::optional<View> SortOp::indices_of(const Launch& call) const {
  return indices_ ? std::optional(call.outputs[values_ ? 1 : 0]) : std::nullopt;
}

void SortOp::lower(const Launch& call) const {
  const View& x = call.inputs[0];
  if (keep_ < 0) {
    return kernels::sort(call.stream, x, values_of(call), indices_of(call), {axis_, descending_});
  }
  kernels::top_k(call.stream, x, values_of(call), indices_of(call), {axis_, descending_});
}

Tensor sort(const Operand& x, int axis, bool descending) {
  if (!x.defined()) throw InvalidArgument("sort: the operand is an undefined Tensor");
  return apply(make_op<SortOp>(normalize_axis(axis, x.rank(), "sort"), descending, -1, true, false), {x});
}

Tensor argsort(const Operand& x, int axis, bool descending) try {
  if (!x.defined()) throw InvalidArgument("argsort: the operand is an undefined Tensor");
  return apply(make_op<SortOp>(normalize_axis(axis, x.rank(), "argsort"), descending, -1, false, true), {x});
} catch (const Error& e) {
  throw_in_function(e, "argsort");
}

TopK top_k(const Operand& x, std::int64_t k, int axis, bool largest) try {
  if (!x.defined()) throw InvalidArgument("top_k: the operand is an undefined Tensor");
  if (k < 0) throw InvalidArgument("top_k: k is {}, expected 0 or more", k);
  const Tensor values = apply(make_op<SortOp>(normalize_axis(axis, x.rank(), "top_k"), largest, k, true, true), {x});
  return {values, values.node()->value(1)};
} catch (const Error& e) {
  throw_in_function(e, "top_k");
}

}  // namespace weft
