#include "kernels/rnn/recurrence.h"

#include "core/format.h"
#include "weft/error.h"
#include "weft/number.h"

namespace weft::kernels {
namespace {

struct FunctionRow {
  int parameters;
  double alpha, beta;  // defaults
};
// In the order of the enumeration.
constexpr FunctionRow kFunctions[] = {
    {0, 0, 0},      // sigmoid
    {0, 0, 0},      // tanh
    {0, 0, 0},      // relu
    {2, 1, 0},      // affine
    {1, 0.01, 0},   // leaky_relu
    {1, 1, 0},      // thresholded_relu
    {2, 1, 1},      // scaled_tanh
    {2, 0.2, 0.5},  // hard_sigmoid
    {1, 1, 0},      // elu
    {0, 0, 0},      // softsign
    {0, 0, 0},      // softplus
};

const FunctionRow& row_of(RnnFunction function) { return kFunctions[static_cast<int>(function)]; }

std::optional<double> checked_clip(RnnKind kind, std::optional<double> clip) {
  if (clip && !(*clip >= 0)) throw InvalidArgument("{}: clip is {}, expected 0 or more", name(kind), *clip);
  return clip;
}

}  // namespace

std::string_view name(RnnKind kind) {
  constexpr std::string_view kNames[] = {"lstm", "gru", "rnn"};
  return kNames[static_cast<int>(kind)];
}

RnnActivation::RnnActivation(RnnFunction function)
    : function(function), alpha(row_of(function).alpha), beta(row_of(function).beta) {}

std::string to_string(const RnnActivation& a) {
  const FunctionRow& row = row_of(a.function);
  std::string text(kRnnFunctions[static_cast<int>(a.function)]);
  if (row.parameters > 0) text += "(" + to_string(Number(a.alpha));
  if (row.parameters > 1) text += ", " + to_string(Number(a.beta));
  return row.parameters > 0 ? text + ")" : text;
}

Recurrence::Recurrence(const LstmOptions& o)
    : kind(RnnKind::lstm),
      direction(o.direction),
      places(o.gates == LstmGates::ifgo ? std::array{0, 1, 2, 3} : std::array{0, 2, 3, 1}),
      order(kLstmGates[static_cast<int>(o.gates)]),
      activations{o.gate_activation, o.cell_activation, o.output_activation},
      clip(checked_clip(kind, o.clip)),
      coupled(o.coupled),
      output_peephole_after(o.output_peephole_after) {}

Recurrence::Recurrence(const GruOptions& o)
    : kind(RnnKind::gru),
      direction(o.direction),
      places(o.gates == GruGates::rzn ? std::array{0, 1, 2, 0} : std::array{1, 0, 2, 0}),
      order(kGruGates[static_cast<int>(o.gates)]),
      activations{o.gate_activation, o.candidate_activation},
      clip(checked_clip(kind, o.clip)),
      reset_after(o.reset_after) {}

Recurrence::Recurrence(const RnnOptions& o)
    : kind(RnnKind::rnn), direction(o.direction), activations{o.activation}, clip(checked_clip(kind, o.clip)) {}

}  // namespace weft::kernels
