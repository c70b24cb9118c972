#include "graph/constant.h"

#include <atomic>

#include "weft/error.h"

namespace weft {
namespace {

// Constants up to this size go by their content: scalars, shapes, small tables.
constexpr std::size_t kByContent = 64;

std::string key_of(const TensorData& data) {
  const std::string type = std::format("{}{}", name(data.dtype), to_string(data.shape));
  if (data.bytes.size() <= kByContent) {
    std::string hex;
    for (const std::byte b : data.bytes) hex += std::format("{:02x}", static_cast<unsigned>(b));
    return std::format("{}={}", type, hex);
  }
  // Nobody can say how long memory without an owner stays what it is, so it equals nothing else.
  static std::atomic<std::uint64_t> next{1};
  if (data.owner.use_count() == 0) return std::format("{}#{}", type, next++);
  return std::format("{}@{}", type, static_cast<const void*>(data.bytes.data()));
}

}  // namespace

Constant::Constant(TensorData data) : type_{data.dtype, data.shape}, key_(key_of(data)), data_(std::move(data)) {
  const std::uint64_t expected = byte_size(type_.dtype, static_cast<std::uint64_t>(element_count(type_.shape)));
  if (data_.bytes.size() != expected) {
    throw InvalidArgument("constant: {} takes {} bytes, {} given", to_string(type_), expected, data_.bytes.size());
  }
  if (key_.find('@') != std::string::npos) owners_.push_back(data_.owner);
}

Constant::Constant(TensorType type, std::string_view op, std::span<const std::shared_ptr<const Constant>> inputs,
                   std::function<TensorData()> recipe)
    : type_(std::move(type)), recipe_(std::move(recipe)) {
  key_ = std::format("{}(", op);
  for (const ConstantPtr& c : inputs) {
    key_ += c->key() + ",";
    owners_.insert(owners_.end(), c->owners().begin(), c->owners().end());
  }
  key_ += ")";
}

TensorData Constant::data() const {
  if (!recipe_) return data_;
  const std::lock_guard lock(mutex_);
  if (computed_.owner) return computed_;
  if (auto owner = holder_.lock()) {
    TensorData again = computed_;
    again.owner = std::move(owner);
    return again;
  }
  computed_ = recipe_();
  TensorData result = computed_;
  holder_ = computed_.owner;
  // Much is not kept twice, on the host and on the device.
  constexpr std::size_t kFew = 4096;
  if (result.bytes.size() > kFew) computed_.owner.reset();
  return result;
}

}  // namespace weft
