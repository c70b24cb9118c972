// Primitives of single elements: unary, binary and ternary ones, and the expressions that MLX's compile() makes of
// them.
#include <weft/expression.h>

#include <typeindex>
#include <unordered_map>

#include "call.h"
#include "map_in_parts.h"
#include "mlx/backend/common/binary.h"
#include "mlx/backend/common/compiled.h"
#include "mlx/backend/common/ternary.h"
#include "mlx/backend/common/unary.h"

namespace mlx::core {
namespace webgpu {
namespace {

using weft::DType;
using weft::Expression;
using enum weft::ScalarOp;
using weft::ScalarOp;

bool is_complex(DType type) { return type == DType::c64; }

DType type_of(const Expression& e, int node) { return e.nodes()[node].type; }

// ---- Functions of complex numbers, of their parts.

struct Complex {
  int re, im;
};

Complex parts(Expression& e, int z) { return {e.apply(real, {z}), e.apply(imag, {z})}; }

int complex_of(Expression& e, Complex z) { return e.apply(weft::ScalarOp::complex, {z.re, z.im}); }

int number(Expression& e, double value) { return e.constant(value, DType::f32); }

// ---- What MLX's functions are of Weft's.

using Args = const std::vector<int>&;
using Build = int (*)(Expression&, Args);

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

// The sign of a complex number is z / |z|, and 0 of 0.
int sign_of(Expression& e, Args args) {
  const DType type = type_of(e, args[0]);
  if (type == DType::boolean) return args[0];
  if (!is_complex(type)) return e.apply(sign, args);
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

int complex_log1p(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return e.apply(ScalarOp::log1p, args);
  return complex_log(e, {e.apply(add, {args[0], e.constant(1, DType::c64)})});
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

// z^w = exp(w log z), and 0^w = 0, 0^0 = 1.
int power(Expression& e, Args args) {
  if (!is_complex(type_of(e, args[0]))) return arithmetic<ScalarOp::pow>(e, args);
  const int zero = e.constant(0, DType::c64), one = e.constant(1, DType::c64);
  const int raised = e.apply(ScalarOp::exp, {e.apply(mul, {args[1], complex_log(e, {args[0]})})});
  const int of_zero = e.apply(select, {e.apply(equal, {args[1], zero}), one, zero});
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
  return e.apply(add, {large, complex_log1p(e, {e.apply(ScalarOp::exp, {e.apply(sub, {small, large})})})});
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
    {typeid(Cos), complex_cos},
    {typeid(Cosh), complex_cosh},
    {typeid(Divide), arithmetic<ScalarOp::div>},
    {typeid(Erf), plain<ScalarOp::erf>},
    {typeid(ErfInv), plain<erfinv>},
    {typeid(Exp), plain<ScalarOp::exp>},
    {typeid(Expm1), exponential_less_one},
    {typeid(Floor), rounding<ScalarOp::floor>},
    {typeid(FloorDivide), arithmetic<floor_divide>},
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
    {typeid(Remainder), arithmetic<ScalarOp::remainder>},
    {typeid(Round), rounding<ScalarOp::round>},
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

// Adds what a primitive computes of single elements to an expression: `args` are nodes, the results have type `out`.
// False if it is no such primitive.
bool append(Expression& e, const Primitive& primitive, const std::vector<int>& args, DType out,
            std::vector<int>& results) {
  if (typeid(primitive) == typeid(DivMod)) {
    results = {arithmetic<floor_divide>(e, args), arithmetic<ScalarOp::remainder>(e, args)};
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

// Records the expression over lists of elements of one shape, the results' behind those of the inputs.
void record(const Expression& e, const std::vector<array>& inputs, std::vector<array>& outputs,
            std::vector<Elements> lists) {
  collapse(lists);
  Call call;
  std::vector<weft::View> in, out;
  for (size_t i = 0; i < inputs.size(); ++i) in.push_back(call.in_or_number(inputs[i], lists[i]));
  for (size_t i = 0; i < outputs.size(); ++i) out.push_back(call.out(outputs[i], lists[inputs.size() + i]));
  map_in_parts(call, e, in, out);
}

// The elements of arrays that an output without gaps is computed of: as they lie in memory if each has them in the
// output's order or is one element, else by their strides.
std::vector<Elements> elements_for(const std::vector<array>& inputs, const std::vector<array>& outputs) {
  const array& out = outputs.front();
  bool flat = true;
  for (const array& in : inputs) {
    flat &= in.data_size() == 1 ||
            (in.data_size() == out.data_size() && in.flags().contiguous && in.strides() == out.strides());
  }
  std::vector<Elements> lists;
  for (const array& in : inputs) {
    if (!flat) {
      lists.push_back(Elements::of(in));
    } else if (in.data_size() == 1) {
      lists.push_back({{static_cast<ShapeElem>(out.data_size())}, {0}, in.offset()});
    } else {
      lists.push_back(Elements::flat(in));
    }
  }
  for (const array& result : outputs) lists.push_back(flat ? Elements::flat(result) : Elements::of(result));
  return lists;
}

Expression expression_of(const Primitive& primitive, const std::vector<array>& inputs, DType out) {
  Expression e;
  std::vector<int> args, results;
  for (const array& in : inputs) args.push_back(e.input(dtype(in.dtype())));
  append(e, primitive, args, out, results);
  for (const int result : results) e.output(result);
  return e;
}

void allocate_for(const std::vector<array>& inputs, array& out) {
  if (inputs.size() == 1) {
    set_unary_output_data(inputs[0], out);
  } else if (inputs.size() == 2) {
    set_binary_op_output_data(inputs[0], inputs[1], out, get_binary_op_type(inputs[0], inputs[1]));
  } else {
    set_ternary_op_output_data(inputs[0], inputs[1], inputs[2], out,
                               get_ternary_op_type(inputs[0], inputs[1], inputs[2]));
  }
  refuse_donation(out, inputs);
}

void elementwise(const Primitive& primitive, const std::vector<array>& inputs, array& out) {
  if (out.size() == 0) return allocate(out);
  allocate_for(inputs, out);
  std::vector<array> outputs{out};
  record(expression_of(primitive, inputs, dtype(out.dtype())), inputs, outputs, elements_for(inputs, outputs));
}

}  // namespace

}  // namespace webgpu

#define WEFT_ELEMENTWISE(Primitive) \
  void Primitive::eval_gpu(const std::vector<array>& inputs, array& out) { webgpu::elementwise(*this, inputs, out); }

WEFT_ELEMENTWISE(Abs)
WEFT_ELEMENTWISE(Add)
WEFT_ELEMENTWISE(ArcCos)
WEFT_ELEMENTWISE(ArcCosh)
WEFT_ELEMENTWISE(ArcSin)
WEFT_ELEMENTWISE(ArcSinh)
WEFT_ELEMENTWISE(ArcTan)
WEFT_ELEMENTWISE(ArcTan2)
WEFT_ELEMENTWISE(ArcTanh)
WEFT_ELEMENTWISE(BitwiseBinary)
WEFT_ELEMENTWISE(BitwiseInvert)
WEFT_ELEMENTWISE(Ceil)
WEFT_ELEMENTWISE(Conjugate)
WEFT_ELEMENTWISE(Cos)
WEFT_ELEMENTWISE(Cosh)
WEFT_ELEMENTWISE(Divide)
WEFT_ELEMENTWISE(Equal)
WEFT_ELEMENTWISE(Erf)
WEFT_ELEMENTWISE(ErfInv)
WEFT_ELEMENTWISE(Exp)
WEFT_ELEMENTWISE(Expm1)
WEFT_ELEMENTWISE(Floor)
WEFT_ELEMENTWISE(FloorDivide)
WEFT_ELEMENTWISE(Greater)
WEFT_ELEMENTWISE(GreaterEqual)
WEFT_ELEMENTWISE(Imag)
WEFT_ELEMENTWISE(Less)
WEFT_ELEMENTWISE(LessEqual)
WEFT_ELEMENTWISE(Log)
WEFT_ELEMENTWISE(Log1p)
WEFT_ELEMENTWISE(LogAddExp)
WEFT_ELEMENTWISE(LogicalAnd)
WEFT_ELEMENTWISE(LogicalNot)
WEFT_ELEMENTWISE(LogicalOr)
WEFT_ELEMENTWISE(Maximum)
WEFT_ELEMENTWISE(Minimum)
WEFT_ELEMENTWISE(Multiply)
WEFT_ELEMENTWISE(Negative)
WEFT_ELEMENTWISE(NotEqual)
WEFT_ELEMENTWISE(Power)
WEFT_ELEMENTWISE(Real)
WEFT_ELEMENTWISE(Remainder)
WEFT_ELEMENTWISE(Round)
WEFT_ELEMENTWISE(Select)
WEFT_ELEMENTWISE(Sigmoid)
WEFT_ELEMENTWISE(Sign)
WEFT_ELEMENTWISE(Sin)
WEFT_ELEMENTWISE(Sinh)
WEFT_ELEMENTWISE(Sqrt)
WEFT_ELEMENTWISE(Square)
WEFT_ELEMENTWISE(Subtract)
WEFT_ELEMENTWISE(Tan)
WEFT_ELEMENTWISE(Tanh)
#undef WEFT_ELEMENTWISE

void DivMod::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  using namespace webgpu;
  if (outputs[0].size() == 0) {
    for (array& out : outputs) allocate(out);
    return;
  }
  // Both results are written at once, so neither has the memory of an operand.
  for (array& out : outputs) allocate(out);
  record(expression_of(*this, inputs, dtype(outputs[0].dtype())), inputs, outputs, elements_for(inputs, outputs));
}

void Compiled::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  using namespace webgpu;
  weft::Expression e;
  std::unordered_map<uintptr_t, int> nodes;
  for (const array& in : inputs_) nodes[in.id()] = e.input(dtype(in.dtype()));
  for (const array& a : tape_) {
    std::vector<int> args, results;
    for (const array& in : a.inputs()) args.push_back(nodes.at(in.id()));
    if (typeid(a.primitive()) == typeid(Broadcast)) args.resize(1);
    if (!append(e, a.primitive(), args, dtype(a.dtype()), results)) {
      throw std::runtime_error(std::string("[Compiled::eval_gpu] ") + a.primitive().name() + " is not supported.");
    }
    // Each operation rounds to the type that MLX gives it.
    const auto all = a.outputs();
    for (size_t i = 0; i < all.size(); ++i) nodes[all[i].id()] = e.round(results[i]);
  }
  for (const array& out : outputs_) e.output(nodes.at(out.id()));
  for (array& out : outputs) allocate(out);
  if (outputs[0].size() == 0) return;
  std::vector<Elements> lists;
  for (const array& in : inputs) {
    // Scalars and smaller arrays broadcast to the outputs.
    Strides strides(outputs[0].ndim(), 0);
    const int missing = outputs[0].ndim() - in.ndim();
    for (int i = 0; i < in.ndim(); ++i) strides[missing + i] = in.shape(i) == 1 ? 0 : in.strides()[i];
    lists.push_back({outputs[0].shape(), strides, in.offset()});
  }
  for (const array& out : outputs) lists.push_back(Elements::of(out));
  record(e, inputs, outputs, lists);
}

}  // namespace mlx::core
