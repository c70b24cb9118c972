// Operators of com.microsoft.
#include <algorithm>

#include "onnx/network.h"
#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/graph.h"
#include "weft/quantization.h"
#include "weft/quantized_weights.h"

namespace weft::onnx {

namespace {

// ---- Activations

// The activation of that name, with its parameters.
Tensor activated(const Node& n, const Tensor& y, std::string_view name, const std::vector<double>& given) {
  const auto parameter = [&](std::size_t i, double otherwise) { return i < given.size() ? given[i] : otherwise; };
  if (name.empty()) return y;
  if (name == "Relu") return relu(y);
  if (name == "Tanh") return tanh(y);
  if (name == "Sigmoid") return sigmoid(y);
  if (name == "LeakyRelu") return leaky_relu(y, parameter(0, 0.01));
  if (name == "Clip") return clamp(y, parameter(0, -3.4028234663852886e38), parameter(1, 3.4028234663852886e38));
  if (name == "HardSigmoid") return hardsigmoid(y, parameter(0, 0.2), parameter(1, 0.5));
  if (name == "HardSwish") return hardswish(y);
  if (name == "Elu") return elu(y, parameter(0, 1));
  if (name == "Gelu") return gelu(y);
  if (name == "Softplus") return softplus(y);
  n.lacks("its activation is {}", name);
}

// x, and a bias if there is one.
Tensor biased(const Node& n, std::size_t i) { return n.has(i) ? n.in(0) + n.in(i) : n.in(0); }

template <Gelu form>
Tensors gelu_of(const Node& n) {
  return {gelu(biased(n, 1), form)};
}
Tensors quick_gelu(const Node& n) {
  const double alpha = n.attribute("alpha") ? n.number("alpha", 0) : 1.702;
  return {alpha == 1 ? silu(n.in(0)) : n.in(0) * sigmoid(n.in(0) * alpha)};
}
Tensors bias_split_gelu(const Node& n) {
  const Tensor x = biased(n, 1);
  const std::int64_t half = x.shape()[-1] / 2;
  return {slice(x, -1, 0, half) * gelu(slice(x, -1, half, 2 * half))};
}
Tensors bias_add(const Node& n) { return {n.in(0) + n.in(1) + n.in(2)}; }

// ---- Norms

Axes axes_behind(int axis, int rank) {
  std::vector<int> axes;
  for (int d = axis; d < rank; ++d) axes.push_back(d);
  return axes;
}

// Means and inverse deviations over the axes from `axis` on, in f32, f64 of f64; only those that the node has.
void add_statistics(const Node& n, Tensors& all, const Tensor& x, int axis, double epsilon) {
  const Tensor v = cast(x, wide(x.dtype()));
  const Axes axes = axes_behind(axis, x.rank());
  if (n.results() > 1) all.push_back(n.wants(1) ? mean(v, axes, true) : Tensor());
  if (n.results() > 2) all.push_back(n.wants(2) ? rsqrt(variance(v, axes, 0, true) + epsilon) : Tensor());
}

// x / sqrt(mean(x²) + epsilon) · scale, of the scale's type.
Tensor root_mean_square(const Tensor& x, const Tensor& scale, double epsilon) {
  if (x.dtype() == scale.dtype()) return rms_norm(x, scale, epsilon);
  return cast(rms_norm(cast(x, wide(x.dtype())), scale, epsilon), scale.dtype());
}

// What is added before the norm: the skipped tensor and the bias.
Tensor skipped(const Node& n, std::size_t bias) {
  const Tensor sum = n.in(0) + n.in(1);
  return n.has(bias) ? sum + n.in(bias) : sum;
}

Tensors skip_layer_normalization(const Node& n) {
  const Tensor x = skipped(n, 4);
  const double epsilon = n.number("epsilon", 1e-12);
  Tensors all = {layer_norm(x, n.in(2), n.maybe(3), epsilon, -1)};
  add_statistics(n, all, x, x.rank() - 1, epsilon);
  if (n.results() > 3) all.push_back(x);
  return all;
}

Tensors skip_simplified_layer_normalization(const Node& n) {
  const Tensor x = skipped(n, 3);
  const double epsilon = n.number("epsilon", 1e-12);
  Tensors all = {root_mean_square(x, n.in(2), epsilon)};
  if (n.wants(1)) n.lacks("its result mean is used");
  if (n.results() > 1) all.push_back({});
  if (n.results() > 2) {
    const Tensor v = cast(x, wide(x.dtype()));
    all.push_back(n.wants(2) ? rsqrt(mean(square(v), -1, true) + epsilon) : Tensor());
  }
  if (n.results() > 3) all.push_back(x);
  return all;
}

Tensors embed_layer_normalization(const Node& n) {
  const Tensor ids = n.in(0), words = gather(n.in(2), ids);
  if (ids.rank() != 2) n.fail("input_ids is {}, expected [batch, sequence]", to_string(ids.shape()));
  const Tensor places = n.has(8) ? gather(n.in(3), n.in(8)) : slice(n.in(3), 0, 0, ids.shape()[1]);
  Tensor x = words + places;
  if (n.has(1) && n.has(4)) x = x + gather(n.in(4), n.in(1));
  Tensors all = {layer_norm(x, n.in(5), n.maybe(6), n.number("epsilon", 1e-12), -1)};
  if (n.results() > 1) {
    // How many words each sequence has.
    const Tensor mask = n.maybe(7);
    all.push_back(mask.defined() ? cast(sum(cast(mask != 0, DType::i32), 1), DType::i32)
                                 : broadcast_to(Graph::scalar(0, DType::i32), {ids.shape()[0]}));
  }
  if (n.results() > 2) all.push_back(x);
  return all;
}

Tensors group_norm_of(const Node& n) {
  const Tensor x = n.in(0);
  const int axis = n.integer("channels_last", 1) != 0 ? x.rank() - 1 : 1;
  const Tensor y = group_norm(x, n.in(1), n.in(2), n.integer("groups"), n.number("epsilon", 1e-5), axis);
  return {n.integer("activation", 0) == 1 ? silu(y) : y};
}

// ---- Products of matrices

// Axes 1 and on of the batch in front of axis 0, and then the last two exchanged.
Tensor transposed(const Tensor& x, bool batch, bool matrix) {
  Tensor y = x;
  if (batch && x.rank() > 2) {
    std::vector<int> order;
    for (int d = 1; d < x.rank() - 1; ++d) order.push_back(d);
    order.insert(order.end(), {0, x.rank() - 1});
    y = permute(y, order);
  }
  return matrix && y.rank() > 1 ? y.T() : y;
}

Tensor fused_product(const Node& n) {
  const auto side = [&](std::size_t i, std::string_view batch, std::string_view matrix) {
    return transposed(n.in(i), n.integer(batch, 0) != 0, n.integer(matrix, 0) != 0);
  };
  const Tensor y = matmul(side(0, "transBatchA", "transA"), side(1, "transBatchB", "transB"));
  const double alpha = n.number("alpha", 1);
  return alpha == 1 ? y : y * alpha;
}
Tensors fused_matmul(const Node& n) { return {fused_product(n)}; }
Tensors fused_gemm(const Node& n) {
  Tensor y = fused_product(n);
  const double beta = n.number("beta", 1);
  if (n.has(2)) y = y + (beta == 1 ? n.in(2) : n.in(2) * beta);
  std::vector<double> parameters;
  for (const std::string_view name : {"activation_alpha", "activation_beta"}) {
    if (n.attribute(name)) parameters.push_back(n.number(name, 0));
  }
  return {activated(n, y, n.text("activation"), parameters)};
}
Tensors gemm_fast_gelu(const Node& n) {
  const Tensor y = matmul(n.in(0), n.in(1));
  return {gelu(n.has(2) ? y + n.in(2) : y, Gelu::tanh)};
}

Tensors matmul_nbits(const Node& n) {
  if (n.has(4)) n.lacks("there is a g_idx");
  if (n.integer("weight_prepacked", 0) != 0) n.lacks("the weights are packed for another program");
  const std::int64_t columns = n.integer("K"), rows = n.integer("N"), block = n.integer("block_size");
  const std::int64_t bits = n.integer("bits", 4);
  if (bits < 2 || bits > 8 || block < 16 || columns < 1 || rows < 1) {
    n.fail("bits is {}, block_size {}, K {} and N {}", bits, block, columns, rows);
  }
  const std::int64_t blocks = (columns + block - 1) / block;
  const Tensor scales = reshape(n.in(2), {rows, blocks});
  Tensor zeros = n.maybe(3);
  if (zeros.defined()) {
    const bool packed = zeros.dtype() == DType::u8;
    zeros = reshape(zeros, {rows, packed ? (blocks * bits + 7) / 8 : blocks});
    if (!packed) zeros = cast(zeros, scales.dtype());
  }
  const QuantizedWeights w{.format = {.scheme = QuantizedScheme::nbits,
                                      .bits = static_cast<int>(bits),
                                      .group = block,
                                      .columns = columns % block == 0 ? 0 : columns},
                           .values = reshape(n.in(1), {rows, blocks, block * bits / 8}),
                           .scales = scales,
                           .zeros = zeros};
  const Tensor y = quantized_matmul(n.in(0), w);
  return {n.has(5) ? y + n.in(5) : y};
}

Tensors dynamic_quantize_matmul(const Node& n) {
  const auto [a, scale, zero] = dynamic_quantize(n.in(0));
  return {scaled_product(a, scale, zero, n.in(1), n.in(2), n.maybe(3), n.maybe(4))};
}
Tensors matmul_integer_to_float(const Node& n) {
  return {scaled_product(n.in(0), n.in(2), n.maybe(4), n.in(1), n.in(3), n.maybe(5), n.maybe(6))};
}

Tensors qgemm(const Node& n) {
  const auto side = [&](std::size_t i, std::string_view name) {
    return transposed(n.in(i), false, n.integer(name, 0) != 0);
  };
  Tensor sums = matmul_integer(side(0, "transA"), side(3, "transB"), n.maybe(2), n.maybe(5));
  if (n.has(6)) sums = sums + n.in(6);
  const auto factor = [](const Tensor& s) { return s.size() == 1 ? reshape(s, {}) : s; };
  const Tensor y = cast(sums, DType::f32) * (factor(n.in(1)) * factor(n.in(4)) * n.number("alpha", 1));
  return {n.has(7) ? quantized(n, y, 7, n.in(0).dtype()) : y};
}

// ---- Convolutions and pools

Tensor nhwc_conv_of(const Node& n) {
  const Tensor x = n.in(0), w = n.in(1);
  const Dims window = sizes_from(w.shape(), 2, std::max(w.rank() - 2, 0));
  return conv(x, w, n.maybe(2), conv_options(n, x.shape(), window, true));
}
Tensors nhwc_conv(const Node& n) { return {nhwc_conv_of(n)}; }
Tensors fused(const Node& n, const Tensor& y) {
  return {activated(n, n.has(3) ? y + n.in(3) : y, n.text("activation"), n.numbers("activation_params"))};
}
Tensors fused_conv(const Node& n) { return fused(n, conv_of(n, n.in(0), n.in(1), n.maybe(2))); }
Tensors nhwc_fused_conv(const Node& n) { return fused(n, nhwc_conv_of(n)); }
Tensors nhwc_max_pool(const Node& n) { return {max_pool(n.in(0), pool_options(n, n.in(0).shape(), true))}; }

// ---- Quantised operators: of the numbers that the operands stand for

bool channels_last(const Node& n) { return n.integer("channels_last", 0) != 0; }

// Of one operand with its scale and zero point, and those of the result.
template <Tensor (*function)(const Node&, const Tensor&)>
Tensors quantized_unary(const Node& n) {
  return {quantized(n, function(n, dequantized(n, 0)), 3, n.in(0).dtype())};
}
template <ScalarOp op>
Tensors quantized_binary(const Node& n) {
  return {quantized(n, binary(op, dequantized(n, 0), dequantized(n, 3)), 6, n.in(0).dtype())};
}

Tensor leaky_relu_of(const Node& n, const Tensor& x) { return leaky_relu(x, n.number("alpha", 0.01)); }
Tensor sigmoid_of(const Node&, const Tensor& x) { return sigmoid(x); }
Tensor average_pool_of(const Node& n, const Tensor& x) {
  return average_pool(x, pool_options(n, x.shape(), channels_last(n)));
}
Tensor global_average_pool_of(const Node& n, const Tensor& x) { return global_average_pool(x, channels_last(n)); }
Tensor softmax_of(const Node& n, const Tensor& x) {
  const int axis = axis_of(n, n.integer("axis", -1), x.rank());
  if (n.integer("opset", 13) >= 13) return softmax(x, axis);
  const Shape& shape = x.shape();
  const std::int64_t rows = element_count(sizes_from(shape, 0, axis));
  return reshape(softmax(reshape(x, {rows, element_count(sizes_from(shape, axis, x.rank() - axis))})), shape);
}
Tensor mean_of(const Node& n, const Tensor& x) {
  const Ints axes = n.integers("axes");
  return mean(x, axes.empty() ? Axes() : Axes(axes_of(n, axes, x.rank())), n.integer("keepdims", 1) != 0);
}

Tensors quantized_concat(const Node& n) {
  Tensors parts;
  for (std::size_t i = 2; i + 1 < n.size(); i += 3) parts.push_back(dequantized(n, i));
  if (parts.empty()) n.fail("there are no operands");
  return {quantized(n, concat(parts, axis_of(n, n.integer("axis"), parts[0].rank())), 0)};
}
Tensors quantized_where(const Node& n) {
  return {quantized(n, select(n.in(0), dequantized(n, 1), dequantized(n, 4)), 7, n.in(1).dtype())};
}
Tensors microsoft_qlinear_conv(const Node& n) { return qlinear_conv_of(n, channels_last(n)); }

// One direction of an LSTM as ONNX Runtime has it on quantised weights: the input is quantised as a whole, and the
// state in each step. Weights are [inputs, 4 hidden] and [hidden, 4 hidden], with a scale and a zero point for all or
// for each column.
struct QuantizedMatrix {
  Tensor values, scale, zero;  // zero may be undefined
};
std::vector<Tensor> quantized_lstm(const QuantizedMatrix& x, const QuantizedMatrix& w, const QuantizedMatrix& r,
                                   const Tensor& bias, const Tensor& h, const Tensor& c, bool reverse) {
  const std::int64_t steps = x.values.shape()[0], batch = x.values.shape()[1], inputs = x.values.shape()[2];
  const std::int64_t rows = w.values.shape()[1], hidden = rows / 4;
  const Tensor sums =
      scaled_product(reshape(x.values, {steps * batch, inputs}), x.scale, x.zero, w.values, w.scale, w.zero, bias);
  // Σ (h - z) r = Σ h r - z Σ r; the second sum is the same in all steps.
  Tensor of_columns = sum(cast(r.values, DType::i32), 0, true);
  if (r.zero.defined()) of_columns = of_columns - cast(r.zero, DType::i32) * Number(hidden);
  const Tensor initial[] = {h, c}, slices[] = {reshape(sums, {steps, batch, rows})};
  return detail::scan({.function = "DynamicQuantizeLSTM", .length = steps, .reverse = reverse}, initial, slices,
                      [&](std::span<const Tensor> t) -> std::vector<Tensor> {
                        const auto [state, scale, zero] = dynamic_quantize(t[1]);
                        const Tensor product =
                            matmul_integer(state, r.values, {}, r.zero) - cast(zero, DType::i32) * of_columns;
                        const Tensor z = t[3] + cast(product, DType::f32) * (scale * r.scale);
                        const auto gate = [&](std::int64_t i) { return slice(z, 1, i * hidden, (i + 1) * hidden); };
                        const Tensor cell = sigmoid(gate(2)) * t[2] + sigmoid(gate(0)) * tanh(gate(3));
                        const Tensor next = sigmoid(gate(1)) * tanh(cell);
                        return {next, cell, next};
                      });
}

// One weight matrix of a direction is [inputs, rows], with a scale for all or for each row.
Tensors dynamic_quantize_lstm(const Node& n) {
  const auto quantized_input = [&] {
    const auto [values, scale, zero] = dynamic_quantize(n.in(0));
    return QuantizedMatrix{values, scale, zero};
  };
  const Tensor w = n.in(1), r = n.in(2);
  if (n.in(0).rank() != 3 || w.rank() != 3 || r.rank() != 3) {
    n.fail("X is {}, W {} and R {}, expected rank 3", to_string(n.in(0).shape()), to_string(w.shape()),
           to_string(r.shape()));
  }
  const std::string direction = n.text("direction", "forward");
  const bool is_usual = !n.has(4) && !n.has(7) && !n.attribute("activations") && n.number("clip", 0) == 0 &&
                        n.integer("input_forget", 0) == 0 && n.integer("layout", 0) == 0;
  if (!is_usual) {
    // Of these the state is not quantised.
    const auto weights = [&](std::size_t i, std::size_t scale) {
      const auto placed = [&](const Tensor& t) {
        if (t.rank() < 1 || t.shape()[0] < 1)
          n.fail("a scale or zero point is {}, expected one or more directions", to_string(t.shape()));
        return reshape(t, {t.shape()[0], 1, t.size() / t.shape()[0]});
      };
      const Tensor zero = n.maybe(scale + 1);
      return permute(dequantize(n.in(i), placed(n.in(scale)), zero.defined() ? placed(zero) : zero), {0, 2, 1});
    };
    const QuantizedMatrix x = quantized_input();
    return lstm_of(n, dequantize(x.values, x.scale, x.zero), weights(1, 8), weights(2, 10));
  }
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1, hidden = r.shape()[1], rows = 4 * hidden;
  if (w.shape()[0] != directions || r.shape() != Shape{directions, hidden, rows} || w.shape()[2] != rows) {
    n.fail("W is {} and R {}, {}", to_string(w.shape()), to_string(r.shape()), direction);
  }
  const std::int64_t batch = n.in(0).shape()[1];
  const QuantizedMatrix x = quantized_input();
  Tensors y, h, c;
  for (std::int64_t d = 0; d < directions; ++d) {
    const auto of = [&](const Tensor& t) { return squeeze(slice(t, 0, d, d + 1), 0); };
    const auto matrix = [&](std::size_t i, std::size_t scale) {
      const auto row = [&](const Tensor& t) {
        const Tensor one = t.rank() > 1 ? of(t) : slice(t, 0, t.size() == 1 ? 0 : d, t.size() == 1 ? 1 : d + 1);
        return reshape(one, {1, one.size()});
      };
      const Tensor zero = n.maybe(scale + 1);
      return QuantizedMatrix{of(n.in(i)), row(n.in(scale)), zero.defined() ? row(zero) : zero};
    };
    Tensor bias;
    if (n.has(3)) bias = slice(of(n.in(3)), 0, 0, rows) + slice(of(n.in(3)), 0, rows, 2 * rows);
    const auto initial = [&](std::size_t i) {
      return n.has(i) ? of(n.in(i)) : broadcast_to(Graph::scalar(0.0, DType::f32), {batch, hidden});
    };
    const auto made =
        quantized_lstm(x, matrix(1, 8), matrix(2, 10), bias, initial(5), initial(6), direction == "reverse" || d == 1);
    h.push_back(made[0]), c.push_back(made[1]), y.push_back(made[2]);
  }
  return results(n, {stack(y, 1), stack(h, 0), stack(c, 0)});
}

// Numbers of less than a byte, the lowest bits first, along the last axis, of which there are `count`.
Tensor unpacked(const Tensor& x, std::int64_t bits, std::int64_t count) {
  if (bits == 8) return x;
  Tensors parts;
  for (std::int64_t at = 0; at < 8; at += bits) parts.push_back((x >> at) & ((std::int64_t{1} << bits) - 1));
  Shape shape = x.shape();
  shape[-1] *= 8 / bits;
  return slice(reshape(stack(parts, -1), shape), -1, 0, count);
}

Tensors gather_block_quantized(const Node& n) {
  const Tensor data = n.in(0), indices = n.in(1), scales = n.in(2);
  const int axis = axis_of(n, n.integer("gather_axis", 0), data.rank());
  int blocked = axis_of(n, n.integer("quantize_axis", 1), data.rank());
  if (axis == blocked) n.lacks("gather_axis and quantize_axis are both {}", axis);
  const bool bytes = data.dtype() == DType::u8, floats = is_floating(data.dtype());
  const std::int64_t bits = n.integer("bits", 4), block = n.integer("block_size", 128);
  if (bytes && bits != 2 && bits != 4 && bits != 8) n.fail("bits is {}, expected 2, 4 or 8", bits);
  const std::int64_t blocks = scales.shape()[blocked];
  Tensor values = gather(data, indices, axis);
  Tensor zeros = n.has(3) ? gather(n.in(3), indices, axis) : Tensor();
  const Tensor factors = scales.shape()[axis] == 1 && data.shape()[axis] != 1 ? scales : gather(scales, indices, axis);
  if (factors.rank() != values.rank()) n.lacks("scales are {}", to_string(scales.shape()));
  if (bytes && bits < 8) {
    values = unpacked(values, bits, values.shape()[-1] * (8 / bits));
    if (zeros.defined())
      zeros = unpacked(zeros, bits, blocked == data.rank() - 1 ? blocks : zeros.shape()[-1] * (8 / bits));
  }
  if (blocked > axis) blocked += indices.rank() - 1;
  const std::int64_t size = values.shape()[blocked];
  const DequantizeOptions o{.axis = blocked, .block = block == 0 ? std::max<std::int64_t>(size, 1) : block};
  if (zeros.defined()) return {dequantize(values, factors, zeros, o)};
  return {bytes && !floats ? dequantize(values, factors, std::int64_t{1} << (bits - 1), o)
                           : dequantize(values, factors, {}, o)};
}

constexpr OperatorRow kRows[] = {
    // ---- Activations
    {"BiasAdd", bias_add},
    {"BiasGelu", gelu_of<Gelu::erf>},
    {"BiasSplitGelu", bias_split_gelu},
    {"FastGelu", gelu_of<Gelu::tanh>},
    {"Gelu", gelu_of<Gelu::erf>},
    {"QuickGelu", quick_gelu},

    // ---- Norms
    {"EmbedLayerNormalization", embed_layer_normalization},
    {"GroupNorm", group_norm_of},
    {"LayerNormalization", microsoft_layer_normalization},
    {"SimplifiedLayerNormalization", simplified_layer_normalization},
    {"SkipLayerNormalization", skip_layer_normalization},
    {"SkipSimplifiedLayerNormalization", skip_simplified_layer_normalization},

    // ---- Attention
    {"Attention", microsoft_attention, 1, "without do_rotary and past_present_share_buffer"},
    {"GroupQueryAttention", group_query_attention, 1,
     "without quantised and sliding caches, and without output_qk; what is in a cache behind a sequence stays, where "
     "ONNX "
     "Runtime may clear it"},
    {"MultiHeadAttention", multi_head_attention, 1, "without past_sequence_length, cache_indirection and qk"},
    {"QAttention", quantized_attention, 1, "without do_rotary and past_present_share_buffer"},
    {"RotaryEmbedding", microsoft_rotary_embedding, 1, "without is_packed_batching"},

    // ---- Products and convolutions
    {"FusedConv", fused_conv},
    {"FusedGemm", fused_gemm},
    {"FusedMatMul", fused_matmul},
    {"GemmFastGelu", gemm_fast_gelu},
    {"MatMulNBits", matmul_nbits, 1, "without g_idx"},
    {"NhwcConv", nhwc_conv},
    {"NhwcFusedConv", nhwc_fused_conv},
    {"NhwcMaxPool", nhwc_max_pool},
    {"TransposeMatMul", fused_matmul},

    // ---- Quantised
    {"DequantizeLinear", dequantize_linear},
    {"DynamicQuantizeLSTM", dynamic_quantize_lstm, 1,
     "with lengths, peepholes, clip, or other activations the state is not quantised"},
    {"DynamicQuantizeMatMul", dynamic_quantize_matmul},
    {"GatherBlockQuantized", gather_block_quantized},
    {"MatMulIntegerToFloat", matmul_integer_to_float},
    {"QGemm", qgemm},
    {"QLinearAdd", quantized_binary<ScalarOp::add>},
    {"QLinearAveragePool", quantized_unary<average_pool_of>},
    {"QLinearConcat", quantized_concat},
    {"QLinearConv", microsoft_qlinear_conv},
    {"QLinearGlobalAveragePool", quantized_unary<global_average_pool_of>},
    {"QLinearLeakyRelu", quantized_unary<leaky_relu_of>},
    {"QLinearMul", quantized_binary<ScalarOp::mul>},
    {"QLinearReduceMean", quantized_unary<mean_of>},
    {"QLinearSigmoid", quantized_unary<sigmoid_of>},
    {"QLinearSoftmax", quantized_unary<softmax_of>},
    {"QLinearWhere", quantized_where},
    {"QuantizeLinear", quantize_linear},
};

}  // namespace

Tensors microsoft_layer_normalization(const Node& n) {
  const Tensor x = n.in(0), scale = n.in(1);
  const int axis = axis_of(n, n.integer("axis", -1), x.rank());
  const double epsilon = n.number("epsilon", 1e-5);
  Tensors all = {layer_norm(x, scale, n.maybe(2), epsilon, axis)};
  add_statistics(n, all, x, axis, epsilon);
  return all;
}

Tensors simplified_layer_normalization(const Node& n) {
  const Tensor x = n.in(0), scale = n.in(1);
  const int axis = axis_of(n, n.integer("axis", -1), x.rank());
  const double epsilon = n.number("epsilon", 1e-5);
  if (scale.rank() != x.rank() - axis) {
    n.fail("X is {} and scale {}, expected the sizes from axis {} on", to_string(x.shape()), to_string(scale.shape()),
           axis);
  }
  Tensors all = {root_mean_square(x, scale, epsilon)};
  if (n.wants(1)) {
    const Tensor v = cast(x, wide(x.dtype()));
    all.push_back(rsqrt(mean(square(v), axes_behind(axis, x.rank()), true) + epsilon));
  }
  return all;
}

OperatorRows microsoft_rows() { return {"com.microsoft", kRows}; }

}  // namespace weft::onnx
