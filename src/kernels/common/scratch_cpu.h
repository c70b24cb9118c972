// A thread's own memory, on the CPU.
#pragma once

#include "weft/view.h"

namespace weft::kernels {

// Aligned numbers; the memory only grows.
class Scratch {
 public:
  template <class T = float>
  T* need(std::int64_t count) {
    const auto bytes = static_cast<std::uint64_t>(count) * sizeof(T);
    if (buffer_.size() < bytes) buffer_ = Buffer::host(bytes);
    return reinterpret_cast<T*>(buffer_.data());
  }
  std::uint64_t size() const { return buffer_.size(); }  // bytes

 private:
  Buffer buffer_;
};

}  // namespace weft::kernels
