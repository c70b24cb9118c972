#include "kernels/linalg/cpu/lapack_forms.h"

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "kernels/linalg/cpu/stored_matrix.h"
#include "kernels/linalg/eigh_cpu.h"
#include "kernels/linalg/linalg_matrices_cpu.h"
#include "kernels/linalg/qr_cpu.h"
#include "kernels/linalg/svd_cpu.h"
#include "weft/kernels/copy.h"

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

// In memory of its own, by columns.
template <class T>
StoredMatrix<T> scratch(DType type, std::int64_t rows, std::int64_t columns) {
  return StoredMatrix<T>(View(Buffer::host(static_cast<std::uint64_t>(rows * columns) * sizeof(T)), 0, type,
                              {rows, columns}, {1, std::max<std::int64_t>(1, rows)}),
                         Order::columns);
}

}  // namespace

template <class T>
void cholesky_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& l, const View& info) {
  const std::int64_t n = a.shape()[-1];
  for (std::int64_t k = 0; k < info.count(); ++k) {
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
  }
}

template <class T>
void lu_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& lu, const View& pivots,
               const View& order, const View& info) {
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], steps = std::min(m, n);
  for (std::int64_t k = 0; k < info.count(); ++k) {
    const View from = of_batch(a, 2, k), to = of_batch(lu, 2, k), own_pivots = of_batch(pivots, 1, k),
               own_order = of_batch(order, 1, k), own_info = of_batch(info, 0, k);
    StoredMatrix<T> own(to, Order::columns);
    own.load(executor, from);
    // Which of several NaN is the largest is not LAPACK's to say.
    if (!own.is_finite()) {
      lu_loops(executor, from, to, own_pivots, own_order, own_info);
      continue;
    }
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
  }
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

template <class T>
void qr_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& q, const View& r) {
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], q_columns = q.shape()[-1], r_rows = r.shape()[-2];
  const std::int64_t steps = std::min(m, n), width = std::max(n, q_columns);
  Shape batch = a.shape();
  batch.pop_back();
  batch.pop_back();
  for (std::int64_t k = 0; k < element_count(batch); ++k) {
    const View from = of_batch(a, 2, k), to_q = of_batch(q, 2, k), to_r = of_batch(r, 2, k);
    const StoredMatrix<T> own = scratch<T>(a.dtype, m, width);
    const View factored = slice(own.view(), 1, 0, n);
    if (from.count()) copy_bits_cpu(executor, from, factored);
    if (!StoredMatrix<T>(factored, Order::columns).is_finite()) {
      qr_loops(executor, from, to_q, to_r);
      continue;
    }
    std::vector<T> tau(static_cast<std::size_t>(steps));
    lapack.geqrf(static_cast<int>(m), static_cast<int>(n), own.data(), own.ld(), tau.data());
    T* const first = data<T>(to_r);
    for (std::int64_t i = 0; i < r_rows; ++i) {
      for (std::int64_t j = 0; j < n; ++j)
        first[i * to_r.strides()[0] + j * to_r.strides()[1]] = j < i ? T() : own(i, j);
    }
    if (to_q.count() == 0) continue;
    lapack.orgqr(static_cast<int>(m), static_cast<int>(q_columns), static_cast<int>(std::min(steps, q_columns)),
                 own.data(), own.ld(), tau.data());
    copy_bits_cpu(executor, slice(own.view(), 1, 0, q_columns), to_q);
  }
}

