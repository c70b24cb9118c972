// WebNN's recurrent networks on every device, against the specification's formulas in double; and what is refused.
#include "support/quick.h"
#include "webnn/one_op.h"

namespace weft::webnn {
namespace {

using test::expect_array;
using test::expect_refused;
using test::WebnnArray;
using test::WebnnOperands;
using test::WebnnRefusal;

struct WebnnRecurrent : test::WebnnOps {};
INSTANTIATE_TEST_SUITE_P(Devices, WebnnRecurrent, testing::ValuesIn(test::all_devices()),
                         [](const auto& info) { return info.param; });

constexpr std::int64_t kSteps = 3, kBatch = 2, kInputs = 3, kHidden = 2;

using Reals = std::vector<double>;

double activate(const std::string& function, double x) {
  if (function == "relu") return std::max(x, 0.0);
  return function == "tanh" ? std::tanh(x) : 1 / (1 + std::exp(-x));
}

// Operands with numbers of about the size of trained weights, which float16 has exactly.
struct CellOperands {
  WebnnOperands list;

  void add(const std::string& name, Sizes shape) {
    WebnnArray array{DType::f32, std::move(shape), {}};
    std::int64_t count = 1;
    for (const std::int64_t size : array.shape) count *= size;
    for (std::int64_t i = 0; i < count; ++i) {
      seed = seed * 1664525 + 1013904223;
      array.values.emplace_back((static_cast<double>(seed >> 24) - 128) / 128);
    }
    list.emplace_back(name, std::move(array));
  }
  // Part `d` of the first axis, of `directions`; zeros if there is none.
  Reals part(const std::string& name, std::int64_t d, std::int64_t directions) const {
    for (const auto& [other, array] : list) {
      if (other != name) continue;
      const std::size_t size = array.values.size() / static_cast<std::size_t>(directions);
      Reals reals;
      for (std::size_t i = 0; i < size; ++i)
        reals.push_back(array.values[static_cast<std::size_t>(d) * size + i].value());
      return reals;
    }
    return Reals(256, 0.0);
  }

  std::uint32_t seed = 7;
};

struct Options {
  std::string direction = "forward", layout;
  std::vector<std::string> activations;
  bool reset_after = true;
  bool extras = false;  // biases, initial states and peepholes
};

// One direction's weights, and a step of the specification's lstmCell or gruCell for one sequence.
struct Cell {
  Cell(const CellOperands& operands, const Options& o, bool lstm, std::int64_t d, std::int64_t directions)
      : options(o),
        is_lstm(lstm),
        w(operands.part("weight", d, directions)),
        r(operands.part("recurrentWeight", d, directions)),
        bias(operands.part("bias", d, directions)),
        recurrent_bias(operands.part("recurrentBias", d, directions)),
        peephole(operands.part("peepholeWeight", d, directions)) {}

  double of_input(char gate, std::size_t j, const Reals& x) const { return product(w, bias, gate, j, x); }
  double of_state(char gate, std::size_t j, const Reals& h) const { return product(r, recurrent_bias, gate, j, h); }
  void step(const Reals& x, Reals& h, Reals& c) const {
    const Reals before = h;
    const auto both = [&](char gate, std::size_t j) { return of_input(gate, j, x) + of_state(gate, j, before); };
    const auto& a = options.activations;
    Reals kept(kHidden);
    for (std::size_t j = 0; j < kHidden && !is_lstm; ++j) kept[j] = activate(a[0], both('r', j)) * before[j];
    for (std::size_t j = 0; j < kHidden; ++j) {
      if (is_lstm) {
        const auto gate = [&](char name, std::size_t place) {
          return activate(a[0], both(name, j) + peephole[place * kHidden + j] * c[j]);
        };
        const double i = gate('i', 0), o = gate('o', 1), f = gate('f', 2);
        c[j] = f * c[j] + i * activate(a[1], both('g', j));
        h[j] = o * activate(a[2], c[j]);
      } else {
        const double z = activate(a[0], both('z', j));
        const double state =
            options.reset_after ? activate(a[0], both('r', j)) * of_state('n', j, before) : of_state('n', j, kept);
        h[j] = z * before[j] + (1 - z) * activate(a[1], of_input('n', j, x) + state);
      }
    }
  }

 private:
  double product(const Reals& weights, const Reals& biases, char gate, std::size_t j, const Reals& x) const {
    const std::size_t row = options.layout.find(gate) * kHidden + j;
    double sum = biases[row];
    for (std::size_t k = 0; k < x.size(); ++k) sum += weights[row * x.size() + k] * x[k];
    return sum;
  }

