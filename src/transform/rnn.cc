#include "transform/rnn.h"

#include <algorithm>

#include "core/format.h"
#include "core/in_quotes.h"
#include "core/is_or_are.h"
#include "graph/graph.h"
#include "ops/function_row.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/recurrent.h"

namespace weft {
namespace {

using kernels::Recurrence;
using kernels::RnnKind;

enum Optional : std::uint8_t { bias, recurrent_bias, initial_h, initial_c, peephole, lengths };

// The attributes of a network with these options.
RnnAttributes attributes_of(const LstmOptions& o) { return {.kind = RnnKind::lstm, .lstm = o}; }
RnnAttributes attributes_of(const GruOptions& o) { return {.kind = RnnKind::gru, .gru = o}; }
RnnAttributes attributes_of(const RnnOptions& o) { return {.kind = RnnKind::rnn, .rnn = o}; }

View permuted(const View& v, std::initializer_list<int> order) {
  return v.permuted(std::span(order.begin(), order.size()));
}

// An operand whose first axis counts directions, where there may be one without that axis.
Tensor with_directions(std::string_view op, std::string_view what, const Operand& v, int rank,
                       const Recurrence& recurrence) {
  if (v.rank() == rank) return v;
  if (v.rank() == rank - 1 && recurrence.directions() == 1) return expand_dims(v, 0);
  throw ShapeError("{}: {} {} {}, expected rank {}{}", op, what, is_or_are(what), to_string(v.type()), rank,
                   recurrence.directions() == 1 ? std::format(", or {} without an axis of directions", rank - 1) : "");
}

// Of a network that is no LSTM.
void check_own_operands(std::string_view op, const RecurrentOperands& o) {
  for (const auto& [what, operand] : {std::pair("initial_c", &o.initial_c), {"peephole", &o.peephole}}) {
    if (operand->defined()) throw InvalidArgument("{}: {} is given, which only an lstm has", op, what);
  }
}

// The node's result 0: h.
Tensor recurrent(RnnAttributes attributes, std::string_view op, const Operand& x, const Operand& w, const Operand& r,
                 const RecurrentOperands& o, bool y) {
  const Recurrence recurrence = attributes.recurrence();
  std::vector<Tensor> operands{x, with_directions(op, "w", w, 3, recurrence),
                               with_directions(op, "r", r, 3, recurrence)};
  GivenOperands& given = attributes.operands;
  const auto add = [&](Optional which, const Operand& v, int rank) {
    if (!v.defined()) return;
    given[which] = true;
    operands.push_back(rank == 1 ? Tensor(v) : with_directions(op, kRecurrentOperands[which], v, rank, recurrence));
  };
  add(bias, o.bias, 2);
  add(recurrent_bias, o.recurrent_bias, 2);
  add(initial_h, o.initial_h, 3);
  add(initial_c, o.initial_c, 3);
  add(peephole, o.peephole, 2);
  add(lengths, o.lengths, 1);
  attributes.batch_first = o.batch_first;
  attributes.y = y;
  return apply(make_op<RnnOp>(std::move(attributes)), std::move(operands));
}

RecurrentResult sequence(const RnnAttributes& attributes, const Operand& x, const Operand& w, const Operand& r,
                         const RecurrentOperands& operands) {
  const Tensor h = recurrent(attributes, kernels::name(attributes.kind), x, w, r, operands, true);
  return {result(h, 1), h};
}

// x as a sequence of one step; the node's result 0.
Tensor cell(const RnnAttributes& attributes, std::string_view op, const Tensor& x, const Tensor& w, const Tensor& r,
            const RecurrentOperands& o) {
  if (x.rank() != 2) throw ShapeError("{}: x is {}, expected [batch, inputs]", op, to_string(x.type()));
  const RnnDirection direction = attributes.recurrence().direction;
  if (direction != RnnDirection::forward) {
    throw InvalidArgument("{}: one step has the direction forward, not {}", op,
                          kernels::kRnnDirections[static_cast<int>(direction)]);
  }
  return recurrent(attributes, op, expand_dims(x, 0), w, r, o, false);
}

// What one step has no place for.
void check_step(std::string_view op, const RecurrentOperands& o, bool is_lstm) {
  if (o.lengths.defined()) throw InvalidArgument("{}: lengths are given, which one step has not", op);
  if (o.batch_first) throw InvalidArgument("{}: batch_first is set, but x of one step has no steps", op);
  if (!is_lstm) check_own_operands(op, o);
}

}  // namespace

std::string to_string(const GivenOperands& given) {
  std::string text;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) text += (text.empty() ? "" : " ") + std::string(kRecurrentOperands[i]);
  }
  return text;
}

