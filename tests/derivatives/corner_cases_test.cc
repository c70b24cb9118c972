// Derivatives at corners: zeros of both signs, joints of functions of several pieces, borders of domains, infinities,
// huge and tiny numbers, ties, zeros among the factors of a product, rows that are hidden whole. Every mode of
// differentiation, and each over the other, gives the same numbers, and NaN where one of them does.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/elementwise/scalar_ops.h"
#include "kernels/reduce/reduction.h"
#include "kernels/scan/scan.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/expressions.h"
#include "weft/graph.h"
#include "weft/linalg.h"
#include "weft/losses.h"
#include "weft/numeric.h"
#include "weft/pooling.h"
#include "weft/segments.h"
#include "weft/special.h"
#include "weft/statistics.h"

namespace weft::test {
namespace {

using Values = std::vector<Tensor>;
using Numbers = std::vector<double>;
using Function = std::function<Tensor(const Values&)>;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

bool same(double a, double b, double relative) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b));
}

enum class Way : std::uint8_t { forward, reverse };
constexpr Way kWays[] = {Way::forward, Way::reverse};
constexpr std::string_view kWayNames[] = {"forward", "reverse"};

// The derivative of each element of f for the same element of operand k.
Function derivative(const Function& f, std::size_t k, Way way) {
  return [=](const Values& x) {
    const auto alone = [&](const Tensor& v) {
      Values at = x;
      at[k] = v;
      return f(at);
    };
    const Tensor ones = ones_like(x[k]);
    if (way == Way::forward) return jvp(alone)(x[k], ones).second;
    return vjp(alone)(x[k]).second(ones);
  };
}

// ---- Functions of single elements

struct Elementwise {
  std::string name;
  Function f;
  std::size_t operands = 1;
  std::vector<std::size_t> differentiable = {};  // empty: all
};

const Numbers kPoints = {0.0,  -0.0,  1e-30, -1e-30, 1e-7, -1e-7, 0.25, -0.25, 0.5, -0.5, 1,   -1,
                         1.5,  -1.5,  2,     -2,     3,    -3,    6,    -6,    8,   -8,   10,  -10,
                         12.5, -12.5, 20,    -20,    30,   -30,   50,   -50,   88,  -88,  100, -100,
                         1e10, -1e10, 1e30,  -1e30,  1e38, -1e38, kInf, -kInf, kNaN};
const Numbers kFew = {0.0, -0.0, 1, -1, 2, -2.5, 3, 1e-15, 1e15, 1e-30, 1e30, kInf, -kInf, kNaN};
const Numbers kFewest = {0.0, 1, -1, 2.5, 1e30, kInf, kNaN};

// The greatest magnitude, and the reciprocal of the least, at which derivatives of these orders are looked at: those of
// further ones are past the type's range, or differences of what is.
constexpr double kFar[] = {1e38, 1e16, 1e3};

std::vector<Elementwise> elementwise_functions() {
  std::vector<Elementwise> all;
  for (const FunctionInfo& f : functions()) {
    const auto op = scalar_op(f.name);
    if (op && !(kernels::info(*op).types & kernels::kFloat)) continue;
    if (op && kernels::info(*op).yields != kernels::Yields::same && *op != ScalarOp::abs) continue;
    if (f.name == "select" || f.name == "cast" || f.operands == 0) continue;
    Elementwise e{std::string(f.name), [name = f.name](const Values& x) { return elementwise(name, x); },
                  static_cast<std::size_t>(f.operands)};
    if (f.name.starts_with("gammainc")) e.differentiable = {1};
    if (f.name.starts_with("betainc")) e.differentiable = {2};
    all.push_back(std::move(e));
  }
  const auto one = [&](std::string name, Tensor (*f)(const Tensor&)) {
    all.push_back({std::move(name), [f](const Values& x) { return f(x[0]); }});
  };
  const auto two = [&](std::string name, Tensor (*f)(const Tensor&, const Tensor&)) {
    all.push_back({std::move(name), [f](const Values& x) { return f(x[0], x[1]); }, 2});
  };
  for (const double n : {-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 2.5}) {
    all.push_back({std::format("pow(x, {})", n), [n](const Values& x) { return pow(x[0], n); }});
    all.push_back({std::format("pow({}, x)", n), [n](const Values& x) { return pow(n, x[0]); }});
  }
  for (const auto& [name, parameter] : std::vector<std::pair<std::string, double>>{{"leaky_relu", -0.5},
                                                                                   {"leaky_relu", 0},
                                                                                   {"elu", 2},
                                                                                   {"elu", 0.5},
                                                                                   {"celu", 2},
                                                                                   {"celu", 0.5},
                                                                                   {"hardshrink", 0},
                                                                                   {"softshrink", 0}}) {
    all.push_back({std::format("{} {}", name, parameter),
                   [name, parameter](const Values& x) { return elementwise(name, x, std::vector{parameter}); }});
  }
  one("hardsigmoid(0.2, 0.6)", [](const Tensor& x) { return hardsigmoid(x, 0.2, 0.6); });
  one("hardsigmoid(-0.5, 0.5)", [](const Tensor& x) { return hardsigmoid(x, -0.5, 0.5); });
  one("hardsigmoid(0, 0.5)", [](const Tensor& x) { return hardsigmoid(x, 0, 0.5); });
  one("clamp to numbers", [](const Tensor& x) { return clamp(x, -1, 2); });
  one("maximum with a number", [](const Tensor& x) { return maximum(x, 1); });
  one("sinc", [](const Tensor& x) { return sinc(x); });
  one("entr", [](const Tensor& x) { return entr(x); });
  one("logit", [](const Tensor& x) { return logit(x); });
  one("ndtr", [](const Tensor& x) { return ndtr(x); });
  one("log_ndtr", [](const Tensor& x) { return log_ndtr(x); });
  one("ndtri", [](const Tensor& x) { return ndtri(x); });
  one("polygamma(1)", [](const Tensor& x) { return polygamma(1, x); });
  one("polygamma(2)", [](const Tensor& x) { return polygamma(2, x); });
  one("i0", [](const Tensor& x) { return i0(x); });
  one("i0e", [](const Tensor& x) { return i0e(x); });
  one("i1", [](const Tensor& x) { return i1(x); });
  one("i1e", [](const Tensor& x) { return i1e(x); });
  one("nan_to_num", [](const Tensor& x) { return nan_to_num(x); });
  two("divide", [](const Tensor& x, const Tensor& y) { return divide(x, y); });
  two("xlogy", [](const Tensor& x, const Tensor& y) { return xlogy(x, y); });
  two("xlog1py", [](const Tensor& x, const Tensor& y) { return xlog1py(x, y); });
  two("mse_loss", [](const Tensor& x, const Tensor& y) { return mse_loss(x, y, LossReduction::none); });
  two("l1_loss", [](const Tensor& x, const Tensor& y) { return l1_loss(x, y, LossReduction::none); });
  two("huber_loss", [](const Tensor& x, const Tensor& y) { return huber_loss(x, y, 1, LossReduction::none); });
  two("huber_loss(0.5)", [](const Tensor& x, const Tensor& y) { return huber_loss(x, y, 0.5, LossReduction::none); });
  two("smooth_l1_loss", [](const Tensor& x, const Tensor& y) { return smooth_l1_loss(x, y, 1, LossReduction::none); });
  two("smooth_l1_loss(2)",
      [](const Tensor& x, const Tensor& y) { return smooth_l1_loss(x, y, 2, LossReduction::none); });
  two("smooth_l1_loss(0)",
      [](const Tensor& x, const Tensor& y) { return smooth_l1_loss(x, y, 0, LossReduction::none); });
  two("kl_div", [](const Tensor& x, const Tensor& y) { return kl_div(x, y, LossReduction::none); });
  two("kl_div of logarithms", [](const Tensor& x, const Tensor& y) { return kl_div(x, y, LossReduction::none, true); });
  two("binary_cross_entropy_with_logits", [](const Tensor& x, const Tensor& y) {
    return binary_cross_entropy_with_logits(x, y, {.reduction = LossReduction::none});
  });
  return all;
}

