// Random functions (random_function.h): forward mode against reverse mode, both against finite differences, second
// derivatives in two orders, batches against loops and compiled gradients on the cpu in f64; other devices against
// that.
#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <format>
#include <functional>
#include <random>

#include "support/on_device.h"
#include "support/problem_counts.h"
#include "support/quick.h"
#include "support/random_function.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"
#include "weft/indexing.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using Values = std::vector<Tensor>;

// Weights between -1 and 1 for each element.
Values like(const Values& tensors, unsigned seed) {
  std::mt19937 random(seed);
  Values all;
  for (const Tensor& t : tensors) {
    std::vector<double> x(static_cast<std::size_t>(t.size()));
    for (double& v : x) v = std::uniform_real_distribution(-1.0, 1.0)(random);
    all.push_back(cast(tensor(t.shape(), x, DType::f64), t.dtype()));
  }
  return all;
}

Values joined(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<std::vector<double>> read(const Values& tensors) {
  std::vector<std::vector<double>> all;
  for (const Tensor& t : tensors) all.push_back(t.defined() ? t.to_vector<double>() : std::vector<double>());
  return all;
}

// A sum of products, and the sum of their magnitudes, by which it is rounded.
struct Inner {
  double sum = 0, magnitudes = 0;
};
Inner inner(const Values& a, const Values& b) {
  Inner r;
  const auto x = read(a), y = read(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t k = 0; k < x[i].size(); ++k) {
      r.sum += x[i][k] * y[i][k];
      r.magnitudes += std::abs(x[i][k] * y[i][k]);
    }
  }
  return r;
}

double largest(const std::vector<std::vector<double>>& all) {
  double top = 1;
  for (const auto& x : all) {
    for (const double v : x) top = std::max(top, std::isnan(v) ? INFINITY : std::abs(v));
  }
  return top;
}

// What a check found; empty: nothing.
using Finding = std::string;

Finding differ(const std::vector<std::vector<double>>& got, const std::vector<std::vector<double>>& want,
               double bound) {
  if (got.size() != want.size()) return std::format("{} tensors, expected {}", got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (got[i].size() != want[i].size()) {
      return std::format("tensor {}: {} elements, expected {}", i, got[i].size(), want[i].size());
    }
    for (std::size_t k = 0; k < got[i].size(); ++k) {
      if (std::abs(got[i][k] - want[i][k]) <= bound) continue;
      return std::format("tensor {}, element {}: {}, expected {} ± {:.2g}", i, k, got[i][k], want[i][k], bound);
    }
  }
  return {};
}

// The sum of all elements' sines.
Tensor total(const Values& tensors) {
  Tensor all;
  for (const Tensor& t : tensors) all = all.defined() ? all + sum(sin(t)) : sum(sin(t));
  return all;
}

// A number of each of two entries, by so many nested batches that the tensors inside have no axes left.
Finding in_nested_batches(const std::function<Tensor(const Values&)>& function, const Values& x, const Values& other) {
  int levels = kMaxRank;
  for (const Tensor& t : x) levels = std::min(levels, kMaxRank - t.rank());
  Values both;
  for (std::size_t i = 0; i < x.size(); ++i) {
    Shape shape{2};
    while (shape.rank() < levels) shape.push_back(1);
    for (int k = 0; k < x[i].rank(); ++k) shape.push_back(x[i].shape()[k]);
    both.push_back(reshape(stack({x[i], other[i]}), shape));
  }
  std::function<Tensor(const Values&)> nested = function;
  for (int i = 0; i < levels; ++i) nested = [nested](const Values& at) { return vmap(nested)(at); };
  const Tensor got = nested(both);
  const auto want = read({reshape(function(x), {1}), reshape(function(other), {1})});
  const Finding found = differ(read({slice(got, 0, 0, 1), slice(got, 0, 1, 2)}), want, 1e-9 * largest(want));
  return found.empty() ? "" : "nested batches: " + found;
}

