// Derivatives by the ops' own rules (Op::vjp, Op::jvp). What they record are ordinary nodes, of which derivatives may
// be taken again.
#pragma once

#include <span>
#include <vector>

#include "graph/walk.h"

namespace weft {

// Reverse mode: the cotangents of the variables, given those of the outputs, which may be undefined for zeros. A
// variable on which no output depends gets an undefined one. Variables are results of nodes of their own (identity()),
// older than all that depends on them. Throws Unsupported for an op without a rule.
std::vector<Tensor> pull_back(std::span<const Tensor> outputs, std::span<const Tensor> cotangents,
                              std::span<const Tensor> variables);

// Forward mode: the tangents of the outputs, given those of the variables; undefined ones are zeros.
std::vector<Tensor> push_forward(std::span<const Tensor> outputs, std::span<const Tensor> variables,
                                 std::span<const Tensor> tangents);

// The same outputs with equal nodes computed once, as far as they depend on nodes that are not older than `since`.
std::vector<Tensor> merge_equal(std::span<const Tensor> outputs, std::uint64_t since);

// What some outputs compute from variables: the nodes that lie between, with their operands held.
class Dependence {
 public:
  Dependence(std::span<const Tensor> outputs, std::span<const Tensor> variables);
  const std::vector<const Node*>& nodes() const { return walk_.nodes; }  // operands before users
  int index_of(const Node& node) const { return walk_.indices.find(node); }
  bool depends(const Node& node) const {
    const int k = index_of(node);
    return k >= 0 && depends_[static_cast<std::size_t>(k)];
  }
  bool is_variable(const Node& node) const { return variables_.contains(node); }

  // Only along inexact types, as derivatives go.
  void restrict_to_inexact();

 private:
  NodeIds variables_;
  Walk walk_;
  std::vector<char> depends_;
  std::shared_ptr<RetainedInputs> retained_;
};

}  // namespace weft
