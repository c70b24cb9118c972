// Graphs of operations on typed tensors. Functions such as matmul(a, b) make a tensor that is to be computed; a Graph
// names the inputs and outputs of what the compiler turns into an Executable (weft/compile.h). Making a tensor computes
// nothing; its shape and type are inferred and checked at once, so that an error points at the line that caused it.
// Tensors may be shared by several graphs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weft/dtype.h"
#include "weft/expressions.h"
#include "weft/kernels/attention.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/index.h"
#include "weft/kernels/pad.h"
#include "weft/kernels/reduce.h"
#include "weft/kernels/scan.h"
#include "weft/label.h"
#include "weft/shape.h"
#include "weft/tensor.h"
#include "weft/tensor_data.h"
#include "weft/tensor_type.h"

namespace weft {

using kernels::PadMode;
using kernels::ReduceKind;
using kernels::ScanKind;
using kernels::ScatterKind;
using kernels::Triangle;

class Graph {
 public:
  // The name is for messages.
  explicit Graph(std::string name = {});
  ~Graph();
  // A copy has the same tensors. A graph that was moved from can be assigned to; everything else on it throws
  // InvalidArgument.
  Graph(const Graph& other);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph other) noexcept;

  // Names are unique among inputs, among numbers, and among outputs: another one throws InvalidArgument.

  // A tensor of this type and shape that each run is given by its name. Throws ShapeError for negative sizes.
  Tensor input(std::string name, DType dtype, const Shape& shape);
  // A number, of shape [], that each run is given: it travels in the calls' parameters, so that no kernel, plan or
  // executable depends on its value. Of any type of 8 bits or more, else InvalidArgument.
  Tensor number(std::string name, DType dtype = DType::f32);
  // A value that each run gives by this name. It may be an input or a constant, and have several names. Throws
  // InvalidArgument for an undefined Tensor.
  void output(std::string name, const Tensor& value);
  // A tensor of these values, whose memory it keeps (TensorData::owner); the name is for messages. Constants belong to
  // no graph.
  static Tensor constant(TensorData tensor, std::string name = {});
  // A constant of shape [] of the element of `dtype` nearest to the number: fractions of integers are cut off, values
  // out of range saturate.
  static Tensor scalar(Number value, DType dtype);

  // The name that the constructor was given.
  const std::string& name() const;
  // Its inputs, numbers and outputs, in the order in which it got them.
  struct Port {
    std::string name;
    TensorType type;
  };
  std::vector<Port> inputs() const;
  std::vector<Port> numbers() const;
  std::vector<Port> outputs() const;

  // The same graph on inputs of these shapes: a new one; inputs that are not named keep theirs. Every operation infers
  // its result anew from its attributes, also in branches and loops, so a graph has other shapes as far as it was
  // recorded by rules: -1 in reshape(), expand_dims(), squeeze(), flatten_axes(), unflatten(), flip(), slices of x[…]
  // up to the end. Sizes that are numbers in it stay: the shape of a broadcast_to() or zeros_like(), the end of a
  // slice(), what a program computed of x.shape(), such as a count that it divides by; and what it left out because it
  // changed nothing, such as a slice of a whole axis, stays left out. Most such graphs are refused, as an operation
  // does not fit, but not all: fft() transforms as many elements as before, quantile(), median(), cov(), gradient(),
  // trapezoid(), updates of parts (x.set()) and derivatives (grad(), vjp()) of slices and sums are for the sizes that
  // they were recorded with. Throws InvalidArgument for a name that no input has, or that is given twice; ShapeError
  // for another number of axes or negative sizes, and where an operation does not take the new shapes, or would
  // broadcast one element to a tensor of the program's own that had as many as it: it names the operation and its label
  // or line; Unsupported for what optimized() returns, whose views are numbers.
  //
  //   Graph one = graph.with_shapes({{"x", {1, 128, 384}}});
  Graph with_shapes(std::span<const NamedShape> shapes) const;
  Graph with_shapes(std::initializer_list<NamedShape> shapes) const {
    return with_shapes(std::span(shapes.begin(), shapes.size()));
  }

  // Text of the whole graph, a node a line, in an order in which it can be computed.
  std::string to_string() const;
  // Graphviz source: what `weft graph` draws.
  std::string to_dot() const;
  // A number that equal graphs have in common, by which a table finds them.
  std::uint64_t hash() const;
  // Whether both have the same structure, types, attributes, names of inputs, numbers and outputs, and the very same
  // constants: equal graphs compile to the same executable. What is shared in one graph is shared in an equal one:
  // f(a, a) is not f(a, b).
  bool equals(const Graph& other) const;
  // Throws InternalError if a node's recorded types are not what its op infers, or an operand is not before its use.
  // The compiler runs it after every pass in debug builds and tests.
  void verify() const;

  struct Impl;  // src/graph
  Impl& impl() const;

 private:
  std::unique_ptr<Impl> impl_;
};

// ---- Elementwise operations. Operands broadcast by NumPy's rules: shapes are aligned at their last axes, and an axis
// of size 1, or one that is missing in front, is repeated. The types of operands are promoted to one by result_type(),
// in which a C++ number counts by its kind alone. Arithmetic of integers wraps at the width of their type; f16, bf16
// and 8-bit floats are computed in f32 and rounded when they are stored; NaN gives NaN where nothing else is said; a
// GPU may take denormal numbers for 0. All throw InvalidArgument (an undefined Tensor), ShapeError (shapes that do not
// broadcast) and TypeError (types without a common one, a type that the function does not take, an integer out of the
// range of the integer type that it takes).

// The scalar operation `op`, which takes one operand, of each element: unary(ScalarOp::exp, x) is exp(x). Types are
// those of the function of that name. Throws InvalidArgument for an operation of more operands, and for ScalarOp::cast
// (see cast()).
Tensor unary(ScalarOp op, const Operand& x);
// The scalar operation `op` of each pair of elements: binary(ScalarOp::add, a, b) is a + b. Types are those of the
// function or operator of that name. Throws InvalidArgument for an operation of another number of operands.
Tensor binary(ScalarOp op, const TensorLike& a, const TensorLike& b);
// The scalar operation `op` of each triple of elements: ternary(ScalarOp::fma, a, b, c) is fma(a, b, c). Types are
// those of the function of that name. Throws InvalidArgument for an operation of another number of operands.
Tensor ternary(ScalarOp op, const TensorLike& a, const TensorLike& b, const TensorLike& c);
// The element of if_true where the condition is true, else that of if_false: NumPy's and PyTorch's where. The condition
// is a bool tensor; the values are of any type and are promoted. The value that is not chosen, NaN too, has no effect.
// Throws TypeError if the condition is not bool.
Tensor select(const Operand& condition, const TensorLike& if_true, const TensorLike& if_false);
// x converted to another type, NumPy's astype; x itself if it has that type. Floats become narrower ones rounded to
// nearest even, and integers by cutting off the fraction: values out of range saturate, NaN becomes 0. Integers become
// narrower ones by keeping their low bits. bool is true for all but 0 (true for NaN), and becomes 0 or 1. Of a complex
// number the real part is kept; to c64 the imaginary part is 0.
Tensor cast(const Operand& x, DType dtype);
// Any elementwise function by its name, as weft/expressions.h lists them, with its parameters:
// elementwise("leaky_relu", {x}, {0.2}). Parameters that are left out at the end take their defaults. The operands
// broadcast, but nothing is promoted: their types must be ones that the function takes. Throws InvalidArgument (an
// unknown name, a wrong number of operands or parameters).
Tensor elementwise(std::string_view name, std::span<const Tensor> operands, std::span<const double> parameters = {});
// The same of a list in braces.
Tensor elementwise(std::string_view name, std::initializer_list<Tensor> operands,
                   std::initializer_list<double> parameters = {});

