#include "ops/eig.h"

#include "core/format.h"
#include "graph/graph.h"
#include "ops/batch_in_order.h"
#include "ops/linalg.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/linalg.h"

namespace weft {

std::vector<TensorType> EigOp::infer(std::span<const TensorType> in) const {
  return eigenvalue_types(name(), in[0], a.vectors);
}

void EigOp::lower(const Launch& call) const {
  kernels::eig(call.stream, call.inputs[0], call.outputs[0], call.outputs[1],
               a.vectors ? std::optional(call.outputs[2]) : std::nullopt);
}

std::optional<OwnWork> EigOp::own_work(std::span<const View> in, std::span<const View>) const {
  const double steps = (a.vectors ? 25 : 10) * static_cast<double>(in[0].shape()[-1]);
  return OwnWork{{steps * (in[0].dtype == DType::c64 ? 4 : 1), 0}, static_cast<double>(in[0].count())};
}

OpPtr EigOp::with_more_results() const {
  if (a.vectors) return nullptr;
  return make_op<EigOp>(EigAttributes{.vectors = true});
}

namespace {

// A row of factors for the columns of matrices.
Tensor for_columns(const Tensor& x) { return expand_dims(x, -2); }
// The differences w_j - w_i of the eigenvalues, and 1 on the diagonal.
Tensor gaps_of(const Tensor& w) {
  const Tensor gaps = expand_dims(w, -2) - expand_dims(w, -1);
  return select(diagonal_mask(gaps), Graph::scalar(1, gaps.dtype()), gaps);
}
Tensor without_diagonal(const Tensor& x) { return select(diagonal_mask(x), Graph::scalar(0, x.dtype()), x); }
// v times the real parts of a matrix' diagonal: of a column how much it gets longer, which its norm of 1 takes away.
Tensor times_lengths(const Tensor& v, const Tensor& x) { return v * cast(for_columns(real(diagonal(x))), v.dtype()); }

}  // namespace

// Of the op that gives eigenvalues alone, those of the op that gives both; the compiler then computes one of the two.
Tensor EigOp::eigenvectors(const Differentiated& node) const {
  return a.vectors ? node.outputs[2] : result(apply(with_more_results(), {node.inputs[0]}), 2);
}

// Of a v = v diag(w) follows v⁻¹ da v = diag(dw) + (v⁻¹ dv) * gaps. Of the columns of dv what changes their norm is
// taken away; their phases are any, so that a function must not depend on them: v⁻¹ dv has no diagonal besides.
// PyTorch's, also in that equal eigenvalues make the derivatives of vectors infinite or NaN. Source: Boeddeker,
// Hanebrink, Drude, Heymann and Haeb-Umbach, "On the computation of complex-valued gradients with application to
// statistically optimum beamforming", 2017.
Derivatives EigOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const bool of_vectors = a.vectors && g[2].defined();
  if (!g[0].defined() && !of_vectors) return std::vector{Tensor()};
  const Tensor v = eigenvectors(node), vh = adjoint(v);
  Tensor inner;
  if (of_vectors) {
    const Tensor turn = matmul(vh, g[2]);
    inner = without_diagonal((turn - matmul(vh, times_lengths(v, turn))) / conj(gaps_of(node.outputs[0])));
  }
  if (g[0].defined()) {
    const Tensor on_diagonal =
        select(eye(v.shape()[-1], v.shape()[-1], DType::boolean), for_columns(g[0]), Graph::scalar(0, v.dtype()));
    inner = sum_of(inner, on_diagonal);
  }
  const Tensor y = solution(factors_of(vh), vh, matmul(inner, vh), false);
  return std::vector{node.inputs[0].dtype() == DType::c64 ? y : real(y)};
}

Derivatives EigOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  const Tensor v = eigenvectors(node);
  const Tensor change = solution(factors_of(v), v, matmul(cast(t[0], v.dtype()), v), false);
  std::vector<Tensor> all{diagonal(change), Tensor()};
  if (a.vectors) {
    const Tensor dv = matmul(v, without_diagonal(change / gaps_of(node.outputs[0])));
    all.push_back(dv - times_lengths(v, matmul(adjoint(v), dv)));
  }
  return all;
}
void add_eig_ops(OpRows& rows) { rows.push_back(op_row<EigOp>(schema_of_kernel("eig"))); }

}  // namespace weft
