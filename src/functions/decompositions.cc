// Decompositions of matrices into orthonormal factors, and what these solve (weft/linalg.h).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/format.h"
#include "functions/matrices.h"
#include "graph/graph.h"
#include "ops/eig.h"
#include "ops/eigh.h"
#include "ops/function_row.h"
#include "ops/linalg.h"
#include "ops/qr.h"
#include "ops/rules.h"
#include "ops/svd.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/linalg.h"

namespace weft {

namespace {

constexpr std::string_view kSameType = "a's type", kRealType = "a's type, of c64 f32", kBatch = "[...]";

// max(m, n) times the distance from 1 to the next number.
double roundings(const Tensor& a) {
  const std::int64_t size = std::max(a.shape()[-2], a.shape()[-1]);
  return std::ldexp(static_cast<double>(size), a.dtype() == DType::f64 ? -52 : -23);
}

// ---- Orthonormal factors and least squares

// `complete` is a name of one of the modes.
struct QrAttributes {
  QrMode mode = QrMode::reduced;
  bool complete = false;
  void fields(AttributeVisitor& v) {
    v("mode", mode, QrMode::reduced, kernels::kQrModes,
      "reduced: q has min(m, n) columns; complete: m; r: none, and only r is computed");
    v("complete", complete, false, "the mode complete");
  }
};
constexpr Function kQr = {{.name = "qr",
                           .operands = {kMatrix},
                           .results = {{"q", "[..., m, min(m, n)]; complete: [..., m, m]; r: [..., m, 0]", kSameType},
                                       {"r", "[..., min(m, n), n]; complete: [..., m, n]", kSameType}},
                           .formula = "a = q r",
                           .summary = "orthonormal columns and a triangle whose product is the matrix"},
                          [](const Tensor& a, const QrAttributes& o) -> QrResult {
                            require_matrices(a, "qr", "a");
                            if (o.complete && o.mode == QrMode::r)
                              throw InvalidArgument("qr: the mode r, which has no q that is complete");
                            const Tensor q =
                                apply(make_op<QrOp>(kernels::QrOptions{o.complete ? QrMode::complete : o.mode}), {a});
                            return {q, result(q, 1)};
                          }};

// Of each triangle 0, or the place, counted from 1, of the first element on its diagonal that is no more than `rcond`
// times the largest one.
Tensor first_negligible(const Tensor& r, double rcond) {
  const Tensor size = abs(diagonal(r));
  Shape batch = size.shape();
  batch.pop_back();
  if (size.shape()[-1] == 0) return zeros_of({DType::i32, batch});
  const Tensor negligible = logical_not(greater(size, max(size, {-1}, true) * rcond));
  const Tensor first = cast(argmax(cast(negligible, DType::i32), -1), DType::i32) + 1;
  return where(reduce(ReduceKind::any, negligible, {-1}, false), first, Graph::scalar(0, DType::i32));
}

// A system whose sides are matrices, in the type that a and b have in common.
struct LeastSquares {
  Tensor matrix, sides;
  bool vector = false;  // b was one side without an axis

