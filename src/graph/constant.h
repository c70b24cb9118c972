// What a constant holds: bytes that are there, or a recipe from other constants whose bytes are computed when somebody
// asks for them. Folding is cheap that way: a graph compiled again for another shape finds the result of a recipe on
// the device by its key, and computes nothing.
#pragma once

#include <functional>
#include <mutex>

#include "weft/graph.h"

namespace weft {

class Constant {
 public:
  // Throws InvalidArgument unless the bytes are those of the shape.
  explicit Constant(TensorData data);
  // `recipe` yields the bytes; `op` names the computation, and with `inputs` it is the identity.
  Constant(TensorType type, std::string_view op, std::span<const std::shared_ptr<const Constant>> inputs,
           std::function<TensorData()> recipe);

  const TensorType& type() const { return type_; }
  // Equal keys mean equal bytes while both constants are alive(). A large constant goes by its address and owner, a
  // small one by its content, a recipe by what it computes.
  const std::string& key() const { return key_; }
  // False if nothing else can ever be known to equal it: somewhere in it is memory without an owner.
  bool shareable() const { return key_.find('#') == std::string::npos; }
  // The memory that the key's addresses name, to tell whether it still is what it was.
  const std::vector<std::weak_ptr<const void>>& owners() const { return owners_; }
  // The bytes. A recipe's are computed, and while anybody holds them, or if they are few, handed out again.
  TensorData data() const;
  bool is_recipe() const { return recipe_ != nullptr; }

 private:
  TensorType type_;
  std::string key_;
  std::vector<std::weak_ptr<const void>> owners_;
  std::function<TensorData()> recipe_;
  TensorData data_;
  mutable std::mutex mutex_;
  mutable TensorData computed_;                     // its owner is in holder_, or it is few bytes
  mutable std::weak_ptr<const void> holder_;
};

using ConstantPtr = std::shared_ptr<const Constant>;

inline ConstantPtr make_constant(TensorData data) { return std::make_shared<const Constant>(std::move(data)); }

}  // namespace weft
