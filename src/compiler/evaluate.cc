#include "compiler/evaluate.h"

#include <algorithm>

#include <cstring>

#include "core/format.h"
#include "core/in_quotes.h"
#include "cpu/executor.h"
#include "graph/leaf.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"

namespace weft::compiler {
namespace {

// The tensor as a view for the CPU's kernels; copied if its address is not aligned.
View view_of(const TensorData& data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data.bytes.data());
  const std::uintptr_t element = std::max(bits(data.dtype) / 8, 1);
  if (address % element == 0) return View(Buffer::borrow(data.bytes, data.owner), 0, data.dtype, data.shape);
  Buffer copy = Buffer::host(data.bytes.size());
  std::memcpy(copy.data(), data.bytes.data(), data.bytes.size());
  return View(copy, 0, data.dtype, data.shape);
}

TensorData data_of(const View& view) {
  auto owner = std::make_shared<Buffer>(view.buffer);
  const std::uint64_t size = byte_size({view.dtype, view.shape()});
  if (size == 0) return {view.dtype, view.shape(), {}, owner};
  return {view.dtype, view.shape(), {owner->data(), static_cast<std::size_t>(size)}, owner};
}

View fresh(const TensorType& type) { return View(Buffer::host(byte_size(type)), 0, type.dtype, type.shape); }

}  // namespace

std::vector<TensorData> evaluate(const Op& op, std::span<const TensorData> inputs) {
  cpu::Executor cpu;
  std::vector<TensorType> types;
  std::vector<View> operands;
  for (const TensorData& d : inputs) {
    types.push_back({d.dtype, d.shape});
    operands.push_back(view_of(d));
  }
  std::vector<View> results;
  for (const TensorType& t : op.infer(types)) results.push_back(fresh(t));
  if (std::ranges::all_of(results, [](const View& v) { return v.count() == 0; })) {
    // Nothing to compute.
  } else if (op.is_view()) {
    const auto shown = op.view_layout(operands[0].layout);
    const std::int64_t bit = shown->offset * bits(operands[0].dtype);
    const View source(operands[0].buffer, operands[0].offset + static_cast<std::uint64_t>(bit / 8), operands[0].dtype,
                      shown->layout.shape, shown->layout.strides);
    kernels::copy(cpu, source, results[0]);
  } else {
    op.lower({cpu, operands, results});
  }
  std::vector<TensorData> data;
  for (const View& v : results) data.push_back(data_of(v));
  return data;
}

std::map<std::string, TensorData> evaluate(const Graph& graph, const std::map<std::string, TensorData>& inputs) {
  const Graph::Impl::NodeIndices index_in = graph.impl().node_indices();
  std::vector<TensorData> values;  // of all results, in order
  for (const NodePtr& node : graph.impl().nodes()) {
    if (const InputOp* input = node->op().input()) {
      const auto it = inputs.find(input->input_name());
      if (it == inputs.end() || TensorType{it->second.dtype, it->second.shape} != node->types()[0]) {
        throw InvalidArgument("evaluate: input {} is missing or not {}", in_quotes(input->input_name()),
                              to_string(node->types()[0]));
      }
      values.push_back(it->second);
      continue;
    }
    if (const ConstantOp* constant = node->op().constant()) {
      values.push_back(constant->data()->data());
      continue;
    }
    std::vector<TensorData> operands;
    for (const Tensor& v : node->inputs()) operands.push_back(values[index_in.result(v)]);
    for (TensorData& result : evaluate(node->op(), operands)) values.push_back(std::move(result));
  }
  std::map<std::string, TensorData> outputs;
  for (const GraphPort& o : graph.impl().outputs) {
    outputs.emplace(o.name, values[index_in.result(o.value)]);
  }
  return outputs;
}

}  // namespace weft::compiler
