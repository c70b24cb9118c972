// What is still to be found out about values: an operation may find while it runs that its result does not exist, and
// nobody waits for it then. The data of all that depends on the result carry the check, and the first read makes it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "graph/node.h"
#include "weft/future.h"

namespace weft {

class ValueCheck {
 public:
  // Of a node of a CheckedOp; `info`: the data of its operand 1; `line`: the node's.
  ValueCheck(OpPtr checked, TensorType type, DataPtr info, const SourceLine& line)
      : op_(std::move(checked)), type_(std::move(type)), line_(line), info_(std::move(info)) {}

  // True if it has been made, and all is well; what was found otherwise.
  bool passed() const;
  bool failed() const;
  // Asks the device, once. Does not look for the answer.
  void start() const;
  // The same, and is made if the answer is there: then it returns true. Does not wait.
  bool ask() const;
  // Waits for the answer, the one that was asked for if there is one. Throws LinAlgError or DeviceLost.
  void require() const;
  // Makes it, once: asks the device now, and throws LinAlgError or DeviceLost when the answer is taken. It must outlive
  // the future.
  Future<void> async_require() const;

 private:
  void take(std::span<const std::byte> info) const;
  void throw_failure() const;

  OpPtr op_;
  TensorType type_;
  SourceLine line_;
  mutable std::mutex mutex_;
  mutable DataPtr info_;  // null: the check has been made
  mutable std::optional<std::string> failure_;
  mutable Future<void> asked_;
};
using ValueChecks = std::vector<std::shared_ptr<const ValueCheck>>;

// Adds those of `more` that are neither there nor passed. So that a loop that nobody reads does not collect them
// without end, many are asked for, and those that passed leave when the answers are there; of those that failed one is
// kept. While there are too many it waits for them, where it may.
void add_checks(ValueChecks& checks, const ValueChecks& more);

}  // namespace weft
