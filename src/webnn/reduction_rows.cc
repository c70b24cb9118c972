// Reductions over axes, the places of least and greatest elements, running sums, and softmax.
#include <bit>

#include "webnn/message.h"
#include "webnn/op_rows.h"

namespace weft::webnn {

namespace {

// The types of sums, which 32 bits and more hold.
constexpr TypeSet kSumTypes = {DType::f32, DType::f16, DType::i32, DType::u32, DType::i64, DType::u64};

int rank(const Call& c) { return static_cast<int>(c.shape("input").size()); }

Axes axes_of(const Call& c) { return c.has("axes") ? Axes(c.axes("axes", rank(c))) : Axes(); }

template <ReduceKind kind>
std::vector<weft::Tensor> reduce_map(const Call& c) {
  return {reduce(kind, c.operand("input"), axes_of(c), c.boolean("keepDimensions"))};
}

// Sums that float32 does not hold though it holds the result are made of smaller numbers: of float32 as fractions of
// 2^k, at least as many as there are addends; float16 is added in float32.
std::vector<weft::Tensor> mean_map(const Call& c) {
  const weft::Tensor x = c.operand("input");
  if (x.dtype() != DType::f32) return reduce_map<ReduceKind::mean>(c);
  std::int64_t count = 1;
  for (const int axis : axes_of(c).of(rank(c))) count *= x.shape()[axis];
  const double part = 1 / static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  return {reduce(ReduceKind::sum, x * part, axes_of(c), c.boolean("keepDimensions")) /
          (static_cast<double>(count) * part)};
}

// As fractions of the largest, whose squares neither overflow nor vanish.
std::vector<weft::Tensor> l2_map(const Call& c) {
  const weft::Tensor x = c.operand("input");
  if (x.dtype() != DType::f32) return reduce_map<ReduceKind::l2>(c);
  const weft::Tensor largest = reduce(ReduceKind::max, abs(x), axes_of(c), true);
  const weft::Tensor unit = select((largest > 0) & is_finite(largest), largest, 1);
  const weft::Tensor y = reduce(ReduceKind::l2, x / unit, axes_of(c), true) * unit;
  if (c.boolean("keepDimensions")) return {y};
  return {reshape(y, reduce(ReduceKind::max, x, axes_of(c), false).shape())};
}

template <kernels::ArgKind kind>
std::vector<weft::Tensor> arg_map(const Call& c) {
  const int axis = c.axis("axis", rank(c));
  constexpr TypeSet kTypes = {DType::i32, DType::i64};
  const DType type = c.data_type("outputDataType");
  if (!kTypes.contains(type)) c.fail("outputDataType is {}, expected {}", data_type_name(type), names(kTypes));
  // No size is past 2³¹ - 1, so that i32 holds every index.
  const auto choose = kind == kernels::ArgKind::max ? argmax : argmin;
  return {cast(choose(c.operand("input"), axis, c.boolean("keepDimensions")), type)};
}

std::vector<weft::Tensor> cumulative_sum_map(const Call& c) {
  const int axis = c.axis("axis", rank(c));
  return {scan(ScanKind::sum, c.operand("input"), axis,
               {.reverse = c.boolean("reversed"), .exclusive = c.boolean("exclusive")})};
}

struct Row {
  const char* name;
  TypeSet types;
  Map map;
};

constexpr Row kReductions[] = {
    {"reduceL1", kSumTypes, reduce_map<ReduceKind::l1>},
    {"reduceL2", kFloatTypes, l2_map},
    {"reduceLogSum", kFloatTypes, reduce_map<ReduceKind::log_sum>},
    {"reduceLogSumExp", kFloatTypes, reduce_map<ReduceKind::log_sum_exp>},
    {"reduceMax", kDataTypes, reduce_map<ReduceKind::max>},
    {"reduceMean", kFloatTypes, mean_map},
    {"reduceMin", kDataTypes, reduce_map<ReduceKind::min>},
    {"reduceProduct", kSumTypes, reduce_map<ReduceKind::prod>},
    {"reduceSum", kSumTypes, reduce_map<ReduceKind::sum>},
    {"reduceSumSquare", kSumTypes, reduce_map<ReduceKind::sum_squares>},
};

constexpr Row kArgs[] = {
    {"argMax", kDataTypes, arg_map<kernels::ArgKind::max>},
    {"argMin", kDataTypes, arg_map<kernels::ArgKind::min>},
};

}  // namespace

void add_reduction_rows(std::vector<Op>& rows) {
  const ArgumentSchema keep = option("keepDimensions", ArgumentKind::boolean, "false");
  for (const Row& row : kReductions) {
    rows.push_back({{.name = row.name,
                     .section = "#api-mlgraphbuilder-reduce",
                     .arguments = {operand("input", row.types), option("axes", ArgumentKind::sizes), keep},
                     .outputs = {result_as("input")}},
                    row.map});
  }
  for (const Row& row : kArgs) {
    rows.push_back({{.name = row.name,
                     .section = "#api-mlgraphbuilder-argminmax",
                     .arguments = {operand("input", row.types, 1), required("axis", ArgumentKind::size), keep,
                                   option("outputDataType", ArgumentKind::data_type, "int32")},
                     .outputs = {result({DType::i32, DType::i64})}},
                    row.map});
  }
  rows.push_back({{.name = "cumulativeSum",
                   .section = "#api-mlgraphbuilder-cumulativesum",
                   .arguments = {operand("input", kSumTypes, 1), required("axis", ArgumentKind::size),
                                 option("exclusive", ArgumentKind::boolean, "false"),
                                 option("reversed", ArgumentKind::boolean, "false")},
                   .outputs = {result_as("input", 1)}},
                  cumulative_sum_map});
  rows.push_back({{.name = "softmax",
                   .section = "#api-mlgraphbuilder-softmax-method",
                   .arguments = {operand("input", kFloatTypes, 1), option("axis", ArgumentKind::size, "1")},
                   .outputs = {result_as("input", 1)}},
                  [](const Call& c) { return std::vector{softmax(c.operand("input"), c.axis("axis", rank(c)))}; }});
}

}  // namespace weft::webnn
