// WebNN's reductions, running sums and softmax on every device.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "webnn/one_op.h"

namespace weft::test {
namespace {

using Numbers = std::vector<Number>;
using webnn::Sizes;

class WebnnReductions : public WebnnOps {};
INSTANTIATE_TEST_SUITE_P(Devices, WebnnReductions, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

using Values = std::vector<double>;
double sum_of(const Values& v, const std::function<double(double)>& of) {
  return std::accumulate(v.begin(), v.end(), 0.0, [&](double sum, double x) { return sum + of(x); });
}
struct Reduction {
  const char* op;
  double (*of)(const Values& v);
};
constexpr Reduction kReductions[] = {
    {"reduceL1", [](const Values& v) { return sum_of(v, [](double x) { return std::abs(x); }); }},
    {"reduceL2", [](const Values& v) { return std::sqrt(sum_of(v, [](double x) { return x * x; })); }},
    {"reduceLogSum", [](const Values& v) { return std::log(sum_of(v, [](double x) { return x; })); }},
    {"reduceLogSumExp", [](const Values& v) { return std::log(sum_of(v, [](double x) { return std::exp(x); })); }},
    {"reduceMax", [](const Values& v) { return *std::ranges::max_element(v); }},
    {"reduceMean",
     [](const Values& v) { return sum_of(v, [](double x) { return x; }) / static_cast<double>(v.size()); }},
    {"reduceMin", [](const Values& v) { return *std::ranges::min_element(v); }},
    {"reduceProduct",
     [](const Values& v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<double>()); }},
    {"reduceSum", [](const Values& v) { return sum_of(v, [](double x) { return x; }); }},
    {"reduceSumSquare", [](const Values& v) { return sum_of(v, [](double x) { return x * x; }); }},
};

TEST_P(WebnnReductions, OverAxes) {
  // Positive sums, for the logarithm.
  const Values x = {1, -0.5, 3, 4, 5, -1.5};
  struct {
    webnn::Arguments options;
    Sizes shape;
    std::vector<Values> groups;
  } const rows[] = {
      {{}, {}, {x}},
      {{{"keepDimensions", true}}, {1, 1, 1}, {x}},
      {{{"axes", Sizes{0}}}, {3, 1}, {{1, 4}, {-0.5, 5}, {3, -1.5}}},
      {{{"axes", Sizes{2, 1}}, {"keepDimensions", true}}, {2, 1, 1}, {{1, -0.5, 3}, {4, 5, -1.5}}},
  };
  for (const Reduction& r : kReductions) {
    for (const auto& row : rows) {
      for (const DType type : {DType::f32, DType::f16}) {
        Numbers y;
        for (const Values& group : row.groups) y.emplace_back(r.of(group));
        check({r.op,
               {{"input", {type, {2, 3, 1}, Numbers(x.begin(), x.end())}}},
               row.options,
               {type, row.shape, y},
               type == DType::f32 ? 2e-6 : 1e-3});
      }
    }
  }
}

TEST_P(WebnnReductions, OverNoAxesAndOfScalars) {
  const Values x = {0.5, 2, 3};
  for (const Reduction& r : kReductions) {
    Numbers y;
    for (const double v : x) y.emplace_back(r.of({v}));
    check(
        {r.op, {{"input", {DType::f32, {3}, Numbers(x.begin(), x.end())}}}, {{"axes", Sizes{}}}, {DType::f32, {3}, y}});
    check({r.op, {{"input", {DType::f32, {}, {0.5}}}}, {}, {DType::f32, {}, {r.of({0.5})}}});
  }
  check({"reduceL1", {{"input", {DType::i32, {2}, {-7, 7}}}}, {{"axes", Sizes{}}}, {DType::i32, {2}, {7, 7}}});
  check({"reduceSumSquare",
         {{"input", {DType::i64, {1}, {-65537}}}},
         {{"axes", Sizes{}}},
         {DType::i64, {1}, {std::int64_t{65537} * 65537}}});
}

// Results that float32 holds, of sums and squares that it does not.
TEST_P(WebnnReductions, SumsPastTheRange) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  struct {
    const char* op;
    Sizes shape;
    Values x;
    webnn::Arguments options;
    Sizes to;
    Values y;
  } const cases[] = {
      {"reduceL2", {2}, {3e30, 4e30}, {}, {}, {5e30}},
      {"reduceL2", {2}, {-3e-30, 4e-30}, {}, {}, {5e-30}},
      {"reduceL2", {2}, {0, 0}, {}, {}, {0}},
      {"reduceL2", {2}, {-kInf, 1}, {}, {}, {kInf}},
      {"reduceL2", {2}, {std::nan(""), 1e30}, {}, {}, {std::nan("")}},
      {"reduceL2", {2, 2}, {3e30, -5e-20, 4e30, 12e-20}, {{"axes", Sizes{0}}}, {2}, {5e30, 13e-20}},
      {"reduceL2", {2, 1}, {-3e30, 0}, {{"axes", Sizes{1}}, {"keepDimensions", true}}, {2, 1}, {3e30, 0}},
      {"reduceMean", {4}, {3e38, 3e38, 3e38, 3e38}, {}, {}, {3e38}},
      {"reduceMean", {3}, {-3.4e38, -3.4e38, -3.4e38}, {}, {}, {-3.4e38}},
      {"reduceMean",
       {2, 3},
       {3e38, 3e38, 3e38, 1, 2, 6},
       {{"axes", Sizes{1}}, {"keepDimensions", true}},
       {2, 1},
       {3e38, 3}},
      {"reduceMean", {2}, {kInf, 1}, {}, {}, {kInf}},
  };
  for (const auto& c : cases) {
    const auto got = run(c.op, {{"input", {DType::f32, c.shape, Numbers(c.x.begin(), c.x.end())}}}, c.options)[0];
    EXPECT_EQ(got.shape, c.to);
    ASSERT_EQ(got.values.size(), c.y.size());
    for (std::size_t i = 0; i < c.y.size(); ++i) {
      const double x = got.values[i].value(), y = c.y[i];
      EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 4e-7 * std::abs(y))
          << c.op << ", element " << i << ": " << x << ", expected " << y;
    }
  }
}

