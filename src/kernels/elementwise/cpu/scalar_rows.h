// The CPU's tables of scalar operations: how a row is made of a functor. Tables are in several sources, since each row
// is many loops.
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <span>
#include <tuple>

#include "kernels/elementwise/block_loops.h"
#include "kernels/elementwise/complex_math_cpu.h"
#include "kernels/elementwise/scalar_arithmetic_cpu.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/elementwise/scalar_ops_cpu.h"

namespace weft::kernels::scalar_rows {

using Function = CpuExpression::Function;
using I = std::int64_t;
using U = std::uint64_t;
using B = std::uint8_t;                     // a boolean
using Functions = std::array<Function, 6>;  // of each CpuRegister

// One row of a table: the operation and its loop for each CpuRegister; null where it is not defined.
struct ScalarRow {
  ScalarOp op;
  Functions functions;
};

// The result's register: that of the operands, except for booleans and conversions between real and complex numbers.
template <class T, class R, bool boolean>
using Result =
    std::conditional_t<boolean, B, std::conditional_t<std::is_same_v<R, Complex> || std::is_same_v<T, Complex>, R, T>>;

// The loop of a functor whose vector code is not valid for all arguments: usual() says for which it is, and rest()
// computes the others.
template <class F, class T, class... In>
struct MendedLoop {
  static void run(const void* a, const void* b, const void* c, void* out, int n) {
    static const Function loop = BlockLoop<F, T, In...>::choose(true);
    loop(a, b, c, out, n);
    mend(std::index_sequence_for<In...>(), {a, b, c}, static_cast<T*>(out), n);
  }

 private:
  template <std::size_t... k>
  static void mend(std::index_sequence<k...>, const void* const (&args)[3], T* y, int n) {
    const std::tuple<const In*...> x{static_cast<const In*>(args[k])...};
    int rare = 0;
    for (int i = 0; i < n; ++i) rare += !F::usual(std::get<k>(x)[i]...);
    for (int i = 0; rare > 0; ++i) {
      if (F::usual(std::get<k>(x)[i]...)) continue;
      y[i] = F::rest(std::get<k>(x)[i]...);
      --rare;
    }
  }
};
template <class F, class T>
concept Mended = requires(T x) { F::usual(x); } || requires(T x) { F::usual(x, x); };

template <class F, class T, int arity, bool boolean, bool vectors>
Function loop() {
  if constexpr (Mended<F, T>) {
    if constexpr (arity == 1)
      return MendedLoop<F, T, T>::run;
    else
      return MendedLoop<F, T, T, T>::run;
  }
  using Out = decltype([] {
    if constexpr (arity == 1)
      return Result<T, decltype(F()(T())), boolean>();
    else if constexpr (arity == 2)
      return Result<T, decltype(F()(T(), T())), boolean>();
    else
      return Result<T, decltype(F()(T(), T(), T())), boolean>();
  }());
  if constexpr (arity == 1)
    return BlockLoop<F, Out, T>::choose(vectors);
  else if constexpr (arity == 2)
    return BlockLoop<F, Out, T, T>::choose(vectors);
  else
    return BlockLoop<F, Out, T, T, T>::choose(vectors);
}

// The instances of a functor for the registers of `types`.
template <unsigned types, int arity, bool boolean = false, class F>
ScalarRow row(ScalarOp op, F) {
  ScalarRow r{op, {}};
  if constexpr (types & kFloat) {
    r.functions[0] = loop<F, float, arity, boolean, true>();
    r.functions[1] = loop<F, double, arity, boolean, false>();
  }
  if constexpr (types & kSigned) r.functions[2] = loop<F, I, arity, boolean, true>();
  if constexpr (types & kUnsigned) r.functions[3] = loop<F, U, arity, boolean, true>();
  if constexpr (types & kComplex) r.functions[4] = loop<F, Complex, arity, boolean, true>();
  if constexpr (types & kBool) r.functions[5] = loop<F, B, arity, boolean, true>();
  return r;
}

// f32 by wide_function (vector code in double), f64 by the C library.
template <auto wide_function, auto library_function>
struct Transcendental {
  WEFT_INLINE float operator()(float x) const { return static_cast<float>(wide_function(x)); }
  WEFT_INLINE double operator()(double x) const { return library_function(x); }
};
template <auto wide_function, auto library_function>
struct Transcendental2 {
  WEFT_INLINE float operator()(float a, float b) const { return static_cast<float>(wide_function(a, b)); }
  WEFT_INLINE double operator()(double a, double b) const { return library_function(a, b); }
};
#define WEFT_WIDE(wide_name, ...) \
  Transcendental<[](double x) WEFT_INLINE_LAMBDA { return wide::wide_name(x); }, __VA_ARGS__> {}
#define WEFT_WIDE2(wide_name, ...) \
  Transcendental2<[](double a, double b) WEFT_INLINE_LAMBDA { return wide::wide_name(a, b); }, __VA_ARGS__> {}

#define WEFT_UNARY(T, x, ...)     \
  [](auto x) WEFT_INLINE_LAMBDA { \
    using T = decltype(x);        \
    (void)sizeof(T);              \
    return __VA_ARGS__;           \
  }
#define WEFT_BINARY(T, a, b, ...)         \
  [](auto a, auto b) WEFT_INLINE_LAMBDA { \
    using T = decltype(a);                \
    (void)sizeof(T);                      \
    return __VA_ARGS__;                   \
  }
#define WEFT_TERNARY(T, a, b, c, ...)             \
  [](auto a, auto b, auto c) WEFT_INLINE_LAMBDA { \
    using T = decltype(a);                        \
    (void)sizeof(T);                              \
    return __VA_ARGS__;                           \
  }

// The other tables than that of scalar_ops_cpu.cc.
std::span<const ScalarRow> transcendental_rows();
std::span<const ScalarRow> special_rows();

}  // namespace weft::kernels::scalar_rows
