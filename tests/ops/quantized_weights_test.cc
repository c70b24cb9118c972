// Products with quantised weights in graphs: what becomes one, values on every device, derivatives, batches, errors.
#include "weft/quantized_weights.h"

#include <nlohmann/json.hpp>

#include "compiler/evaluate.h"
#include "kernels/operands.h"
#include "kernels/quantized_cases.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/indexing.h"
#include "weft/quantization.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using enum QuantizedScheme;

class QuantizedWeightsTest : public OnDevice {
 protected:
  // Random weights whose products with small integers are exact.
  QuantizedWeights weights(QuantizedScheme scheme, const Shape& leading, std::int64_t rows, std::int64_t columns) {
    const RandomWeights w = random_weights(rng_, scheme, leading, rows, columns);
    std::size_t next = 1;
    QuantizedWeights all{w.format, tensor_of(w.views[0])};
    if (w.scales) all.scales = tensor_of(w.views[next++]);
    if (w.zeros) all.zeros = tensor_of(w.views[next++]);
    if (w.groups) all.groups = tensor_of(w.views[next++]);
    return all;
  }
  Tensor integers(const Shape& shape, DType type = DType::f32) {
    const View v = random_view(rng_, shape, type);
    set_values(v, [&](std::int64_t) { return random_int(rng_, -2, 2); });
    return tensor_of(v);
  }
  // The labels of the steps that compute f compiled.
  template <class F>
  std::vector<std::string> steps(const F& f, const std::vector<Tensor>& inputs) {
    Graph g;
    std::vector<Tensor> in;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      in.push_back(g.input(std::format("x{}", i), inputs[i].dtype(), inputs[i].shape()));
    }
    g.output("y", f(in));
    std::vector<std::string> labels;
    const Executable exe = compile(g, device);
    for (const ScheduleStep& s : exe.report().steps) labels.push_back(s.label);
    return labels;
  }
  // f compiled is one kernel of that name, with the values of f's steps alone, which are exact.
  template <class F>
  void expect_one(const std::string& name, const F& f, const std::vector<Tensor>& inputs) {
    const std::vector<std::string> labels = steps(f, inputs);
    ASSERT_EQ(labels.size(), 1u) << testing::PrintToString(labels);
    EXPECT_THAT(labels[0], HasSubstr(name));
    Graph g;
    std::vector<Tensor> in;
    std::map<std::string, TensorData> data;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string input = std::format("x{}", i);
      in.push_back(g.input(input, inputs[i].dtype(), inputs[i].shape()));
      const View v = read_view(inputs[i]);
      data.emplace(input, TensorData::copy_of(v.dtype, v.shape(), bytes_of(v)));
    }
    g.output("y", f(in));
    Executable exe = compile(g, device);
    const Bound bound(device, g, data);
    bound.run(exe);
    const auto want = compiler::evaluate(g, data);
    const auto& [output, made] = bound.outputs_.at(0);
    std::vector<std::byte> got(byte_size(made.type()));
    made.read_bytes(got);
    EXPECT_TRUE(std::ranges::equal(got, want.at(output).bytes)) << exe.report().graph;
  }
  static std::vector<Tensor> operands(const QuantizedWeights& w) {
    std::vector<Tensor> all{w.values};
    for (const Tensor& t : {w.scales, w.zeros, w.groups}) {
      if (t.defined()) all.push_back(t);
    }
    return all;
  }
  // The weights with other operands in their place, those from `first` on.
  static QuantizedWeights with(const QuantizedWeights& w, std::span<const Tensor> in, std::size_t first) {
    QuantizedWeights v{w.format, in[first++]};
    if (w.scales.defined()) v.scales = in[first++];
    if (w.zeros.defined()) v.zeros = in[first++];
    if (w.groups.defined()) v.groups = in[first++];
    return v;
  }

  Rng rng_{7};
};
INSTANTIATE_TEST_SUITE_P(Devices, QuantizedWeightsTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

QuantizedFormat format_of(const json& attributes) {
  const std::string scheme = attributes.value("scheme", "affine");
  return {static_cast<QuantizedScheme>(std::ranges::find(kernels::kQuantizedSchemes, scheme) -
                                       std::begin(kernels::kQuantizedSchemes)),
          attributes.value("bits", 0), attributes.value("group", std::int64_t{0}),
          attributes.value("group_rows", std::int64_t{1}), attributes.value("columns", std::int64_t{0})};
}

// What MLX, ONNX Runtime and ggml store.
TEST_P(QuantizedWeightsTest, WeightsOfEveryScheme) {
  const ReferenceCases data("quantized");
  std::set<QuantizedScheme> seen;
  for (const json& c : data.list("cases.json")) {
    if (c.at("kernel") != "quantize_weights" || leave_out_problem()) continue;
    SCOPED_TRACE(c.dump().substr(0, 300));
    const View x = data.operands(c, "inputs")[0];
    const std::vector<View> want = data.operands(c, "outputs");
    const QuantizedFormat format = format_of(c.at("attributes"));
    if (x.dtype == DType::f64 && GetParam() != "cpu") continue;
    if (format.scheme == nbits && want.size() > 2 && want[2].dtype != DType::u8) continue;  // zeros are packed
    QuantizeWeightsOptions o{.values = want[0].dtype, .zeros = want.size() > 2};
    if (want.size() > 1) o.scales = want[1].dtype;
    const QuantizedWeights w = quantize_weights(tensor_of(x), format, o);
    const std::vector<Tensor> got = operands(w);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].type(), (TensorType{want[i].dtype, want[i].shape()}));
      expect_close(read_view(got[i]), want[i], ReferenceCases::tolerance(c));
    }
    EXPECT_EQ(w.shape(), x.shape());
    seen.insert(format.scheme);
  }
  EXPECT_TRUE(quick() || (seen.contains(affine) && seen.contains(nbits) && seen.contains(q8_0)));
}

