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

  // Names are unique among inputs, among numbers, and among outputs. Throws InvalidArgument.
  Tensor input(std::string name, DType dtype, const Shape& shape);
  // A number, of shape [], that each run is given: it travels in the calls' parameters, so that no kernel, plan or
  // executable depends on its value.
  Tensor number(std::string name, DType dtype = DType::f32);
  void output(std::string name, const Tensor& value);
  // Constants belong to no graph.
  static Tensor constant(TensorData tensor, std::string name = {});
  static Tensor scalar(Number value, DType dtype);

  const std::string& name() const;

  // Text of the whole graph, a node a line, in an order in which it can be computed.
  std::string to_string() const;
  // Graphviz source: what `weft graph` draws.
  std::string to_dot() const;
  // Structure, types, attributes, names of inputs and outputs, and the identity of constants: equal graphs compile to
  // the same executable. What is shared in one graph is shared in an equal one: f(a, a) is not f(a, b). Equal graphs
  // have equal hashes.
  std::uint64_t hash() const;
  bool equals(const Graph& other) const;
  // Throws InternalError if a node's recorded types are not what its op infers, or an operand is not before its use.
  // The compiler runs it after every pass in debug builds and tests.
  void verify() const;

  struct Impl;  // src/graph
  Impl& impl() const;

 private:
  std::unique_ptr<Impl> impl_;
};

// ---- Elementwise. Operands broadcast by NumPy's rules, and are converted to the type that result_type() gives.
// Functions of real numbers (exp, atan2, …) compute integers and bool as f32; logical ones convert to bool. Special
// values are described in weft/expression.h. Throw ShapeError, TypeError.
Tensor unary(ScalarOp op, const Operand& x);
Tensor binary(ScalarOp op, const TensorLike& a, const TensorLike& b);
Tensor ternary(ScalarOp op, const TensorLike& a, const TensorLike& b, const TensorLike& c);
Tensor select(const Operand& condition, const TensorLike& if_true, const TensorLike& if_false);  // NumPy's where
Tensor cast(const Operand& x, DType dtype);
// Any function of weft/expressions.h by its name, with its parameters: elementwise("leaky_relu", {x}, {0.2}). Operands
// have the types that it takes; nothing is promoted.
Tensor elementwise(std::string_view name, std::span<const Tensor> operands, std::span<const double> parameters = {});
Tensor elementwise(std::string_view name, std::initializer_list<Tensor> operands,
                   std::initializer_list<double> parameters = {});

// The type that values of these types have in common, by the promotion table of the Python array API standard 2024.12,
// and where that is silent as PyTorch does it: an integer or bool beside a float or complex takes its type; bool beside
// an integer too. f16 and bf16 give f32; an 8-bit float gives the wider float. Throws TypeError for u64 beside a signed
// integer, different 8-bit floats, f64 beside c64, and packed types beside others.
DType result_type(DType a, DType b);
// With numbers as weak operands: a number takes the tensors' type if that can hold its kind, else bool becomes i32 and
// integers become f32. Numbers alone: bool, i32 or f32.
DType result_type(std::span<const TensorLike> operands);
DType result_type(std::initializer_list<TensorLike> operands);

inline Tensor operator-(const Operand& x) { return unary(ScalarOp::neg, x); }
inline Tensor operator+(const Operand& x) { return x; }
inline Tensor operator~(const Operand& x) { return unary(ScalarOp::bitwise_not, x); }
inline Tensor operator!(const Operand& x) { return unary(ScalarOp::logical_not, x); }
// Integers divide as in C++ (divide() gives fractions); % has the sign of the dividend, as in C++ (remainder(): of the
// divisor, as in Python). Comparisons give bool tensors: same(a, b) asks whether two handles are one tensor.
#define WEFT_BINARY_OPERATOR(symbol, op)                                                                      \
  inline Tensor operator symbol(const Operand& a, const TensorLike& b) { return binary(ScalarOp::op, a, b); } \
  template <class T>                                                                                          \
    requires std::is_arithmetic_v<T>                                                                          \
  Tensor operator symbol(T a, const Operand& b) {                                                             \
    return binary(ScalarOp::op, a, b);                                                                        \
  }
