#pragma once

#include <cstddef>

namespace mlx::core::webgpu {

// Memory that no array has, which is in use, and counts in the peak, while this lives.
class CountedBytes {
 public:
  CountedBytes() = default;
  ~CountedBytes() { set(0); }
  CountedBytes(const CountedBytes&) = delete;
  CountedBytes& operator=(const CountedBytes&) = delete;

  void add(std::size_t bytes) { set(bytes_ + bytes); }
  void set(std::size_t bytes);

 private:
  std::size_t bytes_ = 0;
};

}  // namespace mlx::core::webgpu
