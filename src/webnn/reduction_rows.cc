// Reductions over axes, the places of least and greatest elements, running sums, and softmax.
#include <bit>

#include "webnn/message.h"
#include "webnn/op_rows.h"
#include "webnn/row_checks.h"

namespace weft::webnn {

namespace {

// The types of sums, which 32 bits and more hold.
constexpr TypeSet kSumTypes = {DType::f32, DType::f16, DType::i32, DType::u32, DType::i64, DType::u64};

Axes axes_of(const Call& c, const Operand& input, const ReduceOptions& o) {
  return o.axes ? Axes(checked_axes(c, "axes", *o.axes, rank_of(input))) : Axes();
}

template <ReduceKind kind>
Tensors reduce_map(const Call& c, const Operand& input, const ReduceOptions& o) {
  return {reduce(kind, tensor_of(input), axes_of(c, input, o), o.keep_dimensions)};
}

// Sums that float32 does not hold though it holds the result are made of smaller numbers: of float32 as fractions of
// 2^k, at least as many as there are addends; float16 is added in float32.
Tensors mean_map(const Call& c, const Operand& input, const ReduceOptions& o) {
  const weft::Tensor x = tensor_of(input);
  if (x.dtype() != DType::f32) return reduce_map<ReduceKind::mean>(c, input, o);
  const Axes axes = axes_of(c, input, o);
  std::int64_t count = 1;
  for (const int axis : axes.of(x.rank())) count *= x.shape()[axis];
  const double part = 1 / static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(count)));
  return {reduce(ReduceKind::sum, x * part, axes, o.keep_dimensions) / (static_cast<double>(count) * part)};
}

template <kernels::ArgKind kind>
Tensors arg_map(const Call& c, const Operand& input, std::int64_t given_axis, const ArgMinMaxOptions& o) {
  const int axis = checked_axis(c, "axis", given_axis, rank_of(input));
  constexpr TypeSet kTypes = {DType::i32, DType::i64};
  const DType type = o.output_data_type;
  if (!kTypes.contains(type)) c.fail("outputDataType is {}, expected {}", data_type_name(type), names(kTypes));
  // No size is past 2³¹ - 1, so that i32 holds every index.
  const auto choose = kind == kernels::ArgKind::max ? argmax : argmin;
  return {cast(choose(tensor_of(input), axis, o.keep_dimensions), type)};
}

Tensors cumulative_sum_map(const Call& c, const Operand& input, std::int64_t axis, const CumulativeSumOptions& o) {
  return {scan(ScanKind::sum, tensor_of(input), checked_axis(c, "axis", axis, rank_of(input)),
               {.reverse = o.reversed, .exclusive = o.exclusive})};
}

Tensors softmax_map(const Call& c, const Operand& input, const SoftmaxOptions& o) {
  return {softmax(tensor_of(input), checked_axis(c, "axis", o.axis, rank_of(input)))};
}

struct Reduction {
  const char* name;
  TypeSet types;
  Tensors (*map)(const Call&, const Operand&, const ReduceOptions&);
};

constexpr Reduction kReductions[] = {
    {"reduceL1", kSumTypes, reduce_map<ReduceKind::l1>},
    {"reduceL2", kFloatTypes, reduce_map<ReduceKind::l2>},
    {"reduceLogSum", kFloatTypes, reduce_map<ReduceKind::log_sum>},
    {"reduceLogSumExp", kFloatTypes, reduce_map<ReduceKind::log_sum_exp>},
    {"reduceMax", kDataTypes, reduce_map<ReduceKind::max>},
    {"reduceMean", kFloatTypes, mean_map},
    {"reduceMin", kDataTypes, reduce_map<ReduceKind::min>},
    {"reduceProduct", kSumTypes, reduce_map<ReduceKind::prod>},
    {"reduceSum", kSumTypes, reduce_map<ReduceKind::sum>},
    {"reduceSumSquare", kSumTypes, reduce_map<ReduceKind::sum_squares>},
};

}  // namespace

void add_reduction_rows(std::vector<Op>& rows) {
  for (const Reduction& row : kReductions) {
    rows.push_back(op_row({.name = row.name,
                           .section = "#api-mlgraphbuilder-reduce",
                           .arguments = {operand("input", row.types)},
                           .outputs = {result_as("input")}},
                          row.map));
  }
  const auto arg = [&](const char* name, auto map) {
    rows.push_back(op_row({.name = name,
                           .section = "#api-mlgraphbuilder-argminmax",
                           .arguments = {operand("input", kDataTypes, 1), argument("axis")},
                           .outputs = {result({DType::i32, DType::i64})}},
                          map));
  };
  arg("argMax", arg_map<kernels::ArgKind::max>);
  arg("argMin", arg_map<kernels::ArgKind::min>);
  rows.push_back(op_row({.name = "cumulativeSum",
                         .section = "#api-mlgraphbuilder-cumulativesum",
                         .arguments = {operand("input", kSumTypes, 1), argument("axis")},
                         .outputs = {result_as("input", 1)}},
                        cumulative_sum_map));
  rows.push_back(op_row({.name = "softmax",
                         .section = "#api-mlgraphbuilder-softmax-method",
                         .arguments = {operand("input", kFloatTypes, 1)},
                         .outputs = {result_as("input", 1)}},
                        softmax_map));
}

}  // namespace weft::webnn
