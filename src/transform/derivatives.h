// Derivatives by the ops' own rules (Op::vjp, Op::jvp). What they record are ordinary nodes, of which derivatives may
// be taken again.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/walk.h"
#include "ops/identity.h"

namespace weft {

// What some outputs compute from variables, which are results of nodes of their own (identity()), older than all that
// depends on them: the nodes that lie between, whose operands it holds.
class Dependence {
 public:
  enum class Along : std::uint8_t {
    all,      // any operand
    inexact,  // floats and complex numbers, as derivatives go
  };
  Dependence(std::span<const Tensor> outputs, std::span<const Tensor> variables, Along along);

  const std::vector<const Node*>& nodes() const { return walk_.nodes; }  // operands before users
  bool depends(const Node& node) const {
    const int k = walk_.indices.find(node);
    return k >= 0 && depends_[static_cast<std::size_t>(k)];
  }
  bool is_variable(const Node& node) const { return variables_.contains(node); }
  // The nodes that are results of the call with derivatives of its own, of which the node is one, in the order in which
  // they were made; some may be the same result.
  const std::vector<const Node*>& results_of_call(const Node& node) const {
    return calls_.at(CustomResultOp::call_of(node));
  }

 private:
  NodeIds variables_;
  Walk walk_;
  std::vector<char> depends_;
  std::unordered_map<std::string, std::vector<const Node*>> calls_;
  RetainedInputs retained_;
};

// Reverse mode: the cotangents of the variables, given those of the outputs, which may be undefined for zeros. A
// variable on which no output depends gets an undefined one. Throws Unsupported for an op without a rule.
std::vector<Tensor> pull_back(std::span<const Tensor> outputs, std::span<const Tensor> cotangents,
                              std::span<const Tensor> variables);
// The same, if the dependence along inexact types is known.
std::vector<Tensor> pull_back(const Dependence& dependence, std::span<const Tensor> outputs,
                              std::span<const Tensor> cotangents, std::span<const Tensor> variables);

// Forward mode: the tangents of the outputs, given those of the variables; undefined ones are zeros.
std::vector<Tensor> push_forward(std::span<const Tensor> outputs, std::span<const Tensor> variables,
                                 std::span<const Tensor> tangents);
std::vector<Tensor> push_forward(const Dependence& dependence, std::span<const Tensor> outputs,
                                 std::span<const Tensor> variables, std::span<const Tensor> tangents);

// The same outputs with equal nodes computed once, as far as they are not older than `since`.
std::vector<Tensor> merge_equal(std::span<const Tensor> outputs, std::uint64_t since);

}  // namespace weft
