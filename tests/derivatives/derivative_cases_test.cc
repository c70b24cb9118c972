// Every function of the cases: reverse mode against finite differences, forward against reverse, second derivatives,
// batches against loops, GPUs against the cpu; and a case for every operation.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "derivatives/cases.h"
#include "graph/walk.h"
#include "ops/op_rows.h"
#include "ops/rules.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using Values = std::vector<Tensor>;

// Numbers between low and high; with `apart`, multiples of it in random order, each once and none 0.
std::vector<double> numbers(std::int64_t count, const DerivativeCase& c, std::mt19937& random) {
  std::vector<double> x(static_cast<std::size_t>(count));
  if (c.apart == 0) {
    for (double& v : x) v = std::uniform_real_distribution(c.low, c.high)(random);
    return x;
  }
  std::vector<double> all;
  const int steps = static_cast<int>((c.high - c.low) / c.apart);
  for (int i = 0; i < steps; ++i) all.push_back(c.low + (i + 0.31) * c.apart);
  std::ranges::shuffle(all, random);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = all[i % all.size()];
  return x;
}

Values operands(const DerivativeCase& c, DType type, unsigned seed) {
  std::mt19937 random(seed);
  // All of one case are drawn together, so that they are apart from each other, too.
  std::int64_t count = 0;
  for (const Shape& s : c.shapes) count += element_count(s);
  const std::vector<double> all = numbers(count, c, random);
  Values x;
  auto at = all.begin();
  for (const Shape& s : c.shapes) {
    const std::int64_t n = element_count(s);
    x.push_back(cast(tensor(s, std::vector<double>(at, at + n), DType::f64), type));
    at += n;
  }
  return x;
}

Values like(const Values& tensors, unsigned seed) {
  std::mt19937 random(seed);
  Values out;
  for (const Tensor& t : tensors) {
    if (!is_floating(t.dtype())) {
      out.emplace_back();
      continue;
    }
    std::vector<double> x(static_cast<std::size_t>(t.size()));
    for (double& v : x) v = std::uniform_real_distribution(-1.0, 1.0)(random);
    out.push_back(cast(tensor(t.shape(), x, DType::f64), t.dtype()));
  }
  return out;
}

double inner(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].defined() || !b[i].defined()) continue;
    const auto x = a[i].to_vector<double>(), y = b[i].to_vector<double>();
    for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * y[k];
  }
  return sum;
}

Values moved(const Values& x, const Values& v, double h) {
  Values out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(x[i] + v[i] * h);
  return out;
}

class DerivativeCasesTest : public testing::TestWithParam<std::size_t> {
 protected:
  const DerivativeCase& c = derivative_cases()[GetParam()];
  Device before_ = default_device();
  ~DerivativeCasesTest() override { set_default_device(before_); }
};
INSTANTIATE_TEST_SUITE_P(Cases, DerivativeCasesTest, testing::Range(std::size_t{0}, derivative_cases().size()),
                         [](const auto& i) { return derivative_cases()[i.param].name; });

auto of(const DerivativeCase& c) {
  return [&c](const Values& x) { return c.function(x); };
}

TEST_P(DerivativeCasesTest, AgainstFiniteDifferences) {
  set_default_device(Device::cpu());
  const DType type = c.on_f64 ? DType::f64 : DType::f32;
  const Values x = operands(c, type, 1), v = like(x, 2);
  const auto f = of(c);
  const auto [y, pull] = vjp(f)(x);
  const Values w = like(y, 3), g = pull(w);
  // Central differences of a sum along a random direction; the fifth powers of h cancel out in Richardson's step.
  const auto difference = [&](const auto& function, const Values& weights, double h) {
    return (inner(function(moved(x, v, h)), weights) - inner(function(moved(x, v, -h)), weights)) / (2 * h);
  };
  const double h = c.on_f64 ? 1e-4 : 2e-2;
  const auto slope = [&](const auto& function, const Values& weights) {
    return (4 * difference(function, weights, h) - difference(function, weights, 2 * h)) / 3;
  };
  const double size = std::sqrt(std::max({inner(g, g), 1.0}));
  const double bound = c.tolerance * size * (c.on_f64 ? 1e-8 : 5e-3);
  const double reverse = inner(g, v);
  EXPECT_NEAR(reverse, slope(f, w), bound) << "reverse mode";
  const auto [y2, tangents] = jvp(f)(x, v);
  EXPECT_NEAR(inner(tangents, w), reverse, c.tolerance * size * (c.on_f64 ? 1e-12 : 1e-4)) << "forward mode";
  if (!c.second) return;
  const auto gradient = [&](const Values& at) { return vjp(f)(at).second(w); };
  const Values u = like(x, 4);
  const auto [g2, pull2] = vjp(gradient)(x);
  const Values h2 = pull2(u);
  const double size2 = std::sqrt(std::max({inner(h2, h2), 1.0}));
  EXPECT_NEAR(inner(h2, v), slope(gradient, u), c.tolerance * size2 * (c.on_f64 ? 1e-7 : 2e-2)) << "second derivative";
  const auto [g3, tangents2] = jvp(gradient)(x, v);
  EXPECT_NEAR(inner(tangents2, u), inner(h2, v), c.tolerance * size2 * (c.on_f64 ? 1e-11 : 1e-3))
      << "second derivative, forward over reverse";
}

