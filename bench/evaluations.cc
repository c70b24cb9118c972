// What an evaluation costs the host that was compiled before, by its parts: small tensors, so that little of it is
// arithmetic.
#include <algorithm>
#include <array>
#include <format>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "bench.h"
#include "core/format.h"
#include "tensor/pending_graph.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/random.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kCount = 1000;

// A GPU is at most 32 evaluations behind before eval() waits.
constexpr int kBatch = 16;

struct Case {
  std::string name;
  std::function<Tensor()> make;
};

class Least {
 public:
  // Of what `work` does for each of a batch.
  template <class F>
  void time(const F& work) {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < kBatch; ++i) work(i);
    us_ = std::min(us_, seconds_since(start) * 1e6 / kBatch);
  }
  double us() const { return us_; }

 private:
  double us_ = std::numeric_limits<double>::infinity();
};

class EvaluationsBench {
 public:
  EvaluationsBench(const Device& device, const Options& options, Report& report)
      : device_(device), options_(options), report_(report) {
    set_default_device(device);
    random::seed(7);
    wake(device_);
  }

  void measure(const Case& c) {
    if (!asked(options_, c.name)) return;
    ++cases_;
    const std::vector<float> expected = c.make().read<float>();
    // The executable by itself, on tensors with data.
    const Tensor sample = c.make();
    PendingGraph pending(std::span(&sample, 1), PendingGraph::Use::whole);
    pending.prepare();
    Executable executable = compile(pending.graph(), device_);
    std::vector<Tensor> inputs, outputs;
    for (const PendingGraph::Leaf& leaf : pending.leaves()) inputs.push_back(leaf.tensor());
    for (const TensorType& type : pending.result_types()) outputs.emplace_back(device_, type.dtype, type.shape);

    Least recorded, collected, ran, evaluated, read, released, whole;
    std::array<Tensor, kBatch> kept;
    std::array<std::vector<float>, kBatch> values;  // compared, and dropped, when nothing is timed
    bool right = true;
    const auto compare = [&] {
      for (std::vector<float>& v : values) right &= std::exchange(v, {}) == expected;
    };
    const auto begin = Clock::now();
    for (int turn = 0; turn < 5 || seconds_since(begin) < options_.timing.seconds; ++turn) {
      recorded.time([&](std::size_t i) { kept[i] = c.make(); });
      collected.time([&](std::size_t i) {
        PendingGraph again(std::span(&kept[i], 1), PendingGraph::Use::whole);
        again.prepare();
      });
      evaluated.time([&](std::size_t i) { eval(kept[i]); });
      device_.wait();
      read.time([&](std::size_t i) { values[i] = kept[i].read<float>(); });
      compare();
      released.time([&](std::size_t i) { kept[i] = Tensor(); });
      ran.time([&](std::size_t) { executable.run(inputs, outputs, pending.numbers()); });
      device_.wait();
      whole.time([&](std::size_t i) { values[i] = c.make().read<float>(); });
      compare();
    }
    if (!right) throw InternalError("{}: a result is wrong", c.name);
    add(c.name + ": recorded", recorded.us());
    add(c.name + ": collected, and its key", collected.us());
    add(c.name + ": run", ran.us());
    add(c.name + ": eval, with the two above", evaluated.us());
    add(c.name + ": read", read.us());
    add(c.name + ": released", released.us());
    add(c.name, whole.us());
  }

  int cases() const { return cases_; }

 private:
  void add(const std::string& name, double us) {
    report_.add(name, us, "us", false, {{"device", device_.name()}}, std::format("{:64} {:9.2f} us", name, us));
  }

  Device device_;
  const Options& options_;
  Report& report_;
  int cases_ = 0;
};

Tensor chain(const Tensor& x, const Tensor& y, int nodes) {
  Tensor z = x + y;
  for (int i = 1; i < nodes; ++i) z = i % 2 ? std::move(z) * y : std::move(z) + x;
  return z;
}

}  // namespace

void bench_evaluations(const Device& device, const Options& options, Report& report) {
  EvaluationsBench bench(device, options, report);
  const Tensor x = random::uniform({kCount}), y = random::uniform({kCount});
  const Tensor rows = reshape(x, {10, kCount / 10}) * 1, others = reshape(y, {10, kCount / 10}) * 1;
  eval({x, y, rows, others});
  const Case cases[] = {
      {"one node: x + y", [&] { return x + y; }},
      {"one node with a number: x * 0.5", [&] { return x * 0.5f; }},
      {"one sum: sum(x)", [&] { return sum(x); }},
      {"ten nodes: sums and products", [&] { return chain(x, y, 10); }},
      {"ten nodes with numbers: a polynomial",
       [&] { return ((((x * 0.5f + 0.25f) * x - 1.5f) * x + 2.0f) * x - 0.125f) * x + 3.0f; }},
      {"ten nodes with reductions: rows of 100",
       [&] {
         const Tensor a = rows * others + rows;
         const Tensor b = a - max(a, {-1}, true);
         return (sqrt(abs(b)) / sum(a, {-1}, true)).T() + 1.0f;
       }},
      {"a hundred nodes: sums and products", [&] { return chain(x, y, 100); }},
  };
  for (const Case& c : cases) bench.measure(c);
  if (bench.cases() == 0) throw InvalidArgument("no case's name holds '{}'", options.only);
}

}  // namespace weft::bench
