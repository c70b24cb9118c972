// Recurrent networks.
#include "weft/recurrent.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "onnx/network.h"
#include "onnx/write.h"
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

// ---- Read backwards

// "hard_sigmoid(0.2, 0.5)" as the operator's name of it; its parameters are added to the lists.
std::string activation_written(const Written& w, std::string_view name, std::vector<double>& alphas,
                               std::vector<double>& betas) {
  constexpr std::string_view kNames[] = {"Sigmoid",         "Tanh",       "Relu",        "Affine", "LeakyRelu",
                                         "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu",    "Softsign",
                                         "Softplus"};
  RnnActivation activation(RnnFunction::tanh);
  from_text(w.text(name), activation);
  const auto place = static_cast<std::size_t>(activation.function);
  const NamedFunction& found = *std::ranges::find(kFunctions, activation.function, &NamedFunction::function);
  if (found.alpha) alphas.push_back(activation.alpha);
  if (found.beta) betas.push_back(activation.beta);
  return std::string(kNames[place]);
}

// Rows of gates in ONNX's order.
std::string in_order(const Written& w, const std::string& x, std::int64_t hidden, std::span<const int> order) {
  if (order.empty()) return x;
  ValueNames parts;
  for (const int gate : order) parts.push_back(w.slice(x, 1, gate * hidden, (gate + 1) * hidden));
  return w.concat(parts, 1);
}

ValueNames recurrent_written(const Written& w) {
  const bool is_lstm = w.op() == "lstm", is_gru = w.op() == "gru", batch_first = w.flag("batch_first");
  const DType type = w.result().dtype == DType::f64 ? DType::f64 : DType::f32;
  const Shape& r = w.shape(2);
  const std::int64_t directions = r[0], hidden = r[2], gates = is_lstm ? 4 : is_gru ? 3 : 1;
  const std::int64_t steps = w.shape()[batch_first ? 1 : 0], batch = w.shape()[batch_first ? 0 : 1];
  constexpr int kIfgo[] = {0, 3, 1, 2}, kRzn[] = {1, 0, 2};
  std::span<const int> order;
  if (is_lstm && w.text("gates") == "ifgo") order = kIfgo;
  if (is_gru && w.text("gates") == "rzn") order = kRzn;
  // The operands that are there, by their names.
  std::map<std::string, std::size_t, std::less<>> given;
  const std::string names = w.text("operands");
  std::size_t next = 3;
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(' ', at), names.size());
    given.emplace(names.substr(at, end - at), next++);
    at = end + 1;
  }
  const auto typed = [&](std::size_t i) { return w.cast(w.in(i), w.dtype(i), type); };
  const auto maybe = [&](std::string_view name) {
    const auto it = given.find(name);
    return it == given.end() ? std::string() : typed(it->second);
  };
  std::string x = typed(0), bias = maybe("bias"), recurrent_bias = maybe("recurrent_bias");
  if (batch_first) x = w.transpose(x, Ints{1, 0, 2});
  std::string b;
  if (!bias.empty() || !recurrent_bias.empty()) {
    const std::string zeros = bias.empty() || recurrent_bias.empty()
                                  ? w.node("Expand", {w.scalar(0, type), w.constant({directions, gates * hidden})})
                                  : std::string();
    b = w.concat(ValueNames{in_order(w, bias.empty() ? zeros : bias, hidden, order),
                            in_order(w, recurrent_bias.empty() ? zeros : recurrent_bias, hidden, order)},
                 1);
  }
  std::string lengths;
  if (const auto it = given.find("lengths"); it != given.end()) {
    // Weft takes those below 0 for 0, and those above the steps for all.
    lengths = w.cast(w.in(it->second), w.dtype(it->second), DType::i32);
    lengths = w.node("Max", {w.node("Min", {lengths, w.scalar(steps, DType::i32)}), w.scalar(0, DType::i32)});
  }
  std::vector<double> alphas, betas;
  std::vector<std::string> one;
  if (is_lstm) {
    for (const char* name : {"gate_activation", "cell_activation", "output_activation"}) {
      one.push_back(activation_written(w, name, alphas, betas));
    }
  } else if (is_gru) {
    for (const char* name : {"gate_activation", "candidate_activation"}) {
      one.push_back(activation_written(w, name, alphas, betas));
    }
  } else {
    one.push_back(activation_written(w, "activation", alphas, betas));
  }
  std::vector<std::string> activations;
  for (std::int64_t d = 0; d < directions; ++d) activations.insert(activations.end(), one.begin(), one.end());
  if (directions == 2) {
    for (std::vector<double>* list : {&alphas, &betas}) {
      const std::vector<double> again = *list;
      list->insert(list->end(), again.begin(), again.end());
    }
  }
  WrittenAttributes attributes{
      {"hidden_size", hidden}, {"direction", w.text("direction")}, {"activations", activations}};
  if (!alphas.empty()) attributes.push_back({"activation_alpha", alphas});
  if (!betas.empty()) attributes.push_back({"activation_beta", betas});
  if (w.number("clip") > 0) attributes.push_back({"clip", w.number("clip")});
  ValueNames inputs{
      x, in_order(w, typed(1), hidden, order), in_order(w, typed(2), hidden, order), b, lengths, maybe("initial_h")};
  if (is_lstm) {
    const std::string peephole = maybe("peephole");
    if (!peephole.empty() && w.has("output_peephole_after") && !w.flag("output_peephole_after")) {
      w.lacks("peepholes of the output gate before the step");
    }
    inputs.push_back(maybe("initial_c"));
    inputs.push_back(peephole);
    attributes.push_back({"input_forget", std::int64_t{w.flag("coupled")}});
  }
  if (is_gru) attributes.push_back({"linear_before_reset", std::int64_t{w.flag("reset_after")}});
  while (inputs.back().empty()) inputs.pop_back();
  const ValueNames made = w.nodes(is_lstm  ? "LSTM"
                                  : is_gru ? "GRU"
                                           : "RNN",
                                  inputs, is_lstm ? 3 : 2, std::move(attributes));
  ValueNames results{w.cast(made[1], type, w.result().dtype)};
  if (is_lstm) results.push_back(w.cast(made[2], type, w.result(1).dtype));
  if (w.results() > results.size()) {
    // [steps, directions, batch, hidden]
    const std::string y = w.transpose(made[0], batch_first ? Ints{2, 0, 1, 3} : Ints{0, 2, 1, 3});
    const Shape shape =
        batch_first ? Shape{batch, steps, directions * hidden} : Shape{steps, batch, directions * hidden};
    results.push_back(w.cast(w.reshape(y, shape), type, w.result(results.size()).dtype));
  }
  return results;
}

constexpr WriteRow kWritten[] = {
    as_function("lstm", recurrent_written),
    as_function("gru", recurrent_written),
    as_function("rnn", recurrent_written),
};

}  // namespace

OperatorRows recurrent_rows() { return {"", kRows, kWritten}; }

}  // namespace weft::onnx