WEFT_BINARY_OPERATOR(+, add)
WEFT_BINARY_OPERATOR(-, sub)
WEFT_BINARY_OPERATOR(*, mul)
WEFT_BINARY_OPERATOR(/, div)
WEFT_BINARY_OPERATOR(%, rem)
WEFT_BINARY_OPERATOR(&, bitwise_and)
WEFT_BINARY_OPERATOR(|, bitwise_or)
WEFT_BINARY_OPERATOR(^, bitwise_xor)
WEFT_BINARY_OPERATOR(<<, shift_left)
WEFT_BINARY_OPERATOR(>>, shift_right)
WEFT_BINARY_OPERATOR(<, less)
WEFT_BINARY_OPERATOR(<=, less_equal)
WEFT_BINARY_OPERATOR(>, greater)
WEFT_BINARY_OPERATOR(>=, greater_equal)
WEFT_BINARY_OPERATOR(==, equal)
WEFT_BINARY_OPERATOR(!=, not_equal)
#undef WEFT_BINARY_OPERATOR
// x == 3 fits these as exactly as 3 == x fits those above, which compilers from before the paper P2468 (GCC 12) would
// otherwise take with exchanged operands.
template <class T>
  requires std::is_arithmetic_v<T>
Tensor operator==(const Operand& a, T b) {
  return binary(ScalarOp::equal, a, b);
}
template <class T>
  requires std::is_arithmetic_v<T>
Tensor operator!=(const Operand& a, T b) {
  return binary(ScalarOp::not_equal, a, b);
}

