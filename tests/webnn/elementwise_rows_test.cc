// WebNN's operations on single elements, on every device: values, types, shapes and refusals.
#include <cmath>
#include <functional>
#include <numbers>

#include "webnn/one_op.h"

namespace weft::test {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
using Numbers = std::vector<Number>;

WebnnArray vector_of(DType type, Numbers values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return {type, {n}, std::move(values)};
}

class WebnnElementwise : public WebnnOps {};
INSTANTIATE_TEST_SUITE_P(Devices, WebnnElementwise, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

struct Function {
  const char* op;
  double (*of)(double);
  Numbers x;
};
double rounded_even(double x) { return std::nearbyint(x); }
double sign_of(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }
double reciprocal_of(double x) { return 1 / x; }
double same(double x) { return x; }
double negated(double x) { return -x; }

TEST_P(WebnnElementwise, FunctionsOfFloats) {
  const Numbers ordinary = {-2.75, -0.5, 0.0, 0.25, 1.0, 3.5}, positive = {0.125, 0.5, 1.0, 2.0, 9.0};
  const Function functions[] = {
      {"abs", std::fabs, ordinary},
      {"ceil", std::ceil, ordinary},
      {"cos", std::cos, ordinary},
      {"erf", std::erf, ordinary},
      {"exp", std::exp, ordinary},
      {"floor", std::floor, ordinary},
      {"identity", same, ordinary},
      {"log", std::log, positive},
      {"neg", negated, ordinary},
      {"reciprocal", reciprocal_of, positive},
      {"roundEven", rounded_even, {0.1, 0.9, 1.1, 1.9, -3.5, -2.5, -1.5, 1.5, 2.5, 3.5}},
      {"sin", std::sin, ordinary},
      {"sign", sign_of, {-3.5, -0.0, 0.0, 1e-3, kInf, -kInf, std::nan("")}},
      {"sqrt", std::sqrt, positive},
      {"tan", std::tan, {-1.0, 0.0, 0.5, 1.25}},
  };
  for (const Function& f : functions) {
    for (const DType type : {DType::f32, DType::f16}) {
      Numbers expected;
      for (const Number& x : f.x) expected.emplace_back(f.of(number_of(type, x.bits(type)).value()));
      check({f.op, {{"input", vector_of(type, f.x)}}, {}, vector_of(type, expected), type == DType::f32 ? 2e-6 : 1e-3});
    }
  }
}

TEST_P(WebnnElementwise, FunctionsOfIntegers) {
  const std::int64_t big = (std::int64_t{1} << 40) + 1;
  for (const auto& [op, of] : std::vector<std::pair<std::string, std::function<std::int64_t(std::int64_t)>>>{
           {"abs", [](std::int64_t x) { return std::abs(x); }},
           {"neg", [](std::int64_t x) { return -x; }},
           {"sign", [](std::int64_t x) { return (x > 0) - (x < 0); }},
           {"identity", [](std::int64_t x) { return x; }},
           {"relu", [](std::int64_t x) { return std::max<std::int64_t>(x, 0); }}}) {
    for (const DType type : {DType::i8, DType::i32, DType::i64}) {
      Numbers x = {-7, 0, 5}, y;
      if (type == DType::i64) x = {-big, std::int64_t{0}, big};
      for (const Number& v : x) y.emplace_back(of(*v.as_int64()));
      check({op, {{"input", vector_of(type, x)}}, {}, vector_of(type, y)});
    }
  }
  check({"neg", {{"input", vector_of(DType::i8, {-128})}}, {}, vector_of(DType::i8, {-128})});
  check({"identity",
         {{"input", vector_of(DType::u64, {~std::uint64_t{0}})}},
         {},
         vector_of(DType::u64, {~std::uint64_t{0}})});
}

TEST_P(WebnnElementwise, Arithmetic) {
  struct {
    const char* op;
    Numbers floats, integers;
  } const rows[] = {
      {"add", {9.5, 0.5, 3.0}, {9, -5, 6}},     {"sub", {5.5, -4.5, 3.0}, {5, -9, 6}},
      {"mul", {15.0, -5.0, 0.0}, {14, -14, 0}}, {"div", {3.75, -0.8, kInf}, {3, -3, 0}},
      {"max", {7.5, 2.5, 3.0}, {7, 2, 6}},      {"min", {2.0, -2.0, 0.0}, {2, -7, 0}},
      {"pow", {56.25, 0.16, 1.0}, {49, 49, 1}},
  };
  for (const auto& row : rows) {
    for (const DType type : {DType::f32, DType::f16}) {
      Numbers a = {7.5, -2.0, 3.0}, b = {2.0, 2.5, 0.0};
      if (std::string(row.op) == "pow") a = {7.5, 0.4, 3.0}, b = {2.0, 2.0, 0.0};
      check({row.op,
             {{"a", vector_of(type, a)}, {"b", vector_of(type, b)}},
             {},
             vector_of(type, row.floats),
             type == DType::f32 ? 1e-6 : 1e-3});
    }
    for (const DType type : {DType::i8, DType::i32, DType::i64}) {
      check({row.op,
             {{"a", vector_of(type, {7, -7, 6})}, {"b", vector_of(type, {2, 2, 0})}},
             {},
             vector_of(type, row.integers)});
    }
  }
}

TEST_P(WebnnElementwise, ArithmeticIsExactAndWraps) {
  constexpr std::int64_t k2to33 = std::int64_t{1} << 33, kLeast = std::numeric_limits<std::int64_t>::min();
  const auto binary = [&](const char* op, DType type, Number a, Number b, Number y) {
    check({op, {{"a", vector_of(type, {a})}, {"b", vector_of(type, {b})}}, {}, vector_of(type, {y})});
  };
  binary("add", DType::i64, k2to33, 7, k2to33 + 7);
  binary("mul", DType::i64, k2to33 + 1, 3, 3 * k2to33 + 3);
  binary("div", DType::i64, -(k2to33 + 1), 2, -(k2to33 / 2));
  binary("div", DType::i64, kLeast, -1, kLeast);
  binary("div", DType::u64, ~std::uint64_t{0}, 10, ~std::uint64_t{0} / 10);
  binary("pow", DType::i64, 3, 39, std::int64_t{4052555153018976267});
  binary("pow", DType::i32, -2, 31, std::numeric_limits<std::int32_t>::min());
  binary("pow", DType::i32, 2, -1, 0);
  binary("pow", DType::u8, 7, 3, 343 & 255);
  binary("add", DType::u8, 200, 100, 44);
  binary("sub", DType::u32, 1, 2, 4294967295u);
  binary("mul", DType::i8, 100, 3, 44);
  binary("max", DType::u64, std::uint64_t{1} << 63, 1, std::uint64_t{1} << 63);
  binary("min", DType::i64, kLeast, k2to33, kLeast);
  binary("div", DType::u8, 9, 0, 0);
}

TEST_P(WebnnElementwise, Broadcasts) {
  check({"add",
         {{"a", {DType::f32, {2, 1}, {1.0, 2.0}}}, {"b", {DType::f32, {3}, {10.0, 20.0, 30.0}}}},
         {},
         {DType::f32, {2, 3}, {11.0, 21.0, 31.0, 12.0, 22.0, 32.0}}});
  check({"lesser",
         {{"a", {DType::f32, {2, 1}, {1.0, 2.0}}}, {"b", {DType::f32, {}, {2.0}}}},
         {},
         {DType::u8, {2, 1}, {1, 0}}});
}

TEST_P(WebnnElementwise, ComparesAndConnects) {
  struct {
    const char* op;
    Numbers floats, integers;
  } const rows[] = {
      {"equal", {1, 0, 0, 0}, {0, 0, 1}},   {"notEqual", {0, 1, 1, 1}, {1, 1, 0}},
      {"greater", {0, 0, 1, 0}, {0, 1, 0}}, {"greaterOrEqual", {1, 0, 1, 0}, {0, 1, 1}},
      {"lesser", {0, 1, 0, 0}, {1, 0, 0}},  {"lesserOrEqual", {1, 1, 0, 0}, {1, 0, 1}},
  };
  const std::int64_t big = std::int64_t{1} << 33;
  for (const auto& row : rows) {
    for (const DType type : {DType::f32, DType::f16}) {
      check({row.op,
             {{"a", vector_of(type, {1.0, 2.0, 3.0, kNaN})}, {"b", vector_of(type, {1.0, 3.0, 2.0, kNaN})}},
             {},
             vector_of(DType::u8, row.floats)});
    }
    check({row.op,
           {{"a", vector_of(DType::i64, {big, big + 1, -big})}, {"b", vector_of(DType::i64, {big + 1, big, -big})}},
           {},
           vector_of(DType::u8, row.integers)});
    check({row.op,
           {{"a", vector_of(DType::u8, {1, 255, 7})}, {"b", vector_of(DType::u8, {2, 1, 7})}},
           {},
           vector_of(DType::u8, row.integers)});
  }
  const WebnnArray a = vector_of(DType::u8, {0, 1, 7, 0}), b = vector_of(DType::u8, {0, 0, 2, 255});
  check({"logicalAnd", {{"a", a}, {"b", b}}, {}, vector_of(DType::u8, {0, 0, 1, 0})});
  check({"logicalOr", {{"a", a}, {"b", b}}, {}, vector_of(DType::u8, {0, 1, 1, 1})});
  check({"logicalXor", {{"a", a}, {"b", b}}, {}, vector_of(DType::u8, {0, 1, 0, 1})});
  check({"logicalNot", {{"a", a}}, {}, vector_of(DType::u8, {1, 0, 0, 1})});
  for (const DType type : {DType::f32, DType::f16}) {
    const WebnnArray x = vector_of(type, {kNaN, kInf, 0.0, -kInf});
    check({"isNaN", {{"a", x}}, {}, vector_of(DType::u8, {1, 0, 0, 0})});
    check({"isInfinite", {{"a", x}}, {}, vector_of(DType::u8, {0, 1, 0, 1})});
  }
}

TEST_P(WebnnElementwise, Casts) {
  const auto cast = [&](const WebnnArray& x, const WebnnArray& y) {
    check({"cast", {{"input", x}}, {{"dataType", y.type}}, y});
  };
  cast(vector_of(DType::f32, {1.9, -1.9, 8589934592.0}), vector_of(DType::i64, {1, -1, std::int64_t{1} << 33}));
  cast(vector_of(DType::f16, {2.5, -0.75}), vector_of(DType::i8, {2, 0}));
  cast(vector_of(DType::i32, {-1, 300}), vector_of(DType::u8, {255, 44}));
  cast(vector_of(DType::i64, {(std::int64_t{1} << 33) + 5, std::int64_t{-1}}), vector_of(DType::i32, {5, -1}));
  cast(vector_of(DType::i8, {-1}), vector_of(DType::u64, {~std::uint64_t{0}}));
  cast(vector_of(DType::u64, {std::uint64_t{1} << 63}), vector_of(DType::f32, {9223372036854775808.0}));
  cast(vector_of(DType::f32, {65520.0, 0.1}), vector_of(DType::f16, {kInf, number_of(DType::f16, 0x2e66)}));
  cast(vector_of(DType::u32, {4294967295u}), vector_of(DType::u32, {4294967295u}));
}

TEST_P(WebnnElementwise, Clamps) {
  const auto clamp = [&](DType type, Numbers x, webnn::Arguments limits, Numbers y) {
    check({"clamp", {{"input", vector_of(type, std::move(x))}}, std::move(limits), vector_of(type, std::move(y)), 0});
  };
  const auto low = [](Number v) { return std::pair<std::string, webnn::Value>("minValue", v); };
  const auto high = [](Number v) { return std::pair<std::string, webnn::Value>("maxValue", v); };
  for (const DType type : {DType::f32, DType::f16}) {
    clamp(type, {-3.0, 0.5, 9.0, kNaN}, {low(-1), high(2)}, {-1.0, 0.5, 2.0, kNaN});
    clamp(type, {-3.0, kNaN}, {low(0)}, {0.0, kNaN});
    clamp(type, {3.0, kNaN}, {high(-2.5)}, {-2.5, kNaN});
    clamp(type, {3.0, kInf, kNaN}, {}, {3.0, kInf, kNaN});
    clamp(type, {3.0, -kInf}, {high(kInf)}, {3.0, -kInf});
  }
  // The limits are cast: 0.1 to the f16 next to it.
  clamp(DType::f16, {0.0}, {low(0.1), high(0.1)}, {number_of(DType::f16, 0x2e66)});
  clamp(DType::i32, {-9, 9}, {low(1.5), high(2.5)}, {2, 2});  // to the nearest even
  clamp(DType::u8, {0, 7, 255}, {low(-5), high(300)}, {0, 7, 255});
  clamp(DType::i8, {-128, 127}, {low(-5)}, {-5, 127});
  constexpr std::uint64_t k = (std::uint64_t{1} << 53) + 1;
  clamp(DType::u64, {std::uint64_t{1}, ~std::uint64_t{0}}, {low(k), high(k + 1)}, {k, k + 1});
  clamp(DType::i64, {-static_cast<std::int64_t>(k), std::int64_t{0}}, {high(-static_cast<std::int64_t>(k) - 1)},
        {-static_cast<std::int64_t>(k) - 1, -static_cast<std::int64_t>(k) - 1});
}

TEST_P(WebnnElementwise, Where) {
  for (const DType type : {DType::f32, DType::f16, DType::i64, DType::u8}) {
    check({"where",
           {{"condition", {DType::u8, {3}, {0, 1, 255}}},
            {"trueValue", {type, {2, 1}, {1, 2}}},
            {"falseValue", {type, {}, {9}}}},
           {},
           {type, {2, 3}, {9, 1, 1, 9, 2, 2}}});
  }
}

TEST_P(WebnnElementwise, DispatchesWhatCopies) {
  const WebnnArray x = vector_of(DType::f32, {1.0, -2.0});
  for (const bool constants : {false, true}) {
    for (const char* op : {"identity", "clamp", "abs"}) {
      const auto y = run(op, {{"input", x}}, {}, constants);
      expect_array(y[0], vector_of(DType::f32, {1.0, std::string(op) == "abs" ? 2.0 : -2.0}), 0);
      EXPECT_GE(run.dispatches, 1u) << op << (constants ? " of a constant" : "");
    }
  }
}

class WebnnActivations : public WebnnOps {};
INSTANTIATE_TEST_SUITE_P(Devices, WebnnActivations, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(WebnnActivations, OfFloats) {
  struct Row {
    const char* op;
    webnn::Arguments options;
    std::function<double(double x, double a, double b)> of;
    double a = 0, b = 0;  // the options in f32, which are rounded for f16
  };
  const auto options = [](std::initializer_list<std::pair<const char*, double>> list) {
    webnn::Arguments all;
    for (const auto& [name, value] : list) all.emplace_back(name, Number(value));
    return all;
  };
  const auto elu = [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; };
  const auto leaky = [](double x, double a, double) { return x < 0 ? a * x : x; };
  const auto hard = [](double x, double a, double b) { return std::max(std::min(a * x + b, 1.0), 0.0); };
  const auto linear = [](double x, double a, double b) { return a * x + b; };
  const Row rows[] = {
      {"elu", {}, elu, 1},
      {"elu", options({{"alpha", 0.1}}), elu, 0.1},
      {"gelu", {}, [](double x, double, double) { return 0.5 * x * (1 + std::erf(x / std::numbers::sqrt2)); }},
      {"hardSigmoid", {}, hard, 0.2, 0.5},
      {"hardSigmoid", options({{"alpha", 0.3}, {"beta", -0.1}}), hard, 0.3, -0.1},
      {"hardSwish", {}, [](double x, double, double) { return x * std::max(0.0, std::min(6.0, x + 3)) / 6; }},
      {"leakyRelu", {}, leaky, 0.01},
      {"leakyRelu", options({{"alpha", 0.3}}), leaky, 0.3},
      {"linear", {}, linear, 1, 0},
      {"linear", options({{"alpha", 0.1}, {"beta", -3}}), linear, 0.1, -3},
      {"relu", {}, [](double x, double, double) { return std::max(x, 0.0); }},
      {"sigmoid", {}, [](double x, double, double) { return 1 / (1 + std::exp(-x)); }},
      {"softplus", {}, [](double x, double, double) { return std::log1p(std::exp(x)); }},
      {"softsign", {}, [](double x, double, double) { return x / (1 + std::fabs(x)); }},
      {"tanh", {}, [](double x, double, double) { return std::tanh(x); }},
  };
  const Numbers x = {-9.0, -2.9990234375, -0.5, 0.0, 0.75, 2.0, 8.0};
  for (const Row& row : rows) {
    for (const DType type : {DType::f32, DType::f16}) {
      const auto in_type = [&](double v) { return number_of(type, Number(v).bits(type)).value(); };
      Numbers y;
      for (const Number& v : x) y.emplace_back(row.of(v.value(), in_type(row.a), in_type(row.b)));
      check(
          {row.op, {{"input", vector_of(type, x)}}, row.options, vector_of(type, y), type == DType::f32 ? 2e-6 : 1e-3});
    }
  }
}

TEST_P(WebnnActivations, OptionsAreOfTheInputsType) {
  // 0.1 is 0.0999755859375 in float16, so that the result is 409.25 and not 409.5.
  check({"linear",
         {{"input", vector_of(DType::f16, {4094.0})}},
         {{"alpha", Number(0.1)}},
         vector_of(DType::f16, {409.25}),
         0});
  check({"leakyRelu",
         {{"input", vector_of(DType::f16, {-4094.0})}},
         {{"alpha", Number(0.1)}},
         vector_of(DType::f16, {-409.25}),
         0});
}

TEST_P(WebnnActivations, Prelu) {
  for (const DType type : {DType::f32, DType::f16, DType::i8, DType::i32, DType::i64}) {
    check({"prelu",
           {{"input", {type, {2, 2}, {-3, 4, -5, -6}}}, {"slope", {type, {2}, {2, -3}}}},
           {},
           {type, {2, 2}, {-6, 4, -10, 18}}});
  }
  check({"prelu",
         {{"input", {DType::f32, {}, {-2.0}}}, {"slope", {DType::f32, {2}, {0.5, 0.25}}}},
         {},
         {DType::f32, {2}, {-1.0, -0.5}}});
}

TEST(WebnnElementwiseRows, SayWhatDoesNotFit) {
  using Descriptor = webnn::OperandDescriptor;
  const Descriptor f32{DType::f32, {2, 3}}, i32{DType::i32, {2, 3}}, u8{DType::u8, {2}};
  for (const char* op : {"add", "sub", "mul", "div", "max", "min", "pow", "equal", "notEqual", "greater",
                         "greaterOrEqual", "lesser", "lesserOrEqual"}) {
    expect_refused({op, {{"a", f32}, {"b", i32}}, {}, "b is int32 [2, 3], expected float32, as a"});
    expect_refused(
        {op, {{"a", f32}, {"b", {DType::f32, {2}}}}, {}, "a is [2, 3] and b [2], expected shapes that broadcast"});
    expect_refused({op, {{"a", f32}}, {}, "b is not given, expected an operand"});
  }
  for (const char* op : {"logicalAnd", "logicalOr", "logicalXor"}) {
    expect_refused({op, {{"a", f32}, {"b", f32}}, {}, "a is float32 [2, 3], expected uint8"});
    expect_refused(
        {op, {{"a", u8}, {"b", {DType::u8, {3}}}}, {}, "a is [2] and b [3], expected shapes that broadcast"});
  }
  expect_refused({"logicalNot", {{"a", f32}}, {}, "a is float32 [2, 3], expected uint8"});
  for (const char* op : {"isNaN", "isInfinite"})
    expect_refused({op, {{"a", i32}}, {}, "a is int32 [2, 3], expected float32 or float16"});
  for (const char* op : {"ceil",      "cos",       "erf",    "exp",     "floor",    "log",      "reciprocal",
                         "roundEven", "sin",       "sqrt",   "tan",     "elu",      "gelu",     "hardSigmoid",
                         "hardSwish", "leakyRelu", "linear", "sigmoid", "softplus", "softsign", "tanh"}) {
    expect_refused({op, {{"input", i32}}, {}, "input is int32 [2, 3], expected float32 or float16"});
  }
  for (const char* op : {"abs", "neg", "sign", "relu"}) {
    expect_refused({op, {{"input", u8}}, {}, "input is uint8 [2], expected float32, float16, int8, int32 or int64"});
  }
  expect_refused({"prelu",
                  {{"input", u8}, {"slope", u8}},
                  {},
                  "input is uint8 [2], expected float32, float16, int8, int32 or int64"});
  expect_refused({"prelu",
                  {{"input", f32}, {"slope", {DType::f32, {2}}}},
                  {},
                  "input is [2, 3] and slope [2], expected shapes that broadcast"});
  expect_refused({"elu", {{"input", f32}}, {{"alpha", Number(kInf)}}, "alpha is inf, expected a finite number"});
  expect_refused({"linear", {{"input", f32}}, {{"beta", Number(kNaN)}}, "beta is nan, expected a finite number"});
  expect_refused({"clamp",
                  {{"input", f32}},
                  {{"minValue", Number(3)}, {"maxValue", Number(1)}},
                  "minValue is 3 and maxValue 1 as float32, expected a minimum that is not greater"});
  expect_refused({"clamp",
                  {{"input", {DType::u8, {}}}},
                  {{"minValue", Number(9.5)}, {"maxValue", Number(-1)}},
                  "minValue is 10 and maxValue 0 as uint8, expected a minimum that is not greater"});
  expect_refused({"clamp",
                  {{"input", f32}},
                  {{"minValue", Number(-kInf)}},
                  "minValue is -Infinity, expected a number above it, or none for no minimum"});
  expect_refused({"cast",
                  {{"input", f32}},
                  {{"dataType", std::string("int4")}},
                  "dataType is int4, expected float32, float16, int8, int32, int64, uint8, uint32 or uint64"});
  expect_refused({"where",
                  {{"condition", f32}, {"trueValue", f32}, {"falseValue", f32}},
                  {},
                  "condition is float32 [2, 3], expected uint8"});
  expect_refused({"where",
                  {{"condition", u8}, {"trueValue", f32}, {"falseValue", i32}},
                  {},
                  "falseValue is int32 [2, 3], expected float32, as trueValue"});
  expect_refused({"where",
                  {{"condition", u8}, {"trueValue", f32}, {"falseValue", {DType::f32, {4}}}},
                  {},
                  "trueValue is [2, 3] and falseValue [4], expected shapes that broadcast"});
  expect_refused({"where",
                  {{"condition", u8}, {"trueValue", f32}, {"falseValue", f32}},
                  {},
                  "condition is [2] and the values broadcast to [2, 3], expected shapes that broadcast"});
}

}  // namespace
}  // namespace weft::test
