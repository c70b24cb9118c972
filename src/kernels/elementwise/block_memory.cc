#include "kernels/elementwise/block_memory.h"

#include <array>
#include <complex>
#include <cstring>
#include <limits>
#include <tuple>

#include "kernels/common/instruction_sets.h"
#if WEFT_X86
#include <immintrin.h>
#endif

#include "core/format.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_loops.h"

namespace weft::kernels {
namespace {

// Branchless versions of SmallFloat's conversions, for loops that become vector code; from bits to bits.
struct WidenF16 {
  WEFT_INLINE float operator()(std::uint16_t h) const {
    const std::uint32_t magnitude = h & 0x7fffu;
    // The exponent is 112 too small; the multiplication corrects it and normalises denormals.
    const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    std::uint32_t b = std::bit_cast<std::uint32_t>(scaled);
    b = magnitude >= 0x7c00u ? b | 0x7f800000u : b;
    return std::bit_cast<float>(b | (h & 0x8000u) << 16);
  }
};
// Converts to a float of e exponent and m mantissa bits; `finite_only` as in Specials::finite_only.
template <class Out, int e, int m, bool finite_only = false>
struct Narrow {
  static constexpr std::uint32_t kBias = (1u << (e - 1)) - 1, kShift = 23 - m, kMagnitude = (1u << (e + m)) - 1;
  static constexpr std::uint32_t kInfinity = ((1u << e) - 1) << m, kOverflow = finite_only ? kMagnitude : kInfinity;
  static constexpr std::uint32_t kSmallestUnit = (127 + 24 - kBias - m) << 23;  // its last place is a denormal's

  WEFT_INLINE Out operator()(float f) const {
    const auto b = std::bit_cast<std::uint32_t>(f);
    const std::uint32_t a = b & 0x7fffffffu;
    const std::uint32_t normal =
        (a + ((1u << (kShift - 1)) - 1) + ((a >> kShift) & 1u) - ((127 - kBias) << 23)) >> kShift;
    // The sum has a denormal's rounded bits at its bottom.
    const std::uint32_t denormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + std::bit_cast<float>(kSmallestUnit)) - kSmallestUnit;
    std::uint32_t r = a < ((128 - kBias) << 23) ? denormal : normal;
    r = ((a >= 0x7f800000u) | (r >= kOverflow)) ? kOverflow : r;
    const std::uint32_t nan =
        finite_only ? kMagnitude : kInfinity | (1u << (m - 1)) | ((a >> kShift) & ((1u << m) - 1));
    r = a > 0x7f800000u ? nan : r;
    return static_cast<Out>(r | (b >> 31) << (e + m));
  }
};
#if WEFT_X86
// The same by the processor's own conversion, which rounds alike and keeps as much of a NaN.
WEFT_TARGET_V3 void narrow_f16(const void* a, const void*, const void*, void* out, int n) {
  const float* const x = static_cast<const float*>(a);
  auto* const y = static_cast<std::uint16_t*>(out);
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT));
  }
  for (; i < n; ++i) y[i] = Narrow<std::uint16_t, 5, 10>()(x[i]);
}
#endif