// All combinations of the points of each operand.
Values grid(const Numbers& points, std::size_t operands, DType type) {
  std::size_t count = 1;
  for (std::size_t k = 0; k < operands; ++k) count *= points.size();
  Values x;
  for (std::size_t k = 0, apart = 1; k < operands; ++k, apart *= points.size()) {
    Numbers of(count);
    for (std::size_t i = 0; i < count; ++i) of[i] = points[i / apart % points.size()];
    x.push_back(cast(tensor(Shape{static_cast<std::int64_t>(count)}, of, DType::f64), type));
  }
  return x;
}

const Numbers& points_for(std::size_t operands) { return operands == 1 ? kPoints : operands == 2 ? kFew : kFewest; }

struct Counts {
  std::int64_t functions = 0, points = 0, compared = 0;
};

// Where a derivative is no number although the function and its operands are, with the reason.
constexpr std::pair<std::string_view, std::string_view> kNoNumber[] = {
    {"pow", "of a negative base, for the exponent; PyTorch's and JAX's"},
    {"pow(-2, x)", "the same"},
    {"pow(-1, x)", "the same"},
    {"pow(-0.5, x)", "the same"},
    {"hypot", "at the origin, PyTorch's"},
    {"gammainc", "of -0 and a parameter of nearly 0"},
    {"gammaincc", "the same"},
    {"betainc", "of a parameter 0, at an end"},
    {"gammaincinv", "of a parameter 0 or infinite; the second one of 0, where x is a power of it"},
    {"gammainccinv", "the same, of 1"},
    {"betaincinv", "the same, at both ends"},
};

class CornerCases : public OnDevice {
 protected:
  // Derivatives in all orders of ways, of which each must be what the first one is.
  void compare(const Elementwise& e, DType type, Counts& counts) {
    const Values x = grid(points_for(e.operands), e.operands, type);
    std::vector<std::size_t> all = e.differentiable;
    for (std::size_t k = 0; all.size() < e.operands && e.differentiable.empty(); ++k) all.push_back(k);
    ++counts.functions;
    counts.points += x[0].size();
    const Numbers value = e.f(x).to_vector<double>();
    for (const std::size_t k : all) {
      const Numbers first = expect_same(e, type, x, {k}, value, value, counts);
      for (const std::size_t l : all) {
        const Numbers second = expect_same(e, type, x, {k, l}, value, first, counts);
        if (e.operands == 1) expect_same(e, type, x, {k, l, k}, value, second, counts);
      }
    }
  }