// The type that values of these types have in common, by the promotion table of the Python array API standard 2025.12,
// and where that is silent as PyTorch does it: an integer or bool beside a float or complex takes its type; bool beside
// an integer too. f16 and bf16 give f32; an 8-bit float gives the wider float. Throws TypeError for u64 beside a signed
// integer, different 8-bit floats, f64 beside c64, and packed types beside others.
DType result_type(DType a, DType b);
// With numbers as weak operands: a number takes the tensors' type if that can hold its kind, else bool becomes i32 and
// integers become f32. Numbers alone: bool, i32 or f32.
DType result_type(std::span<const TensorLike> operands);
// The same of a list in braces.
DType result_type(std::initializer_list<TensorLike> operands);

// ---- Operators. Those of numbers throw TypeError for bool operands.

// The negative, neg(x).
inline Tensor operator-(const Operand& x) { return unary(ScalarOp::neg, x); }
// x itself, of any type.
inline Tensor operator+(const Operand& x) { return x; }
// All bits inverted, bitwise_not(x).
inline Tensor operator~(const Operand& x) { return unary(ScalarOp::bitwise_not, x); }
// True where x is false, logical_not(x).
inline Tensor operator!(const Operand& x) { return unary(ScalarOp::logical_not, x); }

#define WEFT_BINARY_OPERATOR(symbol, op)                                                                      \
  inline Tensor operator symbol(const Operand& a, const TensorLike& b) { return binary(ScalarOp::op, a, b); } \
  template <class T>                                                                                          \
    requires std::is_arithmetic_v<T>                                                                          \
  Tensor operator symbol(T a, const Operand& b) {                                                             \
    return binary(ScalarOp::op, a, b);                                                                        \
  }
// + - and * also take c64. Comparisons give bool tensors: same(a, b) asks whether two handles are one tensor.
WEFT_BINARY_OPERATOR(+, add)  // the sum
WEFT_BINARY_OPERATOR(-, sub)  // the difference
WEFT_BINARY_OPERATOR(*, mul)  // the product of elements; of matrices: matmul()
// The quotient. Of integers it is cut off towards zero as in C++ (divide() gives fractions, floor_divide() rounds
// down), x / 0 is 0, and the least integer divided by -1 is itself. Of floats it is within 3 ULP (div_rn() is exact),
// and x / 0 is an infinity, 0 / 0 NaN. Also of c64.
WEFT_BINARY_OPERATOR(/, div)
WEFT_BINARY_OPERATOR(%, rem)             // rem(a, b), with the sign of a as in C++; remainder() is Python's %
WEFT_BINARY_OPERATOR(&, bitwise_and)     // the bits that are set in both, of integers and bool; as are the next two
WEFT_BINARY_OPERATOR(|, bitwise_or)      // the bits that are set in either
WEFT_BINARY_OPERATOR(^, bitwise_xor)     // the bits that are set in exactly one
WEFT_BINARY_OPERATOR(<<, shift_left)     // a · 2^b modulo 2^width; 0 if b is the width or more
WEFT_BINARY_OPERATOR(>>, shift_right)    // ⌊a / 2^b⌋, with the sign of a
WEFT_BINARY_OPERATOR(<, less)            // true where a is less than b; false for NaN
WEFT_BINARY_OPERATOR(<=, less_equal)     // true where a is less than or equal to b; false for NaN
WEFT_BINARY_OPERATOR(>, greater)         // true where a is greater than b; false for NaN
WEFT_BINARY_OPERATOR(>=, greater_equal)  // true where a is greater than or equal to b; false for NaN
WEFT_BINARY_OPERATOR(==, equal)          // true where they are equal, as -0 and +0 are; NaN equals nothing
WEFT_BINARY_OPERATOR(!=, not_equal)      // true where they are not equal, also where one is NaN
#undef WEFT_BINARY_OPERATOR
// x == 3 fits these as exactly as 3 == x fits those above, which compilers from before the paper P2468 (GCC 12) would
// otherwise take with exchanged operands.
template <class T>
  requires std::is_arithmetic_v<T>
Tensor operator==(const Operand& a, T b) {
  return binary(ScalarOp::equal, a, b);
}
// The same of !=.
template <class T>
  requires std::is_arithmetic_v<T>
Tensor operator!=(const Operand& a, T b) {
  return binary(ScalarOp::not_equal, a, b);
}

// ---- Arithmetic. Of floats and integers, with a result of their (common) type, where nothing else is said; bool and
// c64 are then a TypeError.

