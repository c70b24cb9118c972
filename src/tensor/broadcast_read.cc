#include "tensor/broadcast_read.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "compiler/device_data.h"
#include "cpu/executor.h"
#include "graph/node.h"
#include "ops/view.h"
#include "weft/kernels/copy.h"
#include "weft/view.h"

namespace weft {
namespace {

// Bytes of a piece.
constexpr std::int64_t kPiece = 4 << 20;

void copy_elements(const TensorType& stored, std::span<const std::byte> bytes, std::int64_t offset,
                   const Layout& layout, DType to, std::span<std::byte> target) {
  if (target.empty()) return;
  const auto start = static_cast<std::uint64_t>(offset * bits(stored.dtype) / 8);
  cpu::Executor executor;
  kernels::copy(executor, View(Buffer::borrow(bytes, nullptr), start, stored.dtype, layout.shape, layout.strides),
                View(Buffer::borrow(target, nullptr), 0, to, layout.shape));
}

}  // namespace

std::optional<BroadcastRead> broadcast_read(const Tensor& tensor) {
  const Tensor& stored = stored_by(tensor);
  // (Elements of packed types may begin within a byte.)
  if (stored.size() >= tensor.size() || bits(tensor.dtype()) < 8) return std::nullopt;
  // The order of elements is that of what was reshaped, also where no strides express the new shape.
  const Tensor* shown = &tensor;
  while (!find_data(*shown) && op_of<ReshapeOp>(*shown)) shown = &input_of(*shown);
  const auto placement = layout_in_stored(*shown);
  if (!placement) return std::nullopt;
  return BroadcastRead{stored, *placement};
}

void repeat_elements(const BroadcastRead& read, std::span<const std::byte> stored, DType to,
                     std::span<std::byte> target) {
  copy_elements(read.stored.type(), stored, read.placement.offset, read.placement.layout, to, target);
}

std::function<std::span<const std::byte>()> pieces_of(const BroadcastRead& read, std::span<const std::byte> stored,
                                                      std::shared_ptr<const void> owner) {
  struct State {
    TensorType stored;
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
    Placement whole;
    int axis = 0;           // a piece has one index of each axis before it, and all of those behind it
    std::int64_t rows = 1;  // of this axis in a piece
    Dims at;                // of the axes up to it, where the next piece begins
    bool done = false;
    std::vector<std::byte> piece;
  };
  auto state = std::make_shared<State>(State{read.stored.type(), stored, std::move(owner), read.placement});
  const Shape& shape = state->whole.layout.shape;
  // The rank of such a view is 1 at least.
  std::int64_t row = bits(read.stored.dtype()) / 8;
  int axis = shape.rank() - 1;
  for (; axis > 0 && row <= kPiece / std::max<std::int64_t>(shape[axis], 1); --axis) row *= shape[axis];
  state->axis = axis;
  state->rows = std::max<std::int64_t>(kPiece / row, 1);
  state->at = Dims::filled(axis + 1, 0);
  return [state]() -> std::span<const std::byte> {
    State& s = *state;
    if (s.done) return {};
    const Shape& shape = s.whole.layout.shape;
    const std::int64_t rows = std::min(s.rows, shape[s.axis] - s.at[s.axis]);
    Placement part = s.whole;
    for (int d = 0; d <= s.axis; ++d) {
      part.offset += s.at[d] * s.whole.layout.strides[d];
      part.layout.shape[d] = d < s.axis ? 1 : rows;
    }
    s.piece.resize(byte_size(s.stored.dtype, static_cast<std::uint64_t>(part.layout.count())));
    copy_elements(s.stored, s.bytes, part.offset, part.layout, s.stored.dtype, s.piece);
    s.at[s.axis] += rows;
    for (int d = s.axis; s.at[d] == shape[d]; --d) {
      if (d == 0) {
        s.done = true;
        break;
      }
      s.at[d] = 0;
      ++s.at[d - 1];
    }
    return s.piece;
  };
}

}  // namespace weft
