// Quantised weights on every device against the CPU, whose decoders cpu_kernels_reference_test.cc compares with gguf,
// MLX and onnx.
#include "weft/kernels/quantized.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "cpu/executor.h"
#include "kernels/matmul/matmul.h"
#include "kernels/operands.h"
#include "kernels/quantized/quantized_matmul.h"
#include "kernels/quantized/reader.h"
#include "kernels/quantized_cases.h"
#include "support/chunks.h"
#include "support/devices.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/quantize.h"
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
  const std::int64_t longer = rng() % 4 ? 2 : 32;  // past what a kernel holds of a row of x
  const RandomWeights w = random_weights(rng, scheme, leading, size(), longer * size());
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
  // Half of them by kernels that read runs, where they can.
  const auto variants = kernels::matmul_variants();
  const bool runs = rng() % 2;
  auto form = static_cast<std::size_t>(random_int(rng, 0, 2 * static_cast<int>(variants.size())));
  while (runs && variants[form % variants.size()].kind != kernels::MatmulKind::read_gemv) ++form;
  if (runs) form %= variants.size();
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

constexpr QuantizedScheme kStored[] = {QuantizedScheme::integers,   QuantizedScheme::affine, QuantizedScheme::mxfp4,
                                       QuantizedScheme::mxfp8,      QuantizedScheme::nvfp4,  QuantizedScheme::nbits,
                                       QuantizedScheme::q4_0,       QuantizedScheme::q4_1,   QuantizedScheme::q5_0,
                                       QuantizedScheme::q5_1,       QuantizedScheme::q8_0,   QuantizedScheme::q2_k,
                                       QuantizedScheme::q3_k,       QuantizedScheme::q4_k,   QuantizedScheme::q5_k,
                                       QuantizedScheme::q6_k,       QuantizedScheme::iq4_nl, QuantizedScheme::iq4_xs,
                                       QuantizedScheme::ggml_mxfp4, QuantizedScheme::tq1_0,  QuantizedScheme::tq2_0};

// Numbers of which some are ties, or special: of each scheme there are groups of zeros, of tiny numbers, and with NaN.
std::function<double(std::int64_t)> numbers_to_store(Rng& rng, bool special) {
  const int kind = random_int(rng.details(), 0, 3);
  return [&rng, special, kind](std::int64_t i) -> double {
    Rng& details = rng.details();
    if (special && details() % 29 == 0) {
      constexpr double kSpecial[] = {NAN, INFINITY, -INFINITY, 3e38, -3e38, 6e4};
      return pick(details, kSpecial);
    }
    if (kind == 3 && i / 64 % 3 == 0) {
      constexpr double kTiny[] = {0.0, -0.0, 1e-39, -1e-39, 1e-32, -0.0};
      return pick(details, kTiny);
    }
    const double quarter = random_int(details, -32, 32) * 0.25;
    if (kind == 0) return quarter;
    return std::ldexp(quarter + random_int(details, -1000, 1000) * 1e-4, random_int(details, -3, kind == 1 ? 0 : 9));
  };
}

Problem random_quantization(Rng& rng) {
  constexpr DType kTypes[] = {DType::f32, DType::f32, DType::f16, DType::bf16};
  const QuantizedScheme scheme = pick(rng, kStored);
  RandomWeights w = random_weights(rng, scheme, random_shape(rng, 0, 2, 6), random_int(rng.details(), 0, 20),
                                   random_int(rng.details(), 1, 300));
  for (std::size_t i = 0; i < w.views.size(); ++i) {
    DType type = w.views[i].dtype;
    // Without zero points integers have a sign; or 8-bit floats.
    if (i == 0 && scheme == QuantizedScheme::integers && !w.zeros) {
      constexpr DType kFloats[] = {DType::f8e4m3, DType::f8e5m2};
      type = bits(type) == 8 && rng() % 2 ? pick(rng, kFloats)
             : bits(type) == 8            ? DType::i8
             : bits(type) == 4            ? DType::i4
                                          : DType::i2;
    }
    w.views[i] = random_view(rng, w.views[i].shape(), type, rng() % 2 ? Kind::dense : Kind::offset);
  }
  const bool special = rng() % 4 == 0;
  Problem p;
  p.inputs = {random_view(rng, w.shape, pick(rng, kTypes), random_input_kind(rng))};
  set_values(p.inputs[0], numbers_to_store(rng, special));
  p.outputs = w.views;
  p.what = to_text(w.format) + " of " + to_string(p.inputs[0]);
  for (const View& v : p.outputs) p.what += " " + to_string(v);
  if (!special) p.tolerance = kSameBits;  // NaN may have any payload
  p.call = [=](Stream& s, auto in, auto out) { kernels::quantize_weights(s, in[0], w.matrix(out)); };
  return p;
}

