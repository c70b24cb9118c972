#include "ops/svd.h"

#include <algorithm>

#include "core/format.h"
#include "graph/graph.h"
#include "ops/batch_in_order.h"
#include "ops/identity.h"
#include "ops/linalg.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

Shape batch_of(const Shape& matrices) { return Shape(std::span(matrices.begin(), matrices.end() - 2)); }
Shape with(Shape batch, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) batch.push_back(size);
  return batch;
}

// About seven sweeps of rotations, each of all pairs of columns.
OwnWork work_of(const View& a, const View& s, double per_column) {
  const double products = a.dtype == DType::c64 ? 4 : 1;
  const auto n = static_cast<double>(std::min(a.shape()[-2], a.shape()[-1]));
  return OwnWork{{per_column * products * n, 0}, static_cast<double>(a.count() + s.count())};
}

// A row of factors for the columns of matrices, and a column for their rows, in the matrices' type.
Tensor for_columns(const Tensor& s, const Tensor& like) { return expand_dims(cast(s, like.dtype()), -2); }
Tensor for_rows(const Tensor& s, const Tensor& like) { return expand_dims(cast(s, like.dtype()), -1); }

// A square matrix with x on its diagonal.
Tensor on_diagonal(const Tensor& x) {
  const std::int64_t n = x.shape()[-1];
  return select(eye(n, n, DType::boolean), expand_dims(x, -2), Graph::scalar(0, x.dtype()));
}

Tensor skew(const Tensor& x) { return x - adjoint(x); }

// The first n along an axis counted from the end; undefined stays so.
Tensor first(const Tensor& x, int axis, std::int64_t n) {
  if (!x.defined() || x.shape()[axis] == n) return x;
  return slice(x, x.rank() + axis, 0, n);
}

}  // namespace

// ---- Vectors and values

std::vector<TensorType> SvdOp::infer(std::span<const TensorType> in) const {
  const TensorType* inputs[] = {&in[0]};
  const std::vector<DType> types = infer_dtypes(name(), inputs);
  const std::int64_t m = in[0].shape[-2], n = in[0].shape[-1], k = std::min(m, n);
  const Shape batch = batch_of(in[0].shape);
  return {{types[0], with(batch, {m, a.full_matrices ? m : k})},
          {types[1], with(batch, {k})},
          {types[2], with(batch, {a.full_matrices ? n : k, n})},
          {types[3], batch}};
}

void SvdOp::lower(const Launch& call) const {
  kernels::svd(call.stream, call.inputs[0], call.outputs[0], call.outputs[1], call.outputs[2], call.outputs[3], a);
}

std::optional<OwnWork> SvdOp::own_work(std::span<const View> in, std::span<const View> out) const {
  return work_of(in[0], out[1], 80);
}

// With da = u (du' s + ds + s dv'ᴴ) vᴴ, du' = uᴴ du and dv' = vᴴ dv skew. PyTorch's, also in that values which are
// equal make the cotangents of vectors infinite or NaN, as values of 0 do where a is not square; that the vectors which
// complete u and vh have no derivatives; and that of complex numbers it is right for results that do not depend on the
// phases of vectors. Source: Townsend, "Differentiating the singular value decomposition", 2016; Wan and Zhang,
// "Automatic differentiation for complex valued SVD", 2019.
Derivatives SvdOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  const Tensor& s = node.outputs[1];
  const std::int64_t k = s.shape()[-1], m = node.inputs[0].shape()[-2], n = node.inputs[0].shape()[-1];
  const Tensor u = first(node.outputs[0], -1, k), vh = first(node.outputs[2], -2, k);
  const Tensor of_u = first(g[0], -1, k), &of_s = g[1], of_vh = first(g[2], -2, k);
  if (!of_u.defined() && !of_vh.defined()) {
    if (!of_s.defined()) return std::vector{Tensor()};
    return std::vector{matmul(u * for_columns(of_s, u), vh)};
  }
  // s(j)² - s(i)², and 1 on the diagonal.
  const Tensor rows = expand_dims(s, -2), columns = expand_dims(s, -1);
  const Tensor gap = cast((rows - columns) * (rows + columns) + eye(k, k, s.dtype()), u.dtype());
  Tensor inner;
  if (of_u.defined()) {
    const Tensor turn = skew(matmul(adjoint(u), of_u));
    inner = turn / gap * for_columns(s, u);
    if (u.dtype() == DType::c64 && of_vh.defined())
      inner = inner + on_diagonal(diagonal(turn) / cast(s * 2, u.dtype()));
  }
  if (of_vh.defined()) {
    inner = sum_of(inner, for_rows(s, u) * (skew(matmul(vh, adjoint(of_vh))) / gap));
  }
  if (of_s.defined()) inner = inner + on_diagonal(cast(of_s, u.dtype()));
  if (m > k && of_u.defined()) {
    const Tensor scaled = of_u / for_columns(s, u);
    return std::vector{matmul(matmul(u, inner) + scaled - matmul(u, matmul(adjoint(u), scaled)), vh)};
  }
  if (n > k && of_vh.defined()) {
    const Tensor scaled = of_vh / for_rows(s, u);
    return std::vector{matmul(u, matmul(inner, vh) + scaled - matmul(matmul(scaled, adjoint(vh)), vh))};
  }
  return std::vector{matmul(u, matmul(inner, vh))};
}