enum class Gelu : std::uint8_t { erf, tanh, quick };
Tensor gelu(const Operand& x, Gelu form = Gelu::erf);
inline Tensor neg(const Operand& x) { return unary(ScalarOp::neg, x); }
inline Tensor abs(const Operand& x) { return unary(ScalarOp::abs, x); }
inline Tensor sign(const Operand& x) { return unary(ScalarOp::sign, x); }
inline Tensor ceil(const Operand& x) { return unary(ScalarOp::ceil, x); }
inline Tensor floor(const Operand& x) { return unary(ScalarOp::floor, x); }
inline Tensor trunc(const Operand& x) { return unary(ScalarOp::trunc, x); }
inline Tensor round(const Operand& x) { return unary(ScalarOp::round, x); }
inline Tensor sqrt(const Operand& x) { return unary(ScalarOp::sqrt, x); }
inline Tensor rsqrt(const Operand& x) { return unary(ScalarOp::rsqrt, x); }
inline Tensor cbrt(const Operand& x) { return unary(ScalarOp::cbrt, x); }
inline Tensor reciprocal(const Operand& x) { return unary(ScalarOp::reciprocal, x); }
inline Tensor square(const Operand& x) { return unary(ScalarOp::square, x); }
inline Tensor exp(const Operand& x) { return unary(ScalarOp::exp, x); }
inline Tensor exp2(const Operand& x) { return unary(ScalarOp::exp2, x); }
inline Tensor expm1(const Operand& x) { return unary(ScalarOp::expm1, x); }
inline Tensor log(const Operand& x) { return unary(ScalarOp::log, x); }
inline Tensor log2(const Operand& x) { return unary(ScalarOp::log2, x); }
inline Tensor log10(const Operand& x) { return unary(ScalarOp::log10, x); }
inline Tensor log1p(const Operand& x) { return unary(ScalarOp::log1p, x); }
inline Tensor sin(const Operand& x) { return unary(ScalarOp::sin, x); }
inline Tensor cos(const Operand& x) { return unary(ScalarOp::cos, x); }
inline Tensor tan(const Operand& x) { return unary(ScalarOp::tan, x); }
inline Tensor asin(const Operand& x) { return unary(ScalarOp::asin, x); }
inline Tensor acos(const Operand& x) { return unary(ScalarOp::acos, x); }
inline Tensor atan(const Operand& x) { return unary(ScalarOp::atan, x); }
inline Tensor sinh(const Operand& x) { return unary(ScalarOp::sinh, x); }
inline Tensor cosh(const Operand& x) { return unary(ScalarOp::cosh, x); }
inline Tensor tanh(const Operand& x) { return unary(ScalarOp::tanh, x); }
inline Tensor asinh(const Operand& x) { return unary(ScalarOp::asinh, x); }
inline Tensor acosh(const Operand& x) { return unary(ScalarOp::acosh, x); }
inline Tensor atanh(const Operand& x) { return unary(ScalarOp::atanh, x); }
inline Tensor erf(const Operand& x) { return unary(ScalarOp::erf, x); }
inline Tensor erfc(const Operand& x) { return unary(ScalarOp::erfc, x); }
inline Tensor erfinv(const Operand& x) { return unary(ScalarOp::erfinv, x); }
inline Tensor lgamma(const Operand& x) { return unary(ScalarOp::lgamma, x); }
inline Tensor digamma(const Operand& x) { return unary(ScalarOp::digamma, x); }
inline Tensor sigmoid(const Operand& x) { return unary(ScalarOp::sigmoid, x); }
inline Tensor logsigmoid(const Operand& x) { return unary(ScalarOp::logsigmoid, x); }
inline Tensor softplus(const Operand& x) { return unary(ScalarOp::softplus, x); }
inline Tensor mish(const Operand& x) { return unary(ScalarOp::mish, x); }
inline Tensor relu(const Operand& x) { return unary(ScalarOp::relu, x); }
inline Tensor silu(const Operand& x) { return unary(ScalarOp::silu, x); }
inline Tensor logical_not(const Operand& x) { return unary(ScalarOp::logical_not, x); }
inline Tensor bitwise_not(const Operand& x) { return unary(ScalarOp::bitwise_not, x); }
inline Tensor popcount(const Operand& x) { return unary(ScalarOp::popcount, x); }
inline Tensor clz(const Operand& x) { return unary(ScalarOp::clz, x); }
inline Tensor is_nan(const Operand& x) { return unary(ScalarOp::is_nan, x); }
inline Tensor is_inf(const Operand& x) { return unary(ScalarOp::is_inf, x); }
inline Tensor is_finite(const Operand& x) { return unary(ScalarOp::is_finite, x); }
inline Tensor signbit(const Operand& x) { return unary(ScalarOp::signbit, x); }
inline Tensor real(const Operand& x) { return unary(ScalarOp::real, x); }
inline Tensor imag(const Operand& x) { return unary(ScalarOp::imag, x); }
inline Tensor conj(const Operand& x) { return unary(ScalarOp::conj, x); }
inline Tensor angle(const Operand& x) { return unary(ScalarOp::angle, x); }
inline Tensor div_rn(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::div_rn, a, b); }
inline Tensor floor_divide(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::floor_divide, a, b); }
inline Tensor rem(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::rem, a, b); }
inline Tensor remainder(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::remainder, a, b); }
inline Tensor pow(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::pow, a, b); }
inline Tensor atan2(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::atan2, a, b); }
inline Tensor hypot(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::hypot, a, b); }
inline Tensor copysign(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::copysign, a, b); }
inline Tensor nextafter(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::nextafter, a, b); }
inline Tensor logaddexp(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::logaddexp, a, b); }
inline Tensor minimum(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::min, a, b); }
inline Tensor maximum(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::max, a, b); }
inline Tensor fmin(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::fmin, a, b); }
inline Tensor fmax(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::fmax, a, b); }
inline Tensor gcd(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::gcd, a, b); }
inline Tensor lcm(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::lcm, a, b); }
inline Tensor equal(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::equal, a, b); }
inline Tensor not_equal(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::not_equal, a, b); }
inline Tensor less(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::less, a, b); }
inline Tensor less_equal(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::less_equal, a, b); }
inline Tensor greater(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::greater, a, b); }
inline Tensor greater_equal(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::greater_equal, a, b); }
inline Tensor logical_and(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::logical_and, a, b); }
inline Tensor logical_or(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::logical_or, a, b); }
inline Tensor logical_xor(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::logical_xor, a, b); }
inline Tensor bitwise_and(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::bitwise_and, a, b); }
inline Tensor bitwise_or(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::bitwise_or, a, b); }
inline Tensor bitwise_xor(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::bitwise_xor, a, b); }
inline Tensor shift_left(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::shift_left, a, b); }
inline Tensor shift_right(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::shift_right, a, b); }
inline Tensor complex(const TensorLike& a, const TensorLike& b) { return binary(ScalarOp::complex, a, b); }
inline Tensor fma(const TensorLike& a, const TensorLike& b, const TensorLike& c) {
  return ternary(ScalarOp::fma, a, b, c);
}
inline Tensor lerp(const TensorLike& a, const TensorLike& b, const TensorLike& t) {
  return ternary(ScalarOp::lerp, a, b, t);
}
inline Tensor clamp(const TensorLike& x, const TensorLike& low, const TensorLike& high) {
  return ternary(ScalarOp::clamp, x, low, high);
}
inline Tensor relu6(const Operand& x) { return elementwise("relu6", {x}); }
inline Tensor hardtanh(const Operand& x, double low = -1, double high = 1) {
  return elementwise("hardtanh", {x}, {low, high});
}
inline Tensor leaky_relu(const Operand& x, double alpha = 0.01) { return elementwise("leaky_relu", {x}, {alpha}); }
inline Tensor elu(const Operand& x, double alpha = 1) { return elementwise("elu", {x}, {alpha}); }
inline Tensor selu(const Operand& x) { return elementwise("selu", {x}); }
inline Tensor celu(const Operand& x, double alpha = 1) { return elementwise("celu", {x}, {alpha}); }
inline Tensor hardsigmoid(const Operand& x, double alpha = 1.0 / 6, double beta = 0.5) {
  return elementwise("hardsigmoid", {x}, {alpha, beta});
}
inline Tensor hardswish(const Operand& x) { return elementwise("hardswish", {x}); }
inline Tensor softsign(const Operand& x) { return elementwise("softsign", {x}); }

