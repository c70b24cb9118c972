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

// Of integers with a negative exponent 0. Of complex numbers 0^w is 0 for any number w but 0, where Weft has NaN.
int power(Expression& e, Args args) {
  const DType type = type_of(e, args[0]);
  if (is_complex(type)) {
    const int zero = e.constant(0, type), number = e.apply(mul, {args[1], zero});  // 0, or NaN
    const int of_zero = e.apply(select, {e.apply(equal, {args[1], zero}), e.constant(1, type), number});
    return e.apply(select, {e.apply(equal, {args[0], zero}), of_zero, e.apply(ScalarOp::pow, args)});
  }
  const int raised = arithmetic<ScalarOp::pow>(e, args);
  if (!weft::is_integer(type) || !weft::is_signed(type)) return raised;
  const int none = e.constant(0, type);
  return e.apply(select, {e.apply(less, {args[1], none}), none, raised});
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
  const int sum = e.apply(add, {large, e.apply(ScalarOp::log1p, {e.apply(ScalarOp::exp, {e.apply(sub, {small, large})})})});
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

struct Row {
  std::type_index primitive;
  Build build;
};

const Row kRows[] = {
    {typeid(Abs), arithmetic<ScalarOp::abs>},
    {typeid(Add), arithmetic<add>},
    {typeid(ArcCos), plain<ScalarOp::acos>},
    {typeid(ArcCosh), plain<ScalarOp::acosh>},
    {typeid(ArcSin), plain<ScalarOp::asin>},
    {typeid(ArcSinh), plain<ScalarOp::asinh>},
    {typeid(ArcTan), plain<ScalarOp::atan>},
    {typeid(ArcTan2), plain<ScalarOp::atan2>},
    {typeid(ArcTanh), plain<ScalarOp::atanh>},
    {typeid(BitwiseInvert), plain<bitwise_not>},
    {typeid(Ceil), rounding<ScalarOp::ceil>},
    {typeid(Conjugate), plain<conj>},
    {typeid(Cos), plain<ScalarOp::cos>},
    {typeid(Cosh), plain<ScalarOp::cosh>},
    {typeid(Divide), arithmetic<ScalarOp::div>},
    {typeid(Erf), plain<ScalarOp::erf>},
    {typeid(ErfInv), plain<erfinv>},
    {typeid(Exp), plain<ScalarOp::exp>},
    {typeid(Expm1), plain<ScalarOp::expm1>},
    {typeid(Floor), rounding<ScalarOp::floor>},
    {typeid(FloorDivide), floored_quotient},
    {typeid(Greater), ordered<greater, true>},
    {typeid(GreaterEqual), ordered<greater_equal, false>},
    {typeid(Imag), plain<imag>},
    {typeid(Less), ordered<less, true>},
    {typeid(LessEqual), ordered<less_equal, false>},
    {typeid(Log1p), plain<ScalarOp::log1p>},
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
    {typeid(Sin), plain<ScalarOp::sin>},
    {typeid(Sinh), plain<ScalarOp::sinh>},
    {typeid(Square), arithmetic<square>},
    {typeid(Subtract), arithmetic<sub>},
    {typeid(Tan), plain<ScalarOp::tan>},
    {typeid(Tanh), plain<ScalarOp::tanh>},
};

constexpr Build kLogarithms[] = {plain<ScalarOp::log2>, plain<ScalarOp::log10>, plain<ScalarOp::log>};  // Log::Base
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
  if (const auto* root = dynamic_cast<const Sqrt*>(&p)) return root->state() ? plain<rsqrt> : plain<ScalarOp::sqrt>;
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
