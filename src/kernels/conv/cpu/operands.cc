// Operands of convolutions in the types and orders that the forms read.
#include <algorithm>
#include <functional>
#include <numeric>

#include "kernels/conv/cpu/forms.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {

// Axes without a place of their own, of size 1 or broadcast, come behind the others.
View as_type(cpu::Executor& executor, const View& v, DType type) {
  if (v.dtype == type) return v;
  std::vector<int> order(static_cast<std::size_t>(v.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::less(), [&](int d) {
    const bool own = v.shape()[d] > 1 && v.strides()[d] != 0;
    return own ? std::abs(v.strides()[d]) : INT64_MAX;
  });
  Strides strides = v.strides();
  std::int64_t step = 1;
  for (const int d : order) {
    strides[d] = step;
    step *= std::max<std::int64_t>(1, v.shape()[d]);
  }
  const View copied(Buffer::host(byte_size(type, static_cast<std::uint64_t>(v.count()))), 0, type, v.shape(), strides);
  copy(executor, v, copied);
  return copied;
}

View adjacent_view(const View& like, DType type, int axis) {
  Shape stored;
  std::vector<int> back(static_cast<std::size_t>(like.rank()));
  for (int d = 0; d < like.rank(); ++d) {
    if (d == axis) continue;
    back[static_cast<std::size_t>(d)] = stored.rank();
    stored.push_back(like.shape()[d]);
  }
  back[static_cast<std::size_t>(axis)] = stored.rank();
  stored.push_back(like.shape()[axis]);
  return View(Buffer::host(byte_size(type, static_cast<std::uint64_t>(like.count()))), 0, type, stored).permuted(back);
}

View with_adjacent(cpu::Executor& executor, const View& v, DType type, int axis) {
  if (v.dtype == type && (v.strides()[axis] == 1 || v.shape()[axis] == 1)) return v;
  const View copied = adjacent_view(v, type, axis);
  copy(executor, v, copied);
  return copied;
}

}  // namespace weft::kernels
