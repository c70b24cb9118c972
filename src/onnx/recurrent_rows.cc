// Recurrent networks.
#include "weft/recurrent.h"

#include <algorithm>
#include <cctype>

#include "onnx/network.h"
#include "weft/array.h"
#include "weft/graph.h"

namespace weft::onnx {

namespace {

struct NamedFunction {
  std::string_view name;
  RnnFunction function;
  bool alpha = false, beta = false;  // the parameters that it takes
};
constexpr NamedFunction kFunctions[] = {
    {"sigmoid", RnnFunction::sigmoid},
    {"tanh", RnnFunction::tanh},
    {"relu", RnnFunction::relu},
    {"affine", RnnFunction::affine, true, true},
    {"leakyrelu", RnnFunction::leaky_relu, true},
    {"thresholdedrelu", RnnFunction::thresholded_relu, true},
    {"scaledtanh", RnnFunction::scaled_tanh, true, true},
    {"hardsigmoid", RnnFunction::hard_sigmoid, true, true},
    {"elu", RnnFunction::elu, true},
    {"softsign", RnnFunction::softsign},
    {"softplus", RnnFunction::softplus},
};

// The activations of all directions; parameters belong to those that take them, in order.
std::vector<RnnActivation> activations_of(const Node& n, std::vector<RnnActivation> usual, std::size_t directions) {
  const std::vector<std::string> names = n.texts("activations");
  const std::size_t count = usual.size() * directions;
  if (names.empty()) {
    std::vector<RnnActivation> all;
    for (std::size_t i = 0; i < count; ++i) all.push_back(usual[i % usual.size()]);
    return all;
  }
  if (names.size() != count) n.fail("activations has {} names, expected {}", names.size(), count);
  const std::vector<double> alphas = n.numbers("activation_alpha"), betas = n.numbers("activation_beta");
  std::vector<RnnActivation> all;
  std::size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    std::string lower;
    for (const char c : name) lower.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    const auto* const found = std::ranges::find(kFunctions, lower, &NamedFunction::name);
    if (found == std::end(kFunctions)) n.fail("activations has {}, which is none", name);
    RnnActivation activation = found->function;
    if (found->alpha && alpha < alphas.size()) activation.alpha = alphas[alpha++];
    if (found->beta && beta < betas.size()) activation.beta = betas[beta++];
    all.push_back(activation);
  }
  return all;
}

Tensor cut(const Tensor& x, int axis, std::int64_t begin, std::int64_t end) {
  return x.defined() ? slice(x, axis, begin, end) : x;
}
Tensor directions_last(const Tensor& x) { return x.defined() ? permute(x, {1, 0, 2}) : x; }

struct Recurrent {
  Tensor x, w, r, bias, recurrent_bias, lengths, h, c, peephole;
  RnnDirection direction = RnnDirection::forward;
  std::int64_t directions = 1;
  bool batch_first = false;
  std::optional<double> clip = {};

