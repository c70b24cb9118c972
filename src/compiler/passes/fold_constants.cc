#include "compiler/passes/fold_constants.h"

#include "compiler/evaluate.h"
#include "compiler/rewrite.h"
#include "graph/leaf.h"
#include "graph/walk.h"

namespace weft::compiler {
namespace {

// Results of up to this many elements are folded whatever their constants' size: 64 KiB of f32 are as good as nothing
// beside a weight, and mostly save a kernel.
constexpr std::int64_t kSmall = 16384;
// Of indices alone: what is computed where it is used costs less than memory that is read, but for a page or so, which
// is at hand.
constexpr std::int64_t kFewIndices = 1024;

// Names of constants that a result is made of are listed up to this length.
constexpr std::size_t kNames = 1024;

// What the node computes of constants. Requires an op that the CPU computes, of one result.
ConstantPtr deferred(const Node& node, std::vector<ConstantPtr> inputs) {
  const OpPtr op = node.shared_op();
  return std::make_shared<const Constant>(node.types()[0], op->identity(), std::move(inputs),
                                          [op](std::span<const TensorData> data) { return evaluate(*op, data)[0]; });
}

bool may_fold(const Node& node) {
  return node.op().has_reference() && !node.inputs().empty() && node.types().size() == 1;
}

// The node as a constant, if those of its operands are in `known`; null if it is none.
ConstantPtr as_constant(const Node& node, const NodeMap<ConstantPtr>& known) {
  if (const ConstantOp* constant = node.op().constant()) return constant->data();
  if (node.op().is_iota()) return deferred(node, {});
  if (!may_fold(node)) return nullptr;
  std::vector<ConstantPtr> inputs;
  for (const Tensor& v : node.inputs()) {
    inputs.push_back(*known.find(*v.node()));
    if (!inputs.back()) return nullptr;
  }
  return deferred(node, std::move(inputs));
}

}  // namespace

ConstantPtr Constants::of(const Tensor& v) {
  const auto stop = [&](const Node& node) { return known_.contains(node) || !may_fold(node); };
  for (const Node* node : walk(std::span(&v, 1), stop).nodes) {
    if (!known_.contains(*node)) known_[*node] = as_constant(*node, known_);
  }
  return known_[*v.node()];
}

ConstantPtr constant_of(const Tensor& v) { return Constants().of(v); }

Graph fold_constants(const Graph& graph, const PassContext&) {
  Rewriter r(graph);
  Constants constants;
  return r.run([&](const Node& node) -> Tensor {
    if (node.op().is_leaf() || node.op().is_view() || !may_fold(node)) return {};
    std::int64_t stored = 0;                                   // elements of the constants
    std::int64_t most = element_count(node.types()[0].shape);  // of the result, or of an operand as the op sees it
    std::string names;                                         // of the constants it is made of, for reports
    bool indices = false, tables = false;
    for (const Tensor& v : node.inputs()) {
      const Tensor& now = r.at(v);
      const Tensor root = root_of(now);
      most = std::max(most, element_count(v.shape()));
      if (root.node()->op().is_iota()) {
        indices = true;
        continue;
      }
      const ConstantOp* constant = constant_op(root);
      if (!constant) return {};
      const std::string& name = constant->constant_name();
      if (!name.empty() && names.size() < kNames && names.find(name) == std::string::npos) {
        names += (names.empty() ? "" : "+") + name;
      }
      tables |= root.rank() > 0;
      stored += element_count(root.shape());
    }
    // Broadcasts of constants are as dense as they look when they are computed here.
    if (most > (indices && !tables ? kFewIndices : std::max(stored, kSmall))) return {};
    std::vector<ConstantPtr> inputs;
    for (const Tensor& v : node.inputs()) {
      inputs.push_back(constants.of(r.at(v)));
      if (!inputs.back()) return {};
    }
    return apply(make_op<ConstantOp>(deferred(node, std::move(inputs)), std::move(names)), {});
  });
}

}  // namespace weft::compiler
