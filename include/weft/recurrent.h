// Recurrent networks of tensors: LSTM, GRU, and the plain network of one gate, over whole sequences or a step at a
// time.
//
//   auto [y, h, c] = lstm(x, w, r, {.bias = b, .lengths = n}, {.direction = RnnDirection::bidirectional});
//
// A sequence is one operation, whatever its length: an executable submits all its steps at once. Its derivatives are
// recorded as operations for each step.
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
// belong to the gates in the order that options.gates says. All operands but lengths are floats, each of a type of its
// own; the results have x's type. Sums, activations and an LSTM's cell state are f32, or f64 if x, w or r is (on the
// cpu alone); the state h is rounded to x's type after each step. A sequence of length 0 keeps its initial state; the
// reverse direction begins at a sequence's own last step. options.clip clamps what activations are given, of
// an LSTM without clip_output not what its output activation is given. Throws ShapeError, TypeError, InvalidArgument.

// The long short-term memory, PyTorch's LSTM of one layer, without dropout. With a gate's sum s = x wᵀ + bias + h rᵀ +
// recurrent_bias and peephole weights p (none: 0): i = gate(s_i + p_i c), f = gate(s_f + p_f c), g = cell(s_g), c' = f
// c + i g, o = gate(s_o + p_o c'), h' = o output(c'). The activations are sigmoid, tanh and tanh by default.
// options.coupled: f = 1 - i; output_peephole_after = false: o sees c instead of c'. 4 gates. Sources: Hochreiter and
// Schmidhuber, "Long Short-Term Memory", 1997; for peepholes Gers and Schmidhuber, "Recurrent nets that time and
// count", 2000.
LstmResult lstm(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                const LstmOptions& options = {});
// The gated recurrent unit, PyTorch's GRU of one layer. r = gate(s_r), z = gate(s_z), n = candidate(x w_nᵀ + bias_n + r
// (h r_nᵀ + recurrent_bias_n)), or with reset_after = false candidate(x w_nᵀ + bias_n + (r h) r_nᵀ + recurrent_bias_n);
// h' = (1 - z) n + z h. The activations are sigmoid and tanh by default. 3 gates. Source: Cho et al., "Learning Phrase
// Representations using RNN Encoder-Decoder", 2014.
RecurrentResult gru(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                    const GruOptions& options = {});
// The network of one gate, PyTorch's RNN of one layer: h' = activation(x wᵀ + bias + h rᵀ + recurrent_bias), with tanh
// by default. Source: Elman, "Finding Structure in Time", 1990.
RecurrentResult rnn(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                    const RnnOptions& options = {});

// ---- One step of a recurrent network. x is [batch, inputs], w [gates · hidden, inputs], r [gates · hidden, hidden],
// and the state initial_h (and initial_c) [batch, hidden] is among the operands; default 0. Of one direction, without
// lengths.

// The state after one step of lstm(), h and c.
LstmState lstm_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                    const LstmOptions& options = {});
// The state after one step of gru().
Tensor gru_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                const GruOptions& options = {});
// The state after one step of rnn().
Tensor rnn_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands = {},
                const RnnOptions& options = {});

}  // namespace weft
