#include "kernels/linalg/cpu/lapack.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/format.h"
#include "weft/error.h"
#include "weft/flags.h"
#include "weft/view.h"

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

// So many elements of a workspace. LAPACK says the number as an element of the matrix, which may have been rounded
// down.
template <class R>
std::uint64_t elements(R told) {
  const double wanted = static_cast<double>(told) * (1 + 2 * std::numeric_limits<R>::epsilon());
  if (!(wanted < std::numeric_limits<int>::max()))
    throw OutOfMemory("LAPACK: a workspace of {} elements is more than its integers count", wanted);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
}
template <class T>
class Workspace {
 public:
  explicit Workspace(std::uint64_t count)
      : length_(static_cast<int>(count)), memory_(Buffer::host(count * sizeof(T))) {}
  T* data() { return reinterpret_cast<T*>(memory_.data()); }
  int length() const { return length_; }

 private:
  int length_;
  Buffer memory_;
};

// Calls f(work, length of work), first to be told the length.
template <class T, class F>
void with_work(F&& f) {
  T size{};
  f(&size, -1);
  Workspace<T> work(elements(std::real(size)));
  f(work.data(), work.length());
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
  int info = 0;
  const auto call = [&](T* work, int length, Real<T>* reals, int real_length, int* integers, int integer_length) {
    if constexpr (kComplex<T>) {
      Routines<T>::syevd(&jobs, &triangle, &n, a, &lda, w, work, &length, reals, &real_length, integers,
                         &integer_length, &info, 1, 1);
    } else {
      Routines<T>::syevd(&jobs, &triangle, &n, a, &lda, w, work, &length, integers, &integer_length, &info, 1, 1);
    }
  };
  T size{};
  Real<T> reals{};
  int integers = 0;
  call(&size, -1, &reals, -1, &integers, -1);
  Workspace<T> work(elements(std::real(size)));
  Workspace<Real<T>> real_work(elements(reals));
  Workspace<int> integer_work(static_cast<std::uint64_t>(std::max(1, integers)));
  call(work.data(), work.length(), real_work.data(), real_work.length(), integer_work.data(), integer_work.length());
  return info;
}

template <class T>
int gesdd(char jobs, int m, int n, T* a, int lda, Real<T>* s, T* u, int ldu, T* vt, int ldvt) {
  int info = 0;
  const auto least = static_cast<std::uint64_t>(std::max(1, std::min(m, n))),
             most = static_cast<std::uint64_t>(std::max(1, std::max(m, n)));
  Workspace<int> integers(8 * least);
  // As its documentation says.
  Workspace<Real<T>> reals(!kComplex<T> ? 1 : jobs == 'N' ? 7 * least : least * (7 * least + 2 * most + 7));
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
