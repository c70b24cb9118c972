#include "kernels/linalg/linalg_lapack.h"

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "kernels/linalg/linalg_matrices_cpu.h"
#include "kernels/linalg/stored_matrix.h"

namespace weft::kernels {
namespace {

template <class T>
T not_a_number() {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if constexpr (kComplex<T>)
    return narrowed<T>({kNan, kNan});
  else
    return static_cast<T>(kNan);
}

// Whether routines that multiply by the inverse of a diagonal give what a division gives.
template <class T>
bool has_normal_inverses(const StoredMatrix<T>& a, std::int64_t n) {
  using Real = typename Lapack<T>::Real;
  constexpr Real kLeast = std::numeric_limits<Real>::min(), kMost = 1 / (4 * kLeast);
  for (std::int64_t i = 0; i < n; ++i) {
    const T v = a(i, i);
    const Real size = std::max(std::abs(std::real(v)), std::abs(std::imag(v)));
    if (!(size >= kLeast && size <= kMost) || std::isnan(std::imag(v))) return false;
  }
  return true;
}

}  // namespace

template <class T>
void cholesky_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& l, const View& info) {
  const std::int64_t n = a.shape()[-1];
  for_each_matrix(executor, info.count(), n * n * static_cast<std::int64_t>(sizeof(T)), [&](std::int64_t k) {
    StoredMatrix<T> own(of_batch(l, 2, k));
    own.load(executor, of_batch(a, 2, k));
    // l stored by rows is its transpose stored by columns: the upper factor of a's transpose.
    const bool by_rows = own.order() == Order::rows;
    std::int64_t failed = lapack.potrf(by_rows ? 'U' : 'L', static_cast<int>(n), own.data(), own.ld());
    // What is no number passes some versions of LAPACK.
    for (std::int64_t i = 0; i < (failed ? failed - 1 : n); ++i) {
      if (!std::isfinite(std::real(own(i, i)))) {
        failed = i + 1;
        break;
      }
    }
    const std::int64_t lost = failed ? failed - 1 : n;  // the first column that is
    for (std::int64_t p = 0; p < n; ++p) {              // rows, or columns
      T* const line = own.data() + p * own.ld();
      if (by_rows) {
        std::fill(line + std::min(lost, p + 1), line + p + 1, not_a_number<T>());
        std::fill(line + p + 1, line + n, T());
      } else {
        std::fill(line, line + p, T());
        if (p >= lost) std::fill(line + p, line + n, not_a_number<T>());
      }
    }
    own.store(executor);
    data<std::int32_t>(info)[offset_of(info.layout, k)] = static_cast<std::int32_t>(failed);
  });
}

template <class T>
void lu_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& lu, const View& pivots,
               const View& order, const View& info) {
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], steps = std::min(m, n);
  for_each_matrix(executor, info.count(), m * n * static_cast<std::int64_t>(sizeof(T)), [&](std::int64_t k) {
    const View from = of_batch(a, 2, k), to = of_batch(lu, 2, k), own_pivots = of_batch(pivots, 1, k),
               own_order = of_batch(order, 1, k), own_info = of_batch(info, 0, k);
    StoredMatrix<T> own(to, Order::columns);
    own.load(executor, from);
    // Which of several NaN is the largest is not LAPACK's to say.
    if (!own.is_finite()) return lu_loops(executor, from, to, own_pivots, own_order, own_info);
    std::vector<int> rows(static_cast<std::size_t>(steps));
    data<std::int32_t>(own_info)[0] =
        lapack.getrf(static_cast<int>(m), static_cast<int>(n), own.data(), own.ld(), rows.data());
    own.store(executor);
    std::int32_t* const places = data<std::int32_t>(own_order);
    const std::int64_t step = own_order.strides()[0];
    for (std::int64_t i = 0; i < m; ++i) places[i * step] = static_cast<std::int32_t>(i);
    for (std::int64_t i = 0; i < steps; ++i) {
      // Sums of finite numbers may overflow, and the largest of what is no number be none of the rows.
      const std::int64_t row = std::clamp<std::int64_t>(rows[static_cast<std::size_t>(i)] - 1, i, m - 1);
      data<std::int32_t>(own_pivots)[i * own_pivots.strides()[0]] = static_cast<std::int32_t>(row);
      std::swap(places[i * step], places[row * step]);
    }
  });
}

template <class T>
void triangular_solve_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& b,
                             const View& x, const TriangularForm& t) {
  const std::int64_t n = x.shape()[-2], m = x.shape()[-1], count = n && m ? x.count() / (n * m) : 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const View factors = of_batch(a, 2, k), from = of_batch(b, 2, k), to = of_batch(x, 2, k);
    StoredMatrix<T> own(to);
    // What is stored by rows is the transpose stored by columns: xᵀ aᵀ = bᵀ. There are no conjugates without
    // transposes.
    const bool by_rows = own.order() == Order::rows;
    std::optional<Order> order;
    if (t.conjugates) order = by_rows ? Order::columns : Order::rows;
    StoredMatrix<T> triangle(factors, order);
    triangle.load(executor, factors);
    if (!t.unit && !has_normal_inverses(triangle, n)) {
      triangular_solve_loops(executor, factors, from, to, t);
      continue;
    }
    own.load(executor, from);
    const bool transposed = by_rows != (triangle.order() == Order::rows);
    const char op = !transposed ? 'N' : t.conjugates ? 'C' : 'T';
    const char half = t.upper == (triangle.order() == Order::columns) ? 'U' : 'L';
    const int rows = static_cast<int>(by_rows ? m : n), columns = static_cast<int>(by_rows ? n : m);
    lapack.trsm(by_rows ? 'R' : 'L', half, op, t.unit ? 'U' : 'N', rows, columns, triangle.data(), triangle.ld(),
                own.data(), own.ld());
    own.store(executor);
  }
}

#define WEFT_FOR(T)                                                                                              \
  template void cholesky_lapack(const Lapack<T>&, cpu::Executor&, const View&, const View&, const View&);        \
  template void lu_lapack(const Lapack<T>&, cpu::Executor&, const View&, const View&, const View&, const View&,  \
                          const View&);                                                                          \
  template void triangular_solve_lapack(const Lapack<T>&, cpu::Executor&, const View&, const View&, const View&, \
                                        const TriangularForm&);
WEFT_FOR(float)
WEFT_FOR(double)
WEFT_FOR(std::complex<float>)

}  // namespace weft::kernels
