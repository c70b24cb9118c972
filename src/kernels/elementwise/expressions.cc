// Functions that are several operations, and the table of all functions by name.
#include "weft/expressions.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <iterator>
#include <utility>
#include <vector>

#include "core/f32_factors.h"
#include "core/format.h"
#include "core/nearest.h"
#include "kernels/elementwise/function_text.h"
#include "kernels/elementwise/scalar_ops.h"
#include "weft/error.h"

namespace weft {
namespace expressions {
namespace {

using enum ScalarOp;

// Builds one function: x in the type in which it computes, and constants of that type.
class Maker {
 public:
  Maker(Expression& e, std::string_view name, int value) : e_(e) {
    if (value < 0 || value >= static_cast<int>(e.nodes().size())) {
      throw InvalidArgument("expression: {}: the operand is node {}, there are {}", name, value, e.nodes().size());
    }
    stored_ = e.nodes()[static_cast<std::size_t>(value)].type;
    if (!is_floating(stored_)) throw TypeError("expression: {} takes float, got {}", name, weft::name(stored_));
    type_ = bits(stored_) < 32 ? DType::f32 : stored_;
    x = e.cast(value, type_);
  }
  int number(double v) { return e_.constant(v, type_); }
  // The numbers of the type in which it computes, of which the product is v.
  std::vector<double> factors(double v) const { return is_wide() ? std::vector{v} : f32_factors(v); }
  int times(int a, double v) {
    for (const double f : factors(v)) a = (*this)(mul, a, number(f));
    return a;
  }
  int over(int a, double v) {
    for (const double f : factors(v)) a = (*this)(ScalarOp::div, a, number(f));
    return a;
  }
  bool is_wide() const { return type_ == DType::f64; }
  int operator()(ScalarOp op, int a) { return e_.apply(op, {a}); }
  int operator()(ScalarOp op, int a, int b) { return e_.apply(op, {a, b}); }
  int operator()(ScalarOp op, int a, int b, int c) { return e_.apply(op, {a, b, c}); }
  int result(int node) { return e_.cast(node, stored_); }

  int x;

