// Elementwise work fused into an op's kernel, as prologue and epilogue, and what an op can fuse.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "weft/graph.h"

namespace weft {

// The prologue and epilogue of a fused op. Operands: the op's own, with the prologue's inputs in place of the operand
// that it computes; then the epilogue's inputs except its first. Results: the epilogue's outputs, or without an
// epilogue the op's own; then the prologue's extra outputs.
struct Fusion {
  int operand = 0;  // which of the op's own the prologue computes
  // Output 0 is that operand; the others are the extra outputs. Its inputs broadcast.
  const Expression* prologue = nullptr;
  // Input 0, its first node, is the op's result before rounding; the others broadcast to it.
  const Expression* epilogue = nullptr;

  explicit operator bool() const { return prologue || epilogue; }
};

// A fused node's operands, grouped by what reads them.
template <class T>
struct FusedOperands {
  std::span<T> first;     // the op's own before the one that the prologue computes
  std::span<T> prologue;  // the prologue's inputs, or without one the operand itself
  std::span<T> rest;      // the op's own after it
  std::span<T> epilogue;  // the epilogue's inputs except its first
};
template <class T>
FusedOperands<T> split_operands(const Fusion& fusion, std::span<T> operands) {
  const auto first = static_cast<std::size_t>(fusion.operand);
  const auto before = static_cast<std::size_t>(fusion.prologue ? fusion.prologue->input_count() : 1);
  const auto after = static_cast<std::size_t>(fusion.epilogue ? fusion.epilogue->input_count() - 1 : 0);
  return {operands.first(first), operands.subspan(first, before),
          operands.subspan(first + before, operands.size() - first - before - after), operands.last(after)};
}

// The compiler fuses in this order: elementwise work that two ops could take goes to the op of the earlier stage.
enum class FusionStage : std::uint8_t { none, product, reduction, row };

// What happens to a prologue whose result is also needed elsewhere.
enum class SharedPrologue : std::uint8_t {
  separate,  // it stays a separate kernel
  repeated,  // if it is cheap, it is computed again
  stored,    // its result is an extra output
};

// What an op can fuse into its kernel.
struct FusionSpec {
  bool prologue = false;    // an expression may compute operand fusion().operand
  int prologue_passes = 1;  // how often each of its elements is read and computed
  SharedPrologue shared = SharedPrologue::separate;

  // Other elementwise work on the prologue's operands may be fused as extra outputs, also if the op does not need it.
  bool extra_outputs = false;
  bool narrow_extra_outputs = true;  // also of less than 32 bits

  int epilogue_outputs = 0;           // how many results the epilogue may have, the op's own included; 0: no epilogue
  DType epilogue_input = DType::f32;  // what the op's result is before rounding, which the epilogue takes

  bool again = false;           // an op with a prologue may get an epilogue too, and the reverse
  bool narrow_operands = true;  // when fused, operands may be stored in a narrower type, converted as they are read
  bool narrow_results = true;   // and so may the epilogue's results
  bool doubles = false;         // on GPUs, which have no f64: expressions may convert from and to it

  std::size_t max_operations = std::numeric_limits<std::size_t>::max();  // nodes of either expression
  std::uint64_t max_view = std::numeric_limits<std::uint64_t>::max();    // bytes of a tensor of which it reads views
  int bindings = 0;                                                      // storage buffers beside operands and results
  double work = 0;  // of several ops that could fuse the same epilogue, the one with the most work does
};

// An expression that grows and has no two equal nodes: finds those that are there already by a hash.
class SharedNodes {
 public:
  explicit SharedNodes(Expression& e) : e_(e) {}
  // The node that equals this one, or a new one. Not for inputs.
  int put(const Expression::Node& node);

 private:
  int find(const Expression::Node& node);

  Expression& e_;
  std::unordered_multimap<std::uint64_t, int> known_;  // by hash; of few nodes none
  std::size_t indexed_ = 0;                            // the first so many nodes are in it
};

// Adds what `from` computes to `to`: input i of `from` is node args[i]. Nodes that are there already are used again.
// Returns the nodes of from's outputs.
std::vector<int> splice(Expression& to, const Expression& from, std::span<const int> args);
std::vector<int> splice(SharedNodes& to, const Expression& from, std::span<const int> args);

// Adds inputs for operands that are stored as `to` to `e`, converted to what they were, `from`. Returns those nodes.
std::vector<int> converted_inputs(Expression& e, std::span<const TensorType> to, std::span<const TensorType> from);

}  // namespace weft
