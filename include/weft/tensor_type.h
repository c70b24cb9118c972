// The data type and shape of a tensor.
#pragma once

#include <cstdint>
#include <string>

#include "weft/dtype.h"
#include "weft/shape.h"

namespace weft {

struct TensorType {
  DType dtype = DType::f32;
  Shape shape = {};
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);  // "f32 [2, 3]"
// The bytes of a dense tensor of the type.
inline std::uint64_t byte_size(const TensorType& type) {
  return byte_size(type.dtype, static_cast<std::uint64_t>(element_count(type.shape)));
}

}  // namespace weft