class Problem {
 public:
  explicit Problem(unsigned seed) : seed_(seed), f_(seed) {}
  std::string to_string() const { return f_.to_string(); }

  // In f64 on the default device, which is the cpu.
  Finding exact() const {
    if (f_.forward_only()) return exact_forward();
    const Values x = f_.arguments(DType::f64, seed_), v = like(x, seed_ + 1);
    const auto [y, pull] = vjp(f_)(x);
    const Values w = like(y, seed_ + 2), g = pull(w);
    const auto tangents = jvp(f_)(x, v).second;
    if (!std::isfinite(largest(read(y)) + largest(read(g)) + largest(read(tangents)))) return "infinite or NaN";
    const Inner reverse = inner(g, v), forward = inner(tangents, w);
    if (!(std::abs(reverse.sum - forward.sum) <= 1e-10 * (1 + reverse.magnitudes + forward.magnitudes))) {
      return std::format("reverse mode {}, forward mode {}", reverse.sum, forward.sum);
    }
    const auto gradient = [&](const Values& at) { return vjp(f_)(at).second(w); };
    const auto expected = read(g);
    const double rounding = 1e-9 * largest(expected);
    Finding found = differ(read(compile(gradient)(x)), expected, rounding);
    if (!found.empty()) return "compiled: " + found;
    const Values u = like(x, seed_ + 3), second = vjp(gradient)(x).second(u);
    // Now and then compiled, too.
    const auto forward_over_reverse = [&](const Values& at) { return jvp(gradient)(at, v).second; };
    const Values over = seed_ % 3 == 0 ? compile(forward_over_reverse)(x) : forward_over_reverse(x);
    if (!std::isfinite(largest(read(second)) + largest(read(over)))) return "second derivatives: infinite or NaN";
    const Inner a = inner(second, v), b = inner(over, u);
    if (!(std::abs(a.sum - b.sum) <= 1e-9 * (1 + a.magnitudes + b.magnitudes))) {
      return std::format("second derivatives: reverse mode {}, forward over reverse {}", a.sum, b.sum);
    }
    if (seed_ % 4 == 1) {
      const auto of_second = [&](const Values& at) { return vjp(gradient)(at).second(u); };
      const Values third = vjp(of_second)(x).second(v), forward_third = jvp(of_second)(x, u).second;
      const Inner c = inner(third, u), d = inner(forward_third, v);
      if (!(std::abs(c.sum - d.sum) <= 1e-8 * (1 + c.magnitudes + d.magnitudes))) {
        return std::format("third derivatives: reverse mode {}, forward over reverse {}", c.sum, d.sum);
      }
    }
    const Values other = f_.arguments(DType::f64, seed_ + 4);
    Values both;
    for (std::size_t i = 0; i < x.size(); ++i) both.push_back(stack({x[i], other[i]}));
    const auto batch = seed_ % 2 == 0 ? compile(vmap(gradient))(both) : vmap(gradient)(both);
    const auto of_other = read(gradient(other));
    for (int e = 0; e < 2; ++e) {
      Values entry;
      for (const Tensor& t : batch) entry.push_back(t[{e}]);
      const auto& want = e == 0 ? expected : of_other;
      found = differ(read(entry), want, 1e-9 * largest(want));
      if (!found.empty()) return std::format("entry {} of a batch: {}", e, found);
    }
    if (seed_ % 32 != 31) return {};
    return in_nested_batches([&](const Values& at) { return total(gradient(at)); }, x, other);
  }