  // `lower`: the derivative of which this is one. Gives what all ways agree on.
  Numbers expect_same(const Elementwise& e, DType type, const Values& x, const std::vector<std::size_t>& by,
                      const Numbers& value, const Numbers& lower, Counts& counts) {
    std::vector<std::pair<std::string, Numbers>> found;
    for (std::size_t ways = 0; ways < std::size_t{1} << by.size(); ++ways) {
      Function f = e.f;
      std::string name;
      for (std::size_t i = 0; i < by.size(); ++i) {
        const Way way = kWays[ways >> i & 1];
        f = derivative(f, by[i], way);
        name = std::string(kWayNames[static_cast<std::size_t>(way)]) + (name.empty() ? "" : " over ") + name;
      }
      try {
        found.emplace_back(name, f(x).to_vector<double>());
      } catch (const Unsupported& error) {
        ADD_FAILURE() << e.name << ", " << name << ": " << error.what();
        return lower;
      }
    }
    std::vector<Numbers> at;
    for (const Tensor& v : x) at.push_back(v.to_vector<double>());
    const double relative = type == DType::f64 ? 1e-7 : by.size() > 2 ? 1e-2 : 2e-3;
    const double terms = type == DType::f64 ? 1e-12 : 1e-5;  // of what differences are made of
    const double far = kFar[by.size() - 1], least = type == DType::f64 ? 1e-290 : 1e-36;
    const bool may_be_none =
        std::ranges::find(kNoNumber, e.name, [](const auto& p) { return p.first; }) != std::end(kNoNumber);
    std::string failures;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const bool finite = std::ranges::all_of(at, [&](const Numbers& v) { return std::isfinite(v[i]); });
      const bool near = std::ranges::all_of(at, [&](const Numbers& v) {
        return !std::isfinite(v[i]) || v[i] == 0 || (std::abs(v[i]) <= far && std::abs(v[i]) >= 1 / far);
      });
      // (Outside of the domain, past the range, or already no number.)
      const bool numbers = std::ranges::none_of(at, [&](const Numbers& v) { return std::isnan(v[i]); });
      if (!near || (numbers && std::isnan(value[i])) || std::isnan(lower[i])) continue;
      if (finite && std::isinf(value[i]) &&
          std::ranges::any_of(at, [&](const Numbers& v) { return std::abs(v[i]) > 20; })) {
        continue;
      }
      // (The product rule of the exponent's derivative: 0 times an infinite logarithm.)
      if (e.name == "pow" && by.size() > 1 && std::isinf(at[0][i])) continue;
      counts.compared += static_cast<std::int64_t>(found.size());
      double size = 1;
      for (const Numbers& v : at) size = v[i] == 0 ? size : std::min(size, std::abs(v[i]));
      const auto agrees = [&](double v) {
        const double first = found[0].second[i];
        return same(v, first, relative) || std::abs(v - first) <= least ||
               (by.size() > 1 && std::abs(v - first) <= terms * std::abs(lower[i]) * std::max(1.0, 1 / size));
      };
      const bool all_same = std::ranges::all_of(found, [&](const auto& each) { return agrees(each.second[i]); });
      const bool number =
          by.size() > 2 || !finite || !std::isfinite(value[i]) || may_be_none || !std::isnan(found[0].second[i]);
      if (all_same && number) continue;
      failures += "\n  at";
      for (const Numbers& v : at) failures += std::format(" {}", v[i]);
      for (const auto& [name, values] : found) failures += std::format("; {} {}", name, values[i]);
    }
    if (!failures.empty()) {
      std::string orders;
      for (const std::size_t k : by) orders += std::format(" {}", k);
      ADD_FAILURE() << e.name << " in " << name(type) << ", derivatives for" << orders << failures;
    }
    return found[0].second;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CornerCases, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(CornerCases, ModesAgreeOnFunctionsOfElements) {
  Counts counts;
  for (const DType type : {DType::f32, DType::f64}) {
    if (type == DType::f64 && device.is_gpu()) continue;
    for (const Elementwise& e : elementwise_functions()) {
      if (device.is_gpu() && leave_out_costly_problem()) continue;
      compare(e, type, counts);
    }
  }
  std::cout << counts.functions << " functions, " << counts.points << " points, " << counts.compared
            << " comparisons\n";
}

// ---- Functions of rows

using Matrix = std::vector<Numbers>;

struct OfRow {
  std::string name;
  Function f;              // of one operand, a row
  std::int64_t least = 0;  // elements
  bool f64 = true;         // the cpu computes it in f64
  // It weighs elements by their exponentials: -∞ hides one, and the derivatives are numbers. Of huge ones f32 holds a
  // logarithm's sum less exactly than the weights need.
  bool logits = false;
  // Each result is made of the one before it: so is the NaN that a tangent of 0 makes of an infinite derivative.
  bool chained = false;
  // The Jacobian, [result][operand]; none: it is not known here.
  std::function<Matrix(const Numbers&)> exact = {};
};

const std::vector<std::pair<std::string, Numbers>> kRows = {
    {"different", {1, 2, 3, 4}},
    {"mixed signs", {-1, 2, -3, 0.5}},
    {"zeros", {0, 0, 0, 0}},
    {"zeros of both signs", {0.0, -0.0, 0.0, -0.0}},
    {"one zero", {0, 2, 3, 4}},
    {"two zeros", {2, 0, 3, 0}},
    {"a zero and its negative", {2, 0.0, -0.0, -3}},
    {"equal", {2, 2, 2, 2}},
    {"two greatest", {3, 1, 3, 2}},
    {"two least", {1, 3, 1, 2}},
    {"one hidden", {-kInf, 1, 2, 3}},
    {"one hidden behind", {1, -kInf, 2, 3}},
    {"two hidden", {-kInf, -kInf, 1, 2}},
    {"all but one hidden", {-kInf, -kInf, 1, -kInf}},
    {"all hidden", {-kInf, -kInf, -kInf, -kInf}},
    {"an infinity", {1, kInf, 2, 3}},
    {"two infinities", {kInf, 1, kInf, 2}},
    {"both infinities", {kInf, 1, -kInf, 2}},
    {"NaN", {1, kNaN, 2, 3}},
    {"huge and zeros", {1e13, 0, 0, 1e13, 1e13, 1e13}},
    {"huge and a zero", {1e13, 1e13, 0, 1e13, 1e13}},
    {"huge and tiny", {1e30, 1e-30, 1e30, 1e-30}},
    {"huge", {1e25, 2e25, 1e25, 3e25}},
    {"tiny", {1e-25, 2e-25, 1e-25, 3e-25}},
    {"far apart", {100, -100, 0, 100}},
    {"farther apart", {1e4, -1e4, 0, 1e4}},
    {"one", {1.5}},
    {"one zero alone", {0}},
    {"one hidden alone", {-kInf}},
    {"none", {}},
};

// What is exactly known.

// For each element from `begin` to `end` the product of the others there, 0 if one of them is.
Numbers others(const Numbers& x, std::size_t begin, std::size_t end) {
  Numbers y(x.size(), 0.0);
  for (std::size_t i = begin; i < end; ++i) {
    long double product = 1;
    bool zero = false;
    for (std::size_t k = begin; k < end; ++k) {
      if (k == i) continue;
      zero |= x[k] == 0;
      product *= x[k];
    }
    y[i] = zero ? 0 : static_cast<double>(product);
  }
  return y;
}

// The shares of exp(x) from `begin` to `end`. Where their sum is 0 or infinite, the last of the greatest has all.
Numbers shares(const Numbers& x, std::size_t begin, std::size_t end, bool from_front = true) {
  Numbers y(x.size(), 0.0);
  if (begin == end) return y;
  std::size_t greatest = from_front ? begin : end - 1;
  for (std::size_t n = begin; n < end; ++n) {
    const std::size_t i = from_front ? n : begin + end - 1 - n;
    if (x[i] >= x[greatest]) greatest = i;
  }
  if (std::isinf(x[greatest])) {
    y[greatest] = 1;
    return y;
  }
  long double sum = 0;
  for (std::size_t i = begin; i < end; ++i) sum += std::exp(static_cast<long double>(x[i]) - x[greatest]);
  for (std::size_t i = begin; i < end; ++i) {
    y[i] = static_cast<double>(std::exp(static_cast<long double>(x[i]) - x[greatest]) / sum);
  }
  return y;
}

// Of a scan each result's part of the row.
using Part = Numbers (*)(const Numbers& x, std::size_t begin, std::size_t end);
std::function<Matrix(const Numbers&)> of_parts(Part part, bool reverse, bool exclusive) {
  return [=](const Numbers& x) {
    Matrix m;
    for (std::size_t i = 0; i < x.size(); ++i) {
      m.push_back(reverse ? part(x, i + (exclusive ? 1 : 0), x.size()) : part(x, 0, i + (exclusive ? 0 : 1)));
    }
    return m;
  };
}

bool has_nan(const Numbers& x) {
  return std::ranges::any_of(x, [](double v) { return std::isnan(v); });
}
bool is_finite(const Numbers& x) {
  return std::ranges::all_of(x, [](double v) { return std::isfinite(v); });
}

std::vector<OfRow> functions_of_rows() {
  std::vector<OfRow> all;
  const auto add = [&](std::string name, Tensor (*f)(const Tensor&), std::int64_t least = 0) {
    all.push_back({std::move(name), [f](const Values& x) { return f(x[0]); }, least});
  };
  for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::prod, ReduceKind::min, ReduceKind::max,
                                ReduceKind::sum_squares, ReduceKind::l1, ReduceKind::l2, ReduceKind::log_sum,
                                ReduceKind::log_sum_exp, ReduceKind::variance, ReduceKind::deviation}) {
    all.push_back(
        {std::string(kernels::reduce_name(kind)), [kind](const Values& x) { return reduce(kind, x[0], {0}); }});
    all.back().logits = kind == ReduceKind::log_sum_exp;
    if (kind == ReduceKind::prod) {
      all.back().exact = [](const Numbers& x) { return Matrix{others(x, 0, x.size())}; };
    } else if (kind == ReduceKind::log_sum_exp) {
      // (Of infinities alone it is NaN, PyTorch's.)
      all.back().exact = [](const Numbers& x) {
        const bool hidden = x.empty() || std::isinf(*std::ranges::max_element(x));
        return hidden ? Matrix() : Matrix{shares(x, 0, x.size())};
      };
    }
  }
  for (const ScanKind kind : {ScanKind::sum, ScanKind::prod, ScanKind::max, ScanKind::min, ScanKind::log_sum_exp}) {
    for (const bool reverse : {false, true}) {
      for (const bool exclusive : {false, true}) {
        all.push_back(
            {std::format("{}{}{}", kernels::scan_name(kind), reverse ? " reverse" : "", exclusive ? " exclusive" : ""),
             [=](const Values& x) { return scan(kind, x[0], 0, {.reverse = reverse, .exclusive = exclusive}); }});
        all.back().logits = kind == ScanKind::log_sum_exp;
        all.back().chained = kind != ScanKind::sum;
        if (kind == ScanKind::prod) {
          all.back().exact = of_parts(others, reverse, exclusive);
        } else if (kind == ScanKind::log_sum_exp) {
          const Part part =
              reverse ? Part([](const Numbers& x, std::size_t a, std::size_t b) { return shares(x, a, b, false); })
                      : Part([](const Numbers& x, std::size_t a, std::size_t b) { return shares(x, a, b); });
          all.back().exact = of_parts(part, reverse, exclusive);
        }
      }
    }
  }
  add("softmax", [](const Tensor& x) { return softmax(x, 0); });
  add("log_softmax", [](const Tensor& x) { return log_softmax(x, 0); });
  for (const double epsilon : {0.0, 1e-5}) {
    all.push_back(
        {std::format("layer_norm {}", epsilon), [=](const Values& x) { return layer_norm(x[0], {}, {}, epsilon); }});
    all.push_back({std::format("rms_norm {}", epsilon), [=](const Values& x) { return rms_norm(x[0], {}, epsilon); }});
    all.push_back({std::format("layer_norm scaled {}", epsilon),
                   [=](const Values& x) { return layer_norm(x[0], full_like(x[0], 2), full_like(x[0], 1), epsilon); }});
    all.push_back({std::format("group_norm {}", epsilon), [=](const Values& x) {
                     return group_norm(reshape(x[0], {1, 1, x[0].size()}), {}, {}, 1, epsilon);
                   }});
  }
  for (const double ord : {-kInf, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, kInf}) {
    all.push_back({std::format("vector_norm {}", ord), [ord](const Values& x) { return vector_norm(x[0], ord); }});
    all.back().least = ord < 0 ? 1 : 0;
  }
  for (const MatrixNorm ord : {MatrixNorm::fro, MatrixNorm::one, MatrixNorm::inf}) {
    all.push_back({std::format("matrix_norm {}", static_cast<int>(ord)),
                   [ord](const Values& x) { return matrix_norm(stack({x[0], 2 * x[0]}), ord); }});
    all.back().least = 1;
  }
  add("max", [](const Tensor& x) { return max(x); }, 1);
  add("min", [](const Tensor& x) { return min(x); }, 1);
  add("cummax", [](const Tensor& x) { return cummax(x, 0).values; });
  add("cummin", [](const Tensor& x) { return cummin(x, 0).values; });
  add("sort", [](const Tensor& x) { return sort(x, 0); });
  add("top_k", [](const Tensor& x) { return top_k(x, 1, 0).values; }, 1);
  add("median", [](const Tensor& x) { return median(x); }, 1);
  add("quantile", [](const Tensor& x) { return quantile(x, {0.0, 0.3, 1.0}); }, 1);
  add("nanmedian", [](const Tensor& x) { return nanmedian(x); }, 1);
  add("nansum", [](const Tensor& x) { return nansum(x); });
  add("nanprod", [](const Tensor& x) { return nanprod(x); });
  add("nanmean", [](const Tensor& x) { return nanmean(x); });
  add("nanvar", [](const Tensor& x) { return nanvar(x); });
  add("nanstd", [](const Tensor& x) { return nanstd(x); });
  add("nanmax", [](const Tensor& x) { return nanmax(x); }, 1);
  add("nanmin", [](const Tensor& x) { return nanmin(x); }, 1);
  add("nancumsum", [](const Tensor& x) { return nancumsum(x); });
  add("nancumprod", [](const Tensor& x) { return nancumprod(x); });
  add("ptp", [](const Tensor& x) { return ptp(x); }, 1);
  add("average", [](const Tensor& x) { return average(x, arange(1, x.size() + 1)); }, 1);
  add("cov", [](const Tensor& x) { return cov(stack({x, square(x)})); }, 2);
  add("corrcoef", [](const Tensor& x) { return corrcoef(stack({x, arange(1, x.size() + 1, 1, x.dtype())})); }, 2);
  add("cross_entropy", [](const Tensor& x) { return cross_entropy(x, tensor(0)); }, 1);
  add(
      "cross_entropy smoothed", [](const Tensor& x) { return cross_entropy(x, tensor(0), {.label_smoothing = 0.1}); },
      1);
  add("nll_loss", [](const Tensor& x) { return nll_loss(log_softmax(x), tensor(0)); }, 1);
  add("segment_sum", [](const Tensor& x) { return segment_sum(x, arange(0, x.size()) / 2, 3); });
  add("segment_mean", [](const Tensor& x) { return segment_mean(x, arange(0, x.size()) / 2, 3); });
  add("segment_prod", [](const Tensor& x) { return segment_prod(x, arange(0, x.size()) / 2, 3); });
  add("segment_max", [](const Tensor& x) { return segment_max(x, arange(0, x.size()) / 2, 3); });
  add("segment_min", [](const Tensor& x) { return segment_min(x, arange(0, x.size()) / 2, 3); });
  add("segment_softmax", [](const Tensor& x) { return segment_softmax(x, arange(0, x.size()) / 2, 3); });
  add(
      "max_pool",
      [](const Tensor& x) { return max_pool(reshape(x, {1, 1, x.size()}), {.window = {2}, .strides = {1}}); }, 2);
  add(
      "average_pool",
      [](const Tensor& x) { return average_pool(reshape(x, {1, 1, x.size()}), {.window = {2}, .strides = {1}}); }, 2);
  add(
      "lp_pool 2",
      [](const Tensor& x) { return lp_pool(reshape(x, {1, 1, x.size()}), 2, {.window = {2}, .strides = {1}}); }, 2);
  add(
      "lp_pool 3",
      [](const Tensor& x) { return lp_pool(reshape(x, {1, 1, x.size()}), 3, {.window = {2}, .strides = {1}}); }, 2);
  add(
      "lp_pool 1",
      [](const Tensor& x) { return lp_pool(reshape(x, {1, 1, x.size()}), 1, {.window = {2}, .strides = {1}}); }, 2);
  add("trapezoid", [](const Tensor& x) { return trapezoid(square(x), x); }, 2);
  add("gradient", [](const Tensor& x) { return gradient(square(x), 0, 0.5); }, 2);
  add("interp", [](const Tensor& x) {
    return interp(x, tensor({0.0, 1.0, 3.0}, x.dtype()), tensor({1.0, 3.0, 2.0}, x.dtype()));
  });
  add("unwrap", [](const Tensor& x) { return unwrap(x); });
  add("polyval", [](const Tensor& x) { return polyval(x, tensor({0.0, 1.0, -2.0}, x.dtype())); });
  add(
      "scatter_mul",
      [](const Tensor& x) {
        return scatter_elements(ScatterKind::mul, full_like(slice(x, 0, 0, 1), 3), zeros({x.size()}, DType::i32), x, 0);
      },
      1);
  add(
      "scatter_max",
      [](const Tensor& x) {
        return scatter_elements(ScatterKind::max, full_like(slice(x, 0, 0, 1), 2), zeros({x.size()}, DType::i32), x, 0);
      },
      1);
  const auto attends = [](kernels::AttentionOptions options, bool masked) {
    return [=](const Values& x) {
      // Scores are x's elements, by keys [keys, 1] and one query 1.
      const std::int64_t n = x[0].size();
      const Tensor k = reshape(x[0], {1, 1, n, 1}), v = reshape(arange(1, n + 1, 1, x[0].dtype()), {1, 1, n, 1});
      const Tensor q = ones({1, 1, 1, 1}, x[0].dtype());
      if (masked) return attention(q, zeros_like(k), v, reshape(x[0], {1, 1, 1, n}), options);
      return attention(q, k, v, {}, options);
    };
  };
  all.push_back({"attention of keys", attends({}, false), 1, false});
  all.push_back({"attention of a mask", attends({}, true), 1, false});
  all.push_back({"attention of a mask, NaN of none", attends({.empty_is_nan = true}, true), 1, false});
  // Products by segments, which are divided: not where they are past the range.
  const auto of_segments = [](std::size_t length, double factor, std::size_t segments) {
    return [=](const Numbers& x) {
      Matrix m;
      for (std::size_t k = 0; k < segments; ++k) {
        const std::size_t begin = std::min(k * length, x.size()), end = std::min(begin + length, x.size());
        Numbers row = others(x, begin, end);
        long double product = 1;
        for (std::size_t i = begin; i < end; ++i) product *= x[i] == 0 || std::isinf(x[i]) ? 1 : x[i];
        if (product != 0 && (std::abs(product) > 1e37L || std::abs(product) < 1e-37L)) return Matrix();
        for (double& v : row) v *= factor;
        m.push_back(std::move(row));
      }
      return m;
    };
  };
  for (OfRow& of : all) {
    if (of.name == "segment_prod") of.exact = of_segments(2, 1, 3);
    if (of.name == "scatter_mul") of.exact = of_segments(100, 3, 1);
    if (of.name == "nanprod") of.exact = [](const Numbers& x) { return Matrix{others(x, 0, x.size())}; };
    if (of.name == "nancumprod") of.exact = of_parts(others, false, false), of.chained = true;
    for (const std::string_view name : {"softmax", "log_softmax", "cross_entropy", "attention of keys",
                                        "attention of a mask", "attention of a mask, NaN of none"}) {
      of.logits |= of.name == name;
    }
  }
  return all;
}

