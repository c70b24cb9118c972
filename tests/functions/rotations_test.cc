// rotary_embedding() and hadamard_transform(): values and gradients on every device against formulas in f64 that agree
// with MLX's (tests/reference/rotations.py), how many kernels they are, and what they refuse.
#include <gmock/gmock.h>

#include <cmath>
#include <format>
#include <map>

#include "support/gradient_cases.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/rotary_embedding.h"
#include "weft/signal.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using Values = std::vector<Tensor>;
using Function = Tensor (*)(const Values& x, const json& options);
const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> all{
      {"rotary_embedding",
       [](const Values& x, const json& o) {
         RotaryEmbeddingOptions r{.positions = x[1], .offsets = x[2], .frequencies = x[3], .cos = x[4], .sin = x[5]};
         if (o.contains("dims")) r.dims = o.at("dims").get<std::int64_t>();
         r.offset = o.value("offset", r.offset);
         r.base = o.value("base", r.base);
         r.scale = o.value("scale", r.scale);
         r.attention_factor = o.value("attention_factor", r.attention_factor);
         r.interleaved = o.value("interleaved", false);
         r.inverse = o.value("inverse", false);
         r.axis = o.value("axis", r.axis);
         return rotary_embedding(x[0], r);
       }},
      {"hadamard_transform", [](const Values& x, const json& o) {
         return hadamard_transform(x[0],
                                   o.contains("scale") ? std::optional(o.at("scale").get<double>()) : std::nullopt);
       }}};
  return all;
}

class Rotations : public OnDevice {
 protected:
  ReferenceCases data{"rotations"};
};
INSTANTIATE_TEST_SUITE_P(Devices, Rotations, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(Rotations, ValuesAndGradients) {
  std::map<std::string, std::size_t> called;
  for (const json& c : data.list("cases.json")) {
    const std::string name = c.at("function");
    const std::size_t own = called[name]++;
    const auto inputs = data.operands(c, "inputs"), expected = data.operands(c, "outputs");
    // A software GPU spends most of its time on compiling shaders: it takes some of each function's cases.
    if ((device.is_gpu() && (own % 7 != 0 || inputs[0].dtype == DType::f64)) || leave_out_problem()) continue;
    const json options = c.value("attributes", json::object());
    const auto differentiates = [](const Tensor& t) { return t.defined() && is_floating(t.dtype()); };
    expect_values_and_gradients(data, c, differentiates,
                                [&](const Values& x) { return functions().at(name)(x, options); });
  }
  for (const auto& [name, f] : functions()) EXPECT_GT(called[name], 0u) << name << " has no case";
}

Tensor some(const Shape& shape, double shift = 0) {
  return sin(arange(0, element_count(shape), 1, DType::f32) * 1.7f + shift).reshape(shape);
}
float largest(const Tensor& x) { return max(abs(x)).item<float>(); }

// Kernels of the compiled function on inputs of these types.
template <class F>
std::size_t kernels_of(const Device& device, const F& f, const std::vector<TensorType>& types) {
  Graph g;
  Values inputs;
  for (const TensorType& t : types) inputs.push_back(g.input(std::format("x{}", inputs.size()), t.dtype, t.shape));
  g.output("y", f(inputs));
  return compile(g, device).report().steps.size();
}

TEST_P(Rotations, OneKernel) {
  const auto with = [&](const RotaryEmbeddingOptions& o) {
    return kernels_of(device, [&](const Values& x) { return rotary_embedding(x[0], o); }, {{DType::f16, {2, 4, 6, 8}}});
  };
  for (const bool interleaved : {false, true}) {
    EXPECT_EQ(with({.interleaved = interleaved}), 1u);
    EXPECT_EQ(with({.offset = 100, .scale = 0.5, .attention_factor = 1.5, .interleaved = interleaved, .inverse = true}),
              1u);
    // What is not rotated is copied.
    EXPECT_EQ(with({.dims = 4, .interleaved = interleaved}), 2u);
  }
  const auto all = [](const Values& x) {
    return rotary_embedding(x[0], {.positions = x[1], .offsets = x[2], .frequencies = x[3]});
  };
  const std::vector<TensorType> types{
      {DType::f16, {2, 4, 6, 8}}, {DType::i32, {2, 6}}, {DType::i32, {2}}, {DType::f32, {4}}};
  EXPECT_EQ(kernels_of(device, all, types), 1u);
}

TEST_P(Rotations, RoundTrips) {
  const Tensor x = some({2, 3, 5, 16});
  EXPECT_LT(largest(rotary_embedding(rotary_embedding(x, {.offset = 9}), {.offset = 9, .inverse = true}) - x), 1e-5);
  EXPECT_LT(largest(rotary_embedding(x, {.positions = full(Shape{5}, 0, DType::i32)}) - x), 1e-6);
  for (const std::int64_t n : {1, 16, 256}) {
    const Tensor y = some({3, n});
    EXPECT_LT(largest(hadamard_transform(hadamard_transform(y)) - y), 1e-5) << n;
  }
}

// In one compiled function, mapped, and differentiated twice.
TEST_P(Rotations, CompiledAndMapped) {
  const auto f = [](const Tensor& x) {
    return rotary_embedding(x, {.dims = 6, .offset = 2}) + hadamard_transform(x, 0.5) * 0.5f;
  };
  const Tensor x = some({3, 5, 12});
  EXPECT_LT(largest(compile(f)(x) - f(x)), 1e-5);
  EXPECT_LT(largest(vmap(f)(x) - f(x)), 1e-5);
  const auto gradient = grad([&](const Tensor& t) { return sum(square(f(t))); });
  EXPECT_LT(largest(compile(gradient)(x) - gradient(x)), 1e-4);
}

// Among functions that fuse with it, with all that a model gives it, against the cpu's values.
TEST_P(Rotations, FusedWithNeighbours) {
  const auto f = [](const Tensor& x, const Tensor& weight) {
    const Tensor normal = rms_norm(x * 2 + 0.5f, weight, 1e-6), positions = arange(0, 6, 1, DType::i32) * 3;
    const Tensor turned = rotary_embedding(silu(normal), {.positions = positions, .dims = 8, .interleaved = true});
    const Tensor halves = rotary_embedding(tanh(normal) - 0.25f, {.offset = 5, .scale = 0.5});
    return softmax(turned * halves, -1) + exp(halves) * 0.1f;
  };
  const Tensor x = some({2, 4, 6, 16}), weight = some({16}, 0.3);
  const auto gradient = [&](const Tensor& w) {
    return grad([&f, w](const Tensor& t) { return sum(square(f(t, w))); });
  };
  const Tensor y = to(compile(f)(x, weight), Device::cpu()), dx = to(compile(gradient(weight))(x), Device::cpu());
  const DefaultDeviceScope there(Device::cpu());
  const Tensor x_there = to(x, Device::cpu()), weight_there = to(weight, Device::cpu());
  EXPECT_LT(largest(y - f(x_there, weight_there)), 1e-5);
  EXPECT_LT(largest(dx - gradient(weight_there)(x_there)), 1e-4);
}

// Elements behind those that are rotated keep their bits; NaN stays in its pair.
TEST_P(Rotations, SpecialValues) {
  const float nan = NAN, inf = INFINITY;
  const Tensor x = tensor({1, 2, 3, nan, 5, inf, -inf, -0.0f}).reshape({1, 1, 8});
  const auto y = rotary_embedding(x, {.dims = 4, .offset = 1}).to_vector<float>();
  EXPECT_TRUE(std::isfinite(y[0]) && std::isfinite(y[2]));
  EXPECT_TRUE(std::isnan(y[1]) && std::isnan(y[3]));
  EXPECT_EQ(y[4], 5);
  EXPECT_EQ(y[5], inf);
  EXPECT_EQ(y[6], -inf);
  EXPECT_TRUE(y[7] == 0 && std::signbit(y[7]));
}

template <class E, class Call>
void expect_throw(Call&& call, std::string_view text) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown, expected: " << text;
  } catch (const E& e) {
    EXPECT_THAT(e.what(), HasSubstr(std::string(text)));
  }
}

