// Normalization: of batches with given moments, of instances and of layers.
#include <algorithm>
#include <numeric>

#include "webnn/message.h"
#include "webnn/op_rows.h"

namespace weft::webnn {

namespace {

// Rounded to the input's type, as the specification has it.
double epsilon(const Call& c) { return cast_number(c.number("epsilon"), c.data_type("input")).value(); }

// Throws TypeError unless an operand, if it is given, has the size of that axis of the input.
void check_channels(const Call& c, std::string_view name, int axis) {
  if (!c.has(name)) return;
  const std::int64_t channels = c.shape("input")[static_cast<std::size_t>(axis)];
  if (c.shape(name) != Sizes{channels}) {
    c.fail("{} is {}, expected [{}] for axis {} of the input, which is {}", name, to_string(c.shape(name)), channels,
           axis, to_string(c.shape("input")));
  }
}

std::vector<weft::Tensor> batch_normalization_map(const Call& c) {
  const int axis = c.axis("axis", static_cast<int>(c.shape("input").size()));
  for (const char* name : {"mean", "variance", "scale", "bias"}) check_channels(c, name, axis);
  return {batch_norm(c.operand("input"), c.operand("mean"), c.operand("variance"), c.operand("scale"),
                     c.operand("bias"), epsilon(c), axis)};
}

std::vector<weft::Tensor> instance_normalization_map(const Call& c) {
  const int axis = c.choice("layout") == "nchw" ? 1 : 3;
  for (const char* name : {"scale", "bias"}) check_channels(c, name, axis);
  return {instance_norm(c.operand("input"), c.operand("scale"), c.operand("bias"), epsilon(c), axis)};
}

// The axes come last, in the order in which they are given, which is that of scale and bias; so they are one row.
std::vector<weft::Tensor> layer_normalization_map(const Call& c) {
  const Sizes& shape = c.shape("input");
  const int rank = static_cast<int>(shape.size());
  std::vector<int> axes(static_cast<std::size_t>(std::max(rank - 1, 0)));
  std::iota(axes.begin(), axes.end(), 1);
  if (c.has("axes")) axes = c.axes("axes", rank);
  Sizes row;
  for (const int axis : axes) row.push_back(shape[static_cast<std::size_t>(axis)]);
  for (const char* name : {"scale", "bias"}) {
    if (!c.has(name) || c.shape(name) == row) continue;
    c.fail("{} is {}, expected {}, the sizes of the axes of the input, which is {}", name, to_string(c.shape(name)),
           to_string(row), to_string(shape));
  }
  std::vector<int> order, back(static_cast<std::size_t>(rank));
  for (int i = 0; i < rank; ++i) {
    if (std::ranges::find(axes, i) == axes.end()) order.push_back(i);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  for (int i = 0; i < rank; ++i) back[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])] = i;
  const weft::Tensor x = permute(c.operand("input"), order);
  const std::int64_t length = element_count(to_shape(row));
  const auto flat = [&](const char* name) { return c.has(name) ? reshape(c.operand(name), {length}) : weft::Tensor(); };
  const weft::Tensor y =
      layer_norm(reshape(x, {x.size() / length, length}), flat("scale"), flat("bias"), epsilon(c), 1);
  return {permute(reshape(y, x.shape()), back)};
}

}  // namespace

void add_normalization_rows(std::vector<Op>& rows) {
  const auto weight = [](const char* name, int min_rank, int max_rank) {
    return optional(operand_as(name, "input", min_rank, max_rank));
  };
  const ArgumentSchema eps = option("epsilon", ArgumentKind::real, "1e-5");
  rows.push_back({{.name = "batchNormalization",
                   .section = "#api-mlgraphbuilder-batchnorm",
                   .arguments = {operand("input", kFloatTypes, 1), operand_as("mean", "input", 1, 1),
                                 operand_as("variance", "input", 1, 1), weight("scale", 1, 1), weight("bias", 1, 1),
                                 option("axis", ArgumentKind::size, "1"), eps},
                   .outputs = {result_as("input", 1)}},
                  batch_normalization_map});
  rows.push_back({{.name = "instanceNormalization",
                   .section = "#api-mlgraphbuilder-instancenorm",
                   .arguments = {operand("input", kFloatTypes, 4, 4), weight("scale", 1, 1), weight("bias", 1, 1), eps,
                                 option("layout", std::vector<std::string>{"nchw", "nhwc"})},
                   .outputs = {result_as("input", 4, 4)}},
                  instance_normalization_map});
  rows.push_back({{.name = "layerNormalization",
                   .section = "#api-mlgraphbuilder-layernorm",
                   .arguments = {operand("input", kFloatTypes), weight("scale", 0, kMaxRank),
                                 weight("bias", 0, kMaxRank), option("axes", ArgumentKind::sizes), eps},
                   .outputs = {result_as("input")}},
                  layer_normalization_map});
}

}  // namespace weft::webnn