// -x; of integers modulo 2^width, so that the least signed one is its own negative. Also of c64. NumPy's negative.
inline Tensor neg(const Operand& x) { return unary(ScalarOp::neg, x); }
// The magnitude |x|; the least signed integer stays what it is. Of c64: sqrt(re² + im²), as f32. NumPy's absolute.
inline Tensor abs(const Operand& x) { return unary(ScalarOp::abs, x); }
// -1, 0 or 1 in x's type: +0 for ±0, NaN for NaN.
inline Tensor sign(const Operand& x) { return unary(ScalarOp::sign, x); }
// x · x. Also of c64.
inline Tensor square(const Operand& x) { return unary(ScalarOp::square, x); }
// 1 / x, of floats and c64; integers and bool are computed as f32 (NumPy cuts the fraction off). Of floats 1 / ±0 is
// ±infinity.
inline Tensor reciprocal(const Operand& x) { return unary(ScalarOp::reciprocal, x); }
// a / b rounded to the nearest float, ties to even, also where operands or result are denormal: as IEEE 754 and CUDA's
// __fdiv_rn have it, where operator/ may be off by 3 ULP. Of floats; integers and bool are computed as f32. x / 0 is an
// infinity, 0 / 0 NaN.
inline Tensor div_rn(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::div_rn, a, b); }
// ⌊a / b⌋, Python's //: the quotient that belongs to remainder(a, b). Of floats it is exact below 2^21 and above as
// exact as division is, x / 0 is an infinity and 0 / 0 NaN; of integers x / 0 is 0.
inline Tensor floor_divide(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::floor_divide, a, b); }
// What is left of a after division by b with the quotient cut off, a - b · trunc(a / b), exactly: it has the sign of a.
// NumPy's and C's fmod. By 0 it is NaN, of integers 0; a by an infinity is a; an infinity by b is NaN.
inline Tensor rem(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::rem, a, b); }
// a - b · ⌊a / b⌋: it has the sign of b, also where it is 0. Python's %, NumPy's remainder and mod. Of floats it is
// rounded once. By 0 it is NaN, of integers 0.
inline Tensor remainder(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::remainder, a, b); }
// a to the power b, NumPy's power. Powers to integers that the type represents are exact. Of floats pow(x, 0) and
// pow(1, x) are 1, for NaN too; a finite negative a with a fraction for b is NaN. Integers wrap; with a negative
// exponent they are 0, or ±1 for a = ±1, where NumPy throws. Also of c64: exp(b log(a)), and to integers of up to ±64 a
// product; 0 to the power b is 0 if b's real part is positive, 1 of b = 0, else NaN.
inline Tensor pow(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::pow, a, b); }
// The lesser of a and b; NaN if one of them is, and -0 is less than +0. Also of bool.
inline Tensor minimum(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::min, a, b); }
// The greater of a and b; NaN if one of them is, and +0 is greater than -0. Also of bool.
inline Tensor maximum(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::max, a, b); }
// The lesser of a and b; if one of them is NaN the other one, as in C. -0 is less than +0. Also of bool.
inline Tensor fmin(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::fmin, a, b); }
// The greater of a and b; if one of them is NaN the other one, as in C. +0 is greater than -0. Also of bool.
inline Tensor fmax(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::fmax, a, b); }
// x, but no less than low and no greater than high: min(max(x, low), high), which is high where low > high. NaN if one
// of the three is NaN. The bounds are numbers or tensors, which broadcast. NumPy's clip.
inline Tensor clamp(const TensorLike& x, const TensorLike& low, const TensorLike& high) {
  return ternary(ScalarOp::clamp, x, low, high);
}
// a · b + c. Of floats it may be rounded once or twice, as the device prefers. Also of c64.
inline Tensor fma(const TensorLike& a, const TensorLike& b, const TensorLike& c) {
  return ternary(ScalarOp::fma, a, b, c);
}
// Linear interpolation, a + t · (b - a), exactly a at t = 0 and b at t = 1; t may be outside of [0, 1]. Of floats;
// integers and bool are computed as f32.
inline Tensor lerp(const TensorLike& a, const TensorLike& b, const TensorLike& t) {
  return ternary(ScalarOp::lerp, a, b, t);
}
// The greatest common divisor of |a| and |b|, of integers alone; gcd(0, x) = |x|.
inline Tensor gcd(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::gcd, a, b); }
// The least common multiple of |a| and |b|, of integers alone, modulo 2^width; 0 if one of them is 0.
inline Tensor lcm(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::lcm, a, b); }

// ---- Rounding to integers. Floats keep their type, NaN, infinities and the sign of zeros; integers are returned as
// they are, and bool is computed as f32. c64 is a TypeError.

// The least integer that is not less than x.
inline Tensor ceil(const Operand& x) { return unary(ScalarOp::ceil, x); }
// The greatest integer that is not greater than x.
inline Tensor floor(const Operand& x) { return unary(ScalarOp::floor, x); }
// x without its fraction: the nearest integer that is not larger in magnitude.
inline Tensor trunc(const Operand& x) { return unary(ScalarOp::trunc, x); }
// The nearest integer, of two the even one: 2.5 gives 2. NumPy's rint and round, PyTorch's round.
inline Tensor round(const Operand& x) { return unary(ScalarOp::round, x); }

// ---- Roots, exponentials and other functions of floats. The result has the operands' float type; integers and bool
// are computed as f32. Errors are within 4 ULP of f32 (near the zeros of lgamma, digamma and logaddexp 4 ULP of 1); of
// narrower floats 2^-14 of the result, of bf16 2^-12, before it is rounded. sqrt, rsqrt, exp, expm1, the logarithms and
// the trigonometric and hyperbolic functions and their inverses also take c64, with NumPy's branch cuts and special
// values, within 2e-6 of the result's magnitude; c64 of others is a TypeError. What the comments say of real arguments
// outside of an interval is said of floats.