TEST_P(Rotations, WhatTheyRefuse) {
  const Tensor x = some({2, 3, 4, 8}), table = some({10, 4}), whole = cast(some({3}), DType::i32);
  const auto refuses = [&]<class E>(std::type_identity<E>, const RotaryEmbeddingOptions& o, const char* text) {
    expect_throw<E>([&] { rotary_embedding(x, o); }, text);
  };
  const std::type_identity<InvalidArgument> invalid;
  const std::type_identity<ShapeError> shape;
  const std::type_identity<TypeError> type;
  refuses(invalid, {.dims = 3}, "dims is 3; expected an even number up to 8");
  refuses(invalid, {.dims = 10}, "dims is 10");
  refuses(invalid, {.cos = table}, "cos is given, but not sin");
  refuses(invalid, {.cos = table, .sin = table, .scale = 2}, "cos and sin are given, and a scale");
  refuses(invalid, {.base = 0}, "base is 0");
  refuses(invalid, {.attention_factor = NAN}, "attention_factor nan");
  refuses(invalid, {.axis = 3}, "the axis of positions is 3, the last one");
  refuses(invalid, {.axis = 4}, "axis");
  refuses(shape, {.positions = some({3})}, "the positions are f32 [3]; expected 4 or 1 along x's axis 2");
  refuses(shape, {.positions = some({2, 3, 1, 4})}, "the positions are f32 [2, 3, 1, 4]; expected 1 to 3 axes");
  refuses(shape, {.offsets = whole}, "the offsets are i32 [3, 1]; expected 2 or 1 along x's axis 0");
  refuses(shape, {.frequencies = some({5})}, "the frequencies are f32 [5]; expected dims / 2, which is 4");
  refuses(shape, {.cos = some({10, 5}), .sin = some({10, 5})}, "cos is f32 [10, 5]; expected a last axis of dims / 2");
  refuses(shape, {.cos = table, .sin = table, .offset = 7}, "expected rows for the positions 7 to 10");
  refuses(type, {.positions = some({4}), .cos = table, .sin = table}, "the positions are f32 [4]; expected integers");
  expect_throw<TypeError>([&] { rotary_embedding(cast(x, DType::c64)); }, "rotary_embedding");
  expect_throw<ShapeError>([&] { rotary_embedding(some({4})); }, "rotary_embedding");
  expect_throw<InvalidArgument>([&] { rotary_embedding(Tensor()); }, "rotary_embedding");
  for (const std::int64_t n : {0, 3, 36, 44, 100}) {
    expect_throw<ShapeError>([&] { hadamard_transform(some({2, n})); }, "expected a last axis of m · 2^k");
  }
  expect_throw<TypeError>([&] { hadamard_transform(cast(x, DType::i32)); }, "hadamard_transform");
  expect_throw<ShapeError>([&] { hadamard_transform(some({1}).reshape(Shape{})); }, "hadamard_transform");
}

}  // namespace
}  // namespace weft::test
