// Linear algebra made of other operations (weft/linalg.h).
#include "weft/linalg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/axes.h"
#include "graph/graph.h"
#include "graph/matrices.h"
#include "graph/ops/identity.h"
#include "graph/ops/linalg.h"
#include "graph/promotion.h"
#include "graph/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {

void require(const Tensor& x, std::string_view function, std::string_view operand) {
  if (!x.defined()) throw InvalidArgument("{}: {} is an undefined Tensor", function, operand);
}

void require_rank(const Tensor& x, int least, std::string_view function, std::string_view operand) {
  require(x, function, operand);
  if (x.rank() >= least) return;
  throw ShapeError("{}: {} is {}, expected rank {} or more", function, operand, to_string(x.type()), least);
}

void require_square(const Tensor& x, std::string_view function, std::string_view operand) {
  require_rank(x, 2, function, operand);
  if (x.shape()[-1] == x.shape()[-2]) return;
  throw ShapeError("{}: {} is {}; expected square matrices, [..., n, n]", function, operand, to_string(x.type()));
}

void require_matrices(const Tensor& x, std::string_view function, std::string_view operand) {
  require(x, function, operand);
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
  require(a, function, "a");
  require(b, function, "b");
  return same_type(function, std::array<Tensor, 2>{a, b});
}

namespace {

Tensor product(const Tensor& a, const Tensor& b) { return cast(matmul(a, b), a.dtype()); }

}  // namespace

// ---- Cholesky factors and triangular systems

CholeskyResult cholesky_ex(const Operand& a, bool upper) try {
  require_matrices(a, "cholesky_ex", "a");
  require_square(a, "cholesky_ex", "a");
  const Tensor l = apply(make_op<CholeskyOp>(kernels::CholeskyOptions{upper}), {a});
  return {l, result(l, 1)};
} catch (const Error& e) {
  throw_in_function(e, "cholesky_ex");
}

Tensor cholesky(const Operand& a, bool upper) {
  return in_function("cholesky", [&] {
    const auto [l, info] = cholesky_ex(a, upper);
    return checked(l, info, Failure::cholesky);
  });
}

Tensor solve_triangular(const Operand& a, const Operand& b, const TriangularSolveOptions& options) try {
  constexpr std::string_view kName = "solve_triangular";
  require_matrices(a, kName, "a");
  require_matrices(b, kName, "b");
  require_square(a, kName, "a");
  require_rank(b, 1, kName, "b");
  const std::vector<Tensor> same = same_type(kName, a, b);
  return with_columns(
      same[1], [&](const Tensor& columns) { return apply(make_op<TriangularSolveOp>(options), {same[0], columns}); });
} catch (const Error& e) {
  throw_in_function(e, "solve_triangular");
}

Tensor cholesky_solve(const Operand& b, const Operand& l, bool upper) try {
  require_matrices(b, "cholesky_solve", "b");
  require_matrices(l, "cholesky_solve", "l");
  return with_columns(b, [&](const Tensor& columns) {
    const Tensor y = solve_triangular(l, columns, {.upper = upper, .adjoint = upper});
    return solve_triangular(l, y, {.upper = upper, .adjoint = !upper});
  });
} catch (const Error& e) {
  throw_in_function(e, "cholesky_solve");
}

Tensor cholesky_inverse(const Operand& l, bool upper) try {
  require_matrices(l, "cholesky_inverse", "l");
  require_square(l, "cholesky_inverse", "l");
  // a⁻¹ = l⁻ᴴ l⁻¹.
  const Tensor w = solve_triangular(l, identity(l.shape()[-1], l.dtype()), {.upper = upper, .adjoint = upper});
  return matmul(adjoint(w), w);
} catch (const Error& e) {
  throw_in_function(e, "cholesky_inverse");
}

// ---- Norms

Tensor extreme(const Tensor& size, bool greatest, const Axes& axes, bool keep_dims) {
  const Tensor found = reduce(greatest ? ReduceKind::max : ReduceKind::min, size, axes, keep_dims);
  return greatest && size.size() == 0 ? maximum(found, 0) : found;
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// x, or |x| of complex numbers, in the type in which norms are computed.
Tensor numbers(const Tensor& x) {
  if (x.dtype() == DType::c64) return abs(x);
  return accumulated(is_floating(x.dtype()) ? x : cast(x, DType::f32));
}
Tensor magnitudes(const Tensor& x) { return x.dtype() == DType::c64 ? numbers(x) : abs(numbers(x)); }

DType norm_type(DType type) { return is_floating(type) ? type : DType::f32; }

// (Σ size^ord)^(1/ord), with derivatives of 0 for magnitudes of 0 and a norm of 0. The magnitudes are divided by the
// one that decides, so that powers are in range; this is constant for derivatives.
Tensor power_norm(const Tensor& size, double ord, const Axes& axes, bool keep_dims) {
  const auto power = [](const Tensor& x, double exponent) {
    const Tensor zero = equal(x, 0);
    return select(zero, exponent > 0 ? 0.0F : std::numeric_limits<float>::infinity(),
                  pow(select(zero, 1, x), exponent));
  };
  const auto greatest = [&](bool keep) {
    const Tensor found = extreme(identity(size, IdentityKind::stop_gradient), ord > 0, axes, keep);
    return select(logical_and(is_finite(found), found > 0), found, 1);
  };
  const Tensor sum = reduce(ReduceKind::sum, power(size / greatest(true), ord), axes, keep_dims);
  const Tensor scale = greatest(keep_dims);
  if (std::abs(ord) >= 1) return scale * power(sum, 1 / ord);
  // A large power of the sum, of which half may be in range.
  const Tensor root = power(sum, 0.5 / ord);
  return scale * root * root;
}

}  // namespace

