// The intermediate representation: a graph of operations on typed tensors. Frontends build it, the compiler turns it
// into an Executable (weft/compile.h). Adding a value computes nothing; its shape and type are inferred and checked at
// once, so that an error points at the line that caused it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/dtype.h"
#include "weft/expressions.h"
#include "weft/kernels/attention.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/index.h"
#include "weft/kernels/pad.h"
#include "weft/kernels/reduce.h"
#include "weft/kernels/scan.h"
#include "weft/shape.h"
#include "weft/tensor_data.h"
#include "weft/tensor_type.h"

namespace weft {

using kernels::PadMode;
using kernels::ReduceKind;
using kernels::ScanKind;
using kernels::ScatterKind;
using kernels::Triangle;

class Graph;
class Node;  // src/graph

// A value of a graph: one result of one node. A small handle, good as long as its graph.
class Value {
 public:
  Value() = default;
  Value(Node* node, int index) : node_(node), index_(index) {}

  explicit operator bool() const { return node_ != nullptr; }
  Graph& graph() const;
  const TensorType& type() const;
  DType dtype() const { return type().dtype; }
  const Shape& shape() const { return type().shape; }
  int rank() const { return shape().rank(); }
  Node* node() const { return node_; }
  int index() const { return index_; }

  // The last two axes exchanged.
  Value T() const;

  bool operator==(const Value&) const = default;

 private:
  Node* node_ = nullptr;
  int index_ = 0;
};

class Graph {
 public:
  Graph();
  ~Graph();
  // A graph that was moved from can be assigned to; everything else on it throws InvalidArgument.
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // Names are unique among inputs, and among outputs. Throws InvalidArgument.
  Value input(std::string name, DType dtype, const Shape& shape);
  Value constant(TensorData tensor, std::string name = {});
  Value scalar(Number value, DType dtype);
  void output(std::string name, Value value);

  // Text of the whole graph, a node a line, in an order in which it can be computed.
  std::string to_string() const;
  // Graphviz source: what `weft graph` draws.
  std::string to_dot() const;
  // A hash of structure, types, fields and the identity of constants: equal graphs compile to the same executable.
  std::uint64_t hash() const;
  // Throws InternalError if a node's recorded types are not what its op infers, an edge leaves the graph or there is a
  // cycle. The compiler runs it after every pass in debug builds and tests.
  void verify() const;

  struct Impl;  // src/graph
  Impl& impl() const;

