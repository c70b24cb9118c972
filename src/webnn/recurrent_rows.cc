// Recurrent networks, over sequences and of a step.
#include "webnn/op_rows.h"
#include "webnn/row_checks.h"
#include "weft/recurrent.h"

namespace weft::webnn {

namespace {

using Tensors = std::vector<weft::Tensor>;

// What the shapes of one call's operands follow from.
struct Network {
  std::int64_t gates;
  bool cell;  // one step: no axes of steps and directions
  std::int64_t directions, batch, inputs, hidden;

  // An operand's shape, with the axis of directions where there is one.
  Sizes of(Sizes shape) const {
    if (!cell) shape.insert(shape.begin(), directions);
    return shape;
  }
};

// Checks the shapes of all operands.
Network network(const Call& c, std::int64_t gates, bool cell) {
  const Sizes& input = c.shape("input");
  const std::int64_t hidden = c.size("hiddenSize");
  const Network n{.gates = gates,
                  .cell = cell,
                  .directions = !cell && c.choice("direction") == "both" ? 2 : 1,
                  .batch = input[input.size() - 2],
                  .inputs = input.back(),
                  .hidden = hidden};
  if (!cell && (c.size("steps") == 0 || input[0] != c.size("steps"))) {
    c.fail("steps is {}; expected the first size of input, {}", c.size("steps"), describe(c, "input"));
  }
  if (hidden == 0 || hidden > kMostSize / (2 * gates)) {
    c.fail("hiddenSize is {}, expected a number from 1 to {}", hidden, kMostSize / (2 * gates));
  }
  const std::int64_t rows = gates * hidden;
  expect_shape(c, "weight", n.of({rows, n.inputs}));
  expect_shape(c, "recurrentWeight", n.of({rows, hidden}));
  for (const std::string_view bias : {"bias", "recurrentBias"}) expect_shape(c, bias, n.of({rows}));
  expect_shape(c, cell ? "hiddenState" : "initialHiddenState", n.of({n.batch, hidden}));
  if (gates == 4) {
    expect_shape(c, cell ? "cellState" : "initialCellState", n.of({n.batch, hidden}));
    expect_shape(c, "peepholeWeight", n.of({3 * hidden}));
  }
  return n;
}

RecurrentOperands operands_of(const Call& c, const Network& n) {
  const bool lstm = n.gates == 4;
  return {.bias = c.operand("bias"),
          .recurrent_bias = c.operand("recurrentBias"),
          .initial_h = c.operand(n.cell ? "hiddenState" : "initialHiddenState"),
          .initial_c = lstm ? c.operand(n.cell ? "cellState" : "initialCellState") : weft::Tensor(),
          .peephole = lstm ? c.operand("peepholeWeight") : weft::Tensor()};
}

RnnDirection direction(const Call& c) {
  const std::string_view name = c.choice("direction");
  return name == "both"       ? RnnDirection::bidirectional
         : name == "backward" ? RnnDirection::reverse
                              : RnnDirection::forward;
}

std::vector<RnnActivation> activations(const Call& c, std::vector<std::string> usual) {
  const std::size_t count = usual.size();
  const std::vector<std::string> names = c.choices("activations", std::move(usual));
  if (names.size() != count) c.fail("activations are {} functions, expected {}", names.size(), count);
  std::vector<RnnActivation> all;
  for (const std::string& name : names) {
    all.emplace_back(name == "relu" ? RnnFunction::relu : name == "tanh" ? RnnFunction::tanh : RnnFunction::sigmoid);
  }
  return all;
}

kernels::LstmOptions lstm_options(const Call& c) {
  const auto a = activations(c, {"sigmoid", "tanh", "tanh"});
  return {.gates = c.choice("layout") == "ifgo" ? LstmGates::ifgo : LstmGates::iofg,
          .gate_activation = a[0],
          .cell_activation = a[1],
          .output_activation = a[2],
          .output_peephole_after = false};
}
kernels::GruOptions gru_options(const Call& c) {
  const auto a = activations(c, {"sigmoid", "tanh"});
  return {.gates = c.choice("layout") == "rzn" ? GruGates::rzn : GruGates::zrn,
          .gate_activation = a[0],
          .candidate_activation = a[1],
          .reset_after = c.boolean("resetAfter")};
}

// [steps, batch, directions · hidden] as [steps, directions, batch, hidden].
weft::Tensor sequence(const weft::Tensor& y, const Network& n) {
  return weft::permute(weft::reshape(y, {y.shape()[0], n.batch, n.directions, n.hidden}), {0, 2, 1, 3});
}

Tensors lstm(const Call& c) {
  const Network n = network(c, 4, false);
  kernels::LstmOptions options = lstm_options(c);
  options.direction = direction(c);
  const auto [y, h, state] =
      weft::lstm(c.operand("input"), c.operand("weight"), c.operand("recurrentWeight"), operands_of(c, n), options);
  Tensors results{h, state};
  if (c.boolean("returnSequence")) results.push_back(sequence(y, n));
  return results;
}
Tensors gru(const Call& c) {
  const Network n = network(c, 3, false);
  kernels::GruOptions options = gru_options(c);
  options.direction = direction(c);
  const auto [y, h] =
      weft::gru(c.operand("input"), c.operand("weight"), c.operand("recurrentWeight"), operands_of(c, n), options);
  Tensors results{h};
  if (c.boolean("returnSequence")) results.push_back(sequence(y, n));
  return results;
}
Tensors lstm_cell(const Call& c) {
  const Network n = network(c, 4, true);
  const auto [h, state] = weft::lstm_cell(c.operand("input"), c.operand("weight"), c.operand("recurrentWeight"),
                                          operands_of(c, n), lstm_options(c));
  return {h, state};
}
Tensors gru_cell(const Call& c) {
  const Network n = network(c, 3, true);
  return {weft::gru_cell(c.operand("input"), c.operand("weight"), c.operand("recurrentWeight"), operands_of(c, n),
                         gru_options(c))};
}

}  // namespace

void add_recurrent_rows(std::vector<Op>& rows) {
  using Kind = ArgumentKind;
  // Operands of a step have one axis less.
  const auto add = [&](std::string name, bool is_lstm, bool cell, Map map) {
    const int matrix = cell ? 2 : 3, vector = cell ? 1 : 2;
    const auto like = [](std::string operand, int rank) { return operand_as(std::move(operand), "input", rank, rank); };
    OpSchema s{.name = name, .arguments = {operand("input", kFloatTypes, matrix, matrix)}};
    s.section = "#api-mlgraphbuilder-";
    for (const char letter : name) s.section += static_cast<char>(letter | 0x20);  // in lower case
    const auto more = [&](std::vector<ArgumentSchema> arguments) {
      for (ArgumentSchema& a : arguments) s.arguments.push_back(std::move(a));
    };
    more({like("weight", matrix), like("recurrentWeight", matrix)});
    if (cell) more({like("hiddenState", 2)});
    if (cell && is_lstm) more({like("cellState", 2)});
    if (!cell) more({required("steps", Kind::size)});
    more({required("hiddenSize", Kind::size), optional(like("bias", vector)), optional(like("recurrentBias", vector))});
    if (is_lstm) more({optional(like("peepholeWeight", vector))});
    if (!cell) more({optional(like("initialHiddenState", 3))});
    if (!cell && is_lstm) more({optional(like("initialCellState", 3))});
    if (!is_lstm) more({option("resetAfter", Kind::boolean, "true")});
    if (!cell) {
      more({option("returnSequence", Kind::boolean, "false"), option("direction", {"forward", "backward", "both"})});
    }
    more({option("layout",
                 is_lstm ? std::vector<std::string>{"iofg", "ifgo"} : std::vector<std::string>{"zrn", "rzn"})});
    ArgumentSchema functions =
        option("activations", Kind::choices, is_lstm ? "[sigmoid, tanh, tanh]" : "[sigmoid, tanh]");
    functions.choices = {"relu", "sigmoid", "tanh"};
    more({std::move(functions)});
    if (cell && !is_lstm) {
      s.outputs = {result_as("input", 2, 2)};
    } else {
      s.outputs = {result_as("input", matrix, matrix, "output0")};
      if (is_lstm) s.outputs.push_back(result_as("input", matrix, matrix, "output1"));
      if (!cell) s.outputs.push_back(result_as("input", 4, 4, is_lstm ? "output2" : "output1"));
    }
    rows.push_back({std::move(s), map});
  };
  add("lstm", true, false, lstm);
  add("lstmCell", true, true, lstm_cell);
  add("gru", false, false, gru);
  add("gruCell", false, true, gru_cell);
}

}  // namespace weft::webnn