// ---- Views: another layout of the same elements; free unless a kernel needs them dense.
Tensor reshape(const Operand& x, const Shape& shape);  // one size may be -1
Tensor permute(const Operand& x, std::initializer_list<int> order);
Tensor permute(const Operand& x, std::span<const int> order);
Tensor broadcast_to(const Operand& x, const Shape& shape);
// Elements begin, begin + step, … before `end`. With a negative step they go down from `begin` to the element after
// `end`, which is -1 to reach element 0.
Tensor slice(const Operand& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
// Consecutive pieces of x along an axis; `sizes` add up to its size.
std::vector<Tensor> split(const Operand& x, std::span<const std::int64_t> sizes, int axis);
Tensor expand_dims(const Operand& x, int axis);
Tensor squeeze(const Operand& x, int axis);

// ---- Computed from indices, where they are used: they hold no data. Floats are as exact as if they were computed in
// double and rounded once.
// start, start + step, … before stop; without a type i32 if all are integers (i64 if i32 does not hold them), else f32.
// Throws InvalidArgument for a step of 0 and for numbers that are not finite.
Tensor arange(Number start, Number stop, Number step = 1, std::optional<DType> dtype = {});
// `count` numbers, the first is start; the last is stop, or with endpoint = false would be the next.
Tensor linspace(double start, double stop, std::int64_t count, DType dtype = DType::f32, bool endpoint = true);
// Ones on the diagonal, or on that many above it; zeros elsewhere.
Tensor eye(std::int64_t rows, std::int64_t columns, DType dtype = DType::f32, std::int64_t diagonal = 0);
Tensor triangle(std::int64_t rows, std::int64_t columns, DType dtype, Triangle part, std::int64_t diagonal = 0);

// ---- All other operations, as the kernels of the same name (weft/kernels.h) define them. Kernels whose result size
// depends on data (compress, nonzero) have no op, because the shapes of a graph are known when it is made.
Tensor gather(const Operand& x, const Operand& indices, int axis = 0);
// take_along_axis: indices have the rank of x; other axes than `axis` broadcast.
Tensor gather_elements(const Operand& x, const Operand& indices, int axis);
Tensor gather_nd(const Operand& x, const Operand& indices, int batch = 0);
// A copy of x in which the chosen elements are combined with the updates.
Tensor scatter(ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates, int axis = 0);
// assign: put_along_axis. Other axes of x and the indices than `axis` broadcast, and the updates broadcast to the
// chosen elements; an element of an axis of x of size 1 is chosen by all indices there.
Tensor scatter_elements(ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates, int axis);
Tensor scatter_nd(ScatterKind op, const Operand& x, const Operand& indices, const Operand& updates, int batch = 0);
// The part of x of these sizes that begins at `starts`: one integer for each of `axes` (at least one, none named
// twice), or of rank 0 for one axis; 0 along other axes. Starts are clamped so that the part lies inside of x. They may
// come from a graph.number().
Tensor dynamic_slice(const Operand& x, const Operand& starts, const Shape& sizes, std::span<const int> axes);
Tensor dynamic_slice(const Operand& x, const Operand& starts, const Shape& sizes, std::initializer_list<int> axes);
// A copy of x with that part replaced by `update`. In place where x is needed no more; where x is an input, that takes
// CompileOptions::donate.
Tensor dynamic_update_slice(const Operand& x, const Operand& update, const Operand& starts, std::span<const int> axes);
Tensor dynamic_update_slice(const Operand& x, const Operand& update, const Operand& starts,
                            std::initializer_list<int> axes);
Tensor concat(std::span<const Tensor> parts, int axis);
// `before` and `after` have a number for each axis. Negative ones crop; if none is positive, the result is a view.
Tensor pad(const Operand& x, std::span<const std::int64_t> before, std::span<const std::int64_t> after,
           PadMode mode = PadMode::constant, Number value = 0);
Tensor tile(const Operand& x,
            std::span<const std::int64_t> counts);              // a number for each axis; axes of size 1 are broadcast
Tensor repeat(const Operand& x, std::int64_t count, int axis);  // each element `count` times
Tensor roll(const Operand& x, std::span<const std::int64_t> shifts);  // a number for each axis
Tensor triangle(const Operand& x, Triangle part, std::int64_t diagonal = 0);
Tensor one_hot(const Operand& indices, std::int64_t classes, DType dtype = DType::f32, int axis = -1, Number on = 1,
               Number off = 0);
Tensor scan(ScanKind op, const Operand& x, int axis, const kernels::ScanOptions& options = {});
inline Tensor cumsum(const Operand& x, int axis) { return scan(ScanKind::sum, x, axis); }
Tensor reduce(ReduceKind op, const Operand& x, const Axes& axes, bool keep_dims = false);
Tensor variance(const Operand& x, const Axes& axes = {}, double correction = 0, bool keep_dims = false);
Tensor deviation(const Operand& x, const Axes& axes = {}, double correction = 0, bool keep_dims = false);
// The index of the largest or smallest element over the axes, in row-major order, as i32; i64 among 2^31 elements and
// more, as all positions and counts below.
Tensor argmax(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor argmin(const Operand& x, const Axes& axes = {}, bool keep_dims = false);
Tensor softmax(const Operand& x, int axis = -1);
Tensor log_softmax(const Operand& x, int axis = -1);
// Over the last axes: as many as scale has, else as bias has, else one; or those from `first_axis` on. scale and bias
// may be empty.
Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon);
Tensor layer_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon, int first_axis);
// [..., m, k] · [..., k, n]; the axes in front broadcast. A tensor of rank 1 is a row on the left and a column on the
// right, and the result lacks that axis. The result's type: that of a and b if both have one float type; f32 for two
// float types; i32 for integers of 8 to 32 bits, whose sums wrap; c64 for c64 with c64 or floats; else what
// result_type() gives (integers of 64 bits are multiplied and summed). `result` may be any float type for floats,
// i32 or u32 for integers: the sums are converted once.
Tensor matmul(const Operand& a, const Operand& b, std::optional<DType> result = {});
// Over the last axes: as many as scale has, or one if scale is empty.
Tensor rms_norm(const Operand& x, const Operand& scale, double epsilon);
// scale and bias, with a value for each channel, may be empty. Batch norm becomes elementwise operations, which fuse
// with others.
Tensor group_norm(const Operand& x, const Operand& scale, const Operand& bias, std::int64_t groups, double epsilon,
                  int channel_axis = 1);