void from_text(std::string_view text, GivenOperands& given) {
  given = {};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const auto found = std::ranges::find(kRecurrentOperands, text.substr(0, end));
    if (found == kRecurrentOperands.end()) {
      throw InvalidArgument("{} is no operand of a recurrent network", in_quotes(std::string(text.substr(0, end))));
    }
    given[static_cast<std::size_t>(found - kRecurrentOperands.begin())] = true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void RnnAttributes::given(const std::vector<bool>& present) {
  operands = {};
  std::size_t next = 3;  // behind x, w and r
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (kind != RnnKind::lstm && (i == initial_c || i == peephole)) continue;
    operands[i] = present[next++];
  }
}

Recurrence RnnAttributes::recurrence() const {
  if (kind == RnnKind::lstm) return Recurrence(lstm);
  return kind == RnnKind::gru ? Recurrence(gru) : Recurrence(rnn);
}

void RnnAttributes::fields(AttributeVisitor& v) {
  if (kind == RnnKind::lstm) lstm.fields(v);
  if (kind == RnnKind::gru) gru.fields(v);
  if (kind == RnnKind::rnn) rnn.fields(v);
  v.brief_text("operands", operands, {}, "which of the optional operands are there, by their names");
  v.brief("batch_first", batch_first, false, "x and y are [batch, steps, …]");
  v.brief("y", y, true, "whether y is among the results");
}

std::vector<TensorType> RnnOp::infer(std::span<const TensorType> in) const {
  const auto named = static_cast<std::size_t>(3 + std::ranges::count(a.operands, true));
  if (in.size() != named) throw InvalidArgument("{}: {} operands, its attributes name {}", name(), in.size(), named);
  std::array<const TensorType*, kRecurrentOperands.size()> more{};
  for (std::size_t i = 0, next = 3; i < more.size(); ++i) more[i] = a.operands[i] ? &in[next++] : nullptr;
  std::vector<const TensorType*> all{&in[0], &in[1], &in[2], more[bias], more[recurrent_bias], more[initial_h]};
  if (is_lstm()) all.insert(all.end(), {more[initial_c], more[peephole]});
  all.push_back(more[lengths]);
  const DType type = infer_dtypes(name(), all)[0];

  const Shape& x = in[0].shape;
  const std::int64_t steps = x[a.batch_first ? 1 : 0], batch = x[a.batch_first ? 0 : 1];
  const std::int64_t directions = recurrence_.directions(), hidden = in[2].shape[2];
  const std::int64_t rows = recurrence_.gates() * hidden;
  const auto expect = [&](std::string_view what, const TensorType* v, const Shape& shape, std::string_view meaning) {
    if (!v || v->shape == shape) return;
    throw ShapeError("{}: {} {} {}, expected {} ({}) for x {}{}", name(), what, is_or_are(what), weft::to_string(*v),
                     weft::to_string(shape), meaning, weft::to_string(in[0]), a.batch_first ? ", batch first" : "");
  };
  const std::string gates = recurrence_.gates() == 1 ? "hidden" : std::format("{} · hidden", recurrence_.gates());
  expect("r", &in[2], {directions, rows, hidden}, std::format("[directions, {}, hidden]", gates));
  expect("w", &in[1], {directions, rows, x[2]}, std::format("[directions, {}, inputs]", gates));
  for (const Optional i : {bias, recurrent_bias}) {
    expect(kRecurrentOperands[i], more[i], {directions, rows}, std::format("[directions, {}]", gates));
  }
  for (const Optional i : {initial_h, initial_c}) {
    expect(kRecurrentOperands[i], more[i], {directions, batch, hidden}, "[directions, batch, hidden]");
  }
  expect("peephole", more[peephole], {directions, 3 * hidden}, "[directions, 3 · hidden]");
  expect("lengths", more[lengths], {batch}, "[batch]");

  const TensorType state{type, {directions, batch, hidden}};
  std::vector<TensorType> results{state};
  if (is_lstm()) results.push_back(state);
  if (a.y) {
    const std::int64_t across = directions * hidden;
    results.push_back({type, a.batch_first ? Shape{batch, steps, across} : Shape{steps, batch, across}});
  }
  return results;
}