const bool registered = differential("dequantize_weights", random_dequantization, 2) &&
                        differential("quantize_weights", random_quantization, 2, 24) &&
                        differential("quantized_matmul", random_quantized_product, 2, 24);

// Where codes of integers end, and how far apart they are: what a scale and a zero of f32 make of them.
struct Ladder {
  double scale, least, most;
};

double half_at(const View& bytes, std::int64_t at) {
  float16 h;
  std::memcpy(&h, bytes.buffer.data() + bytes.offset + at, 2);
  return h;
}

Ladder ladder_of(QuantizedScheme scheme, const RandomWeights& w, std::int64_t group) {
  using S = QuantizedScheme;
  if (!w.scales) {
    const kernels::BlockFormat& format = kernels::block_format(scheme);
    const double d = half_at(w.views[0], group * format.bytes);
    const double least = format.adds ? half_at(w.views[0], group * format.bytes + 2) : 0;
    if (scheme == S::q4_0) return {d, -8 * d, 7 * d};
    if (scheme == S::q5_0) return {d, -16 * d, 15 * d};
    if (scheme == S::q8_0) return {d, -127 * d, 127 * d};
    return {d, least, least + (scheme == S::q4_1 ? 15 : 31) * d};
  }
  const double scale = value(w.views[1], group), zero = w.zeros ? value(w.views[2], group) : 0;
  if (scheme == S::affine) return {scale, zero, zero + ((1 << w.format.bits) - 1) * scale};
  const double half = scheme == S::nbits ? 1 << (w.format.bits - 1) : 128;
  return {scale, -(half + zero) * scale, (half - 1 - zero) * scale};
}

// What is stored is the nearest number that the group's scale makes, and no number is a whole scale beyond its ends.
TEST(QuantizeWeights, StoresTheNearestNumbers) {
  using S = QuantizedScheme;
  cpu::Executor cpu;
  Rng rng(5);
  const auto stored = [&](RandomWeights& w, const View& x) {
    kernels::quantize_weights(cpu, x, w.matrix(w.views));
    const View y = random_view(rng, w.shape, DType::f32);
    kernels::dequantize_weights(cpu, w.matrix(w.views), y);
    return y;
  };
  const auto given = [&](QuantizedScheme scheme, int bits, std::int64_t group) {
    RandomWeights w;
    w.format = {.scheme = scheme, .bits = bits, .group = group};
    w.shape = {3, 256};
    const auto add = [&](const Shape& shape, DType type) { w.views.push_back(random_view(rng, shape, type)); };
    if (scheme == S::integers) {
      add(w.shape, DType::i8);
    } else if (scheme == S::nbits) {
      add({3, 256 / group, group * bits / 8}, DType::u8);
    } else if (scheme == S::affine) {
      add({3, 8 * bits}, DType::u32);
    } else {
      const kernels::BlockFormat& format = kernels::block_format(scheme);
      add({3, 256 / format.elements * format.bytes}, DType::u8);
      return w;
    }
    w.scales = true;
    add({3, 256 / group}, DType::f32);
    if (scheme == S::affine) {
      w.zeros = true;
      add({3, 256 / group}, DType::f32);
    }
    return w;
  };
  std::vector<RandomWeights> all{given(S::integers, 0, 16)};
  for (const int bits : {1, 2, 3, 4, 5, 6, 8}) all.push_back(given(S::affine, bits, 32));
  for (const int bits : {2, 3, 4, 5, 6, 7, 8}) all.push_back(given(S::nbits, bits, 32));
  for (const S scheme : {S::q4_0, S::q4_1, S::q5_0, S::q5_1, S::q8_0}) all.push_back(given(scheme, 0, 0));
  for (RandomWeights& w : all) {
    const View x = random_view(rng, w.shape, DType::f32);
    set_values(x, [&](std::int64_t i) {
      return random_int(rng, -1000, 1000) * std::ldexp(1e-3, static_cast<int>(i / 256)) + 0.1;
    });
    const View y = stored(w, x);
    // A scale of f16 is off by as much as its elements are by.
    const S scheme = w.format.scheme;
    const double slack = w.scales ? 1e-4 : 0.07;
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const Ladder l = ladder_of(scheme, w, i / (w.format.group ? w.format.group : 32));
      const double v = value(x, i), step = std::abs(l.scale);
      const double inside = std::clamp(v, std::min(l.least, l.most), std::max(l.least, l.most));
      ASSERT_LE(std::abs(value(y, i) - inside), (0.5 + slack) * step) << to_text(w.format) << " " << i << " " << v;
      ASSERT_LE(std::abs(v - inside), (1 + slack) * step) << to_text(w.format) << " " << i << " " << v;
    }
  }
  // Of E2M1 and E4M3 two adjacent numbers are apart by less than the half of the larger.
  for (const S scheme : {S::mxfp4, S::mxfp8, S::nvfp4, S::ggml_mxfp4}) {
    RandomWeights w = random_weights(rng, scheme, {}, 3, 256);
    const View x = random_view(rng, w.shape, DType::f32);
    set_values(x, [&](std::int64_t) { return random_int(rng, -1000, 1000) * 1e-3; });
    const View y = stored(w, x);
    for (std::int64_t i = 0; i < x.count(); ++i) {
      const double v = value(x, i);
      ASSERT_LE(std::abs(value(y, i) - v), std::max(0.3 * std::abs(v), 0.07)) << to_text(w.format) << " " << i;
    }
  }
}

