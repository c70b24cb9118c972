// The rows of the kernel table for weft/kernels/rnn.h.
#include "kernels/rnn/recurrence.h"
#include "kernels/table_rows.h"

namespace weft::kernels {
namespace {

RnnActivation activation(const Reader& r, std::string_view name) { return r.choice<RnnFunction>(name, kRnnFunctions); }

std::optional<double> clip(const Reader& r) {
  const double limit = r.real("clip");
  return limit == 0 ? std::nullopt : std::optional(limit);
}

// Attributes that all have, behind a network's own.
std::vector<AttributeSchema> attributes(std::vector<AttributeSchema> own) {
  own.insert(own.begin(),
             choice("direction", "from the first step to the last, the other way round, or both", kRnnDirections));
  own.push_back(number("clip", "activations are given numbers within [-clip, clip]; 0: any", 0));
  return own;
}

// A choice of activations, with their default parameters.
AttributeSchema activations(std::string name, std::string of, std::string_view usual) {
  AttributeSchema a = choice(std::move(name), "the activation of " + of, kRnnFunctions);
  a.default_value = std::string(usual);
  return a;
}

Schema schema(RnnKind kind, std::string summary, std::string formula, std::vector<AttributeSchema> own) {
  using types::floats;
  const TypeSet lengths{DType::i32, DType::u32};
  const bool cell = kind == RnnKind::lstm;
  const std::string rows = cell ? "4 · hidden" : kind == RnnKind::gru ? "3 · hidden" : "hidden";
  const auto maybe = [](std::string name, std::string shape, int rank) {
    OperandSchema o = ranked(std::move(name), std::move(shape), rank, rank);
    o.arity = Arity::optional;
    return o;
  };
  const std::string state = "[directions, batch, hidden]";
  Schema s{
      .name = std::string(name(kind)),
      .family = "rnn",
      .summary = std::move(summary),
      .formula = std::move(formula),
      .inputs = {ranked("x", "[steps, batch, inputs]", 3, 3), ranked("w", "[directions, " + rows + ", inputs]", 3, 3),
                 ranked("r", "[directions, " + rows + ", hidden]", 3, 3),
                 maybe("bias", "[directions, " + rows + "]", 2),
                 maybe("recurrent_bias", "[directions, " + rows + "]", 2), maybe("initial_h", state, 3)},
      .outputs = {ranked("h", state, 3, 3), maybe("y", "[steps, directions, batch, hidden]", 4)},
      .attributes = attributes(std::move(own))};
  if (cell) {
    s.inputs.push_back(maybe("initial_c", state, 3));
    s.inputs.push_back(maybe("peephole", "[directions, 3 · hidden]", 2));
    s.outputs.push_back(maybe("c", state, 3));
  }
  s.inputs.push_back(maybe("lengths", "[batch]", 1));
  TypeSignature types(s.inputs.size(), floats);
  types.back() = lengths;
  types.emplace_back(floats);
  while (types.size() < s.inputs.size() + s.outputs.size()) types.push_back(as(static_cast<int>(s.inputs.size())));
  s.signatures = {std::move(types)};
  return s;
}

RnnInputs inputs_of(const Reader& r, bool cell) {
  return {.x = r.in(0),
          .w = r.in(1),
          .r = r.in(2),
          .bias = r.maybe_in(3),
          .recurrent_bias = r.maybe_in(4),
          .initial_h = r.maybe_in(5),
          .initial_c = cell ? r.maybe_in(6) : std::nullopt,
          .peephole = cell ? r.maybe_in(7) : std::nullopt,
          .lengths = r.maybe_in(cell ? 8 : 6)};
}

RnnOutputs outputs_of(const Reader& r) { return {.h = r.out(0), .y = r.maybe_out(1), .c = r.maybe_out(2)}; }

}  // namespace

void add_rnn_rows(TableRows& rows) {
  rows.push_back(row(
      schema(RnnKind::lstm,
             "the long short-term memory of a sequence: h after each step and after the last one, and the last cell "
             "state; r is the state's weights; lengths is how many steps each sequence has; a row of w, r and the "
             "biases is of the gate that `gates` says; peephole weights are those of i, o and f",
             "i, f, o = gate(x wᵀ + h rᵀ + bias + recurrent_bias + peephole · c), g = cell(…), c' = f · c + i · g, "
             "h' = o · output(c')",
             {choice("gates", "the order of the gates: input, forget, candidate g, output", kLstmGates),
              activations("gate_activation", "i, f and o", "sigmoid"), activations("cell_activation", "g", "tanh"),
              activations("output_activation", "c'", "tanh"),
              boolean("coupled", "the forget gate is 1 - i, and its weights are ignored", false),
              boolean("output_peephole_after", "the peephole of o sees c' after the step; else c before it", true)}),
      [](Stream& s, const Reader& r) {
        lstm(s, inputs_of(r, true), outputs_of(r),
             {.direction = r.choice<RnnDirection>("direction", kRnnDirections),
              .gates = r.choice<LstmGates>("gates", kLstmGates),
              .gate_activation = activation(r, "gate_activation"),
              .cell_activation = activation(r, "cell_activation"),
              .output_activation = activation(r, "output_activation"),
              .clip = clip(r),
              .coupled = r.flag("coupled"),
              .output_peephole_after = r.flag("output_peephole_after")});
      }));
  rows.push_back(row(
      schema(RnnKind::gru, "the gated recurrent unit over a sequence; operands as of lstm",
             "r, z = gate(x wᵀ + bias + h rᵀ + recurrent_bias), n = candidate(x wᵀ + bias + r · (h rᵀ + "
             "recurrent_bias)), h' = (1 - z) · n + z · h",
             {choice("gates", "the order of the gates: reset, update z, candidate n", kGruGates),
              activations("gate_activation", "r and z", "sigmoid"), activations("candidate_activation", "n", "tanh"),
              boolean("reset_after", "the reset gate multiplies the product of the state; else the state before it",
                      true)}),
      [](Stream& s, const Reader& r) {
        gru(s, inputs_of(r, false), outputs_of(r),
            {.direction = r.choice<RnnDirection>("direction", kRnnDirections),
             .gates = r.choice<GruGates>("gates", kGruGates),
             .gate_activation = activation(r, "gate_activation"),
             .candidate_activation = activation(r, "candidate_activation"),
             .clip = clip(r),
             .reset_after = r.flag("reset_after")});
      }));
  rows.push_back(row(
      schema(RnnKind::rnn, "the recurrent network of one gate (Elman) over a sequence; operands as of lstm",
             "h' = activation(x wᵀ + h rᵀ + bias + recurrent_bias)", {activations("activation", "the sums", "tanh")}),
      [](Stream& s, const Reader& r) {
        rnn(s, inputs_of(r, false), outputs_of(r),
            {.direction = r.choice<RnnDirection>("direction", kRnnDirections),
             .activation = activation(r, "activation"),
             .clip = clip(r)});
      }));
}

}  // namespace weft::kernels