// No weight is further from what is stored than the scale of its group, of which 2^bits - 1 are its range.
TEST_P(QuantizedWeightsTest, RoundTrips) {
  const View values = random_view(rng_, {2, 6, 256}, DType::f32);
  set_values(values, [&](std::int64_t) { return random_int(rng_, -1000, 1000) * 1e-3; });
  const Tensor x = tensor_of(values);
  struct Case {
    QuantizedFormat format;
    int bits;
    QuantizeWeightsOptions options = {};
  };
  for (const auto& [format, bits, options] :
       {Case{{affine, 4, 32}, 4},
        Case{{affine, 8, 32}, 8, {.scales = DType::f16}},
        Case{{nbits, 6, 64}, 6},
        Case{{nbits, 3, 16}, 3, {.zeros = true}},
        Case{{QuantizedScheme::integers}, 8},
        Case{{QuantizedScheme::integers, 0, 24, 2}, 4, {.values = DType::u4, .zeros = true}},
        Case{{q4_0}, 4},
        Case{{q4_1}, 4},
        Case{{q5_0}, 5},
        Case{{q8_0}, 8},
        Case{{mxfp4}, 2},
        Case{{mxfp8}, 3},
        Case{{nvfp4}, 2},
        Case{{q2_k}, 2},
        Case{{q3_k}, 3},
        Case{{q4_k}, 4},
        Case{{q5_k}, 5},
        Case{{q6_k}, 6},
        Case{{iq4_nl}, 4},
        Case{{iq4_xs}, 4}}) {
    SCOPED_TRACE(kernels::kQuantizedSchemes[static_cast<std::size_t>(format.scheme)]);
    const QuantizedWeights w = quantize_weights(x, format, options);
    EXPECT_EQ(w.shape(), x.shape());
    const Tensor y = dequantize_weights(w, DType::f32);
    // Ranges are within -1 and 1; scales of f16 are off by 2^-11, and by as many of their codes.
    EXPECT_LE(max(abs(y - x)).item<float>(), 2.0f / static_cast<float>((1 << bits) - 1) * 1.07f);
    // The same compiled, of other strides, and in batches.
    const auto all = [&](const Tensor& t) {
      const QuantizedWeights made = quantize_weights(t, format, options);
      return dequantize_weights(made, DType::f32);
    };
    EXPECT_EQ(compile(all)(x).to_vector<float>(), y.to_vector<float>());
    EXPECT_EQ(all(contiguous(x.permute({2, 0, 1})).permute({1, 2, 0})).to_vector<float>(), y.to_vector<float>());
    EXPECT_EQ(vmap(all)(x).to_vector<float>(), y.to_vector<float>());
    // Weights are constant.
    EXPECT_EQ(grad([&](const Tensor& t) { return sum(all(t) + t); })(x).to_vector<float>(),
              ones_like(x).to_vector<float>());
  }
  // A product reads what the same run stored.
  const Tensor rows = integers({3, 256});
  const auto product = [&](const Tensor& t) { return quantized_matmul(rows, quantize_weights(t, {q8_0})); };
  EXPECT_EQ(compile(product)(x).to_vector<float>(), product(x).to_vector<float>());
  const QuantizedWeights none = quantize_weights(zeros({0, 64}), {affine});
  EXPECT_EQ(dequantize_weights(none).shape(), (Shape{0, 64}));
  EXPECT_EQ(quantize_weights(zeros({3, 40}), {nbits}).format.columns, 40);
  if (GetParam() != "cpu") return;
  const QuantizedWeights doubles = quantize_weights(x.cast(DType::f64), {affine, 4, 32});
  EXPECT_EQ(doubles.scales.dtype(), DType::f32);
}

