// The kernels by name: each row can be called, and wrong calls are told.
#include "weft/kernels/table.h"

#include <set>
#include <sstream>

#include "support/kernel_test.h"
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
  EXPECT_EQ(kernels::workspace(cpu, "reduce_sum", sum), 0u);
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
  EXPECT_EQ(kernels::workspace(cpu, "argsort", down), kernels::sort_workspace(cpu, x, {}, expected, {0, true}));
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
