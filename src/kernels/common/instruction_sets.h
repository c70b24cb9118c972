// Code that is compiled for instruction sets above the processor family's baseline, and the selection at run time.
#pragma once

#include "core/compiler.h"

namespace weft::kernels {

// Functions defined between BEGIN and END are compiled for the named instruction sets.
#if defined(__x86_64__) && WEFT_GNU
#define WEFT_X86 1
#else
#define WEFT_X86 0
#endif
#if WEFT_X86
#define WEFT_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define WEFT_BEGIN_TARGET(name) WEFT_PRAGMA(clang attribute push(__attribute__((target(name))), apply_to = function))
#define WEFT_END_TARGET WEFT_PRAGMA(clang attribute pop)
#else
#define WEFT_BEGIN_TARGET(name) WEFT_PRAGMA(GCC push_options) WEFT_PRAGMA(GCC target(name))
#define WEFT_END_TARGET WEFT_PRAGMA(GCC pop_options)
#endif
#endif

// The level of x86-64: 4: AVX-512 (F, DQ, BW, VL) and all of 3; 3: AVX2, FMA, F16C and BMI2; 1: everything else.
inline int instruction_set() {
#if WEFT_X86
  static const int level = [] {
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return !avx2 ? 1 : avx512 ? 4 : 3;
  }();
  return level;
#else
  return 1;
#endif
}

// For profiles.
inline const char* instruction_set_name() {
  return instruction_set() == 4 ? "avx512" : instruction_set() == 3 ? "avx2" : "baseline";
}

}  // namespace weft::kernels
