#include "graph/ops/reduce.h"

#include "graph/graph.h"
#include "graph/ops/map.h"
#include "weft/error.h"
#include "weft/kernels/reduce.h"

namespace weft {
namespace {

struct Row {
  ReduceOp op;
  std::string_view name;
  bool floats_only, booleans_only;
};
constexpr Row kRows[] = {
    {ReduceOp::sum, "reduce_sum", false, false},
    {ReduceOp::mean, "reduce_mean", true, false},
    {ReduceOp::prod, "reduce_prod", false, false},
    {ReduceOp::min, "reduce_min", false, false},
    {ReduceOp::max, "reduce_max", false, false},
    {ReduceOp::sum_squares, "reduce_sum_squares", false, false},
    {ReduceOp::l1, "reduce_l1", false, false},
    {ReduceOp::l2, "reduce_l2", true, false},
    {ReduceOp::log_sum, "reduce_log_sum", true, false},
    {ReduceOp::log_sum_exp, "reduce_log_sum_exp", true, false},
    {ReduceOp::any, "reduce_any", false, true},
    {ReduceOp::all, "reduce_all", false, true},
};

const Row& row(ReduceOp op) {
  const auto i = static_cast<std::size_t>(op);
  if (i >= std::size(kRows) || kRows[i].op != op) throw InternalError("reduce: no row for operation {}", i);
  return kRows[i];
}

}  // namespace

std::string_view ReduceOpNode::name() const { return row(op_).name; }

void ReduceOpNode::fields(Fields& f) const {
  if (before_) f.add("x", before_->to_string());
  f.add("axes", axes_);
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
  if (row(op_).booleans_only != boolean || (row(op_).floats_only && !is_floating(x.dtype))) {
    throw InvalidArgument("{}: x is {}, expected {}", name(), weft::to_string(x),
                          row(op_).booleans_only ? "bool" : row(op_).floats_only ? "a float type" : "numbers");
  }
  TensorType y{x.dtype, {}};
  std::size_t next = 0;
  for (int i = 0; i < x.shape.rank(); ++i) {
    const bool reduced = next < axes_.size() && axes_[next] == i;
    if (reduced) ++next;
    if (!reduced) y.shape.push_back(x.shape[i]);
    else if (keep_dims_) y.shape.push_back(1);
  }
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
  return {y};
}

kernels::ReduceWork ReduceOpNode::work(const Launch& call) const {
  return {before_ ? &*before_ : nullptr, after_ ? &*after_ : nullptr, call.inputs.subspan(input_count())};
}

void ReduceOpNode::lower(const Launch& call) const {
  kernels::reduce(call.stream, op_, call.inputs.first(input_count()), call.outputs[0], axes_, work(call), call.workspace);
}

std::uint64_t ReduceOpNode::workspace(const Launch& call) const {
  return kernels::reduce_workspace(call.stream, op_, call.inputs.first(input_count()), call.outputs[0], axes_, work(call));
}

std::string ReduceOpNode::label(std::span<const TensorType>) const {
  std::string s(name());
  if (before_) s = operations(*before_) + "+" + s;
  if (after_) s += "+" + operations(*after_);
  return s;
}

Value reduce(ReduceOp op, Value x, std::initializer_list<int> axes, bool keep_dims) {
  return reduce(op, x, std::span(axes.begin(), axes.size()), keep_dims);
}

Value reduce(ReduceOp op, Value x, std::span<const int> axes, bool keep_dims) {
  const std::string_view what = row(op).name;
  if (!x) throw InvalidArgument("{}: the operand is an empty Value", what);
  std::vector<int> sorted;
  for (const int a : axes) sorted.push_back(normalize_axis(a, x.rank(), what));
  std::ranges::sort(sorted);
  if (std::ranges::adjacent_find(sorted) != sorted.end()) throw InvalidArgument("{}: an axis is named twice", what);
  return apply(make_op<ReduceOpNode>(op, std::move(sorted), keep_dims), {x});
}

}  // namespace weft