  // The solution and the sums of squared magnitudes of what it leaves, as b has axes.
  std::pair<Tensor, Tensor> solved(const Tensor& x) const {
    const Tensor residuals = reduce(ReduceKind::sum_squares, abs(sides - matmul(matrix, x)), {-2}, false);
    if (!vector) return {x, residuals};
    return {squeeze(x, -1), squeeze(residuals, -1)};
  }
};

LeastSquares least_squares(std::string_view function, const Tensor& a, const Tensor& b) {
  require_matrices(a, function, "a");
  require_matrices(b, function, "b");
  const std::vector<Tensor> same = same_type(function, a, b);
  const bool vector = b.rank() == 1;
  const Tensor sides = vector ? expand_dims(same[1], 1) : same[1];
  if (sides.shape()[-2] != a.shape()[-2]) {
    throw ShapeError("{}: a is {} and b {}; expected b with {} rows", function, to_string(a.type()),
                     to_string(b.type()), a.shape()[-2]);
  }
  return {same[0], sides, vector};
}

struct LstsqAttributes {
  std::optional<double> rcond = {};
  void fields(AttributeVisitor& v) {
    v("rcond", rcond, {},
      "which part of the largest diagonal element of r is negligible; without it max(m, n) roundings");
  }
};
constexpr Function kLstsq = {
    {.name = "lstsq",
     .operands = {kMatrix, {.name = "b", .min_rank = 1, .shape = "[..., m, k], or [m]"}},
     .results = {{"solution", "[..., n, k], or [..., n] of a vector b", "the operands' common type"},
                 {"residuals", "[..., k], or [...]", "f32, f64 of f64"},
                 {"info", kBatch, "i32"}},
     .formula = "solution = argmin_x Σ |b - a x|²",
     .summary = "the least-squares solution by QR factors"},
    [](const Tensor& a, const Tensor& b, const LstsqAttributes& o) -> LstsqResult {
      constexpr std::string_view kName = "lstsq";
      const LeastSquares system = least_squares(kName, a, b);
      const auto& [matrix, sides, vector] = system;
      const double rcond = o.rcond.value_or(roundings(matrix));
      const bool tall = matrix.shape()[-2] >= matrix.shape()[-1];
      const auto [q, r] = qr(tall ? matrix : adjoint(matrix));
      const Tensor x = tall ? solve_triangular(r, matmul(adjoint(q), sides), {.upper = true})
                            : matmul(q, solve_triangular(r, sides, {.upper = true, .adjoint = true}));
      const auto [solution, residuals] = system.solved(x);
      return {solution, residuals, first_negligible(r, rcond)};
    }};

// ---- Eigenvalues

constexpr Function kEighEx = {
    {.name = "eigh_ex",
     .operands = {kSquare},
     .results = {{"values", "[..., n]", kRealType}, {"vectors", "a's shape", kSameType}, {"info", kBatch, "i32"}},
     .formula = "a vectors = vectors diag(values)",
     .summary = "the eigenvalues and eigenvectors of a Hermitian matrix, and whether they were found"},
    [](const Tensor& a, const kernels::EighOptions& o) -> EighExResult {
      require_matrices(a, "eigh_ex", "a");
      require_square(a, "eigh_ex", "a");
      const Tensor values = apply(make_op<EighOp>(EighAttributes{o, true}), {a});
      return {values, result(values, 2), result(values, 1)};
    }};
constexpr Function kEigh = {{.name = "eigh",
                             .operands = {kSquare},
                             .results = {{"values", "[..., n]", kRealType}, {"vectors", "a's shape", kSameType}},
                             .formula = "a vectors = vectors diag(values)",
                             .summary = "the eigenvalues, ascending, and eigenvectors of a Hermitian matrix"},
                            [](const Tensor& a, const kernels::EighOptions& o) -> EighResult {
                              const EighExResult all = eigh_ex(a, o.upper);
                              return {all.values, all.vectors};
                            }};
constexpr Function kEigvalsh = {{.name = "eigvalsh",
                                 .operands = {kSquare},
                                 .results = {{"values", "[..., n]", kRealType}},
                                 .formula = "a v = v diag(values)",
                                 .summary = "the eigenvalues of a Hermitian matrix in ascending order"},
                                [](const Tensor& a, const kernels::EighOptions& o) {
                                  require_matrices(a, "eigvalsh", "a");
                                  require_square(a, "eigvalsh", "a");
                                  return apply(make_op<EighOp>(EighAttributes{o, false}), {a});
                                }};

// Of matrices of any kind, whose eigenvalues are complex.
void require_eigenvalues(const Tensor& a, std::string_view function) {
  if (a.dtype() != DType::f32 && a.dtype() != DType::c64)
    throw TypeError("{}: a is {}; expected f32 or c64: cast it", function, to_string(a.type()));
  require_square(a, function, "a");
}
constexpr Function kEig = {
    {.name = "eig",
     .operands = {kSquare},
     .results = {{"values", "[..., n]", "c64"}, {"vectors", "a's shape", "c64"}},
     .formula = "a vectors = vectors diag(values)",
     .summary = "the eigenvalues, in the order of their real parts, and eigenvectors of a matrix"},
    [](const Tensor& a) -> EigResult {
      require_eigenvalues(a, "eig");
      const Tensor values = apply(make_op<EigOp>(EigAttributes{.vectors = true}), {a});
      return {values, result(values, 2)};
    }};
constexpr Function kEigvals = {{.name = "eigvals",
                                .operands = {kSquare},
                                .results = {{"values", "[..., n]", "c64"}},
                                .formula = "a v = v diag(values)",
                                .summary = "the eigenvalues of a matrix in the order of their real parts"},
                               [](const Tensor& a) {
                                 require_eigenvalues(a, "eigvals");
                                 return apply(make_op<EigOp>(EigAttributes{.vectors = false}), {a});
                               }};

// ---- Singular values

constexpr Function kSvd = {{.name = "svd",
                            .operands = {kMatrix},
                            .results = {{"u", "[..., m, m], or [..., m, min(m, n)]", kSameType},
                                        {"s", "[..., min(m, n)]", kRealType},
                                        {"vh", "[..., n, n], or [..., min(m, n), n]", kSameType}},
                            .formula = "a = u · diag(s) · vh",
                            .summary = "the singular values, descending, and their vectors"},
                           [](const Tensor& a, const kernels::SvdOptions& o) -> SvdResult {
                             require_matrices(a, "svd", "a");
                             const Tensor u = apply(make_op<SvdOp>(o), {a});
                             return {u, result(u, 1), result(u, 2)};
                           }};
constexpr Function kSvdvals = {{.name = "svdvals",
                                .operands = {kMatrix},
                                .results = {{"s", "[..., min(m, n)]", kRealType}},
                                .formula = "a = u · diag(s) · vh",
                                .summary = "the singular values alone, descending"},
                               [](const Tensor& a) {
                                 require_matrices(a, "svdvals", "a");
                                 return apply(make_op<SvdvalsOp>(SvdvalsAttributes{}), {a});
                               }};

struct ToleranceAttributes {
  std::optional<double> rtol = {};
  void fields(AttributeVisitor& v) {
    v("rtol", rtol, {}, "which part of the largest singular value counts as 0; without it max(m, n) roundings");
  }
};
// Which singular values [..., k] of a count as more than 0.
Tensor counts(const Tensor& s, const Tensor& a, std::optional<double> rtol, std::string_view function) {
  if (!rtol) rtol = roundings(a);
  if (std::isnan(*rtol)) throw InvalidArgument("{}: rtol is NaN", function);
  return greater(s, extreme(s, true, {-1}, true) * *rtol);
}

// Of singular values the pseudo-inverse, and which of them count as more than 0.
struct PseudoInverted {
  Tensor inverse, values, positive;
};
PseudoInverted pseudo_inverted(const Tensor& a, std::optional<double> rtol, std::string_view function) {
  const auto [u, s, vh] = svd(a, false);
  const Tensor positive = counts(s, a, rtol, function);
  const Tensor inverse = select(positive, 1 / select(positive, s, 1), 0);
  const Tensor y = matmul(adjoint(vh) * expand_dims(cast(inverse, u.dtype()), -2), adjoint(u));
  return {pseudo_inverse(a, y), s, positive};
}

constexpr Function kPinv = {{.name = "pinv",
                             .operands = {kMatrix},
                             .results = {{"y", "[..., n, m]", kSameType}},
                             .formula = "y = v diag(1 / s) uᴴ, a = u diag(s) vᴴ",
                             .summary = "the pseudo-inverse"},
                            [](const Tensor& a, const ToleranceAttributes& o) {
                              require_matrices(a, "pinv", "a");
                              return pseudo_inverted(a, o.rtol, "pinv").inverse;
                            }};
constexpr Function kMatrixRank = {{.name = "matrix_rank",
                                   .operands = {kMatrix},
                                   .results = {{"y", kBatch, "i32"}},
                                   .formula = "y = #{s > rtol · max(s)}",
                                   .summary = "how many singular values are not 0"},
                                  [](const Tensor& a, const ToleranceAttributes& o) {
                                    require_matrices(a, "matrix_rank", "a");
                                    return count_nonzero(counts(svdvals(a), a, o.rtol, "matrix_rank"), {-1});
                                  }};

struct LstsqSvdAttributes {
  std::optional<double> rcond = {};
  void fields(AttributeVisitor& v) {
    v("rcond", rcond, {}, "which part of the largest singular value counts as 0; without it max(m, n) roundings");
  }
};
constexpr Function kLstsqSvd = {
    {.name = "lstsq_svd",
     .operands = {kMatrix, {.name = "b", .min_rank = 1, .shape = "[..., m, k], or [m]"}},
     .results = {{"solution", "[..., n, k], or [..., n] of a vector b", "the operands' common type"},
                 {"residuals", "[..., k], or [...]", "f32, f64 of f64"},
                 {"rank", kBatch, "i32"},
                 {"singular_values", "[..., min(m, n)]", "the common type, of c64 f32"}},
     .formula = "solution = argmin_x Σ |b - a x|², of several the one of the least Σ |x|²",
     .summary = "the shortest least-squares solution by singular values, of any rank"},
    [](const Tensor& a, const Tensor& b, const LstsqSvdAttributes& o) -> LstsqSvdResult {
      constexpr std::string_view kName = "lstsq_svd";
      const LeastSquares system = least_squares(kName, a, b);
      if (o.rcond && !(*o.rcond >= 0)) throw InvalidArgument("{}: rcond is {}; expected 0 or more", kName, *o.rcond);
      const auto [inverse, values, positive] = pseudo_inverted(system.matrix, o.rcond, kName);
      const auto [solution, residuals] = system.solved(matmul(inverse, system.sides));
      return {solution, residuals, cast(count_nonzero(positive, {-1}), DType::i32), values};
    }};

struct ConditionAttributes {
  MatrixNorm ord = MatrixNorm::two;
  void fields(AttributeVisitor& v) { v("ord", ord, MatrixNorm::two, kMatrixNorms, "of which norm"); }
};
constexpr Function kConditionNumber = {
    {.name = "condition_number",
     .operands = {kMatrix},
     .results = {{"y", kBatch, kRealType}},
     .formula = "y = max(s) / min(s); of other norms |a| · |a⁻¹|",
     .summary = "the condition of each matrix"},
    [](const Tensor& a, const ConditionAttributes& o) {
      require_matrices(a, "condition_number", "a");
      const bool of_two = o.ord == MatrixNorm::two || o.ord == MatrixNorm::minus_two;
      if (!of_two) require_square(a, "condition_number", "a");
      if (a.shape()[-2] == 0 || a.shape()[-1] == 0) {
        throw ShapeError("condition_number: a is {}; expected matrices that are not empty", to_string(a.type()));
      }
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (!is_spectral(o.ord) && o.ord != MatrixNorm::fro) {
        const auto [inverse, info] = inv_ex(a);
        return select(equal(info, 0), matrix_norm(a, o.ord) * matrix_norm(inverse, o.ord), kInfinity);
      }
      const Tensor s = svdvals(a), least = extreme(s, false, {-1}, false), greatest = extreme(s, true, {-1}, false);
      const auto over = [](const Tensor& x, const Tensor& by) { return select(equal(by, 0), kInfinity, x / by); };
      if (o.ord == MatrixNorm::two) return over(greatest, least);
      if (o.ord == MatrixNorm::minus_two) return over(least, greatest);
      return select(equal(least, 0), kInfinity, spectral_norm(s, o.ord) * spectral_norm(1 / s, o.ord));
    }};

}  // namespace

void add_decompositions_functions(FunctionRows& rows) {
  rows.add(kQr, kLstsq, kLstsqSvd);
  rows.add(kEigh, kEighEx, kEigvalsh);
  rows.add(kEig, kEigvals);
  rows.add(kSvd, kSvdvals, kPinv, kMatrixRank, kConditionNumber);
}

// ---- The functions

QrResult qr(const Operand& a, QrMode mode) { return kQr(a, {mode}); }
LstsqResult lstsq(const Operand& a, const Operand& b, std::optional<double> rcond) { return kLstsq(a, b, {rcond}); }
LstsqSvdResult lstsq_svd(const Operand& a, const Operand& b, std::optional<double> rcond) {
  return kLstsqSvd(a, b, {rcond});
}

EighResult eigh(const Operand& a, bool upper) { return kEigh(a, {upper}); }
EighExResult eigh_ex(const Operand& a, bool upper) { return kEighEx(a, {upper}); }
Tensor eigvalsh(const Operand& a, bool upper) { return kEigvalsh(a, {upper}); }

EigResult eig(const Operand& a) { return kEig(a); }
Tensor eigvals(const Operand& a) { return kEigvals(a); }

SvdResult svd(const Operand& a, bool full_matrices) { return kSvd(a, {full_matrices}); }
Tensor svdvals(const Operand& a) { return kSvdvals(a); }
Tensor pinv(const Operand& a, std::optional<double> rtol) { return kPinv(a, {rtol}); }
Tensor matrix_rank(const Operand& a, std::optional<double> rtol) { return kMatrixRank(a, {rtol}); }
Tensor condition_number(const Operand& a, MatrixNorm ord) { return kConditionNumber(a, {ord}); }

}  // namespace weft
