// The fast primitives that have kernels of their own.
#include <numeric>
#include <optional>

#include "call.h"
#include "mlx/fast_primitives.h"

namespace mlx::core {

using namespace webgpu;

namespace {

// A scale or bias that is not given is a number.
std::optional<weft::View> optional_in(Call& call, const array& a) {
  return a.ndim() == 0 ? std::optional<weft::View>() : call.in(a);
}

// The gradient of something not given.
void fill_zero(Call& call, array& out) { weft::kernels::fill(call.stream(), 0, call.out(out)); }

bool computes(Dtype type) { return type == float32 || type == float16 || type == bfloat16; }

}  // namespace

namespace fast {

bool RMSNorm::use_fallback(Stream s) { return s.device == Device::cpu; }

void RMSNorm::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  allocate(outputs[0]);
  Call call;
  const Grouped rows = Grouped::rows(inputs[0]);
  weft::kernels::rms_norm(call.stream(), call.in(inputs[0], rows), optional_in(call, inputs[1]),
                          call.out(outputs[0], rows), rows.axis, eps_);
}

void RMSNormVJP::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  for (array& out : outputs) allocate(out);
  Call call;
  const Grouped rows = Grouped::rows(inputs[0]);
  const weft::View x = call.in(inputs[0], rows), g = call.in(inputs[2], rows), dx = call.out(outputs[0], rows);
  const int axis = rows.axis;
  if (const auto scale = optional_in(call, inputs[1])) {
    return weft::kernels::rms_norm_gradients(call.stream(), x, g, *scale, dx, call.out(outputs[1]), axis, eps_);
  }
  weft::kernels::rms_norm_gradient(call.stream(), x, g, {}, dx, axis, eps_);
  fill_zero(call, outputs[1]);
}

bool LayerNorm::use_fallback(Stream s) { return s.device == Device::cpu; }

void LayerNorm::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  allocate(outputs[0]);
  Call call;
  const Grouped rows = Grouped::rows(inputs[0]);
  weft::kernels::layer_norm(call.stream(), call.in(inputs[0], rows), optional_in(call, inputs[1]),
                            optional_in(call, inputs[2]), call.out(outputs[0], rows), rows.axis, eps_);
}

void LayerNormVJP::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  for (array& out : outputs) allocate(out);
  Call call;
  const Grouped rows = Grouped::rows(inputs[0]);
  const weft::View x = call.in(inputs[0], rows), g = call.in(inputs[3], rows), dx = call.out(outputs[0], rows);
  const int axis = rows.axis;
  const bool has_bias = inputs[2].ndim() > 0;
  if (const auto scale = optional_in(call, inputs[1])) {
    const weft::View dbias = has_bias ? call.out(outputs[2]) : call.temporary(scale->dtype, scale->shape());
    weft::kernels::layer_norm_gradients(call.stream(), x, g, *scale, dx, call.out(outputs[1]), dbias, axis, eps_);
  } else {
    weft::kernels::layer_norm_gradient(call.stream(), x, g, {}, dx, axis, eps_);
    fill_zero(call, outputs[1]);
    if (has_bias) {
      std::vector<int> others(axis);
      std::iota(others.begin(), others.end(), 0);
      weft::kernels::reduce(call.stream(), weft::kernels::ReduceKind::sum, g, call.out(outputs[2]), others);
    }
  }
  if (!has_bias) fill_zero(call, outputs[2]);
}

// Where derivatives for a mask or sinks may be asked for, MLX takes the definition by other primitives.
bool ScaledDotProductAttention::use_fallback(const array& q, const array&, const array&, bool, bool has_arr_mask, bool,
                                             bool has_sinks, bool is_training, bool, bool force_fused, Stream s) {
  const bool fused = s.device == Device::gpu && computes(q.dtype()) && !(is_training && (has_arr_mask || has_sinks));
  if (force_fused && !fused) {
    throw std::invalid_argument(
        "[scaled_dot_product_attention] force_fused=True but no fused kernel supports the given arguments.");
  }
  return !fused;
}

bool ScaledDotProductAttentionVJP::use_fallback(const array& q, Stream s) {
  return s.device == Device::cpu || !computes(q.dtype());
}

bool ScaledDotProductAttention::supports_bool_mask() { return true; }