struct WidenBF16 {
  WEFT_INLINE float operator()(std::uint16_t h) const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(h) << 16);
  }
};
struct NarrowBF16 {
  WEFT_INLINE std::uint16_t operator()(float f) const {
    const auto b = std::bit_cast<std::uint32_t>(f);
    const std::uint32_t r = (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
    return static_cast<std::uint16_t>((b & 0x7fffffffu) > 0x7f800000u ? (b >> 16) | 0x40u : r);
  }
};
template <class R>
struct IsNotZero {  // bool: any non-zero byte is true
  WEFT_INLINE R operator()(std::uint8_t b) const { return b != 0; }
};
// From f32 towards zero, saturating, NaN to 0.
template <class To>
struct Saturated {
  WEFT_INLINE To operator()(float x) const {
    constexpr float low = static_cast<float>(std::numeric_limits<To>::min());
    constexpr float above = 2.0f * static_cast<float>(std::numeric_limits<To>::max() / 2 + 1);
    constexpr float high = sizeof(To) < 4 ? above - 1 : above * (1 - 0x1p-24f);  // the largest below it
    float v = x > low ? x : low;
    v = v < high ? v : high;
    v = x == x ? v : 0.0f;
    if constexpr (std::is_same_v<To, std::uint32_t>) {
      const bool upper = v >= 0x1p31f;
      const auto r = static_cast<std::uint32_t>(static_cast<std::int32_t>(upper ? v - 0x1p31f : v));
      const std::uint32_t all = upper ? r + 0x80000000u : r;
      return x >= above ? std::numeric_limits<To>::max() : all;
    } else {
      const auto r = static_cast<std::int32_t>(v);
      return static_cast<To>(sizeof(To) == 4 && x >= above ? std::numeric_limits<std::int32_t>::max() : r);
    }
  }
};
template <class To>
struct As {
  template <class T>
  WEFT_INLINE To operator()(T x) const {
    return static_cast<To>(x);
  }
};

// Loads and stores elements T as registers R, by functors.
template <class T, class R, class Load, class Store>
struct Memory {
  static void load(const std::byte* data, std::int64_t first, std::int64_t stride, int n, void* registers) {
    const T* p = reinterpret_cast<const T*>(data) + first;
    auto* r = static_cast<R*>(registers);
    if (stride == 1) {
      static const auto loop = BlockLoop<Load, R, T>::choose(true);
      loop(p, nullptr, nullptr, r, n);
    } else if (stride == 0) {
      std::fill_n(r, n, Load()(*p));
    } else {
      for (int i = 0; i < n; ++i) r[i] = Load()(p[i * stride]);
    }
  }
  static void store(std::byte* data, std::int64_t first, std::int64_t stride, int n, const void* registers) {
    T* p = reinterpret_cast<T*>(data) + first;
    const auto* r = static_cast<const R*>(registers);
    if (stride == 1) {
      static const auto loop = [] {
#if WEFT_X86
        if (std::is_same_v<Store, Narrow<std::uint16_t, 5, 10>> && instruction_set() >= 3) return &narrow_f16;
#endif
        return BlockLoop<Store, T, R>::choose(true);
      }();
      int done = 0;
      if constexpr (sizeof(T) == 1 && sizeof(R) == 4) {
        // Vectors of bytes have so many elements that what is left of them would take as long as the rest.
        constexpr int kVector = 64, kFew = 8;
        done = n / kVector * kVector;
        if (done > 0) loop(r, nullptr, nullptr, p, done);
        if (const int rest = n - done; rest >= kFew) {
          R from[kVector] = {};
          T to[kVector];
          std::copy_n(r + done, rest, from);
          loop(from, nullptr, nullptr, to, kVector);
          std::copy_n(to, rest, p + done);
          done = n;
        }
      }
      if (done < n) loop(r + done, nullptr, nullptr, p + done, n - done);
    } else {
      for (int i = 0; i < n; ++i) p[i * stride] = Store()(r[i]);
    }
  }
  // Elements are brought together first, so that their conversion is vector code.
  static void gather(const std::byte* data, std::int64_t first, const std::int64_t* offsets, int n, void* registers) {
    const T* p = reinterpret_cast<const T*>(data) + first;
    auto* r = static_cast<R*>(registers);
    if constexpr (std::is_same_v<T, R>) {
      for (int i = 0; i < n; ++i) r[i] = Load()(p[offsets[i]]);
    } else {
      T together[kTogether];
      for (int begin = 0; begin < n; begin += kTogether) {
        const int count = std::min(kTogether, n - begin);
        for (int i = 0; i < count; ++i) together[i] = p[offsets[begin + i]];
        load(reinterpret_cast<const std::byte*>(together), 0, 1, count, r + begin);
      }
    }
  }
  static void scatter(std::byte* data, std::int64_t first, const std::int64_t* offsets, int n, const void* registers) {
    T* p = reinterpret_cast<T*>(data) + first;
    const auto* r = static_cast<const R*>(registers);
    if constexpr (std::is_same_v<T, R>) {
      for (int i = 0; i < n; ++i) p[offsets[i]] = Store()(r[i]);
    } else {
      T together[kTogether];
      for (int begin = 0; begin < n; begin += kTogether) {
        const int count = std::min(kTogether, n - begin);
        store(reinterpret_cast<std::byte*>(together), 0, 1, count, r + begin);
        for (int i = 0; i < count; ++i) p[offsets[begin + i]] = together[i];
      }
    }
  }

