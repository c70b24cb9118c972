#include "graph/ops/linalg.h"

#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_rows.h"
#include "graph/op_schemas.h"
#include "graph/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

void check_square(std::string_view name, const TensorType& a) {
  if (a.shape[-1] == a.shape[-2]) return;
  throw ShapeError("{}: a is {}; expected square matrices, [..., n, n]", name, to_string(a));
}
Shape batch_of(const Shape& matrices) { return Shape(std::span(matrices.begin(), matrices.end() - 2)); }

// A product of complex numbers is four of real ones.
double products(DType type) { return type == DType::c64 ? 4 : 1; }

Tensor solved(const Tensor& a, const Tensor& b, const kernels::TriangularSolveOptions& options) {
  return apply(make_op<TriangularSolveOp>(options), {a, b});
}

}  // namespace

Tensor adjoint(const Tensor& x) { return x.dtype() == DType::c64 ? conj(x.T()) : x.T(); }

// ---- Cholesky factors

std::vector<TensorType> CholeskyOp::infer(std::span<const TensorType> in) const {
  const TensorType* inputs[] = {&in[0]};
  const std::vector<DType> types = infer_dtypes(name(), inputs);
  check_square(name(), in[0]);
  return {{types[0], in[0].shape}, {types[1], batch_of(in[0].shape)}};
}

void CholeskyOp::lower(const Launch& call) const {
  kernels::cholesky(call.stream, call.inputs[0], call.outputs[0], call.outputs[1], a);
}

std::optional<OwnWork> CholeskyOp::own_work(std::span<const View> in, std::span<const View> out) const {
  const auto n = static_cast<double>(in[0].shape()[-1]), elements = static_cast<double>(out[0].count());
  return OwnWork{{products(in[0].dtype) * n / 3, 0}, elements};
}

namespace {

// What Cholesky's rules are made of, in terms of l whichever factor there is: u is its conjugate transpose.
struct Factor {
  Tensor factor;
  bool upper;

  Tensor as_given(const Tensor& lower) const { return upper ? adjoint(lower) : lower; }
  Tensor l() const { return as_given(factor); }
  // l⁻¹ b, or l⁻ᴴ b.
  Tensor solve(const Tensor& b, bool with_adjoint) const {
    return solved(factor, b, {.upper = upper, .adjoint = with_adjoint != upper});
  }
};

// Half of the sum of x and its conjugate transpose.
Tensor symmetric_part(const Tensor& x) { return (x + adjoint(x)) * 0.5F; }

// The lower triangle with half of the diagonal, which of a Hermitian matrix is one of two parts that are each other's
// conjugate transposes.
Tensor lower_half(const Tensor& x) { return (triangle(x, Triangle::lower) + triangle(x, Triangle::lower, -1)) * 0.5F; }

}  // namespace

// Of a = l lᴴ follows l⁻¹ da l⁻ᴴ = l⁻¹ dl + (l⁻¹ dl)ᴴ, of which the first part is the lower triangle. As in PyTorch,
// the cotangent of a is Hermitian, although only a triangle is read. Source: Murray, "Differentiation of the Cholesky
// decomposition", 2016.
Derivatives CholeskyOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  if (!g[0].defined()) return std::vector{Tensor()};
  const Factor f{node.outputs[0], a.upper};
  const Tensor inner = symmetric_part(lower_half(matmul(adjoint(f.l()), f.as_given(g[0]))));
  return std::vector{f.solve(adjoint(f.solve(inner, true)), true)};
}

Derivatives CholeskyOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  const Factor f{node.outputs[0], a.upper};
  const Tensor inner = f.solve(adjoint(f.solve(symmetric_part(t[0]), false)), false);
  return std::vector{f.as_given(matmul(f.l(), lower_half(inner))), Tensor()};
}

std::optional<Batched> CholeskyOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const Tensor l = apply(make_op<CholeskyOp>(a), {batch_first(in[0], axes[0], 0)});
  return Batched{{l, result(l, 1)}, {0, 0}};
}

// ---- Triangular systems

std::vector<TensorType> TriangularSolveOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype(name(), {&in[0], &in[1]});
  check_square(name(), in[0]);
  const Shape &a = in[0].shape, &b = in[1].shape;
  const auto fail = [&](std::string_view why) {
    throw ShapeError("{}: a {} and b {}: {}", name(), weft::to_string(a), weft::to_string(b), why);
  };
  if (a[-1] != b[-2]) fail(std::format("a has {} rows, b {}", a[-1], b[-2]));
  Shape shape;
  try {
    shape = broadcast(batch_of(a), batch_of(b));
  } catch (const InvalidArgument& e) {
    fail(std::format("leading dimensions: {}", e.what()));
  }
  shape.push_back(b[-2]);
  shape.push_back(b[-1]);
  return {{type, shape}};
}

void TriangularSolveOp::lower(const Launch& call) const {
  kernels::triangular_solve(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a);
}

std::optional<OwnWork> TriangularSolveOp::own_work(std::span<const View> in, std::span<const View> out) const {
  const auto n = static_cast<double>(in[0].shape()[-1]), elements = static_cast<double>(out[0].count());
  return OwnWork{{products(in[0].dtype) * n, 0}, elements};
}

namespace {

// What is read of a.
Tensor read_part(const Tensor& a, const kernels::TriangularSolveOptions& o) {
  return triangle(a, o.upper ? Triangle::upper : Triangle::lower, !o.unit ? 0 : o.upper ? 1 : -1);
}

}  // namespace

Derivatives TriangularSolveOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Tensor &factor = node.inputs[0], &b = node.inputs[1], &x = node.outputs[0];
  kernels::TriangularSolveOptions options = a;
  options.adjoint = !options.adjoint;
  const Tensor of_b = solved(factor, g[0], options);
  std::vector<Tensor> all(2);
  if (node.wanted[0]) {
    const Tensor product = a.adjoint ? matmul(x, adjoint(of_b)) : matmul(of_b, adjoint(x));
    all[0] = -read_part(summed_to(product, factor.shape()), a);
  }
  if (node.wanted[1]) all[1] = summed_to(of_b, b.shape());
  return all;
}

Derivatives TriangularSolveOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  Tensor change = t[1];
  if (t[0].defined()) {
    const Tensor own = read_part(t[0], a);
    change = sum_of(change, -matmul(a.adjoint ? adjoint(own) : own, node.outputs[0]));
  }
  return std::vector{broadcast_to(solved(node.inputs[0], change, a), node.outputs[0].shape())};
}

std::optional<Batched> TriangularSolveOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const int rank = std::max(entry_rank(in[0], axes[0]), entry_rank(in[1], axes[1]));
  return batched(solved(batch_broadcast(in[0], axes[0], rank), batch_broadcast(in[1], axes[1], rank), a));
}

void add_linalg_ops(OpRows& rows) {
  rows.push_back(op_row<CholeskyOp>(schema_of_kernel("cholesky")));
  rows.push_back(op_row<TriangularSolveOp>(schema_of_kernel("triangular_solve")));
}

}  // namespace weft