// The codes of rows are those of `quantize` by their scales and zero points.
TEST(QuantizeWeights, CodesOfQuantize) {
  cpu::Executor cpu;
  Rng rng(8);
  for (const DType type : {DType::i8, DType::u8, DType::i4, DType::u4, DType::i2, DType::f8e4m3, DType::f8e5m2}) {
    for (const DType scale_type : {DType::f32, DType::f16, DType::bf16}) {
      const Shape shape{5, 96};
      const View x = random_view(rng, shape, DType::f32), scales = random_view(rng, {5, 1}, scale_type),
                 values = random_view(rng, shape, type), expected = random_view(rng, shape, type);
      set_values(x, numbers_to_store(rng, false));
      std::optional<View> zeros;
      if (!is_signed(type) || (rng() % 2 && !is_floating(type))) zeros = random_view(rng, {5, 1}, type);
      set_element_bits(x, 0, 0x41000000);  // no row of zeros
      kernels::quantize_weights(cpu, x, {{.scheme = QuantizedScheme::integers}, values, scales, zeros});
      kernels::quantize(cpu, x, scales, zeros, expected);
      expect_close(values, expected, kSameBits, std::string(name(type)) + " " + std::string(name(scale_type)));
    }
  }
}

// NaN and infinity make a group NaN on every device, whose codes are 0, and no other group.
TEST(QuantizeWeights, NumbersThatAreNone) {
  Rng rng(6);
  const auto quantize = [](const RandomWeights& w) -> KernelCall {
    return [&w](Stream& s, auto in, auto out) { kernels::quantize_weights(s, in[0], w.matrix(out)); };
  };
  const auto dequantize = [](const RandomWeights& w) -> KernelCall {
    return [&w](Stream& s, auto in, auto out) { kernels::dequantize_weights(s, w.matrix(in), out[0]); };
  };
  for (const double bad : {static_cast<double>(NAN), static_cast<double>(INFINITY), -static_cast<double>(INFINITY)}) {
    for (const QuantizedScheme scheme : kStored) {
      RandomWeights w = random_weights(rng, scheme, {}, 2, 512);
      if (scheme == QuantizedScheme::integers) {
        w.format.group = 64, w.format.group_rows = 1;
        w.shape = {2, 512};
        w.views = {random_view(rng, w.shape, DType::i8), random_view(rng, {2, 8}, DType::f32)};
        w.zeros = false;
      }
      const View x = random_view(rng, w.shape, DType::f32);
      set_values(x, [&](std::int64_t i) { return i == 3 ? bad : static_cast<double>(i % 17); });
      const View y = random_view(rng, w.shape, DType::f32);
      cpu::Executor cpu;
      quantize(w)(cpu, std::span(&x, 1), w.views);
      dequantize(w)(cpu, w.views, std::span(&y, 1));
      const std::int64_t of_format = kernels::complete(w.format).group,
                         group = of_format ? of_format : kernels::block_format(scheme).elements;
      for (std::int64_t i = 0; i < y.count(); ++i) {
        ASSERT_EQ(std::isnan(value(y, i)), i < group) << to_text(w.format) << " " << i;
      }
      for (const std::string& name : device_names()) {
        run_both(test::device(name), std::span(&x, 1), w.views, quantize(w), {}, to_text(w.format));
        run_both(test::device(name), w.views, std::span(&y, 1), dequantize(w), {}, to_text(w.format));
      }
    }
  }
}

