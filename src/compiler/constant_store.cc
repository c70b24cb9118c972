#include "compiler/constant_store.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "gpu/context.h"
#include "weft/memory.h"

namespace weft {
namespace {

// Bindings are whole words, so buffer sizes are too, and none is 0.
std::uint64_t buffer_size(std::uint64_t bytes) { return std::max<std::uint64_t>((bytes + 15) / 16 * 16, 16); }

}  // namespace

std::shared_ptr<ConstantStore> make_constant_store(const Device& device) {
  return std::make_shared<ConstantStore>(device);
}

Buffer ConstantStore::get(const ConstantPtr& constant) {
  if (const auto it = entries_.find(constant->key()); it != entries_.end()) return it->second.buffer;
  Buffer buffer;
  if (device_.is_gpu()) {
    buffer = allocate(buffer_size(byte_size(constant->type())));
    unfilled_.push_back({buffer, constant});
  } else {
    const TensorData data = constant->data();
    const auto address = reinterpret_cast<std::uintptr_t>(data.bytes.data());
    const std::uintptr_t element = std::max(bits(data.dtype) / 8, 1);
    const bool in_place = address % element == 0;
    if (in_place) {
      buffer = Buffer::borrow(data.bytes, data.owner);
    } else {
      buffer = allocate(buffer_size(data.bytes.size()));
      device_.upload(buffer, 0, data.bytes);
    }
    if (constant->shareable()) packed_weights_.add(buffer, constant->owners());
    if (in_place && !constant->is_deferred()) return buffer;
  }
  if (constant->shareable()) {
    bytes_ += buffer.size();
    entries_.emplace(constant->key(), Entry{buffer, constant->owners()});
  }
  return buffer;
}

double ConstantStore::f16_error(const Constant& constant, const std::function<double()>& measure) {
  const std::lock_guard lock(measuring_);
  std::erase_if(measured_, [](const auto& m) {
    return std::ranges::any_of(m.second.owners, [](const auto& o) { return o.expired(); });
  });
  if (const auto it = measured_.find(constant.key()); it != measured_.end()) return it->second.error;
  const double error = measure();
  if (constant.shareable()) measured_.emplace(constant.key(), Measured{error, constant.owners()});
  return error;
}

void ConstantStore::fill() {
  try {
    while (!unfilled_.empty()) {
      const Unfilled& next = unfilled_.back();
      device_.upload(next.buffer, 0, next.constant->data().bytes);
      unfilled_.pop_back();
    }
  } catch (...) {
    drop_unfilled();
    throw;
  }
}

void ConstantStore::drop_unfilled() {
  for (const Unfilled& u : unfilled_) {
    const auto it = entries_.find(u.constant->key());
    if (it == entries_.end() || it->second.buffer != u.buffer) continue;
    bytes_ -= u.buffer.size();
    entries_.erase(it);
  }
  unfilled_.clear();
}

void ConstantStore::drop_orphans() {
  packed_weights_.drop_orphans();
  std::erase_if(entries_, [&](const auto& entry) {
    const bool alive = std::ranges::none_of(entry.second.owners, [](const auto& o) { return o.expired(); });
    if (!alive) bytes_ -= entry.second.buffer.size();
    return !alive;
  });
}

std::vector<Buffer> ConstantStore::scratch(std::span<const std::uint64_t> sizes) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return sizes[i]; });
  const auto grow = [&] {
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::uint64_t size = sizes[order[k]];
      if (k == scratch_.size()) scratch_.emplace_back();
      if (scratch_[k].size() >= size) continue;
      // The old buffer goes back to the pool before the new one is allocated.
      for (User* user : users_) user->drop_scratch();
      scratch_[k] = Buffer();
      scratch_[k] = device_.allocate(size);
    }
  };
  // The other buffers may be larger than these sizes, or more than so many.
  IdleMemories::retry(grow, [&] { drop_scratch(); }, [&] { return memory::live(device_); });
  std::vector<Buffer> result(sizes.size());
  for (std::size_t k = 0; k < order.size(); ++k) result[order[k]] = scratch_[k];
  return result;
}

Buffer ConstantStore::allocate(std::uint64_t bytes) {
  return IdleMemories::retry([&] { return device_.allocate(bytes); }, [&] { drop_idle(); },
                             [&] { return memory::live(device_); });
}

void ConstantStore::drop_scratch() {
  for (User* user : users_) {
    user->drop_scratch();
    user->drop_idle();
  }
  scratch_.clear();
}

void ConstantStore::drop_idle() {
  if (const std::unique_lock unused(scratch_in_use_, std::try_to_lock); unused) return drop_scratch();
  for (User* user : users_) user->drop_idle();
}

void ConstantStore::give_back() {
  if (recording_.held_by_this_thread()) return;
  const gpu::CallbacksHeld held;
  const std::lock_guard lock(recording_);
  drop_idle();
}

const Buffer& ConstantStore::empty() {
  if (!empty_) empty_ = allocate(buffer_size(0));
  return empty_;
}

void ConstantStore::move_to(const Device& device) {
  for (User* user : users_) user->leave(device);
  unfilled_.clear();
  entries_.clear();
  bytes_ = 0;
  scratch_.clear();
  empty_ = {};
  device_ = device;
}

}  // namespace weft