// The square root: -0 of -0, NaN of negative numbers.
inline Tensor sqrt(const Operand& x) { return unary(ScalarOp::sqrt, x); }
// 1 / sqrt(x): infinity of +0, NaN of negative numbers.
inline Tensor rsqrt(const Operand& x) { return unary(ScalarOp::rsqrt, x); }
// The real cube root, negative of negative numbers.
inline Tensor cbrt(const Operand& x) { return unary(ScalarOp::cbrt, x); }
// e to the power x. Also of c64: exp(re) · (cos(im) + i sin(im)).
inline Tensor exp(const Operand& x) { return unary(ScalarOp::exp, x); }
// 2 to the power x.
inline Tensor exp2(const Operand& x) { return unary(ScalarOp::exp2, x); }
// exp(x) - 1, without the digits that the difference would lose where x is near 0; -1 of -infinity.
inline Tensor expm1(const Operand& x) { return unary(ScalarOp::expm1, x); }
// The natural logarithm: -infinity of ±0, NaN of negative numbers.
inline Tensor log(const Operand& x) { return unary(ScalarOp::log, x); }
// The logarithm to base 2: -infinity of ±0, NaN of negative numbers.
inline Tensor log2(const Operand& x) { return unary(ScalarOp::log2, x); }
// The logarithm to base 10: -infinity of ±0, NaN of negative numbers.
inline Tensor log10(const Operand& x) { return unary(ScalarOp::log10, x); }
// log(1 + x), without the digits that the sum would lose where x is near 0: -infinity of -1, NaN below.
inline Tensor log1p(const Operand& x) { return unary(ScalarOp::log1p, x); }
// The sine of x radians, of any finite x; NaN of infinities.
inline Tensor sin(const Operand& x) { return unary(ScalarOp::sin, x); }
// The cosine of x radians, of any finite x; NaN of infinities.
inline Tensor cos(const Operand& x) { return unary(ScalarOp::cos, x); }
// The tangent of x radians, of any finite x; NaN of infinities.
inline Tensor tan(const Operand& x) { return unary(ScalarOp::tan, x); }
// The arc sine, in [-π/2, π/2]; NaN outside of [-1, 1]. NumPy's arcsin.
inline Tensor asin(const Operand& x) { return unary(ScalarOp::asin, x); }
// The arc cosine, in [0, π]; NaN outside of [-1, 1]. NumPy's arccos.
inline Tensor acos(const Operand& x) { return unary(ScalarOp::acos, x); }
// The arc tangent, in [-π/2, π/2], which infinities reach. NumPy's arctan.
inline Tensor atan(const Operand& x) { return unary(ScalarOp::atan, x); }
// The hyperbolic sine, (exp(x) - exp(-x)) / 2.
inline Tensor sinh(const Operand& x) { return unary(ScalarOp::sinh, x); }
// The hyperbolic cosine, (exp(x) + exp(-x)) / 2.
inline Tensor cosh(const Operand& x) { return unary(ScalarOp::cosh, x); }
// The hyperbolic tangent, sinh(x) / cosh(x): ±1 at infinities.
inline Tensor tanh(const Operand& x) { return unary(ScalarOp::tanh, x); }
// The inverse of sinh, log(x + sqrt(x² + 1)). NumPy's arcsinh.
inline Tensor asinh(const Operand& x) { return unary(ScalarOp::asinh, x); }
// The inverse of cosh, log(x + sqrt(x² - 1)); NaN below 1. NumPy's arccosh.
inline Tensor acosh(const Operand& x) { return unary(ScalarOp::acosh, x); }
// The inverse of tanh: ±infinity at ±1, NaN outside of [-1, 1]. NumPy's arctanh.
inline Tensor atanh(const Operand& x) { return unary(ScalarOp::atanh, x); }
// The error function, 2/√π times the integral of exp(-t²) from 0 to x. SciPy's erf.
inline Tensor erf(const Operand& x) { return unary(ScalarOp::erf, x); }
// 1 - erf(x), without the digits that the difference would lose where erf(x) is near 1. SciPy's erfc.
inline Tensor erfc(const Operand& x) { return unary(ScalarOp::erfc, x); }
// The z with erf(z) = x: ±infinity at ±1, NaN outside of [-1, 1]. SciPy's erfinv.
inline Tensor erfinv(const Operand& x) { return unary(ScalarOp::erfinv, x); }
// The natural logarithm of |Γ(x)|: infinity at 0 and at negative integers. SciPy's gammaln.
inline Tensor lgamma(const Operand& x) { return unary(ScalarOp::lgamma, x); }
// The derivative of log Γ(x): ∓infinity at ±0, NaN at negative integers. SciPy's psi.
inline Tensor digamma(const Operand& x) { return unary(ScalarOp::digamma, x); }
// The angle of the point with y = a and x = b, in [-π, π], by the signs of both. NumPy's arctan2.
inline Tensor atan2(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::atan2, a, b); }
// sqrt(a² + b²), without overflow of the squares.
inline Tensor hypot(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::hypot, a, b); }
// The magnitude of a with the sign of b, also of zeros and NaN.
inline Tensor copysign(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::copysign, a, b); }
// The float next to a in the direction of b, in the operands' own type; NaN if one is NaN.
inline Tensor nextafter(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::nextafter, a, b); }
// log(exp(a) + exp(b)), without overflow of the exponentials.
inline Tensor logaddexp(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::logaddexp, a, b); }

// ---- Activations of neural networks. Of floats; NaN gives NaN. Integers and bool are computed as f32, c64 is a
// TypeError.

enum class Gelu : std::uint8_t {
  erf,    // x / 2 · (1 + erf(x / √2)): the exact one
  tanh,   // x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))): PyTorch's approximate="tanh"
  quick,  // x · sigmoid(1.702 x), as in CLIP
};

// The Gaussian error linear unit: x times the probability that a standard normal number is below x, exactly or in one
// of its two approximations; -0 of -infinity. Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
Tensor gelu(const Operand& x, Gelu form = Gelu::erf);
// The logistic function 1 / (1 + exp(-x)): 0 and 1 at ∓infinity. SciPy's expit.
inline Tensor sigmoid(const Operand& x) { return unary(ScalarOp::sigmoid, x); }
// log(sigmoid(x)) = -log(1 + exp(-x)): -infinity and -0 at ∓infinity.
inline Tensor logsigmoid(const Operand& x) { return unary(ScalarOp::logsigmoid, x); }
// log(1 + exp(x)), without overflow: 0 and infinity at ∓infinity. PyTorch's with beta = 1.
inline Tensor softplus(const Operand& x) { return unary(ScalarOp::softplus, x); }
// x · tanh(softplus(x)); -0 of -infinity. Source: Misra, "Mish: A Self Regularized Non-Monotonic Activation Function",
// 2019.
inline Tensor mish(const Operand& x) { return unary(ScalarOp::mish, x); }
// max(x, 0): +0 of -0. Integers keep their type, bool is a TypeError.
inline Tensor relu(const Operand& x) { return unary(ScalarOp::relu, x); }
// x · sigmoid(x), also called Swish; -0 of -infinity. Source: Ramachandran, Zoph and Le, "Searching for Activation
// Functions", 2017.
inline Tensor silu(const Operand& x) { return unary(ScalarOp::silu, x); }

// ---- Activations of floats alone. Other types are a TypeError, nothing is promoted; NaN gives NaN. Floats narrower
// than f32 are widened first, so that parameters keep their digits, and rounded once at the end.

// min(max(x, 0), 6).
inline Tensor relu6(const Operand& x) { return elementwise("relu6", {x}); }
// min(max(x, low), high): clamp() with bounds of its own, of floats alone.
inline Tensor hardtanh(const Operand& x, double low = -1, double high = 1) {
  return elementwise("hardtanh", {x}, {low, high});
}
// x where it is 0 or more, else alpha · x. PyTorch calls alpha negative_slope.
inline Tensor leaky_relu(const Operand& x, double alpha = 0.01) { return elementwise("leaky_relu", {x}, {alpha}); }
// x where it is 0 or more, else alpha · (exp(x) - 1): -alpha at -infinity. Source: Clevert, Unterthiner and Hochreiter,
// "Fast and Accurate Deep Network Learning by Exponential Linear Units", 2016.
inline Tensor elu(const Operand& x, double alpha = 1) { return elementwise("elu", {x}, {alpha}); }
// 1.0507 · elu(x, 1.6733), with both constants to all digits: -1.7580993 at -infinity. Source: Klambauer et al.,
// "Self-Normalizing Neural Networks", 2017.
inline Tensor selu(const Operand& x) { return elementwise("selu", {x}); }
// x where it is 0 or more, else alpha · (exp(x / alpha) - 1): -alpha at -infinity. Source: Barron, "Continuously
// Differentiable Exponential Linear Units", 2017.
inline Tensor celu(const Operand& x, double alpha = 1) { return elementwise("celu", {x}, {alpha}); }
// min(max(alpha · x + beta, 0), 1). The defaults are PyTorch's; ONNX's alpha is 0.2.
inline Tensor hardsigmoid(const Operand& x, double alpha = 1.0 / 6, double beta = 0.5) {
  return elementwise("hardsigmoid", {x}, {alpha, beta});
}
// x · min(max(x + 3, 0), 6) / 6; -0 below -3, at -infinity too. Source: Howard et al., "Searching for MobileNetV3",
// 2019.
inline Tensor hardswish(const Operand& x) { return elementwise("hardswish", {x}); }
// x / (1 + |x|): ±1 at infinities.
inline Tensor softsign(const Operand& x) { return elementwise("softsign", {x}); }