 private:
  static constexpr int kTogether = 512;
};

template <class Float>
struct Widen8Float {
  float operator()(std::uint8_t b) const {
    static const auto values = [] {
      std::array<float, 256> all{};
      for (unsigned k = 0; k < 256; ++k) all[k] = Float::from_bits(static_cast<std::uint8_t>(k));
      return all;
    }();
    return values[b];
  }
};
// Elements of 4 or 2 bits.
template <int width, bool has_sign>
struct Packed {
  using R = std::conditional_t<has_sign, std::int64_t, std::uint64_t>;
  static constexpr int kPerByte = 8 / width;

  using Byte = std::array<R, kPerByte>;
  // The elements of each byte.
  static constexpr auto kBytes = [] {
    std::array<Byte, 256> bytes{};
    for (unsigned b = 0; b < 256; ++b) {
      for (int e = 0; e < kPerByte; ++e) {
        bytes[b][e] = static_cast<R>(static_cast<std::uint64_t>(b) << (64 - width * (e + 1))) >> (64 - width);
      }
    }
    return bytes;
  }();

  static void load(const std::byte* data, std::int64_t first, std::int64_t stride, int n, void* registers) {
    auto* r = static_cast<R*>(registers);
    int i = 0;
    const auto one = [&] {
      const std::int64_t at = (first + i * stride) * width;  // negative in a reversed view
      r[i] = kBytes[static_cast<std::size_t>(data[at >> 3])][static_cast<std::size_t>((at & 7) / width)];
    };
    if (stride == 1) {
      for (; i < n && (first + i) % kPerByte != 0; ++i) one();
      const std::byte* b = data + ((first + i) * width >> 3);
      for (; i + kPerByte <= n; i += kPerByte) {
        std::memcpy(r + i, &kBytes[static_cast<std::size_t>(*b++)], sizeof(Byte));
      }
    }
    for (; i < n; ++i) one();
  }
  static void store(std::byte* data, std::int64_t first, std::int64_t stride, int n, const void* registers) {
    const auto* r = static_cast<const R*>(registers);
    constexpr unsigned mask = (1u << width) - 1;
    int i = 0;
    const auto one = [&] {
      const std::int64_t at = (first + i * stride) * width;
      const auto shift = static_cast<unsigned>(at & 7);
      data[at >> 3] = static_cast<std::byte>((static_cast<unsigned>(data[at >> 3]) & ~(mask << shift)) |
                                             (static_cast<unsigned>(r[i]) & mask) << shift);
    };
    if (stride == 1) {
      for (; i < n && (first + i) % kPerByte != 0; ++i) one();
      std::byte* b = data + ((first + i) * width >> 3);
      for (; i + kPerByte <= n; i += kPerByte) {
        unsigned byte = 0;
        for (int e = 0; e < kPerByte; ++e) byte |= (static_cast<unsigned>(r[i + e]) & mask) << (e * width);
        *b++ = static_cast<std::byte>(byte);
      }
    }
    for (; i < n; ++i) one();
  }
  static void gather(const std::byte* data, std::int64_t first, const std::int64_t* offsets, int n, void* registers) {
    for (int i = 0; i < n; ++i) load(data, first + offsets[i], 0, 1, static_cast<R*>(registers) + i);
  }
  static void scatter(std::byte* data, std::int64_t first, const std::int64_t* offsets, int n, const void* registers) {
    for (int i = 0; i < n; ++i) store(data, first + offsets[i], 0, 1, static_cast<const R*>(registers) + i);
  }
};

template <class M>
constexpr BlockMemory functions() {
  return {M::load, M::store, M::gather, M::scatter};
}
template <class T, class R>
using Integer = Memory<T, R, As<R>, As<T>>;
template <class T>
using IntegerAsF32 = Memory<T, float, As<float>, Saturated<T>>;

BlockMemory memory(DType type) {
  using I = std::int64_t;
  using U = std::uint64_t;
  switch (type) {
    case DType::f32:
      return functions<Memory<float, float, As<float>, As<float>>>();
    case DType::f64:
      return functions<Memory<double, double, As<double>, As<double>>>();
    case DType::f16:
      return functions<Memory<std::uint16_t, float, WidenF16, Narrow<std::uint16_t, 5, 10>>>();
    case DType::bf16:
      return functions<Memory<std::uint16_t, float, WidenBF16, NarrowBF16>>();
    case DType::f8e4m3:
      return functions<Memory<std::uint8_t, float, Widen8Float<float8_e4m3>, Narrow<std::uint8_t, 4, 3, true>>>();
    case DType::f8e5m2:
      return functions<Memory<std::uint8_t, float, Widen8Float<float8_e5m2>, Narrow<std::uint8_t, 5, 2>>>();
    case DType::i8:
      return functions<Integer<std::int8_t, I>>();
    case DType::i16:
      return functions<Integer<std::int16_t, I>>();
    case DType::i32:
      return functions<Integer<std::int32_t, I>>();
    case DType::i64:
      return functions<Integer<I, I>>();
    case DType::u8:
      return functions<Integer<std::uint8_t, U>>();
    case DType::u16:
      return functions<Integer<std::uint16_t, U>>();
    case DType::u32:
      return functions<Integer<std::uint32_t, U>>();
    case DType::u64:
      return functions<Integer<U, U>>();
    case DType::c64:
      return functions<
          Memory<std::complex<float>, std::complex<float>, As<std::complex<float>>, As<std::complex<float>>>>();
    case DType::boolean:
      return functions<Memory<std::uint8_t, U, IsNotZero<U>, As<std::uint8_t>>>();
    case DType::i4:
      return functions<Packed<4, true>>();
    case DType::u4:
      return functions<Packed<4, false>>();
    case DType::i2:
      return functions<Packed<2, true>>();
    case DType::u2:
      return functions<Packed<2, false>>();
  }
  throw InternalError("dtype {} has no CPU form", static_cast<int>(type));
}

}  // namespace

