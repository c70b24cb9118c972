// Recurrent networks over whole sequences.
#pragma once

#include <array>

#include "graph/op.h"
#include "kernels/rnn/recurrence.h"

namespace weft {

// The operands that a network may have, in their order.
inline constexpr std::array<std::string_view, 6> kRecurrentOperands = {"bias",      "recurrent_bias", "initial_h",
                                                                       "initial_c", "peephole",       "lengths"};
struct GivenOperands : std::array<bool, kRecurrentOperands.size()> {};
// "bias initial_h". from_text() throws InvalidArgument.
std::string to_string(const GivenOperands& given);
void from_text(std::string_view text, GivenOperands& given);

struct RnnAttributes {
  kernels::RnnKind kind = kernels::RnnKind::lstm;
  // Of the kind:
  kernels::LstmOptions lstm = {};
  kernels::GruOptions gru = {};
  kernels::RnnOptions rnn = {};
  GivenOperands operands = {};
  bool batch_first = false;  // x and y begin with the batch
  bool y = true;             // it is wanted

  void given(const std::vector<bool>& present);
  kernels::Recurrence recurrence() const;
  void fields(AttributeVisitor& v);
};

// Operands: x, w and r, then those of kRecurrentOperands that are there. Results: h [directions, batch, hidden], of an
// LSTM c, and y [steps, batch, directions · hidden] if it is wanted.
class RnnOp final : public OpOf<RnnAttributes, DerivativeInterface, BatchingInterface> {
 public:
  explicit RnnOp(RnnAttributes attributes) : OpOf(std::move(attributes)), recurrence_(a.recurrence()) {}

  std::string_view name() const override { return recurrence_.name(); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  std::string label(std::span<const TensorType> inputs) const override;
  // transform/recurrent.cc
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;

 private:
  bool is_lstm() const { return a.kind == kernels::RnnKind::lstm; }

  kernels::Recurrence recurrence_;
};

}  // namespace weft
