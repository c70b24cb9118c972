// The bytes of a tensor in host memory, wherever they are: a mapped file, a vector, an array of the caller's.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "weft/dtype.h"
#include "weft/element.h"
#include "weft/shape.h"

namespace weft {

// Dense, row-major, little endian. `bytes` may start at any address: do not assume alignment. `owner` keeps the memory
// alive for as long as any copy of this struct exists.
struct TensorData {
  DType dtype = DType::f32;
  Shape shape = {};
  std::span<const std::byte> bytes = {};
  std::shared_ptr<const void> owner = {};

  // A copy of `bytes`. Throws InvalidArgument unless they are exactly as many as the shape takes.
  static TensorData copy_of(DType dtype, const Shape& shape, std::span<const std::byte> bytes);
  // Throws TypeError unless T's values are elements of that type (holds<T>): nothing is converted.
  template <class T>
  static TensorData of(DType dtype, const Shape& shape, std::span<const T> values) {
    if (!holds<T>(dtype)) refuse(dtype, shape, dtype_of<T>);
    return copy_of(dtype, shape, std::as_bytes(values));
  }
  // Of T's own type.
  template <class T>
  static TensorData of(const Shape& shape, std::span<const T> values) {
    return copy_of(dtype_of<T>, shape, std::as_bytes(values));
  }

 private:
  [[noreturn]] static void refuse(DType dtype, const Shape& shape, DType given);
};

}  // namespace weft
