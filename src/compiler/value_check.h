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
  // Of a node of a CheckedOp; `info`: the data of its operand 1.
  ValueCheck(OpPtr checked, TensorType type, DataPtr info)
      : op_(std::move(checked)), type_(std::move(type)), info_(std::move(info)) {}

  // True if it has been made, and all is well.
  bool passed() const;
  // Makes it, once: asks the device now, and throws LinAlgError or DeviceLost when the answer is taken. It must outlive
  // the future.
  Future<void> async_require() const;

 private:
  void take(std::span<const std::byte> info) const;
  void throw_failure() const;

  OpPtr op_;
  TensorType type_;
  mutable std::mutex mutex_;
  mutable DataPtr info_;  // null: the check has been made
  mutable std::optional<std::string> failure_;
};
using ValueChecks = std::vector<std::shared_ptr<const ValueCheck>>;

// Adds those of `more` that are neither there nor passed. So that a loop that nobody reads does not collect them
// without end, many are made at once, which waits for the device: afterwards those are left that failed.
void add_checks(ValueChecks& checks, const ValueChecks& more);

}  // namespace weft
