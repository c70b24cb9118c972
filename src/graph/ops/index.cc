#include "graph/ops/index.h"

#include "graph/graph.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/index.h"

namespace weft {

std::vector<TensorType> GatherOp::infer(std::span<const TensorType> in) const {
  const auto& [x, indices] = std::tie(in[0], in[1]);
  const int axis = normalize_axis(axis_, x.shape.rank(), "gather");
  if (!is_integer(indices.dtype)) {
    throw InvalidArgument("gather: indices are {}, expected an integer type", weft::to_string(indices));
  }
  if (x.shape[axis] == 0 && element_count(indices.shape) > 0) {
    throw InvalidArgument("gather: axis {} of {} has nothing to pick from", axis, weft::to_string(x.shape));
  }
  if (x.shape.rank() + indices.shape.rank() - 1 > kMaxRank) {
    throw InvalidArgument("gather: {} picked by {} has more than {} dimensions", weft::to_string(x.shape),
                          weft::to_string(indices.shape), kMaxRank);
  }
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(x.shape[i]);
  for (const std::int64_t n : indices.shape) shape.push_back(n);
  for (int i = axis + 1; i < x.shape.rank(); ++i) shape.push_back(x.shape[i]);
  return {{x.dtype, shape}};
}

void GatherOp::lower(const Launch& call) const {
  kernels::gather(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], axis_);
}

std::vector<TensorType> ConcatOp::infer(std::span<const TensorType> in) const {
  TensorType result = in[0];
  for (const TensorType& part : in.subspan(1)) {
    Shape expected = in[0].shape;
    if (part.shape.rank() == expected.rank()) expected[axis_] = part.shape[axis_];
    if (part.dtype != result.dtype || part.shape != expected) {
      throw InvalidArgument("concat: {} does not continue {} along axis {}", weft::to_string(part),
                            weft::to_string(in[0]), axis_);
    }
    result.shape[axis_] += part.shape[axis_];
  }
  return {result};
}

void ConcatOp::lower(const Launch& call) const {
  const View& y = call.outputs[0];
  std::int64_t at = 0;
  for (const View& part : call.inputs) {
    const std::int64_t bit = at * y.strides()[axis_] * bits(y.dtype);
    if (bit % 8 != 0) throw Unsupported("concat: a part of {} starts inside a byte", weft::to_string(y));
    at += part.shape()[axis_];
    if (part.count() == 0) continue;
    const View place(y.buffer, y.offset + static_cast<std::uint64_t>(bit / 8), y.dtype, part.shape(), y.strides());
    kernels::copy(call.stream, part, place);
  }
}

Value gather(Value x, Value indices, int axis) {
  if (!x || !indices) throw InvalidArgument("gather: an operand is an empty Value");
  return apply(make_op<GatherOp>(normalize_axis(axis, x.rank(), "gather")), {x, indices});
}

Value concat(std::span<const Value> parts, int axis) {
  if (parts.empty() || !parts[0]) throw InvalidArgument("concat: no parts, or the first is an empty Value");
  axis = normalize_axis(axis, parts[0].rank(), "concat");
  if (parts.size() == 1) return parts[0];
  return apply(make_op<ConcatOp>(axis), std::vector<Value>(parts.begin(), parts.end()));
}

}  // namespace weft
