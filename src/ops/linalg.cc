#include "ops/linalg.h"

#include <algorithm>
#include <limits>

#include "core/format.h"
#include "graph/graph.h"
#include "ops/batch_in_order.h"
#include "ops/elementwise.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"

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

// ---- LU factors

std::vector<TensorType> LuOp::infer(std::span<const TensorType> in) const {
  const TensorType* inputs[] = {&in[0]};
  const std::vector<DType> types = infer_dtypes(name(), inputs);
  const Shape& a = in[0].shape;
  Shape pivots = batch_of(a), order = pivots;
  pivots.push_back(std::min(a[-2], a[-1]));
  order.push_back(a[-2]);
  return {{types[0], a}, {types[1], pivots}, {types[2], order}, {types[3], batch_of(a)}};
}

void LuOp::lower(const Launch& call) const {
  kernels::lu(call.stream, call.inputs[0], call.outputs[0], call.outputs[1], call.outputs[2], call.outputs[3]);
}

std::optional<OwnWork> LuOp::own_work(std::span<const View> in, std::span<const View> out) const {
  const auto m = static_cast<double>(in[0].shape()[-2]), n = static_cast<double>(in[0].shape()[-1]), k = std::min(m, n),
             elements = static_cast<double>(out[0].count());
  const double all = m * n * k - (m + n) * k * k / 2 + k * k * k / 3;
  return OwnWork{{elements > 0 ? 2 * products(in[0].dtype) * all / (m * n) : 0, 0}, elements};
}

Tensor inverse_order(const Tensor& order) { return argsort(order); }

Tensor rows_in_order(const Tensor& x, const Tensor& order) {
  // (Indices and elements need one rank.)
  const int rank = std::max(x.rank(), order.rank() + 1);
  const auto leading = [&](const Tensor& t) {
    Shape shape = Shape::filled(rank - t.rank(), 1);
    for (const std::int64_t size : t.shape()) shape.push_back(size);
    return t.rank() == rank ? t : reshape(t, shape);
  };
  return gather_elements(leading(x), leading(expand_dims(order, -1)), -2);
}

// With l and u of the rows that a has in that order, and their first k = min(m, n) rows and columns l₁ and u₁: of
// l₁⁻¹ da₁ u₁⁻¹ = l₁⁻¹ dl₁ + du₁ u₁⁻¹ the parts below the diagonal and above it are the two terms; the rows below
// are dl₂ = da₂ u₁⁻¹ - l₂ du₁ u₁⁻¹, or the columns beside them du₂ = l₁⁻¹ da₂ - l₁⁻¹ dl₁ u₂. These lines, transposed.
// Source: Axen, "Differentiating the LU decomposition", 2021.
Derivatives LuOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  if (!g[0].defined()) return std::vector{Tensor()};
  const Tensor &lu = node.outputs[0], &order = node.outputs[2];
  const std::int64_t m = lu.shape()[-2], n = lu.shape()[-1], k = std::min(m, n);
  const auto first = [&](const Tensor& x) { return slice(slice(x, -2, 0, k), -1, 0, k); };
  const auto rest = [&](const Tensor& x) { return m > n ? slice(x, -2, k, m) : slice(x, -1, k, n); };
  const Tensor square = first(lu), of_square = first(g[0]);
  const Tensor l = triangle(square, Triangle::lower, -1), u = triangle(square, Triangle::upper);
  // (l has ones on its diagonal, which do not change what is below that of a product with the part below.)
  Tensor below =
      matmul(adjoint(l), triangle(of_square, Triangle::lower, -1)) + triangle(of_square, Triangle::lower, -1);
  Tensor above = matmul(triangle(of_square, Triangle::upper), adjoint(u));
  if (m > n) above = above - matmul(adjoint(rest(lu)), rest(g[0]));
  if (m < n) below = below - matmul(rest(g[0]), adjoint(rest(lu)));
  const Tensor inner = triangle(below, Triangle::lower, -1) + triangle(above, Triangle::upper);
  const auto by_l = [&](const Tensor& x) { return solved(square, x, {.adjoint = true, .unit = true}); };
  const auto by_u = [&](const Tensor& x) { return adjoint(solved(square, adjoint(x), {.upper = true})); };
  const Tensor all = m > n   ? by_u(concat({by_l(inner), rest(g[0])}, -2))
                     : m < n ? by_l(concat({by_u(inner), rest(g[0])}, -1))
                             : by_u(by_l(inner));
  return std::vector{rows_in_order(all, inverse_order(order))};
}

// ---- Results of systems and their checks

