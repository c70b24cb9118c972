#include "kernels/matmul/cpu/pairs.h"

#include <algorithm>

#include "kernels/common/instruction_sets.h"

#if WEFT_X86
#include <immintrin.h>
#endif

namespace weft::kernels {
namespace {

#if WEFT_X86

// What the instruction sets with AVX-512 have in common; DOT adds the products of pairs of x and w to sum.
#define WEFT_LANES_512(DOT)                                                                                            \
  struct Lanes {                                                                                                       \
    typedef __m512i V;                                                                                                 \
    static constexpr int kCount = 16;                                                                                  \
    static inline __attribute__((always_inline)) void load(const void* from, V& to) { to = _mm512_loadu_si512(from); } \
    static inline __attribute__((always_inline)) void store(const V& v, void* to) { _mm512_storeu_si512(to, v); }      \
    static inline __attribute__((always_inline)) void zero(V& to) { to = _mm512_setzero_si512(); }                     \
    static inline __attribute__((always_inline)) void widen(const std::int16_t* from, V& to) { load(from, to); }       \
    static inline __attribute__((always_inline)) void widen(const std::int8_t* from, V& to) {                          \
      to = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i*)from));                                             \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void widen(const std::uint8_t* from, V& to) {                         \
      to = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i*)from));                                             \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void repeat(const std::int16_t* pair, V& to) {                        \
      int both;                                                                                                        \
      __builtin_memcpy(&both, pair, sizeof(both));                                                                     \
      to = _mm512_set1_epi32(both);                                                                                    \
    }                                                                                                                  \
    static inline __attribute__((always_inline)) void add_products(const V& x, const V& w, V& sum) { DOT; }            \
  };

WEFT_BEGIN_TARGET("avx512f,avx512dq,avx512bw,avx512vl,avx512vnni,avx2,fma,f16c")
namespace vnni {
WEFT_LANES_512(sum = _mm512_dpwssd_epi32(sum, x, w))
#include "kernels/matmul/cpu/pairs_block.h"
constexpr PairLoops kLoops = loops<8>("pairs_vnni");
}  // namespace vnni
WEFT_END_TARGET
WEFT_BEGIN_TARGET("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")
namespace avx512 {
WEFT_LANES_512(sum = _mm512_add_epi32(sum, _mm512_madd_epi16(x, w)))
#include "kernels/matmul/cpu/pairs_block.h"
constexpr PairLoops kLoops = loops<8>("pairs_avx512");
}  // namespace avx512
WEFT_END_TARGET
WEFT_BEGIN_TARGET("avx2,fma,f16c")
namespace avx2 {
struct Lanes {
  typedef __m256i V;
  static constexpr int kCount = 8;
  static inline __attribute__((always_inline)) void load(const void* from, V& to) {
    to = _mm256_loadu_si256((const __m256i*)from);
  }
  static inline __attribute__((always_inline)) void store(const V& v, void* to) {
    _mm256_storeu_si256((__m256i*)to, v);
  }
  static inline __attribute__((always_inline)) void zero(V& to) { to = _mm256_setzero_si256(); }
  static inline __attribute__((always_inline)) void widen(const std::int16_t* from, V& to) { load(from, to); }
  static inline __attribute__((always_inline)) void widen(const std::int8_t* from, V& to) {
    to = _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i*)from));
  }
  static inline __attribute__((always_inline)) void widen(const std::uint8_t* from, V& to) {
    to = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i*)from));
  }
  static inline __attribute__((always_inline)) void repeat(const std::int16_t* pair, V& to) {
    int both;
    __builtin_memcpy(&both, pair, sizeof(both));
    to = _mm256_set1_epi32(both);
  }
  static inline __attribute__((always_inline)) void add_products(const V& x, const V& w, V& sum) {
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(x, w));
  }
};
#include "kernels/matmul/cpu/pairs_block.h"
constexpr PairLoops kLoops = loops<5>("pairs_avx2");
}  // namespace avx2
WEFT_END_TARGET
#undef WEFT_LANES_512

#endif

// ---- Standard C++. The inner loops have fixed lengths, so that compilers vectorise them.

constexpr int kWidth = 16;

template <class T>
void standard_panel(const PairRun& r) {
  for (std::int64_t row = 0; row < r.rows; ++row) {
    const std::int16_t* const a = r.a + row * r.a_row;
    std::uint32_t* const y = r.y + row * r.pitch;
    std::uint32_t sum[kWidth] = {};
    if (r.add) std::copy_n(y, kWidth, sum);
    const T* b = static_cast<const T*>(r.b);
    for (std::int64_t k = 0; k < r.pairs; ++k, b += 2 * kWidth) {
      const std::int32_t first = a[2 * k], second = a[2 * k + 1];
      // (-32768)² · 2 alone leaves 32 bits, and wraps.
      for (int j = 0; j < kWidth; ++j) {
        sum[j] += static_cast<std::uint32_t>(first * b[2 * j]) + static_cast<std::uint32_t>(second * b[2 * j + 1]);
      }
    }
    std::copy_n(sum, kWidth, y);
  }
}

}  // namespace

const PairLoops& standard_pair_loops() {
  static constexpr PairLoops kLoops = {
      "pairs", kWidth, {standard_panel<std::int8_t>, standard_panel<std::uint8_t>, standard_panel<std::int16_t>}};
  return kLoops;
}

const PairLoops& pair_loops() {
#if WEFT_X86
  static const bool has_vnni = __builtin_cpu_supports("avx512vnni");
  if (instruction_set() == 4) return has_vnni ? vnni::kLoops : avx512::kLoops;
  if (instruction_set() == 3) return avx2::kLoops;
#endif
  return standard_pair_loops();
}

}  // namespace weft::kernels
