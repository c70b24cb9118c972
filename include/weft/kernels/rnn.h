// Recurrent networks over whole sequences: LSTM, GRU, and the network of one gate (Elman). Conventions that all kernels
// share are in weft/kernels.h.
//
// A call is one product of all inputs with their weights, and for each step the product of the state with its weights
// and an elementwise kernel that makes the new state of the sums, or on GPUs, for few sequences, one kernel that does
// both; all of it is planned and submitted at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "weft/attributes.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// bidirectional: two networks, of which the second one goes from the last step to the first.
enum class RnnDirection : std::uint8_t { forward, reverse, bidirectional };

// sigmoid; tanh; relu; affine: alpha x + beta; leaky_relu: x < 0 ? alpha x : x; thresholded_relu: x < alpha ? 0 : x;
// scaled_tanh: alpha tanh(beta x); hard_sigmoid: min(max(alpha x + beta, 0), 1); elu: x < 0 ? alpha (e^x - 1) : x;
// softsign: x / (1 + |x|); softplus: ln(1 + e^x). NaN gives NaN.
enum class RnnFunction : std::uint8_t {
  sigmoid,
  tanh,
  relu,
  affine,
  leaky_relu,
  thresholded_relu,
  scaled_tanh,
  hard_sigmoid,
  elu,
  softsign,
  softplus,
};

// An activation with its parameters, which functions without parameters ignore.
struct RnnActivation {
  // With the parameters that ONNX has as defaults: affine 1 and 0, leaky_relu 0.01, thresholded_relu 1, scaled_tanh 1
  // and 1, hard_sigmoid 0.2 and 0.5, elu 1.
  RnnActivation(RnnFunction function);  // NOLINT: implicit
  RnnActivation(RnnFunction function, double alpha, double beta = 0) : function(function), alpha(alpha), beta(beta) {}
  bool operator==(const RnnActivation&) const = default;

  RnnFunction function = {};
  double alpha = 0, beta = 0;
};

// "hard_sigmoid(0.2, 0.5)", "tanh".
std::string to_string(const RnnActivation& activation);
// The activation of such a text; parameters that are not given are the usual ones. Throws InvalidArgument.
void from_text(std::string_view text, RnnActivation& activation);

// The order in which the rows of weights and biases belong to the gates: i input, f forget, g the candidate (also
// called c or n), o output.
enum class LstmGates : std::uint8_t {
  ifgo,  // PyTorch, WebNN's "ifgo"
  iofg,  // ONNX, WebNN's "iofg"
};
// r reset, z update, n the candidate (also called h).
enum class GruGates : std::uint8_t {
  rzn,  // PyTorch, WebNN's "rzn"
  zrn,  // ONNX, WebNN's "zrn"
};

inline constexpr std::string_view kRnnDirections[] = {"forward", "reverse", "bidirectional"};
inline constexpr std::string_view kLstmGates[] = {"ifgo", "iofg"};
inline constexpr std::string_view kGruGates[] = {"rzn", "zrn"};
inline constexpr std::string_view kDirectionMeaning = "from the first step to the last, the other way round, or both";
// 0 stands for none.
inline void visit_clip(AttributeVisitor& v, std::optional<double>& clip) {
  double limit = clip.value_or(0);
  const double before = limit;
  v.brief("clip", limit, 0, "activations are given numbers within [-clip, clip]; 0: any");
  if (limit != before) clip = limit == 0 ? std::nullopt : std::optional(limit);
}

// Operands. D is 2 if bidirectional, else 1; G is the number of gates: 4 of an LSTM, 3 of a GRU, 1.
struct RnnInputs {
  View x = {};                              // [steps, batch, inputs]
  View w = {};                              // [D, G · hidden, inputs]
  View r = {};                              // [D, G · hidden, hidden]
  std::optional<View> bias = {};            // [D, G · hidden]
  std::optional<View> recurrent_bias = {};  // [D, G · hidden], added to r's product
  std::optional<View> initial_h = {};       // [D, batch, hidden]; default 0
  std::optional<View> initial_c = {};       // [D, batch, hidden], of an LSTM; default 0
  std::optional<View> peephole = {};        // [D, 3 · hidden], of an LSTM: of the gates i, o, f
  std::optional<View> lengths = {};         // [batch], i32 or u32: how many steps each sequence has; default all
};

// Results: all of one float type. h is also where the state is kept from step to step, rounded to that type.
struct RnnOutputs {
  View h = {};                 // [D, batch, hidden]: after the last step of each sequence
  std::optional<View> y = {};  // [steps, D, batch, hidden]: h after each step, 0 past the end of a sequence
  std::optional<View> c = {};  // [D, batch, hidden], of an LSTM
};

