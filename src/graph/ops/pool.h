// Pooling, with what makes the elements that are pooled, and what happens to each result before it is stored.
#pragma once

#include "graph/op.h"
#include "weft/kernels/pool.h"
#include "weft/pooling.h"

namespace weft {

enum class PoolFunction : std::uint8_t { max, max_with_indices, average, lp, max_gradient, average_gradient };

// Operands: of max, average and lp x, of max_gradient dy and indices, of average_gradient dy; in place of x or dy those
// of the prologue, which broadcast; then the epilogue's.
class PoolOp final : public Op {
 public:
  // `sizes`: of the result's spatial axes. channels_last: of all operands and results. result: the type without an
  // epilogue, instead of operand 0's.
  PoolOp(PoolFunction function, kernels::PoolOptions options, double norm, Dims sizes, bool channels_last,
         std::optional<DType> result = {}, std::optional<Expression> prologue = {},
         std::optional<Expression> epilogue = {})
      : function_(function),
        options_(options),
        norm_(norm),
        sizes_(sizes),
        channels_last_(channels_last),
        result_(result),
        prologue_(std::move(prologue)),
        epilogue_(std::move(epilogue)) {}

  Fusion fusion() const override {
    return {.prologue = prologue_ ? &*prologue_ : nullptr, .epilogue = epilogue_ ? &*epilogue_ : nullptr};
  }
  FusionStage fusion_stage() const override { return FusionStage::reduction; }
  FusionSpec fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> inputs,
                         std::span<const TensorType> outputs) const override;
  OpPtr with_fusion(std::optional<Expression> prologue, std::optional<Expression> epilogue) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;

  std::string_view name() const override;
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  // Of the operands, those in front of the epilogue's.
  std::size_t own_operands() const { return input_count() + (function_ == PoolFunction::max_gradient ? 1 : 0); }
  // Those that the prologue takes, or x.
  std::size_t input_count() const { return prologue_ ? static_cast<std::size_t>(prologue_->input_count()) : 1; }
  bool is_gradient() const {
    return function_ == PoolFunction::max_gradient || function_ == PoolFunction::average_gradient;
  }
  // What is pooled.
  TensorType pooled(std::span<const TensorType> inputs) const;
  // How often an element of it is read, on average.
  double reads(const Shape& pooled) const;
  bool is_average() const { return function_ == PoolFunction::average || function_ == PoolFunction::average_gradient; }

  PoolFunction function_;
  kernels::PoolOptions options_;
  double norm_;
  Dims sizes_;
  bool channels_last_;
  std::optional<DType> result_;
  std::optional<Expression> prologue_, epilogue_;
};

}  // namespace weft
