#include "kernels/linalg/lapack.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <new>
#include <vector>

#include "weft/flags.h"

#if WEFT_LAPACK

// As Fortran declares them: each text has its length behind the last argument.
#define WEFT_DECLARE(s, T, org)                                                                                 \
  void s##potrf_(const char*, const int*, T*, const int*, int*, std::size_t);                                   \
  void s##getrf_(const int*, const int*, T*, const int*, int*, int*);                                           \
  void s##trsm_(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*, \
                const int*, T*, const int*, std::size_t, std::size_t, std::size_t, std::size_t);                \
  void s##geqrf_(const int*, const int*, T*, const int*, T*, T*, const int*, int*);                             \
  void s##org##gqr_(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);
extern "C" {
WEFT_DECLARE(s, float, or)
WEFT_DECLARE(d, double, or)
WEFT_DECLARE(c, std::complex<float>, un)
void ssyevd_(const char*, const char*, const int*, float*, const int*, float*, float*, const int*, int*, const int*,
             int*, std::size_t, std::size_t);
void dsyevd_(const char*, const char*, const int*, double*, const int*, double*, double*, const int*, int*, const int*,
             int*, std::size_t, std::size_t);
void cheevd_(const char*, const char*, const int*, std::complex<float>*, const int*, float*, std::complex<float>*,
             const int*, float*, const int*, int*, const int*, int*, std::size_t, std::size_t);
void sgesdd_(const char*, const int*, const int*, float*, const int*, float*, float*, const int*, float*, const int*,
             float*, const int*, int*, int*, std::size_t);
void dgesdd_(const char*, const int*, const int*, double*, const int*, double*, double*, const int*, double*,
             const int*, double*, const int*, int*, int*, std::size_t);
void cgesdd_(const char*, const int*, const int*, std::complex<float>*, const int*, float*, std::complex<float>*,
             const int*, std::complex<float>*, const int*, std::complex<float>*, const int*, float*, int*, int*,
             std::size_t);
}

