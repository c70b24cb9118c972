// Quantised weights on every device against the CPU, whose decoders cpu_kernels_reference_test.cc compares with gguf,
// MLX and onnx.
#include "weft/kernels/quantized.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/matmul/matmul.h"
#include "kernels/operands.h"
#include "kernels/quantized/quantized_matmul.h"
#include "kernels/quantized_cases.h"
#include "support/devices.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/table.h"

namespace weft::test {
namespace {

using kernels::QuantizedScheme;
using nlohmann::json;

Problem random_dequantization(Rng& rng) {
  constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f16, DType::bf16};
  const QuantizedScheme scheme = random_scheme(rng);
  const Shape leading = random_shape(rng, 0, 2, 6);
  const RandomWeights w =
      random_weights(rng, scheme, leading, random_int(rng.details(), 0, 20), random_int(rng.details(), 1, 200));
  Problem p;
  p.inputs = w.views;
  p.outputs = {random_view(rng, w.shape, pick(rng, kTypes), random_output_kind(rng))};
  p.what = to_text(w.format);
  for (const View& v : p.inputs) p.what += " " + to_string(v);
  p.what += " to " + to_string(p.outputs[0]);
  p.call = [=](Stream& s, auto in, auto out) { kernels::dequantize_weights(s, w.matrix(in), out[0]); };
  return p;
}

// Small integers.
View random_integers(Rng& rng, const Shape& shape, DType type, Kind kind) {
  const View view = random_view(rng, shape, type, kind);
  set_values(view, [&](std::int64_t) { return random_int(rng.details(), -2, 2); });
  return view;
}

Problem random_quantized_product(Rng& rng) {
  constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f16, DType::bf16};
  constexpr DType kIndices[] = {DType::i32, DType::u32, DType::i64, DType::u64, DType::i8};
  const QuantizedScheme scheme = random_scheme(rng);
  const Shape batch = random_shape(rng, 0, 3, 6, false);
  const bool chooses = rng() % 4 == 0, transposed = rng() % 3 != 0;
  const Shape leading = chooses ? Shape{random_int(rng, 1, 3)} : random_broadcast(rng, batch);
  const auto size = [&] {
    return std::int64_t{rng() % 2 ? random_int(rng.details(), 1, 70) : 16 * random_int(rng.details(), 1, 6)};
  };
  const std::int64_t m = rng() % 2 ? size() : 1;
  const RandomWeights w = random_weights(rng, scheme, leading, size(), 2 * size());
  const std::int64_t k = w.shape[transposed ? -1 : -2], n = w.shape[transposed ? -2 : -1];
  const auto matrix = [&](const Shape& before, std::int64_t rows, std::int64_t columns) {
    Shape shape = before;
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  };
  Problem p;
  p.inputs = w.views;
  const std::size_t x = p.inputs.size();
  p.inputs.push_back(
      random_integers(rng, matrix(random_broadcast(rng, batch), m, k), pick(rng, kTypes), random_input_kind(rng)));
  if (chooses) {
    p.inputs.push_back(random_view(rng, random_broadcast(rng, batch), pick(rng, kIndices), random_input_kind(rng)));
    set_values(p.inputs.back(),
               [&](std::int64_t) { return random_int(rng.details(), is_signed(p.inputs.back().dtype) ? -1 : 0, 4); });
  }
  const DType y_type = pick(rng, kTypes);
  if (rng() % 3 == 0 && m > 1) {
    // Transposed in memory, so that the product is that of the transposes.
    const View y = random_view(rng, matrix(batch, n, m), y_type);
    std::vector<int> order;
    for (int d = 0; d < y.rank(); ++d) order.push_back(d);
    std::swap(order[order.size() - 1], order[order.size() - 2]);
    p.outputs = {y.permuted(order)};
  } else {
    p.outputs = {random_view(rng, matrix(batch, m, n), y_type, random_output_kind(rng))};
  }
  auto e = std::make_shared<Expression>();
  const bool fused = rng() % 3 == 0;
  if (fused) {
    p.inputs.push_back(
        random_integers(rng, random_broadcast(rng, matrix(batch, m, n)), DType::f32, random_input_kind(rng)));
    const int v = e->input(DType::f32), added = e->input(DType::f32);
    const int out = e->apply(ScalarOp::relu, {e->apply(ScalarOp::add, {v, added})});
    e->output(y_type == DType::f32 ? out : e->cast(out, y_type));
  }
  // Weights are rounded to f16 on matrices where x is, which loses bits of codes times scales of a block.
  if (p.inputs[x].dtype == DType::f16)
    p.tolerance = {.ulp = 1, .absolute = 0x1p-11 * 2 * 4096 * static_cast<double>(k)};
  p.what = to_text(w.format);
  for (const View& v : p.inputs) p.what += " " + to_string(v);
  p.what += " to " + to_string(p.outputs[0]) + (transposed ? " transposed" : "") + (fused ? " fused" : "");
  const auto form =
      static_cast<std::size_t>(random_int(rng, 0, 2 * static_cast<int>(kernels::matmul_variants().size())));
  p.call = [=](Stream& s, auto in, auto out) {
    const kernels::QuantizedMatrix weights = w.matrix(in);
    const auto chosen = chooses ? std::optional(in[x + 1]) : std::nullopt;
    const kernels::Epilogue epilogue = fused ? kernels::Epilogue{e.get(), in.last(1)} : kernels::Epilogue{};
    if (s.gpu() && form < kernels::matmul_variants().size()) {
      const kernels::MatmulVariant& v = kernels::matmul_variants()[form];
      const kernels::QuantizedProblem q(in[x], weights, chosen, out[0], {transposed}, epilogue);
      if (can_run(v, q.problem, s.gpu()->device().capabilities())) {
        return kernels::quantized_matmul_by(*s.gpu(), q, epilogue.expression, v);
      }
    }
    kernels::quantized_matmul(s, in[x], weights, chosen, out[0], {transposed}, epilogue);
  };
  return p;
}

