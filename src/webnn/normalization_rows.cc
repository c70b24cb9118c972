// Normalization: of batches with given moments, of instances and of layers.
#include <algorithm>
#include <numeric>

#include "webnn/message.h"
#include "webnn/op_rows.h"
#include "webnn/row_checks.h"

namespace weft::webnn {

namespace {

// Rounded to the input's type, as the specification has it.
template <class Options>
double epsilon_of(const Operand& input, const Options& o) {
  return cast_number(o.epsilon, input.data_type()).value();
}

// Throws TypeError unless an operand, if it is given, has the size of that axis of the input.
void check_channels(const Call& c, std::string_view name, const Operand& operand, const Operand& input, int axis) {
  if (!operand) return;
  const std::int64_t channels = input.shape()[static_cast<std::size_t>(axis)];
  if (operand.shape() != Sizes{channels}) {
    c.fail("{} is {}, expected [{}] for axis {} of the input, which is {}", name, to_string(operand.shape()), channels,
           axis, to_string(input.shape()));
  }
}

Tensors batch_normalization_map(const Call& c, const Operand& input, const Operand& mean, const Operand& variance,
                                const BatchNormalizationOptions& o) {
  const int axis = checked_axis(c, "axis", o.axis, rank_of(input));
  check_channels(c, "mean", mean, input, axis);
  check_channels(c, "variance", variance, input, axis);
  check_channels(c, "scale", o.scale, input, axis);
  check_channels(c, "bias", o.bias, input, axis);
  return {batch_norm(tensor_of(input), tensor_of(mean), tensor_of(variance), tensor_of(o.scale), tensor_of(o.bias),
                     epsilon_of(input, o), axis)};
}

Tensors instance_normalization_map(const Call& c, const Operand& input, const InstanceNormalizationOptions& o) {
  const int axis = o.layout == InputOperandLayout::nchw ? 1 : 3;
  check_channels(c, "scale", o.scale, input, axis);
  check_channels(c, "bias", o.bias, input, axis);
  return {instance_norm(tensor_of(input), tensor_of(o.scale), tensor_of(o.bias), epsilon_of(input, o), axis)};
}

// The axes come last, in the order in which they are given, which is that of scale and bias; so they are one row.
Tensors layer_normalization_map(const Call& c, const Operand& input, const LayerNormalizationOptions& o) {
  const Sizes& shape = input.shape();
  const int rank = rank_of(input);
  std::vector<int> axes(static_cast<std::size_t>(std::max(rank - 1, 0)));
  std::iota(axes.begin(), axes.end(), 1);
  if (o.axes) axes = checked_axes(c, "axes", *o.axes, rank);
  Sizes row;
  for (const int axis : axes) row.push_back(shape[static_cast<std::size_t>(axis)]);
  for (const auto& [name, operand] : {std::pair("scale", &o.scale), {"bias", &o.bias}}) {
    if (!*operand || operand->shape() == row) continue;
    c.fail("{} is {}, expected {}, the sizes of the axes of the input, which is {}", name, to_string(operand->shape()),
           to_string(row), to_string(shape));
  }
  std::vector<int> order, back(static_cast<std::size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    if (std::ranges::find(axes, i) == axes.end()) order.push_back(i);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  for (int i = 0; i < rank; ++i) back[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
  const weft::Tensor x = permute(tensor_of(input), order);
  const std::int64_t length = element_count(to_shape(row));
  const auto flat = [&](const Operand& operand) {
    return operand ? reshape(tensor_of(operand), {length}) : weft::Tensor();
  };
  const weft::Tensor y =
      layer_norm(reshape(x, {x.size() / length, length}), flat(o.scale), flat(o.bias), epsilon_of(input, o), 1);
  return {permute(reshape(y, x.shape()), back)};
}

}  // namespace

void add_normalization_rows(std::vector<Op>& rows) {
  rows.push_back(op_row({.name = "batchNormalization",
                         .section = "#api-mlgraphbuilder-batchnorm",
                         .arguments = {operand("input", kFloatTypes, 1), operand_as("mean", "input", 1, 1),
                                       operand_as("variance", "input", 1, 1)},
                         .outputs = {result_as("input", 1)}},
                        batch_normalization_map));
  rows.push_back(op_row({.name = "instanceNormalization",
                         .section = "#api-mlgraphbuilder-instancenorm",
                         .arguments = {operand("input", kFloatTypes, 4, 4)},
                         .outputs = {result_as("input", 4, 4)}},
                        instance_normalization_map));
  rows.push_back(op_row({.name = "layerNormalization",
                         .section = "#api-mlgraphbuilder-layernorm",
                         .arguments = {operand("input", kFloatTypes)},
                         .outputs = {result_as("input")}},
                        layer_normalization_map));
}

}  // namespace weft::webnn