TEST_P(DerivativeCasesTest, BatchesAreLoops) {
  if (!c.batches) GTEST_SKIP() << "the case is not batched";
  set_default_device(Device::cpu());
  const DType type = c.on_f64 ? DType::f64 : DType::f32;
  const Values a = operands(c, type, 5), b = operands(c, type, 6);
  // The last operand is shared in a second turn.
  for (const bool shared : {false, true}) {
    if (shared && c.shapes.size() < 2) break;
    Values both;
    std::vector<std::optional<int>> axes(1, 0);
    for (std::size_t i = 0; i < a.size(); ++i) both.push_back(stack({a[i], b[i]}, std::min(1, a[i].rank())));
    const auto gradient = [&](const Values& x) {
      const auto [y, pull] = vjp(of(c))(x);
      Values out = y;
      for (const Tensor& g : pull(like(y, 7))) out.push_back(g);
      return out;
    };
    // Entries lie along the second axis where there is one.
    const auto entry = [&](const Values& x) {
      Values own = x;
      if (shared) own.back() = a.back();
      return own;
    };
    Values first;
    for (std::size_t i = 0; i < both.size(); ++i) first.push_back(moveaxis(both[i], std::min(1, a[i].rank()), 0));
    const Values all = vmap([&](const Values& x) { return gradient(entry(x)); })(first);
    const Values of_a = gradient(entry(a)), of_b = gradient(entry(b));
    for (std::size_t k = 0; k < all.size(); ++k) {
      for (int e = 0; e < 2; ++e) {
        const Tensor& expected = e == 0 ? of_a[k] : of_b[k];
        if (!expected.defined()) continue;
        const auto got = slice(all[k], 0, e, e + 1).to_vector<double>(), want = expected.to_vector<double>();
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t j = 0; j < got.size(); ++j) {
          EXPECT_NEAR(got[j], want[j], c.tolerance * (c.on_f64 ? 1e-11 : 1e-4) * std::max(1.0, std::abs(want[j])))
              << "result " << k << ", entry " << e << ", element " << j << (shared ? ", last operand shared" : "");
        }
      }
    }
  }
}

// Nested batches that have, with the axes of the function, more axes than a tensor can have: each operand has as many
// as there is room for, and a factor of all of them has two more.
TEST_P(DerivativeCasesTest, NestedBatchesOfManyAxesAreLoops) {
  if (!c.batches) GTEST_SKIP() << "the case is not batched";
  if (quick() && GetParam() % 8 != 0) return;
  set_default_device(Device::cpu());
  const DType type = c.on_f64 ? DType::f64 : DType::f32;
  const Values a = operands(c, type, 10), b = operands(c, type, 11);
  const Tensor factors = cast(tensor({1.0, 0.9}, DType::f64), type);
  // Two numbers: results have no room for more.
  const auto total = [](const Values& of) {
    Tensor all;
    for (const Tensor& t : of) {
      if (t.defined() && is_floating(t.dtype())) all = all.defined() ? all + sum(sin(t)) : sum(sin(t));
    }
    return all;
  };
  const auto numbers = [&](const Values& x, const Tensor& factor) {
    const auto value = [&](const Values& at) {
      Values scaled;
      for (const Tensor& t : at) scaled.push_back(t * factor);
      return total(c.function(scaled));
    };
    const auto [y, gradient] = value_and_grad(value)(x);
    return Values{y, total(gradient)};
  };
  int most = 0;  // batches of an operand
  Values both;
  std::vector<int> batches;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int own = std::min(kMaxRank - a[i].rank(), kMaxRank - 2);
    batches.push_back(own);
    most = std::max(most, own);
    Shape shape{2};
    while (shape.rank() < own) shape.push_back(1);
    for (int k = 0; k < a[i].rank(); ++k) shape.push_back(a[i].shape()[k]);
    both.push_back(own == 0 ? a[i] : reshape(stack({a[i], b[i]}), shape));
  }
  // From the innermost level, which is the factor's, outwards.
  std::function<Values(const Values&, const Tensor&)> f = numbers;
  for (int level = most + 1; level >= 0; --level) {
    f = [=](const Values& x, const Tensor& factor) {
      const bool of_factor = level >= most;
      Values with, without;
      std::vector<char> has;
      for (std::size_t i = 0; i < x.size(); ++i) {
        has.push_back(!of_factor && level < batches[i]);
        (has.back() ? with : without).push_back(x[i]);
      }
      const auto entry = [&](const Values& own, const Tensor& s) {
        Values all;
        std::size_t next[] = {0, 0};
        for (const char h : has) all.push_back(h ? own[next[1]++] : without[next[0]++]);
        return f(all, s);
      };
      return vmap(entry, {.arguments = {0, of_factor ? std::optional(0) : std::nullopt}})(with, factor);
    };
  }
  const Values got = f(both, reshape(factors, {2, 1}));
  for (int e = 0; e < 2; ++e) {
    Values x = a;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (e == 1 && batches[i] > 0) x[i] = b[i];
    }
    for (int k = 0; k < 2; ++k) {
      const Values want = numbers(x, reshape(slice(factors, 0, k, k + 1), {}));
      for (std::size_t n = 0; n < 2; ++n) {
        const double expected = want[n].item<double>(), value = got[n].to_vector<double>().at(2 * e + k);
        EXPECT_NEAR(value, expected, c.tolerance * (c.on_f64 ? 1e-10 : 1e-3) * std::max(1.0, std::abs(expected)))
            << (n == 0 ? "value" : "gradient") << ", entry " << e << ", factor " << k;
      }
    }
  }
}