// ---- Tests of numbers. The result is bool, false or true for each element.

// Whether x is NaN; false of integers and bool, c64 is a TypeError. NumPy's isnan.
inline Tensor is_nan(const Operand& x) { return unary(ScalarOp::is_nan, x); }
// Whether x is infinity or -infinity; false of integers and bool, c64 is a TypeError. NumPy's isinf.
inline Tensor is_inf(const Operand& x) { return unary(ScalarOp::is_inf, x); }
// Whether x is neither infinite nor NaN; true of integers and bool, c64 is a TypeError. NumPy's isfinite.
inline Tensor is_finite(const Operand& x) { return unary(ScalarOp::is_finite, x); }
// Whether the sign bit is set: of negative integers and floats, of -0, and of NaN with that bit (a GPU may drop it in
// f16). bool and c64 are a TypeError.
inline Tensor signbit(const Operand& x) { return unary(ScalarOp::signbit, x); }

// ---- Comparisons. The result is bool. They convert both operands to their common type first; -0 equals +0. Beside a
// tensor of integers, an integer that its type does not hold is compared as the number that it is: u8 < 300 is true.

// a = b: false if one is NaN. Of any type; complex numbers are equal in both parts.
inline Tensor equal(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::equal, a, b); }
// a ≠ b: true if one is NaN. Of any type.
inline Tensor not_equal(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::not_equal, a, b); }
// a < b: false if one is NaN. Of bool, false is less than true; c64 is a TypeError.
inline Tensor less(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::less, a, b); }
// a ≤ b: false if one is NaN. Of bool, false is less than true; c64 is a TypeError.
inline Tensor less_equal(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::less_equal, a, b); }
// a > b: false if one is NaN. Of bool, true is greater than false; c64 is a TypeError.
inline Tensor greater(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::greater, a, b); }
// a ≥ b: false if one is NaN. Of bool, true is greater than false; c64 is a TypeError.
inline Tensor greater_equal(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::greater_equal, a, b); }

// ---- Logic and bits. Functions of truth values convert operands of any type to bool, true for all but 0 (true for
// NaN), and give bool. Functions of bits take integers, and where it is said bool, and keep their (common) type; floats
// and c64 are a TypeError.

// True where x is false.
inline Tensor logical_not(const Operand& x) { return unary(ScalarOp::logical_not, x); }
// True where both are true.
inline Tensor logical_and(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::logical_and, a, b); }
// True where one of them is true, or both.
inline Tensor logical_or(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::logical_or, a, b); }
// True where exactly one of them is true.
inline Tensor logical_xor(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::logical_xor, a, b); }
// All bits inverted, -x - 1 of signed integers; of bool the same as logical_not(). NumPy's invert.
inline Tensor bitwise_not(const Operand& x) { return unary(ScalarOp::bitwise_not, x); }
// The bits that are set in both. Also of bool.
inline Tensor bitwise_and(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::bitwise_and, a, b); }
// The bits that are set in one of them, or both. Also of bool.
inline Tensor bitwise_or(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::bitwise_or, a, b); }
// The bits that are set in exactly one of them. Also of bool.
inline Tensor bitwise_xor(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::bitwise_xor, a, b); }
// The bits of a moved up by b places, a · 2^b modulo 2^width; 0 if b is the width or more, or negative. NumPy's
// left_shift.
inline Tensor shift_left(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::shift_left, a, b); }
// The bits of a moved down by b places, ⌊a / 2^b⌋ with the sign of a; if b is the width or more, or negative, 0, and -1
// of negative integers. NumPy's right_shift.
inline Tensor shift_right(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::shift_right, a, b); }
// How many bits are set, in x's type; of negative integers, of their two's complement (NumPy's bitwise_count: of the
// magnitude).
inline Tensor popcount(const Operand& x) { return unary(ScalarOp::popcount, x); }
// How many zero bits are above the highest set one, in x's type; the width for 0.
inline Tensor clz(const Operand& x) { return unary(ScalarOp::clz, x); }

// ---- Complex numbers. Of c64 alone; other types are a TypeError.

// The real part, f32.
inline Tensor real(const Operand& x) { return unary(ScalarOp::real, x); }
// The imaginary part, f32.
inline Tensor imag(const Operand& x) { return unary(ScalarOp::imag, x); }
// The complex conjugate, re - i im.
inline Tensor conj(const Operand& x) { return unary(ScalarOp::conj, x); }
// The angle in the complex plane, atan2(im, re), in (-π, π], f32.
inline Tensor angle(const Operand& x) { return unary(ScalarOp::angle, x); }
// The complex number a + b i, c64, of two floats, which are rounded to f32; integers and bool are computed as f32. c64
// is a TypeError. PyTorch's complex.
inline Tensor complex(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::complex, a, b); }

// ---- Views. They are another layout of the same elements, of any type, and free unless a kernel needs its operand
// dense. Axes may be negative, counted from the end. Throw InvalidArgument (an undefined Tensor) and ShapeError (an
// axis that x has not).