std::vector<TensorType> SolutionOp::infer(std::span<const TensorType> in) const {
  const TensorType &x = in[0], &a = in[1], &b = in[2], &lu = in[3], &order = in[4], &info = in[5];
  const DType type = infer_dtype(name(), {&x, &a, &b, &lu, &order, &info});
  check_square(name(), a);
  const auto fail = [&](std::string_view what, const TensorType& got, const TensorType& expected) {
    throw ShapeError("{}: {} is {}, expected {}", name(), what, weft::to_string(got), weft::to_string(expected));
  };
  const auto require = [&](std::string_view what, const TensorType& got, DType dtype, const Shape& shape) {
    if (got != TensorType{dtype, shape}) fail(what, got, {dtype, shape});
  };
  Shape rows = batch_of(a.shape);
  require("info", info, DType::i32, rows);
  rows.push_back(a.shape[-1]);
  require("order", order, DType::i32, rows);
  require("lu", lu, type, a.shape);
  if (b.shape[-2] != a.shape[-1])
    throw ShapeError("{}: a is {} and b {}", name(), weft::to_string(a), weft::to_string(b));
  Shape shape = broadcast(batch_of(a.shape), batch_of(b.shape));
  shape.push_back(b.shape[-2]);
  shape.push_back(b.shape[-1]);
  require("x", x, type, shape);
  return {x};
}

void SolutionOp::lower(const Launch& call) const { kernels::copy(call.stream, call.inputs[0], call.outputs[0]); }

LuFactors factors_of(const Tensor& a) {
  const Tensor lu = apply(make_op<LuOp>(LuAttributes()), {a});
  return {lu, result(lu, 1), result(lu, 2), result(lu, 3)};
}

Tensor solved_by(const LuFactors& factors, const Tensor& b, bool with_adjoint) {
  const auto& [lu, pivots, order, info] = factors;
  const Tensor exists = expand_dims(expand_dims(info == 0, -1), -1);
  const Tensor sides = select(exists, b, full_like(b, std::numeric_limits<double>::quiet_NaN()));
  if (!with_adjoint) return solved(lu, solved(lu, rows_in_order(sides, order), {.unit = true}), {.upper = true});
  const Tensor y = solved(lu, solved(lu, sides, {.upper = true, .adjoint = true}), {.adjoint = true, .unit = true});
  return rows_in_order(y, inverse_order(order));
}

Tensor solution(const LuFactors& factors, const Tensor& a, const Tensor& b, bool with_adjoint) {
  const Tensor x = solved_by(factors, b, with_adjoint);
  return apply(make_op<SolutionOp>(SolutionAttributes{with_adjoint}),
               {x, a, b, factors.lu, factors.order, factors.info});
}

namespace {

// What solved the node's system: another one with the same matrix, or its conjugate transpose, takes no new factors.
Tensor solve_again(const Differentiated& node, const Tensor& b, bool with_adjoint) {
  return solution({node.inputs[3], {}, node.inputs[4], node.inputs[5]}, node.inputs[1], b, with_adjoint);
}

}  // namespace

// The factors are those of a, so that what depends on a through them is what is said here.
Derivatives SolutionOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Tensor &matrix = node.inputs[1], &b = node.inputs[2], &x = node.outputs[0];
  std::vector<Tensor> all(node.inputs.size());
  if (!node.wanted[1] && !node.wanted[2]) return all;
  const Tensor of_b = solve_again(node, g[0], !a.adjoint);
  if (node.wanted[1]) {
    const Tensor product = a.adjoint ? matmul(x, adjoint(of_b)) : matmul(of_b, adjoint(x));
    all[1] = -summed_to(product, matrix.shape());
  }
  if (node.wanted[2]) all[2] = summed_to(of_b, b.shape());
  return all;
}

Derivatives SolutionOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  Tensor change = t[2];
  if (t[1].defined()) change = sum_of(change, -matmul(a.adjoint ? adjoint(t[1]) : t[1], node.outputs[0]));
  if (!change.defined()) return std::vector{Tensor()};
  const Tensor x = solve_again(node, change, a.adjoint);
  return std::vector{broadcast_to(x, node.outputs[0].shape())};
}

std::optional<Batched> SolutionOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const int rank = entry_rank(in[0], axes[0]);
  const int ranks[] = {rank, rank, rank, rank, rank - 1, rank - 2};
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < in.size(); ++i) all.push_back(batch_broadcast(in[i], axes[i], ranks[i]));
  return batched(apply(make_op<SolutionOp>(a), std::move(all)));
}

Tensor checked(const Tensor& x, const Tensor& info, Failure failure) {
  // (A copy, since info's node has the factors too, which need not be kept with it.)
  return apply(make_op<CheckedOp>(CheckedAttributes{failure}), {x, apply(copy_op(info.dtype()), {info})});
}