  const Options& options;
  bool is_lstm;
  Reals w, r, bias, recurrent_bias, peephole;
};

class Network {
 public:
  Network(bool lstm, bool cell, const Options& options) : lstm_(lstm), cell_(cell), options_(options) {
    const std::int64_t gates = lstm ? 4 : 3;
    directions_ = options.direction == "both" ? 2 : 1;
    const auto add = [&](const std::string& name, Sizes shape) {
      if (!cell) shape.insert(shape.begin(), directions_);
      operands_.add(name, std::move(shape));
    };
    operands_.add("input", cell ? Sizes{kBatch, kInputs} : Sizes{kSteps, kBatch, kInputs});
    add("weight", {gates * kHidden, kInputs});
    add("recurrentWeight", {gates * kHidden, kHidden});
    if (cell || options.extras) {
      add(cell ? "hiddenState" : "initialHiddenState", {kBatch, kHidden});
      if (lstm) add(cell ? "cellState" : "initialCellState", {kBatch, kHidden});
    }
    if (!options.extras) return;
    for (const char* name : {"bias", "recurrentBias"}) add(name, {gates * kHidden});
    if (lstm) add("peepholeWeight", {3 * kHidden});
  }

  std::string name() const { return std::string(lstm_ ? "lstm" : "gru") + (cell_ ? "Cell" : ""); }
  WebnnOperands operands(DType type) const {
    WebnnOperands all = operands_.list;
    for (auto& [name, array] : all) array.type = type;
    return all;
  }
  Arguments arguments(bool sequence) const {
    Arguments all = {
        {"hiddenSize", Number(kHidden)}, {"layout", options_.layout}, {"activations", options_.activations}};
    if (!lstm_) all.emplace_back("resetAfter", options_.reset_after);
    if (!cell_) {
      all.emplace_back("steps", Number(kSteps));
      all.emplace_back("direction", options_.direction);
      all.emplace_back("returnSequence", sequence);
    }
    return all;
  }
  // The results, with the sequence.
  std::vector<WebnnArray> expected(DType type) const {
    const std::int64_t steps = cell_ ? 1 : kSteps;
    const Sizes state = cell_ ? Sizes{kBatch, kHidden} : Sizes{directions_, kBatch, kHidden};
    WebnnArray h{type, state, {}}, c = h, y{type, {kSteps, directions_, kBatch, kHidden}, {}};
    y.values.resize(static_cast<std::size_t>(steps * directions_ * kBatch * kHidden));
    const auto row = [](const Reals& all, std::int64_t at, std::int64_t size) {
      return Reals(all.begin() + at * size, all.begin() + (at + 1) * size);
    };
    const Reals x = operands_.part("input", 0, 1);
    for (std::int64_t d = 0; d < directions_; ++d) {
      const Cell cell(operands_, options_, lstm_, d, directions_);
      const Reals first_h = operands_.part(cell_ ? "hiddenState" : "initialHiddenState", d, directions_);
      const Reals first_c = operands_.part(cell_ ? "cellState" : "initialCellState", d, directions_);
      for (std::int64_t b = 0; b < kBatch; ++b) {
        Reals now_h = row(first_h, b, kHidden), now_c = row(first_c, b, kHidden);
        for (std::int64_t s = 0; s < steps; ++s) {
          const std::int64_t t = d == 1 || options_.direction == "backward" ? steps - 1 - s : s;
          cell.step(row(x, t * kBatch + b, kInputs), now_h, now_c);
          for (std::int64_t j = 0; j < kHidden; ++j) {
            y.values[static_cast<std::size_t>(((t * directions_ + d) * kBatch + b) * kHidden + j)] =
                Number(now_h[static_cast<std::size_t>(j)]);
          }
        }
        for (const double v : now_h) h.values.emplace_back(v);
        for (const double v : now_c) c.values.emplace_back(v);
      }
    }
    std::vector<WebnnArray> results{h};
    if (lstm_) results.push_back(c);
    if (!cell_) results.push_back(y);
    return results;
  }

