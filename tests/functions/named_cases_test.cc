#include "functions/named_cases.h"

#include <gtest/gtest.h>

#include "support/throws.h"
#include "weft/array.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/linalg.h"

namespace weft::test {
namespace {

std::vector<void (*)(NamedCases&)>& all_cases() {
  static auto& all = *new std::vector<void (*)(NamedCases&)>;
  return all;
}

std::vector<std::byte> bytes(const Tensor& x) {
  std::vector<std::byte> all(byte_size(x.type()));
  x.read_bytes(all);
  return all;
}

TEST(FunctionRows, CalledByNameTheyAreTheFunctions) {
  NamedCases cases;
  for (void (*add)(NamedCases&) : all_cases()) add(cases);
  for (const FunctionRow& row : function_rows()) {
    const Schema& schema = row.schema;
    EXPECT_TRUE(cases.seen().contains(schema.name)) << schema.name << " has no case in tests/functions";
    for (const AttributeSchema& a : schema.attributes) {
      EXPECT_TRUE(cases.given().contains(std::format("{}.{}", schema.name, a.name)))
          << schema.name << ": no case in tests/functions gives the attribute " << a.name;
    }
  }
}

TEST(FunctionRows, CallsThatDoNotFitSaySo) {
  const Tensor x = ones({2, 3});
  EXPECT_EQ(refused_by([&] { call("nansumm", {x}); }), "there is no operation 'nansumm'; the nearest name is 'nansum'");
  EXPECT_EQ(refused_by([&] { call("nansum", {x}, {{"axis", Number(0)}}); }),
            "nansum: it has no attribute 'axis'; it takes axes: integers, keep_dims: boolean = false");
  EXPECT_EQ(refused_by([&] { call("nansum", {x}, {{"axes", "all"}}); }),
            "nansum: attribute axes is \"all\", expected a list of integers");
  EXPECT_EQ(refused_by([&] { call("quantile", {x}); }), "quantile: attribute q: number is missing");
  EXPECT_EQ(refused_by([&] { call("nansum", {x, x}); }), "nansum: 2 operands, expected 'x'");
  EXPECT_EQ(refused_by([&] { call("average", {x}); }), "average: operand weights is missing, expected 'x weights'");
  EXPECT_EQ(refused_by([&] { call("nansum", {TensorLike(1)}); }), "nansum: operand 0 is a number, expected a tensor");
  EXPECT_EQ(refused_by([&] { call("cov", {ones({1, 1, 1})}); }), "cov: x is f32 [1, 1, 1], expected rank 1 or 2");
}

}  // namespace

bool named_cases(void (*add)(NamedCases&)) {
  all_cases().push_back(add);
  return true;
}

Tensor NamedCases::floats(const Shape& shape, DType dtype) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& v : values) v = static_cast<float>(static_cast<int>(random_() % 65) - 32) / 16;
  return cast(tensor(shape, values), dtype);
}
Tensor NamedCases::integers(const Shape& shape, DType dtype) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(element_count(shape)));
  for (std::int32_t& v : values) v = static_cast<std::int32_t>(random_() % 7);
  return cast(tensor(shape, values), dtype);
}
Tensor NamedCases::bools(const Shape& shape) { return integers(shape) > 3; }
Tensor NamedCases::positive_definite(const Shape& shape, DType dtype) {
  const Tensor a = floats(shape, dtype);
  return matmul(a, matrix_transpose(a)) + eye(shape[-1], shape[-1], dtype) * 4;
}

void NamedCases::compare(std::string_view name, const std::vector<TensorLike>& operands, const AttributeMap& attributes,
                         const std::vector<Tensor>& expected) {
  seen_.emplace(name);
  for (const auto& [attribute, value] : attributes) given_.insert(std::format("{}.{}", name, attribute));
  SCOPED_TRACE(name);
  std::vector<Tensor> results;
  try {
    results = call(name, std::span(operands), attributes);
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
    return;
  }
  ASSERT_EQ(results.size(), expected.size());
  for (std::size_t k = 0; k < results.size(); ++k) {
    ASSERT_EQ(results[k].defined(), expected[k].defined()) << "result " << k;
    if (!expected[k].defined()) continue;
    ASSERT_EQ(to_string(results[k].type()), to_string(expected[k].type())) << "result " << k;
    EXPECT_EQ(bytes(results[k]), bytes(expected[k])) << "result " << k;
  }
}

void NamedCases::refused(std::string_view name, const std::vector<TensorLike>& operands, const AttributeMap& attributes,
                         const std::function<void()>& direct) {
  SCOPED_TRACE(name);
  const std::string expected = thrown_by(direct);
  EXPECT_NE(expected, "nothing");
  EXPECT_EQ(thrown_by([&] { call(name, std::span(operands), attributes); }), expected);
}

}  // namespace weft::test