// The element i of a row of n.
Tensor unit(const Tensor& x, std::int64_t i) {
  Numbers e(static_cast<std::size_t>(x.size()), 0.0);
  e[static_cast<std::size_t>(i)] = 1;
  return cast(tensor(x.shape(), e, DType::f64), x.dtype());
}

// [result][operand].
Matrix transposed(const Matrix& m, std::size_t columns) {
  Matrix t(columns, Numbers(m.size()));
  for (std::size_t i = 0; i < m.size(); ++i) {
    for (std::size_t k = 0; k < columns; ++k) t[k][i] = m[i][k];
  }
  return t;
}

Matrix jacobian_of(const std::function<Tensor(const Tensor&)>& f, const Tensor& x, Way way) {
  Values rows;
  if (way == Way::reverse) {
    const auto [y, pull] = vjp(f)(x);
    for (std::int64_t i = 0; i < y.size(); ++i) rows.push_back(pull(unit(y, i)));
  } else {
    const auto [y, push] = linearize(f)(x);
    for (std::int64_t i = 0; i < x.size(); ++i) rows.push_back(push(unit(x, i)));
  }
  Matrix m;
  for (const Tensor& t : rows) m.push_back(t.to_vector<double>());
  if (way == Way::reverse) return m;
  const std::size_t results = static_cast<std::size_t>(f(x).size());
  return transposed(m, results);
}

