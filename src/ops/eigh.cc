#include "ops/eigh.h"

#include "core/format.h"
#include "graph/graph.h"
#include "ops/batch_in_order.h"
#include "ops/linalg.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {

std::vector<TensorType> EighOp::infer(std::span<const TensorType> in) const {
  return eigenvalue_types(name(), in[0], a.vectors);
}

void EighOp::lower(const Launch& call) const {
  kernels::eigh(call.stream, call.inputs[0], call.outputs[0], call.outputs[1],
                a.vectors ? std::optional(call.outputs[2]) : std::nullopt, a.options);
}

std::optional<OwnWork> EighOp::own_work(std::span<const View> in, std::span<const View>) const {
  const double rotations = 25 * static_cast<double>(in[0].shape()[-1]) * (in[0].dtype == DType::c64 ? 4 : 1);
  return OwnWork{{rotations, 0}, static_cast<double>(in[0].count())};
}

OpPtr EighOp::with_more_results() const {
  if (a.vectors) return nullptr;
  EighAttributes both = a;
  both.vectors = true;
  return make_op<EighOp>(both);
}

namespace {

Tensor symmetric_part(const Tensor& x) { return (x + adjoint(x)) * 0.5F; }

// x over the differences w_j - w_i of the eigenvalues, and 0 on the diagonal: how eigenvectors change, in terms of
// themselves, by a change x of the matrix. Of equal eigenvalues this is infinite or NaN, as PyTorch's.
Tensor over_gaps(const Tensor& x, const Tensor& w) {
  const Tensor on_diagonal = diagonal_mask(x);
  const Tensor gaps = select(on_diagonal, 1, expand_dims(w, -2) - expand_dims(w, -1));
  return select(on_diagonal, 0, x / cast(gaps, x.dtype()));
}

}  // namespace

// Of the op that gives eigenvalues alone, those of the op that gives both; the compiler then computes one of the two.
Tensor EighOp::eigenvectors(const Differentiated& node) const {
  return a.vectors ? node.outputs[2] : result(apply(with_more_results(), {node.inputs[0]}), 2);
}

// Of a v = v diag(w) follows vᴴ da v = diag(dw) + (vᴴ dv) * gaps. An eigenvector's sign or phase is any, so that a
// function must not depend on it: vᴴ dv has no diagonal here, as in PyTorch, which throws where one does. The cotangent
// of a is Hermitian, although only a triangle is read. Source: Giles, "Collected matrix derivative results for forward
// and reverse mode algorithmic differentiation", 2008, 3.1.
Derivatives EighOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Tensor v = eigenvectors(node);
  Tensor inner;
  if (a.vectors && g[2].defined()) {
    inner = matmul(v, symmetric_part(over_gaps(matmul(adjoint(v), g[2]), node.outputs[0])));
  }
  if (g[0].defined()) inner = sum_of(inner, v * cast(expand_dims(g[0], -2), v.dtype()));
  if (!inner.defined()) return std::vector{Tensor()};
  return std::vector{matmul(inner, adjoint(v))};
}

Derivatives EighOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  const Tensor v = eigenvectors(node);
  const Tensor change = matmul(adjoint(v), matmul(symmetric_part(t[0]), v));
  const Tensor values = diagonal(change);
  std::vector<Tensor> all{change.dtype() == DType::c64 ? real(values) : values, Tensor()};
  if (a.vectors) all.push_back(matmul(v, over_gaps(change, node.outputs[0])));
  return all;
}
void add_eigh_ops(OpRows& rows) { rows.push_back(op_row<EighOp>(schema_of_kernel("eigh"))); }

}  // namespace weft
