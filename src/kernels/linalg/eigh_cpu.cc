#include "kernels/linalg/eigh_cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/linalg/cpu/lapack_forms.h"
#include "kernels/linalg/cpu/stored_matrix.h"
#include "kernels/linalg/linalg_matrices_cpu.h"

namespace weft::kernels {
namespace {

// A = q t qᴴ of a Hermitian matrix of n rows, by Householder reflections: t is real and tridiagonal, with the diagonal
// d and beside it e. a is overwritten: with q's transpose if `vectors`. Source: Golub and Van Loan, "Matrix
// Computations", 4th edition, 8.3.1.
template <class W>
void tridiagonal(std::int64_t n, std::vector<W>& a, std::vector<double>& d, std::vector<double>& e, bool vectors) {
  const auto row = [&](std::int64_t i) { return a.data() + i * n; };
  std::vector<W> factors(static_cast<std::size_t>(n)), x(static_cast<std::size_t>(n)), y(static_cast<std::size_t>(n));
  // Reflection k is 1 - factor v vᴴ, with v's elements v(k + 1) = 1, v(k + 2), …, which are kept in a's column k.
  for (std::int64_t k = 0; k + 1 < n; ++k) {
    double below = 0;
    for (std::int64_t i = k + 2; i < n; ++i) below += std::norm(row(i)[k]);
    const W alpha = row(k + 1)[k];
    double beta = std::real(alpha);
    W factor = 0;
    if (below > 0 || std::imag(alpha) != 0) {
      beta = -std::copysign(std::sqrt(std::norm(alpha) + below), std::real(alpha));
      factor = (beta - alpha) / beta;
      const W inverse = 1.0 / (alpha - beta);
      for (std::int64_t i = k + 2; i < n; ++i) row(i)[k] = product(row(i)[k], inverse);
    }
    e[static_cast<std::size_t>(k)] = beta;
    factors[static_cast<std::size_t>(k)] = factor;
    if (factor == 0.0) continue;
    // The rest, which is Hermitian and whole, becomes hᴴ a h = a - v yᴴ - y vᴴ.
    for (std::int64_t i = k + 1; i < n; ++i) x[static_cast<std::size_t>(i)] = i == k + 1 ? W(1) : row(i)[k];
    W overlap = 0;
    for (std::int64_t i = k + 1; i < n; ++i) {
      W sum = 0;
      for (std::int64_t j = k + 1; j < n; ++j) sum += product(row(i)[j], x[static_cast<std::size_t>(j)]);
      y[static_cast<std::size_t>(i)] = product(factor, sum);
      overlap += product(conjugate(y[static_cast<std::size_t>(i)]), x[static_cast<std::size_t>(i)]);
    }
    const W half = product(factor, overlap) * 0.5;
    for (std::int64_t i = k + 1; i < n; ++i) {
      y[static_cast<std::size_t>(i)] -= product(half, x[static_cast<std::size_t>(i)]);
    }
    for (std::int64_t i = k + 1; i < n; ++i) {
      const W xi = x[static_cast<std::size_t>(i)], yi = y[static_cast<std::size_t>(i)];
      for (std::int64_t j = k + 1; j < n; ++j) {
        row(i)[j] -= product(xi, conjugate(y[static_cast<std::size_t>(j)])) +
                     product(yi, conjugate(x[static_cast<std::size_t>(j)]));
      }
    }
  }
  for (std::int64_t i = 0; i < n; ++i) d[static_cast<std::size_t>(i)] = std::real(row(i)[i]);
  if (!vectors) return;
  // The product of the reflections, from the last on; of its transpose, the reflections act on columns.
  std::vector<W> q(a.size());
  for (std::int64_t i = 0; i < n; ++i) q[static_cast<std::size_t>(i * n + i)] = 1;
  for (std::int64_t k = n - 2; k >= 0; --k) {
    const W factor = factors[static_cast<std::size_t>(k)];
    if (factor == 0.0) continue;
    for (std::int64_t i = k + 1; i < n; ++i) x[static_cast<std::size_t>(i)] = i == k + 1 ? W(1) : row(i)[k];
    for (std::int64_t j = k + 1; j < n; ++j) {
      W* column = q.data() + j * n;
      W sum = 0;
      for (std::int64_t i = k + 1; i < n; ++i) sum += product(conjugate(x[static_cast<std::size_t>(i)]), column[i]);
      sum = product(factor, sum);
      for (std::int64_t i = k + 1; i < n; ++i) column[i] -= product(x[static_cast<std::size_t>(i)], sum);
    }
  }
  a = std::move(q);
}

// The eigenvalues of a real tridiagonal matrix, in d, by implicit QL steps; the rows of z, if it is not empty, take
// part in the rotations. False: an eigenvalue took too many steps. Source: Martin and Wilkinson, "The implicit QL
// algorithm", 1968.
template <class W>
bool diagonal(std::int64_t n, std::vector<double>& d, std::vector<double>& e, std::vector<W>& z) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const auto at = [](std::vector<double>& x, std::int64_t i) -> double& { return x[static_cast<std::size_t>(i)]; };
  for (std::int64_t first = 0; first < n; ++first) {
    for (int steps = 0;; ++steps) {
      std::int64_t last = first;  // of the part that is coupled
      while (last + 1 < n && std::abs(at(e, last)) > kEpsilon * (std::abs(at(d, last)) + std::abs(at(d, last + 1))) &&
             std::abs(at(e, last)) > kEpsilon * kEpsilon) {
        ++last;
      }
      if (last == first) break;
      if (steps == 60) return false;
      double g = (at(d, first + 1) - at(d, first)) / (2 * at(e, first));
      g = at(d, last) - at(d, first) + at(e, first) / (g + std::copysign(std::hypot(g, 1.0), g));
      double sine = 1, cosine = 1, change = 0;
      bool split = false;
      for (std::int64_t i = last - 1; i >= first; --i) {
        const double f = sine * at(e, i), b = cosine * at(e, i), r = std::hypot(f, g);
        at(e, i + 1) = r;
        if (r == 0) {
          at(d, i + 1) -= change;
          at(e, last) = 0;
          split = true;
          break;
        }
        sine = f / r;
        cosine = g / r;
        g = at(d, i + 1) - change;
        const double more = (at(d, i) - g) * sine + 2 * cosine * b;
        change = sine * more;
        at(d, i + 1) = g + change;
        g = cosine * more - b;
        if (z.empty()) continue;
        W *lower = z.data() + i * n, *upper = lower + n;
        for (std::int64_t k = 0; k < n; ++k) {
          const W x = lower[k], y = upper[k];
          upper[k] = sine * x + cosine * y;
          lower[k] = cosine * x - sine * y;
        }
      }
      if (split) continue;
      at(d, first) -= change;
      at(e, first) = g;
      at(e, last) = 0;
    }
  }
  return true;
}

// Eigenvalues w and, if `vectors`, eigenvectors as the rows of a. False: they were not found.
template <class W>
bool decompose(std::int64_t n, std::vector<W>& a, std::vector<double>& w, bool vectors) {
  double most = 0;
  for (const W& x : a) {
    const double size = std::max(std::abs(std::real(x)), std::abs(std::imag(x)));
    if (!std::isfinite(size)) return false;
    most = std::max(most, size);
  }
  const int exponent = most > 0 ? std::ilogb(most) : 0;
  for (W& x : a) {
    if constexpr (std::is_same_v<W, double>)
      x = std::ldexp(x, -exponent);
    else
      x = {std::ldexp(x.real(), -exponent), std::ldexp(x.imag(), -exponent)};
  }
  std::vector<double> beside(static_cast<std::size_t>(n));
  tridiagonal(n, a, w, beside, vectors);
  if (!vectors) a.clear();
  if (!diagonal(n, w, beside, a)) return false;
  for (double& x : w) x = std::ldexp(x, exponent);
  return true;
}

template <class T>
void decompose_all(cpu::Executor& executor, const View& a, const View& w, const View& info,
                   const std::optional<View>& v, bool upper) {
  using W = Wide<T>;
  using Real = std::conditional_t<kComplex<T>, float, T>;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Matrices<T> from(a), to(v ? *v : a);
  const std::int64_t n = a.shape()[-1], step = w.strides()[-1];
  Layout rows{w.shape(), w.strides()};
  rows.shape.pop_back();
  rows.strides.pop_back();
  parallel(executor, from.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> values(static_cast<std::size_t>(n));
    std::vector<std::int64_t> order(static_cast<std::size_t>(n));
    for (std::int64_t m = begin; m < end; ++m) {
      std::vector<W> x(static_cast<std::size_t>(n * n));
      const std::int64_t a0 = from.first(m);
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < i; ++j) {
          const W read = static_cast<W>(upper ? from(a0, j, i) : from(a0, i, j)),
                  element = upper ? conjugate(read) : read;
          x[static_cast<std::size_t>(i * n + j)] = element;
          x[static_cast<std::size_t>(j * n + i)] = conjugate(element);
        }
        x[static_cast<std::size_t>(i * n + i)] = std::real(from(a0, i, i));
      }
      const bool found = decompose(n, x, values, v.has_value());
      data<std::int32_t>(info)[offset_of(info.layout, m)] = found ? 0 : 1;
      std::iota(order.begin(), order.end(), 0);
      if (found) {
        std::ranges::stable_sort(order, {}, [&](std::int64_t i) { return values[static_cast<std::size_t>(i)]; });
      }
      Real* values_out = data<Real>(w) + offset_of(rows, m);
      for (std::int64_t j = 0; j < n; ++j) {
        const auto from_row = static_cast<std::size_t>(order[static_cast<std::size_t>(j)]);
        values_out[j * step] = static_cast<Real>(found ? values[from_row] : kNan);
        if (!v) continue;
        for (std::int64_t i = 0; i < n; ++i) {
          W element = found ? x[from_row * static_cast<std::size_t>(n) + static_cast<std::size_t>(i)] : W(kNan);
          if constexpr (kComplex<T>) {
            if (!found) element = {kNan, kNan};
          }
          to(to.first(m), i, j) = narrowed<T>(element);
        }
      }
    }
  });
}

}  // namespace

void eigh_cpu(cpu::Executor& executor, const View& a, const View& w, const View& info, const std::optional<View>& v,
              bool upper) {
  with_matrix_type(a.dtype, [&]<class T>() {
    const Lapack<T>* const by = lapack_for<T>(executor, info.count(), a.shape()[-1], a.shape()[-1]);
    by ? eigh_lapack(*by, executor, a, w, info, v, upper) : decompose_all<T>(executor, a, w, info, v, upper);
  });
}

void eigh_loops(cpu::Executor& executor, const View& a, const View& w, const View& info, const std::optional<View>& v,
                bool upper) {
  with_matrix_type(a.dtype, [&]<class T>() { decompose_all<T>(executor, a, w, info, v, upper); });
}

}  // namespace weft::kernels
