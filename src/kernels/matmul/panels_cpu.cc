#include "kernels/matmul/panels_cpu.h"

#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define WEFT_X86 1
#else
#define WEFT_X86 0
#endif
#define WEFT_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define WEFT_BEGIN_TARGET(name) WEFT_PRAGMA(clang attribute push(__attribute__((target(name))), apply_to = function))
#define WEFT_END_TARGET WEFT_PRAGMA(clang attribute pop)
#else
#define WEFT_BEGIN_TARGET(name) WEFT_PRAGMA(GCC push_options) WEFT_PRAGMA(GCC target(name))
#define WEFT_END_TARGET WEFT_PRAGMA(GCC pop_options)
#endif

namespace weft::kernels {
namespace {

// Tiles of so many rows × two vectors fill the registers.
#if WEFT_X86
WEFT_BEGIN_TARGET("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")
namespace avx512 {
#include "kernels/matmul/panels_block.h"
constexpr PanelLoops kLoops = loops<16, 8>();
}  // namespace avx512
WEFT_END_TARGET
WEFT_BEGIN_TARGET("avx2,fma,f16c")
namespace avx2 {
#include "kernels/matmul/panels_block.h"
constexpr PanelLoops kLoops = loops<8, 5>();
}  // namespace avx2
WEFT_END_TARGET
#endif
namespace plain {
#include "kernels/matmul/panels_block.h"
constexpr PanelLoops kLoops = loops<4, 4>();
}  // namespace plain

const PanelLoops& choose() {
#if WEFT_X86
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
    return avx512::kLoops;
  }
  if (avx2) return avx2::kLoops;
#endif
  return plain::kLoops;
}

}  // namespace

const PanelLoops& panel_loops() {
  static const PanelLoops& loops = choose();
  return loops;
}

}  // namespace weft::kernels
