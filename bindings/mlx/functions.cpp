// What MLX's primitives of single elements are of Weft's functions.
#include "functions.h"

#include <limits>
#include <typeindex>
#include <unordered_map>

#include "mlx/backend/common/compiled.h"

namespace mlx::core::webgpu {
namespace {

using weft::DType;
using weft::Expression;
using enum weft::ScalarOp;
using weft::ScalarOp;

bool is_complex(DType type) { return type == DType::c64; }

DType type_of(const Expression& e, int node) { return e.nodes()[node].type; }

using Args = const std::vector<int>&;

// ---- Functions of complex numbers, of their parts.

struct Complex {
  int re, im;
};

Complex parts(Expression& e, int z) { return {e.apply(real, {z}), e.apply(imag, {z})}; }

int complex_of(Expression& e, Complex z) { return e.apply(weft::ScalarOp::complex, {z.re, z.im}); }

int number(Expression& e, double value) { return e.constant(value, DType::f32); }

// ---- All functions.

template <ScalarOp op>
int plain(Expression& e, Args args) {
  return e.apply(op, args);
}

// Of booleans as MLX computes them: as integers, of which the result is whether it is not 0.
template <ScalarOp op>
int arithmetic(Expression& e, Args args) {
  if (type_of(e, args[0]) != DType::boolean) return e.apply(op, args);
  std::vector<int> integers;
  for (const int arg : args) integers.push_back(e.cast(arg, DType::i32));
  return e.cast(e.apply(op, integers), DType::boolean);
}

// Integers stay what they are.
template <ScalarOp op>
int rounding(Expression& e, Args args) {
  return weft::is_floating(type_of(e, args[0])) ? e.apply(op, args) : args[0];
}

int nan_equal(Expression& e, Args args) {
  const DType type = type_of(e, args[0]);
  const int same = e.apply(equal, args);
  if (is_complex(type)) {
    const int a = e.apply(not_equal, {args[0], args[0]}), b = e.apply(not_equal, {args[1], args[1]});
    return e.apply(logical_or, {same, e.apply(logical_and, {a, b})});
  }
  if (!weft::is_floating(type)) return same;
  const int both = e.apply(logical_and, {e.apply(is_nan, {args[0]}), e.apply(is_nan, {args[1]})});
  return e.apply(logical_or, {same, both});
}

// The floor of the rounded quotient. Integers by 0 give 0; complex numbers have no floor.
int floored_quotient(Expression& e, Args args) {
  const DType type = type_of(e, args[0]);
  if (is_complex(type)) return e.apply(ScalarOp::div, args);
  if (!weft::is_floating(type)) return arithmetic<floor_divide>(e, args);
  return e.apply(ScalarOp::floor, {e.round(e.apply(div_rn, args))});
}

// That belongs to floored_quotient(): of integers by 0 it is the dividend.
int remainder_of(Expression& e, Args args) {
  const DType type = type_of(e, args[0]);
  const int rest = arithmetic<ScalarOp::remainder>(e, args);
  if (weft::is_floating(type)) return rest;
  return e.apply(select, {e.apply(equal, {args[1], e.constant(0, type)}), args[0], rest});
}

// The sign of a complex number is z / |z|, and 0 of 0; that of NaN is 0.
int sign_of(Expression& e, Args args) {
  const DType type = type_of(e, args[0]);
  if (type == DType::boolean) return args[0];
  if (!is_complex(type)) {
    const int result = e.apply(sign, args);
    return weft::is_floating(type) ? e.apply(select, {e.apply(is_nan, args), e.constant(0, type), result}) : result;
  }
  const int magnitude = e.cast(e.apply(ScalarOp::abs, args), type);
  const int zero = e.constant(0, type);
  return e.apply(select, {e.apply(equal, {args[0], zero}), args[0], e.apply(ScalarOp::div, {args[0], magnitude})});
}

template <ScalarOp trigonometric, ScalarOp other, ScalarOp hyperbolic, ScalarOp hyperbolic_other, bool negative>
int sine_like(Expression& e, Args args) {
  // sin(x + iy) = sin x cosh y + i cos x sinh y, cos(x + iy) = cos x cosh y - i sin x sinh y
  if (!is_complex(type_of(e, args[0]))) return e.apply(trigonometric, args);
  const auto [x, y] = parts(e, args[0]);
  const int re = e.apply(mul, {e.apply(trigonometric, {x}), e.apply(hyperbolic, {y})});
  const int im = e.apply(mul, {e.apply(other, {x}), e.apply(hyperbolic_other, {y})});
  return complex_of(e, {re, negative ? e.apply(neg, {im}) : im});
}

template <ScalarOp hyperbolic, ScalarOp other>
int hyperbolic_sine_like(Expression& e, Args args) {
  // sinh(x + iy) = sinh x cos y + i cosh x sin y, cosh(x + iy) = cosh x cos y + i sinh x sin y
  if (!is_complex(type_of(e, args[0]))) return e.apply(hyperbolic, args);
  const auto [x, y] = parts(e, args[0]);
  return complex_of(e, {e.apply(mul, {e.apply(hyperbolic, {x}), e.apply(ScalarOp::cos, {y})}),
                        e.apply(mul, {e.apply(other, {x}), e.apply(ScalarOp::sin, {y})})});
}

constexpr Build complex_sin = sine_like<ScalarOp::sin, ScalarOp::cos, ScalarOp::cosh, ScalarOp::sinh, false>;
constexpr Build complex_cos = sine_like<ScalarOp::cos, ScalarOp::sin, ScalarOp::cosh, ScalarOp::sinh, true>;
constexpr Build complex_sinh = hyperbolic_sine_like<ScalarOp::sinh, ScalarOp::cosh>;
constexpr Build complex_cosh = hyperbolic_sine_like<ScalarOp::cosh, ScalarOp::sinh>;

template <ScalarOp op, Build numerator, Build denominator>
int quotient(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(op, args);
  return e.apply(ScalarOp::div, {numerator(e, args), denominator(e, args)});
}

// log z = ln |z| + i arg z, over the logarithm of the base.
template <ScalarOp op>
int logarithm(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(op, args);
  return complex_of(e, {e.apply(op, {e.apply(ScalarOp::abs, args)}),
                        e.apply(mul, {e.apply(angle, args), e.apply(op, {number(e, 2.718281828459045)})})});
}

int complex_log(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::log, args);
  return complex_of(e, {e.apply(ScalarOp::log, {e.apply(ScalarOp::abs, args)}), e.apply(angle, args)});
}

// log(1 + z) = ln |1 + z| + i arg(1 + z), where |1 + z|² = 1 + re (2 + re) + im² if z is small.
int complex_log1p(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::log1p, args);
  const auto [re, im] = parts(e, args[0]);
  const int above = e.apply(add, {re, number(e, 1)}), half = number(e, 0.5);
  const int square_less_1 = e.apply(ScalarOp::fma, {re, e.apply(add, {re, number(e, 2)}), e.apply(square, {im})});
  const int of_small = e.apply(mul, {half, e.apply(ScalarOp::log1p, {square_less_1})});
  const int of_large = e.apply(ScalarOp::log, {e.apply(hypot, {above, im})});
  const int small = e.apply(less, {e.apply(ScalarOp::abs, args), half});
  return complex_of(e, {e.apply(select, {small, of_small, of_large}), e.apply(ScalarOp::atan2, {im, above})});
}

