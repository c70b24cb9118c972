// What a constant holds: bytes that are there, or a recipe from other constants whose bytes are computed when somebody
// asks for them. Folding is cheap that way: a graph compiled again for another shape finds the result of a recipe on
// the device by its key, and computes nothing.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph.h"

namespace weft {

class Constant {
 public:
  // Throws InvalidArgument unless the bytes are those of the shape.
  explicit Constant(TensorData data);
  // `recipe` yields the bytes from those of `inputs`; `op` names the computation, and with `inputs` it is the identity.
  using Recipe = std::function<TensorData(std::span<const TensorData>)>;
  Constant(TensorType type, std::string_view op, std::vector<std::shared_ptr<const Constant>> inputs, Recipe recipe);
  Constant(const Constant&) = delete;
  Constant& operator=(const Constant&) = delete;
  ~Constant();  // without recursion, however long the chain of recipes

  const TensorType& type() const { return type_; }
  // Equal keys mean equal bytes while both constants are alive(). A large constant goes by its address and owner, a
  // small one by its content, a recipe by what it computes: by a digest of 128 bits where the text is long.
  const std::string& key() const { return key_; }
  // False if nothing else can ever be known to equal it: somewhere in it is memory without an owner.
  bool shareable() const { return shareable_; }
  // The memory that the key's addresses name, each once, to tell whether it still is what it was.
  const std::vector<std::weak_ptr<const void>>& owners() const;
  // The bytes. A recipe's are computed, and while anybody holds them, or if they are few, handed out again. Each recipe
  // on the way is computed once, and its bytes are dropped after their last use.
  TensorData data() const;
  bool is_recipe() const { return recipe_ != nullptr; }

 private:
  using Owners = std::vector<std::weak_ptr<const void>>;
  // Of inputs whose owners are known.
  std::shared_ptr<const Owners> joined_owners() const;
  // The bytes, if they need not be computed now.
  std::optional<TensorData> ready() const;
  TensorData keep(TensorData data) const;

  TensorType type_;
  std::string key_;
  bool shareable_ = true;
  std::vector<std::shared_ptr<const Constant>> inputs_;  // of the recipe
  Recipe recipe_;
  TensorData data_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Owners> owners_;  // null: nobody asked yet
  mutable TensorData computed_;                   // its owner is in holder_, or it is few bytes
  mutable std::weak_ptr<const void> holder_;
};

using ConstantPtr = std::shared_ptr<const Constant>;

inline ConstantPtr make_constant(TensorData data) { return std::make_shared<const Constant>(std::move(data)); }

}  // namespace weft
