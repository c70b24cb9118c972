// The rows of the kernel table for weft/kernels/rnn.h.
#include "kernels/rnn/recurrence.h"
#include "kernels/table_rows.h"

namespace weft::kernels {
namespace {

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
      .attributes = std::move(own)};
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
             schemas_of<LstmOptions>()),
      [](Stream& s, const Reader& r) { lstm(s, inputs_of(r, true), outputs_of(r), r.options<LstmOptions>()); }));
  rows.push_back(
      row(schema(RnnKind::gru, "the gated recurrent unit over a sequence; operands as of lstm",
                 "r, z = gate(x wᵀ + bias + h rᵀ + recurrent_bias), n = candidate(x wᵀ + bias + r · (h rᵀ + "
                 "recurrent_bias)), h' = (1 - z) · n + z · h",
                 schemas_of<GruOptions>()),
          [](Stream& s, const Reader& r) { gru(s, inputs_of(r, false), outputs_of(r), r.options<GruOptions>()); }));
  rows.push_back(
      row(schema(RnnKind::rnn, "the recurrent network of one gate (Elman) over a sequence; operands as of lstm",
                 "h' = activation(x wᵀ + h rᵀ + bias + recurrent_bias)", schemas_of<RnnOptions>()),
          [](Stream& s, const Reader& r) { rnn(s, inputs_of(r, false), outputs_of(r), r.options<RnnOptions>()); }));
}

}  // namespace weft::kernels