TEST_P(QuantizedWeightsTest, EmbeddingsOfEveryScheme) {
  const ReferenceCases data("quantized");
  const json cases = data.list("functions.json");
  ASSERT_FALSE(cases.empty());
  for (std::size_t k = 0; k < cases.size(); ++k) {
    const json& c = cases[k];
    if (GetParam() != "cpu" && k % 7 != 0) continue;
    SCOPED_TRACE(c.dump().substr(0, 300));
    const auto in = data.operands(c, "inputs");
    QuantizedWeights w;
    w.format = format_of(c.at("attributes"));
    w.values = tensor_of(in[0]);
    if (in.size() > 2 && in[2].buffer) w.scales = tensor_of(in[2]);
    if (in.size() > 3 && in[3].buffer) w.zeros = tensor_of(in[3]);
    if (in.size() > 4 && in[4].buffer) w.groups = tensor_of(in[4]);
    const View want = data.operands(c, "outputs")[0];
    const auto made = [&] { return quantized_embedding(w, tensor_of(in[1]), want.dtype); };
    if (w.format.scheme == gptq || w.format.scheme == gptq_v2) {
      EXPECT_THAT(thrown_by(made), HasSubstr("Unsupported: quantized_embedding: rows of gptq"));
      continue;
    }
    if (want.dtype == DType::f64 && GetParam() != "cpu") continue;
    const Tensor y = made();
    ASSERT_EQ(y.type(), (TensorType{want.dtype, want.shape()}));
    Tolerance tolerance = ReferenceCases::tolerance(c);
    tolerance.bits = false;
    tolerance.absolute = std::max(tolerance.absolute, 0x1p-126);
    expect_close(read_view(y), want, tolerance);
  }
}

// Of a table of one row, whose scale is a group of rows by itself.
TEST_P(QuantizedWeightsTest, EmbeddingsOfOneRow) {
  for (const std::int64_t group_rows : {0, 1, 2}) {
    const QuantizedWeights w{{.scheme = QuantizedScheme::integers, .group_rows = group_rows},
                             full({1, 4}, 3, DType::i8),
                             full({1, 1}, 0.5f)};
    EXPECT_EQ(quantized_embedding(w, full({2}, 0, DType::i32)).to_vector<float>(), std::vector<float>(8, 1.5f));
  }
}

// A product with what was dequantised reads it as it is stored.
TEST_P(QuantizedWeightsTest, DequantisedMatricesAreRead) {
  for (std::size_t s = 0; s < std::size(kernels::kQuantizedSchemes); ++s) {
    // Tests of kernels have every scheme on every device.
    if (GetParam() != "cpu" && s % 5 != 1) continue;
    const auto scheme = static_cast<QuantizedScheme>(s);
    SCOPED_TRACE(kernels::kQuantizedSchemes[s]);
    const QuantizedWeights w = weights(scheme, {}, 32, 64);
    const std::int64_t rows = w.shape()[0], columns = w.shape()[1];
    std::vector<Tensor> in{integers({3, columns}), integers({3, rows})};
    for (const Tensor& t : operands(w)) in.push_back(t);
    const auto dequantized = [&](std::span<const Tensor> x) { return dequantize_weights(with(w, x, 2), DType::f32); };
    expect_one("quantized_matmul", [&](std::span<const Tensor> x) { return matmul(x[0], dequantized(x).T()); }, in);
    if (leave_out_problem()) continue;
    expect_one(
        "quantized_matmul", [&](std::span<const Tensor> x) { return relu(matmul(x[1], dequantized(x)) + 1); }, in);
    // From the left.
    const std::vector<std::string> left =
        steps([&](std::span<const Tensor> x) { return matmul(dequantized(x), x[0].T()); }, in);
    ASSERT_EQ(left.size(), 1u) << testing::PrintToString(left);
    EXPECT_THAT(left[0], HasSubstr("quantized_matmul"));
  }
}

// The same of integers with scales of every granularity, as dequantize() has them.
TEST_P(QuantizedWeightsTest, IntegersTimesScalesAreRead) {
  struct Case {
    Shape scale;
    int axis;
    std::int64_t block;
  };
  for (const DType type : {DType::u4, DType::i8, DType::i2}) {
    if (GetParam() != "cpu" && type != DType::u4) continue;
    for (const auto& [scale, axis, block] :
         {Case{{}, 1, 0}, {{24}, 0, 0}, {{48}, 1, 0}, {{24, 1}, 0, 0}, {{24, 3}, 1, 16}, {{3, 48}, 0, 8}}) {
      SCOPED_TRACE(std::format("{} scale of rank {}, axis {}, block {}", name(type), scale.rank(), axis, block));
      const View q = random_bytes(rng_, {24, 48}, type);
      const View s = random_view(rng_, scale, DType::f32);
      set_values(s, [&](std::int64_t) { return std::ldexp(1.0, random_int(rng_, -3, 0)); });
      const View z = random_bytes(rng_, scale, type);
      const std::vector<Tensor> in{integers({5, 24}), integers({5, 48}), tensor_of(q), tensor_of(s), tensor_of(z)};
      const DequantizeOptions o{.axis = axis, .block = block};
      expect_one(
          "quantized_matmul", [&](std::span<const Tensor> x) { return matmul(x[0], dequantize(x[2], x[3], x[4], o)); },
          in);
      expect_one(
          "quantized_matmul",
          [&](std::span<const Tensor> x) { return matmul(x[1], dequantize(x[2], x[3], {}, o).T()); }, in);
    }
  }
}

