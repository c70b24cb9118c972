// An op and the elementwise nodes fused into its kernel (graph/fusion.h), as one group of a Grouping.
#pragma once

#include "compiler/grouping.h"

namespace weft::compiler {

struct FusedGroup {
  const Node* anchor = nullptr;                 // the op
  std::vector<const Node*> prologue, epilogue;  // in order: the epilogue's read the anchor's result

  // `repeated`: a node that the anchor computes again, though it is in another group.
  explicit FusedGroup(const Grouping::Group& group, const Node* repeated = nullptr);

  // The values from outside that the prologue reads, and those that the epilogue reads, each once.
  std::vector<Tensor> prologue_operands() const;
  std::vector<Tensor> epilogue_operands() const;
  // The op's own other operands.
  std::size_t own_operands() const;
  // False if the op or its epilogue reads, as an operand from memory, a value that the group itself computes.
  bool is_sound(const Grouping::Group& group) const;

  // The op with its prologue and epilogue, as Grouping::Make. `epilogue_input` is the spec's.
  std::vector<Tensor> make(DType epilogue_input, std::span<const Tensor> results, const Grouping::At& at) const;
};

// The number of nodes in the expressions of all these elementwise nodes.
std::size_t operation_count(std::span<const Node* const> nodes);

}  // namespace weft::compiler
