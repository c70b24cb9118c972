// What the three recurrent networks have in common: one description of their options, one launcher.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/kernels/rnn.h"

namespace weft::kernels {

enum class RnnKind : std::uint8_t { lstm, gru, rnn };
std::string_view name(RnnKind kind);

inline constexpr std::string_view kRnnFunctions[] = {
    "sigmoid",     "tanh",         "relu", "affine",   "leaky_relu", "thresholded_relu",
    "scaled_tanh", "hard_sigmoid", "elu",  "softsign", "softplus"};

// The options of any of the networks. Which gate is which is said by its place among the rows of weights.
struct Recurrence {
  // Throw InvalidArgument for a clip that is not positive.
  explicit Recurrence(const LstmOptions& options);
  explicit Recurrence(const GruOptions& options);
  explicit Recurrence(const RnnOptions& options);

  std::string_view name() const { return kernels::name(kind); }
  std::int64_t gates() const { return kind == RnnKind::lstm ? 4 : kind == RnnKind::gru ? 3 : 1; }
  std::int64_t directions() const { return direction == RnnDirection::bidirectional ? 2 : 1; }
  // How far activation `k` sees; none: any number.
  std::optional<double> limit(std::size_t k) const { return k == 2 && !clip_output ? std::nullopt : clip; }
  bool reverse(std::int64_t d) const { return d == 1 || direction == RnnDirection::reverse; }

  RnnKind kind;
  RnnDirection direction;
  // LSTM: of i, f, g, o; GRU: of r, z, n.
  std::array<int, 4> places{};
  std::string_view order;  // of the gates: "ifgo"
  // LSTM: gate, cell, output; GRU: gate, candidate; else the only one.
  std::vector<RnnActivation> activations;
  std::optional<double> clip;
  bool coupled = false;
  bool output_peephole_after = true;
  bool clip_output = true;
  bool reset_after = true;
};

// How a GPU takes a step: by one kernel (rnn_step.wgsl), or by matmul and an elementwise kernel. `automatic` chooses by
// size; the others are for tests and benchmarks.
enum class StepForm : std::uint8_t { automatic, fused, split };

// Throws as lstm() does; Unsupported if the device cannot take a step in the form.
void recur(Stream& stream, const Recurrence& recurrence, const RnnInputs& inputs, const RnnOutputs& outputs,
           StepForm form = StepForm::automatic);

}  // namespace weft::kernels