void RnnOp::lower(const Launch& call) const {
  const auto in_steps = [&](const View& v) { return a.batch_first ? permuted(v, {1, 0, 2}) : v; };
  kernels::RnnInputs in{.x = in_steps(call.inputs[0]), .w = call.inputs[1], .r = call.inputs[2]};
  std::optional<View>* const optional[] = {&in.bias,      &in.recurrent_bias, &in.initial_h,
                                           &in.initial_c, &in.peephole,       &in.lengths};
  for (std::size_t i = 0, next = 3; i < a.operands.size(); ++i) {
    if (a.operands[i]) *optional[i] = call.inputs[next++];
  }
  kernels::RnnOutputs out{.h = call.outputs[0]};
  if (is_lstm()) out.c = call.outputs[1];
  if (a.y) {
    // [steps, batch, directions · hidden] as [steps, directions, batch, hidden].
    const View y = in_steps(call.outputs.back());
    const std::int64_t hidden = in.r.shape()[2];
    const Shape& s = y.shape();
    const Strides& by = y.strides();
    out.y = y.with_layout({{s[0], recurrence_.directions(), s[1], hidden}, {by[0], hidden * by[2], by[1], by[2]}});
  }
  kernels::recur(call.stream, recurrence_, in, out);
}

Work RnnOp::work(const Launch& call) const {
  const View &x = call.inputs[0], &r = call.inputs[2];
  const auto rows = static_cast<double>(x.shape()[0] * x.shape()[1]), hidden = static_cast<double>(r.shape()[2]);
  const auto states = rows * static_cast<double>(recurrence_.directions()) * hidden;
  const auto gates = static_cast<double>(recurrence_.gates());
  const double depth = static_cast<double>(x.shape()[2]) + hidden;
  // An activation takes about as long as an exponential.
  return with_bytes(call, {.flops = 2 * states * gates * depth + 4 * states * gates,
                           .functions = 1.5 * states * static_cast<double>(gates + (is_lstm() ? 1 : 0))});
}

// Entries that share the weights are more sequences. For others the decomposition is batched.
std::optional<Batched> RnnOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const std::int64_t batch = batch_size(in, axes);
  const int of_entry = a.batch_first ? 0 : 1;  // where x has its sequences
  const std::int64_t count_of_entry = in[0].shape()[of_entry + (axes[0] >= 0 && axes[0] <= of_entry ? 1 : 0)];
  std::vector<Tensor> operands(in.begin(), in.end());
  // Operand k with its axis `sequences` over all entries.
  const auto join = [&](std::size_t k, int sequences) {
    operands[k] = moveaxis(entries_merged(moveaxis(batch_first(in[k], axes[k], batch), sequences + 1, 1), 0, batch), 0,
                           sequences);
  };
  join(0, of_entry);
  for (std::size_t i = 0, k = 1; k < in.size(); ++k) {
    std::size_t which = kRecurrentOperands.size();  // w, r
    if (k >= 3) {
      while (!a.operands[i]) ++i;
      which = i++;
    }
    if (which == initial_h || which == initial_c) {
      join(k, 1);
    } else if (which == lengths) {
      join(k, 0);
    } else if (axes[k] >= 0) {
      return std::nullopt;
    }
  }
  const Tensor h = apply(make_op<RnnOp>(a), std::move(operands));
  Batched made;
  const int count = static_cast<int>(h.node()->types().size());
  for (int i = 0; i < count; ++i) {
    const bool is_y = a.y && i + 1 == count;
    const int sequences = is_y && a.batch_first ? 0 : 1;
    made.outputs.push_back(
        moveaxis(entries_unmerged(moveaxis(result(h, i), sequences, 0), batch, count_of_entry), 1, sequences + 1));
    made.axes.push_back(0);
  }
  return made;
}

