#include "tensor/convert.h"

#include <algorithm>

#include "cpu/executor.h"
#include "weft/kernels/copy.h"
#include "weft/view.h"

namespace weft {

void convert(const TensorType& type, std::span<const std::byte> bytes, DType to, std::span<std::byte> target) {
  if (type.dtype == to) {
    std::ranges::copy(bytes, target.begin());
    return;
  }
  if (bytes.empty()) return;
  const auto view = [&](std::span<const std::byte> memory, DType dtype) {
    return View(Buffer::borrow(memory, nullptr), 0, dtype, type.shape);
  };
  cpu::Executor executor;
  kernels::copy(executor, view(bytes, type.dtype), view(target, to));
}

}  // namespace weft
