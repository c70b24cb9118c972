#include "kernels/linalg/linalg_cpu.h"

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "kernels/linalg/cpu/lapack_forms.h"
#include "kernels/linalg/cpu/stored_matrix.h"
#include "kernels/linalg/linalg_launch.h"
#include "kernels/linalg/linalg_matrices_cpu.h"

namespace weft::kernels {
namespace {

template <class T>
void factor(cpu::Executor& executor, const View& a, const View& l, const View& info) {
  using W = Wide<T>;
  const Matrices<T> from(a), to(l);
  const std::int64_t n = a.shape()[-1];
  parallel(executor, from.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<W> rows(static_cast<std::size_t>(n * n));
    for (std::int64_t m = begin; m < end; ++m) {
      const std::int64_t a0 = from.first(m), l0 = to.first(m);
      std::int32_t failed = 0;
      // Row by row: all products are of the beginnings of two rows.
      for (std::int64_t i = 0; i < n; ++i) {
        W* row = rows.data() + i * n;
        for (std::int64_t j = 0; j <= i; ++j) row[j] = static_cast<W>(from(a0, i, j));
        for (std::int64_t j = 0; j < i; ++j) {
          const W* other = rows.data() + j * n;
          W sum = row[j];
          for (std::int64_t k = 0; k < j; ++k) sum -= product(row[k], conjugate(other[k]));
          row[j] = sum / std::real(other[j]);
        }
        double pivot = std::real(row[i]);
        for (std::int64_t k = 0; k < i; ++k) pivot -= std::norm(row[k]);
        const bool good = pivot > 0 && pivot < std::numeric_limits<double>::infinity();
        if (!good && !failed) failed = static_cast<std::int32_t>(i + 1);
        row[i] = good && !failed ? W(std::sqrt(pivot)) : W(std::numeric_limits<double>::quiet_NaN());
      }
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          W v = j <= i ? rows[static_cast<std::size_t>(i * n + j)] : W();
          if (failed && j <= i && j + 1 >= failed) {
            constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
            if constexpr (kComplex<T>)
              v = {kNan, kNan};
            else
              v = kNan;
          }
          to(l0, i, j) = narrowed<T>(v);
        }
      }
      data<std::int32_t>(info)[offset_of(info.layout, m)] = failed;
    }
  });
}

template <class T>
double size_of(const T& v) {
  if constexpr (std::is_same_v<T, std::complex<double>>)
    return std::abs(v.real()) + std::abs(v.imag());
  else
    return std::abs(v);
}

template <class T>
void factors(cpu::Executor& executor, const View& a, const View& lu, const View& pivots, const View& order,
             const View& info) {
  using W = Wide<T>;
  const Matrices<T> from(a), to(lu);
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], steps = std::min(m, n);
  const auto rows_of = [](const View& v) {
    Layout batch{v.shape(), v.strides()};
    batch.shape.pop_back();
    batch.strides.pop_back();
    return batch;
  };
  const Layout pivot_rows = rows_of(pivots), order_rows = rows_of(order);
  parallel(executor, from.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<W> x(static_cast<std::size_t>(m * n));
    std::vector<std::int32_t> places(static_cast<std::size_t>(m));
    for (std::int64_t matrix = begin; matrix < end; ++matrix) {
      const std::int64_t a0 = from.first(matrix), lu0 = to.first(matrix);
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) x[static_cast<std::size_t>(i * n + j)] = static_cast<W>(from(a0, i, j));
        places[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(i);
      }
      std::int32_t zero = 0;
      std::int32_t* pivot_out = data<std::int32_t>(pivots) + (steps ? offset_of(pivot_rows, matrix) : 0);
      for (std::int64_t k = 0; k < steps; ++k) {
        std::int64_t pivot = k;
        double most = size_of(x[static_cast<std::size_t>(k * n + k)]);
        for (std::int64_t i = k + 1; i < m; ++i) {
          const double v = size_of(x[static_cast<std::size_t>(i * n + k)]);
          if (v > most) {
            most = v;
            pivot = i;
          }
        }
        W* upper = x.data() + k * n;
        if (pivot != k) {
          std::swap_ranges(upper, upper + n, x.data() + pivot * n);
          std::swap(places[static_cast<std::size_t>(k)], places[static_cast<std::size_t>(pivot)]);
        }
        pivot_out[k * pivots.strides()[-1]] = static_cast<std::int32_t>(pivot);
        if (size_of(upper[k]) == 0) {  // so is the whole column, which stays
          if (!zero) zero = static_cast<std::int32_t>(k + 1);
          continue;
        }
        for (std::int64_t i = k + 1; i < m; ++i) {
          W* row = x.data() + i * n;
          const W factor = row[k] / upper[k];
          row[k] = factor;
          for (std::int64_t j = k + 1; j < n; ++j) row[j] -= product(factor, upper[j]);
        }
      }
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          const W v = x[static_cast<std::size_t>(i * n + j)];
          to(lu0, i, j) = narrowed<T>(v);
        }
      }
      for (std::int64_t i = 0; i < m; ++i) {
        data<std::int32_t>(order)[offset_of(order_rows, matrix) + i * order.strides()[-1]] =
            places[static_cast<std::size_t>(i)];
      }
      data<std::int32_t>(info)[offset_of(info.layout, matrix)] = zero;
    }
  });
}

