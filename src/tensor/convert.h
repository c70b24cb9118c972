// Elements in host memory as those of another type.
#pragma once

#include <span>
#include <vector>

#include "core/host_memory.h"
#include "weft/element.h"
#include "weft/tensor_type.h"

namespace weft {

// As cast() converts them. `target` has as many bytes as the elements take.
void convert(const TensorType& type, std::span<const std::byte> bytes, DType to, std::span<std::byte> target);

template <class T>
std::vector<T> converted(const TensorType& type, std::span<const std::byte> bytes) {
  std::vector<T> values = host_list<T>(element_count(type.shape));
  convert(type, bytes, dtype_of<T>, std::as_writable_bytes(std::span(values)));
  return values;
}

}  // namespace weft