  // The same of functions without reverse mode: second derivatives in two orders of directions, compiled functions,
  // batches against loops. Reverse mode works where no while_loop() is in the way, or says that one is.
  Finding exact_forward() const {
    const Values x = f_.arguments(DType::f64, seed_), v = like(x, seed_ + 1), u = like(x, seed_ + 3);
    const auto along = [&](const Values& direction) {
      return [&](const Values& at) { return jvp(f_)(at, direction).second; };
    };
    const auto [y, tangents] = jvp(f_)(x, v);
    const auto expected = read(tangents);
    if (!std::isfinite(largest(read(y)) + largest(expected))) return "infinite or NaN";
    const double rounding = 1e-9 * largest(expected);
    Finding found = differ(read(compile(along(v))(x)), expected, rounding);
    if (!found.empty()) return "compiled: " + found;
    const auto second = [&](const Values& first, const Values& then) { return jvp(along(first))(x, then).second; };
    const auto of_vu = read(second(v, u));
    const auto of_uv = read(seed_ % 3 == 0 ? compile(second)(u, v) : second(u, v));
    if (!std::isfinite(largest(of_vu))) return "second derivatives: infinite or NaN";
    found = differ(of_uv, of_vu, 1e-9 * largest(of_vu));
    if (!found.empty()) return "second derivatives: " + found;
    const Values w = like(y, seed_ + 2);
    try {
      const Inner reverse = inner(vjp(f_)(x).second(w), v), forward = inner(tangents, w);
      if (!(std::abs(reverse.sum - forward.sum) <= 1e-10 * (1 + reverse.magnitudes + forward.magnitudes))) {
        return std::format("reverse mode {}, forward mode {}", reverse.sum, forward.sum);
      }
    } catch (const Unsupported&) {
    }
    const Values other = f_.arguments(DType::f64, seed_ + 4);
    Values both;
    for (std::size_t i = 0; i < x.size(); ++i) both.push_back(stack({x[i], other[i]}));
    const Values batch = seed_ % 2 == 0 ? compile(vmap(along(v)))(both) : vmap(along(v))(both);
    const auto of_other = read(along(v)(other));
    for (int e = 0; e < 2; ++e) {
      Values entry;
      for (const Tensor& t : batch) entry.push_back(t[{e}]);
      const auto& want = e == 0 ? expected : of_other;
      found = differ(read(entry), want, 1e-9 * largest(want));
      if (!found.empty()) return std::format("entry {} of a batch: {}", e, found);
    }
    if (seed_ % 32 != 31) return {};
    return in_nested_batches([&](const Values& at) { return total(along(v)(at)); }, x, other);
  }

  // Central differences along a direction, where their error can be known: `smooth` says whether.
  Finding differences(unsigned turn, bool& smooth) const {
    const Values x = f_.arguments(DType::f64, seed_ + 100 * turn), v = like(x, seed_ + 1);
    const Values w = like(f_(x), seed_ + 2), u = like(x, seed_ + 3);
    const auto gradient = [&](const Values& at) { return vjp(f_)(at).second(w); };
    const auto moved = [&](double h) {
      Values all;
      for (std::size_t i = 0; i < x.size(); ++i) all.push_back(x[i] + v[i] * h);
      return all;
    };
    const auto slope = [&](const auto& function, const Values& weights, double h) {
      const auto difference = [&](double step) {
        return (inner(function(moved(step)), weights).sum - inner(function(moved(-step)), weights).sum) / (2 * step);
      };
      return (4 * difference(h) - difference(2 * h)) / 3;
    };
    const auto check = [&](const char* what, const auto& function, const Values& weights, const Inner& derivative) {
      const double bound = 1e-5 * (1 + derivative.magnitudes);
      const double fine = slope(function, weights, 1e-4), coarse = slope(function, weights, 2e-4);
      if (!(std::abs(fine - coarse) <= 0.1 * bound)) {
        smooth = false;
      } else if (!(std::abs(fine - derivative.sum) <= bound)) {
        return std::format("{} {}, by differences {}", what, derivative.sum, fine);
      }
      return Finding();
    };
    smooth = true;
    if (f_.forward_only()) {
      const auto tangents = [&](const Values& at) { return jvp(f_)(at, u).second; };
      Finding found = check("first derivative", f_, w, inner(jvp(f_)(x, v).second, w));
      return found.empty() ? check("second derivative", tangents, w, inner(jvp(tangents)(x, v).second, w)) : found;
    }
    Finding found = check("first derivative", f_, w, inner(gradient(x), v));
    if (found.empty()) found = check("second derivative", gradient, u, inner(vjp(gradient)(x).second(u), v));
    return found;
  }

