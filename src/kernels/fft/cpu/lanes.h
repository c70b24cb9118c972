// Eight complex numbers side by side in f64, as vectors of the compiler where it has them.
#pragma once

#include <complex>
#include <cstdint>

#include "core/compiler.h"

// Everything that a function calls is inlined, so that each instruction set has its own form of it.
#if WEFT_GNU
#define WEFT_FLATTEN __attribute__((flatten))
#else
#define WEFT_FLATTEN
#endif

namespace weft::kernels {

constexpr int kLanes = 8;
// A number of each of the transforms.
#if WEFT_GNU
// The alignment is that of every instruction set, not only of the baseline.
using Lanes = double __attribute__((vector_size(kLanes * sizeof(double)), aligned(kLanes * sizeof(double))));
#else
struct Lanes {
  double v[kLanes];
  double& operator[](int i) { return v[i]; }
  double operator[](int i) const { return v[i]; }
};
inline Lanes operator+(const Lanes& a, const Lanes& b) {
  Lanes c;
  for (int i = 0; i < kLanes; ++i) c.v[i] = a.v[i] + b.v[i];
  return c;
}
inline Lanes operator-(const Lanes& a, const Lanes& b) {
  Lanes c;
  for (int i = 0; i < kLanes; ++i) c.v[i] = a.v[i] - b.v[i];
  return c;
}
inline Lanes operator*(const Lanes& a, const Lanes& b) {
  Lanes c;
  for (int i = 0; i < kLanes; ++i) c.v[i] = a.v[i] * b.v[i];
  return c;
}
inline Lanes operator*(double a, const Lanes& b) {
  Lanes c;
  for (int i = 0; i < kLanes; ++i) c.v[i] = a * b.v[i];
  return c;
}
#endif

struct alignas(kLanes * sizeof(double)) Element {
  Lanes re, im;
};
WEFT_INLINE Element operator+(const Element& a, const Element& b) { return {a.re + b.re, a.im + b.im}; }
WEFT_INLINE Element operator-(const Element& a, const Element& b) { return {a.re - b.re, a.im - b.im}; }
WEFT_INLINE Element operator*(double a, const Element& b) { return {a * b.re, a * b.im}; }
WEFT_INLINE Element operator*(const std::complex<double>& w, const Element& b) {
  return {w.real() * b.re - w.imag() * b.im, w.real() * b.im + w.imag() * b.re};
}
WEFT_INLINE Element operator*(const Element& a, const Element& b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
// Times -i.
WEFT_INLINE Element turned(const Element& a) { return {a.im, -1.0 * a.re}; }
WEFT_INLINE Element conjugate(const Element& a) { return {a.re, -1.0 * a.im}; }
// i times the conjugate. Between two of these a forward transform is the inverse one.
WEFT_INLINE Element swapped(const Element& a) { return {a.im, a.re}; }

WEFT_INLINE void set(Element& e, int lane, std::complex<double> v) {
  e.re[lane] = v.real();
  e.im[lane] = v.imag();
}
WEFT_INLINE std::complex<double> get(const Element& e, int lane) { return {e.re[lane], e.im[lane]}; }

// ---- From and to memory, of any alignment

#if WEFT_GNU
typedef float Float8 __attribute__((vector_size(8 * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef float Float16 __attribute__((vector_size(16 * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef double Double8 __attribute__((vector_size(8 * sizeof(double)), aligned(sizeof(double)), may_alias));
#endif

// Eight numbers one after another, real ones with no imaginary part. (Functions return elements alone: how vectors are
// returned depends on the instruction set.)
WEFT_INLINE Element load_lanes(const float* x) {
#if WEFT_GNU
  return {__builtin_convertvector(*reinterpret_cast<const Float8*>(x), Lanes), Lanes{}};
#else
  Element e;
  for (int l = 0; l < kLanes; ++l) set(e, l, x[l]);
  return e;
#endif
}
WEFT_INLINE Element load_lanes(const std::complex<float>* x) {
#if WEFT_GNU
  const Float16 v = *reinterpret_cast<const Float16*>(x);
  const Float8 re = __builtin_shufflevector(v, v, 0, 2, 4, 6, 8, 10, 12, 14);
  const Float8 im = __builtin_shufflevector(v, v, 1, 3, 5, 7, 9, 11, 13, 15);
  return {__builtin_convertvector(re, Lanes), __builtin_convertvector(im, Lanes)};
#else
  Element e;
  for (int l = 0; l < kLanes; ++l) set(e, l, x[l]);
  return e;
#endif
}
WEFT_INLINE Element load_lanes(const std::complex<double>* x) {
#if WEFT_GNU
  const Double8* pairs = reinterpret_cast<const Double8*>(x);  // (auto would lose its alignment)
  const Double8 a = pairs[0], b = pairs[1];
  return {__builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14),
          __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15)};
#else
  Element e;
  for (int l = 0; l < kLanes; ++l) set(e, l, x[l]);
  return e;
#endif
}
// Numbers whose parts lie apart.
WEFT_INLINE Element load_parts(const double* re, const double* im) {
#if WEFT_GNU
  return {*reinterpret_cast<const Double8*>(re), *reinterpret_cast<const Double8*>(im)};
#else
  Element e;
  for (int l = 0; l < kLanes; ++l) set(e, l, {re[l], im[l]});
  return e;
#endif
}
// The real parts.
WEFT_INLINE void store_lanes(const Element& e, float* y) {
#if WEFT_GNU
  *reinterpret_cast<Float8*>(y) = __builtin_convertvector(e.re, Float8);
#else
  for (int l = 0; l < kLanes; ++l) y[l] = static_cast<float>(e.re[l]);
#endif
}
WEFT_INLINE void store_lanes(const Element& e, std::complex<float>* y) {
#if WEFT_GNU
  const Float8 re = __builtin_convertvector(e.re, Float8), im = __builtin_convertvector(e.im, Float8);
  *reinterpret_cast<Float16*>(y) =
      __builtin_shufflevector(re, im, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  for (int l = 0; l < kLanes; ++l) y[l] = {static_cast<float>(e.re[l]), static_cast<float>(e.im[l])};
#endif
}
WEFT_INLINE void store_lanes(const Element& e, std::complex<double>* y) {
#if WEFT_GNU
  Double8* pairs = reinterpret_cast<Double8*>(y);
  pairs[0] = __builtin_shufflevector(e.re, e.im, 0, 8, 1, 9, 2, 10, 3, 11);
  pairs[1] = __builtin_shufflevector(e.re, e.im, 4, 12, 5, 13, 6, 14, 7, 15);
#else
  for (int l = 0; l < kLanes; ++l) y[l] = get(e, l);
#endif
}
WEFT_INLINE void store_parts(const Element& e, double* re, double* im) {
#if WEFT_GNU
  *reinterpret_cast<Double8*>(re) = e.re;
  *reinterpret_cast<Double8*>(im) = e.im;
#else
  for (int l = 0; l < kLanes; ++l) re[l] = e.re[l], im[l] = e.im[l];
#endif
}

// The first `count` of eight numbers; zeros in the other lanes.
template <class T>
WEFT_INLINE Element load_lanes(const T* x, int count) {
  T part[kLanes] = {};
  for (int l = 0; l < count; ++l) part[l] = x[l];
  return load_lanes(static_cast<const T*>(part));
}
template <class T>
WEFT_INLINE void store_lanes(const Element& e, T* y, int count) {
  T part[kLanes];
  store_lanes(e, static_cast<T*>(part));
  for (int l = 0; l < count; ++l) y[l] = part[l];
}

// The lanes in the other order.
WEFT_INLINE Element reversed(const Element& e) {
#if WEFT_GNU
  return {__builtin_shufflevector(e.re, e.re, 7, 6, 5, 4, 3, 2, 1, 0),
          __builtin_shufflevector(e.im, e.im, 7, 6, 5, 4, 3, 2, 1, 0)};
#else
  Element r;
  for (int l = 0; l < kLanes; ++l) set(r, l, get(e, kLanes - 1 - l));
  return r;
#endif
}

}  // namespace weft::kernels
