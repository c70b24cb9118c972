#include "graph/constant.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <set>
#include <unordered_map>

#include "core/format.h"
#include "core/visits.h"
#include "weft/error.h"

namespace weft {
namespace {

// Constants up to this size go by their content: scalars, shapes, small tables.
constexpr std::size_t kByContent = 64;
// Keys are at most this long, so that those of chains of deferred constants do not grow.
constexpr std::size_t kLongestKey = 256;

std::string key_of(const TensorData& data) {
  const std::string type = std::format("{}{}", name(data.dtype), to_string(data.shape));
  if (data.bytes.size() <= kByContent) {
    std::string hex;
    for (const std::byte b : data.bytes) hex += std::format("{:02x}", static_cast<unsigned>(b));
    return std::format("{}={}", type, hex);
  }
  // Memory without an owner may change or be freed at any time, so such a constant equals no other.
  static std::atomic<std::uint64_t> next{1};
  if (data.owner.use_count() == 0) return std::format("{}#{}", type, next++);
  return std::format("{}@{}", type, static_cast<const void*>(data.bytes.data()));
}

// Two hashes of 64 bits that have nothing in common but their finaliser, that of splitmix64.
std::string digest(std::string_view text) {
  std::uint64_t halves[2] = {0x9e3779b97f4a7c15u, 0xd1b54a32d192ed03u};
  const std::uint64_t factors[2] = {0xff51afd7ed558ccdu, 0xc4ceb9fe1a85ec53u};
  for (int k = 0; k < 2; ++k) {
    std::uint64_t h = halves[k] ^ text.size();
    for (const char c : text) {
      h = (h ^ static_cast<unsigned char>(c)) * factors[k];
      h ^= h >> 32;
    }
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    halves[k] = h ^ (h >> 31);
  }
  return std::format("~{:016x}{:016x}", halves[0], halves[1]);
}

// Inputs of constants that are being destroyed on this thread, which wait for their turn.
thread_local std::vector<ConstantPtr>* dying = nullptr;

// Calls `visit(constant)` for what `root` is made of and then for itself, each once, but not for what `done` holds of
// already.
template <class Done, class Inputs, class Visit>
void post_order(const Constant& root, Done&& done, Inputs&& inputs, Visit&& visit) {
  std::vector<std::pair<const Constant*, std::size_t>> open{{&root, 0}};
  while (!open.empty()) {
    auto& [constant, next] = open.back();
    count_visits();
    if (done(*constant)) {
      open.pop_back();
    } else if (const auto& list = inputs(*constant); next < list.size()) {
      const Constant* input = list[next++].get();
      open.emplace_back(input, 0);
    } else {
      visit(*constant);
      open.pop_back();
    }
  }
}

}  // namespace

Constant::Constant(TensorData data) : type_{data.dtype, data.shape}, data_(std::move(data)) {
  const std::uint64_t expected = byte_size(type_.dtype, static_cast<std::uint64_t>(element_count(type_.shape)));
  if (data_.bytes.size() != expected) {
    throw InvalidArgument("constant: {} takes {} bytes, {} given", to_string(type_), expected, data_.bytes.size());
  }
  const bool by_content = data_.bytes.size() <= kByContent;
  shareable_ = by_content || data_.owner.use_count() != 0;
  owners_ = by_content || !shareable_ ? no_owners() : std::make_shared<const Owners>(Owners{data_.owner});
}

Constant::Constant(DType dtype, std::uint64_t bits) : type_{dtype, {}}, element_(bits), owners_(no_owners()) {}

Constant::Constant(TensorType type, std::string_view op, std::vector<ConstantPtr> inputs, Compute compute)
    : type_(std::move(type)), inputs_(std::move(inputs)), compute_(std::move(compute)) {
  std::string key = std::format("{}(", op);
  for (const ConstantPtr& c : inputs_) {
    key += c->key() + ",";
    shareable_ &= c->shareable();
  }
  key += ")";
  key_ = new std::string(key.size() > kLongestKey ? digest(key) : std::move(key));
}

const std::string& Constant::made_key() const {
  auto mine = std::make_unique<const std::string>(key_of(*ready()));
  const std::string* theirs = nullptr;
  if (key_.compare_exchange_strong(theirs, mine.get(), std::memory_order_acq_rel)) return *mine.release();
  return *theirs;
}

std::shared_ptr<const Constant::Owners> Constant::no_owners() {
  static const auto& none = *new std::shared_ptr<const Owners>(new Owners);
  return none;
}

Constant::~Constant() {
  delete key_.load(std::memory_order_relaxed);
  if (inputs_.empty()) return;
  if (dying) {
    std::ranges::move(inputs_, std::back_inserter(*dying));
    return;
  }
  std::vector<ConstantPtr> waiting = std::move(inputs_);
  dying = &waiting;
  while (!waiting.empty()) {
    const ConstantPtr next = std::move(waiting.back());
    waiting.pop_back();
  }
  dying = nullptr;
}

std::shared_ptr<const Constant::Owners> Constant::joined_owners() const {
  std::shared_ptr<const Owners> joined = no_owners();
  for (const ConstantPtr& c : inputs_) {
    if (c->owners_->empty() || c->owners_ == joined) continue;
    if (joined->empty()) {
      joined = c->owners_;
      continue;
    }
    std::set<std::weak_ptr<const void>, std::owner_less<>> all(joined->begin(), joined->end());
    const std::size_t before = all.size();
    all.insert(c->owners_->begin(), c->owners_->end());
    if (all.size() > before) joined = std::make_shared<const Owners>(all.begin(), all.end());
  }
  return joined;
}

const std::vector<std::weak_ptr<const void>>& Constant::owners() const {
  // One lock for all: it is asked once for each constant of an executable.
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  post_order(
      *this, [](const Constant& c) { return c.owners_ != nullptr; },
      [](const Constant& c) -> auto& { return c.inputs_; }, [](const Constant& c) { c.owners_ = c.joined_owners(); });
  return *owners_;
}

std::optional<TensorData> Constant::ready() const {
  if (element_) {
    const auto bytes = std::as_bytes(std::span(&*element_, 1)).first(byte_size(type_));
    return TensorData{type_.dtype, type_.shape, bytes, shared_from_this()};
  }
  if (!compute_) return data_;
  const std::lock_guard lock(mutex_);
  if (computed_.owner) return computed_;
  auto owner = holder_.lock();
  if (!owner) return std::nullopt;
  TensorData again = computed_;
  again.owner = std::move(owner);
  return again;
}

TensorData Constant::keep(TensorData data) const {
  const std::lock_guard lock(mutex_);
  computed_ = data;
  holder_ = data.owner;
  // Much is not kept twice, on the host and on the device.
  constexpr std::size_t kFew = 4096;
  if (data.bytes.size() > kFew) computed_.owner.reset();
  return data;
}

TensorData Constant::data() const {
  if (auto known = ready()) return *std::move(known);
  std::unordered_map<const Constant*, TensorData> computed;
  std::unordered_map<const Constant*, int> uses;
  std::vector<const Constant*> order;  // of what must be computed
  std::set<const Constant*> seen;
  post_order(
      *this,
      [&](const Constant& c) {
        if (computed.contains(&c) || seen.contains(&c)) return true;
        if (auto known = c.ready()) return computed.emplace(&c, *std::move(known)), true;
        return false;
      },
      [](const Constant& c) -> auto& { return c.inputs_; },
      [&](const Constant& c) {
        seen.insert(&c);
        order.push_back(&c);
        for (const ConstantPtr& input : c.inputs_) ++uses[input.get()];
      });
  for (const Constant* c : order) {
    std::vector<TensorData> inputs;
    for (const ConstantPtr& input : c->inputs_) inputs.push_back(computed.at(input.get()));
    computed[c] = c->keep(c->compute_(inputs));
    for (const ConstantPtr& input : c->inputs_) {
      if (--uses[input.get()] == 0) computed.erase(input.get());
    }
  }
  return computed.at(this);
}

}  // namespace weft
