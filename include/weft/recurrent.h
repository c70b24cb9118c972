// Recurrent networks of tensors: LSTM, GRU, and the plain network of one gate, over whole sequences or a step at a
// time.
//
//   auto [y, h, c] = lstm(x, w, r, {.bias = b, .lengths = n}, {.direction = RnnDirection::bidirectional});
//
// A sequence is one operation, whatever its length: an executable submits all its steps at once.
#pragma once

#include "weft/kernels/rnn.h"
#include "weft/tensor.h"

namespace weft {

using kernels::GruGates;
using kernels::GruOptions;
using kernels::LstmGates;
using kernels::LstmOptions;
using kernels::RnnActivation;
using kernels::RnnDirection;
using kernels::RnnFunction;
using kernels::RnnOptions;

// What a network may have beside x and its weights; undefined: it has none. Of a network of one direction the first
// axis may be left out.
struct RecurrentOperands {
  Operand bias = {};            // [directions, gates · hidden]
  Operand recurrent_bias = {};  // [directions, gates · hidden]
  Operand initial_h = {};       // [directions, batch, hidden]: the state before the first step; default 0
  Operand initial_c = {};       // [directions, batch, hidden], of an LSTM; default 0
  Operand peephole = {};        // [directions, 3 · hidden], of an LSTM: of the gates i, o, f
  Operand lengths = {};         // [batch], i32 or u32: how many steps each sequence has; default all
  bool batch_first = false;     // x and y are [batch, steps, …], else [steps, batch, …]
};

struct LstmResult {
  Tensor y;  // [steps, batch, directions · hidden]: h after each step, 0 past the end of a sequence
  Tensor h;  // [directions, batch, hidden]: after the last step of each sequence
  Tensor c;  // [directions, batch, hidden]
};
struct RecurrentResult {
  Tensor y;  // [steps, batch, directions · hidden]: h after each step, 0 past the end of a sequence
  Tensor h;  // [directions, batch, hidden]: after the last step of each sequence
};

// The state after one step: [batch, hidden].
struct LstmState {
  Tensor h = {}, c = {};
};

// ---- Recurrent networks. x is [steps, batch, inputs], w [directions, gates · hidden, inputs], r [directions, gates ·
// hidden, hidden]; of one direction the first axis may be left out, as PyTorch's weight_ih and weight_hh have it. Rows
// belong to the gates in the order that the options say. Formulas, activations and types are those of
// weft/kernels/rnn.h; the results have x's type, and the state is rounded to it after each step. Throws ShapeError,
// TypeError, InvalidArgument.
LstmResult lstm(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                const LstmOptions& options = {});
RecurrentResult gru(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                    const GruOptions& options = {});
RecurrentResult rnn(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                    const RnnOptions& options = {});

// One step of lstm, gru or rnn: x [batch, inputs], w [gates · hidden, inputs], r [gates · hidden, hidden], and the
// state initial_h (and initial_c) [batch, hidden] among the operands. Of one direction, without lengths.
LstmState lstm_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                    const LstmOptions& options = {});
Tensor gru_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                const GruOptions& options = {});
Tensor rnn_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                const RnnOptions& options = {});

}  // namespace weft