std::string RnnOp::label(std::span<const TensorType>) const {
  if (recurrence_.direction == RnnDirection::forward) return std::string(name());
  return std::format("{}_{}", name(), kernels::kRnnDirections[static_cast<int>(recurrence_.direction)]);
}

namespace {

// ---- Rows of one step, whose direction is forward

constexpr std::string_view kState = "[batch, hidden]", kSame = "x's type";
constexpr std::string_view kOfGates = "[gates · hidden]";
constexpr FunctionOperand kX = {.name = "x", .shape = "[batch, inputs]"};
constexpr FunctionOperand kW = {.name = "w", .shape = "[gates · hidden, inputs]"};
constexpr FunctionOperand kR = {.name = "r", .shape = "[gates · hidden, hidden]"};
constexpr FunctionOperand kBias = {.name = "bias", .arity = Arity::optional, .shape = kOfGates};
constexpr FunctionOperand kRecurrentBias = {.name = "recurrent_bias", .arity = Arity::optional, .shape = kOfGates};
constexpr FunctionOperand kInitialH = {.name = "initial_h", .arity = Arity::optional, .shape = kState};

struct LstmCellAttributes {
  LstmOptions options = {};
  void fields(AttributeVisitor& v) {
    v("gates", options.gates, LstmGates::ifgo, kernels::kLstmGates,
      "the order of the gates: input, forget, candidate g, output");
    v.text("gate_activation", options.gate_activation, RnnFunction::sigmoid, "the activation of i, f and o");
    v.text("cell_activation", options.cell_activation, RnnFunction::tanh, "the activation of g");
    v.text("output_activation", options.output_activation, RnnFunction::tanh, "the activation of c'");
    kernels::visit_clip(v, options.clip);
    v("coupled", options.coupled, false, "the forget gate is 1 - i, and its weights are ignored");
    v("output_peephole_after", options.output_peephole_after, true,
      "the peephole of o sees c' after the step; else c before it");
    v("clip_output", options.clip_output, true, "clip counts for the output activation too; else for the sums alone");
  }
};
constexpr Function kLstmCell = {{.name = "lstm_cell",
                                 .operands = {kX,
                                              kW,
                                              kR,
                                              kBias,
                                              kRecurrentBias,
                                              kInitialH,
                                              {.name = "initial_c", .arity = Arity::optional, .shape = kState},
                                              {.name = "peephole", .arity = Arity::optional, .shape = "[3 · hidden]"}},
                                 .results = {{"h", kState, kSame}, {"c", kState, kSame}},
                                 .formula = "c' = f · c + i · g, h' = o · output(c')",
                                 .summary = "one step of lstm: the state after it, of initial_h and initial_c"},
                                [](const Tensor& x, const Tensor& w, const Tensor& r, const Tensor& bias,
                                   const Tensor& recurrent_bias, const Tensor& initial_h, const Tensor& initial_c,
                                   const Tensor& peephole, const LstmCellAttributes& a) -> LstmState {
                                  const Tensor h = cell(attributes_of(a.options), "lstm_cell", x, w, r,
                                                        {bias, recurrent_bias, initial_h, initial_c, peephole});
                                  return {squeeze(h, 0), squeeze(result(h, 1), 0)};
                                }};

struct GruCellAttributes {
  GruOptions options = {};
  void fields(AttributeVisitor& v) {
    v("gates", options.gates, GruGates::rzn, kernels::kGruGates,
      "the order of the gates: reset, update z, candidate n");
    v.text("gate_activation", options.gate_activation, RnnFunction::sigmoid, "the activation of r and z");
    v.text("candidate_activation", options.candidate_activation, RnnFunction::tanh, "the activation of n");
    kernels::visit_clip(v, options.clip);
    v("reset_after", options.reset_after, true,
      "the reset gate multiplies the product of the state; else the state before it");
  }
};
constexpr Function kGruCell = {
    {.name = "gru_cell",
     .operands = {kX, kW, kR, kBias, kRecurrentBias, kInitialH},
     .results = {{"y", kState, kSame}},
     .formula = "y = (1 - z) · n + z · h",
     .summary = "one step of gru: the state after it, of initial_h"},
    [](const Tensor& x, const Tensor& w, const Tensor& r, const Tensor& bias, const Tensor& recurrent_bias,
       const Tensor& initial_h, const GruCellAttributes& a) {
      return squeeze(cell(attributes_of(a.options), "gru_cell", x, w, r, {bias, recurrent_bias, initial_h}), 0);
    }};

struct RnnCellAttributes {
  RnnOptions options = {};
  void fields(AttributeVisitor& v) {
    v.text("activation", options.activation, RnnFunction::tanh, "the activation of the sums");
    kernels::visit_clip(v, options.clip);
  }
};
constexpr Function kRnnCell = {
    {.name = "rnn_cell",
     .operands = {kX, kW, kR, kBias, kRecurrentBias, kInitialH},
     .results = {{"y", kState, kSame}},
     .formula = "y = activation(x wᵀ + h rᵀ + bias + recurrent_bias)",
     .summary = "one step of rnn: the state after it, of initial_h"},
    [](const Tensor& x, const Tensor& w, const Tensor& r, const Tensor& bias, const Tensor& recurrent_bias,
       const Tensor& initial_h, const RnnCellAttributes& a) {
      return squeeze(cell(attributes_of(a.options), "rnn_cell", x, w, r, {bias, recurrent_bias, initial_h}), 0);
    }};

// ---- Rows of sequences

constexpr std::string_view kStates = "[directions, batch, hidden]", kWeightsOfGates = "[directions, gates · hidden]";
constexpr FunctionOperand kSteps = {.name = "x", .shape = "[steps, batch, inputs]"};
constexpr FunctionOperand kW3 = {.name = "w", .shape = "[directions, gates · hidden, inputs]"};
constexpr FunctionOperand kR3 = {.name = "r", .shape = "[directions, gates · hidden, hidden]"};
constexpr FunctionOperand kBiases = {.name = "bias", .arity = Arity::optional, .shape = kWeightsOfGates};
constexpr FunctionOperand kRecurrentBiases = {
    .name = "recurrent_bias", .arity = Arity::optional, .shape = kWeightsOfGates};
constexpr FunctionOperand kInitialHs = {.name = "initial_h", .arity = Arity::optional, .shape = kStates};
constexpr FunctionOperand kLengths = {.name = "lengths", .arity = Arity::optional, .shape = "[batch]"};
constexpr FunctionResult kY = {"y", "[steps, batch, directions · hidden]", kSame}, kH = {"h", kStates, kSame};

template <class Options>
struct SequenceAttributes {
  Options options = {};
  bool batch_first = false;
  void fields(AttributeVisitor& v) {
    options.fields(v);
    v("batch_first", batch_first, false, "x and y are [batch, steps, …]");
  }
};

constexpr Function kLstm = {
    {.name = "lstm",
     .operands = {kSteps,
                  kW3,
                  kR3,
                  kBiases,
                  kRecurrentBiases,
                  kInitialHs,
                  {.name = "initial_c", .arity = Arity::optional, .shape = kStates},
                  {.name = "peephole", .arity = Arity::optional, .shape = "[directions, 3 · hidden]"},
                  kLengths},
     .results = {kY, kH, {"c", kStates, kSame}},
     .formula = "c' = f · c + i · g, h' = o · output(c'), y = h after each step",
     .summary = "the long short-term memory of a sequence: h after each step, and h and c after the last one"},
    [](const Tensor& x, const Tensor& w, const Tensor& r, const Tensor& bias, const Tensor& recurrent_bias,
       const Tensor& initial_h, const Tensor& initial_c, const Tensor& peephole, const Tensor& lengths,
       const SequenceAttributes<LstmOptions>& a) -> LstmResult {
      const Tensor h = recurrent(attributes_of(a.options), "lstm", x, w, r,
                                 {bias, recurrent_bias, initial_h, initial_c, peephole, lengths, a.batch_first}, true);
      return {result(h, 2), h, result(h, 1)};
    }};
constexpr Function kGru = {
    {.name = "gru",
     .operands = {kSteps, kW3, kR3, kBiases, kRecurrentBiases, kInitialHs, kLengths},
     .results = {kY, kH},
     .formula = "h' = (1 - z) · n + z · h, y = h after each step",
     .summary = "the gated recurrent unit over a sequence: h after each step, and after the last one"},
    [](const Tensor& x, const Tensor& w, const Tensor& r, const Tensor& bias, const Tensor& recurrent_bias,
       const Tensor& initial_h, const Tensor& lengths, const SequenceAttributes<GruOptions>& a) {
      return sequence(attributes_of(a.options), x, w, r,
                      {bias, recurrent_bias, initial_h, {}, {}, lengths, a.batch_first});
    }};
constexpr Function kRnn = {
    {.name = "rnn",
     .operands = {kSteps, kW3, kR3, kBiases, kRecurrentBiases, kInitialHs, kLengths},
     .results = {kY, kH},
     .formula = "h' = activation(x wᵀ + h rᵀ + bias + recurrent_bias), y = h after each step",
     .summary = "the recurrent network of one gate over a sequence: h after each step, and after the last one"},
    [](const Tensor& x, const Tensor& w, const Tensor& r, const Tensor& bias, const Tensor& recurrent_bias,
       const Tensor& initial_h, const Tensor& lengths, const SequenceAttributes<RnnOptions>& a) {
      return sequence(attributes_of(a.options), x, w, r,
                      {bias, recurrent_bias, initial_h, {}, {}, lengths, a.batch_first});
    }};

}  // namespace

