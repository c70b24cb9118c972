#include "weft/tensor_data.h"

#include <vector>

#include "core/format.h"
#include "core/host_memory.h"
#include "weft/error.h"

namespace weft {

TensorData TensorData::copy_of(DType dtype, const Shape& shape, std::span<const std::byte> bytes) {
  const std::uint64_t expected = byte_size(dtype, static_cast<std::uint64_t>(element_count(shape)));
  if (bytes.size() != expected) {
    throw InvalidArgument("tensor data: {} {} takes {} bytes, {} given", name(dtype), to_string(shape), expected,
                          bytes.size());
  }
  return in_host_memory("tensor data", [&]() -> TensorData {
    auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    return {dtype, shape, *copy, copy};
  });
}

void TensorData::refuse(DType dtype, const Shape& shape, DType given) {
  throw TypeError("tensor data: values of type {} given for {} {}; nothing is converted: cast the tensor instead",
                  name(given), name(dtype), to_string(shape));
}

}  // namespace weft