TEST_P(DerivativeCasesTest, DevicesAgree) {
  const auto results = [&](const Device& device, DType type) {
    set_default_device(device);
    const Values x = operands(c, type, 8);
    const auto [y, pull] = vjp(of(c))(x);
    Values all = y;
    for (const Tensor& g : pull(like(y, 9))) all.push_back(g);
    std::vector<std::vector<double>> values;
    for (const Tensor& t : all) values.push_back(t.defined() ? t.to_vector<double>() : std::vector<double>());
    return values;
  };
  const auto expected = results(Device::cpu(), DType::f32);
  unsigned number = 0;
  for (const std::string& name : all_devices()) {
    if (name == "cpu") continue;
    // The first GPU has all cases; the others, which are mostly the same one in other forms, share them.
    if (!whole() && number++ > 0 && GetParam() % 3 != number % 3) continue;
    const auto got = results(device_named(name), DType::f32);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      double largest = 1;
      for (const double v : expected[k]) largest = std::max(largest, std::abs(v));
      for (std::size_t j = 0; j < got[k].size(); ++j) {
        EXPECT_NEAR(got[k][j], expected[k][j], c.tolerance * 2e-5 * largest)
            << name << ", result " << k << ", element " << j;
      }
    }
  }
}

// Operations whose results are floats and that no case covers, with the reason.
constexpr std::pair<std::string_view, std::string_view> kNoDerivative[] = {
    {"input", "a leaf"},
    {"constant", "a leaf"},
    {"number", "a leaf"},
    {"data", "a leaf"},
    {"custom", "a program's own kernel; custom_vjp() gives it derivatives"},
    {"strided", "the compiler's own form of views"},
    {"random_uniform", "zero everywhere: of integers alone"},
    {"random_normal", "zero everywhere: of integers alone"},
    {"random_bits", "of integers alone"},
    {"random_signed_uniform", "zero everywhere: of integers alone"},
    {"random_gamma", "not of a path with fixed bits, tested in tensor/distributions_test.cc"},
    {"random_gamma_gradient", "first derivatives alone, as PyTorch's"},
    {"random_integers", "zero everywhere: of integers alone"},
    {"random_poisson", "of integers alone"},
    {"random_binomial", "of integers alone"},
    {"random_geometric", "of integers alone"},
    {"random_categorical", "of integers alone"},
    {"iota", "of no operands"},
    {"stop_gradient", "zero by definition, tested in tensor/derivatives_test.cc"},
    {"one_hot", "zero everywhere: of integers alone"},
    {"while_loop", "forward mode alone, tested in tensor/control_flow_test.cc"},
};

TEST(DerivativeCoverageTest, EveryOperationHasACase) {
  set_default_device(Device::cpu());
  std::set<std::string> seen;
  for (const DerivativeCase& c : derivative_cases()) {
    const Values x = operands(c, c.on_f64 ? DType::f64 : DType::f32, 1);
    const Values y = c.function(x);
    NodeIds ids;
    for (const Node* node : reach(y, ids, at_leaves)) {
      seen.insert(std::string(node->op().name()));
      if (const Expression* e = node->op().elementwise()) {
        for (const auto& n : e->nodes()) seen.insert(std::string(name(n.op)));
      }
    }
  }
  for (const OpRow& row : op_rows()) {
    if (!row.make && !row.make_of_graphs) continue;  // a function that records others
    const std::string& op = row.schema.name;
    if (seen.contains(op)) continue;
    const auto reason = std::ranges::find(kNoDerivative, std::string_view(op), [](const auto& p) { return p.first; });
    if (reason == std::end(kNoDerivative)) ADD_FAILURE() << op << " has no case in tests/derivatives";
  }
}

}  // namespace

const DerivativeCases& derivative_cases() {
  static const DerivativeCases all = [] {
    DerivativeCases cases;
    add_elementwise_derivatives(cases);
    add_view_derivatives(cases);
    add_reduce_derivatives(cases);
    add_index_derivatives(cases);
    add_network_derivatives(cases);
    add_row_derivatives(cases);
    add_attention_derivatives(cases);
    add_control_flow_derivatives(cases);
    add_loss_derivatives(cases);
    add_fft_derivatives(cases);
    add_numeric_derivatives(cases);
    add_linalg_derivatives(cases);
    add_qr_derivatives(cases);
    add_eig_derivatives(cases);
    add_eigh_derivatives(cases);
    add_svd_derivatives(cases);
    return cases;
  }();
  return all;
}

}  // namespace weft::test
