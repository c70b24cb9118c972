// Constants on a device, shared by the executables that use the store, and the scratch memory that they share.
#pragma once

#include <map>
#include <mutex>

#include "cpu/packed_weight_cache.h"
#include "graph/constant.h"
#include "weft/compile.h"

namespace weft {

class ConstantStore {
 public:
  explicit ConstantStore(Device device) : device_(std::move(device)) {}
  const Device& device() const { return device_; }

  // The constant's memory on the device; on the CPU the host's own where it is aligned. On a GPU the bytes come with
  // fill(), so that kernels may be compiled meanwhile. Throws OutOfMemory.
  Buffer get(const ConstantPtr& constant);
  // Computes the recipes among the constants that were asked for, and uploads. If it throws, or if drop_unfilled() is
  // called instead, those that have no bytes yet are forgotten. Throws OutOfMemory, DeviceLost.
  void fill();
  void drop_unfilled();
  // Forgets constants whose owners are gone: their addresses say nothing any more. Comes before get().
  void drop_orphans();
  // Other forms of constants, which the CPU's kernels make.
  cpu::PackedWeightCache& packed_weights() { return packed_weights_; }
  // What f16 would cost the constant (compiler/precision.h): measured at the first request.
  double f16_error(const Constant& constant, const std::function<double()>& measure);
  // Of what is kept for later requests.
  std::uint64_t bytes() const { return bytes_; }

  // What uses the store's scratch memory.
  class User {
   public:
    virtual ~User() = default;
    // Larger buffers are about to take the place of those that it got: it lets go of them and asks anew when it runs.
    virtual void drop_scratch() = 0;
    // All memory of the store's device goes: it lets go of everything there.
    virtual void leave(const Device& next) = 0;
  };
  void add(User& user) { users_.push_back(&user); }
  void remove(User& user) { std::erase(users_, &user); }
  // Buffers of at least these sizes for intermediates. Executables run one after the other, so that all that share the
  // store use the same ones, and together take what the largest takes. Throws OutOfMemory.
  std::vector<Buffer> scratch(std::span<const std::uint64_t> sizes);
  // To another device: nothing is there yet, each user asks anew.
  void move_to(const Device& device);
  // Held while an executable of the store is made or runs.
  std::mutex& running() { return running_; }

 private:
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
  cpu::PackedWeightCache packed_weights_;
  std::map<std::string, Measured, std::less<>> measured_;
  std::mutex measuring_;
  std::vector<Unfilled> unfilled_;
  std::uint64_t bytes_ = 0;
  std::vector<Buffer> scratch_;  // largest first
  std::vector<User*> users_;
  std::mutex running_;
};

}  // namespace weft