Tensor vector_norm(const Operand& x, double ord, const Axes& axes, bool keep_dims) try {
  require(x, "vector_norm", "x");
  if (std::isnan(ord)) throw InvalidArgument("vector_norm: ord is NaN");
  const auto norm = [&] {
    if (ord == 2) return reduce(ReduceKind::l2, numbers(x), axes, keep_dims);
    const Tensor size = magnitudes(x);
    if (std::isinf(ord)) return extreme(size, ord > 0, axes, keep_dims);
    if (ord == 0) return reduce(ReduceKind::count, size, axes, keep_dims);
    if (ord == 1) return reduce(ReduceKind::sum, size, axes, keep_dims);
    return power_norm(size, ord, axes, keep_dims);
  };
  return cast(norm(), norm_type(x.dtype()));
} catch (const Error& e) {
  throw_in_function(e, "vector_norm");
}

bool is_spectral(MatrixNorm ord) {
  return ord == MatrixNorm::two || ord == MatrixNorm::minus_two || ord == MatrixNorm::nuc;
}

Tensor spectral_norm(const Tensor& s, MatrixNorm ord) {
  if (ord == MatrixNorm::nuc) return reduce(ReduceKind::sum, s, {-1}, false);
  if (ord == MatrixNorm::fro) return reduce(ReduceKind::l2, s, {-1}, false);
  return extreme(s, ord == MatrixNorm::two, {-1}, false);
}

Tensor matrix_norm(const Operand& x, MatrixNorm ord, bool keep_dims) try {
  require_rank(x, 2, "matrix_norm", "x");
  if (is_spectral(ord)) {
    const Tensor wide = is_inexact(x.dtype()) ? accumulated(x) : cast(x, DType::f32);
    const Tensor y = cast(spectral_norm(svdvals(wide), ord), norm_type(x.dtype()));
    return keep_dims ? expand_dims(expand_dims(y, -1), -1) : y;
  }
  const auto norm = [&] {
    if (ord == MatrixNorm::fro) return reduce(ReduceKind::l2, numbers(x), {-2, -1}, keep_dims);
    const Tensor size = magnitudes(x);
    const bool columns = ord == MatrixNorm::one || ord == MatrixNorm::minus_one;
    const bool greatest = ord == MatrixNorm::one || ord == MatrixNorm::inf;
    const Tensor sums = reduce(ReduceKind::sum, size, {columns ? -2 : -1}, true);
    const Tensor found = extreme(sums, greatest, {columns ? -1 : -2}, true);
    return keep_dims ? found : squeeze(squeeze(found, -1), -1);
  };
  return cast(norm(), norm_type(x.dtype()));
} catch (const Error& e) {
  throw_in_function(e, "matrix_norm");
}

// ---- Products

Tensor inner(const Operand& a, const Operand& b) try {
  const std::vector<Tensor> same = same_type("inner", a, b);
  if (a.rank() == 0 || b.rank() == 0) return same[0] * same[1];
  if (a.shape()[-1] != b.shape()[-1]) {
    throw ShapeError("inner: a is {} and b {}; the last axes have {} and {} elements", to_string(a.type()),
                     to_string(b.type()), a.shape()[-1], b.shape()[-1]);
  }
  return tensordot(same[0], same[1], {-1}, {-1});
} catch (const Error& e) {
  throw_in_function(e, "inner");
}

Tensor cross(const Operand& a, const Operand& b, int axis) try {
  const std::vector<Tensor> same = same_type("cross", a, b);
  // The axis is counted in both from the end, before they broadcast.
  const int least = std::min(a.rank(), b.rank());
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
} catch (const Error& e) {
  throw_in_function(e, "cross");
}

