#include <algorithm>
#include <span>

#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

// Reads into the host's half of the memory, which is uploaded when a kernel reads it.
void Load::eval_gpu(const std::vector<array>&, array& out) {
  webgpu::allocate(out);
  if (out.size() == 0) return;
  const std::span<char> bytes(out.data<char>(), out.nbytes());
  reader_->read(bytes.data(), bytes.size(), offset_);
  if (!swap_endianness_) return;
  for (size_t begin = 0; begin < bytes.size(); begin += out.itemsize()) {
    std::ranges::reverse(bytes.subspan(begin, out.itemsize()));
  }
}

}  // namespace mlx::core