// ---- Values alone

std::vector<TensorType> SvdvalsOp::infer(std::span<const TensorType> in) const {
  const TensorType* inputs[] = {&in[0]};
  const std::vector<DType> types = infer_dtypes(name(), inputs);
  const Shape batch = batch_of(in[0].shape);
  return {{types[0], with(batch, {std::min(in[0].shape[-2], in[0].shape[-1])})}, {types[1], batch}};
}

void SvdvalsOp::lower(const Launch& call) const {
  kernels::svdvals(call.stream, call.inputs[0], call.outputs[0], call.outputs[1]);
}

std::optional<OwnWork> SvdvalsOp::own_work(std::span<const View> in, std::span<const View> out) const {
  return work_of(in[0], out[0], 50);
}

Derivatives SvdvalsOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  if (!g[0].defined()) return std::vector{Tensor()};
  const Tensor u = apply(make_op<SvdOp>(kernels::SvdOptions{.full_matrices = false}), {node.inputs[0]});
  return std::vector{matmul(u * for_columns(g[0], u), result(u, 2))};
}

// ---- Pseudo-inverses

namespace {

// Of matrices whose rank does not change. Source: Golub and Pereyra, "The differentiation of pseudo-inverses and
// nonlinear least squares problems whose variables separate", 1973.
class PseudoInverse final : public CustomDerivative {
 public:
  PseudoInverse() { results = 1; }
  Derivatives vjp(const Differentiated& call, std::span<const Tensor> g) const override {
    if (!g[0].defined()) return std::vector{Tensor()};
    const Tensor &a = call.inputs[0], &y = call.outputs[0], yh = adjoint(y), gh = adjoint(g[0]);
    // -yᴴ g yᴴ + (1 - a y) gᴴ y yᴴ + yᴴ y gᴴ (1 - y a)
    const Tensor left = matmul(matmul(gh, y), yh), right = matmul(yh, matmul(y, gh));
    return std::vector{left - matmul(a, matmul(y, left)) + right - matmul(matmul(right, y), a) -
                       matmul(matmul(yh, g[0]), yh)};
  }
  Derivatives jvp(const Differentiated& call, std::span<const Tensor> t) const override {
    if (!t[0].defined()) return std::vector{Tensor()};
    const Tensor &a = call.inputs[0], &y = call.outputs[0], yh = adjoint(y), th = adjoint(t[0]);
    const Tensor left = matmul(y, matmul(yh, th)), right = matmul(matmul(th, yh), y);
    return std::vector{left - matmul(matmul(left, a), y) + right - matmul(y, matmul(a, right)) -
                       matmul(matmul(y, t[0]), y)};
  }
};

}  // namespace

Tensor pseudo_inverse(const Tensor& a, const Tensor& y) {
  static const auto derivative = std::make_shared<const PseudoInverse>();
  return with_derivative(derivative, std::vector{y}, std::vector{a})[0];
}

void add_svd_ops(OpRows& rows) {
  rows.push_back(op_row<SvdOp>(schema_of_kernel("svd")));
  rows.push_back(op_row<SvdvalsOp>(schema_of_kernel("svdvals")));
}

}  // namespace weft