 private:
  bool lstm_, cell_;
  Options options_;
  std::int64_t directions_;
  CellOperands operands_;
};

std::vector<Options> all_options(bool lstm, bool cell) {
  std::vector<Options> all;
  const std::vector<std::string> layouts =
      lstm ? std::vector<std::string>{"iofg", "ifgo"} : std::vector<std::string>{"zrn", "rzn"};
  const std::vector<std::vector<std::string>> functions =
      lstm ? std::vector<std::vector<std::string>>{{"sigmoid", "tanh", "tanh"}, {"tanh", "relu", "sigmoid"}}
           : std::vector<std::vector<std::string>>{{"sigmoid", "tanh"}, {"relu", "sigmoid"}};
  std::size_t next = 0;
  for (const std::string direction : {"forward", "backward", "both"}) {
    if (cell && direction != "forward") continue;
    for (const bool extras : {false, true}) {
      for (const bool reset_after : {true, false}) {
        if (lstm && !reset_after) continue;
        for (const std::string& layout : layouts) {
          all.push_back({direction, layout, functions[next++ % 3 == 2], reset_after, extras});
        }
      }
    }
  }
  return all;
}

TEST_P(WebnnRecurrent, Values) {
  for (const bool lstm : {true, false}) {
    for (const bool cell : {true, false}) {
      for (const Options& options : all_options(lstm, cell)) {
        if (test::leave_out_problem()) continue;
        const Network network(lstm, cell, options);
        SCOPED_TRACE(std::format("{} {} {}{}{}", network.name(), options.direction, options.layout,
                                 options.extras ? ", all operands" : "", options.reset_after ? "" : ", reset before"));
        const auto expected = network.expected(DType::f32);
        const auto results = run(network.name(), network.operands(DType::f32), network.arguments(true));
        ASSERT_EQ(results.size(), expected.size());
        for (std::size_t i = 0; i < results.size(); ++i) expect_array(results[i], expected[i], 2e-6);
      }
    }
  }
}

TEST_P(WebnnRecurrent, WithoutTheSequenceAndInFloat16) {
  for (const bool lstm : {true, false}) {
    const Options options{
        "both", lstm ? "iofg" : "zrn",
        lstm ? std::vector<std::string>{"sigmoid", "tanh", "tanh"} : std::vector<std::string>{"sigmoid", "tanh"}, true,
        true};
    const Network network(lstm, false, options);
    const auto expected = network.expected(DType::f16);
    const auto results = run(network.name(), network.operands(DType::f16), network.arguments(false));
    ASSERT_EQ(results.size(), lstm ? 2u : 1u);
    for (std::size_t i = 0; i < results.size(); ++i) expect_array(results[i], expected[i], 2e-3);
  }
}

// Options that are not given: as the specification says.
TEST_P(WebnnRecurrent, Defaults) {
  for (const bool lstm : {true, false}) {
    const Network network(
        lstm, true,
        {"forward", lstm ? "iofg" : "zrn",
         lstm ? std::vector<std::string>{"sigmoid", "tanh", "tanh"} : std::vector<std::string>{"sigmoid", "tanh"}, true,
         true});
    const auto results = run(network.name(), network.operands(DType::f32), {{"hiddenSize", Number(kHidden)}});
    expect_array(results[0], network.expected(DType::f32)[0], 2e-6);
  }
}

TEST(WebnnRecurrentErrors, AreThoseOfTheSteps) {
  const auto f = [](Sizes shape) { return OperandDescriptor{DType::f32, std::move(shape)}; };
  // Steps 2, batch 3, inputs 4, hidden 5.
  using Given = std::vector<std::pair<std::string, OperandDescriptor>>;
  const auto with = [&](Given given, const std::string& name, const OperandDescriptor& descriptor) {
    for (auto& [other, old] : given) {
      if (other == name) {
        old = descriptor;
        return given;
      }
    }
    given.emplace_back(name, descriptor);
    return given;
  };
  const Given lstm = {{"input", f({2, 3, 4})}, {"weight", f({1, 20, 4})}, {"recurrentWeight", f({1, 20, 5})}};
  const Given gru = {{"input", f({2, 3, 4})}, {"weight", f({1, 15, 4})}, {"recurrentWeight", f({1, 15, 5})}};
  const Given lstm_cell = {{"input", f({3, 4})},
                           {"weight", f({20, 4})},
                           {"recurrentWeight", f({20, 5})},
                           {"hiddenState", f({3, 5})},
                           {"cellState", f({3, 5})}};
  const Given gru_cell = {
      {"input", f({3, 4})}, {"weight", f({15, 4})}, {"recurrentWeight", f({15, 5})}, {"hiddenState", f({3, 5})}};
  const Arguments sizes = {{"steps", Number(2)}, {"hiddenSize", Number(5)}}, hidden = {{"hiddenSize", Number(5)}};
  const auto more = [](Arguments arguments, const std::string& name, Value value) {
    arguments.emplace_back(name, std::move(value));
    return arguments;
  };
  const std::string too_many = "expected a number from 1 to 268435455";
  const WebnnRefusal cases[] = {
      {"lstm",
       lstm,
       {{"steps", Number(3)}, {"hiddenSize", Number(5)}},
       "steps is 3; expected the first size of input, float32 [2, 3, 4]"},
      {"lstm",
       lstm,
       {{"steps", Number(0)}, {"hiddenSize", Number(5)}},
       "steps is 0; expected the first size of input, float32 [2, 3, 4]"},
      {"lstm", lstm, {{"steps", Number(2)}, {"hiddenSize", Number(0)}}, "hiddenSize is 0, " + too_many},
      {"lstm",
       lstm,
       {{"steps", Number(2)}, {"hiddenSize", Number(4294967295.0)}},
       "hiddenSize is 4294967295, " + too_many},
      {"lstm", with(lstm, "weight", f({2, 20, 4})), sizes, "weight is float32 [2, 20, 4], expected [1, 20, 4]"},
      {"lstm", lstm, more(sizes, "direction", std::string("both")),
       "weight is float32 [1, 20, 4], expected [2, 20, 4]"},
      {"lstm", with(lstm, "recurrentWeight", f({1, 20, 4})), sizes,
       "recurrentWeight is float32 [1, 20, 4], expected [1, 20, 5]"},
      {"lstm", with(lstm, "bias", f({1, 15})), sizes, "bias is float32 [1, 15], expected [1, 20]"},
      {"lstm", with(lstm, "recurrentBias", f({1, 15})), sizes, "recurrentBias is float32 [1, 15], expected [1, 20]"},
      {"lstm", with(lstm, "peepholeWeight", f({1, 20})), sizes, "peepholeWeight is float32 [1, 20], expected [1, 15]"},
      {"lstm", with(lstm, "initialHiddenState", f({1, 3, 4})), sizes,
       "initialHiddenState is float32 [1, 3, 4], expected [1, 3, 5]"},
      {"lstm", with(lstm, "initialCellState", {DType::f16, {1, 3, 5}}), sizes,
       "initialCellState is float16 [1, 3, 5], expected float32, as input"},
      {"lstm", lstm, more(sizes, "activations", std::vector<std::string>{"tanh"}),
       "activations are 1 functions, expected 3"},
      {"lstm", lstm, more(sizes, "activations", std::vector<std::string>{"gelu"}),
       "activations is 'gelu', expected relu, sigmoid or tanh"},
      {"lstm", lstm, more(sizes, "layout", std::string("zrn")), "layout is 'zrn', expected iofg or ifgo"},
      {"gru", with(gru, "weight", f({1, 20, 4})), sizes, "weight is float32 [1, 20, 4], expected [1, 15, 4]"},
      {"gru", with(gru, "bias", f({15})), sizes, "bias is float32 [15], expected a rank of 2"},
      {"gru",
       gru,
       {{"steps", Number(2)}, {"hiddenSize", Number(4294967295.0)}},
       "hiddenSize is 4294967295, expected a number from 1 to 357913941"},
      {"lstmCell", with(lstm_cell, "cellState", f({3, 4})), hidden, "cellState is float32 [3, 4], expected [3, 5]"},
      {"lstmCell", with(lstm_cell, "hiddenState", f({2, 5})), hidden, "hiddenState is float32 [2, 5], expected [3, 5]"},
      {"lstmCell", with(lstm_cell, "peepholeWeight", f({20})), hidden, "peepholeWeight is float32 [20], expected [15]"},
      {"gruCell", with(gru_cell, "recurrentWeight", f({15, 4})), hidden,
       "recurrentWeight is float32 [15, 4], expected [15, 5]"},
      {"gruCell", with(gru_cell, "input", {DType::i32, {3, 4}}), hidden,
       "input is int32 [3, 4], expected float32 or float16"},
      {"gruCell", gru_cell, more(hidden, "activations", std::vector<std::string>{"tanh", "tanh", "tanh"}),
       "activations are 3 functions, expected 2"},
  };
  for (const WebnnRefusal& c : cases) expect_refused(c);
}

}  // namespace
}  // namespace weft::webnn