// The square root of a complex number: with w = sqrt((|z| + |re|) / 2), w and |im| / 2w are its parts.
int square_root(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::sqrt, args);
  const auto [re, im] = parts(e, args[0]);
  const int zero = number(e, 0), half = number(e, 0.5);
  const int sum = e.apply(add, {e.apply(ScalarOp::abs, args), e.apply(ScalarOp::abs, {re})});
  const int w = e.apply(ScalarOp::sqrt, {e.apply(mul, {sum, half})});
  const int other = e.apply(ScalarOp::div, {e.apply(mul, {e.apply(ScalarOp::abs, {im}), half}), w});
  const int is_zero = e.apply(equal, {w, zero}), right = e.apply(greater_equal, {re, zero});
  const int x = e.apply(select, {right, w, other}), y = e.apply(select, {right, other, w});
  return complex_of(
      e, {e.apply(select, {is_zero, zero, x}), e.apply(select, {is_zero, im, e.apply(ScalarOp::copysign, {y, im})})});
}

int reciprocal_root(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(rsqrt, args);
  return e.apply(reciprocal, {square_root(e, args)});
}

// Of integers with a negative exponent 0. z^w = exp(w log z), and 0^w = 0 if w is a number, 0^0 = 1.
int power(Expression& e, Args args) {
  const DType type = type_of(e, args[0]);
  if (!is_complex(type)) {
    const int raised = arithmetic<ScalarOp::pow>(e, args);
    if (!weft::is_integer(type) || !weft::is_signed(type)) return raised;
    const int none = e.constant(0, type);
    return e.apply(select, {e.apply(less, {args[1], none}), none, raised});
  }
  const int zero = e.constant(0, DType::c64), one = e.constant(1, DType::c64);
  const int raised = e.apply(ScalarOp::exp, {e.apply(mul, {args[1], complex_log(e, {args[0]})})});
  const int number = e.apply(mul, {args[1], zero});  // 0, or NaN
  const int of_zero = e.apply(select, {e.apply(equal, {args[1], zero}), one, number});
  return e.apply(select, {e.apply(equal, {args[0], zero}), of_zero, raised});
}