BlockMemory block_memory(DType type, bool as_f32) {
  if (type == DType::boolean) {
    return functions<Memory<std::uint8_t, std::uint8_t, IsNotZero<std::uint8_t>, As<std::uint8_t>>>();
  }
  if (!as_f32) return memory(type);
  switch (type) {
    case DType::i8:
      return functions<IntegerAsF32<std::int8_t>>();
    case DType::i16:
      return functions<IntegerAsF32<std::int16_t>>();
    case DType::i32:
      return functions<IntegerAsF32<std::int32_t>>();
    case DType::u8:
      return functions<IntegerAsF32<std::uint8_t>>();
    case DType::u16:
      return functions<IntegerAsF32<std::uint16_t>>();
    case DType::u32:
      return functions<IntegerAsF32<std::uint32_t>>();
    default:
      throw InternalError("{} is not moved to f32 registers", name(type));
  }
}

LoadBlock load_block(DType type) { return memory(type).load; }
StoreBlock store_block(DType type) { return memory(type).store; }
GatherBlock gather_block(DType type) { return memory(type).gather; }

void round_block(DType type, float* registers, int n) {
  if (type == DType::bf16) {
    // In the registers, as vector code: numbers are cut into parts by it (quantize/expressions.cc).
    for (int i = 0; i < n; ++i) {
      registers[i] = std::bit_cast<float>(static_cast<std::uint32_t>(NarrowBF16()(registers[i])) << 16);
    }
    return;
  }
  std::uint64_t narrow[64];
  const BlockMemory m = memory(type);
  for (int i = 0; i < n; i += 64) {
    const int count = std::min(64, n - i);
    m.store(reinterpret_cast<std::byte*>(narrow), 0, 1, count, registers + i);
    m.load(reinterpret_cast<const std::byte*>(narrow), 0, 1, count, registers + i);
  }
}

}  // namespace weft::kernels