// Groups of any power of two, as MatMulNBits has them; large ones are a workgroup's each.
TEST(QuantizeWeights, LargeGroups) {
  Rng rng(9);
  for (const std::int64_t group : {16, 512, 1024, 4096}) {
    for (const bool shifts : {false, true}) {
      for (const int bits : {3, 4, 8}) {
        RandomWeights w;
        w.format = {.scheme = QuantizedScheme::nbits, .bits = bits, .group = group, .columns = 3 * group - 5};
        w.shape = {2, 3 * group - 5};
        w.views = {random_view(rng, {2, 3, group * bits / 8}, DType::u8), random_view(rng, {2, 3}, DType::f32)};
        w.scales = true, w.zeros = shifts;
        if (shifts) w.views.push_back(random_view(rng, {2, (3 * bits + 7) / 8}, DType::u8));
        const View x = random_view(rng, w.shape, DType::f32), y = random_view(rng, w.shape, DType::f32),
                   a = random_view(rng, {3, 3 * group - 5}, DType::f32), product = random_view(rng, {3, 2}, DType::f32);
        // The groups' ranges differ.
        set_values(
            x, [&](std::int64_t i) { return std::sin(static_cast<double>(i)) * (1 + static_cast<double>(i / group)); });
        const KernelCall quantize = [&](Stream& s, auto in, auto out) {
          kernels::quantize_weights(s, in[0], w.matrix(out));
        };
        const KernelCall dequantize = [&](Stream& s, auto in, auto out) {
          kernels::dequantize_weights(s, w.matrix(in), out[0]);
        };
        const KernelCall multiply = [&](Stream& s, auto in, auto out) {
          kernels::quantized_matmul(s, in[0], w.matrix(in.subspan(1)), {}, out[0], {});
        };
        cpu::Executor cpu;
        quantize(cpu, std::span(&x, 1), w.views);
        dequantize(cpu, w.views, std::span(&y, 1));
        for (std::int64_t i = 0; i < x.count(); ++i) {
          const double scale = std::abs(value(w.views[1], i / w.shape[1] * 3 + i % w.shape[1] / group));
          ASSERT_NEAR(value(y, i), value(x, i), scale * (shifts ? 0.51 : 1.01)) << to_text(w.format) << " " << i;
        }
        std::vector<View> operands{a};
        operands.insert(operands.end(), w.views.begin(), w.views.end());
        for (const std::string& name : device_names()) {
          run_both(test::device(name), std::span(&x, 1), w.views, quantize, kSameBits, to_text(w.format));
          run_both(test::device(name), w.views, std::span(&y, 1), dequantize, {.ulp = 1}, to_text(w.format));
          run_both(test::device(name), operands, std::span(&product, 1), multiply,
                   {.absolute = 1e-4 * static_cast<double>(group)}, to_text(w.format));
        }
      }
    }
  }
}

