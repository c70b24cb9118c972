#include "kernels/linalg/qr_cpu.h"

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "kernels/linalg/cpu/lapack_forms.h"
#include "kernels/linalg/cpu/stored_matrix.h"
#include "kernels/linalg/linalg_matrices_cpu.h"

namespace weft::kernels {
namespace {

double largest_part(double v) { return std::abs(v); }
double largest_part(std::complex<double> v) {
  const double re = std::abs(v.real()), im = std::abs(v.imag());
  return re > im || std::isnan(re) ? re : im;
}

// H = 1 - factor u uᴴ with u = x - beta e, where x is a column from its element `alpha` on, and u's first element is
// `tip`. beta is real, and Hᴴ x = beta e. As LAPACK's larfg.
template <class W>
struct Reflection {
  double beta;
  W tip, factor;
};

// sigma: the sum of the squares of x's other elements.
template <class W>
Reflection<W> reflection(W alpha, double sigma) {
  const double squares = std::norm(alpha) + sigma;
  constexpr double kTiny = 1e-280;  // of a column whose largest element is about 1
  if ((sigma == 0 && std::imag(alpha) == 0) || squares < kTiny) return {std::real(alpha), W(), W()};
  const double beta = std::copysign(std::sqrt(squares), -std::real(alpha));
  const W tip = alpha - beta;
  return {beta, tip, -1 / beta / conjugate(tip)};
}

// One matrix, in memory of its own.
template <class W>
class Householder {
 public:
  Householder(std::int64_t m, std::int64_t n, std::int64_t q_columns)
      : m_(m), n_(n), q_columns_(q_columns), steps_(std::min(m, n)) {
    x_.resize(static_cast<std::size_t>(m * n));
    q_.resize(static_cast<std::size_t>(m * q_columns));
    reflections_.resize(static_cast<std::size_t>(steps_));
    exponents_.resize(static_cast<std::size_t>(n));
    weights_.resize(static_cast<std::size_t>(std::max(n, q_columns)));
  }
  W& x(std::int64_t i, std::int64_t j) { return x_[static_cast<std::size_t>(i * n_ + j)]; }
  W& q(std::int64_t i, std::int64_t j) { return q_[static_cast<std::size_t>(i * q_columns_ + j)]; }

  // False if an element is NaN or infinite.
  bool factor() {
    for (std::int64_t j = 0; j < n_; ++j) {
      double largest = 0;
      for (std::int64_t i = 0; i < m_; ++i) {
        const double v = largest_part(x(i, j));
        if (!std::isfinite(v)) return false;
        largest = std::max(largest, v);
      }
      exponents_[static_cast<std::size_t>(j)] = largest > 0 ? std::ilogb(largest) : 0;
      for (std::int64_t i = 0; i < m_; ++i) x(i, j) = scaled(x(i, j), -exponents_[static_cast<std::size_t>(j)]);
    }
    for (std::int64_t k = 0; k < steps_; ++k) {
      double sigma = 0;
      for (std::int64_t i = k + 1; i < m_; ++i) sigma += std::norm(x(i, k));
      Reflection<W>& h = reflections_[static_cast<std::size_t>(k)] = reflection(x(k, k), sigma);
      x(k, k) = h.tip;
      reflect(k, conjugate(h.factor), x_.data(), n_, k + 1);
    }
    return true;
  }
  W r(std::int64_t i, std::int64_t j) {
    if (j < i) return W();
    const W v = i == j ? W(reflections_[static_cast<std::size_t>(i)].beta) : x(i, j);
    return scaled(v, exponents_[static_cast<std::size_t>(j)]);
  }
  void form_q() {
    for (std::int64_t i = 0; i < std::min(m_, q_columns_); ++i) q(i, i) = 1;
    for (std::int64_t k = steps_ - 1; k >= 0; --k) {
      reflect(k, reflections_[static_cast<std::size_t>(k)].factor, q_.data(), q_columns_, k);
    }
  }

 private:
  static double scaled(double v, int exponent) { return std::ldexp(v, exponent); }
  static std::complex<double> scaled(std::complex<double> v, int exponent) {
    return {std::ldexp(v.real(), exponent), std::ldexp(v.imag(), exponent)};
  }
  // y = (1 - factor u uᴴ) y for reflection k and a matrix y, in its columns from `first` on.
  void reflect(std::int64_t k, W factor, W* y, std::int64_t columns, std::int64_t first) {
    W* weights = weights_.data();
    std::fill(weights + first, weights + columns, W());
    for (std::int64_t i = k; i < m_; ++i) {
      const W u = conjugate(x(i, k));
      const W* row = y + i * columns;
      for (std::int64_t j = first; j < columns; ++j) weights[j] += product(u, row[j]);
    }
    for (std::int64_t j = first; j < columns; ++j) weights[j] = product(factor, weights[j]);
    for (std::int64_t i = k; i < m_; ++i) {
      const W u = x(i, k);
      W* row = y + i * columns;
      for (std::int64_t j = first; j < columns; ++j) row[j] -= product(u, weights[j]);
    }
  }

  std::int64_t m_, n_, q_columns_, steps_;
  std::vector<W> x_, q_, weights_;
  std::vector<Reflection<W>> reflections_;
  std::vector<int> exponents_;
};

template <class T>
void factors(cpu::Executor& executor, const View& a, const View& q, const View& r) {
  using W = Wide<T>;
  const Matrices<T> from(a), to_q(q), to_r(r);
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], rows = r.shape()[-2], columns = q.shape()[-1];
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const T nan = [] {
    if constexpr (kComplex<T>)
      return T(static_cast<float>(kNan), static_cast<float>(kNan));
    else
      return static_cast<T>(kNan);
  }();
  parallel(executor, from.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t matrix = begin; matrix < end; ++matrix) {
      Householder<W> h(m, n, columns);
      const std::int64_t a0 = from.first(matrix), q0 = to_q.first(matrix), r0 = to_r.first(matrix);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) h.x(i, j) = static_cast<W>(from(a0, i, j));
      }
      const bool fine = h.factor();
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < n; ++j) to_r(r0, i, j) = fine || j < i ? narrowed<T>(fine ? h.r(i, j) : W()) : nan;
      }
      if (fine && columns) h.form_q();
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) to_q(q0, i, j) = fine ? narrowed<T>(h.q(i, j)) : nan;
      }
    }
  });
}

}  // namespace

void qr_cpu(cpu::Executor& executor, const View& a, const View& q, const View& r) {
  with_matrix_type(a.dtype, [&]<class T>() {
    const Lapack<T>* const by = lapack_for<T>(executor, Matrices<T>(a).count(), a.shape()[-2], a.shape()[-1]);
    by ? qr_lapack(*by, executor, a, q, r) : factors<T>(executor, a, q, r);
  });
}

void qr_loops(cpu::Executor& executor, const View& a, const View& q, const View& r) {
  with_matrix_type(a.dtype, [&]<class T>() { factors<T>(executor, a, q, r); });
}

}  // namespace weft::kernels
