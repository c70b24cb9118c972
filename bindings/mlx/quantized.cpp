// Quantised weights, which Weft reads as MLX stores them.
#include <algorithm>
#include <array>
#include <optional>

#include "call.h"
#include "mlx/fast_primitives.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;
using weft::kernels::QuantizedMatrix;

namespace {

weft::kernels::QuantizedFormat format_of(QuantizationMode mode, int bits, int group_size) {
  using enum weft::kernels::QuantizedScheme;
  constexpr std::array kSchemes = {affine, mxfp4, mxfp8, nvfp4};  // QuantizationMode
  return {.scheme = kSchemes[static_cast<size_t>(mode)], .bits = bits, .group = group_size};
}

// All elements in row-major order, with the leading axes as one if there are more than Weft takes.
weft::View dense(Call& call, const array& a) {
  if (a.ndim() <= weft::kMaxRank) return call.in_dense(a);
  const std::int64_t rows = a.shape(-2), columns = a.shape(-1);
  return call.in_dense(
      a, {static_cast<std::int64_t>(a.size()) / std::max<std::int64_t>(rows * columns, 1), rows, columns});
}
weft::View dense_out(Call& call, array& a) {
  return a.ndim() <= weft::kMaxRank ? call.out(a) : call.out(a, Grouped::matrices(a));
}

// The matrix of which inputs[first] has the values; behind it are the scales, and of affine ones the biases.
QuantizedMatrix matrix_of(Call& call, const std::vector<array>& inputs, size_t first, QuantizationMode mode, int bits,
                          int group_size) {
  QuantizedMatrix matrix{.format = format_of(mode, bits, group_size), .values = dense(call, inputs[first])};
  matrix.scales = dense(call, inputs[first + 1]);
  if (mode == QuantizationMode::Affine) matrix.zeros = dense(call, inputs[first + 2]);
  return matrix;
}

// How many arrays a matrix is.
size_t parts(QuantizationMode mode) { return mode == QuantizationMode::Affine ? 3 : 2; }

// What nvfp4 multiplies numbers by before their groups have scales of 8 bits, and divides weights by: the largest
// product of a code and a scale, 6 · 448, over the global scale: one number, or one for each matrix.
constexpr double kLargestWeight = 6 * 448;

struct GlobalScale {
  std::optional<weft::View> value;

  // For elements of that shape, whose first axes are those of the scales.
  weft::View of(const weft::Shape& shape) const {
    weft::Strides strides = weft::Strides::filled(shape.rank(), 0);
    if (value->count() > 1) std::ranges::copy(value->strides(), strides.begin());
    return value->with_layout({shape, strides});
  }
  // Those of the matrices that the indices choose.
  GlobalScale chosen_by(Call& call, const weft::View& indices) const {
    if (!value || value->count() == 1) return *this;
    const weft::View scales = call.temporary(value->dtype, indices.shape());
    weft::kernels::gather(call.stream(), *value, indices, scales, 0);
    return {scales};
  }
};

GlobalScale global_scale(Call& call, const std::vector<array>& inputs, size_t index) {
  if (inputs.size() <= index) return {};
  return {call.in(inputs[index])};
}

// An expression of a number and the global scale: the number times the scale over the largest weight.
weft::Expression scaled(DType number, const GlobalScale& scale, DType result) {
  weft::Expression e;
  const int value = e.cast(e.input(number), DType::f32), global = e.cast(e.input(scale.value->dtype), DType::f32);
  const int factor = e.apply(weft::ScalarOp::mul, {global, e.constant(1 / kLargestWeight, DType::f32)});
  e.output(e.cast(e.apply(weft::ScalarOp::mul, {value, factor}), result));
  return e;
}

void quantize(Call& call, const weft::View& x, const GlobalScale& scale, const QuantizedMatrix& w) {
  if (!scale.value) return weft::kernels::quantize_weights(call.stream(), x, w);
  weft::Expression e;
  const int value = e.cast(e.input(x.dtype), DType::f32), global = e.cast(e.input(scale.value->dtype), DType::f32);
  e.output(e.apply(weft::ScalarOp::mul,
                   {value, e.apply(weft::ScalarOp::div, {e.constant(kLargestWeight, DType::f32), global})}));
  const weft::View encoded = call.temporary(DType::f32, x.shape());
  const weft::View operands[] = {x, scale.of(x.shape())}, results[] = {encoded};
  weft::kernels::map(call.stream(), e, operands, results);
  weft::kernels::quantize_weights(call.stream(), encoded, w);
}

void dequantize(Call& call, const QuantizedMatrix& w, const GlobalScale& scale, const weft::View& y) {
  if (!scale.value) return weft::kernels::dequantize_weights(call.stream(), w, y);
  const weft::View weights = call.temporary(DType::f32, y.shape());
  weft::kernels::dequantize_weights(call.stream(), w, weights);
  const weft::View operands[] = {weights, scale.of(y.shape())}, results[] = {y};
  weft::kernels::map(call.stream(), scaled(DType::f32, scale, y.dtype), operands, results);
}

void multiply(Call& call, const weft::View& x, const QuantizedMatrix& w, const std::optional<weft::View>& chosen,
              const GlobalScale& scale, const weft::View& y, bool transposed) {
  const weft::kernels::QuantizedMatmulOptions options{.transposed = transposed};
  if (!scale.value) return weft::kernels::quantized_matmul(call.stream(), x, w, chosen, y, options);
  const weft::Expression e = scaled(DType::f32, scale, y.dtype);
  const weft::View operands[] = {scale.of(y.shape())};
  weft::kernels::quantized_matmul(call.stream(), x, w, chosen, y, options, {&e, operands});
}

// Memory for weights of that shape, and what x becomes in it.
QuantizedMatrix quantized(Call& call, const weft::View& x, QuantizationMode mode, int bits, int group_size,
                          const GlobalScale& scale) {
  weft::Shape values = x.shape(), scales = x.shape();
  values[-1] = values[-1] * bits / 32;
  scales[-1] /= group_size;
  QuantizedMatrix w{.format = format_of(mode, bits, group_size), .values = call.temporary(DType::u32, values)};
  w.scales = call.temporary(DType::u8, scales);
  quantize(call, x, scale, w);
  return w;
}

// What quantising leaves of x.
weft::View rounded(Call& call, const weft::View& x, QuantizationMode mode, int bits, int group_size,
                   const GlobalScale& scale) {
  const weft::View result = call.temporary(DType::f32, x.shape());
  dequantize(call, quantized(call, x, mode, bits, group_size, scale), scale, result);
  return result;
}

// Its leading axes as one.
weft::View flat_batch(const weft::View& x) {
  std::int64_t batch = 1;
  for (int axis = 0; axis < x.rank() - 2; ++axis) batch *= x.shape()[axis];
  return weft::View(x.buffer, x.offset, x.dtype, weft::Shape{batch, x.shape()[-2], x.shape()[-1]});
}

void flatten_batch(QuantizedMatrix& w) {
  w.values = flat_batch(w.values);
  w.scales = flat_batch(*w.scales);
  if (w.zeros) w.zeros = flat_batch(*w.zeros);
}

// The matrices of x that the indices choose: their axes, then a matrix's.
weft::View chosen(Call& call, const array& x, const array& indices) {
  const weft::View list = call.in(indices), matrices = call.in(x, Grouped::matrices(x));
  weft::Shape shape = list.shape();
  shape.push_back(matrices.shape()[1]);
  shape.push_back(matrices.shape()[2]);
  const weft::View result = call.temporary(matrices.dtype, shape);
  weft::kernels::gather(call.stream(), matrices, list, result, 0);
  return result;
}

}  // namespace