bool is_read(const std::string& label) { return label.find("quantized_matmul") != std::string::npos; }

// Products of bytes that were dequantised on both sides are those of integers, where no scale changes along the sums.
TEST_P(QuantizedWeightsTest, DequantisedBytesMultiplyAsIntegers) {
  const std::vector<Tensor> in{tensor_of(random_bytes(rng_, {6, 40}, DType::u8)),
                               tensor_of(random_bytes(rng_, {40, 12}, DType::i8)),
                               full({6, 1}, 0.5f),
                               full({12}, 0.25f),
                               full({}, 7, DType::u8),
                               full({12}, -3, DType::i8)};
  const auto f = [](std::span<const Tensor> x) {
    return matmul(dequantize(x[0], x[2], x[4]), dequantize(x[1], x[3], x[5], {.axis = 1}));
  };
  const std::vector<std::string> labels = steps(f, in);
  EXPECT_TRUE(std::ranges::none_of(labels, is_read)) << testing::PrintToString(labels);
  Graph g;
  std::vector<Tensor> x;
  for (std::size_t i = 0; i < in.size(); ++i) x.push_back(g.input(std::format("x{}", i), in[i].dtype(), in[i].shape()));
  g.output("y", f(x));
  EXPECT_THAT(compile(g, device).report().graph, HasSubstr("i32"));
  // Each product and sum is exact in f32 too.
  const Tensor a = (cast(in[0], DType::f32) - 7) * in[2], b = (cast(in[1], DType::f32) + 3) * in[3];
  EXPECT_EQ(compile([&](const std::vector<Tensor>& v) { return f(v); })(in).to_vector<float>(),
            matmul(contiguous(a), contiguous(b)).to_vector<float>());
  // A scale that changes along the sums stays a factor of the weights.
  const auto along = [](std::span<const Tensor> v) {
    return matmul(dequantize(v[0], 0.5), dequantize(v[1], v[2], {}, {.axis = 0}));
  };
  const std::vector<Tensor> other{in[0], in[1], full({40}, 0.25f)};
  const std::vector<std::string> read = steps(along, other);
  EXPECT_TRUE(std::ranges::any_of(read, is_read)) << testing::PrintToString(read);
}

// Convolutions of bytes too: zeros outside of x are its zero point.
TEST_P(QuantizedWeightsTest, DequantisedBytesConvolveAsIntegers) {
  const std::vector<Tensor> in{tensor_of(random_bytes(rng_, {2, 3, 6, 7}, DType::u8)),
                               tensor_of(random_bytes(rng_, {4, 3, 3, 3}, DType::i8)), full({4}, 0.25f)};
  for (const bool shifts : {false, true}) {
    const auto f = [&](std::span<const Tensor> x) {
      const Tensor zero = shifts ? full({}, 9, DType::u8) : Tensor();
      return conv(dequantize(x[0], 0.5, zero), dequantize(x[1], x[2], {}, {.axis = 0}), {}, {.padding = {1, 1}});
    };
    const Tensor image = (cast(in[0], DType::f32) - (shifts ? 9.0f : 0.0f)) * 0.5f,
                 filter = cast(in[1], DType::f32) * 0.25f;
    EXPECT_EQ(compile([&](const std::vector<Tensor>& v) { return f(v); })(in).to_vector<float>(),
              conv(contiguous(image), contiguous(filter), {}, {.padding = {1, 1}}).to_vector<float>());
    Graph g;
    std::vector<Tensor> x;
    for (std::size_t i = 0; i < in.size(); ++i)
      x.push_back(g.input(std::format("x{}", i), in[i].dtype(), in[i].shape()));
    g.output("y", f(x));
    const std::string text = compile(g, device).report().graph;
    EXPECT_THAT(text, HasSubstr(shifts ? "i16" : "i32")) << text;
  }
}