template <class T>
void solve(cpu::Executor& executor, const View& a, const View& b, const View& x, bool unit, bool conjugates) {
  using W = Wide<T>;
  const Matrices<T> factors(a), from(b), to(x);
  const std::int64_t n = a.shape()[-1], m = b.shape()[-1];
  parallel(executor, from.count(), 1, [&](std::int64_t begin, std::int64_t end) {
    std::vector<W> rows(static_cast<std::size_t>(n * m));
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t a0 = factors.first(k), b0 = from.first(k), x0 = to.first(k);
      for (std::int64_t i = 0; i < n; ++i) {
        W* row = rows.data() + i * m;
        for (std::int64_t j = 0; j < m; ++j) row[j] = static_cast<W>(from(b0, i, j));
        for (std::int64_t p = 0; p < i; ++p) {
          W factor = static_cast<W>(factors(a0, i, p));
          if (conjugates) factor = conjugate(factor);
          const W* other = rows.data() + p * m;
          for (std::int64_t j = 0; j < m; ++j) row[j] -= product(factor, other[j]);
        }
        if (!unit) {
          W pivot = static_cast<W>(factors(a0, i, i));
          if (conjugates) pivot = conjugate(pivot);
          for (std::int64_t j = 0; j < m; ++j) row[j] /= pivot;
        }
        for (std::int64_t j = 0; j < m; ++j) {
          to(x0, i, j) = narrowed<T>(row[j]);
        }
      }
    }
  });
}

}  // namespace

void cholesky_cpu(cpu::Executor& executor, const View& a, const View& l, const View& info) {
  with_matrix_type(a.dtype, [&]<class T>() {
    const Lapack<T>* const by = lapack_for<T>(executor, info.count(), a.shape()[-1], a.shape()[-1]);
    by ? cholesky_lapack(*by, executor, a, l, info) : factor<T>(executor, a, l, info);
  });
}

void lu_cpu(cpu::Executor& executor, const View& a, const View& lu, const View& pivots, const View& order,
            const View& info) {
  with_matrix_type(a.dtype, [&]<class T>() {
    const Lapack<T>* const by = lapack_for<T>(executor, info.count(), a.shape()[-2], a.shape()[-1]);
    by ? lu_lapack(*by, executor, a, lu, pivots, order, info) : factors<T>(executor, a, lu, pivots, order, info);
  });
}

void triangular_solve_cpu(cpu::Executor& executor, const View& a, const View& b, const View& x,
                          const TriangularForm& form) {
  with_matrix_type(a.dtype, [&]<class T>() {
    const std::int64_t n = x.shape()[-2], m = x.shape()[-1];
    const Lapack<T>* const by = lapack_for<T>(executor, x.count() / (n * m), n, m);
    by ? triangular_solve_lapack(*by, executor, a, b, x, form) : triangular_solve_loops(executor, a, b, x, form);
  });
}

void lu_loops(cpu::Executor& executor, const View& a, const View& lu, const View& pivots, const View& order,
              const View& info) {
  with_matrix_type(a.dtype, [&]<class T>() { factors<T>(executor, a, lu, pivots, order, info); });
}

void triangular_solve_loops(cpu::Executor& executor, const View& a, const View& b, const View& x,
                            const TriangularForm& form) {
  with_matrix_type(a.dtype, [&]<class T>() {
    // What is upper triangular is lower triangular from its end.
    if (form.upper)
      solve<T>(executor, reversed(reversed(a, -1), -2), reversed(b, -2), reversed(x, -2), form.unit, form.conjugates);
    else
      solve<T>(executor, a, b, x, form.unit, form.conjugates);
  });
}

}  // namespace weft::kernels
