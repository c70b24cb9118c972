#include "compiler/passes/fold_scales.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

#include "compiler/passes/fold_constants.h"
#include "compiler/rewrite.h"
#include "compiler/terms.h"
#include "graph/clone.h"
#include "graph/leaf.h"
#include "ops/product.h"
#include "weft/array.h"

namespace weft::compiler {
namespace {

// Nodes behind a product that are looked through: a batch norm has less than ten.
constexpr std::size_t kLongest = 32;

// A value of an expression: scale · product + shift, or shift alone if it is made of constants. Tensors of the new
// graph, [channels] or [].
struct Affine {
  bool depends = false;  // on the product
  Tensor scale, shift;   // undefined: 1 and 0
};

Tensor product_of(const Tensor& a, const Tensor& b) { return a.defined() ? a * b : b; }

// True if the tensor depends on constants alone and every element passes the test.
template <class F>
bool all_of_constant(const Tensor& v, F test) {
  const ConstantPtr constant = constant_of(cast(v, DType::f32));
  if (!constant) return false;
  const TensorData data = constant->data();
  for (std::size_t at = 0; at < data.bytes.size(); at += sizeof(float)) {
    float value;
    std::memcpy(&value, &data.bytes[at], sizeof value);
    if (!test(value)) return false;
  }
  return true;
}

bool is_finite(const Tensor& v) {
  return all_of_constant(v, [](float value) { return std::isfinite(value); });
}

// Weights whose entries along an axis are multiplied by `scale`, in the type of the scale.
Tensor scaled(const Tensor& weights, const Tensor& scale, int axis) {
  if (scale.rank() == 0) return cast(weights, scale.dtype()) * scale;
  Shape shape = Dims::filled(weights.rank(), 1);
  shape[axis] = scale.size();
  return cast(weights, scale.dtype()) * reshape(scale, shape);
}

// The same in the weights' own type, stored with the axes in this order.
Tensor scaled(const Tensor& weights, const Tensor& scale, int axis, std::span<const int> order) {
  std::vector<int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
  const Tensor w = scaled(permute(weights, order), scale, back[static_cast<std::size_t>(axis)]);
  return permute(cast(w, weights.dtype()), back);
}

// True if in f16 every channel is zero or has a number whose rounding is the relative one of f16's normal range, so
// that the channel's smaller numbers are not rounded more coarsely than its largest one.
bool fits_f16(const Tensor& weights, int axis) {
  std::vector<int> others;
  for (int i = 0; i < weights.rank(); ++i) {
    if (i != axis) others.push_back(i);
  }
  constexpr float kLargest = 65504, kLeast = 0x1p-12f;
  return all_of_constant(max(abs(weights), others), [](float v) { return v == 0 || (v >= kLeast && v <= kLargest); });
}

class Folder {
 public:
  explicit Folder(const Graph& graph) : r_(graph) {}

  Graph run() {
    return r_.run([&](const Node& node) { return node.op().elementwise() ? extend(node) : begin(node); });
  }

 private:
  // A product and what happened to its result so far.
  struct Chain {
    const Node* product;
    Affine value;
    std::vector<const Node*> parts;
  };

  Tensor begin(const Node& node) {
    const auto channels = node.op().rewriting().channel_axes();
    if (!channels || !channels->weights) return {};
    const DType type = node.types()[0].dtype;
    const Tensor& w = node.inputs()[1];
    if (!is_floating(type) || bits(type) < 16 || !is_floating(w.dtype()) || bits(w.dtype()) < 16) return {};
    if (constant_op(root_of(w))) chains_[node] = {&node, {.depends = true, .scale = {}, .shift = {}}, {&node}};
    return {};
  }

  // Of sums: f64 of f64, else f32.
  static DType sum_type(const Node& product) {
    return product.types()[0].dtype == DType::f64 ? DType::f64 : DType::f32;
  }

  // The place of the channels among the axes of the product's result.
  static int result_axis(const Node& product) {
    const int axis = product.op().rewriting().channel_axes()->result;
    return axis < 0 ? axis + product.types()[0].shape.rank() : axis;
  }

  Tensor extend(const Node& node) {
    if (node.types().size() != 1) return {};
    for (const Tensor& v : node.inputs()) {
      const Chain* before = chains_.find(*v.node());
      if (!before || !r_.uses().only(v, node) || before->parts.size() == kLongest) continue;
      Chain chain = *before;
      const Node& product = *chain.product;
      if (node.types()[0].shape != product.types()[0].shape) continue;
      const std::optional<Affine> value = evaluate(node, v, chain);
      if (!value || !value->depends) continue;
      chain.value = *value;
      chain.parts.push_back(&node);
      const bool worthwhile = chain.value.scale.defined() && chain.value.scale.rank() == 1;
      const Tensor made = worthwhile ? make(chain) : Tensor();
      if (worthwhile && !made.defined()) return {};
      chains_[node] = std::move(chain);
      return made;
    }
    return {};
  }

