// What derivatives cost: of high order, of loops, of recurrent networks, and a step of training.
#include <cmath>
#include <format>
#include <nlohmann/json.hpp>
#include <numbers>

#include "bench.h"
#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/evaluate.h"
#include "weft/profile.h"
#include "weft/random.h"
#include "weft/recurrent.h"
#include "weft/traced.h"

namespace weft::bench {
namespace {

class DerivativesBench {
 public:
  DerivativesBench(const Device& device, const Options& options, Report& report)
      : device_(device),
        options_(options),
        report_(report),
        software_(!device.is_gpu() || device.gpu().capabilities().software) {
    set_default_device(device);
    wake(device_);
  }

  // sin(x) exp(x), whose n-th derivative is 2^(n/2) exp(x) sin(x + n π/4), at 1,000 points.
  void orders() {
    const Tensor x = linspace(-2, 2, 1000);
    eval(x);
    for (int order = 1; order <= 10; ++order) {
      const std::string name = std::format("derivative {} of sin(x) exp(x) f32 [1000]", order);
      if (!asked(options_, name)) continue;
      const auto f = compile(nth_derivative([](const Tensor& t) { return sin(t) * exp(t); }, order));
      const auto start = Clock::now();
      const std::vector<float> values = f(x).read<float>();
      const double first = seconds_since(start) * 1e3;
      double largest = 0, error = 0;
      const std::vector<float> at = x.read<float>();
      for (std::size_t i = 0; i < at.size(); ++i) {
        const double exact =
            std::pow(2.0, order / 2.0) * std::exp(double{at[i]}) * std::sin(at[i] + order * std::numbers::pi / 4);
        largest = std::max(largest, std::abs(exact));
        error = std::max(error, std::abs(values[i] - exact));
      }
      std::vector<double> times;
      for (int i = 0; i < 200; ++i) {
        const auto begin = Clock::now();
        (void)f(x).read<float>();
        times.push_back(seconds_since(begin) * 1e6);
      }
      add(name, median(times), "us",
          {{"compile_ms", first}, {"dispatches", dispatches([&] { eval(f(x)); })}, {"error", error / largest}});
    }
  }

  void loops() {
    const Tensor x = random::normal({1024});
    eval(x);
    const auto turns = [](std::int64_t n) {
      return compile(
          [n](const Tensor& t) { return fori_loop(0, n, [](const Tensor&, const Tensor& s) { return sin(s); }, t); });
    };
    constexpr std::int64_t kTurns = 1000;
    per_call(std::format("fori_loop of {} turns of sin(x) f32 [1024]", kTurns), turns(kTurns), x);
    const auto halves = compile([](const Tensor& t) {
      return while_loop([](const Tensor& s) { return s > 1; }, [](const Tensor& s) { return s * 0.5f; }, t);
    });
    per_call("while_loop of 100 turns of x / 2 f32 []", halves, full({}, std::pow(2.0f, 100.0f)));
  }

  void recurrent() {
    const std::int64_t hidden = software_ ? 64 : 512, batch = software_ ? 4 : 32, steps = software_ ? 16 : 128;
    for (const DType type : {DType::f32, DType::f16}) {
      for (const std::int64_t gates : {4, 3}) {
        const std::string network = gates == 4 ? "lstm" : "gru";
        const auto random_of = [&](Shape shape) { return random::normal(shape, 0, 0.05, type); };
        const std::vector<Tensor> operands{random_of({steps, batch, hidden}), random_of({gates * hidden, hidden}),
                                           random_of({gates * hidden, hidden})};
        eval(operands);
        const auto loss = [&](const std::vector<Tensor>& v) {
          const Tensor y = gates == 4 ? lstm(v[0], v[1], v[2]).y : gru(v[0], v[1], v[2]).y;
          return sum(cast(y, DType::f32));
        };
        const std::string shape = std::format("{} [{}, {}, {}]", name(type), steps, batch, hidden);
        per_call(std::format("{} {}", network, shape), compile([=](const std::vector<Tensor>& v) { return loss(v); }),
                 operands);
        per_call(std::format("{} with its gradient {}", network, shape), compile(value_and_grad(loss)), operands);
      }
    }
  }

  void training() {
    struct Mlp {
      Tensor a, b, c;
    };
    const std::int64_t batch = 256, width = software_ ? 64 : 2048;
    const auto weights = [&](std::int64_t m, std::int64_t n) { return random::normal({m, n}, 0, 0.02); };
    Mlp net{weights(784, width), weights(width, width), weights(width, 10)};
    const Tensor x = random::normal({batch, 784}), y = random::normal({batch, 10});
    eval({net.a, net.b, net.c, x, y});
    const auto loss = [](const Mlp& m, const Tensor& in, const Tensor& out) {
      return mean(square(matmul(relu(matmul(relu(matmul(in, m.a)), m.b)), m.c) - out));
    };
    const auto step = compile([&](Mlp m, const Tensor& in, const Tensor& out) {
      const auto [value, g] = value_and_grad(loss)(m, in, out);
      return Mlp{m.a - 0.01f * g.a, m.b - 0.01f * g.b, m.c - 0.01f * g.c};
    });
    const std::string name = std::format("step of a perceptron 784, {}, {}, 10 f32, batch {}", width, width, batch);
    if (!asked(options_, name)) return;
    const double us = per_turn([&] { net = step(net, x, y); });
    add(name, us, "us", {{"dispatches", dispatches([&] { net = step(net, x, y); })}});
  }

 private:
  template <class F, class X>
  void per_call(const std::string& name, const F& f, const X& x) {
    if (!asked(options_, name)) return;
    const double us = per_turn([&] {
      const auto y = f(x);
      evaluate_all(y);
    });
    add(name, us, "us", {{"dispatches", dispatches([&] { evaluate_all(f(x)); })}});
  }
  static void evaluate_all(const Tensor& y) { eval(y); }
  static void evaluate_all(const std::pair<Tensor, std::vector<Tensor>>& y) {
    std::vector<Tensor> all = y.second;
    all.push_back(y.first);
    eval(all);
  }

  template <class F>
  double per_turn(F&& call) const {
    call();
    device_.wait();
    return microseconds_per_call(device_, 8, options_.timing.seconds, call);
  }

  template <class F>
  std::size_t dispatches(F&& call) const {
    Profiler profiler(device_);
    call();
    device_.wait();
    return profiler.finish().runs.size();
  }

  void add(const std::string& name, double value, const std::string& unit, nlohmann::ordered_json details) {
    std::string text = std::format("{:64} {:10.2f} {}", name, value, unit);
    if (details.contains("dispatches")) text += std::format(", {} dispatches", details["dispatches"].get<int>());
    if (details.contains("compile_ms"))
      text += std::format(", first call {:.1f} ms", details["compile_ms"].get<double>());
    if (details.contains("error")) text += std::format(", error {:.1e} of the largest", details["error"].get<double>());
    details["device"] = device_.name();
    report_.add(name, value, unit, false, details, text);
  }

  Device device_;
  const Options& options_;
  Report& report_;
  bool software_;
};

}  // namespace

void bench_derivatives(const Device& device, const Options& options, Report& report) {
  DerivativesBench bench(device, options, report);
  bench.orders();
  bench.loops();
  bench.recurrent();
  bench.training();
}

}  // namespace weft::bench