std::string to_text(const Matrix& m) {
  std::string s;
  for (const Numbers& row : m) {
    s += "[";
    for (const double v : row) s += std::format("{:.5g} ", v);
    if (s.back() == ' ') s.pop_back();
    s += "]";
  }
  return s;
}

bool same(const Matrix& a, const Matrix& b, double relative) {
  if (a.size() != b.size()) return false;
  double size = 0;
  for (const Matrix* m : {&a, &b}) {
    for (const Numbers& row : *m) {
      for (const double v : row) size = std::isfinite(v) ? std::max(size, std::abs(v)) : size;
    }
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      if (same(a[i][k], b[i][k], relative)) continue;
      // (Of sums what is left of terms that cancel.)
      if (!(std::abs(a[i][k] - b[i][k]) <= relative * size)) return false;
    }
  }
  return true;
}

// What both modes leave of a Jacobian with elements that are no numbers: a tangent's product with a row, a cotangent's
// with a column, in which 0 times such an element is NaN. Both have the same such elements.
bool same_jacobian(Matrix forward, Matrix reverse, double relative, DType type, bool chained) {
  // (What is nearly past the type's range may be so in one of them.)
  const double most = type == DType::f64 ? 1e300 : 1e38;
  for (Matrix* m : {&forward, &reverse}) {
    for (Numbers& r : *m) {
      for (double& v : r) v = v > most ? kInf : v < -most ? -kInf : std::abs(v) < 1 / most ? 0 : v;
    }
  }
  const std::size_t rows = forward.size(), columns = rows == 0 ? 0 : forward[0].size();
  std::vector<char> row(rows), column(columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < columns; ++k) {
      if (std::isfinite(forward[i][k]) || std::isfinite(reverse[i][k])) continue;
      row[i] = column[k] = true;
    }
  }
  if (chained && std::ranges::count(row, true) > 0) std::ranges::fill(row, true);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < columns; ++k) {
      const bool hidden = (!std::isfinite(forward[i][k]) && row[i]) || (!std::isfinite(reverse[i][k]) && column[k]);
      if (hidden) forward[i][k] = reverse[i][k] = 0;
    }
  }
  return same(forward, reverse, relative);
}

// Rows, by the beginnings of their names, at which modes differ so far, with the reason.
struct Differing {
  std::string_view function, row, reason;
};
constexpr Differing kDiffering[] = {
    {"nanvar", "huge", "the variance itself is past f32, and so are cotangents of what is scaled"},
    {"nanvar", "tiny", "the same"},
    {"cov", "huge", "the same"},
    {"cov", "tiny", "the same"},
    {"vector_norm -0.5", "all hidden", "a norm of infinities alone"},
    {"vector_norm -0.5", "one hidden alone", "the same"},
};

