#include "ops/fft.h"

#include <cmath>

#include "core/format.h"
#include "graph/graph.h"
#include "kernels/fft/fft.h"
#include "ops/batch_in_order.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/error.h"

namespace weft {

using kernels::FftKind;

std::string_view FftOp::name() const { return kernels::fft_name(a.kind); }

std::vector<TensorType> FftOp::infer(std::span<const TensorType> in) const {
  const std::int64_t n = a.options.length;
  if (n < 1) throw InvalidArgument("{}: length is {}; expected at least 1", name(), n);
  Shape shape = in[0].shape;
  shape[a.axis] = a.kind == FftKind::real_to_complex ? n / 2 + 1 : n;
  return {{infer_dtype(name(), {&in[0]}, a.kind == FftKind::complex_to_real ? DType::f32 : DType::c64), shape}};
}

OpPtr FftOp::along(int axis) const { return make_op<FftOp>(FftAttributes{a.kind, axis, a.options}); }

void FftOp::lower(const Launch& call) const {
  kernels::fft(call.stream, a.kind, call.inputs[0], call.outputs[0], a.axis, a.options, call.fusion);
}

FusionSpec FftOp::fusion_spec(const gpu::Capabilities* device, std::span<const TensorType> in,
                              std::span<const TensorType>) const {
  FusionSpec spec{.epilogue_input = a.kind == FftKind::complex_to_real ? DType::f32 : DType::c64,
                  .narrow_operands = false};
  // On the CPU both are evaluated for a row at a time, which short rows are not worth.
  if (!device && a.options.length < 32) return spec;
  spec.prologue = a.kind != FftKind::real_to_complex || is_floating(in[0].dtype);
  spec.epilogue_outputs = 1;
  return spec;
}

std::optional<OwnWork> FftOp::own_work(std::span<const View>, std::span<const View> out) const {
  const auto n = static_cast<double>(a.options.length);
  const double rows = static_cast<double>(out[0].count()) / static_cast<double>(out[0].shape()[a.axis]);
  return OwnWork{{5 * std::log2(n), 0}, n * rows};
}

// ---- Derivatives and batching

namespace {

Tensor transformed(FftKind kind, const Tensor& x, int axis, const kernels::FftOptions& options) {
  return apply(make_op<FftOp>(FftAttributes{kind, axis, options}), {x});
}

// The first `size` elements along the axis, with zeros behind the last one.
Tensor resized(const Tensor& x, int axis, std::int64_t size) {
  const std::int64_t own = x.shape()[axis];
  if (own == size) return x;
  if (own > size) return slice(x, axis, 0, size);
  std::vector<std::int64_t> before(static_cast<std::size_t>(x.rank()), 0), after = before;
  after[static_cast<std::size_t>(axis)] = size - own;
  return pad(x, before, after);
}

// x times `factor`, but for the elements of half a spectrum that are their own conjugates: the first one and, of an
// even length, the last one.
Tensor inner_scaled(const Tensor& x, int axis, std::int64_t length, double factor) {
  Shape shape = Shape::filled(x.rank(), 1);
  shape[axis] = length / 2 + 1;
  const Tensor k = reshape(arange(0, length / 2 + 1, 1, DType::i32), shape);
  const Tensor own = length % 2 == 0 ? logical_or(equal(k, 0), equal(k, length / 2)) : equal(k, 0);
  return x * cast(select(own, 1.0F, static_cast<float>(factor)), x.dtype());
}

}  // namespace

Derivatives FftOp::vjp(const Differentiated& node, std::span<const Tensor> cotangents) const {
  // The matrix of the transform is symmetric, so that its conjugate transpose has the other sign in its exponents.
  const std::int64_t size = node.inputs[0].shape()[a.axis], n = a.options.length;
  kernels::FftOptions options = a.options;
  options.inverse = !options.inverse;
  const Tensor& g = cotangents[0];
  switch (a.kind) {
    case FftKind::complex:
      return std::vector{resized(transformed(FftKind::complex, g, a.axis, options), a.axis, size)};
    case FftKind::real_to_complex: {
      // The other half of the spectrum is no result; complex_to_real would count it.
      const Tensor half = inner_scaled(g, a.axis, n, 0.5);
      const Tensor x = resized(transformed(FftKind::complex_to_real, half, a.axis, options), a.axis, size);
      return std::vector{cast(x, node.inputs[0].dtype())};
    }
    case FftKind::complex_to_real: {
      const Tensor half = transformed(FftKind::real_to_complex, g, a.axis, options);
      return std::vector{resized(inner_scaled(half, a.axis, n, 2), a.axis, size)};
    }
  }
  return std::nullopt;
}

void add_fft_ops(OpRows& rows) {
  for (const FftKind kind : {FftKind::complex, FftKind::real_to_complex, FftKind::complex_to_real}) {
    rows.push_back(op_row<FftOp>(schema_of_kernel(kernels::fft_name(kind)), {.kind = kind}));
  }
}

}  // namespace weft