Tensor kron(const Operand& a, const Operand& b) try {
  const std::vector<Tensor> same = same_type("kron", a, b);
  const int rank = std::max(a.rank(), b.rank());
  if (2 * rank > kMaxRank) {
    throw ShapeError("kron: {} and {}; at most {} axes are possible", to_string(a.type()), to_string(b.type()),
                     kMaxRank / 2);
  }
  // Axis i of both as the axes 2 i and 2 i + 1.
  Shape of_a = Shape::filled(2 * rank, 1), of_b = of_a, sizes = Shape::filled(rank, 1);
  for (int i = 1; i <= a.rank(); ++i) of_a[2 * (rank - i)] = a.shape()[-i];
  for (int i = 1; i <= b.rank(); ++i) of_b[2 * (rank - i) + 1] = b.shape()[-i];
  const Tensor y = reshape(same[0], of_a) * reshape(same[1], of_b);
  for (int i = 0; i < rank; ++i) sizes[i] = of_a[2 * i] * of_b[2 * i + 1];
  return reshape(y, sizes);
} catch (const Error& e) {
  throw_in_function(e, "kron");
}

Tensor matrix_power(const Operand& x, std::int64_t n) try {
  require_square(x, "matrix_power", "x");
  Tensor power = same_type("matrix_power", std::array<Tensor, 1>{x})[0], y;
  if (n == 0) return broadcast_to(identity(x.shape()[-1], x.dtype()), x.shape());
  if (n < 0) power = inv(power);
  auto times = n < 0 ? -static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  for (;; power = product(power, power)) {
    if (times % 2) y = y.defined() ? product(y, power) : power;
    if ((times /= 2) == 0) return y;
  }
} catch (const Error& e) {
  throw_in_function(e, "matrix_power");
}

namespace {

// The product of matrices first to last; `split` says where each one is divided.
Tensor product_of(const std::vector<Tensor>& matrices, const std::vector<std::vector<std::size_t>>& split,
                  std::size_t first, std::size_t last) {
  if (first == last) return matrices[first];
  const std::size_t middle = split[first][last];
  return product(product_of(matrices, split, first, middle), product_of(matrices, split, middle + 1, last));
}

}  // namespace

Tensor multi_dot(std::span<const Tensor> matrices) try {
  constexpr std::string_view kName = "multi_dot";
  const std::size_t count = matrices.size();
  if (count < 2) throw InvalidArgument("{}: {} matrices, expected 2 or more", kName, count);
  for (const Tensor& x : matrices) require(x, kName, "an operand");
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
} catch (const Error& e) {
  throw_in_function(e, "multi_dot");
}

Tensor multi_dot(std::initializer_list<Tensor> matrices) {
  return multi_dot(std::span(matrices.begin(), matrices.size()));
}

// ---- Parts and forms

Tensor matrix_transpose(const Operand& x) try {
  require(x, "matrix_transpose", "x");
  return x.T();
} catch (const Error& e) {
  throw_in_function(e, "matrix_transpose");
}

Tensor trace(const Operand& x, std::int64_t offset, std::optional<DType> dtype) try {
  require_rank(x, 2, "trace", "x");
  return sum(diagonal(x, offset), {-1}, false, dtype);
} catch (const Error& e) {
  throw_in_function(e, "trace");
}

Tensor diag(const Operand& x, std::int64_t offset) try {
  require(x, "diag", "x");
  if (x.rank() == 2) return diagonal(x, offset);
  if (x.rank() != 1) throw ShapeError("diag: x is {}, expected rank 1 or 2", to_string(x.type()));
  constexpr std::int64_t kLargest = std::int64_t{1} << 40;
  if (offset > kLargest || offset < -kLargest)
    throw InvalidArgument("diag: offset is {}, more than 2^40 from 0", offset);
  const std::int64_t above = std::max<std::int64_t>(offset, 0), below = std::max<std::int64_t>(-offset, 0);
  const std::int64_t n = x.shape()[0] + above + below;
  // Element i is in row i of an upper diagonal, and in column i of a lower one.
  const Tensor behind = pad(x, std::array{std::int64_t{0}}, std::array{above + below});
  const Tensor along = offset >= 0 ? expand_dims(behind, 1) : expand_dims(behind, 0);
  return select(eye(n, n, DType::boolean, offset), along, Graph::scalar(0, x.dtype()));
} catch (const Error& e) {
  throw_in_function(e, "diag");
}

Tensor vander(const Operand& x, std::optional<std::int64_t> columns, bool increasing) try {
  require_rank(x, 1, "vander", "x");
  Shape shape = x.shape();
  shape.push_back(columns.value_or(shape[-1]));
  if (shape[-1] < 0) throw InvalidArgument("vander: {} columns, expected 0 or more", shape[-1]);
  const bool none = shape[-1] == 0;
  if (!none) --shape[-1];
  const Tensor powers = cumulative_prod(broadcast_to(expand_dims(x, -1), shape), -1, {}, !none);
  return increasing ? powers : flip(powers, {-1});
} catch (const Error& e) {
  throw_in_function(e, "vander");
}

}  // namespace weft
