// Recurrent networks as loops over their steps: what their derivatives, and batches of weights, are made of.
#include <algorithm>

#include "ops/identity.h"
#include "ops/rules.h"
#include "transform/control_flow.h"
#include "transform/derivatives.h"
#include "transform/rnn.h"
#include "weft/array.h"
#include "weft/recurrent.h"

namespace weft {
namespace {

using kernels::Recurrence;
using kernels::RnnKind;

enum Optional : std::uint8_t { bias, recurrent_bias, initial_h, initial_c, peephole, lengths };

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
    const Tensor of_state = with_bias(matmul(h, r), recurrent_bias, -1), all = sums + of_state;
    std::vector<Tensor> gates;
    for (int which = 0; which < static_cast<int>(recurrence.gates()); ++which) gates.push_back(gate(all, which));
    if (recurrence.kind == RnnKind::gru) {
      gates[2] = gate(sums, 2);
      gates.push_back(recurrence.reset_after ? gate(of_state, 2) : Tensor());
    }
    next(gates);
  }
  // Of the sums of each gate; a GRU's candidate has two, of the input and of the state.
  void next(std::span<const Tensor> gates) {
    switch (recurrence.kind) {
      case RnnKind::rnn:
        h = activation(0, gates[0]);
        return;
      case RnnKind::gru: {
        const Tensor reset = activation(0, gates[0]), z = activation(0, gates[1]);
        const Tensor state =
            recurrence.reset_after ? reset * gates[3] : with_bias(matmul(reset * h, gate(r, 2)), recurrent_bias, 2);
        h = (1 - z) * activation(1, gates[2] + state) + z * h;
        return;
      }
      case RnnKind::lstm: {
        const Tensor i = activation(0, peeped(gates[0], 0, c));
        const Tensor f = recurrence.coupled ? 1 - i : activation(0, peeped(gates[1], 2, c));
        const Tensor after = f * c + i * activation(1, gates[2]);
        const Tensor o = activation(0, peeped(gates[3], 1, recurrence.output_peephole_after ? after : c));
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
    const auto limit = recurrence.limit(which);
    return activated(recurrence.activations[which], limit ? clamp(x, -*limit, *limit) : x);
  }
};

// The operands of a network in the type of its sums, without the axis of directions.
struct Network {
  Network(const RnnAttributes& a, DType of_results, std::span<const Tensor> in) : type(of_results) {
    const bool doubles =
        std::any_of(in.begin(), in.begin() + 3, [](const Tensor& v) { return v.dtype() == DType::f64; });
    wide = doubles ? DType::f64 : DType::f32;
    for (std::size_t i = 0, next = 3; i < more.size(); ++i) more[i] = a.operands[i] ? in[next++] : Tensor();
    x = cast(a.batch_first ? permute(in[0], {1, 0, 2}) : in[0], wide);
    steps = x.shape()[0];
    batch = x.shape()[1];
    hidden = in[2].shape()[2];
  }
  // Undefined stays so.
  Tensor of_direction(const Tensor& v, std::int64_t d) const {
    return v.defined() ? cast(squeeze(slice(v, 0, d, d + 1), 0), wide) : Tensor();
  }
  // The state is kept in the results' type between steps.
  Tensor rounded(const Tensor& h) const { return cast(cast(h, type), wide); }
  Tensor initial(Optional which, std::int64_t d) const {
    const Tensor state = of_direction(more[which], d);
    if (!state.defined()) return zeros_of({wide, {batch, hidden}});
    return which == initial_h ? rounded(state) : state;
  }

  const DType type;
  DType wide;
  std::array<Tensor, kRecurrentOperands.size()> more;
  Tensor x;  // [steps, batch, inputs]
  std::int64_t steps, batch, hidden;
};

// The states that the steps began with: those that they ended with, and the first.
Tensor states_before(const Tensor& after, const Tensor& initial, bool reverse) {
  const Tensor first = expand_dims(initial, 0);
  const std::int64_t steps = after.shape()[0];
  return reverse ? concat({slice(after, 0, 1, steps), first}, 0) : concat({first, slice(after, 0, 0, steps - 1)}, 0);
}

// Σ over steps and batch of a[…, i] b[…, j].
Tensor summed_products(const Tensor& a, const Tensor& b) {
  const auto rows = [](const Tensor& v) { return reshape(v, {v.shape()[0] * v.shape()[1], v.shape()[2]}); };
  return matmul(rows(a).T(), rows(b));
}

}  // namespace

std::vector<Tensor> RnnOp::decomposed(std::span<const Tensor> in) const {
  const Network n(a, infer(types_of(in))[0].dtype, in);
  Tensor x = n.x, running;  // of each step: which sequences have it, [steps, batch, 1]
  if (n.more[lengths].defined()) {
    running = greater(reshape(cast(n.more[lengths], DType::i64), {1, n.batch, 1}),
                      reshape(arange(0, n.steps), {n.steps, 1, 1}));
    // What lies past the end of a sequence has no part in derivatives, whatever it is.
    x = select(running, x, 0);
  }
  std::vector<Tensor> all_h, all_c, all_y;
  for (std::int64_t d = 0; d < recurrence_.directions(); ++d) {
    Tensor sums = matmul(x, n.of_direction(in[1], d).T());
    if (n.more[bias].defined()) sums = sums + n.of_direction(n.more[bias], d);
    std::vector<Tensor> carries{n.initial(initial_h, d)}, slices{sums}, weights{n.of_direction(in[2], d).T()};
    if (is_lstm()) carries.push_back(n.initial(initial_c, d));
    if (running.defined()) slices.push_back(running);
    for (const Optional which : {recurrent_bias, peephole}) {
      if (n.more[which].defined()) weights.push_back(n.of_direction(n.more[which], d));
    }
    const auto step = [&](std::span<const Tensor> v) {
      const auto rest = v.subspan(carries.size() + slices.size());
      std::size_t next = 1;
      Steps network{.recurrence = recurrence_, .hidden = n.hidden, .r = rest[0], .h = v[0]};
      if (is_lstm()) network.c = v[1];
      if (n.more[recurrent_bias].defined()) network.recurrent_bias = rest[next++];
      if (n.more[peephole].defined()) network.peephole = rest[next++];
      network.next(v[carries.size()]);
      network.h = n.rounded(network.h);
      Tensor y = network.h;
      if (running.defined()) {
        // A sequence that is shorter waits in its initial state, going back, and in its last one, going forth.
        const Tensor& runs = v[carries.size() + 1];
        y = select(runs, network.h, 0);
        network.h = select(runs, network.h, v[0]);
        if (is_lstm()) network.c = select(runs, network.c, v[1]);
      }
      std::vector<Tensor> outputs{network.h};
      if (is_lstm()) outputs.push_back(network.c);
      if (a.y) outputs.push_back(y);
      return outputs;
    };
    const std::vector<Tensor> last = scanned(carries, slices, weights, recurrence_.reverse(d), step);
    all_h.push_back(cast(last[0], n.type));
    if (is_lstm()) all_c.push_back(cast(last[1], n.type));
    if (a.y) all_y.push_back(cast(last.back(), n.type));
  }
  std::vector<Tensor> made{stack(all_h)};
  if (is_lstm()) made.push_back(stack(all_c));
  if (!a.y) return made;
  const Tensor y = concat(all_y, 2);
  made.push_back(a.batch_first ? permute(y, {1, 0, 2}) : y);
  return made;
}

// Where y has the state after each step, the sums of the states are one product for all steps, as are the gradients of
// the weights: the loop back has one product, of the gradients of the gates with the recurrent weights. In other cases
// it is the derivative of the decomposition.
Derivatives RnnOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  const std::span<const Tensor> in = node.inputs;
  const Network n(a, node.outputs[0].dtype(), in);
  const bool known = a.y && !n.more[lengths].defined() && !n.more[peephole].defined() &&
                     (recurrence_.kind != RnnKind::gru || recurrence_.reset_after);
  if (!known || n.steps == 0 || n.batch == 0 || n.hidden == 0) return std::nullopt;
  const bool lstm = is_lstm(), gru = recurrence_.kind == RnnKind::gru;
  const auto by_step = [&](const Tensor& y) { return cast(a.batch_first ? permute(y, {1, 0, 2}) : y, n.wide); };
  const Tensor y = by_step(node.outputs.back());
  const Tensor dy = cotangents.back().defined() ? by_step(cotangents.back()) : Tensor();
  Tensor dx;
  std::vector<Tensor> dw, dr, db, drb, dh0, dc0;
  for (std::int64_t d = 0; d < recurrence_.directions(); ++d) {
    const bool reverse = recurrence_.reverse(d);
    const auto own = [&](const Tensor& v) { return slice(v, 2, d * n.hidden, (d + 1) * n.hidden); };
    const Tensor w = n.of_direction(in[1], d), r = n.of_direction(in[2], d);
    Tensor sums = matmul(n.x, w.T());
    if (n.more[bias].defined()) sums = sums + n.of_direction(n.more[bias], d);
    const Tensor h = states_before(own(y), n.initial(initial_h, d), reverse);
    Tensor of_state = matmul(h, r.T());
    if (n.more[recurrent_bias].defined()) of_state = of_state + n.of_direction(n.more[recurrent_bias], d);
    // The sums of the gates, [steps, batch, count, hidden], in the order of the weights. Behind them is the part of a
    // GRU's candidate that comes from the input, which is not added to what comes from the state.
    const std::int64_t count = recurrence_.gates() + (gru ? 1 : 0);
    const auto place = [&](std::int64_t which) -> std::int64_t {
      if (!gru || which < 2) return recurrence_.places[static_cast<std::size_t>(which)];
      return which == 2 ? 3 : recurrence_.places[2];  // as Steps::next() takes them
    };
    Tensor all = reshape(sums + of_state, {n.steps, n.batch, recurrence_.gates(), n.hidden});
    const auto gate_of = [&](const Tensor& v, std::int64_t at) {
      return reshape(slice(v, 2, at * n.hidden, (at + 1) * n.hidden), {n.steps, n.batch, 1, n.hidden});
    };
    if (gru) {
      std::vector<Tensor> parts(4);
      for (std::int64_t which = 0; which < 2; ++which)
        parts[place(which)] = slice(all, 2, place(which), place(which) + 1);
      parts[place(3)] = gate_of(of_state, place(3));
      parts[3] = gate_of(sums, place(3));
      all = concat(parts, 2);
    }
    const auto step = [&](std::span<const Tensor> gates, const Tensor& before_h, const Tensor& before_c) {
      Steps network{.recurrence = recurrence_, .hidden = n.hidden, .r = {}, .h = before_h, .c = before_c};
      std::vector<Tensor> in_order;
      for (std::int64_t which = 0; which < count; ++which)
        in_order.push_back(gates[static_cast<std::size_t>(place(which))]);
      network.next(in_order);
      return network;
    };
    const auto gates_of = [&](const Tensor& of_step) {
      std::vector<Tensor> gates;
      for (std::int64_t k = 0; k < count; ++k) gates.push_back(squeeze(slice(of_step, 1, k, k + 1), 1));
      return gates;
    };
    std::vector<Tensor> parts{all};
    if (gru) parts.push_back(h);
    if (lstm) {
      const Tensor c0 = n.initial(initial_c, d);
      const auto cells = scanned(std::vector{c0}, parts, {}, reverse, [&](std::span<const Tensor> v) {
        const Tensor c = step(gates_of(v[1]), {}, v[0]).c;
        return std::vector{c, c};
      });
      parts.push_back(states_before(cells[1], c0, reverse));
    }
    const auto of_last = [&](std::size_t k) {
      const Tensor g = n.of_direction(cotangents[k], d);
      return g.defined() ? g : zeros_of({n.wide, {n.batch, n.hidden}});
    };
    std::vector<Tensor> carries{of_last(0)}, slices = parts;
    if (lstm) carries.push_back(of_last(1));
    if (dy.defined()) slices.push_back(own(dy));
    const auto weighted = [&](const Tensor& of_gates) {  // [batch, gates · hidden] of those that the state has
      return reshape(slice(of_gates, 1, 0, recurrence_.gates()), {n.batch, recurrence_.gates() * n.hidden});
    };
    const auto back = [&](std::span<const Tensor> v) {
      const auto seen = v.subspan(carries.size());
      const Tensor dh = dy.defined() ? v[0] + seen[parts.size()] : v[0];
      std::vector<Tensor> variables;
      for (const Tensor& gate : gates_of(seen[0])) variables.push_back(weft::identity(gate));
      for (std::size_t i = 1; i < parts.size(); ++i) variables.push_back(weft::identity(seen[i]));
      const Steps after = step(variables, gru ? variables.back() : Tensor(), lstm ? variables.back() : Tensor());
      std::vector<Tensor> results{after.h}, given{dh};
      if (lstm) {
        results.push_back(after.c);
        given.push_back(v[1]);
      }
      std::vector<Tensor> made = pull_back(results, given, variables);
      for (std::size_t i = 0; i < made.size(); ++i) made[i] = or_zeros(made[i], variables[i].type());
      // Each gate's gradient in its place: one elementwise kernel.
      const Tensor places = reshape(arange(0, count), {1, count, 1});
      Tensor of_gates = broadcast_to(expand_dims(made[0], 1), {n.batch, count, n.hidden});
      for (std::int64_t k = 1; k < count; ++k) {
        of_gates = select(equal(places, k), expand_dims(made[static_cast<std::size_t>(k)], 1), of_gates);
      }
      Tensor before = matmul(weighted(of_gates), v.back());
      if (gru) before = before + made.back();
      std::vector<Tensor> outputs{before};
      if (lstm) outputs.push_back(made.back());
      outputs.push_back(of_gates);
      return outputs;
    };
    const std::vector<Tensor> made = scanned(carries, slices, std::vector{r}, !reverse, back);
    const auto flat = [&](const Tensor& v) { return reshape(v, {n.steps, n.batch, v.shape()[2] * n.hidden}); };
    const Tensor dstate = flat(slice(made.back(), 2, 0, recurrence_.gates()));
    Tensor dsums = dstate;
    if (gru) {
      std::vector<Tensor> of_sums;
      for (std::int64_t k = 0; k < 3; ++k)
        of_sums.push_back(slice(made.back(), 2, k == place(3) ? 3 : k, (k == place(3) ? 3 : k) + 1));
      dsums = flat(concat(of_sums, 2));
    }
    dh0.push_back(made[0]);
    if (lstm) dc0.push_back(made[1]);
    if (node.wanted[0]) dx = sum_of(dx, matmul(dsums, w));
    dw.push_back(summed_products(dsums, n.x));
    dr.push_back(summed_products(dstate, h));
    db.push_back(reduce(ReduceKind::sum, dsums, {0, 1}));
    drb.push_back(reduce(ReduceKind::sum, dstate, {0, 1}));
  }
  const auto stacked = [](const std::vector<Tensor>& list) { return stack(list); };
  std::vector<Tensor> all(in.size());
  const auto set = [&](std::size_t k, const Tensor& g) {
    if (node.wanted[k]) all[k] = cast(g, in[k].dtype());
  };
  if (node.wanted[0]) set(0, a.batch_first ? permute(dx, {1, 0, 2}) : dx);
  set(1, stacked(dw));
  set(2, stacked(dr));
  const std::vector<Tensor>* of_operand[] = {&db, &drb, &dh0, &dc0};
  for (std::size_t i = 0, k = 3; i < std::size(of_operand); ++i) {
    if (a.operands[i]) set(k++, stacked(*of_operand[i]));
  }
  return all;
}

}  // namespace weft