TEST_P(WebnnReductions, OfIntegers) {
  constexpr std::int64_t k = std::int64_t{1} << 40;
  const auto over_all = [&](const char* op, DType type, const Numbers& x, Number y) {
    check({op, {{"input", {type, {static_cast<std::int64_t>(x.size())}, x}}}, {}, {type, {}, {y}}});
  };
  over_all("reduceSum", DType::i64, {k, 1, -3}, k - 2);
  over_all("reduceSum", DType::u64, {std::uint64_t{1} << 63, 5}, (std::uint64_t{1} << 63) + 5);
  over_all("reduceSum", DType::u32, {4294967295u, 2}, 1);
  over_all("reduceSum", DType::i32, {-5, 2}, -3);
  over_all("reduceL1", DType::i64, {-k, 3}, k + 3);
  over_all("reduceL1", DType::u32, {7, 3}, 10);
  over_all("reduceProduct", DType::i64, {k, -3}, -3 * k);
  over_all("reduceProduct", DType::u32, {65536, 65537}, 65536);
  over_all("reduceSumSquare", DType::i32, {-5, 2}, 29);
  over_all("reduceSumSquare", DType::u64, {std::uint64_t{1} << 31, 1}, (std::uint64_t{1} << 62) + 1);
  for (const DType type : {DType::i8, DType::i32, DType::i64}) {
    over_all("reduceMax", type, {-5, 3, 2}, 3);
    over_all("reduceMin", type, {-5, 3, 2}, -5);
  }
  over_all("reduceMax", DType::u8, {250, 3}, 250);
  over_all("reduceMin", DType::u8, {250, 3}, 3);
  over_all("reduceMax", DType::u32, {4294967295u, 3}, 4294967295u);
  over_all("reduceMax", DType::u64, {~std::uint64_t{0}, std::uint64_t{3}}, ~std::uint64_t{0});
  over_all("reduceMin", DType::i64, {-k, k}, -k);
}

TEST_P(WebnnReductions, PlacesOfLeastAndGreatest) {
  const auto arg = [&](const char* op, const WebnnArray& x, int axis, webnn::Arguments options, const WebnnArray& y) {
    options.emplace_back("axis", Number(axis));
    check({op, {{"input", x}}, options, y});
  };
  for (const DType type : {DType::f32, DType::f16, DType::i32, DType::i8, DType::i64}) {
    const WebnnArray x{type, {2, 3}, {5, 7, 7, 1, 1, 4}};  // of equal ones the first
    arg("argMax", x, 1, {}, {DType::i32, {2}, {1, 2}});
    arg("argMin", x, 1, {{"keepDimensions", true}}, {DType::i32, {2, 1}, {0, 0}});
    arg("argMax", x, 0, {{"outputDataType", std::string("int64")}}, {DType::i64, {3}, {0, 0, 0}});
    arg("argMin", x, 0, {{"outputDataType", DType::i64}, {"keepDimensions", true}}, {DType::i64, {1, 3}, {1, 1, 1}});
  }
  const std::int64_t k = std::int64_t{1} << 40;
  arg("argMax", {DType::i64, {3}, {k, k + 1, k - 1}}, 0, {}, {DType::i32, {}, {1}});
  arg("argMin", {DType::u8, {3}, {200, 100, 255}}, 0, {}, {DType::i32, {}, {1}});
}