class CornerRows : public CornerCases {
 protected:
  void compare(const OfRow& each, DType type, const std::string& row_name, const Numbers& row, Counts& counts) {
    const auto n = static_cast<std::int64_t>(row.size());
    if (n < each.least) return;
    const double largest = std::accumulate(row.begin(), row.end(), 0.0, [](double a, double b) {
      return std::isfinite(b) ? std::max(a, std::abs(b)) : a;
    });
    const bool rounded = each.logits && largest > 1e6;
    ++counts.points;
    const Tensor x = cast(tensor(Shape{n}, row, DType::f64), type);
    const double rounding = each.logits ? largest * (type == DType::f64 ? 0x1p-52 : 0x1p-23) : 0;
    const double relative = (type == DType::f64 ? 1e-9 : 1e-4) + rounding;
    const auto f = [&](const Tensor& v) { return flatten(each.f({v})); };
    const auto what = [&] { return std::format("{} in {}, {} {}", each.name, name(type), row_name, to_text({row})); };
    const Numbers value = f(x).to_vector<double>();
    // Outside of the domain, or nothing but NaN.
    const bool nothing = n > 0 && std::ranges::all_of(value, [](double v) { return std::isnan(v); });
    if (nothing || (has_nan(value) && !has_nan(row) && !each.logits)) return;
    const auto differs = [&](const Differing& d) {
      return each.name.starts_with(d.function) && row_name.starts_with(d.row);
    };
    if (std::ranges::any_of(kDiffering, differs)) return;
    const Matrix forward = jacobian_of(f, x, Way::forward), reverse = jacobian_of(f, x, Way::reverse);
    ++counts.compared;
    if (!rounded && !same_jacobian(forward, reverse, relative, type, each.chained)) {
      ADD_FAILURE() << what() << ": forward " << to_text(forward) << ", reverse " << to_text(reverse);
    }
    // -∞ hides elements; what it leaves are numbers.
    const bool hides = each.logits && largest > 0 && row.size() > 0 && !has_nan(row) &&
                       std::ranges::none_of(row, [](double v) { return v == kInf; });
    const bool numbers = (is_finite(row) && is_finite(value)) || hides;
    // Not such whose squares are past the range.
    const bool moderate = std::ranges::none_of(
        row, [](double v) { return std::isfinite(v) && v != 0 && (std::abs(v) < 1e-6 || std::abs(v) > 1e6); });
    if (numbers && moderate) {
      for (const Matrix* m : {&forward, &reverse}) {
        if (!std::ranges::all_of(*m, is_finite))
          ADD_FAILURE() << what() << " is " << to_text({value}) << ", derivatives " << to_text(*m);
      }
    }
    if (each.exact && !has_nan(row) && !rounded) {
      const Matrix exact = each.exact(row);
      const bool known = !exact.empty() && std::ranges::none_of(exact, has_nan);
      counts.compared += 2;
      if (known && !(same_jacobian(forward, exact, relative, type, each.chained) &&
                     same_jacobian(exact, reverse, relative, type, each.chained))) {
        ADD_FAILURE() << what() << " is " << to_text({value}) << ", forward " << to_text(forward) << ", reverse "
                      << to_text(reverse) << ", exactly " << to_text(exact);
      }
    }
    if (n == 0 || rounded || !moderate) return;
    // Second derivatives of a sum with weights.
    const auto weighted = [&](const Tensor& y) {
      return sum(y * cast(linspace(1, 2, y.size(), DType::f32), y.dtype()));
    };
    const auto gradient = [&](const Tensor& v) { return grad([&](const Tensor& at) { return weighted(f(at)); })(v); };
    const auto tangents = [&](const Tensor& v) {
      Values all;
      for (std::int64_t i = 0; i < n; ++i) all.push_back(weighted(jvp(f)(v, unit(v, i)).second));
      return stack(all);
    };
    double terms = 1;  // of what differences are made of
    for (const double v : value) terms = std::isfinite(v) ? std::max(terms, std::abs(v)) : terms;
    terms *= (type == DType::f64 ? 1e-12 : 1e-5) + rounding;
    const Matrix first = jacobian_of(gradient, x, Way::forward);
    const std::pair<const char*, Matrix> more[] = {{"reverse over reverse", jacobian_of(gradient, x, Way::reverse)},
                                                   {"reverse over forward", jacobian_of(tangents, x, Way::reverse)},
                                                   {"forward over forward", jacobian_of(tangents, x, Way::forward)}};
    std::string differing;
    for (const auto& [way, m] : more) {
      ++counts.compared;
      if (!same_second(first, m, relative * 10, terms)) differing += std::format("; {} {}", way, to_text(m));
    }
    if (!differing.empty()) {
      ADD_FAILURE() << what() << ", second: forward over reverse " << to_text(first) << differing;
    }
    if (numbers && !std::ranges::all_of(first, is_finite)) {
      ADD_FAILURE() << what() << " is " << to_text({value}) << ", second derivatives " << to_text(first);
    }
  }

  // As far as both are numbers: one that is none may be 0 times a first derivative that is none.
  static bool same_second(Matrix a, Matrix b, double relative, double terms) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      for (std::size_t k = 0; k < a[i].size(); ++k) {
        const bool numbers = std::isfinite(a[i][k]) && std::isfinite(b[i][k]);
        if (!numbers || std::abs(a[i][k] - b[i][k]) <= terms) a[i][k] = b[i][k] = 0;
      }
    }
    return same(a, b, relative);
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CornerRows, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(CornerRows, ModesAgree) {
  Counts counts;
  for (const OfRow& each : functions_of_rows()) {
    if (device.is_gpu() && leave_out_costly_problem()) continue;
    ++counts.functions;
    for (const DType type : {DType::f32, DType::f64}) {
      if (type == DType::f64 && (device.is_gpu() || !each.f64)) continue;
      for (const auto& [row_name, row] : kRows) compare(each, type, row_name, row, counts);
    }
  }
  std::cout << counts.functions << " functions, " << counts.points << " points, " << counts.compared
            << " comparisons\n";
}

// ---- Corners by their values

struct AtCorner {
  std::string name;
  Function f;
  Numbers x;                         // operands of one element each
  std::vector<Numbers> second = {};  // [operand][operand]; empty: not looked at
};

