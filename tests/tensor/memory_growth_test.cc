// Loops whose memory must not grow: what Weft holds (memory::live) and what the process has (resident size), over every
// function that makes tensors, over changing sizes, and over executables that are kept. WEFT_MEMORY_TURNS: how many
// turns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <numeric>
#include <optional>

#include "compiler/bound.h"
#include "support/devices.h"
#include "support/onnx_writer.h"
#include "support/quick.h"
#include "weft/array.h"
#include "weft/call.h"
#include "weft/control_flow.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/indexing.h"
#include "weft/memory.h"
#include "weft/onnx.h"
#include "weft/random.h"
#include "weft/resampling.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

// Of the process, in bytes; none where the system does not say it in this file (Linux does), and under sanitizers,
// which keep what is freed.
std::optional<std::int64_t> resident_size() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return std::nullopt;
#endif
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  if (!(file >> total >> resident)) return std::nullopt;
  return resident * 4096;
}

// Of the process; none where the system does not say it in this file, as Linux does.
std::optional<std::int64_t> memory_mappings() {
  std::ifstream file("/proc/self/maps");
  if (!file) return std::nullopt;
  return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
}

class MemoryGrowthTest : public testing::TestWithParam<std::string> {
 protected:
  MemoryGrowthTest() { set_default_device(device); }
  ~MemoryGrowthTest() override {
    memory::set_limit(std::nullopt, device);
    set_default_device(before_);
  }

  int turns() const {
    const char* text = std::getenv("WEFT_MEMORY_TURNS");
    const int asked = text ? std::atoi(text) : 0;
    return asked > 0 ? asked : static_cast<int>(scaled(device.is_gpu() ? 240 : 2000));
  }

  // Runs the turns, those of the first number before it measures; afterwards nothing more is live, and the process has
  // not grown by more than `most` bytes.
  void expect_flat(const char* what, int first, int count, std::int64_t most, const std::function<void(int)>& turn) {
    const auto run = [&](int begin, int end) {
      for (int i = begin; i < end; ++i) turn(i);
      device.wait();
    };
    run(0, first);
    const std::uint64_t live = memory::live();
    const auto resident = resident_size();
    run(first, first + count);
    EXPECT_LE(memory::live(), live) << what;
    const auto now = resident_size();
    if (!resident || !now) return;
    EXPECT_LE(*now - *resident, most) << what << ": bytes that " << count << " turns added";
  }

