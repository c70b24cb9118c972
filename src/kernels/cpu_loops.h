// What the CPU kernels share: the C++ type of a data type, iteration over views of any strides, and the cores.
#pragma once

#include <complex>
#include <cstring>

#include "core/format.h"
#include "core/parallel.h"
#include "cpu/executor.h"
#include "cpu/kernel_form.h"
#include "weft/error.h"
#include "weft/small_float.h"
#include "weft/view.h"

namespace weft::kernels {

// Calls f.template operator()<T>() with the C++ type that stores `type`. Packed types (i4, …) have none.
template <class F>
decltype(auto) with_type(DType type, F&& f) {
  switch (type) {
    case DType::f32:
      return f.template operator()<float>();
    case DType::f16:
      return f.template operator()<float16>();
    case DType::bf16:
      return f.template operator()<bfloat16>();
    case DType::f64:
      return f.template operator()<double>();
    case DType::i8:
      return f.template operator()<std::int8_t>();
    case DType::i16:
      return f.template operator()<std::int16_t>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::u8:
      return f.template operator()<std::uint8_t>();
    case DType::u16:
      return f.template operator()<std::uint16_t>();
    case DType::u32:
      return f.template operator()<std::uint32_t>();
    case DType::u64:
      return f.template operator()<std::uint64_t>();
    case DType::boolean:
      return f.template operator()<bool>();
    case DType::c64:
      return f.template operator()<std::complex<float>>();
    case DType::f8e4m3:
      return f.template operator()<float8_e4m3>();
    case DType::f8e5m2:
      return f.template operator()<float8_e5m2>();
    default:
      throw Unsupported("no CPU form of {} yet", name(type));
  }
}

// Calls f.template operator()<T>() with T the unsigned integer of that many bits.
template <class F>
void with_bits(int bits, F&& f) {
  switch (bits) {
    case 8:
      return f.template operator()<std::uint8_t>();
    case 16:
      return f.template operator()<std::uint16_t>();
    case 32:
      return f.template operator()<std::uint32_t>();
    default:
      return f.template operator()<std::uint64_t>();
  }
}

// The view's first element.
template <class T>
T* data(const View& view) {
  return reinterpret_cast<T*>(view.buffer.data() + view.offset);
}

// Calls f(offset…) for each index of `shape` in row-major order, with the element offset along each of `strides`.
template <std::size_t n, class F>
void for_each_offset(const Shape& shape, const std::array<Strides, n>& strides, F&& f) {
  const std::int64_t count = element_count(shape);
  Dims index = Dims::filled(shape.rank(), 0);
  std::array<std::int64_t, n> offset{};
  for (std::int64_t i = 0; i < count; ++i) {
    std::apply(f, offset);
    for (int d = shape.rank() - 1; d >= 0; --d) {
      if (++index[d] < shape[d]) {
        for (std::size_t k = 0; k < n; ++k) offset[k] += strides[k][d];
        break;
      }
      index[d] = 0;
      for (std::size_t k = 0; k < n; ++k) offset[k] -= strides[k][d] * (shape[d] - 1);
    }
  }
}

// Element offset of the row-major index `i` of `layout`.
inline std::int64_t offset_of(const Layout& layout, std::int64_t i) {
  std::int64_t offset = 0;
  for (int d = layout.rank() - 1; d >= 0; --d) {
    offset += i % layout.shape[d] * layout.strides[d];
    i /= layout.shape[d];
  }
  return offset;
}

// offsets[i] = offset_of(layout, first + i) for i < n.
inline void offsets_of(const Layout& layout, std::int64_t first, std::int64_t n, std::int64_t* offsets) {
  const std::int64_t width = layout.rank() ? layout.shape[-1] : 1, stride = layout.rank() ? layout.strides[-1] : 0;
  for (std::int64_t i = 0; i < n;) {
    const std::int64_t start = offset_of(layout, first + i), stop = std::min(n, i + width - (first + i) % width);
    for (std::int64_t j = 0; i < stop; ++i, ++j) offsets[i] = start + j * stride;
  }
}

// Runs f(begin, end) over [0, count) on the executor's cores, in pieces of at least `grain`.
template <class F>
void parallel(cpu::Executor& executor, std::int64_t count, std::int64_t grain, F&& f) {
  if (cpu::KernelForm* const form = cpu::FormListener::current()) form->divide(count, grain, executor.threads());
  const cpu::FormListener none(nullptr);  // loops inside of a part do not count
  if (executor.threads() == 1 || count <= grain) {
    if (count > 0) f(std::int64_t{0}, count);
    return;
  }
  in_pieces(count, grain, f);
}

}  // namespace weft::kernels
