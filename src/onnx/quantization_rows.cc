// Quantisation, and products of quantised tensors.
#include "weft/quantization.h"

#include "graph/node.h"
#include "onnx/network.h"
#include "onnx/write.h"
#include "ops/op_rows.h"
#include "weft/array.h"
#include "weft/device.h"
#include "weft/evaluate.h"
#include "weft/graph.h"

namespace weft::onnx {

namespace {

bool is_float8(DType type) { return type == DType::f8e4m3 || type == DType::f8e5m2; }
// Zero points of 8-bit floats are 0.
Tensor zero_of(const Tensor& zero) { return zero.defined() && is_float8(zero.dtype()) ? Tensor() : zero; }

// The axis of a scale that has one; 0 where it does not count.
int scale_axis(const Node& n, const Tensor& x, const Tensor& scale, std::int64_t block) {
  if (scale.size() == 1 && block == 0) return 0;
  return axis_of(n, n.integer("axis", 1), x.rank());
}

}  // namespace

Tensors quantize_linear(const Node& n) {
  const Tensor zero = n.maybe(2);
  Tensor x = n.in(0), scale = n.in(1);
  if (n.attribute("precision") && n.integer("precision", 0) != 0) {
    const DType type = n.type("precision");
    x = cast(x, type), scale = cast(scale, type);
  }
  if (!is_floating(x.dtype())) x = cast(x, wide(scale.dtype()));
  DType type = zero.defined() ? zero.dtype() : DType::u8;
  if (!zero.defined() && n.attribute("output_dtype") && n.integer("output_dtype", 0) != 0) {
    type = n.type("output_dtype");
  }
  const std::int64_t block = n.integer("block_size", 0);
  return {quantize(x, scale, zero_of(zero),
                   {.dtype = type,
                    .axis = scale_axis(n, x, scale, block),
                    .block = block,
                    .saturate = n.integer("saturate", 1) != 0})};
}

Tensors dequantize_linear(const Node& n) {
  const Tensor x = n.in(0), scale = n.in(1);
  DType type = scale.dtype();
  if (n.attribute("output_dtype") && n.integer("output_dtype", 0) != 0) type = n.type("output_dtype");
  const std::int64_t block = n.integer("block_size", 0);
  return {dequantize(x, scale, zero_of(n.maybe(2)),
                     {.dtype = type, .axis = scale_axis(n, x, scale, block), .block = block})};
}

Tensor dequantized(const Node& n, std::size_t i) { return dequantize(n.in(i), n.in(i + 1), zero_of(n.maybe(i + 2))); }
Tensor quantized(const Node& n, const Tensor& y, std::size_t i, DType otherwise) {
  const Tensor zero = n.maybe(i + 1);
  return quantize(y, n.in(i), zero_of(zero), {.dtype = zero.defined() ? zero.dtype() : otherwise});
}

Tensor of_rows(const Tensor& x) { return x.defined() && x.rank() == 1 && x.size() > 1 ? expand_dims(x, 1) : x; }

Tensor scaled_product(const Tensor& a, const Tensor& a_scale, const Tensor& a_zero, const Tensor& b,
                      const Tensor& b_scale, const Tensor& b_zero, const Tensor& bias) {
  const Tensor sums = matmul_integer(a, b, of_rows(a_zero), b_zero);
  const auto factor = [](const Tensor& s) { return s.size() == 1 ? reshape(s, {}) : s; };
  const Tensor y = cast(sums, wide(a_scale.dtype())) * factor(of_rows(a_scale)) * factor(b_scale);
  return cast(bias.defined() ? y + bias : y, a_scale.dtype());
}

Tensors qlinear_conv_of(const Node& n, bool channels_last) {
  const Tensor x = n.in(0), w = n.in(3);
  const Dims window = sizes_from(w.shape(), 2, std::max(w.rank() - 2, 0));
  return {qlinear_conv({x, n.in(1), n.maybe(2)}, {w, n.in(4), n.maybe(5)},
                       {.scale = n.in(6), .zero_point = n.maybe(7), .dtype = x.dtype()}, n.maybe(8),
                       conv_options(n, x.shape(), window, channels_last))};
}

namespace {

Tensors dynamic_quantize_linear(const Node& n) {
  const auto [values, scale, zero] = dynamic_quantize(n.in(0));
  return results(n, {values, scale, zero});
}

// Vectors are matrices of one row, or column, which the product lacks.
Tensors matmul_integer(const Node& n) {
  Tensor a = n.in(0), b = n.in(1);
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = expand_dims(a, 0);
  if (column) b = expand_dims(b, 1);
  Tensor y = weft::matmul_integer(a, b, of_rows(n.maybe(2)), n.maybe(3));
  if (column) y = squeeze(y, -1);
  if (row) y = squeeze(y, column ? -1 : -2);
  return {y};
}

Tensors qlinear_matmul(const Node& n) {
  const Tensor a = n.in(0), b = n.in(3);
  const auto bytes = [](const Tensor& x) { return x.dtype() == DType::i8 || x.dtype() == DType::u8; };
  if (bytes(a) && bytes(b) && bytes(n.in(7)) && a.rank() > 1 && b.rank() > 1) {
    return {weft::qlinear_matmul({a, of_rows(n.in(1)), of_rows(n.in(2))}, {b, n.in(4), n.in(5)},
                                 {.scale = n.in(6), .zero_point = n.in(7)})};
  }
  // 8-bit floats, and vectors.
  const auto numbers = [](const Tensor& x, const Tensor& scale, const Tensor& zero) {
    return dequantize(x, scale, zero_of(zero), {.dtype = DType::f32, .axis = x.rank() - 1});
  };
  const Tensor y = matmul(numbers(a, of_rows(n.in(1)), of_rows(n.in(2))), numbers(b, n.in(4), n.in(5)));
  return {quantize(y, n.in(6), zero_of(n.in(7)), {.dtype = n.in(7).dtype(), .axis = y.rank() - 1})};
}

Tensors conv_integer(const Node& n) {
  const Tensor x = n.in(0), w = n.in(1);
  const Dims window = sizes_from(w.shape(), 2, std::max(w.rank() - 2, 0));
  return {weft::conv_integer(x, w, n.maybe(2), n.maybe(3), conv_options(n, x.shape(), window))};
}

Tensors qlinear_conv(const Node& n) { return qlinear_conv_of(n, false); }

constexpr OperatorRow kRows[] = {
    {"QuantizeLinear", quantize_linear, 10},
    {"DequantizeLinear", dequantize_linear, 10},
    {"DynamicQuantizeLinear", dynamic_quantize_linear, 11},
    {"MatMulInteger", matmul_integer, 10},
    {"QLinearMatMul", qlinear_matmul, 10},
    {"ConvInteger", conv_integer, 10},
    {"QLinearConv", qlinear_conv, 10},
};

// ---- Read backwards: weights of a few bits that are constants, as the numbers that they stand for

std::string weights_written(const Written& w, std::size_t first, DType type, bool transposed) {
  const std::span<const Tensor> inputs = w.node()->inputs().subspan(first);
  for (const Tensor& v : inputs) {
    if (!constant_op(v)) w.lacks("weights that are no constants");
  }
  const DefaultDeviceScope there(Device::cpu());
  AttributeMap attributes;
  for (const auto* name : {"scheme", "bits", "group", "group_rows", "columns", "scales", "zeros", "groups"}) {
    if (const AttributeValue* value = w.attribute(name)) attributes.emplace(name, *value);
  }
  attributes.emplace("type", std::string(name(type)));
  std::vector<TensorType> types;
  for (const Tensor& v : inputs) types.push_back(v.type());
  const OpRow* row = find_op_row("dequantize_weights");
  Tensor weights = apply(row->make(complete_attributes(row->schema, attributes), types), inputs);
  if (transposed) weights = weights.T();
  const auto bytes = std::make_shared<std::vector<std::byte>>(byte_size(weights.type()));
  contiguous(weights).read_bytes(*bytes);
  return w.constant(TensorData{weights.dtype(), weights.shape(), *bytes, bytes});
}
std::string dequantize_weights_written(const Written& w) { return weights_written(w, 0, w.result().dtype, false); }
std::string quantized_matmul_written(const Written& w) {
  if (w.flag("chosen")) w.lacks("a choice of weights");
  const DType type = w.result().dtype == DType::f64 ? DType::f64 : DType::f32;
  const std::string y =
      w.node("MatMul", {w.cast(w.in(0), w.dtype(0), type), weights_written(w, 1, type, w.flag("transposed"))});
  return w.cast(y, type, w.result().dtype);
}

constexpr WriteRow kWritten[] = {
    by("dequantize_weights", written<dequantize_weights_written>),
    by("quantized_matmul", written<quantized_matmul_written>),
};

}  // namespace

OperatorRows quantization_rows() { return {"", kRows, kWritten}; }

}  // namespace weft::onnx
