// A stream that runs nothing: it only generates shaders, which shows what a device does not support.
#pragma once

#include <string>
#include <utility>

#include "weft/gpu.h"

namespace weft::gpu {

class ShadersOnly final : public Commands {
 public:
  explicit ShadersOnly(Device device) : device_(std::move(device)) {}
  Device& device() override { return device_; }
  void dispatch(const Dispatch& dispatch) override { last_ = dispatch.make_wgsl(); }
  void dispatch(const std::shared_ptr<const PreparedDispatch>&, std::span<const Binding>,
                std::span<const NumberParam>) override {}
  Buffer scratch(std::uint64_t bytes) override { return Buffer::placeholder(bytes); }
  // The last dispatch's; empty if there was none.
  const std::string& last() const { return last_; }

 private:
  Device device_;
  std::string last_;
};

}  // namespace weft::gpu
