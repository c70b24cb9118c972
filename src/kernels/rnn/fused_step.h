// A step of a recurrent network as one kernel on a GPU (rnn_step.wgsl): products of the state, and the expression that
// makes the new state of them.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/expression.h"
#include "weft/gpu.h"
#include "weft/view.h"

namespace weft::kernels {

// An input of the expression: the sum of a product and an operand, or one of them.
struct StepTerm {
  int product = -1;             // none
  std::optional<View> operand;  // [D, batch, hidden]
  bool time = false;            // instead of both: the step's place in the sequence
};

struct FusedStep {
  std::string_view name;  // of the network
  View state;             // [D, batch, hidden], f32, dense, at a multiple of 16 bytes
  View r;                 // [D, products · hidden, hidden]: row q · hidden + unit is that of product q of a unit
  std::int64_t products;
  const Expression& expression;
  std::vector<StepTerm> terms;
  std::span<const View> outputs;           // [D, batch, hidden]; may be operands, but not the state
  std::array<std::int64_t, 2> times = {};  // the step's places in the sequence, of each direction
};

void fused_step(gpu::Commands& commands, const FusedStep& step);

}  // namespace weft::kernels
