// The kernels by name: each row can be called, and wrong calls are told.
#include "weft/kernels/table.h"

#include <map>
#include <set>
#include <sstream>

#include "support/differential.h"
#include "support/throws.h"
#include "weft/cpu.h"
#include "weft/error.h"
#include "weft/kernels/generate.h"
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

// Random problems reach every kernel, by its own name or with others.
TEST(KernelTable, EachHasAGenerator) {
  const std::vector<std::string> known = differential_kernels();
  const std::map<std::string, std::string> together = {
      {"argmin", "arg_reduce"}, {"argmax", "arg_reduce"}, {"variance", "reduce"}, {"deviation", "reduce"}};
  for (const kernels::KernelInfo& k : kernels::table()) {
    std::string generator = k.name;
    for (const std::string_view prefix : {"reduce", "scan", "random"}) {
      if (k.name.starts_with(std::string(prefix) + "_")) generator = prefix;
    }
    if (const auto found = together.find(k.name); found != together.end()) generator = found->second;
    if (k.family == "elementwise") {
      const auto op = scalar_op(k.name);
      generator = !op ? "elementwise" : arity(*op) == 1 ? "unary" : arity(*op) == 2 ? "binary" : "ternary";
    }
    EXPECT_TRUE(std::ranges::find(known, generator) != known.end())
        << k.name << ": differential(\"" << generator << "\", …) draws problems nowhere";
  }
}

// What NumPy, PyTorch and ONNX say for them.
TEST(KernelTable, OtherNamesThatPeopleKnow) {
  for (const auto& [other, name] :
       {std::pair("sum", "reduce_sum"), {"mean", "reduce_mean"}, {"any", "reduce_any"}, {"var", "variance"},
        {"std", "deviation"}, {"logsumexp", "reduce_log_sum_exp"}, {"reduce_argmax", "argmax"}, {"clip", "clamp"},
        {"concatenate", "concat"}, {"take", "gather"}, {"cummax", "scan_max"}, {"invert", "bitwise_not"}}) {
    ASSERT_NE(kernels::find(other), nullptr) << other;
    EXPECT_EQ(kernels::find(other)->name, name);
  }
}

// Integers that no double holds, and numbers whatever the locale takes for a decimal point.
TEST(KernelTable, NumbersKeepTheirDigits) {
  cpu::Executor cpu;
  constexpr std::int64_t kOdd = 9007199254740993;
  const auto first = [](const View& v) { return *reinterpret_cast<const std::int64_t*>(v.buffer.data()); };
  const auto made = [&](const char* kernel, std::vector<View> inputs, kernels::Attributes attributes) {
    const View y = host_view(DType::i64, {2}, std::vector<double>{0, 0});
    kernels::call(cpu, kernel, {.inputs = inputs, .outputs = std::span(&y, 1), .attributes = std::move(attributes)});
    return first(y);
  };
  EXPECT_EQ(made("fill", {}, {{"value", kOdd}}), kOdd);
  EXPECT_EQ(made("arange", {}, {{"start", kOdd}, {"step", std::int64_t{1}}}), kOdd);
  const View one = host_view(DType::i64, {1}, std::vector<double>{5});
  EXPECT_EQ(made("pad", {one}, {{"before", std::vector<int>{1}}, {"value", kOdd}}), kOdd);
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
  // Rounded once: by way of f32, or of f64, these would go up.
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
  const std::array inputs{x}, outputs{sums};  // which Arguments only point to
  const Arguments sum{.inputs = inputs, .outputs = outputs, .attributes = {{"axes", std::vector<int>{1}}}};
  kernels::call(cpu, "reduce_sum", sum);
  double expected = 0;
  for (int i = 0; i < 7; ++i) expected += value(x, i);
  EXPECT_NEAR(value(sums, 0), expected, 1e-5);
}

TEST(KernelTable, KnowsOtherNames) {
  const auto name_of = [](std::string_view other) {
    const kernels::KernelInfo* k = kernels::find(other);
    return k ? k->name : "none";
  };
  const std::pair<const char*, const char*> kNames[] = {
      {"rint", "round"},  {"where", "select"},         {"gelu", "gelu_erf"},
      {"cast", "copy"},   {"maximum", "max"},          {"take_along_axis", "gather_elements"},
      {"fmod", "rem"},    {"cumsum", "scan_sum"},      {"put_along_axis", "scatter_elements"},
      {"tril", "tril"},   {"triu", "triu"},            {"argsort", "argsort"}};
  for (const auto& [other, name] : kNames) EXPECT_EQ(name_of(other), name) << other;
  std::set<std::string> names;
  for (const kernels::KernelInfo& k : kernels::table()) names.insert(k.name);
  for (const kernels::KernelInfo& k : kernels::table()) {
    std::istringstream words(k.other_names);
    for (std::string word; words >> word;) {
      EXPECT_TRUE(names.insert(word).second) << word << " is the name of two kernels";
      EXPECT_NE(kernels::find(word), nullptr) << word;
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
              std::string(name) + ": it has no attribute 'part'; it takes 'diagonal:integer=0'");
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
            "softmax: it has no attribute 'axes'; it takes 'axis:integer=-1'");
  EXPECT_EQ(message("softmax", {.inputs = {{x}}, .outputs = {{y}}, .attributes = {{"axis", "last"}}}),
            "softmax: attribute axis is not an integer");
  EXPECT_EQ(message("reduce_sum", {.inputs = {{x}}, .outputs = {{y}}, .attributes = {}}),
            "reduce_sum: attribute axes (integers) is missing");
  EXPECT_EQ(message("relu", {.inputs = {}, .outputs = {{y}}, .attributes = {}}), "relu: 0 inputs given, expected 'x'");
  EXPECT_EQ(message("relu", {.inputs = {{View()}}, .outputs = {{y}}, .attributes = {}}), "relu: input x has no buffer");
}

}  // namespace
}  // namespace weft::test