// What the functions below have in common. The operands but lengths are of any float types. Sums, activations and an
// LSTM's cell state are f32, or f64 if x, w or r is (on the CPU only); sums are those of matmul. NaN and infinity go
// where the formulas take them, and stay in the state. A sequence of length 0 or less keeps its initial state; a length
// above `steps` counts as `steps`. The reverse direction begins at a sequence's own last step. Outputs share memory
// with no input. Throws InvalidArgument, Unsupported.

struct LstmOptions {
  RnnDirection direction = RnnDirection::forward;
  LstmGates gates = LstmGates::ifgo;
  RnnActivation gate_activation = RnnFunction::sigmoid;
  RnnActivation cell_activation = RnnFunction::tanh;
  RnnActivation output_activation = RnnFunction::tanh;
  std::optional<double> clip = {};  // positive; what activations are given is first clamped to [-clip, clip]
  bool coupled = false;             // f = 1 - i, and the rows of f are ignored (ONNX's input_forget)
  // Whether the peephole of o sees the cell state c' after the step (Gers and Schmidhuber, 2000; ONNX), or c before it,
  // as those of i and f do (WebNN).
  bool output_peephole_after = true;
  bool clip_output = true;  // whether clip counts for the output activation of c' too, or for the gates and g alone

  void fields(AttributeVisitor& v) {
    v("direction", direction, RnnDirection::forward, kRnnDirections, kDirectionMeaning);
    v("gates", gates, LstmGates::ifgo, kLstmGates, "the order of the gates: input, forget, candidate g, output");
    v.text("gate_activation", gate_activation, RnnFunction::sigmoid, "the activation of i, f and o");
    v.text("cell_activation", cell_activation, RnnFunction::tanh, "the activation of g");
    v.text("output_activation", output_activation, RnnFunction::tanh, "the activation of c'");
    visit_clip(v, clip);
    v.brief("coupled", coupled, false, "the forget gate is 1 - i, and its weights are ignored");
    v.brief("output_peephole_after", output_peephole_after, true,
            "the peephole of o sees c' after the step; else c before it");
    v.brief("clip_output", clip_output, true, "clip counts for the output activation too; else for the sums alone");
  }
};

// A gate's sum is s = x wᵀ + bias + h rᵀ + recurrent_bias. With p the peephole weights,
//   i = gate(s_i + p_i c), f = gate(s_f + p_f c), g = cell(s_g), c' = f c + i g, o = gate(s_o + p_o c') or,
// without output_peephole_after, gate(s_o + p_o c), h' = o output(c').
void lstm(Stream& stream, const RnnInputs& inputs, const RnnOutputs& outputs, const LstmOptions& options = {});

struct GruOptions {
  RnnDirection direction = RnnDirection::forward;
  GruGates gates = GruGates::rzn;
  RnnActivation gate_activation = RnnFunction::sigmoid;
  RnnActivation candidate_activation = RnnFunction::tanh;
  std::optional<double> clip = {};
  // Whether r multiplies the state's product (PyTorch, cuDNN; ONNX's linear_before_reset), or the state before it.
  bool reset_after = true;

  void fields(AttributeVisitor& v) {
    v("direction", direction, RnnDirection::forward, kRnnDirections, kDirectionMeaning);
    v("gates", gates, GruGates::rzn, kGruGates, "the order of the gates: reset, update z, candidate n");
    v.text("gate_activation", gate_activation, RnnFunction::sigmoid, "the activation of r and z");
    v.text("candidate_activation", candidate_activation, RnnFunction::tanh, "the activation of n");
    visit_clip(v, clip);
    v("reset_after", reset_after, true, "the reset gate multiplies the product of the state; else the state before it");
  }
};

// r = gate(s_r), z = gate(s_z), n = candidate(x w_nᵀ + bias_n + r (h r_nᵀ + recurrent_bias_n)), or without reset_after
// candidate(x w_nᵀ + bias_n + (r h) r_nᵀ + recurrent_bias_n); h' = (1 - z) n + z h.
void gru(Stream& stream, const RnnInputs& inputs, const RnnOutputs& outputs, const GruOptions& options = {});

struct RnnOptions {
  RnnDirection direction = RnnDirection::forward;
  RnnActivation activation = RnnFunction::tanh;
  std::optional<double> clip = {};

  void fields(AttributeVisitor& v) {
    v("direction", direction, RnnDirection::forward, kRnnDirections, kDirectionMeaning);
    v.text("activation", activation, RnnFunction::tanh, "the activation of the sums");
    visit_clip(v, clip);
  }
};

// h' = activation(x wᵀ + bias + h rᵀ + recurrent_bias).
void rnn(Stream& stream, const RnnInputs& inputs, const RnnOutputs& outputs, const RnnOptions& options = {});

}  // namespace weft::kernels
