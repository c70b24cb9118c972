// Loads and stores of a reduction's values (values.h).
#include <complex>
#include <concepts>
#include <limits>
#include <type_traits>

#include "core/format.h"
#include "kernels/elementwise/block_loops.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/reduce/cpu/values.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

template <class T>
struct As {
  template <class X>
  WEFT_INLINE T operator()(X x) const {
    return static_cast<T>(x);
  }
};
template <class T>
struct IsNotZero {
  template <class X>
  WEFT_INLINE T operator()(X x) const {
    return static_cast<T>(x != X(0));
  }
};
// values[i] = F()(x[i · stride]); at most a chunk of them.
template <class F, class X, class T>
void convert(const X* x, std::int64_t stride, std::int64_t count, T* values) {
  if (stride == 1) {
    static const auto loop = BlockLoop<F, T, X>::choose(true);
    return loop(x, nullptr, nullptr, values, static_cast<int>(count));
  }
  for (std::int64_t i = 0; i < count; ++i) values[i] = F()(x[i * stride]);
}

template <class T, class F, class X>
ValueLoad converting() {
  return {[](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, void* values) {
            convert<F>(reinterpret_cast<const X*>(base) + offset, stride, count, static_cast<T*>(values));
          },
          sizeof(T)};
}

// Elements of 4 or 2 bits.
template <class T, DType type>
Access<T> packed_access(bool truth) {
  const auto load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count,
                       void* values) {
    static const LoadBlock block = load_block(type);
    block(base, offset, stride, static_cast<int>(count), values);  // at most a chunk
  };
  const auto load_truth = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count,
                             void* values) {
    static const LoadBlock block = load_block(type);
    block(base, offset, stride, static_cast<int>(count), values);
    for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(values)[i] = static_cast<T*>(values)[i] != 0;
  };
  const auto store = [](std::byte* base, std::int64_t offset, T value) {
    static const StoreBlock block = store_block(type);
    block(base, offset, 1, 1, &value);
  };
  // Truth values are counted in T, whatever the element type.
  if (truth) return {{load_truth, sizeof(T)}, store, std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
  const T last = (T{1} << (bits(type) - (is_signed(type) ? 1 : 0))) - 1;
  return {{load, sizeof(T)}, store, is_signed(type) ? static_cast<T>(-last - 1) : T{0}, last};
}
template <class T>
Access<T> packed_access(DType type, bool truth) {
  switch (type) {
    case DType::i4:
      return packed_access<T, DType::i4>(truth);
    case DType::u4:
      return packed_access<T, DType::u4>(truth);
    case DType::i2:
      return packed_access<T, DType::i2>(truth);
    default:
      return packed_access<T, DType::u2>(truth);
  }
}

// Floats narrower than f32, a block at a time.
template <class X>
constexpr DType narrow_type() {
  return std::is_same_v<X, float16>       ? DType::f16
         : std::is_same_v<X, bfloat16>    ? DType::bf16
         : std::is_same_v<X, float8_e4m3> ? DType::f8e4m3
                                          : DType::f8e5m2;
}
template <class T, class X>
void load_narrow(const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count, void* values) {
  static const LoadBlock load = load_block(narrow_type<X>());
  if constexpr (std::is_same_v<T, float>) {
    load(base, offset, stride, static_cast<int>(count), values);
  } else {
    float wide[256];
    for (std::int64_t at = 0; at < count; at += 256) {
      const int n = static_cast<int>(std::min<std::int64_t>(256, count - at));
      load(base, offset + at * stride, stride, n, wide);
      for (int i = 0; i < n; ++i) static_cast<T*>(values)[at + i] = static_cast<T>(wide[i]);
    }
  }
}

template <class X>
constexpr bool kComplex = std::is_same_v<X, std::complex<float>>;
template <class X>
constexpr bool kNarrowFloat = std::is_class_v<X> && !kComplex<X>;

// Whether elements of type X are reduced as values of T.
template <class T, class X>
constexpr bool is_value() {
  if constexpr (std::is_floating_point_v<T>)
    return std::is_same_v<T, X> || (std::is_same_v<X, float> || kNarrowFloat<X>);
  else if constexpr (sizeof(T) == 8)
    return std::is_integral_v<X> && !std::is_same_v<X, bool> && std::is_signed_v<X> == std::is_signed_v<T>;
  else
    return std::is_same_v<T, X>;
}
// Whether their truth is.
template <class T, class X>
constexpr bool is_truth() {
  return std::is_same_v<T, std::uint64_t> || (std::is_same_v<T, std::uint8_t> && std::is_same_v<X, bool>);
}

template <class T, class X>
ValueLoad load_of(bool truth) {
  if constexpr (is_truth<T, X>()) {
    // A boolean may be any byte, of which only 0 is false.
    using Stored = std::conditional_t<std::is_same_v<X, bool>, std::uint8_t, X>;
    if (truth) return converting<T, IsNotZero<T>, Stored>();
  }
  if constexpr (is_value<T, X>()) {
    if constexpr (kNarrowFloat<X>) {
      if (!truth) return {load_narrow<T, X>, sizeof(T)};
    } else {
      if (!truth) return converting<T, As<T>, X>();
    }
  }
  (void)truth;
  return {[](const std::byte*, std::int64_t, std::int64_t, std::int64_t, void*) {
            throw InternalError("reduce: elements of a type that are no values");
          },
          sizeof(T)};
}

}  // namespace

template <class T>
Access<T> access(DType type, bool truth) {
  if constexpr (std::is_integral_v<T> && sizeof(T) == 8) {
    if (bits(type) < 8) return packed_access<T>(type, truth);
  }
  return with_type(type, [&]<class X>() -> Access<T> {
    Access<T> a{.load = load_of<T, X>(truth),
                .store = nullptr,
                .least = std::numeric_limits<T>::lowest(),
                .largest = std::numeric_limits<T>::max()};
    if constexpr (std::is_integral_v<X>) {
      if (!truth) {
        a.least = static_cast<T>(std::numeric_limits<X>::lowest());
        a.largest = static_cast<T>(std::numeric_limits<X>::max());
      }
    }
    if constexpr (!kComplex<X>) {
      a.store = [](std::byte* base, std::int64_t offset, T value) {
        X& y = reinterpret_cast<X*>(base)[offset];
        if constexpr (std::is_same_v<X, double> || std::is_integral_v<X>)
          y = static_cast<X>(value);
        else
          y = X(static_cast<float>(value));
      };
    }
    return a;
  });
}
template <>
Access<std::complex<double>> access(DType, bool) {
  using T = std::complex<double>;
  using X = std::complex<float>;
  const auto load = [](const std::byte* base, std::int64_t offset, std::int64_t stride, std::int64_t count,
                       void* values) {
    const X* x = reinterpret_cast<const X*>(base) + offset;
    for (std::int64_t i = 0; i < count; ++i) static_cast<T*>(values)[i] = x[i * stride];
  };
  const auto store = [](std::byte* base, std::int64_t offset, T value) {
    reinterpret_cast<X*>(base)[offset] = X(static_cast<float>(value.real()), static_cast<float>(value.imag()));
  };
  return {{load, sizeof(T)}, store, {}, {}};
}
template Access<float> access(DType, bool);
template Access<double> access(DType, bool);
template Access<std::int64_t> access(DType, bool);
template Access<std::uint64_t> access(DType, bool);
template Access<std::int32_t> access(DType, bool);
template Access<std::uint32_t> access(DType, bool);
template Access<std::uint8_t> access(DType, bool);

}  // namespace weft::kernels
