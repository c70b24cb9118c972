#include "ops/qr.h"

#include "core/format.h"
#include "graph/graph.h"
#include "graph/node.h"
#include "ops/batch_in_order.h"
#include "ops/linalg.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {

using kernels::QrMode;

std::vector<TensorType> QrOp::infer(std::span<const TensorType> in) const {
  const TensorType* inputs[] = {&in[0]};
  const std::vector<DType> types = infer_dtypes(name(), inputs);
  Shape q = in[0].shape, r = q;
  const std::int64_t m = q[-2], k = std::min(m, q[-1]), rank = a.mode == QrMode::complete ? m : k;
  q[-1] = a.mode == QrMode::r ? 0 : rank;
  r[-2] = rank;
  return {{types[0], q}, {types[1], r}};
}

void QrOp::lower(const Launch& call) const {
  kernels::qr(call.stream, call.inputs[0], call.outputs[0], call.outputs[1], a);
}

std::optional<OwnWork> QrOp::own_work(std::span<const View> in, std::span<const View> out) const {
  const auto steps = static_cast<double>(std::min(in[0].shape()[-2], in[0].shape()[-1]));
  const double products = in[0].dtype == DType::c64 ? 4 : 1;
  return OwnWork{{2 * products * steps, 0}, static_cast<double>(in[0].count() + out[0].count())};
}

// ---- Derivatives
//
// Those of the reduced form of m >= n, by which the others are expressed. Of a complete q of m > n the last columns are
// any, and have none. Where r is singular they are infinite or NaN, as PyTorch's.

bool QrOp::has_rule(const Differentiated& node) const {
  const TensorType& type = node.inputs[0].type();
  const std::int64_t m = type.shape[-2], n = type.shape[-1];
  if (a.mode == QrMode::complete && m > n) {
    throw Unsupported(
        "no derivative of qr{}: the last columns of a complete q of {} are not determined; the mode reduced has one",
        node.outputs[0].defined() ? recorded_at(node.outputs[0].node()->line()) : std::string(), weft::to_string(type));
  }
  return a.mode != QrMode::r && m >= n;
}

// Of more columns than rows q and the left part of r are those of the left columns; the others are qᴴ times theirs.
std::vector<Tensor> QrOp::decomposed(std::span<const Tensor> in) const {
  const Tensor& x = in[0];
  const std::int64_t m = x.shape()[-2], n = x.shape()[-1];
  if (a.mode != QrMode::r && m >= n) return {};
  const int last = x.rank() - 1;
  const Tensor q = apply(make_op<QrOp>(kernels::QrOptions{}), {m < n ? slice(x, last, 0, m) : x});
  Tensor r = result(q, 1);
  if (m < n) r = concat({r, matmul(adjoint(q), slice(x, last, m, n))}, last);
  return {a.mode == QrMode::r ? slice(q, last, 0, 0) : q, r};
}

namespace {

// x r⁻¹, or x r⁻ᴴ.
Tensor divided(const Tensor& x, const Tensor& r, bool by_adjoint) {
  return adjoint(
      apply(make_op<TriangularSolveOp>(kernels::TriangularSolveOptions{.upper = true, .adjoint = !by_adjoint}),
            {r, adjoint(x)}));
}

// The triangle with half of the diagonal.
Tensor half(const Tensor& x, Triangle part) {
  return (triangle(x, part) + triangle(x, part, part == Triangle::upper ? 1 : -1)) * 0.5F;
}

}  // namespace

// The transpose of jvp(). Source: Walter and Lehmann, "Algorithmic differentiation of linear algebra functions with
// application in optimum experimental design", 2010.
Derivatives QrOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  if (!has_rule(node)) return std::nullopt;
  const Tensor &q = node.outputs[0], &r = node.outputs[1];
  Tensor inner;
  if (g[1].defined()) inner = matmul(g[1], adjoint(r));
  if (g[0].defined()) inner = sum_of(inner, -matmul(adjoint(q), g[0]));
  const Tensor upper = half(inner, Triangle::upper);
  return std::vector{divided(sum_of(g[0], matmul(q, upper + adjoint(upper))), r, true)};
}

// qᴴ da r⁻¹ = qᴴ dq + dr r⁻¹ is the sum of a matrix that changes its sign when it is transposed and conjugated and an
// upper triangle with a real diagonal.
Derivatives QrOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  if (!has_rule(node)) return std::nullopt;
  const Tensor &q = node.outputs[0], &r = node.outputs[1];
  const Tensor change = divided(t[0], r, false), inner = matmul(adjoint(q), change);
  const Tensor lower = half(inner, Triangle::lower), upper = inner - (lower - adjoint(lower));
  return std::vector{change - matmul(q, upper), matmul(upper, r)};
}
void add_qr_ops(OpRows& rows) { rows.push_back(op_row<QrOp>(schema_of_kernel("qr"))); }

}  // namespace weft
