#include "kernels/rnn/recurrence.h"

#include <algorithm>
#include <charconv>

#include "core/format.h"
#include "core/in_quotes.h"
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
  if (clip && !(*clip > 0)) throw InvalidArgument("{}: clip is {}, expected a positive number", name(kind), *clip);
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

void from_text(std::string_view text, RnnActivation& a) {
  const auto fail = [&] {
    std::string names;
    for (const std::string_view name : kRnnFunctions) names += (names.empty() ? "" : ", ") + std::string(name);
    throw InvalidArgument("the activation is {}; expected {}, with parameters as in hard_sigmoid(0.2, 0.5)",
                          in_quotes(std::string(text)), names);
  };
  const std::size_t open = std::min(text.find('('), text.size());
  const auto found = std::ranges::find(kRnnFunctions, text.substr(0, open));
  if (found == std::end(kRnnFunctions)) fail();
  a = RnnActivation(static_cast<RnnFunction>(found - std::begin(kRnnFunctions)));
  if (open == text.size()) return;
  std::string_view rest = text.substr(open + 1);
  if (!rest.ends_with(')')) fail();
  rest.remove_suffix(1);
  const int parameters = row_of(a.function).parameters;
  for (int k = 0; k < parameters; ++k) {
    double& parameter = k == 0 ? a.alpha : a.beta;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), parameter);
    if (error != std::errc()) fail();
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return;
    if (k + 1 == parameters || !rest.starts_with(", ")) fail();
    rest.remove_prefix(2);
  }
  fail();
}

Recurrence::Recurrence(const LstmOptions& o)
    : kind(RnnKind::lstm),
      direction(o.direction),
      places(o.gates == LstmGates::ifgo ? std::array{0, 1, 2, 3} : std::array{0, 2, 3, 1}),
      order(kLstmGates[static_cast<int>(o.gates)]),
      activations{o.gate_activation, o.cell_activation, o.output_activation},
      clip(checked_clip(kind, o.clip)),
      coupled(o.coupled),
      output_peephole_after(o.output_peephole_after),
      clip_output(o.clip_output) {}

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