// The same elements, in row-major order, in another shape; one size may be -1, which becomes what is left. Throws
// ShapeError unless the shape has as many elements as x, and where -1 has no single value.
Tensor reshape(const Operand& x, const Shape& shape);
// The axes in another order: axis i of the result is axis order[i] of x. NumPy's transpose, PyTorch's permute. Throws
// ShapeError unless each axis is named once.
Tensor permute(const Operand& x, std::initializer_list<int> order);
// The same of an order that is computed.
Tensor permute(const Operand& x, std::span<const int> order);
// x repeated along axes of size 1, and along new axes in front, up to this shape. Throws ShapeError where another size
// differs. PyTorch's expand.
Tensor broadcast_to(const Operand& x, const Shape& shape);
// Elements begin, begin + step, … before `end` along an axis. With a negative step they go down from `begin` to the
// element after `end`, which is -1 to reach element 0. Unlike in Python nothing is counted from the end or cut off
// (x[…] of weft/indexing.h does that): throws IndexError for a step of 0, and where begin or end is outside of the
// axis, unless no element is between them.
Tensor slice(const Operand& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
// Consecutive pieces of x along an axis, of these sizes. Throws ShapeError unless they add up to the axis's size,
// InvalidArgument for a negative one. PyTorch's split; NumPy's takes the places of the cuts instead.
std::vector<Tensor> split(const Operand& x, std::span<const std::int64_t> sizes, int axis);
// A new axis of size 1 at this place of the result: of x [2, 3], axis 1 gives [2, 1, 3] and -1 gives [2, 3, 1].
// PyTorch's unsqueeze.
Tensor expand_dims(const Operand& x, int axis);
// x without this axis. Throws ShapeError unless its size is 1.
Tensor squeeze(const Operand& x, int axis);

// ---- Computed from indices, where they are used: they hold no data, and of slices of them, and of elementwise work on
// them alone, only the slices' elements are computed. Floats are as exact as if they were computed in double and
// rounded once. Throw ShapeError for negative sizes.

// start, start + step, … before stop, of shape [⌈(stop - start) / step⌉], or [0] if that is negative. Without a type
// they are i32 if all three numbers are integers (i64 if i32 does not hold them, u64 if start or step exceeds i64),
// else f32. Integers are exact. Throws InvalidArgument for a step of 0 and for numbers that are not finite, TypeError
// for bool and c64.
Tensor arange(Number start, Number stop, Number step = 1, std::optional<DType> dtype = {});
// `count` numbers at equal distances, of a float type: the first is start; the last is stop, or with endpoint = false
// would be the next. One number is start. If start or stop is infinite or NaN the numbers are start + i · step in
// floating arithmetic, as NumPy's: linspace(-inf, 1, 3) is NaN, NaN, 1. Throws InvalidArgument for a negative count,
// TypeError for other types.
Tensor linspace(double start, double stop, std::int64_t count, DType dtype = DType::f32, bool endpoint = true);
// A matrix [rows, columns], of any type, with ones on the diagonal, or on that many above it (below if negative), and
// zeros elsewhere.
Tensor eye(std::int64_t rows, std::int64_t columns, DType dtype = DType::f32, std::int64_t diagonal = 0);
// A matrix [rows, columns], of any type, with ones on the diagonal and below it (Triangle::lower) or above it
// (Triangle::upper), and zeros elsewhere; `diagonal` counts upwards from the main one. NumPy's tri.
Tensor triangle(std::int64_t rows, std::int64_t columns, DType dtype, Triangle part, std::int64_t diagonal = 0);

// ---- Indexing by tensors. x is of any type, indices of any integer type of 8 to 64 bits; negative indices count from
// the end of their axis. Which ones lie outside cannot be known when a graph is made: reads clamp them to the axis,
// writes ignore them. Throw InvalidArgument (an undefined Tensor), TypeError, and ShapeError: shapes or axes that do
// not fit, a result of more than eight axes, an axis without elements to choose from. Functions whose result size
// depends on data (compress, nonzero) are in weft/array.h: a graph's shapes are known when it is made.

// Whole slices of x along an axis: y[i…, j…, k…] = x[i…, indices[j…], k…], where the axes of indices, of any rank, take
// the place of `axis`. NumPy's take, PyTorch's index_select and embedding, ONNX's Gather.
Tensor gather(const Operand& x, const Operand& indices, int axis = 0);
// Single elements along an axis: y[i…, j, k…] = x[i…, indices[i…, j, k…], k…], of the indices' shape. Indices have the
// rank of x; other axes than `axis` broadcast with x's. NumPy's take_along_axis, PyTorch's gather.
Tensor gather_elements(const Operand& x, const Operand& indices, int axis);
// Elements or slices that tuples of indices name: y[b…, i…, k…] = x[b…, indices[b…, i…, :], k…]. The first `batch` axes
// of x and indices are equal, and the last axis of indices has one number for each of x's next axes. ONNX's GatherND.
Tensor gather_nd(const Operand& x, const Operand& indices, int batch = 0);
// The part of x of these sizes that begins at `starts`: one integer for each of `axes` (at least one, none named
// twice), or of rank 0 for one axis; 0 along other axes. Starts are clamped so that the part lies inside of x, also
// negative ones, which count from the front. They may come from a graph.number(). XLA's DynamicSlice. Throws ShapeError
// for sizes that exceed x's.
Tensor dynamic_slice(const Operand& x, const Operand& starts, const Shape& sizes, std::span<const int> axes);
// The same of a list in braces.
Tensor dynamic_slice(const Operand& x, const Operand& starts, const Shape& sizes, std::initializer_list<int> axes);
// A copy of x with that part replaced by `update`, which has x's type and rank. In place where x is needed no more;
// where x is an input, that takes CompileOptions::donate. XLA's DynamicUpdateSlice. Throws as dynamic_slice() does.
Tensor dynamic_update_slice(const Operand& x, const Operand& update, const Operand& starts, std::span<const int> axes);
// The same of a list in braces.
Tensor dynamic_update_slice(const Operand& x, const Operand& update, const Operand& starts,
                            std::initializer_list<int> axes);

// ---- Scatters. They give a copy of x in which the elements that the indices choose, as in the gather of that name,
// are replaced by (ScatterKind::assign) or combined with the updates, whose type is x's: add and mul take any but bool,
// and integers wrap; min and max take any but c64, and give NaN if either is NaN. If several updates have the same
// element, assign stores the last of them, add, mul, min and max combine all; a GPU adds floats in any order, so that
// their last bits may change from run to run. f64 on a GPU is only assigned. x's memory is written in place where x is
// needed no more. Throw as gathers do.
//
// Derivatives add cotangents in the order of the indices, and repeat to the bit. The cotangent of an element belongs,
// for assign, to the update that is stored; for min and max evenly to all that are the result, as PyTorch's
// scatter_reduce has it; for mul it is multiplied with the product of the others, whose own derivatives are not
// followed where several updates of an element are 0.

// gather(y, indices, axis) = or op= updates, whose shape is that of gather(x, indices, axis). PyTorch's index_copy and
// index_add, along any axis.
Tensor scatter(ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates, int axis = 0);
// gather_elements(y, indices, axis) = or op= updates. Other axes of x and the indices than `axis` broadcast, and the
// updates broadcast to the chosen elements; an element of an axis of x of size 1 is chosen by all indices there.
// NumPy's put_along_axis, PyTorch's scatter, scatter_add and scatter_reduce.
Tensor scatter_elements(ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates, int axis);
// gather_nd(y, indices, batch) = or op= updates, whose shape is that of gather_nd(x, indices, batch). ONNX's ScatterND.
Tensor scatter_nd(ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates, int batch = 0);

// ---- Moving elements. x is of any type, whose bits are kept. Axes may be negative. Throw InvalidArgument (an
// undefined Tensor) and ShapeError.

// The parts one after the other along an axis, NumPy's concatenate: they have one type (nothing is promoted; concat()
// of weft/array.h does), and equal sizes along other axes. Throws ShapeError if they differ, InvalidArgument if there
// are none.
Tensor concat(std::span<const Tensor> parts, int axis);
// x with `before` elements in front of it and `after` behind it along each axis, one number for each. Negative ones
// crop; if none is positive, the result is a view. The new elements are `value` (constant), the nearest element (edge),
// x mirrored at its outer elements without repeating them (reflect), or with them (symmetric), or x again (wrap); the
// last three over any distance. Throws ShapeError for numbers that are not one for each axis, that crop more than there
// is, or that fill an axis without elements in another mode than constant. NumPy's pad.
Tensor pad(const Operand& x, std::span<const std::int64_t> before, std::span<const std::int64_t> after,
           PadMode mode = PadMode::constant, Number value = 0);
// x repeated as a whole, counts[i] times along axis i; axes of size 1 are broadcast, without a copy. NumPy's and
// PyTorch's tile, of as many counts as x has axes (else ShapeError). Throws InvalidArgument for a negative count.
Tensor tile(const Operand& x, std::span<const std::int64_t> counts);
// Each element `count` times in a row along an axis. NumPy's repeat, PyTorch's repeat_interleave. Throws
// InvalidArgument for a negative count.
Tensor repeat(const Operand& x, std::int64_t count, int axis);
// x with the elements of axis i moved up by shifts[i] places, of any sign and size; those that leave the end come in at
// the beginning. One number for each axis, else ShapeError. NumPy's and PyTorch's roll, over all axes.
Tensor roll(const Operand& x, std::span<const std::int64_t> shifts);
// x with zeros above the diagonal (Triangle::lower: tril) or below it (Triangle::upper: triu) of its last two axes;
// `diagonal` counts upwards from the main one. Throws ShapeError for x of less than two axes.
Tensor triangle(const Operand& x, Triangle part, std::int64_t diagonal = 0);
// Each index as a vector of `classes` elements, along a new axis of the result (the last by default), of any type: `on`
// at the index and `off` elsewhere. Indices are integers; negative ones count from the end, and one outside of
// [-classes, classes) gives a vector of `off` (PyTorch's one_hot throws there). Throws InvalidArgument for negative
// classes.
Tensor one_hot(const Operand& indices, std::int64_t classes, DType dtype = DType::f32, int axis = -1, Number on = 1,
               Number off = 0);

// ---- Scans and reductions. Axes may be negative; Axes() are all of them. Floats are combined in f32 or with more
// digits and rounded to the result's type once, in an order that depends on shapes and device alone, so that results
// repeat to the bit. Positions and counts are i32, or i64 among 2^31 elements and more. keep_dims leaves reduced axes
// in the result, with size 1. Throw InvalidArgument (an undefined Tensor), ShapeError (an axis that x has not, or that
// is named twice) and TypeError.

// Each element combined with all before it along an axis, in x's shape: ScanKind::sum (NumPy's cumsum), prod (cumprod),
// max, min (PyTorch's cummax and cummin, values alone) or log_sum_exp (logcumsumexp). The result has x's type: sum and
// prod take floats, integers of 8 bits or more, which wrap, c64, and bool, which gives i32; max and min floats and such
// integers; log_sum_exp floats. From the first NaN on all results are NaN. options.reverse goes from the last element
// to the first; options.exclusive leaves the element itself out, so that the first result is that of no elements: 0 of
// sum, 1 of prod, of max -infinity or the least integer, of min infinity or the greatest, -infinity of log_sum_exp.
Tensor scan(ScanKind op, const Operand& x, int axis, const kernels::ScanOptions& options = {});
// The running sum along an axis: scan(ScanKind::sum, x, axis), of x's type, which integers wrap in; of bool i32.
// cumulative_sum() of weft/array.h widens small integers, as NumPy does.
Tensor cumsum(const Operand& x, int axis);
// The elements over the axes combined to one. Of floats and integers, with a result of x's type (integers wrap; sum()
// and prod() of weft/array.h widen small ones and take bool): sum, prod, min, max, sum_squares, l1 (the sum of
// magnitudes). Of floats: mean, l2 (the Euclidean norm), log_sum (the logarithm of the sum), log_sum_exp (without
// overflow in between). sum, prod and mean also of c64. variance and deviation as the functions below, with correction
// 0. any and all of every type, as bool (NaN is true); count, how many elements are not 0, of every type. NaN gives NaN
// in all but the last three; of zeros of both signs min and max may give either. Of no elements sum, sum_squares, l1,
// l2 and count are 0, prod 1, min and max infinity and -infinity (integers: the type's greatest and least), mean,
// variance and deviation NaN, log_sum and log_sum_exp -infinity, any false and all true.
Tensor reduce(ReduceKind op, const Operand& x, const Axes& axes, bool keep_dims = false);
// The variance over the axes: the sum of squared distances from the mean, divided by n - correction for n elements.
// correction is 0 or more: 0 for a population, as NumPy's var, 1 for a sample, as PyTorch's var by default. Where it is
// more than n the divisor is 0, so that the variance is infinite, or NaN if nothing varies. Of floats, in x's type;
// integers and bool give f32. NaN of no elements and where an element is infinite. On GPUs the sum is one of f32: where
// it is past the range the variance is infinite, and squares below it are 0; deviation() and nanvar() are scaled.
// Throws InvalidArgument for a correction that is negative or NaN. Source: Chan, Golub and LeVeque, "Algorithms for
// computing the sample variance", 1983.
Tensor variance(const Operand& x, const Axes& axes = {}, double correction = 0, bool keep_dims = false);
// The standard deviation over the axes: the square root of the variance, in the same types and with the same errors, in
// range on every device wherever x is. NumPy's and PyTorch's std.
Tensor deviation(const Operand& x, const Axes& axes = {}, double correction = 0, bool keep_dims = false);
// The position of the greatest element over the axes, counted in row-major order over them: the first of equal ones (-0
// and +0 are equal), the first NaN if there is one. Of floats, integers and bool. Throws ShapeError if there are no
// elements to choose from.
Tensor argmax(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
// The position of the least element over the axes, counted in row-major order over them: the first of equal ones (-0
// and +0 are equal), the first NaN if there is one. Of floats, integers and bool. Throws ShapeError if there are no
// elements to choose from.
Tensor argmin(const Operand& x, const Axes& axes = {}, bool keep_dims = false);

// ---- Softmax and norms. All operands are floats, each of a type of its own; the result has x's shape and type.
// Computed in f32, of f64 in f64 (on the cpu alone). scale and bias may be undefined: then they are 1 and 0. Throw
// InvalidArgument (x is undefined, epsilon is negative or NaN), ShapeError and TypeError (also for integers: nothing is
// promoted).

// exp(x - max(x)) divided by its sum along an axis: positive numbers that add up to 1. A row that holds NaN or
// infinity, or nothing but -infinity, gives NaN.
Tensor softmax(const Operand& x, int axis = -1);
// The logarithm of softmax(), x - max(x) - log(sum(exp(x - max(x)))), without underflow in between: -infinity stays
// -infinity. Rows that give NaN are those of softmax().
Tensor log_softmax(const Operand& x, int axis = -1);
// (x - mean) / sqrt(variance + epsilon) · scale + bias, by the mean and the variance (with correction 0) over the last
// axes: as many as scale has, else as bias has, else one. scale and bias have the shape of these axes. Source: Ba,
// Kiros and Hinton, "Layer Normalization", 2016.
Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon);
// The same over the axes from `first_axis` on; negative ones count from the end.
Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon, int first_axis);
// x / sqrt(mean(x²) + epsilon) · scale, by the mean over the last axes: as many as scale has, or one if it is
// undefined. scale has the shape of these axes. Source: Zhang and Sennrich, "Root Mean Square Layer Normalization",
// 2019.
Tensor rms_norm(const Operand& x, const Operand& scale, double epsilon);
// (x - mean) / sqrt(variance + epsilon) · scale + bias, by the mean and the variance of each sample (axis 0) and each
// of `groups` groups of neighbouring channels, over all other axes. scale and bias are [channels]. Throws ShapeError if
// the channels do not divide into groups, if channel_axis is 0, and for x of eight axes unless each channel is a group;
// InvalidArgument for less than one group. Source: Wu and He, "Group Normalization", 2018.
Tensor group_norm(const Operand& x, const Operand& scale, const Operand& bias, std::int64_t groups, double epsilon,
                  int channel_axis = 1);