  // In f32 on that device, against f64 and f32 on the cpu, which tell how much rounding changes.
  Finding on(const Device& device, unsigned turn) const {
    const auto derivatives = [&](const Values& x, const Values& v) {
      auto [all, tangents] = jvp(f_)(x, v);
      if (!f_.forward_only()) {
        const auto [y, pull] = vjp(f_)(x);
        tangents = joined(pull(like(y, seed_ + 2)), tangents);
      }
      return joined(all, tangents);
    };
    const auto results = [&](const Device& where, DType type, bool compiled) {
      set_default_device(where);
      const Values x = f_.arguments(type, seed_ + 100 * turn), v = like(x, seed_ + 1);
      return read(compiled ? compile(derivatives)(x, v) : derivatives(x, v));
    };
    const auto exact = results(Device::cpu(), DType::f64, false), rounded = results(Device::cpu(), DType::f32, false);
    const auto got = results(device, DType::f32, seed_ % 2 == 0);
    double error = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      for (std::size_t k = 0; k < exact[i].size(); ++k) error = std::max(error, std::abs(exact[i][k] - rounded[i][k]));
    }
    return differ(got, exact, 20 * error + 1e-4 * largest(exact));
  }

 private:
  unsigned seed_;
  RandomFunction f_;
};

class RandomFunctions : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, RandomFunctions, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

// A corner or a step between two points, or between numbers that are rounded otherwise, is no fault: only what is found
// at three places is.
constexpr unsigned kTurns = 3;

// WEFT_RANDOM_DERIVATIVES sets their number, WEFT_RANDOM_SEED the first.
TEST_P(RandomFunctions, HaveTheDerivativesOfDifferencesInBothModes) {
  const char* count_text = std::getenv("WEFT_RANDOM_DERIVATIVES");
  const char* seed_text = std::getenv("WEFT_RANDOM_SEED");
  // A software GPU spends most of its time on compiling shaders.
  const unsigned ordinary = scaled(device.is_gpu() ? 24 : 240);
  const unsigned count = count_text ? static_cast<unsigned>(std::atoi(count_text)) : ordinary;
  const unsigned first = seed_text ? static_cast<unsigned>(std::atoi(seed_text)) : 1;
  unsigned known = 0;  // whose differences have a known error
  for (unsigned seed = first; seed < first + count; ++seed) {
    std::string what = std::format("WEFT_RANDOM_SEED={} on {}\n", seed, device.name());
    Finding found;
    try {
      const Problem problem(seed);
      what += problem.to_string();
      if (device.is_gpu()) {
        for (unsigned turn = 0; turn < kTurns; ++turn) {
          found = problem.on(device, turn);
          if (found.empty()) break;
        }
      } else {
        found = problem.exact();
        Finding differs;
        bool smooth = false;
        for (unsigned turn = 0; found.empty() && turn < kTurns; ++turn) {
          differs = problem.differences(turn, smooth);
          if (smooth && differs.empty()) break;
        }
        if (found.empty()) found = differs;
        known += smooth;
      }
    } catch (const std::exception& e) {
      found = e.what();
    }
    set_default_device(device);
    count_problem("random derivatives",
                  found.empty() ? "" : std::format("WEFT_RANDOM_SEED={} on {}", seed, device.name()));
    EXPECT_TRUE(found.empty()) << found << "\n" << what;
  }
  if (!device.is_gpu()) {
    EXPECT_GE(known, count * 9 / 10);
  }
}

}  // namespace
}  // namespace weft::test
