#include "kernels/rnn/step.h"

#include "weft/expressions.h"

namespace weft::kernels {
namespace {

using enum ScalarOp;

class StepBuilder {
 public:
  StepBuilder(const Recurrence& recurrence, const StepTypes& types) : recurrence_(recurrence), types_(types) {}

  int input(StepInput what, DType type, int index = 0) {
    step_.inputs.push_back({what, index});
    return step_.expression.input(type);
  }
  // In the type of the sums.
  int value(StepInput what, DType type, int index = 0) { return e_.cast(input(what, type, index), types_.sums); }
  int gate(int index) { return input(StepInput::gate, types_.sums, index); }
  int number(double v) { return e_.constant(v, types_.sums); }
  int operator()(ScalarOp op, int a) { return e_.apply(op, {a}); }
  int operator()(ScalarOp op, int a, int b) { return e_.apply(op, {a, b}); }
  int operator()(ScalarOp op, int a, int b, int c) { return e_.apply(op, {a, b, c}); }

  // Activation `k` of x, after clipping.
  int activated(std::size_t k, int x) {
    const RnnActivation& a = recurrence_.activations[k];
    if (const auto limit = recurrence_.limit(k)) x = e_.apply(clamp, {x, number(-*limit), number(*limit)});
    switch (a.function) {
      case RnnFunction::sigmoid:
        return e_.apply(sigmoid, {x});
      case RnnFunction::tanh:
        return e_.apply(ScalarOp::tanh, {x});
      case RnnFunction::relu:
        return e_.apply(relu, {x});
      case RnnFunction::softplus:
        return e_.apply(softplus, {x});
      case RnnFunction::affine:
        return e_.apply(ScalarOp::fma, {x, number(a.alpha), number(a.beta)});
      case RnnFunction::leaky_relu:
        return expressions::leaky_relu(e_, x, a.alpha);
      case RnnFunction::thresholded_relu:
        return e_.apply(select, {e_.apply(less, {x, number(a.alpha)}), number(0), x});
      case RnnFunction::scaled_tanh:
        return e_.apply(mul, {e_.apply(ScalarOp::tanh, {e_.apply(mul, {x, number(a.beta)})}), number(a.alpha)});
      case RnnFunction::hard_sigmoid:
        return expressions::hardsigmoid(e_, x, a.alpha, a.beta);
      case RnnFunction::elu:
        return expressions::elu(e_, x, a.alpha);
      case RnnFunction::softsign:
        return expressions::softsign(e_, x);
    }
    return x;
  }

  // Past the end of a sequence the states stay what they were, and y is 0. `before`: the states before, as inputs.
  StepExpression finished(int h, int h_before, int c, int c_before, bool y) {
    h = e_.cast(h, types_.state);
    int result = h;
    if (types_.lengths) {
      const int time = input(StepInput::time, *types_.lengths), length = input(StepInput::length, *types_.lengths);
      const int inside = e_.apply(less, {time, length});
      result = e_.apply(select, {inside, h, e_.constant(0, types_.state)});
      h = e_.apply(select, {inside, h, h_before});
      if (c >= 0) c = e_.apply(select, {inside, c, c_before});
    }
    e_.output(h);
    if (c >= 0) e_.output(c);
    if (y) e_.output(result);
    return std::move(step_);
  }

  // What a GRU's candidate is the product of, and the sums of another gate if there are any.
  StepExpression reset(int state, int update) {
    e_.output(types_.sums == DType::f64 ? state : e_.cast(state, types_.state));
    if (update >= 0) e_.output(update);
    return std::move(step_);
  }
  int cast_to_sums(int node) { return e_.cast(node, types_.sums); }
  bool lengths() const { return types_.lengths.has_value(); }

 private:
  const Recurrence& recurrence_;
  const StepTypes& types_;
  StepExpression step_;
  Expression& e_ = step_.expression;
};

StepExpression lstm_step(StepBuilder& b, const Recurrence& r, const StepTypes& types, bool y) {
  enum { i, f, g, o };  // gates
  int sums[4];
  for (const int gate : {i, f, g, o}) sums[gate] = r.coupled && gate == f ? -1 : b.gate(gate);
  const int c = b.input(StepInput::c, types.sums);
  const auto peeping = [&](int sum, int weight, int cell) {
    if (!types.peephole) return sum;
    const int p = b.value(StepInput::peephole, *types.peephole, weight);
    return b(ScalarOp::fma, p, cell, sum);
  };
  const int input = b.activated(0, peeping(sums[i], 0, c));
  const int forget = r.coupled ? b(sub, b.number(1), input) : b.activated(0, peeping(sums[f], 2, c));
  const int candidate = b.activated(1, sums[g]);
  const int added = b(mul, input, candidate);
  const int cell = b(ScalarOp::fma, forget, c, added);
  const int output = b.activated(0, peeping(sums[o], 1, r.output_peephole_after ? cell : c));
  const int shown = b.activated(2, cell);
  const int h = b(mul, output, shown);
  const int before = b.lengths() ? b.input(StepInput::h, types.state) : -1;
  return b.finished(h, before, cell, c, y);
}

StepExpression gru_step(StepBuilder& b, const Recurrence& r, const StepTypes& types, bool y) {
  enum { reset, update, candidate };  // gates
  const auto sum = [&](int gate) {
    const int given = b.gate(gate);
    return r.reset_after ? b(add, given, b.input(StepInput::recurrent, types.sums, gate)) : given;
  };
  const int z = b.activated(0, sum(update));
  int n;
  if (r.reset_after) {
    const int kept = b.activated(0, sum(reset));
    const int of_input = b.gate(candidate), of_state = b.input(StepInput::recurrent, types.sums, candidate);
    n = b(ScalarOp::fma, kept, of_state, of_input);
  } else {
    n = b.gate(candidate);
  }
  n = b.activated(1, n);
  const int before = b.input(StepInput::h, types.state);
  const int old = b(mul, z, b.cast_to_sums(before));
  const int rest = b(sub, b.number(1), z);
  return b.finished(b(ScalarOp::fma, rest, n, old), before, -1, -1, y);
}

}  // namespace

StepExpression step_expression(const Recurrence& r, const StepTypes& types, bool y) {
  StepBuilder b(r, types);
  switch (r.kind) {
    case RnnKind::lstm:
      return lstm_step(b, r, types, y);
    case RnnKind::gru:
      return gru_step(b, r, types, y);
    case RnnKind::rnn:
      break;
  }
  const int h = b.activated(0, b.gate(0));
  const int before = b.lengths() ? b.input(StepInput::h, types.state) : -1;
  return b.finished(h, before, -1, -1, y);
}

StepExpression reset_expression(const Recurrence& r, const StepTypes& types, bool update) {
  StepBuilder b(r, types);
  const int kept = b.activated(0, b.gate(0));
  const int h = b.cast_to_sums(b.input(StepInput::h, types.state));
  return b.reset(b(mul, kept, h), update ? b.gate(1) : -1);
}

}  // namespace weft::kernels
