// Linear algebra made of other operations (weft/linalg.h).
#include "weft/linalg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/format.h"
#include "functions/matrices.h"
#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/linalg.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "ops/vector_norm.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {

void require_square(const Tensor& x, std::string_view function, std::string_view operand) {
  if (x.shape()[-1] == x.shape()[-2]) return;
  throw ShapeError("{}: {} is {}; expected square matrices, [..., n, n]", function, operand, to_string(x.type()));
}

void require_matrices(const Tensor& x, std::string_view function, std::string_view operand) {
  const DType type = x.dtype();
  if (type == DType::f32 || type == DType::f64 || type == DType::c64) return;
  throw TypeError("{}: {} is {}; expected f32, c64 or, on the cpu, f64: cast it", function, operand,
                  to_string(x.type()));
}

std::vector<Tensor> same_type(std::string_view function, std::span<const Tensor> operands) {
  const DType type = result_type_for(function, operands);
  if (type == DType::boolean || bits(type) < 8) {
    throw TypeError("{}: operands of type {}, expected numbers of 8 bits or more", function, name(type));
  }
  std::vector<Tensor> same;
  for (const Tensor& x : operands) same.push_back(cast(x, type));
  return same;
}
std::vector<Tensor> same_type(std::string_view function, const Tensor& a, const Tensor& b) {
  return same_type(function, std::array<Tensor, 2>{a, b});
}

bool is_spectral(MatrixNorm ord) {
  return ord == MatrixNorm::two || ord == MatrixNorm::minus_two || ord == MatrixNorm::nuc;
}

Tensor spectral_norm(const Tensor& s, MatrixNorm ord) {
  if (ord == MatrixNorm::nuc) return reduce(ReduceKind::sum, s, {-1}, false);
  if (ord == MatrixNorm::fro) return reduce(ReduceKind::l2, s, {-1}, false);
  return extreme(s, ord == MatrixNorm::two, {-1}, false);
}