Tensor instance_norm(const Operand& x, const Operand& scale, const Operand& bias, double epsilon, int channel_axis = 1);
Tensor batch_norm(const Operand& x, const Operand& mean, const Operand& variance, const Operand& scale,
                  const Operand& bias, double epsilon, int channel_axis = 1);
// Random numbers of a key, u32 [2] (weft/kernels/random.h).
Tensor random_bits(const Operand& key, DType dtype, const Shape& shape);
Tensor random_uniform(const Operand& key, DType dtype, const Shape& shape, double low = 0, double high = 1);
Tensor random_normal(const Operand& key, DType dtype, const Shape& shape, double mean = 0, double deviation = 1);
Tensor random_integers(const Operand& key, DType dtype, const Shape& shape, std::int64_t low, std::int64_t high);
Tensor sort(const Operand& x, int axis = -1, bool descending = false);
Tensor argsort(const Operand& x, int axis = -1, bool descending = false);  // i32
struct TopK {
  Tensor values, indices;  // indices are i32
};
TopK top_k(const Operand& x, std::int64_t k, int axis = -1, bool largest = true);
// mask and the lengths (i32 or u32 [batch]) may be empty. A query that sees no key gives zeros, or NaN if
// options.empty_is_nan. Attention written as separate operations gives NaN there, as softmax of -inf does, also after
// the compiler has fused it. Fusion may change whether NaN and infinities in masked keys and values reach the result;
// and x - log_sum_exp(x), which is fused to log_softmax, is NaN for a whole row that holds +inf.
Tensor attention(const Operand& q, const Operand& k, const Operand& v, const Operand& mask,
                 const kernels::AttentionOptions& options, const Operand& query_lengths = {},
                 const Operand& key_lengths = {});

}  // namespace weft
