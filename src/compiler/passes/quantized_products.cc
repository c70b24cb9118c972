#include "compiler/passes/quantized_products.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/rewrite.h"
#include "compiler/terms.h"
#include "kernels/quantize/expressions.h"
#include "ops/quantized.h"
#include "weft/array.h"
#include "weft/quantization.h"

namespace weft::compiler {
namespace {

using kernels::QuantizedScheme;

constexpr TypeSet kQuantized{DType::i8, DType::u8, DType::i4,     DType::u4,
                             DType::i2, DType::u2, DType::f8e4m3, DType::f8e5m2},
    kBytes{DType::i8, DType::u8}, kExact{DType::f32, DType::f64, DType::i16, DType::i32},
    kFloats{DType::f32, DType::f16, DType::bf16, DType::f64};

// ---- (q - zero) · scale

// Of the new graph.
struct Dequantized {
  Tensor q, scale, zero;  // zero may be undefined; scale and zero broadcast to q
};

// What is behind conversions that keep every integer of 9 bits, and every 8-bit float.
std::optional<Term> converted(Term t) {
  bool to_integer = false;
  for (; t.is(ScalarOp::cast); t = t.arg(0)) {
    // (What a map has just quantised is a conversion as well.)
    if (t.value().defined() && kQuantized.contains(t.type())) break;
    if (!kExact.contains(t.type())) return std::nullopt;
    to_integer |= is_integer(t.type());
  }
  if (to_integer && t.value().defined() && is_floating(t.value().dtype())) return std::nullopt;
  return t;
}

// A value, or a number as one of that type; undefined for the middle of an expression, and for numbers that an integer
// type does not hold.
Tensor value_of(const Rewriter& r, const Term& t, DType type) {
  if (const auto n = t.number()) {
    if (is_integer(type)) {
      const auto [least, most] = kernels::quantized_range(type);
      if (!(*n >= least && *n <= most) || *n != std::trunc(*n)) return {};
    }
    return Graph::scalar(*n, type);
  }
  return t.value().defined() ? r.at(t.value()) : Tensor();
}

std::optional<Dequantized> match_map(const Rewriter& r, const Tensor& v) {
  if (!v.node()->op().elementwise() || v.node()->types().size() != 1 || !kFloats.contains(v.dtype()))
    return std::nullopt;
  Term y(v);
  if (y.is(ScalarOp::cast)) y = y.arg(0);  // narrow floats are rounded at the end
  // The product is rounded to f32, as by the kernels.
  if (!y.is(ScalarOp::mul) || y.type() != DType::f32) return std::nullopt;
  for (const int i : {0, 1}) {
    Term codes = y.arg(i), scale = y.arg(1 - i);
    if (scale.is(ScalarOp::cast)) scale = scale.arg(0);
    Dequantized found;
    found.scale = value_of(r, scale, DType::f32);
    if (!found.scale.defined() || !kFloats.contains(found.scale.dtype())) continue;
    auto inner = converted(codes);
    if (!inner) continue;
    std::optional<Term> zero;
    if (inner->is(ScalarOp::sub)) {
      if (!kExact.contains(inner->type())) continue;  // bytes wrap
      zero = converted(inner->arg(1));
      inner = converted(inner->arg(0));
      if (!zero || !inner) continue;
    }
    if (!inner->value().defined()) continue;
    found.q = r.at(inner->value());
    if (!kQuantized.contains(found.q.dtype()) || found.q.shape() != v.shape()) continue;
    if (zero) {
      if (is_floating(found.q.dtype())) continue;
      found.zero = value_of(r, *zero, found.q.dtype());
      if (!found.zero.defined() || found.zero.dtype() != found.q.dtype()) continue;
    }
    return found;
  }
  return std::nullopt;
}

// ---- Matrices

// What a matrix is a view of: `root`, whose elements it has in order, but for its last two axes, which may be swapped.
struct Matrix {
  Tensor root;
  Shape stored;  // of the matrix, as the root has it
  bool swapped = false;
};

// Axes of size 1 may have any stride.
bool same_places(const Layout& a, const Layout& b) {
  for (int d = 0; d < a.rank(); ++d) {
    if (a.shape[d] != 1 && a.strides[d] != b.strides[d]) return false;
  }
  return a.shape == b.shape;
}

std::optional<Matrix> matrix_of(const Tensor& v) {
  std::vector<const Node*> views;
  Tensor root = v;
  for (; root.node()->op().is_view(); root = root.node()->inputs()[0]) views.push_back(root.node());
  Layout layout = Layout::dense(root.shape());
  for (; !views.empty(); views.pop_back()) {
    const auto placed = views.back()->op().view_layout(layout);
    if (!placed || placed->offset != 0) return std::nullopt;
    layout = placed->layout;
  }
  if (element_count(root.shape()) != element_count(v.shape()) || v.rank() < 2) return std::nullopt;
  Shape swapped = v.shape();
  std::swap(swapped[-1], swapped[-2]);
  if (same_places(layout, Layout::dense(v.shape()))) return Matrix{root, v.shape(), false};
  std::vector<int> order;
  for (int d = 0; d < v.rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  if (same_places(layout, Layout::dense(swapped).permuted(order))) return Matrix{root, swapped, true};
  return std::nullopt;
}

// Weights that a matrix was dequantised to; `stored` is [..., rows, columns].
struct Weights {
  QuantizedOperands attributes;
  std::vector<Tensor> operands;  // of the new graph
  bool swapped = false;
};

Shape padded(Shape shape, int rank) {
  while (shape.rank() < rank) shape.insert(0, 1);
  return shape;
}

// The weights of a map on `shape`, which is the stored shape with its rows or columns in blocks, or as they are.
std::optional<Weights> in_groups(const Dequantized& d, const Matrix& m) {
  const Shape& shape = m.root.shape();
  const int leading = std::max(m.stored.rank() - 2, 0);
  const std::int64_t rows = m.stored[-2], columns = m.stored[-1];
  const Shape scale = padded(d.scale.shape(), shape.rank());
  if (d.zero.defined() && padded(d.zero.shape(), shape.rank()) != scale && d.zero.size() != 1) return std::nullopt;
  for (int i = 0; i < leading; ++i) {
    if (shape.rank() <= i || shape[i] != m.stored[i]) return std::nullopt;
  }
  const auto one = [&](int axis) { return scale[leading + axis] == 1; };
  const auto size = [&](int axis) { return shape[leading + axis]; };
  QuantizedOperands a;
  a.format.scheme = QuantizedScheme::integers;
  std::int64_t of_rows = 1, of_columns = 1;  // scales
  if (shape.rank() == leading + 2 && size(0) == rows && size(1) == columns) {
    of_rows = scale[leading], of_columns = scale[leading + 1];
    a.format.group_rows = one(0) ? 0 : 1;
    a.format.group = one(1) ? 0 : 1;
  } else if (shape.rank() == leading + 3 && size(0) == rows && size(1) * size(2) == columns && one(2)) {
    of_rows = scale[leading], of_columns = scale[leading + 1];
    a.format.group_rows = one(0) ? 0 : 1;
    a.format.group = one(1) ? 0 : size(2);
  } else if (shape.rank() == leading + 3 && size(0) * size(1) == rows && size(2) == columns && one(1)) {
    of_rows = scale[leading], of_columns = scale[leading + 2];
    a.format.group_rows = one(0) ? 0 : size(1);
    a.format.group = one(2) ? 0 : 1;
  } else {
    return std::nullopt;
  }
  // With as many scales as elements there would be nothing to save.
  if (of_rows * of_columns * 4 > std::max<std::int64_t>(rows * columns, 4)) return std::nullopt;
  Shape of_scales;
  for (int i = 0; i < leading; ++i) of_scales.push_back(m.stored[i]);
  of_scales.push_back(of_rows);
  of_scales.push_back(of_columns);
  Shape broadcast_scales = scale;
  for (int i = 0; i < leading; ++i) broadcast_scales[i] = m.stored[i];
  const auto place = [&](const Tensor& v) {
    return reshape(broadcast_to(v.size() == 1 ? reshape(v, {}) : v, broadcast_scales), of_scales);
  };
  Weights w{a, {reshape(d.q, m.stored), place(d.scale)}, m.swapped};
  if (w.operands[1].dtype() == DType::f64) return std::nullopt;
  w.attributes.scales = true;
  w.attributes.zeros = d.zero.defined();
  if (d.zero.defined()) w.operands.push_back(place(d.zero));
  return w;
}

std::optional<Weights> weights_of(const Rewriter& r, const Tensor& v) {
  const auto m = matrix_of(v);
  if (!m) return std::nullopt;
  const Node& node = *m->root.node();
  if (is(m->root, OpPattern::dequantized_weights)) {
    // Leading axes of size 1 may be missing: products broadcast.
    if (padded(m->root.shape(), m->stored.rank()) != m->stored) return std::nullopt;
    return Weights{*node.op().rewriting().quantized_operands(), r.at(node.inputs()), m->swapped};
  }
  const auto d = match_map(r, m->root);
  return d ? in_groups(*d, *m) : std::nullopt;
}

// ---- Products

// x · w, or xᵀ · w, for weights that are operand 1, or transposed operand 0.
Tensor product(const Tensor& x, const Weights& w, bool transposed, DType type) {
  QuantizedMatmulAttributes a{w.attributes, transposed, false, {}};
  if (type != x.dtype()) a.type = type;
  std::vector<Tensor> operands{x};
  operands.insert(operands.end(), w.operands.begin(), w.operands.end());
  return apply(make_op<QuantizedMatmulOp>(a), std::move(operands));
}

// The product, if it has the node's shape: with leading axes of 1 missing it may have fewer.
Tensor if_same_shape(const Node& node, const Tensor& y) { return y.shape() == node.types()[0].shape ? y : Tensor(); }

// Bytes whose zero point and scale are the same along axis `along` of a matrix, or of filters and images.
std::optional<Dequantized> bytes_of(const Rewriter& r, const Tensor& v, std::initializer_list<int> along) {
  const auto m = matrix_of(v);
  if (!m || m->root.shape() != m->stored) return std::nullopt;
  auto d = match_map(r, m->root);
  if (!d || !kBytes.contains(d->q.dtype())) return std::nullopt;
  for (Tensor* x : {&d->q, &d->scale, &d->zero}) {
    if (!x->defined() || (x->size() == 1 && x != &d->q)) continue;
    const Tensor whole = reshape(*x, padded(x->shape(), v.rank()));
    *x = m->swapped ? whole.T() : whole;
  }
  for (const Tensor& x : {d->scale, d->zero}) {
    if (!x.defined()) continue;
    const Shape shape = padded(x.shape(), v.rank());
    for (const int axis : along) {
      if (shape[axis] != 1) return std::nullopt;
    }
  }
  return d;
}

// Sums of that many products of differences of bytes are integers of 32 bits.
bool sums_fit(std::int64_t count) { return count <= INT32_MAX / (255 * 255); }

Tensor integer_product(const Rewriter& r, const Node& node) {
  const Tensor &x = node.inputs()[0], &w = node.inputs()[1];
  const auto a = bytes_of(r, x, {-1}), b = bytes_of(r, w, {-2});
  if (!a || !b || !sums_fit(x.shape()[-1])) return {};
  // Zero points that are several have all axes but the one of the sums.
  const auto zero = [&](const Tensor& v, Shape shape, int axis) {
    if (!v.defined() || v.size() == 1) return v;
    shape[axis] = 1;
    return broadcast_to(v, shape);
  };
  const Tensor sums = matmul_integer(a->q, b->q, zero(a->zero, x.shape(), -1), zero(b->zero, w.shape(), -2));
  const Tensor scale = cast(a->scale, DType::f32) * cast(b->scale, DType::f32);
  return cast(cast(sums, DType::f32) * scale, node.types()[0].dtype);
}

// Of x whose scale and zero point are numbers, and filters with one of each for an output.
Tensor integer_convolution(const Rewriter& r, const Node& node) {
  const Tensor &x = node.inputs()[0], &w = node.inputs()[1];
  const auto a = match_map(r, x), b = match_map(r, w);
  const auto axes = node.op().rewriting().channel_axes();
  if (!a || !b || !axes || !kBytes.contains(a->q.dtype()) || !kBytes.contains(b->q.dtype())) return {};
  if (a->scale.size() != 1 || (a->zero.defined() && a->zero.size() != 1)) return {};
  const std::int64_t outputs = w.shape()[0];
  for (const Tensor& v : {b->scale, b->zero}) {
    if (v.defined() && v.size() != 1 && (v.rank() != w.rank() || v.shape()[0] != v.size())) return {};
  }
  if (outputs == 0 || !sums_fit(w.size() / outputs)) return {};
  // Differences from a zero point take 9 bits.
  const auto shifted = [&](const Dequantized& d) {
    if (!d.zero.defined()) return d.q;
    const Tensor zero = cast(d.zero, DType::i16);
    return cast(d.q, DType::i16) - (d.zero.size() == 1 ? reshape(zero, {}) : zero);
  };
  const Tensor left = shifted(*a), right = shifted(*b);
  const OpPtr op = node.op().rewriting().with_types(node.input_types(), std::vector{left.type(), right.type()},
                                                    std::vector{DType::i32});
  if (!op) return {};
  const Tensor sums = apply(op, {left, right});
  if (sums.dtype() != DType::i32) return {};
  Tensor scale = cast(b->scale, DType::f32);
  if (b->scale.size() == 1) {
    scale = reshape(scale, {});
  } else {
    Shape shape = Shape::filled(sums.rank(), 1);
    shape[axes->result < 0 ? axes->result + sums.rank() : axes->result] = outputs;
    scale = reshape(scale, shape);
  }
  const Tensor all = cast(reshape(a->scale, {}), DType::f32) * scale;
  return cast(cast(sums, DType::f32) * all, node.types()[0].dtype);
}

}  // namespace

Graph quantized_products(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  return r.run([&](const Node& node) -> Tensor {
    const bool convolves = node.op().pattern() == OpPattern::conv;
    if ((!convolves && node.op().pattern() != OpPattern::matmul) || !kFloats.contains(node.types()[0].dtype)) return {};
    const Tensor &x = node.inputs()[0], &w = node.inputs()[1];
    const DType type = node.types()[0].dtype;
    // Integers are scaled in f32.
    if (type != DType::f64) {
      if (Tensor y = convolves ? integer_convolution(r, node) : integer_product(r, node); y.defined()) return y;
    }
    if (convolves) return {};
    if (kFloats.contains(x.dtype())) {
      if (const auto found = weights_of(r, w))
        return if_same_shape(node, product(r.at(x), *found, found->swapped, type));
    }
    if (kFloats.contains(w.dtype())) {
      // x w = (wᵀ xᵀ)ᵀ
      if (const auto found = weights_of(r, x))
        return if_same_shape(node, product(r.at(w).T(), *found, !found->swapped, type).T());
    }
    return {};
  });
}

}  // namespace weft::compiler
