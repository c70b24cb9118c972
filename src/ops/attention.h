// Scaled dot-product attention, and its gradient.
#pragma once

#include "graph/op.h"
#include "weft/kernels/attention.h"

namespace weft {

struct AttentionAttributes {
  kernels::AttentionOptions options = {};
  // Which operands there are behind q, k and v. One more than these is a mask, which comes first.
  bool query_lengths = false, key_lengths = false;
  std::optional<DType> type = {};
  bool log_sums = false;  // of attention_with_log_sums: a second result

  bool has_mask(std::size_t operands) const {
    return operands > std::size_t{3} + std::size_t{query_lengths} + std::size_t{key_lengths};
  }
  void given(const std::vector<bool>& present) {
    query_lengths = present[4];
    key_lengths = present[5];
  }
  void fields(AttributeVisitor& v) {
    options.fields(v);
    v.brief("query_lengths", query_lengths, false, "whether the lengths of queries are among the operands");
    v.brief("key_lengths", key_lengths, false, "whether the lengths of keys are among the operands");
    v("type", type, {}, "the type of the result, instead of q's");
  }
};

// The options for queries that see the keys of that window.
void set_window(kernels::AttentionOptions& options, const MaskWindow& window);

class AttentionOp final : public OpOf<AttentionAttributes, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return a.log_sums ? "attention_with_log_sums" : "attention"; }
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  OpPtr with_more_results() const override;
  std::optional<MaskOperand> mask_operand(std::span<const TensorType> inputs) const override;
  OpPtr with_window(const MaskWindow& window) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

struct AttentionGradientAttributes {
  kernels::AttentionOptions options = {};
  // Which operands there are behind q, k, v, g, log_sums and delta; one more is a mask, as above.
  bool query_lengths = false, key_lengths = false;

  bool has_mask(std::size_t operands) const {
    return operands > std::size_t{6} + std::size_t{query_lengths} + std::size_t{key_lengths};
  }
  void given(const std::vector<bool>& present) {
    query_lengths = present[7];
    key_lengths = present[8];
  }
  void fields(AttributeVisitor& v) {
    options.fields(v);
    v.brief("query_lengths", query_lengths, false, "whether the lengths of queries are among the operands");
    v.brief("key_lengths", key_lengths, false, "whether the lengths of keys are among the operands");
  }
};

// dq, dk and dv of q, k, v, the cotangent g of attention's result, log_sums and delta
// (weft/kernels/attention.h).
class AttentionGradientOp final : public OpOf<AttentionGradientAttributes, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "attention_gradient"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

}  // namespace weft