// Scales of 16 bits, one for each element, without zero points: each of four elements has its own.
TEST(QuantizedWeights, AScaleOfSixteenBitsForEachElement) {
  Rng rng(10);
  for (const DType type : {DType::f16, DType::bf16}) {
    for (const DType values : {DType::i8, DType::u8, DType::i4, DType::f8e4m3}) {
      for (const Shape& shape : {Shape{4, 8}, Shape{1, 8}, Shape{3, 32}}) {
        for (const std::int64_t group_rows : {1, 0}) {
          RandomWeights w;
          w.format = {.scheme = QuantizedScheme::integers, .group = 1, .group_rows = group_rows};
          w.shape = shape, w.scales = true;
          w.views = {random_view(rng, shape, values), random_view(rng, {group_rows ? shape[0] : 1, shape[1]}, type)};
          const std::vector<View> operands{w.views[0], w.views[1], random_view(rng, {2, shape[1]}, DType::f32),
                                           random_view(rng, {2, shape[1]}, DType::f16)};
          for (const std::string& name : device_names()) {
            const std::string what =
                std::format("{} of {}, scales {}", to_string(shape), weft::name(values), to_string(w.views[1]));
            const View y = random_view(rng, shape, DType::f32);
            run_both(
                test::device(name), operands, std::span(&y, 1),
                [&](Stream& s, auto in, auto out) { kernels::dequantize_weights(s, w.matrix(in), out[0]); }, {.ulp = 1},
                what);
            for (const int x : {2, 3}) {
              const View product = random_view(rng, {2, shape[0]}, DType::f32);
              run_both(
                  test::device(name), operands, std::span(&product, 1),
                  [&](Stream& s, auto in, auto out) {
                    kernels::quantized_matmul(s, in[static_cast<std::size_t>(x)], w.matrix(in), {}, out[0], {});
                  },
                  {.absolute = 1e-3, .relative = 1e-3}, what);
            }
          }
        }
      }
    }
  }
}

TEST(QuantizeWeights, Refusals) {
  cpu::Executor cpu;
  Rng rng(7);
  const auto refused = [&](const RandomWeights& w) {
    const View x = random_view(rng, w.shape, DType::f32);
    return thrown_by([&] { kernels::quantize_weights(cpu, x, w.matrix(w.views)); });
  };
  for (std::size_t i = 0; i < std::size(kernels::kQuantizedSchemes); ++i) {
    const auto scheme = static_cast<QuantizedScheme>(i);
    if (std::ranges::find(kStored, scheme) != std::end(kStored)) continue;
    RandomWeights w = random_weights(rng, scheme, {}, 32, 256);
    EXPECT_THAT(refused(w), testing::StartsWith("Unsupported: quantize_weights: ")) << kernels::kQuantizedSchemes[i];
  }
  RandomWeights w;
  w.format = {.scheme = QuantizedScheme::integers};
  w.scales = true;
  w.shape = {2, 8};
  w.views = {random_view(rng, w.shape, DType::u8), random_view(rng, {2, 1}, DType::f32)};
  EXPECT_THAT(refused(w), testing::StartsWith("InvalidArgument: quantize_weights: values are u8 [2, 8] without zeros"));
  w.views[0].dtype = DType::i8;
  EXPECT_EQ(refused(w), "nothing");
  w.shape = {2, 7};
  EXPECT_THAT(refused(w), testing::StartsWith("InvalidArgument: quantize_weights: x is f32 [2, 7], expected"));
}

// Columns of one element, which are adjacent though each is a row of its own.
TEST(QuantizedMatmul, OneColumn) {
  cpu::Executor cpu;
  Rng rng(7);
  using S = QuantizedScheme;
  const kernels::QuantizedFormat formats[] = {{.scheme = S::integers},
                                              {.scheme = S::integers, .group_rows = 0},
                                              {.scheme = S::integers, .group_rows = 3},
                                              {.scheme = S::gptq, .bits = 4, .group = 16}};
  for (const kernels::QuantizedFormat& format : formats) {
    const bool words = format.scheme == S::gptq;
    const std::int64_t rows = 64, group = words ? format.group : format.group_rows,
                       groups = group == 0 ? 1 : (rows + group - 1) / group;
    const View values = words ? random_bytes(rng, {8, 1}, DType::u32) : random_bytes(rng, {rows, 1}, DType::i8);
    const kernels::QuantizedMatrix w{format, values, random_integers(rng, {groups, 1}, DType::f32, Kind::dense)};
    const View dense = random_view(rng, {rows, 1}, DType::f32);
    kernels::dequantize_weights(cpu, w, dense);
    for (const bool transposed : {false, true}) {
      for (const std::int64_t m : {1, 2, 5}) {
        const View x = random_integers(rng, {m, transposed ? 1 : rows}, DType::f32, Kind::dense);
        const View y = random_view(rng, {m, transposed ? rows : 1}, DType::f32);
        const View want = random_view(rng, y.shape(), DType::f32);
        kernels::quantized_matmul(cpu, x, w, {}, y, {transposed});
        kernels::matmul(cpu, x, transposed ? dense.permuted(std::array{1, 0}) : dense, want);
        expect_close(y, want, kSameBits, to_text(format));
      }
    }
  }
}

class QuantizedTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device_ = device(GetParam());
  Rng rng_{7};
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

// Weights that exceed a binding are stored by rows of groups.
using QuantizeWeightsChunks = ChunksTest;
TEST_F(QuantizeWeightsChunks, Rows) {
  using S = QuantizedScheme;
  struct Stored {
    kernels::QuantizedFormat format;
    DType values, zeros;
    Shape shape, stored, scales, points;  // points: of zeros, where there are any
  };
  const Stored all[] = {
      {{.scheme = S::affine, .bits = 3}, DType::u32, DType::f16, {2, 150, 192}, {2, 150, 18}, {2, 150, 3}, {2, 150, 3}},
      {{.scheme = S::nbits, .bits = 5, .group = 16, .columns = 180},
       DType::u8,
       DType::u8,
       {3, 130, 180},
       {3, 130, 12, 10},
       {3, 130, 12},
       {3, 130, 8}},
      {{.scheme = S::integers, .group = 6, .group_rows = 3},
       DType::i4,
       DType::i4,
       {330, 97},
       {330, 97},
       {110, 17},
       {110, 17}},
      {{.scheme = S::integers, .group = 1}, DType::i8, DType::i8, {400, 64}, {400, 64}, {400, 64}, {400, 64}},
      {{.scheme = S::integers, .group_rows = 8}, DType::i8, {}, {104, 300}, {104, 300}, {13, 1}, {}},
      {{.scheme = S::q8_0}, DType::u8, {}, {2, 2, 70, 256}, {2, 2, 70, 272}, {}, {}}};
  for (const Stored& w : all) {
    for (const Kind kind : {Kind::dense, Kind::reversed}) {
      const View x = random_view(rng, w.shape, DType::f32, kind);
      std::vector<View> outputs{random_view(rng, w.stored, w.values)};
      if (w.scales.rank()) outputs.push_back(random_view(rng, w.scales, DType::f16));
      if (w.points.rank()) outputs.push_back(random_view(rng, w.points, w.zeros));
      if (w.format.group == 1) outputs[1] = random_view(rng, w.scales, DType::f32);
      both(
          {x}, outputs,
          [&](Stream& s, auto in, auto out) {
            const auto maybe = [&](std::size_t i) { return i < out.size() ? std::optional(out[i]) : std::nullopt; };
            kernels::quantize_weights(s, in[0], {w.format, out[0], maybe(1), maybe(2)});
          },
          kSameBits);
    }
  }
  // One group of more than a binding. (A quick run leaves the call out.)
  if (quick()) return;
  const View x = random_view(rng, {200, 128}, DType::f32);
  const View scale = random_view(rng, {1, 1}, DType::f32), values = random_view(rng, x.shape(), DType::i8);
  EXPECT_THAT(message_of([&] {
                both(
                    {x}, {values, scale},
                    [&](Stream& s, auto in, auto out) {
                      kernels::quantize_weights(s, in[0], {{.scheme = S::integers, .group_rows = 0}, out[0], out[1]});
                    },
                    kSameBits);
              }),
              testing::HasSubstr("where it cannot be cut"));
}