// group_norm() with each channel a group: by the mean and the variance of each channel of each sample, of any rank.
// scale and bias are [channels]. Throws ShapeError if channel_axis is 0. Source: Ulyanov, Vedaldi and Lempitsky,
// "Instance Normalization", 2016.
Tensor instance_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon, int channel_axis = 1);
// (x - mean) / sqrt(variance + epsilon) · scale + bias with given means and variances, as at inference. All of them are
// [channels]. Becomes elementwise operations, which fuse with others. Source: Ioffe and Szegedy, "Batch Normalization",
// 2015.
Tensor batch_norm(const Operand& x, const Operand& mean, const Operand& variance, const Operand& scale,
                  const Operand& bias, double epsilon, int channel_axis = 1);

// ---- Products of matrices.

// [..., m, k] · [..., k, n]; the axes in front broadcast. A tensor of rank 1 is a row on the left and a column on the
// right, and the result lacks that axis. The result's type: that of a and b if both have one float type; f32 for two
// float types; i32 for integers of 8 to 32 bits, whose sums wrap; c64 for c64 with c64 or floats; else what
// result_type() gives (integers of 64 bits are multiplied and summed). `result` may be any float type for floats, i32
// or u32 for integers: the sums are converted once. NumPy's and PyTorch's matmul and @. Throws InvalidArgument (an
// undefined Tensor), ShapeError (inner sizes that differ, axes that do not broadcast, an operand of rank 0) and
// TypeError.
Tensor matmul(const Operand& a, const Operand& b, std::optional<DType> result = {});