// What looks like integers times scales, but is something else.
TEST_P(QuantizedWeightsTest, OtherExpressionsStay) {
  using In = std::span<const Tensor>;
  using Keep = std::function<Tensor(const Tensor&)>;
  // f as one graph, and with what it passes to `keep` computed before.
  const auto same = [](const std::function<Tensor(In, const Keep&)>& f, const std::vector<Tensor>& in) {
    const auto whole = [&](const std::vector<Tensor>& v) { return f(v, [](const Tensor& t) { return t; }); };
    const auto computed = [](const Tensor& t) {
      eval(t);
      return t;
    };
    EXPECT_EQ(compile(whole)(in).to_vector<float>(), f(in, computed).to_vector<float>());
  };
  const Tensor x = integers({4, 32}), bytes = tensor_of(random_bytes(rng_, {32, 8}, DType::u8)),
               scale = full({8}, 0.25f);
  // Differences of bytes wrap.
  same([](In v, const Keep& keep) { return matmul(v[0], keep(cast(v[1] - v[3], DType::f32) * v[2])); },
       {x, bytes, scale, full({}, 100, DType::u8)});
  // Numbers that are no zero points of that type.
  for (const float zero : {0.5f, -1.0f, 300.0f}) {
    same([&](In v, const Keep& keep) { return matmul(v[0], keep((cast(v[1], DType::f32) - zero) * v[2])); },
         {x, bytes, scale});
  }
  // Floats of 8 bits that become integers.
  same([](In v, const Keep& keep) { return matmul(v[0], keep(cast(cast(v[1], DType::i32), DType::f32) * v[2])); },
       {x, cast(integers({32, 8}) * 0.5f, DType::f8e4m3), scale});
  // A scale for each input channel, of as many as there are outputs.
  same([](In v,
          const Keep& keep) { return conv(keep(cast(v[0], DType::f32) * 0.5f), keep(cast(v[1], DType::f32) * v[2])); },
       {tensor_of(random_bytes(rng_, {1, 4, 5, 5}, DType::u8)), tensor_of(random_bytes(rng_, {4, 4, 1, 1}, DType::i8)),
        reshape(cast(arange(4), DType::f32) + 1, {1, 4, 1, 1})});
  if (GetParam() != "cpu") return;
  // Products of f64, whose scales f32 does not hold.
  for (const bool both : {false, true}) {
    const auto f = [&](const std::vector<Tensor>& v) {
      const Tensor a = cast(v[0], DType::f64), b = cast(v[1], DType::f64) * 0.1;
      return matmul(both ? a * 0.1 : a, b);
    };
    const std::vector<double> got =
        compile(f)(std::vector{tensor_of(random_bytes(rng_, {4, 8}, DType::u8)), full({8, 4}, 3, DType::i8)})
            .to_vector<double>();
    for (const double y : got) {
      const double unit = both ? 0.03 : 0.3;
      EXPECT_NEAR(y, std::round(y / unit) * unit, 1e-12);
    }
  }
}

// Activations in 8 bits: x is rounded to multiples of a scale of its row, nothing else.
TEST_P(QuantizedWeightsTest, ActivationsOfBytes) {
  for (const bool transposed : {true, false}) {
    for (const DType type : {DType::i8, DType::u8}) {
      QuantizedWeights w{{QuantizedScheme::integers}, tensor_of(random_bytes(rng_, {12, 40}, type))};
      w.format.group = transposed ? 0 : 1, w.format.group_rows = transposed ? 1 : 0;
      const Shape scales = transposed ? Shape{12, 1} : Shape{1, 40};
      w.scales = full(scales, 0.25f);
      if (type == DType::u8) w.zeros = full(scales, 128, DType::u8);
      const std::int64_t k = transposed ? 40 : 12;
      const View values = random_view(rng_, {3, k}, DType::f32);
      const Tensor x = tensor_of(values);
      const Tensor y = quantized_matmul(x, w, {.transposed = transposed, .activations = DType::i8});
      const Quantized q = dynamic_quantize(x, {.dtype = DType::i8, .axes = -1, .symmetric = true});
      const Tensor rounded = contiguous(dequantize(q.values, q.scale));
      const std::vector<float> want = quantized_matmul(rounded, w, {.transposed = transposed}).to_vector<float>();
      const std::vector<float> got = y.to_vector<float>();
      ASSERT_EQ(got.size(), want.size());
      // Sums of k products of up to 3 and 32, each rounded to f32.
      for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 0x1p-22 * 40 * 100);
    }
  }
}