// A group of all rows or columns is there, with a scale, where these are none.
TEST_P(QuantizedTest, GroupsOfNothing) {
  for (const auto& [rows, columns, scale_rows, scale_columns] :
       {std::array<std::int64_t, 4>{0, 8, 1, 1}, {3, 0, 1, 1}, {0, 0, 1, 1}}) {
    Rng rng(3);
    const kernels::QuantizedFormat format{.scheme = QuantizedScheme::integers, .group = 0, .group_rows = 0};
    const View x = random_view(rng, {rows, columns}, DType::f32), values = random_view(rng, x.shape(), DType::i8),
               scale = random_view(rng, {scale_rows, scale_columns}, DType::f32);
    run_both(
        device_, std::array{x}, std::array{values, scale},
        [&](Stream& s, auto in, auto out) { kernels::quantize_weights(s, in[0], {format, out[0], out[1]}); },
        kSameBits);
    run_both(
        device_, std::array{values, scale}, std::array{x},
        [&](Stream& s, auto in, auto out) { kernels::dequantize_weights(s, {format, in[0], in[1]}, out[0]); },
        kSameBits);
    const View a = random_view(rng, {2, columns}, DType::f32), y = random_view(rng, {2, rows}, DType::f32);
    run_both(
        device_, std::array{a, values, scale}, std::array{y},
        [&](Stream& s, auto in, auto out) {
          kernels::quantized_matmul(s, in[0], {format, in[1], in[2]}, std::nullopt, out[0]);
        },
        kSameBits);
  }
}

// All operands in one buffer, as parts of a model's weights are.
TEST_P(QuantizedTest, OneBuffer) {
  for (const DType type : {DType::f32, DType::f16}) {
    const Buffer buffer = Buffer::host(8192);
    const View x(buffer, 0, type, {4, 96}), values(buffer, 2048, DType::u8, {4, 6, 10}),
        scales(buffer, 2560, type, {4, 6}), zeros(buffer, 3072, DType::u8, {4, 4});
    set_values(x, [](std::int64_t i) { return static_cast<double>(i * 7919 % 1001) * 1e-2 - 4; });
    const kernels::QuantizedFormat format{.scheme = QuantizedScheme::nbits, .bits = 5, .group = 16};
    run_both(
        device_, std::array{x}, std::array{values, scales, zeros},
        [&](Stream& s, auto in, auto out) { kernels::quantize_weights(s, in[0], {format, out[0], out[1], out[2]}); },
        kSameBits);
  }
}

