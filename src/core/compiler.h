// What is asked of compilers beyond the C++ standard, each with a form for those that lack it. -DWEFT_STANDARD_CXX
// takes the standard forms everywhere, so that they are compiled and tested on any machine.
#pragma once

// GNU's extensions: vectors, attributes, builtins, integers of 128 bits.
#if defined(__GNUC__) && !defined(WEFT_STANDARD_CXX)
#define WEFT_GNU 1
#else
#define WEFT_GNU 0
#endif

// POSIX, which only system_posix.cc uses; system_standard.cc stands in for it, also on the web, whose C library has
// only the names of most of it.
#if (defined(__unix__) || defined(__APPLE__)) && !defined(__EMSCRIPTEN__) && !defined(WEFT_STANDARD_CXX)
#define WEFT_POSIX 1
#else
#define WEFT_POSIX 0
#endif

// WEFT_INLINE and WEFT_INLINE_LAMBDA: inlined also where the compiler would not, because the caller is compiled for
// several instruction sets. WEFT_RESTRICT and WEFT_INDEPENDENT: a pointer that aliases no other, and a loop whose turns
// do not depend on each other. WEFT_PREFETCH(address) asks for what will be read soon; any address may be given.
#if WEFT_GNU
#define WEFT_PREFETCH(address) __builtin_prefetch(address)
#define WEFT_INLINE inline __attribute__((always_inline))
#define WEFT_INLINE_LAMBDA __attribute__((always_inline))
#define WEFT_RESTRICT __restrict
#ifdef __clang__
#define WEFT_INDEPENDENT
#else
#define WEFT_INDEPENDENT _Pragma("GCC ivdep")
#endif
#elif defined(_MSC_VER) && !defined(WEFT_STANDARD_CXX)
#define WEFT_PREFETCH(address) static_cast<void>(address)
#define WEFT_INLINE __forceinline
#define WEFT_INLINE_LAMBDA
#define WEFT_RESTRICT __restrict
#define WEFT_INDEPENDENT __pragma(loop(ivdep))
#else
#define WEFT_PREFETCH(address) static_cast<void>(address)
#define WEFT_INLINE inline
#define WEFT_INLINE_LAMBDA
#define WEFT_RESTRICT
#define WEFT_INDEPENDENT
#endif
