// The elementwise part of a step: new states of the gates' sums.
#pragma once

#include <vector>

#include "kernels/rnn/recurrence.h"
#include "weft/expression.h"

namespace weft::kernels {

// What a step's expression has as inputs, in the order of the numbering.
enum class StepInput : std::uint8_t {
  gate,       // the sums of gate `index`, in the order of Recurrence::places; of a GRU that resets after the product
              // those of the inputs alone
  recurrent,  // of such a GRU: gate `index`'s sums of the state
  h,          // the state before
  c,          // an LSTM's cell state before
  peephole,   // the weights of i, o or f, by `index`
  time,       // the step's place in the sequence
  length,     // of the sequence
};

struct StepOperand {
  StepInput what;
  int index = 0;
};

struct StepExpression {
  Expression expression;
  std::vector<StepOperand> inputs;
};

struct StepTypes {
  DType sums;                              // f32 or f64
  DType state;                             // of h and y
  std::optional<DType> peephole, lengths;  // if they are given
};

// Outputs: h, then c of an LSTM, then y if it is wanted.
StepExpression step_expression(const Recurrence& recurrence, const StepTypes& types, bool y);
// Of a GRU that resets before the product: r h, from gate r and h; with `update` then the sums of gate z, as they are.
StepExpression reset_expression(const Recurrence& recurrence, const StepTypes& types, bool update);

}  // namespace weft::kernels