const bool registered = differential("dequantize_weights", random_dequantization, 2) &&
                        differential("quantized_matmul", random_quantized_product, 2, 24);

class QuantizedTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device_ = device(GetParam());
};

// Every scheme, with extreme scales and codes.
TEST_P(QuantizedTest, ReferenceCases) {
  const ReferenceCases set("quantized");
  for (const json& c : set.list("cases.json")) {
    if (leave_out_problem()) continue;
    const std::string kernel = c.at("kernel");
    std::vector<View> inputs = set.operands(c, "inputs"), outputs = set.operands(c, "outputs");
    const auto is_f64 = [](const View& v) { return v.dtype == DType::f64; };
    if (std::ranges::any_of(inputs, is_f64) || std::ranges::any_of(outputs, is_f64)) continue;
    AttributeMap attributes;
    for (const auto& [name, value] : c.at("attributes").items()) {
      if (value.is_string())
        attributes[name] = value.get<std::string>();
      else
        attributes[name] = value.get<std::int64_t>();
    }
    // Views that are not given stay so; the others come to the device.
    std::vector<View> there, into;
    for (const View& v : inputs) there.push_back(v.buffer ? to_device(device_, v) : v);
    for (const View& v : outputs) into.push_back(to_device(device_, v));
    gpu::Encoder encoder(device_);
    try {
      kernels::call(encoder, kernel, {.inputs = there, .outputs = into, .attributes = attributes});
    } catch (const Error& e) {
      ADD_FAILURE() << c.dump().substr(0, 300) << ": " << e.what();
      continue;
    }
    encoder.submit();
    Tolerance tolerance = ReferenceCases::tolerance(c);
    tolerance.bits = false;  // GPUs may flush denormals, and lose the sign of a zero that they add
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (!is_integer(outputs[k].dtype)) tolerance.absolute = std::max(tolerance.absolute, 0x1p-126);
      // Weights are rounded to f16 on cooperative matrices.
      if (kernel == "quantized_matmul" && inputs[0].dtype == DType::f16) tolerance.absolute *= 0x1p12;
      expect_close(to_host(device_, into[k]), outputs[k], tolerance, c.dump().substr(0, 300));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, QuantizedTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