namespace {

constexpr std::string_view kSameShape = "a's shape", kSameType = "a's type", kCommonType = "the common type";
constexpr std::string_view kInfoType = "i32", kBatch = "[...]";

Tensor product(const Tensor& a, const Tensor& b) { return cast(matmul(a, b), a.dtype()); }

// ---- Cholesky factors and triangular systems

constexpr Function kCholeskyEx = {{.name = "cholesky_ex",
                                   .operands = {kSquare},
                                   .results = {{"l", kSameShape, kSameType}, {"info", kBatch, kInfoType}},
                                   .formula = "a = l lᴴ; upper: a = lᴴ l",
                                   .summary = "the Cholesky factor, and whether it exists"},
                                  [](const Tensor& a, const kernels::CholeskyOptions& o) -> CholeskyResult {
                                    require_matrices(a, "cholesky_ex", "a");
                                    require_square(a, "cholesky_ex", "a");
                                    const Tensor l = apply(make_op<CholeskyOp>(o), {a});
                                    return {l, result(l, 1)};
                                  }};
constexpr Function kCholesky = {{.name = "cholesky",
                                 .operands = {kSquare},
                                 .results = {{"l", kSameShape, kSameType}},
                                 .formula = "a = l lᴴ; upper: a = lᴴ l",
                                 .summary = "the Cholesky factor of a positive definite matrix"},
                                [](const Tensor& a, const kernels::CholeskyOptions& o) {
                                  const auto [l, info] = cholesky_ex(a, o.upper);
                                  return checked(l, info, Failure::cholesky);
                                }};

constexpr Function kSolveTriangular = {{.name = "solve_triangular",
                                        .operands = {kSquare, kSides},
                                        .results = {{"x", kSolution, kCommonType}},
                                        .formula = "a x = b; adjoint: aᴴ x = b",
                                        .summary = "the solution of a triangular system"},
                                       [](const Tensor& a, const Tensor& b, const TriangularSolveOptions& o) {
                                         constexpr std::string_view kName = "solve_triangular";
                                         require_matrices(a, kName, "a");
                                         require_matrices(b, kName, "b");
                                         require_square(a, kName, "a");
                                         const std::vector<Tensor> same = same_type(kName, a, b);
                                         return with_columns(same[1], [&](const Tensor& columns) {
                                           return apply(make_op<TriangularSolveOp>(o), {same[0], columns});
                                         });
                                       }};

struct FactorAttributes {
  bool upper = false;
  void fields(AttributeVisitor& v) { v("upper", upper, false, "the factor is upper triangular: the matrix is lᴴ l"); }
};
constexpr FunctionOperand kFactor = {.name = "l", .min_rank = 2, .shape = "[..., n, n]"};

constexpr Function kCholeskySolve = {{.name = "cholesky_solve",
                                      .operands = {kSides, kFactor},
                                      .results = {{"x", kSolution, kCommonType}},
                                      .formula = "l lᴴ x = b; upper: lᴴ l x = b",
                                      .summary = "the solution of a system by its Cholesky factor"},
                                     [](const Tensor& b, const Tensor& l, const FactorAttributes& o) {
                                       require_matrices(b, "cholesky_solve", "b");
                                       require_matrices(l, "cholesky_solve", "l");
                                       return with_columns(b, [&](const Tensor& columns) {
                                         const Tensor y =
                                             solve_triangular(l, columns, {.upper = o.upper, .adjoint = o.upper});
                                         return solve_triangular(l, y, {.upper = o.upper, .adjoint = !o.upper});
                                       });
                                     }};
constexpr Function kCholeskyInverse = {{.name = "cholesky_inverse",
                                        .operands = {kFactor},
                                        .results = {{"y", "l's shape", "l's type"}},
                                        .formula = "y = (l lᴴ)⁻¹; upper: (lᴴ l)⁻¹",
                                        .summary = "the inverse by the Cholesky factor"},
                                       [](const Tensor& l, const FactorAttributes& o) {
                                         require_matrices(l, "cholesky_inverse", "l");
                                         require_square(l, "cholesky_inverse", "l");
                                         // a⁻¹ = l⁻ᴴ l⁻¹.
                                         const Tensor w = solve_triangular(l, identity(l.shape()[-1], l.dtype()),
                                                                           {.upper = o.upper, .adjoint = o.upper});
                                         return matmul(adjoint(w), w);
                                       }};

// ---- Norms

using norms::kNormType, norms::magnitudes, norms::norm_type, norms::numbers;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct MatrixNormAttributes {
  MatrixNorm ord = MatrixNorm::fro;
  bool keep_dims = false;
  void fields(AttributeVisitor& v) {
    v("ord", ord, MatrixNorm::fro, kMatrixNorms, "which norm");
    v("keep_dims", keep_dims, false, "leave the axes in the result, with size 1");
  }
};
constexpr Function kMatrixNorm = {
    {.name = "matrix_norm",
     .operands = {{.name = "x", .min_rank = 2, .shape = "[..., m, n]"}},
     .results = {{"y", "[...], or [..., 1, 1] (keep_dims)", kNormType}},
     .formula = "y = sqrt(Σ |x|²), the greatest or least Σ |x| of a row or column, or of singular values the greatest, "
                "least or sum",
     .summary = "the norm of each matrix"},
    [](const Tensor& x, const MatrixNormAttributes& a) {
      if (is_spectral(a.ord)) {
        const Tensor wide = is_inexact(x.dtype()) ? accumulated(x) : cast(x, DType::f32);
        const Tensor y = cast(spectral_norm(svdvals(wide), a.ord), norm_type(x.dtype()));
        return a.keep_dims ? expand_dims(expand_dims(y, -1), -1) : y;
      }
      const auto norm = [&] {
        if (a.ord == MatrixNorm::fro) return reduce(ReduceKind::l2, numbers(x), {-2, -1}, a.keep_dims);
        const Tensor size = magnitudes(x);
        const bool columns = a.ord == MatrixNorm::one || a.ord == MatrixNorm::minus_one;
        const bool greatest = a.ord == MatrixNorm::one || a.ord == MatrixNorm::inf;
        const Tensor sums = reduce(ReduceKind::sum, size, {columns ? -2 : -1}, true);
        const Tensor found = extreme(sums, greatest, {columns ? -1 : -2}, true);
        return a.keep_dims ? found : squeeze(squeeze(found, -1), -1);
      };
      return cast(norm(), norm_type(x.dtype()));
    }};

// ---- Products

constexpr Function kInner = {{.name = "inner",
                              .operands = {{"a"}, {"b"}},
                              .results = {{"y", "a's axes but the last, then b's", kCommonType}},
                              .formula = "y[i…, j…] = Σ_k a[i…, k] · b[j…, k]",
                              .summary = "the products of rows"},
                             [](const Tensor& a, const Tensor& b) {
                               const std::vector<Tensor> same = same_type("inner", a, b);
                               if (a.rank() == 0 || b.rank() == 0) return same[0] * same[1];
                               if (a.shape()[-1] != b.shape()[-1]) {
                                 throw ShapeError("inner: a is {} and b {}; the last axes have {} and {} elements",
                                                  to_string(a.type()), to_string(b.type()), a.shape()[-1],
                                                  b.shape()[-1]);
                               }
                               return tensordot(same[0], same[1], {-1}, {-1});
                             }};

constexpr Function kCross = {
    {.name = "cross",
     .operands = {{"a"}, {"b"}},
     .results = {{"y", "the operands' common shape", kCommonType}},
     .formula = "y = [a₁ b₂ - a₂ b₁, a₂ b₀ - a₀ b₂, a₀ b₁ - a₁ b₀]",
     .summary = "the cross product along an axis"},
    [](const Tensor& a, const Tensor& b, const AxisAttributes& o) {
      const std::vector<Tensor> same = same_type("cross", a, b);
      // The axis is counted in both from the end, before they broadcast.
      const int least = std::min(a.rank(), b.rank());
      int axis = o.axis;
      if (axis < -least || axis >= least || (axis >= 0 && a.rank() != b.rank())) {
        throw ShapeError("cross: axis {} of {} and {}; expected one from {} to -1", axis, to_string(a.type()),
                         to_string(b.type()), -least);
      }
      if (axis >= 0) axis -= least;
      if (a.shape()[axis] != 3 || b.shape()[axis] != 3) {
        throw ShapeError("cross: axis {} of {} and {}; expected 3 elements", axis, to_string(a.type()),
                         to_string(b.type()));
      }
      const auto part = [&](const Tensor& x, int i) { return slice(x, x.rank() + axis, i, i + 1); };
      std::vector<Tensor> parts;
      for (int i = 0; i < 3; ++i) {
        const int next = (i + 1) % 3, last = (i + 2) % 3;
        parts.push_back(part(same[0], next) * part(same[1], last) - part(same[0], last) * part(same[1], next));
      }
      return concat(parts, axis);
    }};

constexpr Function kKron = {{.name = "kron",
                             .operands = {{.name = "a"}, {.name = "b"}},
                             .results = {{"y", "the products of the sizes", kCommonType}},
                             .formula = "y[i · m + k, j · n + l] = a[i, j] · b[k, l]",
                             .summary = "the Kronecker product"},
                            [](const Tensor& a, const Tensor& b) {
                              const std::vector<Tensor> same = same_type("kron", a, b);
                              const int rank = std::max(a.rank(), b.rank());
                              if (2 * rank > kMaxRank) {
                                throw ShapeError("kron: {} and {}; at most {} axes are possible", to_string(a.type()),
                                                 to_string(b.type()), kMaxRank / 2);
                              }
                              // Axis i of both as the axes 2 i and 2 i + 1.
                              Shape of_a = Shape::filled(2 * rank, 1), of_b = of_a, sizes = Shape::filled(rank, 1);
                              for (int i = 1; i <= a.rank(); ++i) of_a[2 * (rank - i)] = a.shape()[-i];
                              for (int i = 1; i <= b.rank(); ++i) of_b[2 * (rank - i) + 1] = b.shape()[-i];
                              const Tensor y = reshape(same[0], of_a) * reshape(same[1], of_b);
                              for (int i = 0; i < rank; ++i) sizes[i] = of_a[2 * i] * of_b[2 * i + 1];
                              return reshape(y, sizes);
                            }};

struct PowerAttributes {
  std::int64_t n = 0;
  void fields(AttributeVisitor& v) { v("n", n, "how many copies; of a negative number copies of the inverse"); }
};
constexpr Function kMatrixPower = {{.name = "matrix_power",
                                    .operands = {{.name = "x", .min_rank = 2, .shape = "[..., m, m]"}},
                                    .results = {{"y", "x's shape", "x's type"}},
                                    .formula = "y = x · x · … · x",
                                    .summary = "the product of n copies of each matrix"},
                                   [](const Tensor& x, const PowerAttributes& a) -> Tensor {
                                     const std::int64_t n = a.n;
                                     require_square(x, "matrix_power", "x");
                                     Tensor power = same_type("matrix_power", std::array<Tensor, 1>{x})[0], y;
                                     if (n == 0) return broadcast_to(identity(x.shape()[-1], x.dtype()), x.shape());
                                     if (n < 0) {
                                       require_matrices(x, "matrix_power", "x");
                                       power = inv(power);
                                     }
                                     auto times =
                                         n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
                                     for (;; power = product(power, power)) {
                                       if (times % 2) y = y.defined() ? product(y, power) : power;
                                       if ((times /= 2) == 0) return y;
                                     }
                                   }};

// The matrix exponential. Matrices are divided by a power of two each, until the polynomial of Taylor's series of that
// degree has a relative backward error of less than a rounding, and its value is squared as often. `largest`: what the
// size of a matrix is at most for that, with 2^-24 and 2^-53; it is by the norms of powers, which are less than that of
// the matrix where it is close to nilpotent. Sources: Higham, "The scaling and squaring method for the matrix
// exponential revisited", 2005; Al-Mohy and Higham, "A new scaling and squaring algorithm for the matrix exponential",
// 2009; Paterson and Stockmeyer, "On the number of nonscalar multiplications necessary to evaluate polynomials", 1973.
struct ExpmForm {
  int degree;  // a multiple of 4
  double largest;
  int squarings;  // at most, and as many as are computed
  int exponent;   // of matrices whose fourth power does not overflow
};
constexpr ExpmForm kExpm32 = {12, 1.4616, 16, 30}, kExpm64 = {16, 0.78028, 24, 250};

// x · 2^n for integers n; in two steps, of which each is a number also where 2^n is none.
Tensor scaled(const Tensor& x, const Tensor& n) {
  const Tensor half = floor(n / 2);
  return x * cast(exp2(half), x.dtype()) * cast(exp2(n - half), x.dtype());
}

Tensor exponential_of(const Tensor& x, const ExpmForm& form) {
  const std::int64_t n = x.shape()[-1];
  const Tensor one = identity(n, x.dtype());
  const auto norm = [](const Tensor& y) {
    return matrix_norm(identity(y, IdentityKind::stop_gradient), MatrixNorm::one, true);
  };
  const auto times = [](const Tensor& y, double c) { return y * Graph::scalar(c, y.dtype()); };
  // ‖x‖, as a power of two that is no less. It divides x where powers of x would overflow.
  const Tensor size = norm(x);
  const Tensor most = select(size > 0, ceil(log2(size)), 0);
  const Tensor ahead = maximum(most - form.exponent, 0);
  const Tensor a = scaled(x, -ahead);
  const Tensor a2 = product(a, a), a3 = product(a2, a), a4 = product(a2, a2);
  // Logarithms of the norms of powers' roots. Those of neighbours bound those of all powers above.
  const auto root = [&](const Tensor& y, double p) { return log2(norm(y)) / p + ahead; };
  const Tensor second = root(a2, 2), third = root(a3, 3), fourth = root(a4, 4);
  const Tensor least = minimum(log2(size), minimum(maximum(second, third), maximum(third, fourth)));
  const Tensor wanted = ceil(least - std::log2(form.largest));
  const Tensor count = clamp(wanted, 0, form.squarings);
  const Tensor shift = ahead - count;
  const Tensor b = scaled(a, shift), b2 = scaled(a2, shift * 2), b3 = scaled(a3, shift * 3), b4 = scaled(a4, shift * 4);
  double inverse[17] = {1};  // of factorials
  for (int k = 1; k <= form.degree; ++k) inverse[k] = inverse[k - 1] / k;
  Tensor y = times(b4, inverse[form.degree]);
  for (int k = form.degree - 4; k >= 0; k -= 4) {
    const Tensor part =
        times(one, inverse[k]) + times(b, inverse[k + 1]) + times(b2, inverse[k + 2]) + times(b3, inverse[k + 3]);
    y = k > 0 ? product(part + y, b4) : part + y;
  }
  // All matrices are squared as often, the last ones of it count: before that they are small.
  for (int k = form.squarings; k > 0; --k) y = where(count >= k, product(y, y), y);
  const Tensor exists = logical_and(is_finite(size), wanted <= form.squarings);
  // (A number becomes a complex one without an imaginary part.)
  const bool of_complex = x.dtype() == DType::c64;
  const Tensor nan = Graph::scalar(std::numeric_limits<double>::quiet_NaN(), of_complex ? DType::f32 : x.dtype());
  return where(exists, y, of_complex ? complex(nan, nan) : nan);
}

constexpr Function kExpm = {{.name = "expm",
                             .operands = {kSquare},
                             .results = {{"y", kSameShape, kSameType}},
                             .formula = "y = Σ_k a^k / k!",
                             .summary = "the exponential of a matrix"},
                            [](const Tensor& a) {
                              require_matrices(a, "expm", "a");
                              require_square(a, "expm", "a");
                              if (a.shape()[-1] <= 1 || a.size() == 0) return exp(a);
                              return exponential_of(a, a.dtype() == DType::f64 ? kExpm64 : kExpm32);
                            }};

// The product of matrices first to last; `split` says where each one is divided.
Tensor product_of(const std::vector<Tensor>& matrices, const std::vector<std::vector<std::size_t>>& split,
                  std::size_t first, std::size_t last) {
  if (first == last) return matrices[first];
  const std::size_t middle = split[first][last];
  return product(product_of(matrices, split, first, middle), product_of(matrices, split, middle + 1, last));
}

constexpr Function kMultiDot = {
    {.name = "multi_dot",
     .operands = {{.name = "operands", .arity = Arity::repeated, .shape = "matrices; the first and the last also [n]"}},
     .results = {{"y", "[m, n], without the axis of a row and of a column", kCommonType}},
     .formula = "y = a · b · … · z",
     .summary = "the product of several matrices in the cheapest order"},
    [](std::span<const Tensor> matrices) {
      constexpr std::string_view kName = "multi_dot";
      const std::size_t count = matrices.size();
      if (count < 2) throw InvalidArgument("{}: {} matrices, expected 2 or more", kName, count);
      std::vector<Tensor> same = same_type(kName, matrices);
      const bool row = same[0].rank() == 1, column = same[count - 1].rank() == 1;
      if (row) same[0] = expand_dims(same[0], 0);
      if (column) same[count - 1] = expand_dims(same[count - 1], 1);
      std::vector<double> sizes;
      for (std::size_t i = 0; i < count; ++i) {
        if (same[i].rank() != 2) {
          throw ShapeError("{}: operand {} is {}, expected a matrix", kName, i, to_string(matrices[i].type()));
        }
        if (i > 0 && same[i - 1].shape()[1] != same[i].shape()[0]) {
          throw ShapeError("{}: operand {} is {} and operand {} {}; inner sizes {} and {} differ", kName, i - 1,
                           to_string(matrices[i - 1].type()), i, to_string(matrices[i].type()), same[i - 1].shape()[1],
                           same[i].shape()[0]);
        }
        sizes.push_back(static_cast<double>(same[i].shape()[0]));
      }
      sizes.push_back(static_cast<double>(same[count - 1].shape()[1]));
      // cost[i][j]: the fewest multiplications for the product of matrices i to j.
      std::vector cost(count, std::vector(count, 0.0));
      std::vector split(count, std::vector(count, std::size_t{0}));
      for (std::size_t length = 1; length < count; ++length) {
        for (std::size_t i = 0; i + length < count; ++i) {
          const std::size_t j = i + length;
          cost[i][j] = kInfinity;
          for (std::size_t k = i; k < j; ++k) {
            const double own = cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
            if (own < cost[i][j]) cost[i][j] = own, split[i][j] = k;
          }
        }
      }
      Tensor y = product_of(same, split, 0, count - 1);
      if (column) y = squeeze(y, 1);
      return row ? squeeze(y, 0) : y;
    }};

// ---- Parts and forms

constexpr Function kMatrixTranspose = {{.name = "matrix_transpose",
                                        .operands = {{"x"}},
                                        .results = {{"y", "[..., n, m]", "x's type"}},
                                        .formula = "y[…, i, j] = x[…, j, i]",
                                        .summary = "each matrix with its axes exchanged"},
                                       [](const Tensor& x) { return x.T(); }};

struct TraceAttributes {
  std::int64_t offset = 0;
  std::optional<DType> dtype = {};
  void fields(AttributeVisitor& v) {
    v("offset", offset, 0, "how many above the main diagonal it is; negative: below");
    v("dtype", dtype, {}, "what x is converted to first");
  }
};
constexpr Function kTrace = {
    {.name = "trace",
     .operands = {{.name = "x", .min_rank = 2, .shape = "[..., m, n]"}},
     .results = {{"y", "x's shape without the last two axes", "as of sum()"}},
     .formula = "y = Σ_i x[…, i, i + offset]",
     .summary = "the sum of a diagonal"},
    [](const Tensor& x, const TraceAttributes& a) { return sum(diagonal(x, a.offset), {-1}, false, a.dtype); }};

struct OffsetAttributes {
  std::int64_t offset = 0;
  void fields(AttributeVisitor& v) {
    v("offset", offset, 0, "how many above the main diagonal it is; negative: below");
  }
};
constexpr Function kDiag = {{.name = "diag",
                             .operands = {{.name = "x", .min_rank = 1, .max_rank = 2, .shape = "[n], or a matrix"}},
                             .results = {{"y", "[n, n], of a matrix [n]", "x's type"}},
                             .formula = "y[i, i + offset] = x[i], else 0",
                             .summary = "a matrix of its diagonal, or the diagonal of a matrix"},
                            [](const Tensor& x, const OffsetAttributes& a) {
                              const std::int64_t offset = a.offset;
                              if (x.rank() == 2) return diagonal(x, offset);
                              constexpr std::int64_t kLargest = std::int64_t{1} << 40;
                              if (offset > kLargest || offset < -kLargest)
                                throw InvalidArgument("diag: offset is {}, more than 2^40 from 0", offset);
                              const std::int64_t above = std::max<std::int64_t>(offset, 0),
                                                 below = std::max<std::int64_t>(-offset, 0);
                              const std::int64_t n = x.shape()[0] + above + below;
                              // Element i is in row i of an upper diagonal, and in column i of a lower one.
                              const Tensor behind = pad(x, std::array{std::int64_t{0}}, std::array{above + below});
                              const Tensor along = offset >= 0 ? expand_dims(behind, 1) : expand_dims(behind, 0);
                              return select(eye(n, n, DType::boolean, offset), along, Graph::scalar(0, x.dtype()));
                            }};

struct VanderAttributes {
  std::optional<std::int64_t> columns = {};
  bool increasing = false;
  void fields(AttributeVisitor& v) {
    v("columns", columns, {}, "how many powers; without it as many as x has elements along its last axis");
    v("increasing", increasing, false, "from 1 up, instead of down to it");
  }
};
constexpr Function kVander = {{.name = "vander",
                               .operands = {{.name = "x", .min_rank = 1, .shape = "[..., n]"}},
                               .results = {{"y", "x's shape and columns behind", "as of prod()"}},
                               .formula = "y[…, i, j] = x[…, i]^(columns - 1 - j); increasing: x[…, i]^j",
                               .summary = "the powers of each element"},
                              [](const Tensor& x, const VanderAttributes& a) {
                                Shape shape = x.shape();
                                shape.push_back(a.columns.value_or(shape[-1]));
                                if (shape[-1] < 0)
                                  throw InvalidArgument("vander: {} columns, expected 0 or more", shape[-1]);
                                const bool none = shape[-1] == 0;
                                if (!none) --shape[-1];
                                const Tensor powers =
                                    cumulative_prod(broadcast_to(expand_dims(x, -1), shape), -1, {}, !none);
                                return a.increasing ? powers : flip(powers, {-1});
                              }};

}  // namespace

