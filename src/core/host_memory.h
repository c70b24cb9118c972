// Lists in host memory whose length depends on a caller's tensor: views of stride 0 can have any number of elements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error_context.h"
#include "core/format.h"
#include "core/system.h"
#include "weft/error.h"
#include "weft/tensor_type.h"

namespace weft {

// `count` elements. Throws std::bad_alloc if the machine cannot hold that many.
template <class T>
std::vector<T> host_list(std::int64_t count, const T& value = T()) {
  // Where addresses have 32 bits, a list may take half of them.
  const bool fits = static_cast<std::uint64_t>(count) <= std::vector<T>().max_size();
  if (!fits || static_cast<double>(count) * sizeof(T) > static_cast<double>(physical_memory())) throw std::bad_alloc();
  return std::vector<T>(static_cast<std::size_t>(count), value);
}

// Runs f; if host memory runs out, throws OutOfMemory in the function's name.
template <class F>
auto in_host_memory(std::string_view function, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw OutOfMemory("{}: the host has less memory than so many elements take on the way", function);
}

// The bytes of a tensor of that type. Throws OutOfMemory in the function's name.
inline std::vector<std::byte> host_bytes(std::string_view function, const TensorType& type) {
  const std::uint64_t bytes = in_function(function, [&] { return byte_size(type); });
  try {
    return host_list<std::byte>(static_cast<std::int64_t>(bytes));
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("{}: {} takes {} bytes of the host's memory, which has less", function, to_string(type), bytes);
  }
}

}  // namespace weft
