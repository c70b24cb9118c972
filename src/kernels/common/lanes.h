// A vector of numbers that stays in registers through a loop: GNU's, or an array that the compiler may vectorise.
#pragma once

#include <cstdint>

#include "core/compiler.h"

namespace weft::kernels {

template <class T>
struct Lanes {
  static constexpr int kCount = 64 / static_cast<int>(sizeof(T));
#if WEFT_GNU
  typedef T V __attribute__((vector_size(64), aligned(sizeof(T)), may_alias));
  V v;
  WEFT_INLINE void load(const T* from) { v = *reinterpret_cast<const V*>(from); }
  WEFT_INLINE void clear() { v = V{}; }
  WEFT_INLINE void store(T* to) const { *reinterpret_cast<V*>(to) = v; }
  WEFT_INLINE void add_product(const Lanes& a, const T* b) { v += a.v * *reinterpret_cast<const V*>(b); }
  WEFT_INLINE void add_product(T a, const T* b) { v += a * *reinterpret_cast<const V*>(b); }
#else
  T v[kCount];
  WEFT_INLINE void load(const T* from) {
    for (int i = 0; i < kCount; ++i) v[i] = from[i];
  }
  WEFT_INLINE void clear() {
    for (int i = 0; i < kCount; ++i) v[i] = 0;
  }
  WEFT_INLINE void store(T* to) const {
    for (int i = 0; i < kCount; ++i) to[i] = v[i];
  }
  WEFT_INLINE void add_product(const Lanes& a, const T* b) {
    for (int i = 0; i < kCount; ++i) v[i] += a.v[i] * b[i];
  }
  WEFT_INLINE void add_product(T a, const T* b) {
    for (int i = 0; i < kCount; ++i) v[i] += a * b[i];
  }
#endif
};

}  // namespace weft::kernels
