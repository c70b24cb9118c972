// Functions that are being differentiated. Values are concrete while one runs: what it reads is evaluated, and nodes
// with data let their operands go. Those that depend on its variables must keep them until the derivative is recorded.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_set>

namespace weft {

class Node;

// One run of a function. Runs are nested: an inner one may be part of what an outer one differentiates.
class Differentiation {
 public:
  explicit Differentiation(std::shared_ptr<const Differentiation> outer);

  // Whether it, or one around it, still runs: then nodes that depend on its variables keep their operands.
  bool active() const;
  // How many are around it.
  int depth() const { return depth_; }
  // Notes a node that was evaluated and kept its operands. False: nothing runs any more.
  bool keep(const Node& node) const;
  // The node is being deleted.
  void forget(const Node& node) const;
  // The derivative is recorded: nodes let their operands go, as far as no outer one needs them.
  void end();

 private:
  const std::shared_ptr<const Differentiation> outer_;
  const int depth_;
  std::atomic<bool> runs_{true};
  mutable std::mutex mutex_;
  mutable std::unordered_set<const Node*> kept_;
};
using DifferentiationPtr = std::shared_ptr<const Differentiation>;

// While it lives the thread runs a function that is differentiated.
class DifferentiationScope {
 public:
  DifferentiationScope();
  ~DifferentiationScope();
  DifferentiationScope(const DifferentiationScope&) = delete;
  DifferentiationScope& operator=(const DifferentiationScope&) = delete;
  DifferentiationPtr get() const { return run_; }

 private:
  const std::shared_ptr<Differentiation> run_;
  const DifferentiationPtr before_;
};

// Whether the thread runs such a function.
bool differentiating();

}  // namespace weft
