// Memory that is kept to be used again, and given back before an allocation fails.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/error.h"

namespace weft {

class IdleMemory {
 public:
  virtual ~IdleMemory() = default;
  // Releases memory that is not in use. Called on any thread that allocates, which may hold any locks but those of the
  // pool and the device.
  virtual void give_back() = 0;
};

// All of it in one pool.
class IdleMemories {
 public:
  void add(std::weak_ptr<IdleMemory> memory) {
    const std::lock_guard lock(mutex_);
    std::erase_if(all_, [](const auto& m) { return m.expired(); });
    all_.push_back(std::move(memory));
  }

  void give_back() const {
    std::vector<std::weak_ptr<IdleMemory>> all;
    {
      const std::lock_guard lock(mutex_);
      all = all_;
    }
    for (const auto& m : all) {
      if (const auto memory = m.lock()) memory->give_back();
    }
  }

  // What allocate() returns; if it throws OutOfMemory, release(), and a second try if fewer bytes are live() then.
  template <class Allocate, class Release, class Live>
  static auto retry(const Allocate& allocate, const Release& release, const Live& live) {
    try {
      return allocate();
    } catch (const OutOfMemory&) {
      const std::uint64_t before = live();
      release();
      if (live() >= before) throw;
    }
    return allocate();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<IdleMemory>> all_;
};

}  // namespace weft
