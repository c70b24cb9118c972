// Reading broadcasts: what they repeat is read, and repeated on the host, so that the device holds no copy of it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "graph/op.h"
#include "weft/tensor.h"

namespace weft {

// A view that has more elements than the tensor whose elements it shows.
struct BroadcastRead {
  Tensor stored;        // is_view() is false
  Placement placement;  // of the view's elements, in their order, in `stored`, which is dense
};
// None if the tensor is no such view.
std::optional<BroadcastRead> broadcast_read(const Tensor& tensor);

// The view's elements as those of `to`, from the bytes of `stored`. `target` has as many bytes as they take.
void repeat_elements(const BroadcastRead& read, std::span<const std::byte> stored, DType to,
                     std::span<std::byte> target);
// The same in pieces, in row-major order, of a few MiB each: each call gives the next one, which stays as it is until
// the next call; an empty one ends them. `stored` stays alive as long as `owner` does.
std::function<std::span<const std::byte>()> pieces_of(const BroadcastRead& read, std::span<const std::byte> stored,
                                                      std::shared_ptr<const void> owner);

}  // namespace weft