// The second derivatives of functions of two operands, and where operands have joints or ends.
std::vector<AtCorner> corners() {
  const double log2 = std::log(2.0);
  const auto of = [](const char* name) { return [name](const Values& x) { return elementwise(name, x); }; };
  const auto power = of("pow"), angle = of("atan2");
  const Function product = [](const Values& x) { return reshape(prod(concat(x, 0)), {1}); };
  const Function last_product = [](const Values& x) {
    return slice(scan(ScanKind::prod, concat(x, 0), 0, {}), 0, static_cast<std::int64_t>(x.size()) - 1,
                 static_cast<std::int64_t>(x.size()));
  };
  std::vector<AtCorner> all{
      {"pow", power, {2, 0}, {{0, 0.5}, {0.5, log2 * log2}}},
      {"pow", power, {1, 0}, {{0, 1}, {1, 0}}},
      {"pow", power, {0.25, 0}, {{0, 4}, {4, 4 * log2 * log2}}},
      {"pow", power, {0, 0}, {{0, 0}, {0, 0}}},
      {"pow", power, {0, 1}, {{0, 0}, {0, 0}}},
      {"pow", power, {0, 2}, {{2, 0}, {0, 0}}},
      {"pow", power, {0, 3}, {{0, 0}, {0, 0}}},
      {"pow", power, {0, 0.5}, {{-kInf, -kInf}, {-kInf, 0}}},
      {"pow", power, {-0.0, 0.5}, {{-kInf, -kInf}, {-kInf, 0}}},
      {"pow", power, {0, 0.75}, {{-kInf, -kInf}, {-kInf, 0}}},
      {"pow", power, {0, 1.5}, {{kInf, 0}, {0, 0}}},
      {"pow", power, {0, -0.5}, {{kInf, kInf}, {kInf, kInf}}},
      {"pow", power, {2, 2}, {{2, 2 + 4 * log2}, {2 + 4 * log2, 4 * log2 * log2}}},
      {"pow(x, 0)", [](const Values& x) { return pow(x[0], 0); }, {0}, {{0}}},
      {"pow(x, 1)", [](const Values& x) { return pow(x[0], 1); }, {0}, {{0}}},
      {"pow(x, 2)", [](const Values& x) { return pow(x[0], 2); }, {0}, {{2}}},
      {"pow(x, 0.5)", [](const Values& x) { return pow(x[0], 0.5); }, {0}, {{-kInf}}},
      {"logit", [](const Values& x) { return logit(x[0]); }, {0}, {{-kInf}}},
      {"logit", [](const Values& x) { return logit(x[0]); }, {-0.0}, {{-kInf}}},
      {"logit", [](const Values& x) { return logit(x[0]); }, {1}, {{kInf}}},
      {"logit", [](const Values& x) { return logit(x[0]); }, {0.5}, {{0}}},
      {"logit", [](const Values& x) { return logit(x[0]); }, {0.75}, {{128.0 / 9}}},
      {"logit", [](const Values& x) { return logit(x[0]); }, {1.5}, {{kNaN}}},
      {"logit", [](const Values& x) { return logit(x[0]); }, {-1}, {{kNaN}}},
      {"digamma", of("digamma"), {0}, {{-kInf}}},
      {"digamma", of("digamma"), {-3}, {{-kInf}}},
      {"polygamma(1)", [](const Values& x) { return polygamma(1, x[0]); }, {0}, {{kInf}}},
      {"polygamma(1)", [](const Values& x) { return polygamma(1, x[0]); }, {-3}, {{kInf}}},
      {"polygamma(2)", [](const Values& x) { return polygamma(2, x[0]); }, {-0.0}, {{-kInf}}},
      {"polygamma(2)", [](const Values& x) { return polygamma(2, x[0]); }, {-3}, {{-kInf}}},
      // ψ⁗(-1.25), by mpmath.
      {"polygamma(2)", [](const Values& x) { return polygamma(2, x[0]); }, {-1.25}, {{24481.0637141845825}}},
      {"atan2", angle, {0, 0}, {{0, 0}, {0, 0}}},
      {"ndtri", [](const Values& x) { return ndtri(x[0]); }, {0}, {{-kInf}}},
      {"ndtri", [](const Values& x) { return ndtri(x[0]); }, {1}, {{kInf}}},
      {"ndtri", [](const Values& x) { return ndtri(x[0]); }, {1e-38}, {{-kInf}}},
      {"entr", [](const Values& x) { return entr(x[0]); }, {0}, {{-kInf}}},
      {"softsign", of("softsign"), {0}, {{0}}},
  };
  const auto at_0 = [](std::size_t count) { return zeros({static_cast<std::int64_t>(count)}, DType::i32); };
  const Function segment = [=](const Values& x) { return segment_prod(concat(x, 0), at_0(x.size()), 1); };
  // The first operand is what the others go to.
  const Function scattered = [=](const Values& x) {
    const Values updates(x.begin() + 1, x.end());
    return scatter_elements(ScatterKind::mul, x[0], at_0(updates.size()), concat(updates, 0), 0);
  };
  for (const auto& [name, f] : {std::pair("prod", product), std::pair("cumulative_prod", last_product),
                                std::pair("segment_prod", segment), std::pair("scatter_elements", scattered)}) {
    all.push_back({name, f, {kInf, 2, 3}, {{0, 3, 2}, {3, 0, kInf}, {2, kInf, 0}}});
    all.push_back({name, f, {kInf, 0, 2}, {{0, 2, 0}, {2, 0, kInf}, {0, kInf, 0}}});
    all.push_back({name, f, {kInf, 0, 0}, {{0, 0, 0}, {0, 0, kInf}, {0, kInf, 0}}});
    all.push_back({name, f, {-kInf, 2, 0}, {{0, 0, 2}, {0, 0, -kInf}, {2, -kInf, 0}}});
    all.push_back({name, f, {0, 0, kInf}, {{0, kInf, 0}, {kInf, 0, 0}, {0, 0, 0}}});
    all.push_back({name, f, {0, 3, 0}, {{0, 0, 3}, {0, 0, 0}, {3, 0, 0}}});
    all.push_back({name, f, {2, 3, 4}, {{0, 4, 3}, {4, 0, 2}, {3, 2, 0}}});
  }
  return all;
}

TEST_P(CornerCases, SecondDerivativesAtCorners) {
  for (const DType type : {DType::f32, DType::f64}) {
    if (type == DType::f64 && device.is_gpu()) continue;
    for (const AtCorner& c : corners()) {
      if (c.name == "ndtri" && type == DType::f64 && c.x[0] > 0 && c.x[0] < 1) continue;  // it is a number there
      Values x;
      for (const double v : c.x) x.push_back(cast(tensor(Shape{1}, Numbers{v}, DType::f64), type));
      for (std::size_t i = 0; i < x.size(); ++i) {
        for (std::size_t k = 0; k < x.size(); ++k) {
          for (const Way inner : kWays) {
            for (const Way outer : kWays) {
              const double found = derivative(derivative(c.f, i, inner), k, outer)(x).to_vector<double>()[0];
              EXPECT_TRUE(same(found, c.second[i][k], type == DType::f64 ? 1e-12 : 1e-5))
                  << c.name << " in " << name(type) << " at " << to_text({c.x}) << ", derivatives for " << i << " and "
                  << k << ", " << kWayNames[static_cast<std::size_t>(outer)] << " over "
                  << kWayNames[static_cast<std::size_t>(inner)] << ": " << found << ", expected " << c.second[i][k];
            }
          }
        }
      }
    }
  }
}

