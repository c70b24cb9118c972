// Eight numbers side by side, as vectors of the compiler where it has them.
#pragma once

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
inline Lanes operator*(double a, const Lanes& b) {
  Lanes c;
  for (int i = 0; i < kLanes; ++i) c.v[i] = a * b.v[i];
  return c;
}
#endif

}  // namespace weft::kernels