  // The expression as a scale and a shift of the product; nothing if it is anything else.
  std::optional<Affine> evaluate(const Node& node, const Tensor& chained, const Chain& chain) {
    const DType sums = sum_type(*chain.product);
    const Expression& e = *node.op().elementwise();
    std::vector<Affine> values;
    for (const Expression::Node& step : e.nodes()) {
      const auto arg = [&](int i) -> const Affine& {
        return values[static_cast<std::size_t>(step.args[static_cast<std::size_t>(i)])];
      };
      std::optional<Affine> value;
      switch (step.op) {
        case ScalarOp::input: {
          const Tensor& v = node.inputs()[static_cast<std::size_t>(step.input)];
          if (same(v, chained)) {
            value = chain.value;
          } else if (const Tensor c = per_channel(v, *chain.product); c.defined()) {
            value = Affine{.depends = false, .scale = {}, .shift = c};
          }
          break;
        }
        case ScalarOp::constant:
          if (const auto n = number(step); n && is_floating(step.type)) {
            value = Affine{.depends = false, .scale = {}, .shift = Graph::scalar(*n, sums)};
          }
          break;
        // A wider type is that of the sums, which are not rounded in between.
        case ScalarOp::cast:
          value = arg(0);
          break;
        case ScalarOp::neg:
          value = times(arg(0), Graph::scalar(-1.0, sums));
          break;
        case ScalarOp::add:
          value = sum(arg(0), arg(1));
          break;
        case ScalarOp::sub:
          value = sum(arg(0), times(arg(1), Graph::scalar(-1.0, sums)));
          break;
        case ScalarOp::mul:
          if (!arg(1).depends && arg(1).shift.defined())
            value = times(arg(0), arg(1).shift);
          else if (!arg(0).depends && arg(0).shift.defined())
            value = times(arg(1), arg(0).shift);
          break;
        case ScalarOp::div:
          if (!arg(1).depends && arg(1).shift.defined()) value = times(arg(0), 1.0 / arg(1).shift);
          break;
        default:
          break;
      }
      // The input itself may be narrower than the sums; nothing that is computed of it may.
      const bool input = step.op == ScalarOp::input;
      if (!value || (value->depends && !input && step.type != sums)) return std::nullopt;
      values.push_back(*value);
    }
    return values[static_cast<std::size_t>(e.outputs()[0])];
  }

  static std::optional<Affine> sum(const Affine& a, const Affine& b) {
    if (a.depends && b.depends) return std::nullopt;
    Affine y = a.depends ? a : b;
    y.shift = a.shift.defined() && b.shift.defined() ? a.shift + b.shift : a.shift.defined() ? a.shift : b.shift;
    return y;
  }
  static Affine times(const Affine& a, const Tensor& factor) {
    return {.depends = a.depends,
            .scale = a.depends ? product_of(a.scale, factor) : Tensor(),
            .shift = a.shift.defined() ? a.shift * factor : Tensor()};
  }

  // A constant with a number for each channel, or one for all, in the type of the sums; undefined if it is none.
  Tensor per_channel(const Tensor& v, const Node& product) {
    if (!constant_op(root_of(v)) || !is_floating(v.dtype())) return {};
    const Shape& shape = product.types()[0].shape;
    const int axis = result_axis(product) - (shape.rank() - v.rank());
    if (v.size() != 1 && (axis < 0 || v.shape()[axis] != v.size())) return {};
    const Shape flat = v.size() == 1 ? Shape{} : Shape{v.size()};
    return cast(reshape(r_.constant_at(v), flat), sum_type(product));
  }

  // The product with other weights, and its shift; undefined if these weights cannot be had.
  Tensor make(const Chain& chain) {
    const Node& product = *chain.product;
    const Affine& value = chain.value;
    if (!is_finite(value.scale) || (value.shift.defined() && !is_finite(value.shift))) return {};
    const DType sums = sum_type(product), stored = product.inputs()[1].dtype();
    const Tensor old = r_.constant_at(product.inputs()[1]);
    const int along = *product.op().rewriting().channel_axes()->weights, axis = along < 0 ? along + old.rank() : along;
    if (stored == DType::f16 && !fits_f16(scaled(old, value.scale, axis), axis)) return {};
    std::vector<int> order(static_cast<std::size_t>(old.rank()));
    std::iota(order.begin(), order.end(), 0);
    if (old.rank() > 2 && axis == 0) {
      // Kernels load the channels of an element of a filter together: they become adjacent in memory.
      std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    } else if (old.rank() == 2 && old.node()->op().is_view()) {
      // Models store the weights of a product transposed, and kernels prefer them so.
      std::swap(order[0], order[1]);
    }

    std::vector<Tensor> inputs = r_.at(product.inputs());
    inputs[1] = scaled(old, value.scale, axis, order);
    OpPtr op = product.shared_op();
    if (product.types()[0].dtype != sums) {
      const std::vector<TensorType> types = product.input_types();
      op = op->rewriting().with_types(types, types, std::array{sums});
      if (!op) return {};
    }
    Tensor y = clone(product, std::move(op), std::move(inputs));
    for (const Node* part : chain.parts) r_.add_labels(*y.node(), *part);
    if (!value.shift.defined()) return y;
    const int rank = y.rank() - result_axis(product);
    Shape shape = value.shift.rank() == 0 ? Shape{} : Dims::filled(rank, 1);
    if (value.shift.rank() != 0) shape[0] = value.shift.size();
    return y + reshape(value.shift, shape);
  }

  Rewriter r_;
  NodeMap<Chain> chains_;
};

}  // namespace

Graph fold_scales(const Graph& graph, const PassContext& context) {
  return context.options.fusion ? Folder(graph).run() : graph;
}

}  // namespace weft::compiler