 private:
  Expression& e_;
  DType stored_, type_;
};

// x where the condition is true, else 0: an operand of functions that count there alone, so that their derivatives
// elsewhere, infinite or NaN, are not multiplied by 0.
int where_it_counts(Maker& m, int condition) { return m(select, condition, m.x, m.number(0)); }

// scale · (exp(x / scale) - 1) of x that are 0 or less.
int scaled_exponential(Maker& m, int x, double scale) {
  if (scale == 1) return m(ScalarOp::expm1, x);
  const bool ordinary = m.factors(scale).size() == 1;
  if (ordinary) {
    const int y = m(mul, m(ScalarOp::expm1, m(ScalarOp::div, x, m.number(scale))), m.number(scale));
    // Of a large scale the quotient may be denormal where it is all that counts.
    if (scale < 0x1p30) return y;
    return m(select, m(greater, x, m.number(-scale * (m.is_wide() ? 0x1p-55 : 0x1p-26))), x, y);
  }
  if (std::abs(scale) < 1) return m(select, m(less, x, m.number(0)), m.number(-scale), m.number(0));
  // The quotient is no further from 0 than 4: x Σ (x / scale)^k / (k + 1)!, whose derivatives have no factor past the
  // range. (1 / scale is denormal in them, and 0 to a GPU.)
  const int quotient = m.over(x, scale);
  double factorial = 1;
  std::vector<double> c;
  for (int k = 1; k <= 21; ++k) c.push_back(1 / (factorial *= k));
  int sum = m.number(c.back());
  for (std::size_t k = c.size() - 1; k-- > 0;) sum = m(ScalarOp::fma, sum, quotient, m.number(c[k]));
  return m(mul, x, sum);
}

// slope · scale · (exp(x / scale) - 1) of negative x, else slope · x at 0 and `positive` · x above, also of NaN: at 0
// PyTorch's first derivative is that of the negative side, and the second that of the other.
int exponential_below(Maker& m, double slope, double scale, double positive) {
  const int negative = m(less, m.x, m.number(0)), x = where_it_counts(m, negative);
  int below = scaled_exponential(m, x, scale);
  if (slope != 1 || scale == 1) below = m.times(below, slope);
  int above = m.x;
  if (slope != positive) {
    const int zero = m(equal, m.x, m.number(0));
    double other = positive;
    for (const double f : m.factors(slope)) {
      above = m(mul, above, m(select, zero, m.number(f), m.number(std::exchange(other, 1))));
    }
  } else if (positive != 1) {
    above = m(mul, m.x, m.number(positive));
  }
  return m.result(m(select, negative, below, above));
}

}  // namespace

int hardtanh(Expression& e, int x, double low, double high) {
  Maker m(e, "hardtanh", x);
  return m.result(m(min, m(max, m.x, m.number(low)), m.number(high)));
}

int relu6(Expression& e, int x) { return hardtanh(e, x, 0, 6); }

int leaky_relu(Expression& e, int x, double alpha) {
  Maker m(e, "leaky_relu", x);
  // Of NaN PyTorch's derivative is that of the negative side, too.
  return m.result(m(select, m(greater, m.x, m.number(0)), m.x, m.times(m.x, alpha)));
}

int elu(Expression& e, int x, double alpha) {
  Maker m(e, "elu", x);
  return exponential_below(m, alpha, 1, 1);
}

int selu(Expression& e, int x) {
  constexpr double kAlpha = 1.6732632423543772848170429916717;
  constexpr double kScale = 1.0507009873554804934193349852946;
  Maker m(e, "selu", x);
  return exponential_below(m, kAlpha * kScale, 1, kScale);
}

int celu(Expression& e, int x, double alpha) {
  Maker m(e, "celu", x);
  return exponential_below(m, 1, alpha, 1);
}

int hardsigmoid(Expression& e, int x, double alpha, double beta) {
  Maker m(e, "hardsigmoid", x);
  const bool ordinary = m.factors(alpha).size() == 1;
  const int line =
      ordinary ? m(ScalarOp::fma, m.x, m.number(alpha), m.number(beta)) : m(add, m.times(m.x, alpha), m.number(beta));
  const int inside = m(clamp, line, m.number(0), m.number(1));
  if (alpha == 0) return m.result(inside);
  // Where x is at an end of the line tells x: the line's own value there is rounded, and its derivative would be alpha.
  const ScalarOp below = alpha > 0 ? less_equal : greater_equal, above = alpha > 0 ? greater_equal : less_equal;
  // (An end that is too near to 0 for f32 is beside it.)
  const auto end = [&](double y) {
    const double at = y / alpha;
    return at == 0 || m.is_wide() ? at : std::copysign(std::max(std::abs(at), 0x1p-149), at);
  };
  const int rest = m(select, m(above, m.x, m.number(end(1 - beta))), m.number(1), inside);
  return m.result(m(select, m(below, m.x, m.number(end(-beta))), m.number(0), rest));
}

int hardswish(Expression& e, int x) {
  Maker m(e, "hardswish", x);
  const int inside = where_it_counts(m, m(less, m(ScalarOp::abs, m.x), m.number(3)));
  const int product = m(mul, inside, m(mul, m(add, inside, m.number(3)), m.number(1.0 / 6)));
  const int above = m(select, m(less, m.x, m.number(3)), product, m.x);
  return m.result(m(select, m(less_equal, m.x, m.number(-3)), m.number(-0.0), above));
}

int softsign(Expression& e, int x) {
  Maker m(e, "softsign", x);
  // (|x| by its sign, with derivatives that are NaN of NaN.)
  const int a = m(mul, m.x, m(sign, m.x)), r = m(reciprocal, m(add, a, m.number(1)));
  // As ±(1 - r) from 1 on, where r is ½ at most: the derivative r² is then no difference, and infinities give ±1.
  const int outside = m(ScalarOp::copysign, m(sub, m.number(1), r), m.x);
  return m.result(m(select, m(greater_equal, a, m.number(1)), outside, m(mul, m.x, r)));
}

int hardshrink(Expression& e, int x, double lambda) {
  Maker m(e, "hardshrink", x);
  const int inside = m(less_equal, m(ScalarOp::abs, m.x), m.number(lambda));
  return m.result(m(select, inside, m.number(0), m.x));
}

int softshrink(Expression& e, int x, double lambda) {
  Maker m(e, "softshrink", x);
  const int inside = m(less_equal, m(ScalarOp::abs, m.x), m.number(lambda));
  const int moved = m(sub, m.x, m(clamp, m.x, m.number(-lambda), m.number(lambda)));
  return m.result(m(select, inside, m.number(0), moved));  // the derivative at the bounds is 0
}

int threshold(Expression& e, int x, double limit, double value) {
  Maker m(e, "threshold", x);
  return m.result(m(select, m(less_equal, m.x, m.number(limit)), m.number(value), m.x));
}

}  // namespace expressions

namespace {

using Parameters = std::span<const double>;
using Build = int (*)(Expression& e, int x, Parameters p);

constexpr FunctionParameter kLimits[] = {{"low", -1}, {"high", 1}};
constexpr FunctionParameter kSlope[] = {{"alpha", 0.01}};
constexpr FunctionParameter kAlpha[] = {{"alpha", 1}};
constexpr FunctionParameter kLine[] = {{"alpha", 1.0 / 6}, {"beta", 0.5}};
constexpr FunctionParameter kLambda[] = {{"lambda", 0.5}};
constexpr FunctionParameter kThreshold[] = {{"limit", 0}, {"value", 0}};

struct Composite {
  FunctionInfo info;
  Build build;
};
constexpr Composite kComposites[] = {
    {{"relu6", 1, {}}, [](Expression& e, int x, Parameters) { return expressions::relu6(e, x); }},
    {{"hardtanh", 1, kLimits},
     [](Expression& e, int x, Parameters p) { return expressions::hardtanh(e, x, p[0], p[1]); }},
    {{"leaky_relu", 1, kSlope}, [](Expression& e, int x, Parameters p) { return expressions::leaky_relu(e, x, p[0]); }},
    {{"elu", 1, kAlpha}, [](Expression& e, int x, Parameters p) { return expressions::elu(e, x, p[0]); }},
    {{"selu", 1, {}}, [](Expression& e, int x, Parameters) { return expressions::selu(e, x); }},
    {{"celu", 1, kAlpha}, [](Expression& e, int x, Parameters p) { return expressions::celu(e, x, p[0]); }},
    {{"hardsigmoid", 1, kLine},
     [](Expression& e, int x, Parameters p) { return expressions::hardsigmoid(e, x, p[0], p[1]); }},
    {{"hardswish", 1, {}}, [](Expression& e, int x, Parameters) { return expressions::hardswish(e, x); }},
    {{"softsign", 1, {}}, [](Expression& e, int x, Parameters) { return expressions::softsign(e, x); }},
    {{"hardshrink", 1, kLambda},
     [](Expression& e, int x, Parameters p) { return expressions::hardshrink(e, x, p[0]); }},
    {{"softshrink", 1, kLambda},
     [](Expression& e, int x, Parameters p) { return expressions::softshrink(e, x, p[0]); }},
    {{"threshold", 1, kThreshold},
     [](Expression& e, int x, Parameters p) { return expressions::threshold(e, x, p[0], p[1]); }},
};

constexpr int kFirst = static_cast<int>(ScalarOp::neg);

}  // namespace

std::span<const FunctionInfo> functions() {
  static const std::vector<FunctionInfo> all = [] {
    std::vector<FunctionInfo> list;
    for (int i = kFirst; i < kScalarOpCount; ++i) {
      const auto op = static_cast<ScalarOp>(i);
      list.push_back({name(op), arity(op), {}});
    }
    for (const Composite& c : kComposites) list.push_back(c.info);
    return list;
  }();
  return all;
}

const FunctionInfo* find_function(std::string_view name) {
  if (const auto op = scalar_op(name)) return &functions()[static_cast<std::size_t>(*op) - kFirst];
  const auto it = std::ranges::find(functions(), name, &FunctionInfo::name);
  return it == functions().end() ? nullptr : &*it;
}

Expression function_expression(std::string_view name, std::span<const DType> types,
                               std::span<const double> parameters) {
  const FunctionInfo* function = find_function(name);
  if (!function) {
    throw InvalidArgument(
        "no elementwise function is called '{}'{}", name,
        nearest_text(nearest(name, functions(), &FunctionInfo::name), "; `weft kernels elementwise` lists them"));
  }
  if (static_cast<int>(types.size()) != function->operands) {
    throw InvalidArgument("{} takes {} operands, got {}", name, function->operands, types.size());
  }
  if (parameters.size() > function->parameters.size()) {
    throw InvalidArgument("{} takes {} parameters, got {}", name, function->parameters.size(), parameters.size());
  }
  Expression e;
  int args[3] = {};
  for (std::size_t i = 0; i < types.size(); ++i) args[i] = e.input(types[i]);
  if (const auto op = scalar_op(name)) {
    const int* a = args;
    e.output(types.size() == 1   ? e.apply(*op, {a[0]})
             : types.size() == 2 ? e.apply(*op, {a[0], a[1]})
                                 : e.apply(*op, {a[0], a[1], a[2]}));
    return e;
  }
  std::vector<double> all(parameters.begin(), parameters.end());
  for (std::size_t i = all.size(); i < function->parameters.size(); ++i) {
    all.push_back(function->parameters[i].default_value);
  }
  e.output(std::ranges::find(kComposites, function->name, [](const Composite& c) {
             return c.info.name;
           })->build(e, args[0], all));
  return e;
}

}  // namespace weft