LstmResult lstm(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& o,
                const LstmOptions& options) {
  return kLstm(x, w, r, o.bias, o.recurrent_bias, o.initial_h, o.initial_c, o.peephole, o.lengths,
               {options, o.batch_first});
}

RecurrentResult gru(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& o,
                    const GruOptions& options) {
  check_own_operands("gru", o);
  return kGru(x, w, r, o.bias, o.recurrent_bias, o.initial_h, o.lengths, {options, o.batch_first});
}

RecurrentResult rnn(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& o,
                    const RnnOptions& options) {
  check_own_operands("rnn", o);
  return kRnn(x, w, r, o.bias, o.recurrent_bias, o.initial_h, o.lengths, {options, o.batch_first});
}

LstmState lstm_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands,
                    const LstmOptions& options) {
  check_step("lstm_cell", operands, true);
  return kLstmCell(x, w, r, operands.bias, operands.recurrent_bias, operands.initial_h, operands.initial_c,
                   operands.peephole, {options});
}

Tensor gru_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands,
                const GruOptions& options) {
  check_step("gru_cell", operands, false);
  return kGruCell(x, w, r, operands.bias, operands.recurrent_bias, operands.initial_h, {options});
}

Tensor rnn_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands,
                const RnnOptions& options) {
  check_step("rnn_cell", operands, false);
  return kRnnCell(x, w, r, operands.bias, operands.recurrent_bias, operands.initial_h, {options});
}

void add_rnn_functions(FunctionRows& rows) { rows.add(kLstm, kGru, kRnn, kLstmCell, kGruCell, kRnnCell); }

void add_rnn_ops(OpRows& rows) {
  for (const RnnKind kind : {RnnKind::lstm, RnnKind::gru, RnnKind::rnn}) {
    OpRow row = op_row<RnnOp>(schema_of_kernel(kernels::name(kind)), {.kind = kind});
    std::ranges::find(row.schema.outputs, "y", &OperandSchema::name)->shape = "[steps, batch, directions · hidden]";
    rows.push_back(std::move(row));
  }
}

}  // namespace weft