TEST_P(WebnnReductions, RunningSums) {
  const auto sums = [&](DType type, const Sizes& shape, const Numbers& x, int axis, bool exclusive, bool reversed,
                        const Numbers& y) {
    check({"cumulativeSum",
           {{"input", {type, shape, x}}},
           {{"axis", Number(axis)}, {"exclusive", exclusive}, {"reversed", reversed}},
           {type, shape, y}});
  };
  for (const DType type : {DType::f32, DType::f16, DType::i32, DType::u32, DType::i64, DType::u64}) {
    const Numbers x = {1, 2, 3, 4};
    sums(type, {4}, x, 0, false, false, {1, 3, 6, 10});
    sums(type, {4}, x, 0, true, false, {0, 1, 3, 6});
    sums(type, {4}, x, 0, false, true, {10, 9, 7, 4});
    sums(type, {4}, x, 0, true, true, {9, 7, 4, 0});
    sums(type, {2, 2}, x, 0, false, false, {1, 2, 4, 6});
    sums(type, {2, 2}, x, 1, false, false, {1, 3, 3, 7});
  }
  const std::int64_t k = std::int64_t{1} << 40;
  sums(DType::i64, {3}, {k, k, -1}, 0, false, false, {k, 2 * k, 2 * k - 1});
}

TEST_P(WebnnReductions, Softmax) {
  const auto ratio = [](double a, double b) { return 1 / (1 + std::exp(b - a)); };
  for (const DType type : {DType::f32, DType::f16}) {
    const double tolerance = type == DType::f32 ? 1e-6 : 1e-3;
    const WebnnArray x{type, {2, 2}, {1.0, 3.0, -2.0, -2.5}};
    const WebnnArray rows{type, {2, 2}, {ratio(1, 3), ratio(3, 1), ratio(-2, -2.5), ratio(-2.5, -2)}};
    check({"softmax", {{"input", x}}, {{"axis", Number(1)}}, rows, tolerance});
    check({"softmax", {{"input", x}}, {}, rows, tolerance});  // an extension: axis 1
    check({"softmax",
           {{"input", x}},
           {{"axis", Number(0)}},
           {type, {2, 2}, {ratio(1, -2), ratio(3, -2.5), ratio(-2, 1), ratio(-2.5, 3)}},
           tolerance});
  }
}

TEST(WebnnReductionRows, SayWhatDoesNotFit) {
  const webnn::OperandDescriptor f32{DType::f32, {2, 3}}, i32{DType::i32, {2, 3}}, u8{DType::u8, {2, 3}},
      scalar{DType::f32, {}};
  for (const Reduction& r : kReductions) {
    expect_refused(
        {r.op, {{"input", f32}}, {{"axes", Sizes{2}}}, "axes are [2], expected numbers below the rank, which is 2"});
    expect_refused({r.op, {{"input", f32}}, {{"axes", Sizes{0, 1, 1}}}, "axes are [0, 1, 1]: axis 1 is there twice"});
  }
  for (const char* op : {"reduceL2", "reduceLogSum", "reduceLogSumExp", "reduceMean"})
    expect_refused({op, {{"input", i32}}, {}, "input is int32 [2, 3], expected float32 or float16"});
  for (const char* op : {"reduceL1", "reduceProduct", "reduceSum", "reduceSumSquare"}) {
    expect_refused(
        {op, {{"input", u8}}, {}, "input is uint8 [2, 3], expected float32, float16, int32, int64, uint32 or uint64"});
  }
  for (const char* op : {"argMin", "argMax"}) {
    expect_refused({op, {{"input", f32}}, {{"axis", Number(2)}}, "axis is 2, expected one below the rank, which is 2"});
    expect_refused({op, {{"input", f32}}, {}, "axis is not given, expected an unsigned long"});
    expect_refused({op,
                    {{"input", f32}},
                    {{"axis", Number(0)}, {"outputDataType", std::string("uint8")}},
                    "outputDataType is uint8, expected int32 or int64"});
    expect_refused({op, {{"input", scalar}}, {{"axis", Number(0)}}, "input is float32 [], expected a rank of 1 to 8"});
  }
  expect_refused(
      {"cumulativeSum", {{"input", f32}}, {{"axis", Number(2)}}, "axis is 2, expected one below the rank, which is 2"});
  expect_refused({"cumulativeSum",
                  {{"input", u8}},
                  {{"axis", Number(0)}},
                  "input is uint8 [2, 3], expected float32, float16, int32, int64, uint32 or uint64"});
  expect_refused(
      {"softmax", {{"input", i32}}, {{"axis", Number(0)}}, "input is int32 [2, 3], expected float32 or float16"});
  expect_refused({"softmax", {{"input", {DType::f32, {3}}}}, {}, "axis is 1, expected one below the rank, which is 1"});
}

}  // namespace
}  // namespace weft::test
