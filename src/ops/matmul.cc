#include "ops/matmul.h"

#include <array>

#include "core/format.h"
#include "graph/graph.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/product.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "weft/error.h"
#include "weft/kernels/matmul.h"

namespace weft {
namespace {

// Types of operands that the kernel multiplies.
bool kernel_takes(DType t) { return is_integer(t) ? bits(t) >= 8 && bits(t) <= 32 : is_floating(t) || t == DType::c64; }
bool same_kind(DType a, DType b) { return is_integer(a) == is_integer(b); }

}  // namespace

std::vector<TensorType> MatmulOp::infer(std::span<const TensorType> in) const {
  const Shape& a = in[0].shape;
  const Shape& b = in[1].shape;
  const auto fail = [&](std::string_view why) {
    throw ShapeError("matmul: a {} and b {}: {}", weft::to_string(a), weft::to_string(b), why);
  };
  infer_dtype("matmul", {&in[0], &in[1]}, this->a.type);
  const DType usual = product_result(in[0].dtype, in[1].dtype);
  if (a[-1] != b[-2]) fail(std::format("inner sizes {} and {} differ", a[-1], b[-2]));
  Shape shape;
  try {
    shape = broadcast(Shape(std::span(a.begin(), a.end() - 2)), Shape(std::span(b.begin(), b.end() - 2)));
  } catch (const InvalidArgument& e) {
    fail(std::format("leading dimensions: {}", e.what()));
  }
  shape.push_back(a[-2]);
  shape.push_back(b[-1]);
  return {{this->a.type.value_or(usual), shape}};
}

FusionSpec MatmulOp::fusion_spec(const gpu::Capabilities*, std::span<const TensorType> in,
                                 std::span<const TensorType> out) const {
  if (out[0].dtype == DType::c64) return {};
  return {.epilogue_outputs = 1,
          .epilogue_input = kernels::product_type(in[0].dtype, in[1].dtype),
          .work = static_cast<double>(element_count(out[0].shape)) * static_cast<double>(in[0].shape[-1])};
}

OpPtr MatmulOp::with_types(std::span<const TensorType>, std::span<const TensorType> to,
                           std::span<const DType> results) const {
  return make_op<MatmulOp>(MatmulAttributes{asked_result(to[0].dtype, to[1].dtype, results[0])});
}

void MatmulOp::lower(const Launch& call) const {
  kernels::matmul(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], call.fusion.epilogue);
}

std::optional<OwnWork> MatmulOp::own_work(std::span<const View> in, std::span<const View> out) const {
  return product_work(in, out, static_cast<double>(in[0].shape()[-1]));
}

Derivatives MatmulOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const auto transposed = [](const Tensor& x) {
    const Tensor t = x.T();
    return x.dtype() == DType::c64 ? conj(t) : t;
  };
  const auto product = [](const Tensor& x, const Tensor& y, const Tensor& like) {
    return summed_to(cast(matmul(x, y, like.dtype()), like.dtype()), like.shape());
  };
  const Tensor &a = node.inputs[0], &b = node.inputs[1];
  std::vector<Tensor> all(2);
  if (node.wanted[0]) all[0] = product(g[0], transposed(b), a);
  if (node.wanted[1]) all[1] = product(transposed(a), g[0], b);
  return all;
}

std::optional<Batched> MatmulOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const int rank = std::max(entry_rank(in[0], axes[0]), entry_rank(in[1], axes[1]));
  return batched(
      apply(make_op<MatmulOp>(a), {batch_broadcast(in[0], axes[0], rank), batch_broadcast(in[1], axes[1], rank)}));
}

std::vector<Tensor> MatmulOp::vmap_in_order(const BatchInOrder& batch) const {
  const Shape& result = batch.results[0].shape;
  return {apply(make_op<MatmulOp>(a), {broadcast_in_order(batch, 0, result), broadcast_in_order(batch, 1, result)})};
}

Tensor matmul(const Operand& a, const Operand& b, std::optional<DType> result) {
  if (!a.defined() || !b.defined()) throw InvalidArgument("matmul: an operand is an undefined Tensor");
  if (a.rank() == 0 || b.rank() == 0) {
    throw ShapeError("matmul: a is {} and b is {}; expected an axis at least", to_string(a.type()),
                     to_string(b.type()));
  }
  // A vector is a row on the left and a column on the right, whose axis the result does not have.
  if (a.rank() == 1 || b.rank() == 1) {
    const DType common = result_type_for("matmul", std::array<Tensor, 2>{a, b});
    if (!kernel_takes(common) && !(is_integer(common) && bits(common) == 64)) {
      throw TypeError("matmul: a is {} and b is {}; expected floats, c64 or integers of 8 bits or more",
                      to_string(a.type()), to_string(b.type()));
    }
  }
  if (b.rank() == 1) return squeeze(matmul(a, expand_dims(b, 1), result), -1);
  if (a.rank() == 1) return squeeze(matmul(expand_dims(a, 0), b, result), -2);
  const auto types = [&](DType x, DType y) { return kernel_takes(x) && kernel_takes(y) && same_kind(x, y); };
  if (!types(a.dtype(), b.dtype())) {
    const DType common = result_type_for("matmul", std::array<Tensor, 2>{a, b});
    const Tensor x = cast(a, common), y = cast(b, common);
    if (types(common, common)) return matmul(x, y, result);
    if (is_integer(common) && bits(common) == 64) {
      if (a.shape()[-1] != b.shape()[-2]) {
        throw ShapeError("matmul: a {} and b {}: inner sizes {} and {} differ", to_string(a.shape()),
                         to_string(b.shape()), a.shape()[-1], b.shape()[-2]);
      }
      // The sum takes the product in.
      const Tensor sums = reduce(ReduceKind::sum, expand_dims(x, -1) * expand_dims(y, -3), {-2});
      return cast(sums, result.value_or(common));
    }
  }
  const auto asked = result ? asked_result(a.dtype(), b.dtype(), *result) : std::nullopt;
  return apply(make_op<MatmulOp>(MatmulAttributes{asked}), {a, b});
}

void add_matmul_ops(OpRows& rows) {
  OpRow row = op_row<MatmulOp>(
      schema_of_kernel("matmul", "[..., m, n]",
                       "the one that is asked for; without one that of a and b if both have one float type, f32 for "
                       "two float types, i32 "
                       "for integers of 8 to 32 bits, c64 with c64, and what result_type() gives for others"));
  row.call = [](std::span<const Tensor> operands, const AttributeMap& given) -> std::vector<Tensor> {
    return {matmul(operands[0], operands[1], from_map<MatmulAttributes>("matmul", given).type)};
  };
  rows.push_back(std::move(row));
}

}  // namespace weft