template <class T>
void eigh_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View& w, const View& info,
                 const std::optional<View>& v, bool upper) {
  using Real = typename Lapack<T>::Real;
  const std::int64_t n = a.shape()[-1];
  for (std::int64_t k = 0; k < info.count(); ++k) {
    const View from = of_batch(a, 2, k), to_w = of_batch(w, 1, k), own_info = of_batch(info, 0, k);
    const std::optional<View> to_v = v ? std::optional(of_batch(*v, 2, k)) : std::nullopt;
    // The lower triangle alone, whose transpose the upper one is the conjugate of.
    const StoredMatrix<T> own = scratch<T>(a.dtype, n, n);
    const T* const first = data<T>(from);
    const std::int64_t row = from.strides()[upper ? 1 : 0], column = from.strides()[upper ? 0 : 1];
    bool finite = true;
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = 0; i < n; ++i) {
        T& x = own(i, j) = i < j ? T() : first[i * row + j * column];
        if (i == j) x = std::real(x);
        if constexpr (kComplex<T>) {
          if (upper) x = std::conj(x);
        }
        finite = finite && std::isfinite(std::real(x)) && std::isfinite(std::imag(x));
      }
    }
    std::vector<Real> values(static_cast<std::size_t>(n));
    if (!finite || lapack.syevd(v ? 'V' : 'N', 'L', static_cast<int>(n), own.data(), own.ld(), values.data())) {
      eigh_loops(executor, from, to_w, own_info, to_v, upper);
      continue;
    }
    for (std::int64_t i = 0; i < n; ++i) data<Real>(to_w)[i * to_w.strides()[0]] = values[static_cast<std::size_t>(i)];
    if (to_v && n) copy_bits_cpu(executor, own.view(), *to_v);
    data<std::int32_t>(own_info)[0] = 0;
  }
}

template <class T>
void svd_lapack(const Lapack<T>& lapack, cpu::Executor& executor, const View& a, const View* u, const View& s,
                const View* vh, const View& info) {
  using Real = typename Lapack<T>::Real;
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1], least = std::min(m, n);
  const std::int64_t u_columns = u ? u->shape()[-1] : 0, vh_rows = vh ? vh->shape()[-2] : 0;
  const char jobs = !u ? 'N' : u_columns == m && vh_rows == n ? 'A' : 'S';
  for (std::int64_t k = 0; k < info.count(); ++k) {
    const View from = of_batch(a, 2, k), to_s = of_batch(s, 1, k), own_info = of_batch(info, 0, k);
    const std::optional<View> to_u = u ? std::optional(of_batch(*u, 2, k)) : std::nullopt,
                              to_vh = vh ? std::optional(of_batch(*vh, 2, k)) : std::nullopt;
    const StoredMatrix<T> own = scratch<T>(a.dtype, m, n), left = scratch<T>(a.dtype, m, u_columns),
                          right = scratch<T>(a.dtype, vh_rows, n);
    if (least) copy_bits_cpu(executor, from, own.view());
    std::vector<Real> values(static_cast<std::size_t>(least));
    if (least == 0 || !own.is_finite() ||
        lapack.gesdd(jobs, static_cast<int>(m), static_cast<int>(n), own.data(), own.ld(), values.data(), left.data(),
                     left.ld(), right.data(), right.ld())) {
      svd_loops(executor, from, to_u ? &*to_u : nullptr, to_s, to_vh ? &*to_vh : nullptr, own_info);
      continue;
    }
    for (std::int64_t i = 0; i < least; ++i)
      data<Real>(to_s)[i * to_s.strides()[0]] = values[static_cast<std::size_t>(i)];
    if (to_u) copy_bits_cpu(executor, left.view(), *to_u);
    if (to_vh) copy_bits_cpu(executor, right.view(), *to_vh);
    data<std::int32_t>(own_info)[0] = 0;
  }
}

#define WEFT_FOR(T)                                                                                              \
  template void cholesky_lapack(const Lapack<T>&, cpu::Executor&, const View&, const View&, const View&);        \
  template void lu_lapack(const Lapack<T>&, cpu::Executor&, const View&, const View&, const View&, const View&,  \
                          const View&);                                                                          \
  template void triangular_solve_lapack(const Lapack<T>&, cpu::Executor&, const View&, const View&, const View&, \
                                        const TriangularForm&);                                                  \
  template void qr_lapack(const Lapack<T>&, cpu::Executor&, const View&, const View&, const View&);              \
  template void eigh_lapack(const Lapack<T>&, cpu::Executor&, const View&, const View&, const View&,             \
                            const std::optional<View>&, bool);                                                   \
  template void svd_lapack(const Lapack<T>&, cpu::Executor&, const View&, const View*, const View&, const View*, \
                           const View&);
WEFT_FOR(float)
WEFT_FOR(double)
WEFT_FOR(std::complex<float>)

}  // namespace weft::kernels