// ---- Random numbers. They are functions of a key, u32 [2], and of an element's row-major index alone: the same for
// the same key on every device. weft/random.h makes keys, and has functions with a generator of its own. Throw
// InvalidArgument (an undefined key, a range as below), ShapeError (another shape of the key, a negative size) and
// TypeError. Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011 (Threefry-2x32
// with 20 rounds).

// Independent random bits: integers of 8 to 64 bits, each value as likely as any other.
Tensor random_bits(const Operand& key, DType dtype, const Shape& shape);
// Numbers distributed evenly over [low, high), f32, f16 or bf16: low + u · (high - low) with u of 24 bits, never
// rounded to `high`. Throws InvalidArgument unless low < high in that type, at a finite distance.
Tensor random_uniform(const Operand& key, DType dtype, const Shape& shape, double low = 0, double high = 1);
// Normally distributed numbers, f32, f16 or bf16, that lie up to 6.7 deviations from the mean, and differ by up to 1e-6
// deviations among devices. Throws InvalidArgument unless mean and deviation are finite, and the deviation is 0 or
// more. Source: Box and Muller, "A note on the generation of random normal deviates", 1958.
Tensor random_normal(const Operand& key, DType dtype, const Shape& shape, double mean = 0, double deviation = 1);
// Integers, of 8 to 64 bits, of which each in [low, high) is equally likely, up to 2^-32 of its probability; a `high`
// of 2^64 is a floating number. Throws InvalidArgument unless low < high, and low and high - 1 are numbers of the type.
Tensor random_integers(const Operand& key, DType dtype, const Shape& shape, Number low, Number high);

// ---- Sorting. Of floats, integers and bool, along an axis. Stable in both directions: equal elements, -0 and +0 among
// them, stay in order. NaN comes last in both directions. Positions are i32, or i64 along axes of 2^31 elements and
// more. Throw InvalidArgument (an undefined Tensor), ShapeError and TypeError (c64).

// x in ascending order, or descending, along an axis.
Tensor sort(const Operand& x, int axis = -1, bool descending = false);
// The positions along the axis from which sort() takes its elements: x's elements at them are in order.
Tensor argsort(const Operand& x, int axis = -1, bool descending = false);

// What top_k() finds.
struct TopK {
  Tensor values, indices;  // indices are i32, or i64 along axes of 2^31 elements and more
};

// The first k elements that sort() gives along an axis, the greatest first or with largest = false the least first, and
// their positions in x: NaN is among them only if there are less than k numbers. PyTorch's topk. Throws ShapeError if k
// exceeds the axis, InvalidArgument if it is negative.
TopK top_k(const Operand& x, std::int64_t k, int axis = -1, bool largest = true);

// ---- Attention.

// softmax(options.scale · q·kᵀ + mask) · v without a matrix of scores in memory. q [batch, heads, queries, dim], k
// [batch, kv_heads, keys, dim], v [batch, kv_heads, keys, value_dim] give [batch, heads, queries, value_dim] of q's
// type; heads is a multiple of kv_heads (grouped queries). f32, f16 and bf16 in any mixture, computed in f32.
// options.scale is 1 unless it is set (PyTorch's scaled_dot_product_attention takes 1 / sqrt(dim)); query i has the
// position of key i + keys - queries, or of key i if options.top_left; options.causal hides the keys after that
// position, window_left and window_right those further away on that side. mask broadcasts to [batch, heads, queries,
// keys]: bool, false hides, or a float that is added, -infinity hides. The lengths are i32 or u32 [batch]: keys past
// theirs are hidden, queries past theirs see no key. mask and the lengths may be undefined. What is hidden, NaN too,
// reaches neither the result nor vjp's gradients. NaN or +infinity among a query's scores makes its result NaN. A query
// that sees no key gives zeros, or NaN if options.empty_is_nan. Attention written as separate operations gives NaN
// there, as softmax of -inf does, also after it was fused, which may keep NaN in masked keys and values from the
// result; and x - log_sum_exp(x), which is fused to log_softmax, is NaN for a whole row that holds +inf. Throws
// InvalidArgument (q, k or v is undefined), ShapeError and TypeError. Sources: Milakov and Gimelshein, "Online
// normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022.
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const kernels::AttentionOptions& options, const Operand& query_lengths = {},
                 const Operand& key_lengths = {});

}  // namespace weft
