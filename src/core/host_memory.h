// Lists in host memory whose length depends on a caller's tensor: views of stride 0 can have any number of elements.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "core/system.h"
#include "weft/error.h"

namespace weft {

// `count` elements. Throws std::bad_alloc if the machine cannot hold that many.
template <class T>
std::vector<T> host_list(std::int64_t count, const T& value = T()) {
  if (static_cast<double>(count) * sizeof(T) > static_cast<double>(physical_memory())) throw std::bad_alloc();
  return std::vector<T>(static_cast<std::size_t>(count), value);
}

// Runs f; if host memory runs out, throws OutOfMemory in the kernel's name.
template <class F>
void in_host_memory(std::string_view kernel, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const std::bad_alloc&) {
  } catch (const std::length_error&) {
  }
  throw OutOfMemory("{}: the host has less memory than so many elements take on the way", kernel);
}

}  // namespace weft