void add_linalg_functions(FunctionRows& rows) {
  rows.add(kCholesky, kCholeskyEx, kSolveTriangular, kCholeskySolve, kCholeskyInverse);
  rows.add(kMatrixNorm);
  rows.add(kInner, kCross, kKron, kMatrixPower, kExpm, kMultiDot);
  rows.add(kMatrixTranspose, kTrace, kDiag, kVander);
}

// ---- The functions

Tensor cholesky(const Operand& a, bool upper) { return kCholesky(a, {upper}); }
CholeskyResult cholesky_ex(const Operand& a, bool upper) { return kCholeskyEx(a, {upper}); }
Tensor solve_triangular(const Operand& a, const Operand& b, const TriangularSolveOptions& options) {
  return kSolveTriangular(a, b, options);
}
Tensor cholesky_solve(const Operand& b, const Operand& l, bool upper) { return kCholeskySolve(b, l, {upper}); }
Tensor cholesky_inverse(const Operand& l, bool upper) { return kCholeskyInverse(l, {upper}); }

Tensor matrix_norm(const Operand& x, MatrixNorm ord, bool keep_dims) { return kMatrixNorm(x, {ord, keep_dims}); }

Tensor inner(const Operand& a, const Operand& b) { return kInner(a, b); }
Tensor cross(const Operand& a, const Operand& b, int axis) { return kCross(a, b, {axis}); }
Tensor kron(const Operand& a, const Operand& b) { return kKron(a, b); }
Tensor matrix_power(const Operand& x, std::int64_t n) { return kMatrixPower(x, {n}); }
Tensor expm(const Operand& a) { return kExpm(a); }
Tensor multi_dot(std::span<const Tensor> matrices) { return kMultiDot(matrices); }
Tensor multi_dot(std::initializer_list<Tensor> matrices) {
  return kMultiDot(std::span(matrices.begin(), matrices.size()));
}

Tensor matrix_transpose(const Operand& x) { return kMatrixTranspose(x); }
Tensor trace(const Operand& x, std::int64_t offset, std::optional<DType> dtype) { return kTrace(x, {offset, dtype}); }
Tensor diag(const Operand& x, std::int64_t offset) { return kDiag(x, {offset}); }
Tensor vander(const Operand& x, std::optional<std::int64_t> columns, bool increasing) {
  return kVander(x, {columns, increasing});
}

}  // namespace weft