namespace weft::kernels {
namespace {

// The routines of each type under the same names.
template <class T>
struct Routines;
#define WEFT_ROUTINES(T, s, org, syev)              \
  template <>                                       \
  struct Routines<T> {                              \
    static inline auto* const potrf = s##potrf_;    \
    static inline auto* const getrf = s##getrf_;    \
    static inline auto* const trsm = s##trsm_;      \
    static inline auto* const geqrf = s##geqrf_;    \
    static inline auto* const orgqr = s##org##gqr_; \
    static inline auto* const syevd = s##syev##d_;  \
    static inline auto* const gesdd = s##gesdd_;    \
  };
WEFT_ROUTINES(float, s, or, syev)
WEFT_ROUTINES(double, d, or, syev)
WEFT_ROUTINES(std::complex<float>, c, un, heev)

template <class T>
using Real = typename Lapack<T>::Real;
template <class T>
constexpr bool kComplex = !std::is_same_v<T, Real<T>>;

// Calls f(work, length of work), first to be told the length. LAPACK says it as an element of the matrix, which may
// have been rounded down.
template <class T, class F>
void with_work(F&& f) {
  T size{};
  f(&size, -1);
  const double wanted = static_cast<double>(std::real(size)) * (1 + 2 * std::numeric_limits<Real<T>>::epsilon());
  if (!(wanted < std::numeric_limits<int>::max())) throw std::bad_alloc();
  std::vector<T> work(std::max<std::size_t>(1, static_cast<std::size_t>(wanted)));
  f(work.data(), static_cast<int>(work.size()));
}

template <class T>
int potrf(char triangle, int n, T* a, int lda) {
  int info = 0;
  Routines<T>::potrf(&triangle, &n, a, &lda, &info, 1);
  return info;
}

template <class T>
int getrf(int m, int n, T* a, int lda, int* pivots) {
  int info = 0;
  Routines<T>::getrf(&m, &n, a, &lda, pivots, &info);
  return info;
}

template <class T>
void trsm(char side, char triangle, char op, char diagonal, int m, int n, const T* a, int lda, T* b, int ldb) {
  const T one(1);
  Routines<T>::trsm(&side, &triangle, &op, &diagonal, &m, &n, &one, a, &lda, b, &ldb, 1, 1, 1, 1);
}

template <class T>
int geqrf(int m, int n, T* a, int lda, T* tau) {
  int info = 0;
  with_work<T>([&](T* work, int length) { Routines<T>::geqrf(&m, &n, a, &lda, tau, work, &length, &info); });
  return info;
}

template <class T>
int orgqr(int m, int n, int k, T* a, int lda, const T* tau) {
  int info = 0;
  with_work<T>([&](T* work, int length) { Routines<T>::orgqr(&m, &n, &k, a, &lda, tau, work, &length, &info); });
  return info;
}

template <class T>
int syevd(char jobs, char triangle, int n, T* a, int lda, Real<T>* w) {
  int info = 0, integers = 0;
  Real<T> reals{};
  std::vector<int> integer_work;
  std::vector<Real<T>> real_work;
  with_work<T>([&](T* work, int length) {
    // Its other two workspaces are told with the first.
    if (length > 0) {
      integer_work.resize(static_cast<std::size_t>(std::max(1, integers)));
      if constexpr (kComplex<T>) {
        real_work.resize(
            static_cast<std::size_t>(static_cast<double>(reals) * (1 + 2 * std::numeric_limits<Real<T>>::epsilon())) +
            1);
      }
    }
    int* const own_integers = length > 0 ? integer_work.data() : &integers;
    const int integer_length = length > 0 ? static_cast<int>(integer_work.size()) : -1;
    if constexpr (kComplex<T>) {
      Real<T>* const own_reals = length > 0 ? real_work.data() : &reals;
      const int real_length = length > 0 ? static_cast<int>(real_work.size()) : -1;
      Routines<T>::syevd(&jobs, &triangle, &n, a, &lda, w, work, &length, own_reals, &real_length, own_integers,
                         &integer_length, &info, 1, 1);
    } else {
      Routines<T>::syevd(&jobs, &triangle, &n, a, &lda, w, work, &length, own_integers, &integer_length, &info, 1, 1);
    }
  });
  return info;
}

template <class T>
int gesdd(char jobs, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt) {
  int info = 0;
  const auto least = static_cast<std::size_t>(std::max(1, std::min(m, n))),
             most = static_cast<std::size_t>(std::max(1, std::max(m, n)));
  std::vector<int> integers(8 * least);
  // As its documentation says.
  std::vector<Real<T>> reals(kComplex<T> ? jobs == 'N' ? 7 * least : least * (5 * least + 7 + 2 * most + 2 * least)
                                         : 0);
  with_work<T>([&](T* work, int length) {
    if constexpr (kComplex<T>) {
      Routines<T>::gesdd(&jobs, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &length, reals.data(), integers.data(),
                         &info, 1);
    } else {
      Routines<T>::gesdd(&jobs, &m, &n, a, &lda, s, u, &ldu, vt, &ldvt, work, &length, integers.data(), &info, 1);
    }
  });
  return info;
}

template <class T>
constexpr Lapack<T> kLapack{.potrf = potrf<T>,
                            .getrf = getrf<T>,
                            .trsm = trsm<T>,
                            .geqrf = geqrf<T>,
                            .orgqr = orgqr<T>,
                            .syevd = syevd<T>,
                            .gesdd = gesdd<T>};

}  // namespace

template <class T>
const Lapack<T>* lapack(std::int64_t longest_side) {
  return flag_on(Flag::lapack) && longest_side <= std::numeric_limits<int>::max() ? &kLapack<T> : nullptr;
}

}  // namespace weft::kernels

#else

namespace weft::kernels {

template <class T>
const Lapack<T>* lapack(std::int64_t) {
  return nullptr;
}

}  // namespace weft::kernels

#endif

namespace weft::kernels {

template const Lapack<float>* lapack<float>(std::int64_t);
template const Lapack<double>* lapack<double>(std::int64_t);
template const Lapack<std::complex<float>>* lapack<std::complex<float>>(std::int64_t);

}  // namespace weft::kernels
