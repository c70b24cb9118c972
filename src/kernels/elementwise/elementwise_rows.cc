// The rows of the kernel table for weft/kernels/elementwise.h: one for each function.
#include <format>

#include "core/format.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/table_rows.h"
#include "weft/expressions.h"
#include "weft/kernels/elementwise.h"

namespace weft::kernels {
namespace {

// What each function computes of its operands; documentation only. weft/expression.h has the special cases.
struct FunctionText {
  std::string_view name, formula, summary;
};
constexpr FunctionText kTexts[] = {
    {"neg", "-x", "the negative"},
    {"abs", "|x|", "the magnitude; of a complex number sqrt(re² + im²)"},
    {"sign", "-1 if x < 0, 0 if x = 0, 1 if x > 0", "the sign; NaN of NaN"},
    {"ceil", "⌈x⌉", "the least integer that is not below x"},
    {"floor", "⌊x⌋", "the greatest integer that is not above x"},
    {"trunc", "sign(x) · ⌊|x|⌋", "x without its fraction"},
    {"round", "the integer nearest to x", "ties go to the even one"},
    {"sqrt", "√x", "the square root; NaN of negative numbers"},
    {"rsqrt", "1 / √x", "the reciprocal of the square root"},
    {"cbrt", "∛x", "the cube root, negative of negative numbers"},
    {"reciprocal", "1 / x", "the reciprocal"},
    {"square", "x²", "the square"},
    {"exp", "exp(x)", "the exponential"},
    {"exp2", "2^x", "the power of 2"},
    {"expm1", "exp(x) - 1", "exact also where x is near 0"},
    {"log", "ln x", "the natural logarithm; NaN of negative numbers, -∞ of 0"},
    {"log2", "log₂ x", "the logarithm to base 2"},
    {"log10", "log₁₀ x", "the logarithm to base 10"},
    {"log1p", "ln(1 + x)", "exact also where x is near 0"},
    {"sin", "sin x", "the sine of x radians"},
    {"cos", "cos x", "the cosine of x radians"},
    {"tan", "tan x", "the tangent of x radians"},
    {"asin", "arcsin x", "the inverse of sin, in [-π/2, π/2]"},
    {"acos", "arccos x", "the inverse of cos, in [0, π]"},
    {"atan", "arctan x", "the inverse of tan, in [-π/2, π/2]"},
    {"sinh", "(exp(x) - exp(-x)) / 2", "the hyperbolic sine"},
    {"cosh", "(exp(x) + exp(-x)) / 2", "the hyperbolic cosine"},
    {"tanh", "(exp(x) - exp(-x)) / (exp(x) + exp(-x))", "the hyperbolic tangent"},
    {"asinh", "ln(x + sqrt(x² + 1))", "the inverse of sinh"},
    {"acosh", "ln(x + sqrt(x² - 1))", "the inverse of cosh; NaN below 1"},
    {"atanh", "ln((1 + x) / (1 - x)) / 2", "the inverse of tanh; NaN outside of [-1, 1]"},
    {"erf", "2/√π · ∫ exp(-t²) dt, t from 0 to x", "the error function"},
    {"erfc", "1 - erf(x)", "exact also where erf(x) is near 1"},
    {"erfinv", "the z with erf(z) = x", "the inverse of erf; NaN outside of [-1, 1]"},
    {"lgamma", "ln |Γ(x)|", "the logarithm of the gamma function's magnitude"},
    {"digamma", "d/dx ln Γ(x)", "the derivative of lgamma"},
    {"sigmoid", "1 / (1 + exp(-x))", "the logistic function"},
    {"logsigmoid", "-ln(1 + exp(-x))", "the logarithm of sigmoid"},
    {"softplus", "ln(1 + exp(x))", "a smooth form of relu"},
    {"mish", "x · tanh(ln(1 + exp(x)))", "Misra 2019"},
    {"relu", "max(x, 0)", "NaN of NaN"},
    {"gelu_erf", "x / 2 · (1 + erf(x / √2))", "the exact GELU, Hendrycks and Gimpel 2016"},
    {"gelu_tanh", "x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³)))", "the approximation of GELU by tanh"},
    {"gelu_quick", "x · sigmoid(1.702 x)", "the approximation of GELU by sigmoid"},
    {"silu", "x · sigmoid(x)", "SiLU, also called Swish"},
    {"logical_not", "¬x", "true where x is false"},
    {"bitwise_not", "~x", "all bits inverted"},
    {"popcount", "Σ bits of x", "how many bits are set"},
    {"clz", "leading zeros of x", "how many bits above the highest set one; the width for 0"},
    {"is_nan", "(x is NaN)", "true for NaN"},
    {"is_inf", "(|x| = ∞)", "true for both infinities"},
    {"is_finite", "(|x| < ∞)", "true unless x is infinite or NaN"},
    {"signbit", "(sign bit of x)", "true for negative numbers and for -0"},
    {"real", "re(x)", "the real part"},
    {"imag", "im(x)", "the imaginary part"},
    {"conj", "re(x) - i · im(x)", "the conjugate"},
    {"angle", "arg(x)", "the angle of x in the complex plane, in (-π, π]"},
    {"add", "a + b", "the sum; integers wrap"},
    {"sub", "a - b", "the difference; integers wrap"},
    {"mul", "a · b", "the product; integers wrap"},
    {"div", "a / b", "the quotient; integers are cut towards zero, and x / 0 is 0"},
    {"div_rn", "a / b", "the quotient, correctly rounded on every device (CUDA's __fdiv_rn)"},
    {"floor_divide", "⌊a / b⌋", "the quotient rounded down; of integers x / 0 is 0"},
    {"rem", "a - b · trunc(a / b)", "the remainder with the sign of a, as in C; of integers by 0 it is 0"},
    {"remainder", "a - b · ⌊a / b⌋", "the remainder with the sign of b, as in Python; of integers by 0 it is 0"},
    {"pow", "a^b", "the power; of integers it wraps"},
    {"atan2", "arg(b + a i)", "the angle of the point (x = b, y = a), in [-π, π]"},
    {"hypot", "sqrt(a² + b²)", "without overflow in between"},
    {"copysign", "|a| · sign(b)", "the magnitude of a with the sign of b, also of zeros"},
    {"nextafter", "the number after a towards b", "the neighbour of a among the numbers of its type"},
    {"logaddexp", "ln(exp(a) + exp(b))", "without overflow in between"},
    {"min", "min(a, b)", "the lesser; NaN if one is NaN"},
    {"max", "max(a, b)", "the greater; NaN if one is NaN"},
    {"fmin", "min(a, b)", "the lesser; if one is NaN the other"},
    {"fmax", "max(a, b)", "the greater; if one is NaN the other"},
    {"gcd", "greatest d that divides a and b", "the greatest common divisor of the magnitudes; of zeros 0"},
    {"lcm", "|a · b| / gcd(a, b)", "the least common multiple of the magnitudes; 0 if one is 0"},
    {"equal", "(a = b)", "false if one is NaN"},
    {"not_equal", "(a ≠ b)", "true if one is NaN"},
    {"less", "(a < b)", "false if one is NaN"},
    {"less_equal", "(a ≤ b)", "false if one is NaN"},
    {"greater", "(a > b)", "false if one is NaN"},
    {"greater_equal", "(a ≥ b)", "false if one is NaN"},
    {"logical_and", "a ∧ b", "true where both are"},
    {"logical_or", "a ∨ b", "true where one is, or both"},
    {"logical_xor", "(a ≠ b)", "true where exactly one is"},
    {"bitwise_and", "a & b", "the bits that both have"},
    {"bitwise_or", "a | b", "the bits that one has, or both"},
    {"bitwise_xor", "a xor b", "the bits that exactly one has"},
    {"shift_left", "a · 2^b", "the bits of a moved up; 0 for b of the width or more"},
    {"shift_right", "⌊a / 2^b⌋", "the bits of a moved down, with the sign of a"},
    {"complex", "a + b i", "the complex number of two parts"},
    {"select", "a if condition, else b", "one of two values"},
    {"fma", "a · b + c", "a product and a sum, which may be rounded once or twice"},
    {"clamp", "min(max(x, low), high)", "x, but not below low nor above high; NaN if one is NaN"},
    {"lerp", "a + t · (b - a)", "linear interpolation, exact at t = 0 and t = 1"},
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

// What each parameter sets, of all functions or, where they differ, of one.
struct ParameterText {
  std::string_view function, name, meaning;
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

std::vector<const char*> operand_names(std::optional<ScalarOp> op, int count) {
  if (op == ScalarOp::select) return {"condition", "a", "b"};
  if (op == ScalarOp::clamp) return {"x", "low", "high"};
  if (op == ScalarOp::lerp) return {"a", "b", "t"};
  if (count == 1) return {"x"};
  if (count == 2) return {"a", "b"};
  return {"a", "b", "c"};
}

const FunctionText& text_of(std::string_view function) {
  for (const FunctionText& t : kTexts) {
    if (t.name == function) return t;
  }
  throw InternalError("elementwise function {} has no text in kTexts", function);
}

std::string meaning_of(std::string_view function, std::string_view parameter) {
  for (const ParameterText& t : kParameterTexts) {
    if (t.name == parameter && (t.function.empty() || t.function == function)) return std::string(t.meaning);
  }
  throw InternalError("parameter {} of {} has no text in kParameterTexts", parameter, function);
}

// By what a scalar operation takes and yields. Complex operands of real parts have a signature of their own.
std::vector<TypeSignature> signatures(const ScalarOpInfo& op) {
  TypeSet real;
  for (int t = 0; t < kDTypeCount; ++t) {
    if (type_set(static_cast<DType>(t)) & op.types & ~kComplex) real = real | static_cast<DType>(t);
  }
  const TypeSet complex = op.types & kComplex ? types::complex : TypeSet();
  const bool selects = op.op == ScalarOp::select;
  const int first = selects ? 1 : 0;
  std::vector<TypeSignature> all;
  const auto add = [&](TypeSet set, const OperandTypes& y) {
    if (set.empty()) return;
    TypeSignature s;
    if (selects) s.push_back(types::boolean);
    s.push_back(set);
    for (int i = first + 1; i < op.arity; ++i) s.push_back(as(first));
    s.push_back(y);
    all.push_back(std::move(s));
  };
  switch (op.yields) {
    case Yields::same:
      add(real | complex, as(first));
      break;
    case Yields::boolean:
      add(real | complex, types::boolean);
      break;
    case Yields::complex:
      add(real | complex, types::complex);
      break;
    case Yields::real:
      add(real, as(first));
      add(complex, DType::f32);
      break;
  }
  return all;
}

}  // namespace

void add_elementwise_rows(TableRows& rows) {
  for (const FunctionInfo& f : functions()) {
    const std::optional<ScalarOp> op = scalar_op(f.name);
    const FunctionText& text = text_of(f.name);
    Schema schema{.name = std::string(f.name),
                  .family = "elementwise",
                  .summary = std::string(text.summary),
                  .formula = std::format("y = {}", text.formula),
                  .outputs = {one("y", f.operands == 1 ? "x's shape" : "the operands' common shape")}};
    for (const char* name : operand_names(op, f.operands)) {
      schema.inputs.push_back(one(name, "broadcasts to y"));
    }
    schema.signatures = op ? signatures(info(*op)) : std::vector<TypeSignature>{{types::floats, as(0)}};
    for (const FunctionParameter& p : f.parameters) {
      schema.attributes.push_back(number(std::string(p.name), meaning_of(f.name, p.name), Number(p.default_value)));
    }
    for (const auto& [other, named] : other_names()) {
      if (op == named) schema.other_names.emplace_back(other);
    }
    if (f.name == "clamp") schema.other_names.emplace_back("clip");
    if (f.name == "bitwise_not") schema.other_names.emplace_back("invert");
    rows.push_back(row(std::move(schema), [f](Stream& s, const Reader& r) {
      std::vector<double> parameters;
      for (const FunctionParameter& p : f.parameters) parameters.push_back(r.real(p.name));
      elementwise(s, f.name, r.inputs(), r.out(0), parameters);
    }));
  }
}

}  // namespace weft::kernels