  Recurrent of_direction(std::int64_t d) const {
    Recurrent one = *this;
    for (Tensor* t : {&one.w, &one.r, &one.bias, &one.recurrent_bias, &one.h, &one.c, &one.peephole}) {
      *t = cut(*t, 0, d, d + 1);
    }
    one.direction = d == 0 ? RnnDirection::forward : RnnDirection::reverse;
    one.directions = 1;
    return one;
  }
  RecurrentOperands operands() const {
    return {.bias = bias,
            .recurrent_bias = recurrent_bias,
            .initial_h = h,
            .initial_c = c,
            .peephole = peephole,
            .lengths = lengths,
            .batch_first = batch_first};
  }
};

// What the operators have in common, of that many gates.
Recurrent recurrent_of(const Node& n, std::int64_t gates, const Tensor& x, const Tensor& w, const Tensor& r) {
  Recurrent net{.x = x, .w = w, .r = r, .lengths = as(n.maybe(4), DType::i32), .h = n.maybe(5)};
  if (net.x.rank() != 3 || net.w.rank() != 3 || net.r.rank() != 3) {
    n.fail("X is {}, W {} and R {}, expected rank 3", to_string(net.x.shape()), to_string(net.w.shape()),
           to_string(net.r.shape()));
  }
  const std::string direction = n.text("direction", "forward");
  if (direction == "reverse")
    net.direction = RnnDirection::reverse;
  else if (direction == "bidirectional")
    net.direction = RnnDirection::bidirectional;
  else if (direction != "forward")
    n.fail("direction is {}", direction);
  net.directions = net.direction == RnnDirection::bidirectional ? 2 : 1;
  const std::int64_t hidden = net.r.shape()[2];
  if (n.integer("hidden_size", hidden) != hidden) {
    n.fail("hidden_size is {}, and R has {}", n.integer("hidden_size", hidden), hidden);
  }
  if (n.has(3)) {
    const Tensor b = n.in(3);
    net.bias = cut(b, 1, 0, gates * hidden), net.recurrent_bias = cut(b, 1, gates * hidden, 2 * gates * hidden);
  }
  net.batch_first = n.integer("layout", 0) != 0;
  if (net.batch_first) net.h = directions_last(net.h);
  if (const double clip = n.number("clip", 0); clip > 0) net.clip = clip;
  return net;
}

struct Outputs {
  Tensor y, h, c;
};

// Runs the directions together, or each by itself if their activations differ. `run` takes a network and the first of
// its activations.
template <class Run>
Tensors run_directions(const Node& n, const Recurrent& net, const std::vector<RnnActivation>& all, const Run& run) {
  const std::size_t each = all.size() / static_cast<std::size_t>(net.directions);
  Outputs o;
  if (net.directions == 2 && !std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(each),
                                         all.begin() + static_cast<std::ptrdiff_t>(each))) {
    const Outputs a = run(net.of_direction(0), all.data()), b = run(net.of_direction(1), all.data() + each);
    o = {concat({a.y, b.y}, 2), concat({a.h, b.h}, 0), a.c.defined() ? concat({a.c, b.c}, 0) : a.c};
  } else {
    o = run(net, all.data());
  }
  const Shape& y = o.y.shape();
  o.y = reshape(o.y, {y[0], y[1], net.directions, y[2] / net.directions});
  if (!net.batch_first) o.y = permute(o.y, {0, 2, 1, 3});
  if (net.batch_first) o.h = directions_last(o.h), o.c = directions_last(o.c);
  Tensors all_results = {o.y, o.h};
  if (o.c.defined()) all_results.push_back(o.c);
  return results(n, std::move(all_results));
}

}  // namespace

Tensors lstm_of(const Node& n, const Tensor& x, const Tensor& w, const Tensor& r) {
  Recurrent net = recurrent_of(n, 4, x, w, r);
  net.c = n.maybe(6), net.peephole = n.maybe(7);
  if (net.batch_first) net.c = directions_last(net.c);
  const bool coupled = n.integer("input_forget", 0) != 0;
  const auto all = activations_of(n, {RnnFunction::sigmoid, RnnFunction::tanh, RnnFunction::tanh},
                                  static_cast<std::size_t>(net.directions));
  return run_directions(n, net, all, [&](const Recurrent& one, const RnnActivation* a) -> Outputs {
    const auto [y, h, c] = weft::lstm(one.x, one.w, one.r, one.operands(),
                                      {.direction = one.direction,
                                       .gates = LstmGates::iofg,
                                       .gate_activation = a[0],
                                       .cell_activation = a[1],
                                       .output_activation = a[2],
                                       .clip = one.clip,
                                       .coupled = coupled,
                                       .clip_output = false});  // as ONNX Runtime
    return {y, h, c};
  });
}

namespace {

Tensors lstm(const Node& n) { return lstm_of(n, n.in(0), n.in(1), n.in(2)); }

Tensors gru(const Node& n) {
  const Recurrent net = recurrent_of(n, 3, n.in(0), n.in(1), n.in(2));
  const bool after = n.integer("linear_before_reset", 0) != 0;
  const auto all =
      activations_of(n, {RnnFunction::sigmoid, RnnFunction::tanh}, static_cast<std::size_t>(net.directions));
  return run_directions(n, net, all, [&](const Recurrent& one, const RnnActivation* a) -> Outputs {
    const auto [y, h] = weft::gru(one.x, one.w, one.r, one.operands(),
                                  {.direction = one.direction,
                                   .gates = GruGates::zrn,
                                   .gate_activation = a[0],
                                   .candidate_activation = a[1],
                                   .clip = one.clip,
                                   .reset_after = after});
    return {y, h, {}};
  });
}

Tensors rnn(const Node& n) {
  const Recurrent net = recurrent_of(n, 1, n.in(0), n.in(1), n.in(2));
  const auto all = activations_of(n, {RnnFunction::tanh}, static_cast<std::size_t>(net.directions));
  return run_directions(n, net, all, [&](const Recurrent& one, const RnnActivation* a) -> Outputs {
    const auto [y, h] = weft::rnn(one.x, one.w, one.r, one.operands(),
                                  {.direction = one.direction, .activation = a[0], .clip = one.clip});
    return {y, h, {}};
  });
}

constexpr OperatorRow kRows[] = {
    {"LSTM", lstm, 7},
    {"GRU", gru, 7},
    {"RNN", rnn, 7},
};

}  // namespace

OperatorRows recurrent_rows() { return {"", kRows}; }

}  // namespace weft::onnx