// First derivatives at ends of domains, PyTorch's.
TEST_P(CornerCases, FirstDerivativesAtEnds) {
  const std::tuple<std::string_view, Tensor (*)(const Tensor&), Numbers, Numbers> cases[] = {
      {"ndtri", [](const Tensor& x) { return ndtri(x); }, {0, 1, -1, 2, kInf}, {kInf, kInf, kNaN, kNaN, kNaN}},
      {"entr", [](const Tensor& x) { return entr(x); }, {0, 1, kInf, -1}, {kInf, -1, -kInf, kNaN}},
      {"logit",
       [](const Tensor& x) { return logit(x); },
       {0, -0.0, 1, 0.5, -1, 2, -kInf, kInf},
       {kInf, kInf, kInf, 4, kNaN, kNaN, kNaN, kNaN}},
      {"pow", [](const Tensor& x) { return pow(x, 0.5); }, {0, -0.0}, {kInf, kInf}},
      {"pow", [](const Tensor& x) { return pow(x, full_like(x, 0.25)); }, {0, -0.0}, {kInf, kInf}},
      {"pow", [](const Tensor& x) { return pow(zeros_like(x), x); }, {0.5, 1e-15, 1, 2}, {0, 0, 0, 0}},
      {"lgamma", [](const Tensor& x) { return lgamma(x); }, {0, -0.0, -2}, {-kInf, kInf, kNaN}},
      {"digamma", [](const Tensor& x) { return digamma(x); }, {0, -0.0, -2, -1e10}, {kInf, kInf, kInf, kInf}},
      {"polygamma 1",
       [](const Tensor& x) { return polygamma(1, x); },
       {0, -0.0, -2, -1e10, kInf, -kInf},
       {-kInf, -kInf, -kInf, -kInf, 0, kNaN}},
      {"polygamma 2", [](const Tensor& x) { return polygamma(2, x); }, {0, -0.0, -2}, {kInf, kInf, kInf}},
      {"i0", [](const Tensor& x) { return i0(x); }, {kInf, -kInf}, {kInf, -kInf}},
      {"i1", [](const Tensor& x) { return i1(x); }, {kInf, -kInf}, {kInf, kInf}},
  };
  for (const auto& [name, f, x, expected] : cases) {
    const Function of = [f](const Values& v) { return f(v[0]); };
    for (const Way way : kWays) {
      const Numbers found = derivative(of, 0, way)({cast(tensor(x), DType::f32)}).to_vector<double>();
      for (std::size_t i = 0; i < x.size(); ++i) {
        EXPECT_TRUE(same(found[i], expected[i], 1e-5)) << name << " at " << x[i] << ": " << found[i];
      }
    }
  }
}

// Parameters that f32 does not hold, of which a number times such, or over such, may be in its range.
TEST_P(CornerCases, ParametersPastTheRange) {
  const struct {
    const char* name;
    Numbers parameters, x, y, slope;
  } cases[] = {
      {"leaky_relu", {1e40}, {-1e-30, -1, 0, 2}, {-1e10, -kInf, 0, 2}, {kInf, kInf, kInf, 1}},
      {"leaky_relu", {1e-50}, {-1e30, -1, 0, 2}, {-1e-20, 0, 0, 2}, {0, 0, 0, 1}},
      {"elu", {1e40}, {-1e-30, -1, 0, 2}, {-1e10, -kInf, 0, 2}, {kInf, kInf, kInf, 1}},
      {"celu", {1e40}, {-1e-30, -1, -1e35, 0, 2}, {-1e-30, -1, -0.999995e35, 0, 2}, {1, 1, 0.99999, 1, 1}},
      {"celu", {1e300}, {-1e-30, -1, -3e38, 0, 2}, {-1e-30, -1, -3e38, 0, 2}, {1, 1, 1, 1, 1}},
      {"celu", {1e35}, {-1e-10, -1e30, 0}, {-1e-10, -0.999995e30, 0}, {1, 0.99999, 1}},
      {"celu", {1e-50}, {-1, -1e30, 2}, {0, 0, 2}, {0, 0, 1}},
      {"hardsigmoid", {1e40, 0.5}, {0, 1e-30, -1e-30, 3, -3}, {0.5, 1, 0, 1, 0}, {kInf, 0, 0, 0, 0}},
      {"hardsigmoid", {1e-50, 0.5}, {0, 1, -3e38}, {0.5, 0.5, 0.5}, {0, 0, 0}},
  };
  for (const auto& c : cases) {
    const Function f = [&](const Values& x) { return elementwise(c.name, x, c.parameters); };
    const Values x{tensor(Shape{static_cast<std::int64_t>(c.x.size())}, c.x, DType::f32)};
    const auto expect = [&](const Function& of, const Numbers& expected) {
      const Numbers found = of(x).to_vector<double>();
      for (std::size_t i = 0; i < found.size(); ++i) {
        EXPECT_TRUE(same(found[i], expected[i], 1e-5))
            << c.name << " at " << c.x[i] << ": " << found[i] << ", expected " << expected[i];
      }
    };
    expect(f, c.y);
    for (const Way way : kWays) expect(derivative(f, 0, way), c.slope);
  }
}

// Functions whose derivative at NaN is a number: they are made of straight lines, and it is that of one of them, as
// PyTorch has it where it has the function.
constexpr std::string_view kLines[] = {"neg",        "abs",        "sign",       "ceil",      "floor",
                                       "trunc",      "round",      "relu",       "relu6",     "hardtanh",
                                       "leaky_relu", "elu",        "selu",       "celu",      "hardsigmoid",
                                       "hardswish",  "hardshrink", "softshrink", "threshold", "nan_to_num"};

TEST_P(CornerCases, DerivativesOfNanAreNan) {
  for (const DType type : {DType::f32, DType::f64}) {
    if (type == DType::f64 && device.is_gpu()) continue;
    const Tensor nan = cast(tensor(Shape{1}, Numbers{kNaN}, DType::f64), type);
    for (const Elementwise& e : elementwise_functions()) {
      if (device.is_gpu() && leave_out_costly_problem()) continue;
      const std::string_view whole = std::string_view(e.name).substr(0, e.name.find_first_of(" ("));
      const bool pow_0 = e.name == "pow(x, 0)" || e.name == "pow(x, 1)" || e.name == "pow(1, x)";
      const bool lines = std::ranges::find(kLines, whole) != std::end(kLines) || e.name == "clamp to numbers" ||
                         e.name == "maximum with a number" || e.name.starts_with("l1_loss") ||
                         e.name == "smooth_l1_loss(0)" || pow_0;
      if (lines || (e.operands != 1 && !e.name.ends_with("_loss"))) continue;
      const Values x = e.operands == 1 ? Values{nan} : Values{nan, zeros_like(nan)};
      for (const Way way : kWays) {
        const Function first = derivative(e.f, 0, way);
        EXPECT_TRUE(std::isnan(first(x).to_vector<double>()[0]))
            << e.name << " in " << name(type) << ", " << kWayNames[static_cast<std::size_t>(way)];
        // (A square's second derivative is a number.)
        if (e.operands != 1 || whole == "square" || e.name == "pow(x, 2)") continue;
        for (const Way outer : kWays) {
          EXPECT_TRUE(std::isnan(derivative(first, 0, outer)(x).to_vector<double>()[0]))
              << e.name << " in " << name(type) << ", " << kWayNames[static_cast<std::size_t>(outer)] << " over "
              << kWayNames[static_cast<std::size_t>(way)];
        }
      }
    }
  }
}

// A constant row's correlations are NaN, and so are their derivatives for the other rows.
TEST_P(CornerCases, CorrelationsOfAConstantRow) {
  const auto total = [](const Tensor& x) { return sum(corrcoef(x)); };
  const Tensor x = tensor(Shape{2, 3}, Numbers{1, 2, 4, 3, 3, 3}, DType::f32);
  for (const double v : grad(total)(x).to_vector<double>()) EXPECT_TRUE(std::isnan(v)) << v;
}

}  // namespace
}  // namespace weft::test
