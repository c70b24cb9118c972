// The intermediate representation: a graph of operations on typed tensors. Front doors build it, the compiler turns it
// into an Executable (weft/compile.h). Recording a value computes nothing; shapes and types are inferred and checked at
// once, so that an error points at the line that made it.
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
#include "weft/expression.h"
#include "weft/kernels/attention.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/index.h"
#include "weft/kernels/pad.h"
#include "weft/kernels/reduce.h"
#include "weft/kernels/scan.h"
#include "weft/shape.h"
#include "weft/tensor_data.h"

namespace weft {

struct TensorType {
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorType&) const = default;
};
std::string to_string(const TensorType& type);  // "f32 [2, 3]"

using kernels::PadMode;
using kernels::ReduceOp;
using kernels::ScanOp;
using kernels::ScatterOp;
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
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  // Names are unique among inputs, and among outputs. Throws InvalidArgument.
  Value input(std::string name, DType dtype, const Shape& shape);
  Value constant(TensorData tensor, std::string name = {});
  Value scalar(double value, DType dtype);
  void output(std::string name, Value value);

  // Text of the whole graph, a node a line, in an order in which it can be computed.
  std::string to_string() const;
  // Graphviz source: what `weft graph` draws.
  std::string to_dot() const;
  // Of structure, types, fields and constants' identity: equal graphs compile to the same.
  std::uint64_t hash() const;
  // Throws InternalError if a node's recorded types are not what its op infers, an edge leaves the graph or there is a
  // cycle. The compiler runs it after every pass in debug builds and tests.
  void verify() const;

  struct Impl;  // src/graph
  Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// ---- Elementwise. Operands broadcast by NumPy's rules and have one dtype. Throw InvalidArgument.
Value unary(ScalarOp op, Value x);
Value binary(ScalarOp op, Value a, Value b);
Value select(Value condition, Value if_true, Value if_false);
Value cast(Value x, DType dtype);

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
inline Value relu(Value x) { return unary(ScalarOp::relu, x); }
inline Value silu(Value x) { return unary(ScalarOp::silu, x); }
inline Value tanh(Value x) { return unary(ScalarOp::tanh, x); }
inline Value sigmoid(Value x) { return unary(ScalarOp::sigmoid, x); }
inline Value exp(Value x) { return unary(ScalarOp::exp, x); }
inline Value sqrt(Value x) { return unary(ScalarOp::sqrt, x); }
inline Value rsqrt(Value x) { return unary(ScalarOp::rsqrt, x); }
inline Value maximum(Value a, Value b) { return binary(ScalarOp::max, a, b); }
inline Value minimum(Value a, Value b) { return binary(ScalarOp::min, a, b); }

// ---- Views: another layout of the same elements; free unless a kernel needs them dense.
Value reshape(Value x, const Shape& shape);  // one size may be -1
Value permute(Value x, std::initializer_list<int> order);
Value permute(Value x, std::span<const int> order);
Value broadcast_to(Value x, const Shape& shape);
// Elements begin, begin + step, … before `end`. With a negative step they go down from `begin` to after `end`, which is
// -1 to reach element 0.
Value slice(Value x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step = 1);
// The parts along an axis, of sizes that make up the whole.
std::vector<Value> split(Value x, std::span<const std::int64_t> sizes, int axis);
Value expand_dims(Value x, int axis);
Value squeeze(Value x, int axis);

// ---- Constants made of indices.
Value arange(Graph& graph, double start, double step, std::int64_t count, DType dtype);
Value linspace(Graph& graph, double start, double stop, std::int64_t count, DType dtype);
Value eye(Graph& graph, std::int64_t rows, std::int64_t columns, DType dtype, std::int64_t diagonal = 0);
Value triangle(Graph& graph, std::int64_t rows, std::int64_t columns, DType dtype, Triangle part,
               std::int64_t diagonal = 0);

// ---- The rest, as the kernels of the same name (weft/kernels.h) define them. Kernels whose result's size is
// data (compress, nonzero) have no op: a graph's shapes are known when it is made.
Value gather(Value x, Value indices, int axis = 0);
Value gather_elements(Value x, Value indices, int axis);   // take_along_axis
Value gather_nd(Value x, Value indices, int batch = 0);
// x with the chosen elements combined with the updates; x itself stays.
Value scatter(ScatterOp op, Value x, Value indices, Value updates, int axis = 0);
Value scatter_elements(ScatterOp op, Value x, Value indices, Value updates, int axis);  // assign: put_along_axis
Value scatter_nd(ScatterOp op, Value x, Value indices, Value updates, int batch = 0);
Value concat(std::span<const Value> parts, int axis);
// `before` and `after` have a number for each axis; negative ones cut off, and where all are, the result is a view.
Value pad(Value x, std::span<const std::int64_t> before, std::span<const std::int64_t> after,
          PadMode mode = PadMode::constant, double value = 0);
Value tile(Value x, std::span<const std::int64_t> counts);   // a number for each axis; an axis of 1 is only a view
Value repeat(Value x, std::int64_t count, int axis);         // each element `count` times
Value roll(Value x, std::span<const std::int64_t> shifts);   // a number for each axis
Value triangle(Value x, Triangle part, std::int64_t diagonal = 0);
Value one_hot(Value indices, std::int64_t classes, DType dtype = DType::f32, int axis = -1, double on = 1, double off = 0);
Value scan(ScanOp op, Value x, int axis, const kernels::ScanOptions& options = {});
inline Value cumsum(Value x, int axis) { return scan(ScanOp::sum, x, axis); }
Value reduce(ReduceOp op, Value x, std::initializer_list<int> axes, bool keep_dims = false);
Value reduce(ReduceOp op, Value x, std::span<const int> axes, bool keep_dims = false);
Value softmax(Value x, int axis = -1);
// Over the last axes: those of scale, else of bias, else the last one, or from `first_axis` on. Both may be empty.
Value layer_norm(Value x, Value scale, Value bias, double epsilon);
Value layer_norm(Value x, Value scale, Value bias, double epsilon, int first_axis);
Value matmul(Value a, Value b);  // of two float types: f32
Value attention(Value q, Value k, Value v, Value mask, const kernels::AttentionOptions& options);  // mask may be empty

}  // namespace weft
