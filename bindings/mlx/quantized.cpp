// Quantised weights, which Weft reads as MLX stores them.
#include <array>

#include "call.h"
#include "mlx/fast_primitives.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::kernels::QuantizedMatrix;

namespace {

weft::kernels::QuantizedFormat format_of(QuantizationMode mode, int bits, int group_size) {
  using enum weft::kernels::QuantizedScheme;
  constexpr std::array kSchemes = {affine, mxfp4, mxfp8, nvfp4};  // QuantizationMode
  return {.scheme = kSchemes[static_cast<size_t>(mode)], .bits = bits, .group = group_size};
}

void refuse_global_scale(bool given, const char* name) {
  if (given) throw std::runtime_error(std::string("[") + name + "::eval_gpu] A global scale is not supported by Weft.");
}

// The matrix of which inputs[first] has the values; behind it are the scales, and of affine ones the biases.
QuantizedMatrix matrix_of(Call& call, const std::vector<array>& inputs, size_t first, QuantizationMode mode, int bits,
                          int group_size) {
  QuantizedMatrix matrix{.format = format_of(mode, bits, group_size), .values = call.in_dense(inputs[first])};
  matrix.scales = call.in_dense(inputs[first + 1]);
  if (mode == QuantizationMode::Affine) matrix.zeros = call.in_dense(inputs[first + 2]);
  return matrix;
}

// How many arrays a matrix is.
size_t parts(QuantizationMode mode) { return mode == QuantizationMode::Affine ? 3 : 2; }

// Its leading axes as one.
weft::View flat_batch(const weft::View& x) {
  std::int64_t batch = 1;
  for (int axis = 0; axis < x.rank() - 2; ++axis) batch *= x.shape()[axis];
  return weft::View(x.buffer, x.offset, x.dtype, weft::Shape{batch, x.shape()[-2], x.shape()[-1]});
}

// The matrices of x that the indices choose: their axes, then a matrix's.
weft::View chosen(Call& call, const array& x, const array& indices) {
  const weft::View list = call.in(indices), matrices = flat_batch(call.in_dense(x));
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
    refuse_global_scale(inputs.size() > parts(mode_), "Quantize");
    const QuantizedMatrix w = matrix_of(call, inputs, 0, mode_, bits_, group_size_);
    return weft::kernels::dequantize_weights(call.stream(), w, call.out(outputs[0]));
  }
  refuse_global_scale(inputs.size() > 1, "Quantize");
  QuantizedMatrix w{.format = format_of(mode_, bits_, group_size_), .values = call.out(outputs[0])};
  w.scales = call.out(outputs[1]);
  if (mode_ == QuantizationMode::Affine) w.zeros = call.out(outputs[2]);
  weft::kernels::quantize_weights(call.stream(), call.in(inputs[0]), w);
}

void QuantizedMatmul::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  refuse_global_scale(inputs.size() > 1 + parts(mode_), "QuantizedMatmul");
  Call call;
  const QuantizedMatrix w = matrix_of(call, inputs, 1, mode_, bits_, group_size_);
  weft::kernels::quantized_matmul(call.stream(), call.in(inputs[0]), w, {}, call.out(out), {.transposed = transpose_});
}

void GatherQMM::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  refuse_global_scale(inputs.size() > 3 + parts(mode_), "GatherQMM");
  const array& rows = inputs[inputs.size() - 2];
  Call call;
  QuantizedMatrix w = matrix_of(call, inputs, 1, mode_, bits_, group_size_);
  w.values = flat_batch(w.values);
  w.scales = flat_batch(*w.scales);
  if (w.zeros) w.zeros = flat_batch(*w.zeros);
  weft::kernels::quantized_matmul(call.stream(), chosen(call, inputs[0], rows), w, call.in(inputs.back()),
                                  call.out(out), {.transposed = transpose_});
}

void GatherMM::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  weft::kernels::matmul(call.stream(), chosen(call, inputs[0], inputs[2]), chosen(call, inputs[1], inputs[3]),
                        call.out(out));
}

}  // namespace mlx::core