  Device before_ = default_device();
  Device device = device_named(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Devices, MemoryGrowthTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

// Every function that makes a tensor of numbers, and those that make tables of indices inside.
TEST_P(MemoryGrowthTest, CreationFunctions) {
  const Tensor x = ones({200}) * 1, square = ones({31, 31}) * 1, image = ones({1, 2, 6, 6}) * 1;
  const Tensor small = arange(12).reshape({3, 4}) * 1, theta = ones({1, 2, 3}) * 1, rows = tensor({0, 2});
  const Tensor grid = ones({1, 3, 3, 2}) * 0;
  eval({x, square, image, small, theta, rows, grid});
  const std::int64_t two[] = {2, 1};
  const auto on = [](const Tensor& y) { eval(y); };
  const std::pair<const char*, std::function<void(int)>> cases[] = {
      {"arange", [&](int) { on(x * arange(200.0)); }},
      {"arange with a changing start", [&](int t) { on(arange(t, t + 200)); }},
      {"arange in tenths", [&](int t) { on(arange(t, t + 20.0, 0.1)); }},
      {"arange f64", [&](int t) { on(arange(t, t + 20.0, 1.0, DType::f64)); }},
      {"arange u8", [&](int t) { on(arange(t, t + 20, 1, DType::u8)); }},
      {"linspace", [&](int t) { on(x + linspace(t, 2.0 * t + 1, 200)); }},
      {"linspace without its end", [&](int t) { on(linspace(0, t + 1.0, 30, DType::f16, false)); }},
      {"eye", [&](int t) { on(square * eye(31, 31, DType::f32, t % 60 - 30)); }},
      {"triangle", [&](int) { on(square * triangle(31, 31, DType::f32, Triangle::upper)); }},
      {"tril and triu", [&](int) { on(tril(square, 1) + triu(square)); }},
      {"full", [&](int t) { on(x + full({200}, t)); }},
      {"full_like, zeros_like, ones_like", [&](int t) { on(full_like(x, t) + zeros_like(x) + ones_like(x)); }},
      {"zeros and ones", [&](int) { on(zeros({200}) + ones({200}) + x); }},
      {"tensor of a number", [&](int t) { on(x + tensor(static_cast<float>(t))); }},
      {"tensor of lists", [&](int t) { on(small + tensor({{t, 1, 2, 3}})); }},
      {"tensor of a vector", [&](int t) { on(x + tensor(std::vector<float>(200, static_cast<float>(t)))); }},
      {"constant", [&](int t) { on(x + Graph::constant(TensorData::of<float>({200}, std::vector<float>(200, t)))); }},
      {"complex number",
       [&](int t) { on(cast(x, DType::c64) * tensor(std::complex<float>(static_cast<float>(t), 1))); }},
      {"meshgrid",
       [&](int) {
         const auto g = meshgrid({arange(31), arange(20)});
         on(g[0] + g[1]);
       }},
      {"one_hot", [&](int) { on(one_hot(arange(31), 31)); }},
      {"repeat with counts", [&](int) { on(repeat(small, tensor({1, 2, 3}), 0)); }},
      {"repeat", [&](int) { on(repeat(small, 3, 0)); }},
      {"tile", [&](int) { on(tile(small, {2, 2})); }},
      {"roll", [&](int t) { on(roll(small, t % 12)); }},
      {"pad", [&](int t) { on(pad(small, two, two, PadMode::constant, t % 4)); }},
      {"unfold", [&](int) { on(unfold(image, {2, 2})); }},
      {"affine_grid", [&](int) { on(affine_grid(theta, {5, 5})); }},
      {"grid_sample", [&](int) { on(grid_sample(image, grid)); }},
      {"resize", [&](int) { on(resize(image, {1, 2, 9, 9})); }},
      {"x[tensor]", [&](int) { on(small[{rows, all}]); }},
      {"x[tensor] of every turn", [&](int t) { on(small[{tensor({t % 3}), all}]); }},
      {"set with numbers",
       [&](int t) {
         Tensor y = small;
         on(y.set({t % 3, all}, t));
       }},
      {"set with steps",
       [&](int t) {
         Tensor y = small;
         on(y.set({all, slice(0, 4, 2)}, t));
       }},
      {"set with tensors",
       [&](int t) {
         Tensor y = small;
         on(y.set({rows, slice(1, 3)}, t));
       }},
      {"mask",
       [&](int t) {
         Tensor y = small;
         on(y.set({small > 3}, t));
       }},
      {"searchsorted", [&](int) { on(searchsorted(x, x)); }},
      {"diagonal", [&](int) { on(diagonal(square) * 2); }},
      {"random keys",
       [&](int t) { on(random::normal({100}, 0, 1, DType::f32, random::key(static_cast<std::uint64_t>(t)))); }},
      {"random", [&](int) { on(random::uniform({100}) + random::bernoulli({100}, 0.5).cast(DType::f32)); }},
      {"permutation", [&](int) { on(random::permutation(50)); }},
      {"distributions",
       [&](int) {
         on(random::poisson({50}, 3) + random::categorical({50}, ones({3})));
         on(random::gumbel({50}) + random::gamma({50}, 0.5));
         on(random::multinomial({5}, 3, ones({5})));
       }},
  };
  for (const auto& [what, turn] : cases) {
    if (leave_out_problem()) continue;
    // What a GPU's driver keeps of submitted writes is not Weft's.
    const std::int64_t driver = device.is_gpu() ? 6 * kMiB + turns() * 1024 : 0;
    expect_flat(what, 100, turns(), 3 * kMiB + driver, turn);
  }
}

// Functions and operations by name, those made of many others among them, and calls that fail.
TEST_P(MemoryGrowthTest, CallsByName) {
  const Tensor x = ones({4, 64}) * 0.5, square = eye(5) + ones({5, 5}) * 0.1, sections = ones({2, 6}) * 0.5,
               labels = tensor({0, 2, 1, 2}), edges = tensor({0.0f, 0.25f, 0.75f, 1.0f});
  eval({x, square, sections, labels, edges});
  const std::pair<const char*, std::vector<TensorLike>> calls[] = {
      {"softmax", {x}},
      {"add", {x, 3.0}},
      {"rotary_embedding", {x}},
      {"hadamard_transform", {x}},
      {"lfilter", {edges, 1.0f + edges, x}},
      {"sosfilt", {sections, x}},
      {"convolve", {edges, ones({9})}},
      {"polyval", {edges, x}},
      {"eig", {square}},
      {"expm", {square}},
      {"solve", {square, ones({5})}},
      {"gammaincinv", {x + 1.0f, x}},
      {"j1", {x}},
      {"isclose", {x, x}},
      {"histogram2d", {ones({20}), ones({20})}},
      {"unique", {labels}},
      {"cross_entropy", {x, labels}},
      {"median", {x}},
  };
  for (const auto& [name, operands] : calls) {
    if (leave_out_problem()) continue;
    const std::int64_t driver = device.is_gpu() ? 6 * kMiB + turns() * 1024 : 0;
    expect_flat(name, 100, turns() / 2, 3 * kMiB + driver, [&](int) { eval(call(name, std::span(operands))); });
  }
  expect_flat("calls that fail", 100, turns(), 3 * kMiB, [&](int) {
    EXPECT_THROW(call("softmax", {x}, {{"axes", Number(-1)}}), InvalidArgument);
    EXPECT_THROW(call("softmaxx", {x}), InvalidArgument);
    EXPECT_THROW(call("matmul", {x, x}), ShapeError);
  });
}

// Gradients of a function that reads values inside and keeps a state outside, of all kinds that keep operands of nodes.
TEST_P(MemoryGrowthTest, Derivatives) {
  Tensor state = zeros({64}), x = ones({64});
  const auto own = custom_vjp([](const Tensor& v) { return round(v); },
                              [](const std::tuple<Tensor>&, const Tensor&, const Tensor& g) { return g; });
  const auto inner = checkpoint([](const Tensor& v) { return sin(v) * v; });
  const auto f = [&](const Tensor& v) {
    const Tensor y = inner(v) + own(v);
    state = state * 0.9f + y * 0.1f;
    eval(state);
    return sum(y * y);
  };
  const auto each = [](const Tensor& v) { return sin(v) * v; };
  expect_flat("gradients", 50, turns(), 8 * kMiB, [&](int i) {
    const Tensor g = grad(f)(x);
    const Tensor more = vmap(grad(each))(x) + jvp(each)(x, g).second;
    x = x - 0.001f * (g + more);
    if (i % 4 == 0) eval(x);
  });
}

TEST_P(MemoryGrowthTest, ControlFlow) {
  const Tensor x = ones({64}), rates = ones({5}) * 0.1f;
  const auto path = [&](const Tensor& r) {
    return sum(scan([](const Tensor& s, const Tensor& u) { return std::pair(s * (1 + u), s); }, x, r).second);
  };
  expect_flat("control flow", 50, turns() / 4, 8 * kMiB, [&](int i) {
    const Tensor y = while_loop([](const Tensor& s) { return sum(s) < 200; }, [](const Tensor& s) { return s + 1; }, x);
    const Tensor z = cond(sum(y) > i, [&] { return y * 2; }, [&] { return y; });
    eval({grad(path)(rates), z});
  });
}

// The turns of a loop are submitted as they come, and each turn of one with a condition waits: neither what the device
// holds nor the process grows with their number.
TEST_P(MemoryGrowthTest, TurnsOfLoops) {
  const std::int64_t count = 20 * std::int64_t{turns()};
  const auto counted = [](std::int64_t n) {
    return compile([=](const Tensor& x) {
      return fori_loop(0, n, [](const Tensor& i, const Tensor& s) { return (s + i) % 1000003; }, x);
    });
  };
  const auto until = compile([](const Tensor& x, const Tensor& n) {
    using State = std::pair<Tensor, Tensor>;
    return while_loop([&](const State& s) { return s.first < n; },
                      [](const State& s) { return State(s.first + 1, (s.second + s.first) % 1000003); },
                      State(zeros({}, DType::i32), x))
        .second;
  });
  const Tensor x = full({256}, 7, DType::i32);
  const auto check = [&](const Tensor& y, std::int64_t n) {
    std::int64_t expected = 7;
    for (std::int64_t i = 0; i < n; ++i) expected = (expected + i) % 1000003;
    EXPECT_EQ(y.to_vector<std::int32_t>(), std::vector<std::int32_t>(256, static_cast<std::int32_t>(expected)));
  };
  // What runs for the first time keeps its intermediates; what a few turns have made is there already.
  const auto expect_small = [&](const char* what, const auto& run) {
    for (const std::int64_t n : {count / 10, count / 10 + 1}) run(n);
    device.wait();
    const std::uint64_t live = memory::live();
    const auto resident = resident_size();
    run(count);
    device.wait();
    EXPECT_LE(memory::live(), live + kMiB / 16) << what;
    const auto now = resident_size();
    if (resident && now) {
      EXPECT_LE(*now - *resident, 8 * kMiB) << what << ": bytes that " << count << " turns added";
    }
  };
  expect_small("turns that are counted", [&](std::int64_t n) { check(counted(n)(x), n); });
  expect_small("turns that wait",
               [&](std::int64_t n) { check(until(x, full({}, static_cast<int>(n), DType::i32)), n); });
}

// Models of ONNX whose graphs depend on data, with nodes on another device and random numbers, and with a state that
// each run updates in its place.
TEST_P(MemoryGrowthTest, OnnxModels) {
  using G = OnnxGraph;
  using onnx::ElementType;
  const auto model = [&](const G& g) {
    const std::string bytes = onnx_model(g);
    return onnx::Model::from_bytes(std::as_bytes(std::span(bytes)), {.device = device, .fallback = Device::cpu()});
  };
  const auto to_type = [](ElementType type) { return G::integer("to", static_cast<std::int64_t>(type)); };
  G g;
  g.input("x", ElementType::f32, {-1}).input("to", ElementType::i64, {2}).output("y", ElementType::f32, {-2, -3});
  g.node("RandomNormalLike", {"x"}, {"n"}).node("Add", {"x", "n"}, {"a"});
  g.node("Cast", {"a"}, {"d"}, {to_type(ElementType::f64)}).node("Mul", {"d", "d"}, {"q"});
  g.node("Cast", {"q"}, {"f"}, {to_type(ElementType::f32)}).node("Reshape", {"f", "to"}, {"y"});
  const onnx::Model wide = model(g);
  const Tensor x = ones({64}), shapes[] = {tensor({8, 8}, DType::i64), tensor({4, 16}, DType::i64)};
  expect_flat("a model in stages", 100, turns(), 8 * kMiB, [&](int i) {
    const Tensor y = wide.run({{"x", x}, {"to", shapes[i % 2]}})[0];
    if (i % 50 == 0) {
      EXPECT_EQ(y.to_vector<float>().size(), 64u);
    }
  });
  G state;
  state.input("x", ElementType::f32, {64}).input("past", ElementType::f32, {64});
  state.output("present", ElementType::f32, {64}).node("Add", {"past", "x"}, {"present"});
  const onnx::Model sum = model(state);
  Tensor total = zeros({64}) + 0;
  eval(total);
  int count = 0;
  expect_flat("a state in its place", 100, turns(), 8 * kMiB, [&](int) {
    sum.run({{"x", x}, {"past", total}}, {{"present", total}});
    ++count;
  });
  EXPECT_THAT(total.to_vector<float>(), testing::Each(static_cast<float>(count)));
}

// A gradient keeps the carries of all turns: as many as have room, or it is refused at once.
TEST_P(MemoryGrowthTest, GradientsOfManyTurns) {
  const auto after = [](std::int64_t turns) {
    return [=](const Tensor& x) {
      return sum(fori_loop(0, turns, [](const Tensor&, const Tensor& s) { return s * 1.0001f + sin(s) * 0; }, x));
    };
  };
  const Tensor x = ones({256});
  const std::uint64_t limit = memory::live(device) + 16 * kMiB;
  memory::set_limit(limit);
  EXPECT_NEAR(grad(after(2000))(x)[{0}].item<float>(), std::pow(1.0001, 2000), 1e-3);
  for (const std::int64_t turns : {100'000, 10'000'000, 2'147'483'647}) {
    EXPECT_THROW(eval(grad(after(turns))(x)), OutOfMemory) << turns;
    EXPECT_THROW(eval(compile(grad(after(turns)))(x)), OutOfMemory) << turns;
  }
  // More bytes than 64 bits can count.
  const Tensor wide = broadcast_to(x, {std::int64_t{1} << 30, 256});
  EXPECT_THROW(eval(grad(after(2'147'483'647))(wide)), Error);
  memory::set_limit(std::nullopt);
  for (const std::int64_t turns : {10'000'000, 2'147'483'647}) {
    EXPECT_THROW(eval(grad(after(turns))(broadcast_to(x, {1 << 20, 256}))), OutOfMemory) << turns;
  }
  EXPECT_NEAR(grad(after(2000))(x)[{0}].item<float>(), std::pow(1.0001, 2000), 1e-3) << "afterwards all works";
}

// Each size has an executable of its own, of which only some are kept.
TEST_P(MemoryGrowthTest, ChangingSizes) {
  const Tensor x = ones({400, 400}) * 1;
  eval(x);
  // The largest ones first, so that what intermediates take does not grow.
  const auto turn = [&](int i) {
    const std::int64_t rows = 400 - i % 400, columns = 400 - i / 400 % 400;
    eval(x[{slice(0, rows), slice(0, columns)}] * 2 + arange(columns));
  };
  if (quick()) GTEST_SKIP() << "it takes thousands of turns to fill what is kept";
  const int count = std::max(turns(), 3000);
  // Two generations of plans are full after 8,192 turns; fewer turns measure while they still fill.
  expect_flat("sizes", count > 20000 ? 10000 : 2000, count, 12 * kMiB, turn);
}

// Executables hold neither what they were given nor what they made.
TEST_P(MemoryGrowthTest, ExecutablesLetGo) {
  const std::uint64_t before = memory::live();
  constexpr std::int64_t kElements = 1 << 18;
  for (std::int64_t i = 0; i < 20; ++i) {
    const Tensor x = full({kElements + i}, 2) * 1;
    eval(x);
    eval(x * 2);
  }
  device.wait();
  EXPECT_LT(memory::live(), before + kElements) << "twenty tensors of four times as many bytes are gone";

  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {kElements});
  graph.output("y", exp(x) * 2);
  std::vector<Executable> kept;
  for (int i = 0; i < 4; ++i) kept.push_back(compile(graph, device));
  const auto f = compile([](const Tensor& a) { return sin(a) + 1; });
  (void)f(Tensor(device, DType::f32, {kElements}));
  device.wait();
  expect_flat("kept executables", 40, turns() / 10, 8 * kMiB, [&](int i) {
    const Tensor in(device, DType::f32, {kElements}), out(device, DType::f32, {kElements});
    kept[static_cast<std::size_t>(i % 4)].run(std::vector{in}, std::vector{out});
    (void)f(in);
  });
}

// A software GPU maps a page for each bind group that is kept, and Linux lets a process have 65,530 mappings.
TEST_P(MemoryGrowthTest, MappingsOfManyGraphs) {
  const auto before = memory_mappings();
  if (!before) GTEST_SKIP() << "this system does not tell of mappings";
  if (GetParam() != "lavapipe") GTEST_SKIP() << "the same limits hold for every software GPU";
  constexpr int kGraphs = 400, kSteps = 50;
  for (int n = 1; n <= kGraphs; ++n) {
    const Tensor x = full({n, n}, 1.0 / n) * 1;
    Tensor y = ones({2, n}) * 1;
    for (int k = 0; k < kSteps; ++k) y = matmul(y, x);
    EXPECT_NEAR(y.sum().item<float>(), 2 * n, 1e-3 * n);
  }
  EXPECT_LE(*memory_mappings() - *before, kGraphs * kSteps / 2);
}

// A run that fails lets go, too.
TEST_P(MemoryGrowthTest, FailedRunsLetGo) {
  Graph graph;
  const Tensor x = graph.input("x", DType::f32, {1 << 18});
  graph.output("y", sort(x) + 1);
  Executable executable = compile(graph, device);
  const Tensor given(device, DType::f32, {1 << 18});
  executable.run(std::vector{given}, std::vector{Tensor(device, DType::f32, {1 << 18})});
  device.wait();
  const std::uint64_t live = memory::live();
  {
    const Tensor in(device, DType::f32, {1 << 18});
    EXPECT_THROW(executable.run(std::vector{in}, std::vector{in}), InvalidArgument);
  }
  EXPECT_EQ(memory::live(), live);
}

TEST_P(MemoryGrowthTest, ALoopOfRangesUnderALimit) {
  const Tensor x = ones({1000000}) * 1;
  eval(x);
  memory::clear_cache();
  memory::set_limit(memory::live() + 64 * kMiB);
  for (int i = 0; i < 40; ++i) eval(x * arange(1000000.0));
  device.wait();
  memory::set_limit(std::nullopt);
}

TEST_P(MemoryGrowthTest, ClearingGivesIntermediatesBack) {
  const Tensor x = ones({1 << 20}) * 1;
  eval(x);
  memory::clear_cache();
  const std::uint64_t before = memory::live();
  const Tensor y = sort(cumsum(x, 0) * 2) * x.sum();
  eval(y);
  device.wait();
  memory::clear_cache();
  EXPECT_LE(memory::live(), before + (4 << 20) + (64 << 10)) << "the result alone is left";
  EXPECT_EQ(y[-1].item<float>(), 2.0f * (1 << 20) * (1 << 20));
}

// Ranges are computed where they are used: neither they nor broadcasts of constants are stored to be read.
TEST_P(MemoryGrowthTest, ConstantExpressionsAreNotStored) {
  const std::int64_t rows = device.is_gpu() ? 2048 : 65536;
  const auto sum = [&](const Tensor& row) {
    memory::reset_peak();
    const std::uint64_t before = memory::peak();
    const double got = broadcast_to(row, {rows, 4000}).sum().item<float>();
    EXPECT_LE(memory::peak(), before + 8 * kMiB);
    return got;
  };
  const double expected = static_cast<double>(rows) * (4000.0 * 3999 / 2);
  EXPECT_NEAR(sum(arange(4000.0)), expected, expected * 1e-5);
  std::vector<float> values(4000);
  std::iota(values.begin(), values.end(), 0.0f);
  EXPECT_NEAR(sum(Graph::constant(TensorData::of<float>({4000}, values))), expected, expected * 1e-5);
  // In a graph of nothing but constants, which are folded.
  Graph graph;
  const Tensor row = Graph::constant(TensorData::of<float>({4000}, values));
  graph.output("y", broadcast_to(row, {rows, 4000}).sum());
  const auto resident = resident_size();
  Executable executable = compile(graph, device);
  const Tensor y(device, DType::f32, {});
  executable.run(std::vector<Tensor>(), std::vector{y});
  EXPECT_NEAR(y.item<float>(), expected, expected * 1e-5);
  if (!resident) return;
  EXPECT_LE(*resident_size() - *resident, 64 * kMiB) << "the host has not seen it whole";
}

TEST_P(MemoryGrowthTest, WhatCannotFitIsRefusedAtOnce) {
  memory::set_limit(memory::live() + 64 * kMiB);
  EXPECT_THROW(eval(arange(4e9)), OutOfMemory);
  EXPECT_THROW(eval(arange(0, std::int64_t{1} << 40)), OutOfMemory);
  EXPECT_THROW(eval(linspace(0, 1, std::int64_t{1} << 40)), OutOfMemory);
  memory::set_limit(std::nullopt);
  // 4 TiB, as a result and on the way to one.
  const Tensor x = ones({1 << 20, 1}) * 1, y = ones({1, 1 << 20}) * 1;
  eval({x, y});
  EXPECT_THROW(eval(x + y), OutOfMemory);
  EXPECT_THROW(eval(sort(x + y)[{0, 0}]), OutOfMemory);
  EXPECT_THROW(eval(sort(x + y, 0).sum()), OutOfMemory);
  const auto f = compile([](const Tensor& a, const Tensor& b) { return sort(a * b) + 1; });
  EXPECT_THROW(f(x, y), OutOfMemory);
  EXPECT_EQ((x[{0, 0}] + y[{0, 0}]).item<float>(), 2) << "afterwards all works";
}

// An argument that shows a few elements again and again stays as small as it is.
TEST_P(MemoryGrowthTest, BroadcastArgumentsAreNotCopied) {
  const Tensor column = arange(1000.0).reshape({1000, 1}) * 1;
  eval(column);
  int traced = 0;
  const auto f = compile([&](const Tensor& x) {
    ++traced;
    return std::pair(max(x, {0}) + 1, x);
  });
  const Tensor wide = broadcast_to(column, {1000, 30000});
  memory::set_limit(memory::live() + 16 * kMiB);  // it would be 120 MB
  const auto [y, same] = f(wide);
  EXPECT_EQ(y.shape(), (Shape{30000}));
  EXPECT_EQ((y[29999].item<float>()), 1000);
  EXPECT_EQ(same.shape(), wide.shape());
  EXPECT_EQ((same[{999, 5}].item<float>()), 999);
  (void)f(broadcast_to(column * 2, {1000, 30000}));
  EXPECT_EQ(traced, 1);
  memory::set_limit(std::nullopt);
  // The same shape, but with elements of its own or broadcast along the other axis: other executables.
  EXPECT_THAT(f(tensor({{1, 2}, {3, 4}}, DType::f32)).first.read<float>(), testing::ElementsAre(4, 5));
  EXPECT_THAT(f(broadcast_to(tensor({1.0f, 2.0f}), {2, 2})).first.read<float>(), testing::ElementsAre(2, 3));
  EXPECT_THAT(f(broadcast_to(tensor({{1.0f}, {2.0f}}), {2, 2})).first.read<float>(), testing::ElementsAre(3, 3));
  EXPECT_THAT(f(full({2, 2}, 7)).first.read<float>(), testing::ElementsAre(8, 8));
  EXPECT_THAT(f(flip(broadcast_to(tensor({1.0f, 2.0f}), {2, 2}))).first.read<float>(), testing::ElementsAre(3, 2));
}

}  // namespace
}  // namespace weft::test