int exponential_less_one(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::expm1, args);
  return e.apply(sub, {e.apply(ScalarOp::exp, args), e.constant(1, DType::c64)});
}

// MLX orders complex numbers by their real parts, then by the imaginary ones.
template <ScalarOp op, bool strict>
int ordered(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(op, args);
  constexpr bool lesser = op == less || op == less_equal;
  const Complex a = parts(e, args[0]), b = parts(e, args[1]);
  const int first = e.apply(lesser ? less : greater, {a.re, b.re});
  const int second = e.apply(logical_and, {e.apply(equal, {a.re, b.re}), e.apply(op, {a.im, b.im})});
  return e.apply(logical_or, {first, second});
}

template <ScalarOp op, ScalarOp comparison>
int extreme(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(op, args);
  const int nan = e.apply(not_equal, {args[0], args[0]});
  const int first = e.apply(logical_or, {nan, ordered<comparison, true>(e, args)});
  return e.apply(select, {first, args[0], args[1]});
}

int log_add_exp(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(logaddexp, args);
  const int large = extreme<max, greater>(e, args), small = extreme<min, less>(e, args);
  const int sum = e.apply(add, {large, complex_log1p(e, {e.apply(ScalarOp::exp, {e.apply(sub, {small, large})})})});
  // Nothing is added by the logarithm of 0, nor to that of infinity.
  const double infinity = std::numeric_limits<double>::infinity();
  const int nothing = e.apply(equal, {e.apply(real, {small}), number(e, -infinity)});
  const int all = e.apply(equal, {e.apply(real, {large}), number(e, infinity)});
  return e.apply(select, {e.apply(logical_or, {nothing, all}), large, sum});
}

template <ScalarOp op>
int rounding_of_parts(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return rounding<op>(e, args);
  const auto [re, im] = parts(e, args[0]);
  return complex_of(e, {e.apply(op, {re}), e.apply(op, {im})});
}

// iz
int turned(Expression& e, int z) {
  const auto [re, im] = parts(e, z);
  return complex_of(e, {e.apply(neg, {im}), re});
}

int one(Expression& e) { return e.constant(1, DType::c64); }

// asinh z = log(z + sqrt(z² + 1))
int inverse_sinh(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::asinh, args);
  const int root = square_root(e, {e.apply(add, {e.apply(square, args), one(e)})});
  return complex_log(e, {e.apply(add, {args[0], root})});
}

// asin z = -i log(iz + sqrt(1 - z²))
int inverse_sin(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::asin, args);
  const int root = square_root(e, {e.apply(sub, {one(e), e.apply(square, args)})});
  return e.apply(neg, {turned(e, complex_log(e, {e.apply(add, {turned(e, args[0]), root})}))});
}

int inverse_cos(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::acos, args);
  return e.apply(sub, {e.constant(1.5707963267948966, DType::c64), inverse_sin(e, args)});
}

// acosh z = log(z + sqrt(z + 1) sqrt(z - 1))
int inverse_cosh(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::acosh, args);
  const int above = square_root(e, {e.apply(add, {args[0], one(e)})});
  const int below = square_root(e, {e.apply(sub, {args[0], one(e)})});
  return complex_log(e, {e.apply(add, {args[0], e.apply(mul, {above, below})})});
}

// atanh z = (log(1 + z) - log(1 - z)) / 2
int inverse_tanh(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::atanh, args);
  const int above = complex_log(e, {e.apply(add, {one(e), args[0]})});
  const int below = complex_log(e, {e.apply(sub, {one(e), args[0]})});
  return e.apply(mul, {e.apply(sub, {above, below}), e.constant(0.5, DType::c64)});
}

// atan z = -i atanh(iz)
int inverse_tan(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::atan, args);
  return e.apply(neg, {turned(e, inverse_tanh(e, {turned(e, args[0])}))});
}

struct Row {
  std::type_index primitive;
  Build build;
};

