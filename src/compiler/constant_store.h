// Constants on a device, shared by the executables that use the store, and the scratch memory that they share.
#pragma once

#include <map>
#include <mutex>

#include "core/idle_memory.h"
#include "core/owned_mutex.h"
#include "cpu/packed_weight_cache.h"
#include "graph/constant.h"
#include "weft/compile.h"

namespace weft {

class ConstantStore : public IdleMemory {
 public:
  explicit ConstantStore(Device device) : device_(std::move(device)) {}
  const Device& device() const { return device_; }

  // The constant's memory on the device; on the CPU the host's own memory if that is aligned. On a GPU fill() uploads
  // the bytes, so that kernels can be compiled meanwhile. Throws OutOfMemory.
  Buffer get(const ConstantPtr& constant);
  // Computes the deferred constants that were requested, and uploads all. If it throws, or if drop_unfilled() is
  // called instead, the constants that have no bytes yet are forgotten. Throws OutOfMemory, DeviceLost.
  void fill();
  void drop_unfilled();
  // Forgets constants whose owners are gone, because their addresses may be reused. Call it before get().
  void drop_orphans();
  // Packed forms of constants that the CPU's kernels make.
  PackedWeightCache& packed_weights() { return packed_weights_; }
  // The error of storing the constant as f16 (compiler/precision.h): measured at the first request.
  double f16_error(const Constant& constant, const std::function<double()>& measure);
  // Bytes of all stored constants.
  std::uint64_t bytes() const { return bytes_; }

  // A user of the store's scratch memory.
  class User {
   public:
    virtual ~User() = default;
    // Called before larger buffers replace those of scratch(): drops the old ones and requests new ones when it runs
    // next.
    virtual void drop_scratch() = 0;
    // Drops memory of its own that no run uses.
    virtual void drop_idle() = 0;
    // Called when the store moves to another device: drops everything that is in the old device's memory.
    virtual void leave(const Device& next) = 0;
  };
  void add(User& user) { users_.push_back(&user); }
  void remove(User& user) { std::erase(users_, &user); }
  // Buffers of at least these sizes for intermediates. Executables run one after the other, so all that share the store
  // use the same buffers, and together take as much memory as the largest. Throws OutOfMemory.
  std::vector<Buffer> scratch(std::span<const std::uint64_t> sizes);
  // Memory for one user, which holds recording(). Idle memory is released before it fails. Throws OutOfMemory.
  Buffer allocate(std::uint64_t bytes);
  // Releases the scratch memory, and that which users have beside it; the next run allocates it again.
  void drop_scratch();
  // The same, unless a run uses the scratch memory, for an allocation that would fail. Not if the thread holds
  // recording(): what it allocates comes from here.
  void give_back() override;
  // A buffer that stands for tensors without elements.
  const Buffer& empty();
  // Moves to another device: nothing is there yet, and each user requests its buffers again.
  void move_to(const Device& device);
  // Held while an executable of the store is made, or records its work: what shares scratch on a GPU is submitted as
  // one unit, even over several submits. Taken before the device's lock.
  OwnedMutex& recording() { return recording_; }
  // On the cpu held by the run that uses the scratch; a run that does not get it has memory of its own.
  OwnedMutex& scratch_in_use() { return scratch_in_use_; }

 private:
  void drop_idle();

  struct Entry {
    Buffer buffer;
    std::vector<std::weak_ptr<const void>> owners;
  };

  struct Measured {
    double error;
    std::vector<std::weak_ptr<const void>> owners;
  };

  struct Unfilled {
    Buffer buffer;
    ConstantPtr constant;
  };

  Device device_;
  std::map<std::string, Entry, std::less<>> entries_;
  PackedWeightCache packed_weights_;
  std::map<std::string, Measured, std::less<>> measured_;
  std::mutex measuring_;
  std::vector<Unfilled> unfilled_;
  std::uint64_t bytes_ = 0;
  std::vector<Buffer> scratch_;  // largest first
  Buffer empty_;
  std::vector<User*> users_;
  OwnedMutex recording_, scratch_in_use_;
};

}  // namespace weft
