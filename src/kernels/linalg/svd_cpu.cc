#include "kernels/linalg/svd_cpu.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/linalg/cpu/lapack_forms.h"
#include "kernels/linalg/cpu/stored_matrix.h"
#include "kernels/linalg/linalg_matrices_cpu.h"

namespace weft::kernels {
namespace {

using Complex = std::complex<double>;

inline double square_of(double v) { return v * v; }
inline double square_of(Complex v) { return v.real() * v.real() + v.imag() * v.imag(); }
inline double largest_part(double v) { return std::abs(v); }
inline double largest_part(Complex v) { return std::max(std::abs(v.real()), std::abs(v.imag())); }

// Sweeps after which columns count as not converging; they take about ten.
constexpr int kSweeps = 60;

// Columns whose squared norm is less than this are taken for 0: matrices are scaled to elements of about 1. What
// rounding leaves of a column that depends on others gets there in two sweeps, and never would be orthogonal.
constexpr double kNothing = 1e-60;

// Columns of one length, each contiguous.
template <class W>
struct Columns {
  std::int64_t rows;
  std::vector<W> values;

  Columns(std::int64_t rows, std::int64_t columns) : rows(rows), values(static_cast<std::size_t>(rows * columns)) {}
  W* operator[](std::int64_t j) { return values.data() + j * rows; }
};

// What singular values are made of: left · diag(values) · rightᴴ.
template <class W>
struct Decomposition {
  Columns<W> left, right;  // m by n, or by m for all; n by n
  std::vector<double> values;
  bool converged = true;
};

// Makes columns g and h, of `rows` and, of those of the rotations, `below` elements, orthogonal, and the longer one the
// first. True if they were so far from it that other pairs have to be looked at once more.
template <class W>
bool rotate(W* g, W* h, std::int64_t rows, W* g_below, W* h_below, std::int64_t below, double tolerance) {
  double a = 0, b = 0;
  W c{};
  for (std::int64_t i = 0; i < rows; ++i) {
    a += square_of(g[i]);
    b += square_of(h[i]);
    c += product(conjugate(g[i]), h[i]);
  }
  const double size = std::abs(c);
  const bool rotates = size > tolerance * std::sqrt(a) * std::sqrt(b) && std::min(a, b) >= kNothing;
  if (!rotates && !(a < b)) return false;
  // A rotation in the form of svd_common.wgsl.
  W z{};
  double lack = 0;
  if (rotates) {
    const double zeta = (b - a) / (2 * size);
    const double t = std::copysign(1.0, zeta) / (std::abs(zeta) + std::hypot(1.0, zeta));
    const double cosine = 1 / std::sqrt(1 + t * t), sine = t * cosine;
    z = conjugate(c) * (sine / size);
    lack = sine * sine / (1 + cosine);
  }
  const bool swaps = a < b;
  const auto turn = [&](W* first, W* second, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const W u = first[i], v = second[i];
      const W new_u = u - (lack * u + product(z, v)), new_v = v - (lack * v - product(conjugate(z), u));
      first[i] = swaps ? new_v : new_u;
      second[i] = swaps ? new_u : new_v;
    }
  };
  turn(g, h, rows);
  turn(g_below, h_below, below);
  return rotates && size > 4 * tolerance * std::sqrt(a) * std::sqrt(b);
}

// Columns from `have` on, each the unit vector that is farthest from those in front of it, less its projection on
// these.
template <class W>
void complete(Columns<W>& x, std::int64_t have, std::int64_t want) {
  if (have >= want) return;
  std::vector<double> rest(static_cast<std::size_t>(x.rows), 1.0);
  const auto take = [&](std::int64_t j) {
    for (std::int64_t i = 0; i < x.rows; ++i) rest[static_cast<std::size_t>(i)] -= square_of(x[j][i]);
  };
  for (std::int64_t j = 0; j < have; ++j) take(j);
  for (std::int64_t j = have; j < want; ++j) {
    W* own = x[j];
    std::fill_n(own, x.rows, W{});
    own[std::max_element(rest.begin(), rest.end()) - rest.begin()] = 1;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t k = 0; k < j; ++k) {
        W sum{};
        for (std::int64_t i = 0; i < x.rows; ++i) sum += product(conjugate(x[k][i]), own[i]);
        for (std::int64_t i = 0; i < x.rows; ++i) own[i] -= product(x[k][i], sum);
      }
      double squares = 0;
      for (std::int64_t i = 0; i < x.rows; ++i) squares += square_of(own[i]);
      const double scale = 1 / std::sqrt(squares);
      for (std::int64_t i = 0; i < x.rows; ++i) own[i] *= scale;
    }
    take(j);
  }
}

