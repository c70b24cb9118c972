// Recurrent networks over whole sequences.
#pragma once

#include <array>

#include "graph/op.h"
#include "kernels/rnn/recurrence.h"

namespace weft {

// Operands: x, w and r, then those of bias, recurrent_bias, h, c, peephole and lengths that are there. Results: h
// [directions, batch, hidden], of an LSTM c, and y [steps, batch, directions · hidden] if it is wanted. batch_first: x
// and y begin with the batch.
class RnnOp final : public Op {
 public:
  static constexpr std::array<std::string_view, 6> kOptional = {"bias",      "recurrent_bias", "initial_h",
                                                                "initial_c", "peephole",       "lengths"};
  using Given = std::array<bool, kOptional.size()>;
  RnnOp(kernels::Recurrence recurrence, const Given& given, bool batch_first, bool y)
      : recurrence_(std::move(recurrence)), given_(given), batch_first_(batch_first), y_(y) {}

  std::string_view name() const override { return recurrence_.name(); }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  std::string label(std::span<const TensorType> inputs) const override;

 private:
  bool is_lstm() const { return recurrence_.kind == kernels::RnnKind::lstm; }

  kernels::Recurrence recurrence_;
  Given given_;
  bool batch_first_, y_;
};

}  // namespace weft
