// Loops over blocks of registers, compiled for several instruction sets, one of which is selected at program start.
#pragma once

#include <type_traits>

#include "kernels/common/instruction_sets.h"
#include "kernels/elementwise/scalar_math_cpu.h"

namespace weft::kernels {

// Everything that a loop calls is inlined: past some size of a source the compiler leaves small functions of the
// standard library calls, with which no loop becomes vector code.
#if WEFT_X86
#define WEFT_TARGET_V3 __attribute__((flatten, target("avx2,fma,f16c,bmi2")))
#define WEFT_TARGET_V4 \
  __attribute__((flatten, target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,f16c,bmi2,prefer-vector-width=512")))
#endif

// out[i] = F()(a[i], b[i], c[i]); F is a captureless functor whose call operator is inlined.
template <class F, class Out, class... In>
struct BlockLoop {
  using Function = void (*)(const void*, const void*, const void*, void*, int);

  static WEFT_INLINE void body(const void* const (&args)[3], void* out, int n) {
    run(std::index_sequence_for<In...>(), args, out, n);
  }
  template <std::size_t... k>
  static WEFT_INLINE void run(std::index_sequence<k...>, const void* const (&args)[3], void* out, int n) {
    Out* WEFT_RESTRICT y = static_cast<Out*>(out);
    const std::tuple<const In*...> x{static_cast<const In*>(args[k])...};
    WEFT_INDEPENDENT
    for (int i = 0; i < n; ++i) y[i] = static_cast<Out>(F()(std::get<k>(x)[i]...));
  }

  static void plain(const void* a, const void* b, const void* c, void* out, int n) { body({a, b, c}, out, n); }
#if WEFT_X86
  WEFT_TARGET_V3 static void v3(const void* a, const void* b, const void* c, void* out, int n) {
    body({a, b, c}, out, n);
  }
  WEFT_TARGET_V4 static void v4(const void* a, const void* b, const void* c, void* out, int n) {
    body({a, b, c}, out, n);
  }
#endif

  // `vectors`: the loop gains from more than one version.
  static Function choose(bool vectors) {
#if WEFT_X86
    if (vectors && instruction_set() == 4) return v4;
    if (vectors && instruction_set() == 3) return v3;
#endif
    (void)vectors;
    return plain;
  }
};

// Body::run(args...), a WEFT_INLINE function without a result, compiled for several instruction sets.
template <class Body, class... Args>
struct CompiledLoop {
  using Function = void (*)(Args...);

  static void plain(Args... args) { Body::run(args...); }
#if WEFT_X86
  WEFT_TARGET_V3 static void v3(Args... args) { Body::run(args...); }
  WEFT_TARGET_V4 static void v4(Args... args) { Body::run(args...); }
#endif

  static Function choose() {
#if WEFT_X86
    if (instruction_set() == 4) return v4;
    if (instruction_set() == 3) return v3;
#endif
    return plain;
  }
};

}  // namespace weft::kernels