// Of x (m by n, m >= n) by one-sided Jacobi iteration: columns are rotated in pairs until all are orthogonal, and those
// of the identity with them. `wanted` columns of left; none: the values alone. Source: Golub and Van Loan, "Matrix
// Computations", 4th edition, 8.6.3; de Rijk, "A one-sided Jacobi algorithm for computing the singular value
// decomposition on a vector computer", 1989, for the order of the columns.
template <class W>
Decomposition<W> decompose(Columns<W> x, std::int64_t n, std::int64_t wanted, double precision) {
  const std::int64_t m = x.rows;
  const bool vectors = wanted > 0;
  Decomposition<W> d{{m, wanted}, {vectors ? n : 0, n}, std::vector<double>(static_cast<std::size_t>(n))};
  double most = 0;
  bool finite = true;
  for (const W& v : x.values) {
    finite = finite && largest_part(v) <= std::numeric_limits<double>::max();
    most = std::max(most, largest_part(v));
  }
  if (!finite) {
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    W nan = kNan;
    if constexpr (std::is_same_v<W, Complex>) nan = {kNan, kNan};
    std::ranges::fill(d.left.values, nan);
    std::ranges::fill(d.right.values, nan);
    std::ranges::fill(d.values, kNan);
    d.converged = false;
    return d;
  }
  const int exponent = most > 0 ? std::ilogb(most) : 0;
  for (W& v : x.values) {  // in two steps, since the factor may be no number
    v *= std::ldexp(1.0, -exponent / 2);
    v *= std::ldexp(1.0, -(exponent - exponent / 2));
  }
  Columns<W> right(vectors ? n : 0, n);
  for (std::int64_t j = 0; j < n && vectors; ++j) right[j][j] = 1;
  const double tolerance = precision * std::max(4.0, std::sqrt(static_cast<double>(m)));
  d.converged = n < 2;
  for (int sweep = 0; sweep < kSweeps && !d.converged; ++sweep) {
    d.converged = true;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = i + 1; j < n; ++j) {
        if (rotate(x[i], x[j], m, right[i], right[j], right.rows, tolerance)) d.converged = false;
      }
    }
  }
  std::vector<double> norms(static_cast<std::size_t>(n));
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::int64_t j = 0; j < n; ++j) {
    double squares = 0;
    for (std::int64_t i = 0; i < m; ++i) squares += square_of(x[j][i]);
    norms[static_cast<std::size_t>(j)] = std::sqrt(squares);
  }
  const auto norm_of = [&](std::int64_t j) { return norms[static_cast<std::size_t>(j)]; };
  std::ranges::stable_sort(order, [&](std::int64_t i, std::int64_t j) { return norm_of(i) > norm_of(j); });
  std::int64_t have = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t j = order[static_cast<std::size_t>(k)];
    d.values[static_cast<std::size_t>(k)] = std::ldexp(norm_of(j), exponent);
    if (!vectors) continue;
    std::copy_n(right[j], n, d.right[k]);
    if (norm_of(j) * norm_of(j) < kNothing) continue;
    have = k + 1;
    for (std::int64_t i = 0; i < m; ++i) d.left[k][i] = x[j][i] / norm_of(j);
  }
  complete(d.left, have, wanted);
  return d;
}

template <class T>
void svd(cpu::Executor& executor, const View& a, const View* u, const View& s, const View* vh, const View& info) {
  using W = Wide<T>;
  using Real = std::conditional_t<kComplex<T>, float, T>;
  const std::int64_t rows = a.shape()[-2], columns = a.shape()[-1];
  const bool wide = rows < columns;
  const std::int64_t m = std::max(rows, columns), n = std::min(rows, columns);
  // A wide matrix is worked on as its adjoint, whose left vectors are those on the right.
  const View* left = wide ? vh : u;
  const std::int64_t wanted = left ? (wide ? left->shape()[-2] : left->shape()[-1]) : 0;
  const Matrices<T> from(a);
  const std::optional<Matrices<T>> to_u = u ? std::optional<Matrices<T>>(*u) : std::nullopt;
  const std::optional<Matrices<T>> to_vh = vh ? std::optional<Matrices<T>>(*vh) : std::nullopt;
  Layout of_values{s.shape(), s.strides()};
  of_values.shape.pop_back();
  of_values.strides.pop_back();
  // Far below what f32 tells apart; of f64 what rounding leaves.
  const double precision = std::is_same_v<T, double> ? 0x1p-53 : 0x1p-44;
  parallel(executor, info.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) {
      Columns<W> x(m, n);
      for (std::int64_t j = 0; j < n; ++j) {
        for (std::int64_t i = 0; i < m; ++i) {
          const auto first = from.first(k);
          x[j][i] = wide ? conjugate(static_cast<W>(from(first, j, i))) : static_cast<W>(from(first, i, j));
        }
      }
      Decomposition<W> d = decompose(std::move(x), n, wanted, precision);
      for (std::int64_t j = 0; j < n; ++j) {
        data<Real>(s)[offset_of(of_values, k) + j * s.strides()[-1]] =
            static_cast<Real>(d.values[static_cast<std::size_t>(j)]);
      }
      data<std::int32_t>(info)[offset_of(info.layout, k)] = d.converged ? 0 : 1;
      if (!u) continue;
      Columns<W>&of_u = wide ? d.right : d.left, &of_v = wide ? d.left : d.right;
      for (std::int64_t j = 0; j < u->shape()[-1]; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) (*to_u)(to_u->first(k), i, j) = narrowed<T>(of_u[j][i]);
      }
      for (std::int64_t j = 0; j < vh->shape()[-2]; ++j) {
        for (std::int64_t i = 0; i < columns; ++i) (*to_vh)(to_vh->first(k), j, i) = narrowed<T>(conjugate(of_v[j][i]));
      }
    }
  });
}

}  // namespace

void svd_cpu(cpu::Executor& executor, const View& a, const View* u, const View& s, const View* vh, const View& info) {
  with_matrix_type(a.dtype, [&]<class T>() {
    const Lapack<T>* const by = lapack_for<T>(executor, info.count(), a.shape()[-2], a.shape()[-1]);
    by ? svd_lapack(*by, executor, a, u, s, vh, info) : svd<T>(executor, a, u, s, vh, info);
  });
}

void svd_loops(cpu::Executor& executor, const View& a, const View* u, const View& s, const View* vh, const View& info) {
  with_matrix_type(a.dtype, [&]<class T>() { svd<T>(executor, a, u, s, vh, info); });
}

}  // namespace weft::kernels
