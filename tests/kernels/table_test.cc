// The kernels by name: each row can be called, and wrong calls are reported.
#include "weft/kernels/table.h"

#include <map>
#include <set>

#include "cpu/executor.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/attention.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/index.h"
#include "weft/kernels/resize.h"
#include "weft/kernels/softmax.h"
#include "weft/kernels/sort.h"

namespace weft::test {
namespace {

using kernels::Arguments;

TEST(KernelTable, NamesAreUnique) {
  std::set<std::string> names;
  for (const kernels::KernelInfo& k : kernels::table()) {
    EXPECT_TRUE(names.insert(k.name).second) << k.name;
    EXPECT_EQ(kernels::find(k.name), &k);
    EXPECT_FALSE(k.summary.empty()) << k.name;
    EXPECT_FALSE(k.outputs.empty()) << k.name;
  }
  EXPECT_EQ(kernels::find("no such"), nullptr);
}

// Random problems cover every kernel, by its own name, its family's or with others.
TEST(KernelTable, EachHasAGenerator) {
  const std::vector<std::string> known = differential_kernels();
  const std::map<std::string, std::string> together = {
      {"argmin", "arg_reduce"}, {"argmax", "arg_reduce"}, {"variance", "reduce"}, {"deviation", "reduce"}};
  for (const kernels::KernelInfo& k : kernels::table()) {
    std::string generator = k.name;
    for (const std::string_view prefix : {"reduce", "scan", "random"}) {
      if (k.name.starts_with(std::string(prefix) + "_")) generator = prefix;
    }
    if (std::ranges::find(known, generator) == known.end()) generator = k.family;
    if (const auto found = together.find(k.name); found != together.end()) generator = found->second;
    if (k.family == "elementwise") {
      const auto op = scalar_op(k.name);
      generator = !op ? "elementwise" : arity(*op) == 1 ? "unary" : arity(*op) == 2 ? "binary" : "ternary";
    }
    EXPECT_TRUE(std::ranges::find(known, generator) != known.end())
        << k.name << ": differential(\"" << generator << "\", …) draws problems nowhere";
  }
}

// The names of NumPy, PyTorch and ONNX.
TEST(KernelTable, OtherNamesThatPeopleKnow) {
  for (const auto& [other, name] : {std::pair("sum", "reduce_sum"),
                                    {"mean", "reduce_mean"},
                                    {"any", "reduce_any"},
                                    {"var", "variance"},
                                    {"std", "deviation"},
                                    {"logsumexp", "reduce_log_sum_exp"},
                                    {"reduce_argmax", "argmax"},
                                    {"clip", "clamp"},
                                    {"concatenate", "concat"},
                                    {"take", "gather"},
                                    {"cummax", "scan_max"},
                                    {"invert", "bitwise_not"}}) {
    ASSERT_NE(kernels::find(other), nullptr) << other;
    EXPECT_EQ(kernels::find(other)->name, name);
  }
}

// Integers that double cannot hold, and numbers in locales with another decimal point.
TEST(KernelTable, NumbersKeepTheirDigits) {
  cpu::Executor cpu;
  constexpr std::int64_t kOdd = 9007199254740993;
  const auto first = [](const View& v) { return *reinterpret_cast<const std::int64_t*>(v.buffer.data()); };
  const auto made = [&](const char* kernel, std::vector<View> inputs, AttributeMap attributes) {
    const View y = host_view(DType::i64, {2}, std::vector<double>{0, 0});
    kernels::call(cpu, kernel, {.inputs = inputs, .outputs = std::span(&y, 1), .attributes = std::move(attributes)});
    return first(y);
  };
  EXPECT_EQ(made("fill", {}, {{"value", kOdd}}), kOdd);
  EXPECT_EQ(made("arange", {}, {{"start", kOdd}, {"step", std::int64_t{1}}}), kOdd);
  const View one = host_view(DType::i64, {1}, std::vector<double>{5});
  EXPECT_EQ(made("pad", {one}, {{"before", std::vector<std::int64_t>{1}}, {"value", kOdd}}), kOdd);
  const View index = host_view(DType::i32, Shape{}, std::vector<double>{0});
  EXPECT_EQ(made("one_hot", {index}, {{"on", kOdd}}), kOdd);

  const View x = host_view(DType::f32, {2}, std::vector<double>{-1, 0.25});
  const View y = host_view(DType::f32, {2}, std::vector<double>{0, 0});
  kernels::call(cpu, "leaky_relu", {.inputs = std::span(&x, 1), .outputs = std::span(&y, 1)});
  EXPECT_EQ(*reinterpret_cast<const float*>(y.buffer.data()), -0.01f);
}

TEST(Number, BecomesTheNearestElement) {
  EXPECT_EQ(Number(INT64_MAX).bits(DType::i64), static_cast<std::uint64_t>(INT64_MAX));
  EXPECT_EQ(Number(UINT64_MAX).bits(DType::u64), UINT64_MAX);
  EXPECT_EQ(Number(UINT64_MAX).bits(DType::i64), static_cast<std::uint64_t>(INT64_MAX));
  EXPECT_EQ(Number(INT64_MIN).bits(DType::i64), std::uint64_t{1} << 63);
  EXPECT_EQ(Number(-1).bits(DType::i8), 0xffu);
  EXPECT_EQ(Number(-1).bits(DType::u8), 0u);
  EXPECT_EQ(Number(-129).bits(DType::i8), 0x80u);
  EXPECT_EQ(Number(300).bits(DType::u8), 255u);
  EXPECT_EQ(Number(7).bits(DType::i4), 7u);
  EXPECT_EQ(Number(-9).bits(DType::i4), 8u);
  EXPECT_EQ(Number(-1.9).bits(DType::i32), 0xffffffffu);
  EXPECT_EQ(Number(-0.9).bits(DType::i32), 0u);
  EXPECT_EQ(Number(1e30).bits(DType::i32), 0x7fffffffu);
  EXPECT_EQ(Number(-1e30).bits(DType::i64), std::uint64_t{1} << 63);
  EXPECT_EQ(Number(std::nan("")).bits(DType::u64), 0u);
  EXPECT_EQ(Number(0x1p63).bits(DType::u64), std::uint64_t{1} << 63);
  EXPECT_EQ(Number(0.1).bits(DType::f32), std::bit_cast<std::uint32_t>(0.1f));
  EXPECT_EQ(Number(-0.0).bits(DType::f16), 0x8000u);
  // Rounded once: by way of f32 or f64 these would be rounded up.
  EXPECT_EQ(Number(29818879).bits(DType::bf16), 0x4be3u);
  EXPECT_EQ(Number(-29818879).bits(DType::bf16), 0xcbe3u);
  EXPECT_EQ(Number(29818881).bits(DType::bf16), 0x4be4u);
  EXPECT_EQ(Number((1ull << 62) + (3ull << 38) - 1).bits(DType::f32), 0x5e800001u);
  EXPECT_EQ(Number(1 + 0x3p-11 - 0x1p-40).bits(DType::f16), 0x3c01u);
  EXPECT_EQ(Number(2).bits(DType::boolean), 1u);
  EXPECT_EQ(to_string(Number(UINT64_MAX)), "18446744073709551615");
}

TEST(KernelTable, CallsWhatTheFunctionDoes) {
  Rng rng(3);
  cpu::Executor cpu;
  const View x = random_view(rng, {5, 7}, DType::f32), a = random_view(rng, {5, 7}, DType::f32),
             b = random_view(rng, {5, 7}, DType::f32);
  kernels::softmax(cpu, x, a, 0);
  kernels::call(cpu, "softmax", {.inputs = {{x}}, .outputs = {{b}}, .attributes = {{"axis", 0}}});
  expect_close(b, a, kSameBits);
  kernels::softmax(cpu, x, a, -1);
  kernels::call(cpu, "softmax", {.inputs = {{x}}, .outputs = {{b}}, .attributes = {}});
  expect_close(b, a, kSameBits, "the default axis");
  kernels::call(cpu, "add", {.inputs = std::array{x, x}, .outputs = {{b}}, .attributes = {}});
  EXPECT_EQ(value(b, 9), 2 * value(x, 9));
  const View sums = random_view(rng, {5, 1}, DType::f32);
  const std::array inputs{x}, outputs{sums};  // Arguments only refers to them
  const Arguments sum{.inputs = inputs, .outputs = outputs, .attributes = {{"axes", std::vector<std::int64_t>{1}}}};
  kernels::call(cpu, "reduce_sum", sum);
  double expected = 0;
  for (int i = 0; i < 7; ++i) expected += value(x, i);
  EXPECT_NEAR(value(sums, 0), expected, 1e-5);
}

// A list of numbers takes integers and a single number, too.
TEST(KernelTable, ListsOfNumbers) {
  Rng rng(4);
  cpu::Executor cpu;
  const View x = random_view(rng, {6}, DType::f32), y = random_view(rng, {10}, DType::f32),
             expected = random_view(rng, {10}, DType::f32), twice = random_view(rng, {12}, DType::f32),
             expected_twice = random_view(rng, {12}, DType::f32);
  const auto resized = [&](const View& to, AttributeValue scales) {
    kernels::call(cpu, "resize",
                  {.inputs = {{x}}, .outputs = {{to}}, .attributes = {{"mode", "linear"}, {"scales", scales}}});
  };
  kernels::resize(cpu, x, expected, {.mode = kernels::ResizeMode::linear, .scales = {1.7}});
  kernels::resize(cpu, x, expected_twice, {.mode = kernels::ResizeMode::linear, .scales = {2}});
  resized(y, std::vector<double>{1.7});
  expect_close(y, expected, kSameBits, "a list");
  resized(y, 1.7);
  expect_close(y, expected, kSameBits, "a number");
  resized(twice, std::vector<std::int64_t>{2});
  expect_close(twice, expected_twice, kSameBits, "integers");
  EXPECT_EQ(test::refused_by([&] { resized(y, "1.7"); }),
            "resize: attribute scales is \"1.7\", expected a list of numbers");
  EXPECT_EQ(test::refused_by([&] { resized(y, std::vector<double>{1.5, 1}); }),
            "resize: 2 scales, expected one for each of 1 axes");
  EXPECT_EQ(to_string(*kernels::kernel("resize").attribute("scales")), "scales: numbers = []");
  EXPECT_EQ(to_string(AttributeValue(std::vector<double>{0.5, 2, -1e300})), "[0.5, 2, -1e+300]");
  EXPECT_EQ(test::refused_by([&] {
              kernels::call(cpu, "softmax",
                            {.inputs = {{x}}, .outputs = {{x}}, .attributes = {{"axis", std::vector<double>{0.5}}}});
            }),
            "softmax: attribute axis is [0.5], expected an integer of 64 bits");
}

TEST(KernelTable, KnowsOtherNames) {
  const auto name_of = [](std::string_view other) {
    const kernels::KernelInfo* k = kernels::find(other);
    return k ? k->name : "none";
  };
  const std::pair<const char*, const char*> kNames[] = {
      {"rint", "round"}, {"where", "select"},    {"gelu", "gelu_erf"},
      {"cast", "copy"},  {"maximum", "max"},     {"take_along_axis", "gather_elements"},
      {"fmod", "rem"},   {"cumsum", "scan_sum"}, {"put_along_axis", "scatter_elements"},
      {"tril", "tril"},  {"triu", "triu"},       {"argsort", "argsort"}};
  for (const auto& [other, name] : kNames) EXPECT_EQ(name_of(other), name) << other;
  std::set<std::string> names;
  for (const kernels::KernelInfo& k : kernels::table()) names.insert(k.name);
  for (const kernels::KernelInfo& k : kernels::table()) {
    for (const std::string& other : k.other_names) {
      EXPECT_TRUE(names.insert(other).second) << other << " is the name of two kernels";
      EXPECT_NE(kernels::find(other), nullptr) << other;
    }
  }
}

TEST(KernelTable, FormsWithNamesOfTheirOwn) {
  Rng rng(5);
  cpu::Executor cpu;
  const View x = random_view(rng, {5, 7}, DType::f32);
  const View where = random_view(rng, {5, 7}, DType::i32), expected = random_view(rng, {5, 7}, DType::i32);
  const std::array inputs{x}, outputs{where};
  const Arguments down{.inputs = inputs, .outputs = outputs, .attributes = {{"axis", 0}, {"descending", 1}}};
  kernels::call(cpu, "argsort", down);
  kernels::sort(cpu, x, {}, expected, {.axis = 0, .descending = true});
  expect_close(where, expected, kSameBits);
  EXPECT_EQ(test::refused_by([&] {
              kernels::call(cpu, "argsort", {.inputs = inputs, .outputs = std::array{x, where}, .attributes = {}});
            }),
            "argsort: 2 outputs given, expected 'indices'");

  const View y = random_view(rng, {5, 7}, DType::f32), half = random_view(rng, {5, 7}, DType::f32);
  for (const auto part : {kernels::Triangle::lower, kernels::Triangle::upper}) {
    const char* name = part == kernels::Triangle::lower ? "tril" : "triu";
    kernels::call(cpu, name, {.inputs = inputs, .outputs = {{y}}, .attributes = {{"diagonal", 1}}});
    kernels::triangle(cpu, part, x, half, 1);
    expect_close(y, half, kSameBits, name);
    kernels::call(cpu, name, {.inputs = {}, .outputs = {{y}}, .attributes = {}});
    kernels::triangle(cpu, part, half);
    expect_close(y, half, kSameBits, name);
    EXPECT_EQ(test::refused_by([&] {
                kernels::call(cpu, name, {.inputs = inputs, .outputs = {{y}}, .attributes = {{"part", "upper"}}});
              }),
              std::string(name) + ": it has no attribute 'part'; it takes diagonal: integer = 0");
  }
}

TEST(KernelTable, TellsWhatIsWrong) {
  Rng rng(3);
  cpu::Executor cpu;
  const View x = random_view(rng, {5, 7}, DType::f32), y = random_view(rng, {5, 7}, DType::f32);
  const auto message = [&](std::string_view name, const Arguments& arguments) {
    return test::refused_by([&] { kernels::call(cpu, name, arguments); });
  };
  EXPECT_EQ(message("sofmax", {.inputs = {{x}}, .outputs = {{y}}, .attributes = {}}),
            "there is no kernel 'sofmax'; the nearest name is 'softmax'");
  EXPECT_EQ(message("argsor", {.inputs = {{x}}, .outputs = {{y}}, .attributes = {}}),
            "there is no kernel 'argsor'; the nearest name is 'argsort'");
  EXPECT_EQ(message("softmax", {.inputs = std::array{x, x}, .outputs = {{y}}, .attributes = {}}),
            "softmax: 2 inputs given, expected 'x'");
  EXPECT_EQ(message("softmax", {.inputs = {{x}}, .outputs = {{y}}, .attributes = {{"axes", 1}}}),
            "softmax: it has no attribute 'axes'; it takes axis: integer = -1");
  EXPECT_EQ(message("softmax", {.inputs = {{x}}, .outputs = {{y}}, .attributes = {{"axis", "last"}}}),
            "softmax: attribute axis is \"last\", expected an integer of 64 bits");
  EXPECT_EQ(message("reduce_sum", {.inputs = {{x}}, .outputs = {{y}}, .attributes = {}}),
            "reduce_sum: attribute axes: integers is missing");
  EXPECT_EQ(message("relu", {.inputs = {}, .outputs = {{y}}, .attributes = {}}), "relu: 0 inputs given, expected 'x'");
  EXPECT_EQ(message("relu", {.inputs = {{View()}}, .outputs = {{y}}, .attributes = {}}), "relu: input x has no buffer");
}

// Messages use the table's names of kernels and operands, and show tensors as the caller passed them.
TEST(KernelTable, MessagesNameKernelAndOperand) {
  Rng rng(3);
  cpu::Executor cpu;
  const auto there = [&](DType type, const Shape& shape) { return random_view(rng, shape, type); };
  const auto missing = [](DType type, const Shape& shape) {
    return View(Buffer::placeholder(byte_size(type, static_cast<std::uint64_t>(element_count(shape)))), 0, type, shape);
  };
  const View x = there(DType::f32, {2, 5}), y = there(DType::f32, {2, 5}), i = there(DType::i32, {2}),
             mask = there(DType::boolean, {2, 5}), whole = there(DType::i64, {4, 3});
  const std::string none = " has no memory yet: only a recording takes placeholders";
  const View vector = missing(DType::f32, {5}), matrix = missing(DType::f32, {2, 5}), seed = missing(DType::u32, {2});
  const struct {
    const char* kernel;
    std::vector<View> inputs, outputs;
    AttributeMap attributes;
    std::string text;
  } cases[] = {
      {"layer_norm", {x, vector}, {y}, {}, "layer_norm: scale f32 [5]" + none},
      {"layer_norm", {x, there(DType::f32, {5}), vector}, {y}, {}, "layer_norm: bias f32 [5]" + none},
      {"layer_norm", {x, there(DType::i32, {5})}, {y}, {}, "layer_norm: scale is i32 [5]; expected floats"},
      {"batch_norm", {x, vector, there(DType::f32, {5})}, {y}, {}, "batch_norm: mean f32 [5]" + none},
      {"group_norm", {x, vector}, {y}, {{"groups", 1}}, "group_norm: scale f32 [5]" + none},
      {"softmax", {matrix}, {y}, {}, "softmax: x f32 [2, 5]" + none},
      {"cumsum", {x}, {y}, {{"axis", 2}}, "scan_sum: axis 2 is outside a tensor of rank 2"},
      {"cumsum", {x}, {matrix}, {}, "scan_sum: y f32 [2, 5]" + none},
      {"scan_max",
       {x},
       {i},
       {},
       "scan_max: x is f32 [2, 5], y is i32 [2]; expected x, y: floats or x: integers but i4 u4 i2 u2; y: as x"},
      {"scan_max", {x}, {there(DType::f32, {2})}, {}, "scan_max: x is f32 [2, 5], y is f32 [2]; expected one shape"},
      {"sum",
       {x},
       {y},
       {{"axes", 1}},
       "reduce_sum: x is f32 [2, 5], y is f32 [2, 5]; expected y's shape to be [2] or [2, 1]"},
      {"any", {matrix}, {there(DType::boolean, {2})}, {{"axes", 1}}, "reduce_any: x f32 [2, 5]" + none},
      {"var", {x}, {there(DType::f32, {2})}, {{"axes", 3}}, "variance: axis 3 is outside a tensor of rank 2"},
      {"argmax", {x}, {missing(DType::i32, {2})}, {{"axes", 1}}, "argmax: y i32 [2]" + none},
      {"random_bits", {seed}, {there(DType::u32, {3})}, {}, "random_bits: key u32 [2]" + none},
      {"random_uniform", {there(DType::u32, {2})}, {vector}, {}, "random_uniform: y f32 [5]" + none},
      {"eye", {}, {matrix}, {}, "eye: y f32 [2, 5]" + none},
      {"triu", {matrix}, {y}, {}, "triangle: x f32 [2, 5]" + none},
      {"one_hot", {i}, {matrix}, {}, "one_hot: y f32 [2, 5]" + none},
      {"masked_copy", {mask, matrix}, {y}, {}, "masked_copy: x f32 [2, 5]" + none},
      {"copy", {matrix}, {y}, {}, "copy: x f32 [2, 5]" + none},
      {"fill", {}, {matrix}, {{"value", 1}}, "fill: y f32 [2, 5]" + none},
      {"concat", {x, matrix}, {there(DType::f32, {4, 5})}, {}, "concat: part 1 f32 [2, 5]" + none},
      {"concat",
       {x, mask},
       {there(DType::f32, {4, 5})},
       {},
       "concat: part 0 is f32 [2, 5], part 1 is bool [2, 5], y is f32 [4, 5]; expected parts: any; y: as parts"},
      {"roll", {matrix}, {y}, {{"shifts", std::vector<std::int64_t>{1, 1}}}, "roll: x f32 [2, 5]" + none},
      {"gather",
       {x, i},
       {there(DType::f32, {2, 4})},
       {},
       "gather: y is f32 [2, 4]; expected the shape [2, 5] for x f32 [2, 5] and indices i32 [2]"},
      {"gather", {matrix, i}, {y}, {}, "gather: x f32 [2, 5]" + none},
      {"scatter",
       {i, x},
       {there(DType::i32, {4, 5})},
       {},
       "scatter: indices are i32 [2], updates are f32 [2, 5], y is i32 [4, 5]; expected indices: integers but i4 u4 i2 "
       "u2; "
       "updates: any; y: as updates"},
      {"scatter",
       {i, there(DType::boolean, {2, 3})},
       {there(DType::boolean, {4, 3})},
       {{"op", "add"}},
       "scatter: y is bool [4, 3]; there is no add of such elements"},
      {"compress",
       {x, missing(DType::boolean, {5})},
       {there(DType::f32, {10}), there(DType::u32, {1})},
       {},
       "compress: mask bool [5]" + none},
      {"sort", {x}, {matrix}, {}, "sort: values f32 [2, 5]" + none},
      {"matmul", {x, missing(DType::f32, {5, 2})}, {there(DType::f32, {2, 2})}, {}, "matmul: b f32 [5, 2]" + none},
      {"relu", {matrix}, {y}, {}, "relu: x f32 [2, 5]" + none},
      {"add", {x, matrix}, {y}, {}, "add: b f32 [2, 5]" + none},
      {"select", {mask, x, matrix}, {y}, {}, "select: b f32 [2, 5]" + none},
      {"add", {x, x}, {mask}, {}, "add: y is bool [2, 5]; expected numbers, c64"},
      {"matmul", {vector, x}, {y}, {}, "matmul: a is f32 [5]; expected rank 2 or more"},
      {"attention", {x, x, x}, {y}, {}, "attention: q is f32 [2, 5]; expected rank 4"},
      {"pad",
       {x},
       {y},
       {{"before", 1}, {"mode", "mirror"}},
       "pad: attribute mode is \"mirror\", expected one of constant, edge, reflect, symmetric, wrap"},
      {"scan_sum", {x}, {y}, {{"reverse", 2}}, "scan_sum: attribute reverse is 2, expected true or false (1 or 0)"},
      {"layer_norm", {x}, {y}, {{"epsilon", "small"}}, "layer_norm: attribute epsilon is \"small\", expected a number"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(test::refused_by([&] {
                kernels::call(cpu, c.kernel, {.inputs = c.inputs, .outputs = c.outputs, .attributes = c.attributes});
              }),
              c.text);
  }
  const View q = missing(DType::f32, {1, 1, 2, 4}), k = there(DType::f32, {1, 1, 3, 4}),
             bias = missing(DType::f32, {1, 1, 1, 3}), result = there(DType::f32, {1, 1, 2, 4});
  EXPECT_EQ(test::refused_by([&] { kernels::attention(cpu, q, k, k, {}, result, {}); }),
            "attention: q f32 [1, 1, 2, 4]" + none);
  EXPECT_EQ(test::refused_by([&] { kernels::attention(cpu, result, k, k, bias, result, {}); }),
            "attention: mask f32 [1, 1, 1, 3]" + none);
  if (devices().empty()) return;
  gpu::Device& gpu = devices()[0].device;
  gpu::Encoder encoder(gpu);
  EXPECT_EQ(test::refused_by([&] { kernels::unary(encoder, ScalarOp::exp, x, to_device(gpu, y)); }),
            "exp: x f32 [2, 5] lies in host memory, the call runs on a GPU");
  EXPECT_EQ(test::refused_by([&] { kernels::unary(cpu, ScalarOp::exp, to_device(gpu, x), y); }),
            "exp: x f32 [2, 5] lies on a GPU, the call runs on the CPU");
}

}  // namespace
}  // namespace weft::test
