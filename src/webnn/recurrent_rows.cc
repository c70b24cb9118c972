// Recurrent networks, over sequences and of a step.
#include "webnn/op_rows.h"
#include "webnn/row_checks.h"
#include "weft/recurrent.h"

namespace weft::webnn {

namespace {

// What the shapes of one call's operands follow from.
struct Network {
  bool lstm, cell;  // a cell is one step: no axes of steps and directions
  std::int64_t directions, batch, inputs, hidden;

  // An operand's shape, with the axis of directions where there is one.
  Sizes of(Sizes shape) const {
    if (!cell) shape.insert(shape.begin(), directions);
    return shape;
  }
};

// The required operands. The states of networks over sequences are options.
struct RequiredOperands {
  const Operand &input, &weight, &recurrent_weight;
  Operand hidden_state = {}, cell_state = {};
};

// Checks the shapes of all operands.
template <class Options>
Network network(const Call& c, const RequiredOperands& x, std::int64_t hidden, const Options& o) {
  constexpr bool lstm = requires { o.peephole_weight; }, cell = !requires { o.direction; };
  constexpr std::int64_t gates = lstm ? 4 : 3;
  const Sizes& input = x.input.shape();
  Network n{.lstm = lstm,
            .cell = cell,
            .directions = 1,
            .batch = input[input.size() - 2],
            .inputs = input.back(),
            .hidden = hidden};
  if constexpr (!cell) n.directions = o.direction == RecurrentNetworkDirection::both ? 2 : 1;
  if (hidden == 0 || hidden > kMostSize / (2 * gates)) {
    c.fail("hiddenSize is {}, expected a number from 1 to {}", hidden, kMostSize / (2 * gates));
  }
  const std::int64_t rows = gates * hidden;
  expect_shape(c, "weight", x.weight, n.of({rows, n.inputs}));
  expect_shape(c, "recurrentWeight", x.recurrent_weight, n.of({rows, hidden}));
  expect_shape(c, "bias", o.bias, n.of({rows}));
  expect_shape(c, "recurrentBias", o.recurrent_bias, n.of({rows}));
  expect_shape(c, cell ? "hiddenState" : "initialHiddenState", x.hidden_state, n.of({n.batch, hidden}));
  expect_shape(c, cell ? "cellState" : "initialCellState", x.cell_state, n.of({n.batch, hidden}));
  if constexpr (lstm) expect_shape(c, "peepholeWeight", o.peephole_weight, n.of({3 * hidden}));
  return n;
}

void check_steps(const Call& c, const Operand& input, std::int64_t steps) {
  if (steps == 0 || input.shape()[0] != steps) {
    c.fail("steps is {}; expected the first size of input, {}", steps, describe(input));
  }
}

template <class Options>
RecurrentOperands operands_of(const RequiredOperands& x, const Options& o) {
  Operand peephole;
  if constexpr (requires { o.peephole_weight; }) peephole = o.peephole_weight;
  return {.bias = tensor_of(o.bias),
          .recurrent_bias = tensor_of(o.recurrent_bias),
          .initial_h = tensor_of(x.hidden_state),
          .initial_c = tensor_of(x.cell_state),
          .peephole = tensor_of(peephole)};
}

RnnDirection direction_of(RecurrentNetworkDirection direction) {
  return direction == RecurrentNetworkDirection::both       ? RnnDirection::bidirectional
         : direction == RecurrentNetworkDirection::backward ? RnnDirection::reverse
                                                            : RnnDirection::forward;
}

std::vector<RnnActivation> activations_of(const Call& c, const OptionalActivations& given, std::size_t count) {
  if ((*given).size() != count) c.fail("activations are {} functions, expected {}", (*given).size(), count);
  std::vector<RnnActivation> all;
  for (const RecurrentNetworkActivation a : *given) {
    all.emplace_back(a == RecurrentNetworkActivation::relu   ? RnnFunction::relu
                     : a == RecurrentNetworkActivation::tanh ? RnnFunction::tanh
                                                             : RnnFunction::sigmoid);
  }
  return all;
}

template <class Options>
kernels::LstmOptions lstm_options(const Call& c, const Options& o) {
  const auto a = activations_of(c, o.activations, 3);
  return {.gates = o.layout == LstmWeightLayout::ifgo ? LstmGates::ifgo : LstmGates::iofg,
          .gate_activation = a[0],
          .cell_activation = a[1],
          .output_activation = a[2],
          .output_peephole_after = false};
}
template <class Options>
kernels::GruOptions gru_options(const Call& c, const Options& o) {
  const auto a = activations_of(c, o.activations, 2);
  return {.gates = o.layout == GruWeightLayout::rzn ? GruGates::rzn : GruGates::zrn,
          .gate_activation = a[0],
          .candidate_activation = a[1],
          .reset_after = o.reset_after};
}

// [steps, batch, directions · hidden] as [steps, directions, batch, hidden].
weft::Tensor sequence(const weft::Tensor& y, const Network& n) {
  return weft::permute(weft::reshape(y, {y.shape()[0], n.batch, n.directions, n.hidden}), {0, 2, 1, 3});
}

Tensors lstm(const Call& c, const Operand& input, const Operand& weight, const Operand& recurrent_weight,
             std::int64_t steps, std::int64_t hidden_size, const LstmOptions& o) {
  check_steps(c, input, steps);
  const RequiredOperands x{input, weight, recurrent_weight, o.initial_hidden_state, o.initial_cell_state};
  const Network n = network(c, x, hidden_size, o);
  kernels::LstmOptions options = lstm_options(c, o);
  options.direction = direction_of(o.direction);
  const auto [y, h, state] =
      weft::lstm(tensor_of(input), tensor_of(weight), tensor_of(recurrent_weight), operands_of(x, o), options);
  Tensors results{h, state};
  if (o.return_sequence) results.push_back(sequence(y, n));
  return results;
}
Tensors gru(const Call& c, const Operand& input, const Operand& weight, const Operand& recurrent_weight,
            std::int64_t steps, std::int64_t hidden_size, const GruOptions& o) {
  check_steps(c, input, steps);
  const RequiredOperands x{input, weight, recurrent_weight, o.initial_hidden_state};
  const Network n = network(c, x, hidden_size, o);
  kernels::GruOptions options = gru_options(c, o);
  options.direction = direction_of(o.direction);
  const auto [y, h] =
      weft::gru(tensor_of(input), tensor_of(weight), tensor_of(recurrent_weight), operands_of(x, o), options);
  Tensors results{h};
  if (o.return_sequence) results.push_back(sequence(y, n));
  return results;
}
Tensors lstm_cell(const Call& c, const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                  const Operand& hidden_state, const Operand& cell_state, std::int64_t hidden_size,
                  const LstmCellOptions& o) {
  const RequiredOperands x{input, weight, recurrent_weight, hidden_state, cell_state};
  network(c, x, hidden_size, o);
  const auto [h, state] = weft::lstm_cell(tensor_of(input), tensor_of(weight), tensor_of(recurrent_weight),
                                          operands_of(x, o), lstm_options(c, o));
  return {h, state};
}
Tensors gru_cell(const Call& c, const Operand& input, const Operand& weight, const Operand& recurrent_weight,
                 const Operand& hidden_state, std::int64_t hidden_size, const GruCellOptions& o) {
  const RequiredOperands x{input, weight, recurrent_weight, hidden_state};
  network(c, x, hidden_size, o);
  return {weft::gru_cell(tensor_of(input), tensor_of(weight), tensor_of(recurrent_weight), operands_of(x, o),
                         gru_options(c, o))};
}

}  // namespace

void add_recurrent_rows(std::vector<Op>& rows) {
  const auto as_input = [](std::string name, int rank) { return operand_as(std::move(name), "input", rank, rank); };
  // Operands of a step have one axis less.
  const auto weights = [&](int rank) {
    return std::vector{operand("input", kFloatTypes, rank, rank), as_input("weight", rank),
                       as_input("recurrentWeight", rank)};
  };
  std::vector<ArgumentSchema> sequences = weights(3), step = weights(2);
  sequences.insert(sequences.end(), {argument("steps"), argument("hiddenSize")});
  step.push_back(as_input("hiddenState", 2));

  rows.push_back(op_row({.name = "lstm",
                         .section = "#api-mlgraphbuilder-lstm",
                         .arguments = sequences,
                         .outputs = {as_input("output0", 3), as_input("output1", 3), as_input("output2", 4)}},
                        lstm));
  rows.push_back(op_row({.name = "gru",
                         .section = "#api-mlgraphbuilder-gru",
                         .arguments = sequences,
                         .outputs = {as_input("output0", 3), as_input("output1", 4)}},
                        gru));
  step.push_back(argument("hiddenSize"));
  rows.push_back(op_row({.name = "gruCell",
                         .section = "#api-mlgraphbuilder-grucell",
                         .arguments = step,
                         .outputs = {as_input("output", 2)}},
                        gru_cell));
  step.insert(step.end() - 1, as_input("cellState", 2));
  rows.push_back(op_row({.name = "lstmCell",
                         .section = "#api-mlgraphbuilder-lstmcell",
                         .arguments = step,
                         .outputs = {as_input("output0", 2), as_input("output1", 2)}},
                        lstm_cell));
}

}  // namespace weft::webnn
