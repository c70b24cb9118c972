// A constant: bytes, or a deferred computation on other constants that runs when the bytes are first read. Folding is
// cheap that way: a graph that is compiled again for another shape finds the result on the device by its key, and
// computes nothing.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph.h"

namespace weft {

class Constant : public std::enable_shared_from_this<Constant> {
 public:
  // Throws InvalidArgument unless the bytes are those of the shape.
  explicit Constant(TensorData data);
  // One element, of shape []; `bits`: its bytes, the low end first, which it holds itself.
  Constant(DType dtype, std::uint64_t bits);
  // Deferred: `compute` returns the bytes, given those of `inputs`. `op` and `inputs` together identify the
  // computation.
  using Compute = std::function<TensorData(std::span<const TensorData>)>;
  Constant(TensorType type, std::string_view op, std::vector<std::shared_ptr<const Constant>> inputs, Compute compute);
  Constant(const Constant&) = delete;
  Constant& operator=(const Constant&) = delete;
  ~Constant();  // without recursion, however long the chain of deferred constants

  const TensorType& type() const { return type_; }
  // Equal keys mean equal bytes while the owners() of both are alive. The key of a large constant is its address and
  // owner, of a small one its content, of a deferred one its computation; long keys are replaced by a 128-bit digest.
  const std::string& key() const {
    const std::string* made = key_.load(std::memory_order_acquire);
    return made ? *made : made_key();
  }
  // False if it depends on memory without an owner, whose lifetime is unknown, so that nothing else is known to equal
  // it.
  bool shareable() const { return shareable_; }
  // The owners of the memory that the key names by address, each once. The key is valid while all are alive.
  const std::vector<std::weak_ptr<const void>>& owners() const;
  // The bytes. Those of a deferred constant are computed once and shared while in use, or kept if they are few.
  // Deferred inputs are computed once each, and dropped after their last use.
  TensorData data() const;
  bool is_deferred() const { return compute_ != nullptr; }

 private:
  using Owners = std::vector<std::weak_ptr<const void>>;
  // The owners of all inputs.
  std::shared_ptr<const Owners> joined_owners() const;
  // The bytes, if they need not be computed now.
  std::optional<TensorData> ready() const;
  TensorData keep(TensorData data) const;
  static std::shared_ptr<const Owners> no_owners();
  const std::string& made_key() const;

  TensorType type_;
  std::optional<std::uint64_t> element_;                  // its bytes, if it holds them itself
  mutable std::atomic<const std::string*> key_{nullptr};  // null: not made yet, which for numbers is the rule
  bool shareable_ = true;
  std::vector<std::shared_ptr<const Constant>> inputs_;  // of compute_
  Compute compute_;
  TensorData data_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Owners> owners_;  // null: not collected yet
  mutable TensorData computed_;                   // its owner is in holder_, or it is few bytes
  mutable std::weak_ptr<const void> holder_;
};

using ConstantPtr = std::shared_ptr<const Constant>;

inline ConstantPtr make_constant(TensorData data) { return std::make_shared<const Constant>(std::move(data)); }
inline ConstantPtr make_constant(DType dtype, std::uint64_t bits) {
  return std::make_shared<const Constant>(dtype, bits);
}

}  // namespace weft
