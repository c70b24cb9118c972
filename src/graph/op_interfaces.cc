#include "graph/op_interfaces.h"

#include "weft/error.h"

namespace weft {

const FusionInterface kNoFusion;
const RewriteInterface kNoRewrites;
const DerivativeInterface kNoDerivatives;
const BatchingInterface kNoBatching;

FusionSpec FusionInterface::fusion_spec(const gpu::Capabilities*, std::span<const TensorType>,
                                        std::span<const TensorType>) const {
  return {};
}

OpPtr RewriteInterface::with_more_results() const { return nullptr; }
Tensor RewriteInterface::simplified(std::span<const Tensor>) const { return {}; }
OpPtr RewriteInterface::with_types(std::span<const TensorType>, std::span<const TensorType>,
                                   std::span<const DType>) const {
  return nullptr;
}
std::vector<int> RewriteInterface::joined_axes(std::span<const TensorType>) const { return {}; }
OpPtr RewriteInterface::with_iotas(std::span<const std::optional<Placement>>, const Shape&) const { return nullptr; }
std::optional<MaskOperand> RewriteInterface::mask_operand(std::span<const TensorType>) const { return std::nullopt; }
OpPtr RewriteInterface::with_window(const MaskWindow&) const { throw InternalError("an op without a mask"); }

Derivatives DerivativeInterface::vjp(const Differentiated&, std::span<const Tensor>) const { return std::nullopt; }
Derivatives DerivativeInterface::jvp(const Differentiated&, std::span<const Tensor>) const { return std::nullopt; }

std::optional<Batched> BatchingInterface::vmap(std::span<const Tensor>, std::span<const int>) const {
  return std::nullopt;
}
std::vector<Tensor> BatchingInterface::vmap_in_order(const BatchInOrder&) const { return {}; }

}  // namespace weft