namespace weft::kernels {
namespace {

constexpr FunctionText kCompositeTexts[] = {
    {"relu6", "min(max(x, 0), 6)", "relu with a bound"},
    {"hardtanh", "min(max(x, low), high)", "x, but not below low nor above high"},
    {"leaky_relu", "x if x ≥ 0, else alpha · x", "relu with a slope on the negative side"},
    {"elu", "x if x ≥ 0, else alpha · (exp(x) - 1)", "Clevert, Unterthiner and Hochreiter 2016"},
    {"selu", "1.0507 · (x if x ≥ 0, else 1.6733 · (exp(x) - 1))",
     "elu with constants that normalise; Klambauer et al. 2017"},
    {"celu", "x if x ≥ 0, else alpha · (exp(x / alpha) - 1)", "elu that is differentiable everywhere; Barron 2017"},
    {"hardsigmoid", "min(max(alpha · x + beta, 0), 1)", "a sigmoid of straight lines"},
    {"hardswish", "x · min(max(x + 3, 0), 6) / 6", "a swish of straight lines; Howard et al. 2019"},
    {"softsign", "x / (1 + |x|)", "a sigmoid without exponentials"},
    {"hardshrink", "0 if |x| ≤ lambda, else x", "zero near zero"},
    {"softshrink", "x - min(max(x, -lambda), lambda)", "x moved towards zero by lambda, and zero near zero"},
    {"threshold", "value if x ≤ limit, else x", "a value instead of all that is not above a limit"},
};

constexpr ParameterText kParameterTexts[] = {
    {"", "low", "the least result"},
    {"", "high", "the greatest result"},
    {"leaky_relu", "alpha", "the slope where x is negative"},
    {"elu", "alpha", "minus the limit where x goes to -∞"},
    {"celu", "alpha", "minus the limit where x goes to -∞, and the scale on which it is reached"},
    {"hardsigmoid", "alpha", "the slope between the bounds"},
    {"hardsigmoid", "beta", "the result at 0"},
    {"", "lambda", "the width of what becomes zero, on each side"},
    {"", "limit", "the greatest number that is replaced"},
    {"", "value", "what stands in its place"},
};

}  // namespace

std::span<const FunctionText> composite_texts() { return kCompositeTexts; }
std::span<const ParameterText> parameter_texts() { return kParameterTexts; }

}  // namespace weft::kernels
