#include "ops/search.h"

#include <array>
#include <bit>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "ops/composition.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {

using kernels::SearchSide;

std::vector<TensorType> SearchOp::infer(std::span<const TensorType> in) const {
  if (in[0].shape.rank() != 1) {
    throw ShapeError("searchsorted: {} is not of rank 1", weft::to_string(in[0]));
  }
  return {{infer_dtype(name(), {&in[0], &in[1]}, position_type(in[0].shape[0])), in[1].shape}};
}

void SearchOp::lower(const Launch& call) const {
  kernels::searchsorted(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a);
}

// For a list of each entry of a batch, which the kernel does not take.
std::vector<Tensor> SearchOp::decomposed(std::span<const Tensor> in) const {
  const Tensor &sorted = in[0], &values = in[1];
  const std::int64_t n = sorted.size();
  Tensor found = full_like(values, 0, position_type(n));
  // a < b in the order of sort(), in which NaN comes last.
  const auto before = [&](const Tensor& x, const Tensor& y) {
    return is_floating(x.dtype()) ? (x < y) | (is_nan(y) & !is_nan(x)) : x < y;
  };
  // So many elements are found to come before a value, and each step asks for another power of two of them: for the
  // last of these, in place of which there is the last of all where there are fewer.
  for (auto step = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))); step > 0; step /= 2) {
    const Tensor at = gather(slice(sorted, 0, step - 1, n), found);
    found = select(a.side == SearchSide::left ? before(at, values) : !before(values, at), found + step, found);
  }
  return {n > 0 ? minimum(found, n) : found};
}

std::optional<Batched> SearchOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  if (axes[0] >= 0) return std::nullopt;
  return Batched{{apply(make_op<SearchOp>(a), {in[0], in[1]})}, {axes[1]}};
}

std::vector<Tensor> SearchOp::vmap_in_order(const BatchInOrder& batch) const {
  if (batch.has_batch[0]) return {};
  return {apply(make_op<SearchOp>(a), {batch.inputs[0], batch.inputs[1]})};
}

Tensor searchsorted(const Operand& sorted, const Operand& values, Side side) {
  return in_function("searchsorted", [&] {
    require_real(sorted, "searchsorted", "sorted is");
    require_real(values, "searchsorted", "values are");
    if (sorted.rank() != 1) throw ShapeError("searchsorted: {} is not of rank 1", to_string(sorted.type()));
    const DType type = result_type_for("searchsorted", std::array<Tensor, 2>{sorted, values});
    const SearchSide to = side == Side::left ? SearchSide::left : SearchSide::right;
    return apply(make_op<SearchOp>(kernels::SearchOptions{to}), {cast(sorted, type), cast(values, type)});
  });
}

void add_search_ops(OpRows& rows) {
  OpRow row = op_row<SearchOp>(schema_of_kernel("searchsorted", {}, "i32; i64 from 2^31 elements on"));
  row.call = [](std::span<const Tensor> operands, const AttributeMap& given) -> std::vector<Tensor> {
    const auto o = from_map("searchsorted", given, kernels::SearchOptions());
    return {searchsorted(operands[0], operands[1], o.side == SearchSide::left ? Side::left : Side::right)};
  };
  rows.push_back(std::move(row));
}

}  // namespace weft