void fast::Quantize::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  for (array& out : outputs) allocate(out);
  if (outputs[0].size() == 0) return;
  Call call;
  if (dequantize_) {
    return dequantize(call, matrix_of(call, inputs, 0, mode_, bits_, group_size_),
                      global_scale(call, inputs, parts(mode_)), dense_out(call, outputs[0]));
  }
  QuantizedMatrix w{.format = format_of(mode_, bits_, group_size_), .values = dense_out(call, outputs[0])};
  w.scales = dense_out(call, outputs[1]);
  if (mode_ == QuantizationMode::Affine) w.zeros = dense_out(call, outputs[2]);
  const bool many = inputs[0].ndim() > weft::kMaxRank;
  quantize(call, many ? dense(call, inputs[0]) : call.in(inputs[0]), global_scale(call, inputs, 1), w);
}

void QuantizedMatmul::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const QuantizedMatrix w = matrix_of(call, inputs, 1, mode_, bits_, group_size_);
  const bool many = out.ndim() > weft::kMaxRank;
  weft::View x = many ? dense(call, inputs[0]) : call.in(inputs[0]), y = dense_out(call, out);
  if (x.rank() == 1) {
    x = x.broadcast_to({1, x.shape()[0]});
    y = y.broadcast_to({1, y.shape()[0]});
  }
  multiply(call, x, w, {}, global_scale(call, inputs, 1 + parts(mode_)), y, transpose_);
}

void GatherQMM::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  const array& rows = inputs[inputs.size() - 2];
  Call call;
  QuantizedMatrix w = matrix_of(call, inputs, 1, mode_, bits_, group_size_);
  flatten_batch(w);
  GlobalScale scale;
  if (inputs.size() > 3 + parts(mode_)) scale = global_scale(call, inputs, 1 + parts(mode_));
  const weft::View matrices = call.in(inputs.back());
  multiply(call, chosen(call, inputs[0], rows), w, matrices, scale.chosen_by(call, matrices), call.out(out),
           transpose_);
}

// Both operands are quantised: x here, w before or here.
void QQMatmul::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const bool ready = inputs[1].dtype() == uint32;
  const size_t scales = ready ? 3 : 2;
  const GlobalScale of_x = global_scale(call, inputs, scales), of_w = global_scale(call, inputs, scales + 1);
  const QuantizedMatrix w = ready ? matrix_of(call, inputs, 1, mode_, bits_, group_size_)
                                  : quantized(call, call.in(inputs[1]), mode_, bits_, group_size_, of_w);
  multiply(call, rounded(call, call.in(inputs[0]), mode_, bits_, group_size_, of_x), w, {}, of_w, call.out(out), true);
}

void GatherQQMM::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const bool ready = inputs[1].dtype() == uint32;
  const size_t scales = ready ? 5 : 4;
  const GlobalScale of_x = global_scale(call, inputs, scales), of_w = global_scale(call, inputs, scales + 1);
  QuantizedMatrix w = ready ? QuantizedMatrix{.format = format_of(mode_, bits_, group_size_),
                                              .values = call.in_dense(inputs[1]),
                                              .scales = call.in_dense(inputs[4])}
                            : quantized(call, call.in(inputs[1]), mode_, bits_, group_size_, of_w);
  flatten_batch(w);
  const weft::View x = rounded(call, chosen(call, inputs[0], inputs[2]), mode_, bits_, group_size_, of_x);
  const weft::View matrices = call.in(inputs[3]);
  multiply(call, x, w, matrices, of_w.chosen_by(call, matrices), call.out(out), true);
}

}  // namespace mlx::core