 private:
  std::unique_ptr<Impl> impl_;
};

// ---- Elementwise. Operands broadcast by NumPy's rules and have one dtype. Throw InvalidArgument. Special values are
// described in weft/expression.h.
Value unary(ScalarOp op, Value x);
Value binary(ScalarOp op, Value a, Value b);
Value ternary(ScalarOp op, Value a, Value b, Value c);
Value select(Value condition, Value if_true, Value if_false);
Value cast(Value x, DType dtype);
// Any function of weft/expressions.h by its name, with its parameters: elementwise("leaky_relu", {x}, {0.2}).
Value elementwise(std::string_view name, std::span<const Value> operands, std::span<const double> parameters = {});
Value elementwise(std::string_view name, std::initializer_list<Value> operands,
                  std::initializer_list<double> parameters = {});

inline Value operator+(Value a, Value b) { return binary(ScalarOp::add, a, b); }
inline Value operator-(Value a, Value b) { return binary(ScalarOp::sub, a, b); }
inline Value operator*(Value a, Value b) { return binary(ScalarOp::mul, a, b); }
inline Value operator/(Value a, Value b) { return binary(ScalarOp::div, a, b); }
inline Value operator-(Value x) { return unary(ScalarOp::neg, x); }
Value operator+(Value a, double b);
Value operator-(Value a, double b);
Value operator*(Value a, double b);
Value operator/(Value a, double b);
Value operator*(double a, Value b);
Value operator-(double a, Value b);

enum class Gelu : std::uint8_t { erf, tanh, quick };
Value gelu(Value x, Gelu form = Gelu::erf);
inline Value neg(Value x) { return unary(ScalarOp::neg, x); }
inline Value abs(Value x) { return unary(ScalarOp::abs, x); }
inline Value sign(Value x) { return unary(ScalarOp::sign, x); }
inline Value ceil(Value x) { return unary(ScalarOp::ceil, x); }
inline Value floor(Value x) { return unary(ScalarOp::floor, x); }
inline Value trunc(Value x) { return unary(ScalarOp::trunc, x); }
inline Value round(Value x) { return unary(ScalarOp::round, x); }
inline Value sqrt(Value x) { return unary(ScalarOp::sqrt, x); }
inline Value rsqrt(Value x) { return unary(ScalarOp::rsqrt, x); }
inline Value cbrt(Value x) { return unary(ScalarOp::cbrt, x); }
inline Value reciprocal(Value x) { return unary(ScalarOp::reciprocal, x); }
inline Value square(Value x) { return unary(ScalarOp::square, x); }
inline Value exp(Value x) { return unary(ScalarOp::exp, x); }
inline Value exp2(Value x) { return unary(ScalarOp::exp2, x); }
inline Value expm1(Value x) { return unary(ScalarOp::expm1, x); }
inline Value log(Value x) { return unary(ScalarOp::log, x); }
inline Value log2(Value x) { return unary(ScalarOp::log2, x); }
inline Value log10(Value x) { return unary(ScalarOp::log10, x); }
inline Value log1p(Value x) { return unary(ScalarOp::log1p, x); }
inline Value sin(Value x) { return unary(ScalarOp::sin, x); }
inline Value cos(Value x) { return unary(ScalarOp::cos, x); }
inline Value tan(Value x) { return unary(ScalarOp::tan, x); }
inline Value asin(Value x) { return unary(ScalarOp::asin, x); }
inline Value acos(Value x) { return unary(ScalarOp::acos, x); }
inline Value atan(Value x) { return unary(ScalarOp::atan, x); }
inline Value sinh(Value x) { return unary(ScalarOp::sinh, x); }
inline Value cosh(Value x) { return unary(ScalarOp::cosh, x); }
inline Value tanh(Value x) { return unary(ScalarOp::tanh, x); }
inline Value asinh(Value x) { return unary(ScalarOp::asinh, x); }
inline Value acosh(Value x) { return unary(ScalarOp::acosh, x); }
inline Value atanh(Value x) { return unary(ScalarOp::atanh, x); }
inline Value erf(Value x) { return unary(ScalarOp::erf, x); }
inline Value erfc(Value x) { return unary(ScalarOp::erfc, x); }
inline Value erfinv(Value x) { return unary(ScalarOp::erfinv, x); }
inline Value lgamma(Value x) { return unary(ScalarOp::lgamma, x); }
inline Value digamma(Value x) { return unary(ScalarOp::digamma, x); }
inline Value sigmoid(Value x) { return unary(ScalarOp::sigmoid, x); }
inline Value logsigmoid(Value x) { return unary(ScalarOp::logsigmoid, x); }
inline Value softplus(Value x) { return unary(ScalarOp::softplus, x); }
inline Value mish(Value x) { return unary(ScalarOp::mish, x); }
inline Value relu(Value x) { return unary(ScalarOp::relu, x); }
inline Value silu(Value x) { return unary(ScalarOp::silu, x); }
inline Value logical_not(Value x) { return unary(ScalarOp::logical_not, x); }
inline Value bitwise_not(Value x) { return unary(ScalarOp::bitwise_not, x); }
inline Value popcount(Value x) { return unary(ScalarOp::popcount, x); }
inline Value clz(Value x) { return unary(ScalarOp::clz, x); }
inline Value is_nan(Value x) { return unary(ScalarOp::is_nan, x); }
inline Value is_inf(Value x) { return unary(ScalarOp::is_inf, x); }
inline Value is_finite(Value x) { return unary(ScalarOp::is_finite, x); }
inline Value signbit(Value x) { return unary(ScalarOp::signbit, x); }
inline Value real(Value x) { return unary(ScalarOp::real, x); }
inline Value imag(Value x) { return unary(ScalarOp::imag, x); }
inline Value conj(Value x) { return unary(ScalarOp::conj, x); }
inline Value angle(Value x) { return unary(ScalarOp::angle, x); }
inline Value floor_divide(Value a, Value b) { return binary(ScalarOp::floor_divide, a, b); }
inline Value rem(Value a, Value b) { return binary(ScalarOp::rem, a, b); }
inline Value remainder(Value a, Value b) { return binary(ScalarOp::remainder, a, b); }
inline Value pow(Value a, Value b) { return binary(ScalarOp::pow, a, b); }
inline Value atan2(Value a, Value b) { return binary(ScalarOp::atan2, a, b); }
inline Value hypot(Value a, Value b) { return binary(ScalarOp::hypot, a, b); }
inline Value copysign(Value a, Value b) { return binary(ScalarOp::copysign, a, b); }
inline Value nextafter(Value a, Value b) { return binary(ScalarOp::nextafter, a, b); }
inline Value logaddexp(Value a, Value b) { return binary(ScalarOp::logaddexp, a, b); }
inline Value minimum(Value a, Value b) { return binary(ScalarOp::min, a, b); }
inline Value maximum(Value a, Value b) { return binary(ScalarOp::max, a, b); }
inline Value fmin(Value a, Value b) { return binary(ScalarOp::fmin, a, b); }
inline Value fmax(Value a, Value b) { return binary(ScalarOp::fmax, a, b); }
inline Value gcd(Value a, Value b) { return binary(ScalarOp::gcd, a, b); }
inline Value lcm(Value a, Value b) { return binary(ScalarOp::lcm, a, b); }
inline Value equal(Value a, Value b) { return binary(ScalarOp::equal, a, b); }
inline Value not_equal(Value a, Value b) { return binary(ScalarOp::not_equal, a, b); }
inline Value less(Value a, Value b) { return binary(ScalarOp::less, a, b); }
inline Value less_equal(Value a, Value b) { return binary(ScalarOp::less_equal, a, b); }
inline Value greater(Value a, Value b) { return binary(ScalarOp::greater, a, b); }
inline Value greater_equal(Value a, Value b) { return binary(ScalarOp::greater_equal, a, b); }
inline Value logical_and(Value a, Value b) { return binary(ScalarOp::logical_and, a, b); }
inline Value logical_or(Value a, Value b) { return binary(ScalarOp::logical_or, a, b); }
inline Value logical_xor(Value a, Value b) { return binary(ScalarOp::logical_xor, a, b); }
inline Value bitwise_and(Value a, Value b) { return binary(ScalarOp::bitwise_and, a, b); }
inline Value bitwise_or(Value a, Value b) { return binary(ScalarOp::bitwise_or, a, b); }
inline Value bitwise_xor(Value a, Value b) { return binary(ScalarOp::bitwise_xor, a, b); }
inline Value shift_left(Value a, Value b) { return binary(ScalarOp::shift_left, a, b); }
inline Value shift_right(Value a, Value b) { return binary(ScalarOp::shift_right, a, b); }
inline Value complex(Value a, Value b) { return binary(ScalarOp::complex, a, b); }
inline Value fma(Value a, Value b, Value c) { return ternary(ScalarOp::fma, a, b, c); }
inline Value lerp(Value a, Value b, Value t) { return ternary(ScalarOp::lerp, a, b, t); }
inline Value clamp(Value x, Value low, Value high) { return ternary(ScalarOp::clamp, x, low, high); }
Value clamp(Value x, double low, double high);
inline Value relu6(Value x) { return elementwise("relu6", {x}); }
inline Value hardtanh(Value x, double low = -1, double high = 1) { return elementwise("hardtanh", {x}, {low, high}); }
inline Value leaky_relu(Value x, double alpha = 0.01) { return elementwise("leaky_relu", {x}, {alpha}); }
inline Value elu(Value x, double alpha = 1) { return elementwise("elu", {x}, {alpha}); }
inline Value selu(Value x) { return elementwise("selu", {x}); }
inline Value celu(Value x, double alpha = 1) { return elementwise("celu", {x}, {alpha}); }
inline Value hardsigmoid(Value x, double alpha = 1.0 / 6, double beta = 0.5) {
  return elementwise("hardsigmoid", {x}, {alpha, beta});
}
inline Value hardswish(Value x) { return elementwise("hardswish", {x}); }
inline Value softsign(Value x) { return elementwise("softsign", {x}); }

// ---- Views: another layout of the same elements; free unless a kernel needs them dense.
Value reshape(Value x, const Shape& shape);  // one size may be -1
Value permute(Value x, std::initializer_list<int> order);
Value permute(Value x, std::span<const int> order);
Value broadcast_to(Value x, const Shape& shape);
// Elements begin, begin + step, … before `end`. With a negative step they go down from `begin` to the element after
// `end`, which is -1 to reach element 0.
Value slice(Value x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
// Consecutive pieces of x along an axis; `sizes` add up to its size.
std::vector<Value> split(Value x, std::span<const std::int64_t> sizes, int axis);
Value expand_dims(Value x, int axis);
Value squeeze(Value x, int axis);

// ---- Constants computed from indices.
Value arange(Graph& graph, Number start, Number step, std::int64_t count, DType dtype);
Value linspace(Graph& graph, double start, double stop, std::int64_t count, DType dtype);
Value eye(Graph& graph, std::int64_t rows, std::int64_t columns, DType dtype, std::int64_t diagonal = 0);
Value triangle(Graph& graph, std::int64_t rows, std::int64_t columns, DType dtype, Triangle part,
               std::int64_t diagonal = 0);

// ---- All other operations, as the kernels of the same name (weft/kernels.h) define them. Kernels whose result size
// depends on data (compress, nonzero) have no op, because the shapes of a graph are known when it is made.
Value gather(Value x, Value indices, int axis = 0);
Value gather_elements(Value x, Value indices, int axis);   // take_along_axis
Value gather_nd(Value x, Value indices, int batch = 0);
// A copy of x in which the chosen elements are combined with the updates.
Value scatter(ScatterKind op, Value x, Value indices, Value updates, int axis = 0);
Value scatter_elements(ScatterKind op, Value x, Value indices, Value updates, int axis);  // assign: put_along_axis
Value scatter_nd(ScatterKind op, Value x, Value indices, Value updates, int batch = 0);
Value concat(std::span<const Value> parts, int axis);
// `before` and `after` have a number for each axis. Negative ones crop; if none is positive, the result is a view.
Value pad(Value x, std::span<const std::int64_t> before, std::span<const std::int64_t> after,
          PadMode mode = PadMode::constant, Number value = 0);
Value tile(Value x, std::span<const std::int64_t> counts);   // a number for each axis; axes of size 1 are broadcast
Value repeat(Value x, std::int64_t count, int axis);         // each element `count` times
Value roll(Value x, std::span<const std::int64_t> shifts);   // a number for each axis
Value triangle(Value x, Triangle part, std::int64_t diagonal = 0);
Value one_hot(Value indices, std::int64_t classes, DType dtype = DType::f32, int axis = -1, Number on = 1,
              Number off = 0);
Value scan(ScanKind op, Value x, int axis, const kernels::ScanOptions& options = {});
inline Value cumsum(Value x, int axis) { return scan(ScanKind::sum, x, axis); }
Value reduce(ReduceKind op, Value x, std::initializer_list<int> axes, bool keep_dims = false);
Value reduce(ReduceKind op, Value x, std::span<const int> axes, bool keep_dims = false);
Value variance(Value x, std::initializer_list<int> axes, double correction = 0, bool keep_dims = false);
Value deviation(Value x, std::initializer_list<int> axes, double correction = 0, bool keep_dims = false);
// The index of the largest or smallest element over the axes, in row-major order, as i32.
Value argmax(Value x, std::initializer_list<int> axes, bool keep_dims = false);
Value argmin(Value x, std::initializer_list<int> axes, bool keep_dims = false);
Value softmax(Value x, int axis = -1);
Value log_softmax(Value x, int axis = -1);
// Over the last axes: as many as scale has, else as bias has, else one; or those from `first_axis` on. scale and bias
// may be empty.
Value layer_norm(Value x, Value scale, Value bias, double epsilon);
Value layer_norm(Value x, Value scale, Value bias, double epsilon, int first_axis);
// The result's type: that of a and b if both have one float type; f32 for two float types; i32 for integers of 8 to 32
// bits, whose sums wrap; c64 for c64 with c64 or floats. `result` may be any float type for floats, i32 or u32 for
// integers: the sums are converted once.
Value matmul(Value a, Value b, std::optional<DType> result = {});
// Over the last axes: as many as scale has, or one if scale is empty.
Value rms_norm(Value x, Value scale, double epsilon);
// scale and bias, with a value for each channel, may be empty. Batch norm becomes elementwise operations, which fuse
// with others.
Value group_norm(Value x, Value scale, Value bias, std::int64_t groups, double epsilon, int channel_axis = 1);
Value instance_norm(Value x, Value scale, Value bias, double epsilon, int channel_axis = 1);
Value batch_norm(Value x, Value mean, Value variance, Value scale, Value bias, double epsilon, int channel_axis = 1);
// Random numbers of a key, u32 [2] (weft/kernels/random.h).
Value random_bits(Value key, DType dtype, const Shape& shape);
Value random_uniform(Value key, DType dtype, const Shape& shape, double low = 0, double high = 1);
Value random_normal(Value key, DType dtype, const Shape& shape, double mean = 0, double deviation = 1);
Value random_integers(Value key, DType dtype, const Shape& shape, std::int64_t low, std::int64_t high);
Value sort(Value x, int axis = -1, bool descending = false);
Value argsort(Value x, int axis = -1, bool descending = false);  // i32
struct TopK {
  Value values, indices;  // indices are i32
};
TopK top_k(Value x, std::int64_t k, int axis = -1, bool largest = true);
// mask and the lengths (i32 or u32 [batch]) may be empty. A query that sees no key gives zeros, or NaN if
// options.empty_is_nan. Attention written as separate operations gives NaN there, as softmax of -inf does, also after
// the compiler has fused it. Fusion may change whether NaN and infinities in masked keys and values reach the result;
// and x - log_sum_exp(x), which is fused to log_softmax, is NaN for a whole row that holds +inf.
Value attention(Value q, Value k, Value v, Value mask, const kernels::AttentionOptions& options,
                Value query_lengths = {}, Value key_lengths = {});

}  // namespace weft