// So many rows that GPUs with cooperative matrices decode the weights first.
TEST_P(QuantizedTest, ManyRows) {
  for (const QuantizedScheme scheme :
       {QuantizedScheme::affine, QuantizedScheme::q6_k, QuantizedScheme::nbits, QuantizedScheme::iq3_s}) {
    for (const bool transposed : {false, true}) {
      if (leave_out_problem()) continue;
      const RandomWeights w = random_weights(rng_, scheme, {1}, 96, 512);
      SCOPED_TRACE(to_text(w.format));
      const std::int64_t n = w.shape[transposed ? 1 : 2], k = w.shape[transposed ? 2 : 1];
      std::vector<View> inputs = w.views;
      inputs.push_back(random_integers(rng_, {1, 520, k}, DType::f16, Kind::dense));
      run_both(device_, inputs, std::array{random_view(rng_, {1, 520, n}, DType::f32)},
               [&](Stream& s, auto in, auto out) {
                 kernels::quantized_matmul(s, in.back(), w.matrix(in), {}, out[0], {transposed});
               },
               {.ulp = 1, .absolute = 0x1p-11 * 2 * 4096 * static_cast<double>(k)});
    }
  }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(QuantizedTest);
// Bytes that begin at any address: of the variants those that read runs of words differ.
TEST_P(QuantizedTest, BytesAtAnyAddress) {
  for (const std::uint64_t offset : {1, 6}) {
    const Buffer buffer = Buffer::host(16384);
    const View integers(buffer, offset, DType::i8, {8, 64}), nibbles(buffer, 1024 + offset, DType::u4, {8, 64}),
        nbits(buffer, 2048 + offset, DType::u8, {8, 4, 8}), blocks(buffer, 4096 + offset, DType::u8, {8, 2 * 34}),
        ones(buffer, 8192, DType::f32, {8, 4}), x(buffer, 10240, DType::f32, {3, 64});
    for (int i = 0; i < 8192; ++i) buffer.data()[i] = static_cast<std::byte>(i * 7919 % 251 & 63);
    set_values(ones, [](std::int64_t i) { return 1 << i % 3; });
    set_values(x, [](std::int64_t i) { return static_cast<double>(i % 5) - 2; });
    const View y = random_view(rng_, {3, 8}, DType::f32);
    const kernels::QuantizedMatrix all[] = {{{.scheme = QuantizedScheme::integers, .group = 16}, integers, ones},
                                            {{.scheme = QuantizedScheme::integers, .group = 16}, nibbles, ones},
                                            {{.scheme = QuantizedScheme::nbits, .group = 16}, nbits, ones},
                                            {{.scheme = QuantizedScheme::q8_0}, blocks}};
    for (const kernels::QuantizedMatrix& w : all) {
      for (std::size_t v = 0; v <= kernels::matmul_variants().size(); ++v) {
        const bool given = v < kernels::matmul_variants().size();
        if ((given && kernels::matmul_variants()[v].kind != kernels::MatmulKind::read_gemv) || leave_out_problem())
          continue;
        const std::vector<View> operands = w.scales ? std::vector{x, w.values, *w.scales} : std::vector{x, w.values};
        run_both(device_, operands, std::array{y},
                 [&](Stream& s, auto in, auto out) {
                   kernels::QuantizedMatrix there{w.format, in[1]};
                   if (w.scales) there.scales = in[2];
                   if (s.gpu() && v < kernels::matmul_variants().size()) {
                     const kernels::MatmulVariant& variant = kernels::matmul_variants()[v];
                     const kernels::QuantizedProblem q(in[0], there, {}, out[0], {}, {});
                     if (can_run(variant, q.problem, device_.capabilities()))
                       return kernels::quantized_matmul_by(*s.gpu(), q, nullptr, variant);
                   }
                   kernels::quantized_matmul(s, in[0], there, {}, out[0]);
                 },
                 {.absolute = 1e-3});
      }
    }
  }
}

// Weights that exceed a binding, in products and as floats.
using QuantizedWeightsChunks = ChunksTest;
TEST_F(QuantizedWeightsChunks, Rows) {
  std::vector<RandomWeights> all;
  for (std::size_t i = 0; i < std::size(kernels::kQuantizedSchemes); ++i) {
    const Shape leading = i % 2 ? Shape{3} : Shape{};
    all.push_back(random_weights(rng, static_cast<QuantizedScheme>(i), leading, 384, 512));
  }
  // Scales that more rows share than a binding holds.
  for (const std::int64_t group_rows : {0, 300}) {
    RandomWeights w;
    w.format = {.scheme = QuantizedScheme::integers, .group = 1, .group_rows = group_rows};
    w.shape = {384, 512};
    w.views.push_back(random_bytes(rng, w.shape, DType::i8));
    w.views.push_back(random_integers(rng, {group_rows ? 2 : 1, 512}, DType::f32, Kind::dense));
    w.scales = true;
    all.push_back(w);
  }
  for (const RandomWeights& w : all) {
    if (leave_out_problem()) continue;
    SCOPED_TRACE(to_text(w.format));
    both(w.views, {random_view(rng, w.shape, DType::f32)},
         [&](Stream& s, auto in, auto out) { kernels::dequantize_weights(s, w.matrix(in), out[0]); }, {.ulp = 2});
    for (const bool transposed : {true, false}) {
      std::vector<View> in = w.views;
      in.push_back(random_integers(rng, {2, w.shape[transposed ? -1 : -2]}, DType::f32, Kind::dense));
      Shape shape(std::span(w.shape.begin(), w.shape.end() - 2));
      shape.push_back(2);
      shape.push_back(w.shape[transposed ? -2 : -1]);
      both(in, {random_view(rng, shape, DType::f32)},
           [&](Stream& s, auto in, auto out) {
             kernels::quantized_matmul(s, in.back(), w.matrix(in), {}, out[0], {transposed});
           },
           {.absolute = 1e-3});
    }
  }
}

// What is bound is counted in elements, too.
TEST(QuantizedMatmul, MoreElementsThanAnIndexCounts) {
  const kernels::QuantizedLayout l = kernels::values_layout({.scheme = QuantizedScheme::affine, .bits = 1, .group = 32},
                                                            DType::u32, {std::int64_t{1} << 19, 512});
  EXPECT_EQ(l.stored(), std::int64_t{1} << 33);
  EXPECT_GT(kernels::quantized_bytes(l, 0, l.stored()), std::uint64_t{1} << 32);
  EXPECT_EQ(kernels::quantized_bytes(l, 0, l.stored() / 4), std::uint64_t{1} << 28);
}

INSTANTIATE_TEST_SUITE_P(Devices, QuantizedTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

}  // namespace
}  // namespace weft::test
