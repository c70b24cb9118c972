#include "graph/ops/rnn.h"

#include <algorithm>

#include "core/error_context.h"
#include "core/format.h"
#include "core/in_quotes.h"
#include "core/is_or_are.h"
#include "graph/graph.h"
#include "graph/op_rows.h"
#include "graph/op_schemas.h"
#include "graph/rules.h"
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

// The node's result 0: h.
Tensor recurrent(RnnAttributes attributes, std::string_view op, const Operand& x, const Operand& w, const Operand& r,
                 const RecurrentOperands& o, bool y) {
  const Recurrence recurrence = attributes.recurrence();
  if (!x.defined() || !w.defined() || !r.defined()) throw InvalidArgument("{}: x, w or r is an undefined Tensor", op);
  if (recurrence.kind != RnnKind::lstm) {
    for (const auto& [what, operand] : {std::pair("initial_c", &o.initial_c), {"peephole", &o.peephole}}) {
      if (operand->defined()) throw InvalidArgument("{}: {} is given, which only an lstm has", op, what);
    }
  }
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
Tensor cell(const RnnAttributes& attributes, std::string_view op, const Operand& x, const Operand& w, const Operand& r,
            const RecurrentOperands& o) try {
  if (!x.defined()) throw InvalidArgument("{}: x, w or r is an undefined Tensor", op);
  if (x.rank() != 2) throw ShapeError("{}: x is {}, expected [batch, inputs]", op, to_string(x.type()));
  const RnnDirection direction = attributes.recurrence().direction;
  if (direction != RnnDirection::forward) {
    throw InvalidArgument("{}: one step has the direction forward, not {}", op,
                          kernels::kRnnDirections[static_cast<int>(direction)]);
  }
  if (o.lengths.defined()) throw InvalidArgument("{}: lengths are given, which one step has not", op);
  if (o.batch_first) throw InvalidArgument("{}: batch_first is set, but x of one step has no steps", op);
  return recurrent(attributes, op, expand_dims(x, 0), w, r, o, false);
} catch (const Error& e) {
  throw_in_function(e, op);
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

// ---- Derivatives: those of the steps, recorded as operations of their own.

namespace {

// At corners the derivative is that of PyTorch's function where it has one: 0 of relu and hard_sigmoid.
Tensor activated(const RnnActivation& a, const Tensor& x) {
  const Tensor negative = less(x, 0);
  switch (a.function) {
    case RnnFunction::sigmoid:
      return sigmoid(x);
    case RnnFunction::tanh:
      return tanh(x);
    case RnnFunction::relu:
      return relu(x);
    case RnnFunction::affine:
      return x * a.alpha + a.beta;
    case RnnFunction::leaky_relu:
      return select(negative, x * a.alpha, x);
    case RnnFunction::thresholded_relu:
      return select(less(x, a.alpha), 0, x);
    case RnnFunction::scaled_tanh:
      return tanh(x * a.beta) * a.alpha;
    case RnnFunction::hard_sigmoid: {
      const Tensor line = x * a.alpha + a.beta;
      return select(less_equal(line, 0), 0, select(greater_equal(line, 1), 1, line));
    }
    case RnnFunction::elu:
      return select(negative, expm1(select(negative, x, 0)) * a.alpha, x);
    case RnnFunction::softsign:
      return x / (abs(x) + 1);
    case RnnFunction::softplus:
      return softplus(x);
  }
  return x;
}

// A network of one direction at work, in the type of its sums.
struct Steps {
  const Recurrence& recurrence;
  std::int64_t hidden;
  Tensor r;                         // [hidden, gates · hidden]
  Tensor recurrent_bias, peephole;  // [gates · hidden], [3 · hidden]; may be undefined
  Tensor h, c;                      // [batch, hidden]

  // The state after a step, of the inputs' sums [batch, gates · hidden].
  void next(const Tensor& sums) {
    const Tensor of_state = with_bias(matmul(h, r), recurrent_bias, -1);
    switch (recurrence.kind) {
      case RnnKind::rnn:
        h = activation(0, sums + of_state);
        return;
      case RnnKind::gru: {
        const Tensor all = sums + of_state;
        const Tensor reset = activation(0, gate(all, 0)), z = activation(0, gate(all, 1));
        const Tensor state = recurrence.reset_after ? reset * gate(of_state, 2)
                                                    : with_bias(matmul(reset * h, gate(r, 2)), recurrent_bias, 2);
        h = (1 - z) * activation(1, gate(sums, 2) + state) + z * h;
        return;
      }
      case RnnKind::lstm: {
        const Tensor all = sums + of_state;
        const Tensor i = activation(0, peeped(gate(all, 0), 0, c));
        const Tensor f = recurrence.coupled ? 1 - i : activation(0, peeped(gate(all, 1), 2, c));
        const Tensor after = f * c + i * activation(1, gate(all, 2));
        const Tensor o = activation(0, peeped(gate(all, 3), 1, recurrence.output_peephole_after ? after : c));
        c = after;
        h = o * activation(2, c);
        return;
      }
    }
  }

 private:
  Tensor gate(const Tensor& all, int which) const {
    const std::int64_t begin = recurrence.places[static_cast<std::size_t>(which)] * hidden;
    return slice(all, -1, begin, begin + hidden);
  }
  // A gate of the bias, or with -1 all of it, is added.
  Tensor with_bias(const Tensor& x, const Tensor& bias, int which) const {
    return !bias.defined() ? x : x + (which < 0 ? bias : gate(bias, which));
  }
  Tensor peeped(const Tensor& sum, std::int64_t which, const Tensor& cell) const {
    return !peephole.defined() ? sum : sum + slice(peephole, 0, which * hidden, (which + 1) * hidden) * cell;
  }
  Tensor activation(std::size_t which, const Tensor& x) const {
    const auto& clip = recurrence.clip;
    return activated(recurrence.activations[which], clip ? clamp(x, -*clip, *clip) : x);
  }
};

}  // namespace

std::vector<Tensor> RnnOp::decomposed(std::span<const Tensor> in) const {
  std::vector<TensorType> types;
  for (const Tensor& v : in) types.push_back(v.type());
  const std::vector<TensorType> results = infer(types);
  const DType type = results[0].dtype;
  const bool doubles = std::any_of(in.begin(), in.begin() + 3, [](const Tensor& v) { return v.dtype() == DType::f64; });
  const DType wide = doubles ? DType::f64 : DType::f32;
  std::array<Tensor, kRecurrentOperands.size()> more;
  for (std::size_t i = 0, next = 3; i < more.size(); ++i) more[i] = a.operands[i] ? in[next++] : Tensor();

  Tensor x = cast(a.batch_first ? permute(in[0], {1, 0, 2}) : in[0], wide);
  const std::int64_t steps = x.shape()[0], batch = x.shape()[1], hidden = in[2].shape()[2];
  std::vector<Tensor> running;  // of each step: which sequences have it, [batch, 1]
  if (more[lengths].defined()) {
    const Tensor length = reshape(cast(more[lengths], DType::i64), {batch, 1});
    for (std::int64_t t = 0; t < steps; ++t) running.push_back(greater(length, t));
    // What lies past the end of a sequence has no part in derivatives, whatever it is.
    if (steps > 0) x = select(stack(running), x, 0);
  }
  // The state is kept in the results' type between steps.
  const auto rounded = [&](const Tensor& h) { return cast(cast(h, type), wide); };
  const auto of_direction = [&](const Tensor& v, std::int64_t d) {
    return v.defined() ? cast(squeeze(slice(v, 0, d, d + 1), 0), wide) : Tensor();
  };
  const Tensor zero = zeros_of({wide, {batch, hidden}});
  std::vector<Tensor> all_h, all_c, all_y;
  for (std::int64_t d = 0; d < recurrence_.directions(); ++d) {
    Tensor sums = matmul(x, of_direction(in[1], d).T());
    if (more[bias].defined()) sums = sums + of_direction(more[bias], d);
    const Tensor h = of_direction(more[initial_h], d), c = of_direction(more[initial_c], d);
    Steps network{.recurrence = recurrence_,
                  .hidden = hidden,
                  .r = of_direction(in[2], d).T(),
                  .recurrent_bias = of_direction(more[recurrent_bias], d),
                  .peephole = of_direction(more[peephole], d),
                  .h = h.defined() ? rounded(h) : zero,
                  .c = c.defined() ? c : zero};
    std::vector<Tensor> y(static_cast<std::size_t>(steps));
    for (std::int64_t i = 0; i < steps; ++i) {
      // A sequence that is shorter waits in its initial state, going back, and in its last one, going forth.
      const std::int64_t t = recurrence_.reverse(d) ? steps - 1 - i : i;
      const Tensor before_h = network.h, before_c = network.c;
      network.next(squeeze(slice(sums, 0, t, t + 1), 0));
      network.h = rounded(network.h);
      Tensor& out = y[static_cast<std::size_t>(t)];
      out = network.h;
      if (!running.empty()) {
        const Tensor& runs = running[static_cast<std::size_t>(t)];
        out = select(runs, network.h, 0);
        network.h = select(runs, network.h, before_h);
        network.c = select(runs, network.c, before_c);
      }
    }
    all_h.push_back(cast(network.h, type));
    all_c.push_back(cast(network.c, type));
    if (a.y && steps > 0) all_y.push_back(cast(stack(y), type));
  }
  std::vector<Tensor> made{stack(all_h)};
  if (is_lstm()) made.push_back(stack(all_c));
  if (!a.y) return made;
  if (steps == 0) {
    made.push_back(zeros_of(results.back()));
    return made;
  }
  const Tensor y = concat(all_y, 2);
  made.push_back(a.batch_first ? permute(y, {1, 0, 2}) : y);
  return made;
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

LstmResult lstm(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands,
                const LstmOptions& options) {
  const Tensor h = recurrent(attributes_of(options), "lstm", x, w, r, operands, true);
  return {result(h, 2), h, result(h, 1)};
}

RecurrentResult gru(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands,
                    const GruOptions& options) {
  return sequence(attributes_of(options), x, w, r, operands);
}

RecurrentResult rnn(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands,
                    const RnnOptions& options) {
  return sequence(attributes_of(options), x, w, r, operands);
}

LstmState lstm_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands,
                    const LstmOptions& options) {
  const Tensor h = cell(attributes_of(options), "lstm_cell", x, w, r, operands);
  return {squeeze(h, 0), squeeze(result(h, 1), 0)};
}

Tensor gru_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands,
                const GruOptions& options) {
  return squeeze(cell(attributes_of(options), "gru_cell", x, w, r, operands), 0);
}

Tensor rnn_cell(const Operand& x, const Operand& w, const Operand& r, const RecurrentOperands& operands,
                const RnnOptions& options) {
  return squeeze(cell(attributes_of(options), "rnn_cell", x, w, r, operands), 0);
}

void add_rnn_ops(OpRows& rows) {
  for (const RnnKind kind : {RnnKind::lstm, RnnKind::gru, RnnKind::rnn}) {
    OpRow row = op_row<RnnOp>(schema_of_kernel(kernels::name(kind)), {.kind = kind});
    std::ranges::find(row.schema.outputs, "y", &OperandSchema::name)->shape = "[steps, batch, directions · hidden]";
    rows.push_back(std::move(row));
  }
}

}  // namespace weft