// Products of one x with several constant weights are one product: queries, keys and values; gates.
TEST_P(QuantizedWeightsTest, ProductsOfOneOperandAreOne) {
  for (const QuantizedScheme scheme : {q4_k, affine, nbits}) {
    SCOPED_TRACE(kernels::kQuantizedSchemes[static_cast<std::size_t>(scheme)]);
    std::vector<QuantizedWeights> w;
    const RandomWeights all = random_weights(rng_, scheme, {}, 40, 256);
    const auto constant = [](const View& v, std::int64_t begin, std::int64_t end) {
      const Shape& whole = v.shape();
      Shape shape = whole;
      shape[0] = end - begin;
      const std::size_t row =
          static_cast<std::size_t>(byte_size(v.dtype, static_cast<std::uint64_t>(v.count() / whole[0])));
      return Graph::constant(TensorData::copy_of(
          v.dtype, shape,
          bytes_of(v).subspan(static_cast<std::size_t>(begin) * row, static_cast<std::size_t>(end - begin) * row)));
    };
    for (const auto& [begin, end] : {std::pair(0, 16), {16, 24}, {24, 40}}) {
      QuantizedWeights part{all.format, constant(all.views[0], begin, end)};
      std::size_t next = 1;
      if (all.scales) part.scales = constant(all.views[next++], begin, end);
      if (all.zeros) part.zeros = constant(all.views[next++], begin, end);
      w.push_back(part);
    }
    const std::vector<Tensor> x{integers({3, all.shape[1]})};
    const auto several = [&](std::span<const Tensor> in) {
      std::vector<Tensor> parts;
      for (const QuantizedWeights& part : w) parts.push_back(flip(quantized_matmul(in[0], part), {0}));
      return concat(parts, 1);
    };
    std::vector<std::string> labels = steps(several, x);
    EXPECT_EQ(std::ranges::count_if(labels, is_read), 1) << testing::PrintToString(labels);
    const auto gates = [&](std::span<const Tensor> in) {
      return relu(quantized_matmul(in[0], w[0])) * quantized_matmul(in[0], w[2]);
    };
    labels = steps(gates, x);
    EXPECT_EQ(std::ranges::count_if(labels, is_read), 1) << testing::PrintToString(labels);
    EXPECT_EQ(compile([&](const std::vector<Tensor>& v) { return gates(v); })(x).to_vector<float>(),
              (relu(matmul(x[0], contiguous(dequantize_weights(w[0], DType::f32)).T())) *
               matmul(x[0], contiguous(dequantize_weights(w[2], DType::f32)).T()))
                  .to_vector<float>());
  }
}