void ScaledDotProductAttention::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  for (array& out : outputs) allocate(out);
  Call call;
  const weft::View q = call.in(inputs[0]), y = call.out(outputs[0]);
  std::optional<weft::View> mask, log_sums;
  if (inputs.size() > (has_sinks_ ? 4 : 3)) mask = call.in(inputs[3]);
  const weft::Shape queries{q.shape()[0], q.shape()[1], q.shape()[2]};
  if (output_logsumexp_) {
    const weft::View sums = call.out(outputs[1]);
    log_sums = weft::View(sums.buffer, sums.offset, sums.dtype, queries);
  } else if (has_sinks_) {
    log_sums = call.temporary(weft::DType::f32, queries);
  }
  weft::kernels::attention(call.stream(), q, call.in(inputs[1]), call.in(inputs[2]), mask, y,
                           {.scale = scale_, .causal = do_causal_}, {}, log_sums);
  if (!has_sinks_) return;
  // A sink is another score of each query of a head, which has no value: y Σ / (Σ + exp(sink)), of weights' sums Σ.
  const weft::View sinks = call.in(inputs.back());
  weft::Expression e;
  const int value = e.cast(e.input(y.dtype), weft::DType::f32), sum = e.input(weft::DType::f32);
  const int sink = e.cast(e.input(sinks.dtype), weft::DType::f32);
  const int share = e.apply(weft::ScalarOp::sigmoid, {e.apply(weft::ScalarOp::sub, {sum, sink})});
  e.output(e.cast(e.apply(weft::ScalarOp::mul, {value, share}), y.dtype));
  const auto along = [&](const weft::View& view, const weft::Strides& strides) {
    return view.with_layout({y.shape(), strides});
  };
  const weft::Strides rows = log_sums->strides();
  const weft::View operands[] = {y, along(*log_sums, {rows[0], rows[1], rows[2], 0}),
                                 along(sinks, {0, sinks.strides()[0], 0, 0})};
  const weft::View results[] = {y};
  weft::kernels::map(call.stream(), e, operands, results);
}

// inputs: q, k, v, the result, its logarithms of sums, and its cotangent.
void ScaledDotProductAttentionVJP::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  for (array& out : outputs) allocate(out);
  Call call;
  const weft::View q = call.in(inputs[0]), k = call.in(inputs[1]), v = call.in(inputs[2]);
  const weft::View y = call.in(inputs[3]), g = call.in(inputs[5]);
  const weft::Shape queries{q.shape()[0], q.shape()[1], q.shape()[2]};
  const weft::View sums = call.in_dense(inputs[4]), log_sums(sums.buffer, sums.offset, sums.dtype, queries);
  const weft::View delta = call.temporary(weft::DType::f32, queries);
  weft::Expression product;
  const int cotangent = product.cast(product.input(g.dtype), weft::DType::f32);
  const int result = product.cast(product.input(y.dtype), weft::DType::f32);
  product.output(product.apply(weft::ScalarOp::mul, {cotangent, result}));
  const weft::View operands[] = {y};
  const int axes[] = {-1};
  weft::kernels::reduce(call.stream(), weft::kernels::ReduceKind::sum, g, delta, axes, 0,
                        {.prologue = {&product, operands}});
  weft::kernels::attention_gradient(call.stream(), q, k, v, g, log_sums, delta, {}, call.out(outputs[0]),
                                    call.out(outputs[1]), call.out(outputs[2]),
                                    {.scale = scale_, .causal = do_causal_});
}

// Saturated 8-bit floats; what is no number is the largest one.
void ConvertFP8::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  constexpr auto kFloat8 = weft::DType::f8e4m3;
  Call call;
  weft::View x = call.in_dense(inputs[0], {static_cast<std::int64_t>(inputs[0].size())});
  weft::View y = call.out(outputs[0], Elements::flat(outputs[0]));
  weft::Expression e;
  if (to_fp8_) {
    y.dtype = kFloat8;
    const int value = e.cast(e.input(x.dtype), weft::DType::f32);
    const auto limit = [&](double number) { return e.constant(number, weft::DType::f32); };
    const int below = e.apply(weft::ScalarOp::fmin, {value, limit(448)});
    e.output(e.cast(e.apply(weft::ScalarOp::fmax, {below, limit(-448)}), kFloat8));
  } else {
    x.dtype = kFloat8;
    e.output(e.cast(e.input(kFloat8), y.dtype));
  }
  const weft::View in[] = {x}, out[] = {y};
  weft::kernels::map(call.stream(), e, in, out);
}

}  // namespace fast
}  // namespace mlx::core