const Row kRows[] = {
    {typeid(Abs), arithmetic<ScalarOp::abs>},
    {typeid(Add), arithmetic<add>},
    {typeid(ArcCos), inverse_cos},
    {typeid(ArcCosh), inverse_cosh},
    {typeid(ArcSin), inverse_sin},
    {typeid(ArcSinh), inverse_sinh},
    {typeid(ArcTan), inverse_tan},
    {typeid(ArcTan2), plain<ScalarOp::atan2>},
    {typeid(ArcTanh), inverse_tanh},
    {typeid(BitwiseInvert), plain<bitwise_not>},
    {typeid(Ceil), rounding<ScalarOp::ceil>},
    {typeid(Conjugate), plain<conj>},
    {typeid(Cos), complex_cos},
    {typeid(Cosh), complex_cosh},
    {typeid(Divide), arithmetic<ScalarOp::div>},
    {typeid(Erf), plain<ScalarOp::erf>},
    {typeid(ErfInv), plain<erfinv>},
    {typeid(Exp), plain<ScalarOp::exp>},
    {typeid(Expm1), exponential_less_one},
    {typeid(Floor), rounding<ScalarOp::floor>},
    {typeid(FloorDivide), floored_quotient},
    {typeid(Greater), ordered<greater, true>},
    {typeid(GreaterEqual), ordered<greater_equal, false>},
    {typeid(Imag), plain<imag>},
    {typeid(Less), ordered<less, true>},
    {typeid(LessEqual), ordered<less_equal, false>},
    {typeid(Log1p), complex_log1p},
    {typeid(LogAddExp), log_add_exp},
    {typeid(LogicalAnd), plain<logical_and>},
    {typeid(LogicalNot), plain<logical_not>},
    {typeid(LogicalOr), plain<logical_or>},
    {typeid(Maximum), extreme<max, greater>},
    {typeid(Minimum), extreme<min, less>},
    {typeid(Multiply), arithmetic<mul>},
    {typeid(Negative), arithmetic<neg>},
    {typeid(NotEqual), plain<not_equal>},
    {typeid(Power), power},
    {typeid(Real), plain<real>},
    {typeid(Remainder), remainder_of},
    {typeid(Round), rounding_of_parts<ScalarOp::round>},
    {typeid(Select), plain<select>},
    {typeid(Sigmoid), plain<sigmoid>},
    {typeid(Sign), sign_of},
    {typeid(Sin), complex_sin},
    {typeid(Sinh), complex_sinh},
    {typeid(Square), arithmetic<square>},
    {typeid(Subtract), arithmetic<sub>},
    {typeid(Tan), quotient<ScalarOp::tan, complex_sin, complex_cos>},
    {typeid(Tanh), quotient<ScalarOp::tanh, complex_sinh, complex_cosh>},
};

constexpr Build kLogarithms[] = {logarithm<ScalarOp::log2>, logarithm<ScalarOp::log10>, complex_log};  // Log::Base
constexpr Build kBitwise[] = {plain<bitwise_and>, plain<bitwise_or>, plain<bitwise_xor>, plain<shift_left>,
                              plain<shift_right>};  // BitwiseBinary::Op

Build build_of(const Primitive& p) {
  static const auto rows = [] {
    std::unordered_map<std::type_index, Build> rows;
    for (const Row& row : kRows) rows.emplace(row.primitive, row.build);
    return rows;
  }();
  if (const auto* log = dynamic_cast<const Log*>(&p)) return kLogarithms[log->state()];
  if (const auto* bitwise = dynamic_cast<const BitwiseBinary*>(&p)) return kBitwise[bitwise->state()];
  if (const auto* equality = dynamic_cast<const Equal*>(&p)) return equality->state() ? nan_equal : plain<equal>;
  if (const auto* root = dynamic_cast<const Sqrt*>(&p)) return root->state() ? reciprocal_root : square_root;
  const auto row = rows.find(typeid(p));
  return row == rows.end() ? nullptr : row->second;
}

}  // namespace

Build scan_function(Scan::ReduceType type) {
  switch (type) {
    case Scan::Max:
      return extreme<max, greater>;
    case Scan::Min:
      return extreme<min, less>;
    default:
      return log_add_exp;
  }
}

bool append(Expression& e, const Primitive& primitive, const std::vector<int>& args, DType out,
            std::vector<int>& results) {
  if (typeid(primitive) == typeid(DivMod)) {
    results = {floored_quotient(e, args), remainder_of(e, args)};
  } else if (is_static_cast(primitive)) {
    results = args;
  } else if (const Build build = build_of(primitive)) {
    results = {build(e, args)};
  } else {
    return false;
  }
  for (int& result : results) {
    if (type_of(e, result) != out) result = e.cast(result, out);
  }
  return true;
}

}  // namespace mlx::core::webgpu