// Their derivatives are those of x as it was; sums that i32 does not hold are refused; none of nothing.
TEST_P(QuantizedWeightsTest, ActivationsOfBytesElsewhere) {
  const QuantizedWeights w{{QuantizedScheme::integers}, cast(tensor({1, 4}, {1, 2, 3, 4}), DType::i8), ones({1, 1})};
  const QuantizedProduct bytes{.activations = DType::i8};
  const auto product = [&](const Tensor& x) { return quantized_matmul(x, w, bytes); };
  const Tensor x = tensor({1, 4}, {0.25f, 1, 0.5f, -0.75f});
  EXPECT_EQ(grad([&](const Tensor& v) { return sum(product(v)); })(x).to_vector<float>(),
            (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(jvp(product)(x, tensor({1, 4}, {0, 0, 1, 0})).second.to_vector<float>(), (std::vector<float>{3}));
  EXPECT_EQ(product(zeros({0, 4})).shape(), (Shape{0, 1}));
  const QuantizedWeights longest{{QuantizedScheme::integers}, zeros({1, 132'105}, DType::i8), ones({1, 1})};
  EXPECT_THAT(thrown_by([&] { (void)quantized_matmul(zeros({1, 132'105}), longest, bytes); }),
              HasSubstr("sums of 132105 products may exceed i32, at most 132104 are possible"));
}

// However the product is written, and before constants would be dequantised.
TEST_P(QuantizedWeightsTest, OtherProductsAreRead) {
  const QuantizedWeights w = weights(q4_0, {}, 32, 64);
  const std::vector<Tensor> in{integers({3, 64}), w.values};
  const auto count = [](const std::vector<std::string>& labels) { return std::ranges::count_if(labels, is_read); };
  EXPECT_EQ(count(steps(
                [&](std::span<const Tensor> x) {
                  return einsum("mk,nk->mn", std::vector{x[0], dequantize_weights({w.format, x[1]}, DType::f32)});
                },
                in)),
            1);
  const View stored = read_view(w.values);
  const Tensor constant = Graph::constant(TensorData::copy_of(stored.dtype, stored.shape(), bytes_of(stored)));
  EXPECT_EQ(count(steps(
                [&](std::span<const Tensor> x) {
                  return matmul(x[0], dequantize_weights({w.format, constant}, DType::f16).T());
                },
                std::vector{in[0]})),
            1);
  // A linear layer as it is usually written.
  const std::vector<Tensor> both{tensor_of(random_bytes(rng_, {7, 96}, DType::i8)),
                                 tensor_of(random_bytes(rng_, {24, 96}, DType::i8)), full({24}, 0.25f)};
  EXPECT_EQ(count(steps(
                [](std::span<const Tensor> x) {
                  return matmul(dequantize(x[0], 0.5), dequantize(x[1], x[2], {}, {.axis = 0}).T());
                },
                both)),
            0);
}

TEST_P(QuantizedWeightsTest, MixtureOfExperts) {
  const QuantizedWeights w = weights(q4_0, {4}, 24, 64);
  const Tensor x = integers({5, 1, 1, 64}), chosen = tensor({5, 2}, std::vector<int>{0, 1, 3, 2, 1, 1, 2, 0, -5, 9});
  const Tensor y = quantized_matmul(x, w, {.chosen = chosen});
  ASSERT_EQ(y.shape(), (Shape{5, 2, 1, 24}));
  const Tensor all = dequantize_weights(w);
  for (int i = 0; i < 5; ++i) {
    for (int k = 0; k < 2; ++k) {
      const std::int64_t expert = std::clamp(chosen.to_vector<int>()[static_cast<std::size_t>(2 * i + k)], 0, 3);
      const Tensor want = matmul(x[{i, 0}], contiguous(all[{expert}]).T()), got = y[{i, k}];
      EXPECT_EQ(got.to_vector<float>(), want.to_vector<float>());
    }
  }
}

TEST_P(QuantizedWeightsTest, DerivativesAndBatches) {
  const QuantizedWeights w = weights(q8_0, {2}, 24, 64);
  const Tensor x = integers({3, 1, 5, 64}), dense = contiguous(dequantize_weights(w));
  const auto product = [&](const Tensor& v) { return quantized_matmul(v, w); };
  const auto plain = [&](const Tensor& v) { return matmul(v, dense.T()); };
  const auto loss = [](const auto& f) { return [f](const Tensor& v) { return sum(square(f(v))); }; };
  EXPECT_EQ(grad(loss(product))(x).to_vector<float>(), grad(loss(plain))(x).to_vector<float>());
  const Tensor batch = integers({4, 5, 64});
  EXPECT_EQ(vmap(product)(batch).to_vector<float>(), vmap(plain)(batch).to_vector<float>());
  // Weights themselves in batches: an entry is one matrix.
  const auto of_matrix = [&](const Tensor& values) {
    return quantized_matmul(batch[{0}], QuantizedWeights{w.format, values});
  };
  EXPECT_EQ(vmap(of_matrix)(w.values).to_vector<float>(),
            matmul(expand_dims(batch[{0}], 0), dense.T()).to_vector<float>());
}

TEST_P(QuantizedWeightsTest, VectorsTypesAndEmptyProducts) {
  const QuantizedWeights w = weights(affine, {}, 24, 64);
  const std::int64_t k = w.shape()[1];
  EXPECT_EQ(quantized_matmul(integers({k}), w).shape(), (Shape{24}));
  EXPECT_EQ(quantized_matmul(integers({0, k}), w).shape(), (Shape{0, 24}));
  EXPECT_EQ(quantized_matmul(integers({2, k}, DType::bf16), w).dtype(), DType::bf16);
  EXPECT_EQ(quantized_matmul(integers({2, k}, DType::f16), w, {.dtype = DType::f32}).dtype(), DType::f32);
  // The work behind it gives results of any type.
  const Tensor x = integers({3, k});
  EXPECT_EQ((quantized_matmul(x, w) < 1).to_vector<int>(),
            (contiguous(matmul(x, contiguous(dequantize_weights(w)).T())) < 1).to_vector<int>());
  EXPECT_EQ(w.bytes(), byte_size(w.values.type()) + byte_size(w.scales.type()) + byte_size(w.zeros.type()));
}

TEST(QuantizedWeights, SaysWhatDoesNotFit) {
  const auto of = [](DType type, const Shape& shape) { return zeros(shape, type); };
  const auto product = [&](const Tensor& x, const QuantizedWeights& w, const QuantizedProduct& o = {}) {
    return thrown_by([&] { (void)quantized_matmul(x, w, o); });
  };
  const QuantizedWeights blocks{{q4_k}, of(DType::u8, {4, 288})};
  constexpr std::int64_t kLarge = std::int64_t{1} << 40;
  EXPECT_THAT(thrown_by([&] { (void)QuantizedWeights{{q4_k}, of(DType::u8, {kLarge, kLarge, 0, 144})}.shape(); }),
              HasSubstr("more than 2^63 elements"));
  EXPECT_THAT(product(of(DType::f32, {2, 500}), blocks), HasSubstr("quantized_matmul: x [2, 500], weights "
                                                                   "[4, 512], transposed: inner sizes 500 and 512"));
  EXPECT_THAT(product(of(DType::i32, {2, 512}), blocks), HasSubstr("quantized_matmul: x is i32 [2, 512]"));
  EXPECT_THAT(product({}, blocks), HasSubstr("x is an undefined Tensor"));
  EXPECT_THAT(product(of(DType::f32, {2, 512}), {{q4_k}, of(DType::u8, {4, 280})}),
              HasSubstr("values of q4_k are u8 [4, 280], expected rows of a multiple of 144 bytes"));
  EXPECT_THAT(product(of(DType::f32, {2, 512}), {{q4_k}, of(DType::u32, {4, 288})}),
              HasSubstr("quantised weights: values of q4_k are u32, expected u8"));
  EXPECT_THAT(product(of(DType::f32, {2, 512}), {{q4_k}, blocks.values, of(DType::f32, {4, 1})}),
              HasSubstr("weights of q4_k have no scales"));
  EXPECT_THAT(product(of(DType::f32, {2, 512}), {{q4_k, 4}, blocks.values}),
              HasSubstr("bits of q4_k is 4, which the scheme says itself"));
  const QuantizedWeights mlx{{affine, 4, 64}, of(DType::u32, {4, 16}), of(DType::f16, {4, 2}), of(DType::f16, {4, 2})};
  EXPECT_EQ(mlx.shape(), (Shape{4, 128}));
  EXPECT_THAT(product(of(DType::f32, {2, 128}), {mlx.format, mlx.values, mlx.scales}),
              HasSubstr("weights of affine need zeros"));
  EXPECT_THAT(product(of(DType::f32, {2, 128}), {mlx.format, mlx.values, {}, mlx.zeros}),
              HasSubstr("weights of affine need scales"));
  EXPECT_THAT(product(of(DType::f32, {2, 128}), {mlx.format, mlx.values, of(DType::f16, {4, 3}), mlx.zeros}),
              HasSubstr("scales of affine are f16 [4, 3], expected [4, 2]"));
  EXPECT_THAT(product(of(DType::f32, {2, 128}), {{affine, 7, 64}, mlx.values, mlx.scales, mlx.zeros}),
              HasSubstr("bits of affine is 7, expected one of 1, 2, 3, 4, 5, 6, 8"));
  EXPECT_THAT(product(of(DType::f32, {2, 128}), {{affine, 4, 48}, mlx.values, mlx.scales, mlx.zeros}),
              HasSubstr("group of affine is 48, expected one of 32, 64, 128"));
  EXPECT_THAT(product(of(DType::f32, {2, 128}), mlx, {.chosen = of(DType::i32, {2})}),
              HasSubstr("matrices to choose from are [matrices, rows, columns]"));
  const QuantizedWeights integers_only{{QuantizedScheme::integers, 0, 16},
                                       of(DType::f8e4m3, {4, 32}),
                                       of(DType::f32, {4, 2}),
                                       of(DType::f8e4m3, {4, 2})};
  EXPECT_THAT(product(of(DType::f32, {2, 32}), integers_only), HasSubstr("zeros of integers are f8e4m3 [4, 2]"));
  EXPECT_THAT(
      product(of(DType::f32, {2, 128}), mlx, {.activations = DType::i8}),
      HasSubstr("activations of i8 take integers of 8 bits with one scale along the sums, the weights are affine"));
  const auto stored = [&](const Tensor& x, const QuantizedFormat& format, const QuantizeWeightsOptions& o = {}) {
    return thrown_by([&] { (void)quantize_weights(x, format, o); });
  };
  const Tensor x = of(DType::f32, {4, 100});
  EXPECT_THAT(stored(x, {affine, 4, 64}), HasSubstr("quantize_weights: x is f32 [4, 100], expected rows of "
                                                    "whole groups of 64, which share a scale in affine"));
  EXPECT_THROW((void)quantize_weights(x, {affine, 4, 64}), ShapeError);
  EXPECT_THAT(stored(x, {q8_0}), HasSubstr("whole groups of 32, which share a scale in q8_0"));
  EXPECT_THAT(stored(x, {nbits, 4, 32, 1, 99}), HasSubstr("expected 99 columns, as its format says"));
  EXPECT_THAT(stored(x, {gptq}), HasSubstr("Unsupported: quantize_weights: weights of gptq are calibrated"));
  EXPECT_THAT(stored(x, {gptq_v2}), HasSubstr("Unsupported: quantize_weights: weights of gptq_v2 are calibrated"));
  EXPECT_THAT(stored(x, {iq3_s}),
              HasSubstr("Unsupported: quantize_weights: blocks of iq3_s are only read; it makes those of q4_0, q4_1,"));
  EXPECT_THAT(stored(x, {q4_k}), HasSubstr("whole groups of 256, which share a scale in q4_k"));
  EXPECT_THAT(stored(of(DType::i32, {4, 64}), {affine}), HasSubstr("quantize_weights: x is i32 [4, 64]"));
  EXPECT_THAT(stored(of(DType::f32, {64}), {affine}), HasSubstr("quantize_weights: x"));
  EXPECT_THAT(stored({}, {affine}), HasSubstr("x is an undefined Tensor"));
  EXPECT_THAT(stored(x, {QuantizedScheme::integers}, {.values = DType::u8}),
              HasSubstr("InvalidArgument: quantize_weights: values are u8 [4, 100] without zeros"));
  EXPECT_THAT(stored(of(DType::f32, {4, 64}), {affine}, {.values = DType::i8}),
              HasSubstr("quantised weights: values of affine are i8, expected"));
  EXPECT_THAT(stored(of(DType::f32, {4, 64}), {q8_0}, {.scales = DType::f16}),
              HasSubstr("weights of q8_0 have no scales"));
  EXPECT_THAT(stored(of(DType::f32, {4, 64}), {mxfp4}, {.zeros = true}), HasSubstr("weights of mxfp4 have no zeros"));
  EXPECT_THAT(thrown_by([&] { (void)quantized_embedding(mlx, Tensor()); }),
              HasSubstr("quantized_embedding: indices is an undefined"));
}

}  // namespace
}  // namespace weft::test