std::vector<TensorType> CheckedOp::infer(std::span<const TensorType> in) const {
  return {{infer_dtype(name(), {&in[0], &in[1]}), in[0].shape}};
}

void CheckedOp::lower(const Launch& call) const { kernels::copy(call.stream, call.inputs[0], call.outputs[0]); }

// What the derivatives are of does not exist either.
Derivatives CheckedOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  return std::vector{checked(g[0], node.inputs[1], a.failure), Tensor()};
}
Derivatives CheckedOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  return std::vector{t[0].defined() ? checked(t[0], node.inputs[1], a.failure) : Tensor()};
}

// Nothing is read of what is batched.
std::optional<Batched> CheckedOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return Batched{{in[0]}, {axes[0]}};
}

std::string CheckedOp::message(std::span<const std::int32_t> info, const Shape& batch) const {
  const auto it = std::ranges::find_if(info, [](std::int32_t v) { return v != 0; });
  const auto failed = std::ranges::count_if(info, [](std::int32_t v) { return v != 0; });
  std::string which = "the matrix";
  if (batch.rank() > 0) {
    std::string place;
    auto at = static_cast<std::int64_t>(it - info.begin());
    for (int k = batch.rank(); k-- > 0; at /= batch[k]) place = std::format(", {}", at % batch[k]) + place;
    which = std::format("matrix [{}] of {}", place.substr(2), weft::to_string(batch));
  }
  const std::string_view function = kFailures[static_cast<std::size_t>(a.failure)];
  std::string what = a.failure == Failure::cholesky
                         ? std::format("is not positive definite: its leading minor of order {} is not", *it)
                         : std::format("is singular: pivot {} of its LU factors is 0", *it);
  if (failed > 1) what += std::format(" ({} matrices are so)", failed);
  return std::format("{}: {} {}; {}_ex() tells without an error", function, which, what, function);
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
std::vector<Tensor> TriangularSolveOp::vmap_in_order(const BatchInOrder& batch) const {
  return samples_in_order(shared_from_this(), batch, 2);
}

std::vector<TensorType> eigenvalue_types(std::string_view name, const TensorType& a, bool vectors) {
  const TensorType* inputs[] = {&a};
  const std::vector<DType> types = infer_dtypes(name, inputs);
  const Shape& matrices = a.shape;
  if (matrices[-1] != matrices[-2]) {
    throw ShapeError("{}: a is {}; expected square matrices, [..., n, n]", name, to_string(a));
  }
  const Shape row(std::span(matrices.begin(), matrices.end() - 1)), batch(std::span(row.begin(), row.end() - 1));
  std::vector<TensorType> all{{types[0], row}, {types[1], batch}};
  if (vectors) all.push_back({types[2], matrices});
  return all;
}

Tensor diagonal_mask(const Tensor& x) { return eye(x.shape()[-1], x.shape()[-1], DType::boolean); }

void add_linalg_ops(OpRows& rows) {
  rows.push_back(op_row<CholeskyOp>(schema_of_kernel("cholesky")));
  rows.push_back(op_row<LuOp>(schema_of_kernel("lu")));
  const TypeSet matrix = TypeSet(DType::f32) | DType::f64 | DType::c64;
  const auto ranked = [](std::string name, std::string shape, int least) {
    return OperandSchema{.name = std::move(name), .min_rank = least, .shape = std::move(shape)};
  };
  rows.push_back(op_row<SolutionOp>(
      {.name = "solution",
       .family = "linalg",
       .summary =
           "the solution of a system that LU factors gave, with these factors, by which derivatives solve others",
       .formula = "a x = b",
       .inputs = {ranked("x", "[..., n, m]", 2), ranked("a", "[..., n, n]", 2), ranked("b", "[..., n, m]", 2),
                  ranked("lu", "a's shape", 2), ranked("order", "[..., n]", 1), ranked("info", "[...]", 0)},
       .outputs = {{.name = "x", .shape = "x's shape"}},
       .signatures = {{matrix, OperandTypes::as(0), OperandTypes::as(0), OperandTypes::as(0), DType::i32, DType::i32,
                       OperandTypes::as(0)}}}));
  rows.push_back(op_row<CheckedOp>(
      {.name = "checked",
       .family = "linalg",
       .summary = "x; where tensors are evaluated one by one, reading it is an error unless info is 0",
       .formula = "y = x",
       .inputs = {{.name = "x", .shape = "any"}, ranked("info", "any", 0)},
       .outputs = {{.name = "y", .shape = "x's shape"}},
       .signatures = {{types::any, DType::i32, OperandTypes::as(0)}}}));
  rows.push_back(op_row<TriangularSolveOp>(schema_of_kernel("triangular_solve")));
}

}  // namespace weft
