// Timing of kernel calls whose operands come from memory, not from a cache: each call of a batch takes its own slot of
// large buffers.
#pragma once

#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "wake.h"
#include "weft/gpu.h"
#include "weft/view.h"

namespace weft::bench {

inline double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Whether a case is asked for: its name holds `only`, or one of several texts parted by |.
inline bool asked_for(std::string_view name, std::string_view only) {
  for (;;) {
    const std::size_t end = only.find('|');
    if (name.find(only.substr(0, end)) != std::string_view::npos) return true;
    if (end == std::string_view::npos) return false;
    only.remove_prefix(end + 1);
  }
}

// What a call reads or writes: a tensor's type and shape.
struct Tensor {
  DType type = DType::f32;
  Shape shape;
  std::uint64_t bytes() const { return byte_size(type, static_cast<std::uint64_t>(element_count(shape))); }
};

class Bandwidth {
 public:
  using Call = std::function<void(Stream& stream, std::span<const View> operands)>;

  explicit Bandwidth(gpu::Device device, std::string only = {}) : device_(std::move(device)), only_(std::move(only)) {}
  gpu::Device& device() { return device_; }

  // Prints microseconds a call and GB/s of `moved` bytes. Calls wait for each other, since they write one buffer. The
  // first `inputs` tensors hold random bits of ordinary floats.
  void run(const std::string& name, std::span<const Tensor> tensors, std::size_t inputs, std::uint64_t moved,
           const Call& call) {
    if (!asked_for(name, only_)) return;
    const double t = time(tensors, inputs, call);
    std::printf("%-56s %9.1f us %6.0f GB/s\n", name.c_str(), t * 1e6, static_cast<double>(moved) / t * 1e-9);
    std::fflush(stdout);
  }

 private:
  static constexpr std::uint64_t kCold = std::uint64_t{512} << 20;  // well past any cache

  double time(std::span<const Tensor> tensors, std::size_t inputs, const Call& call) {
    std::uint64_t bytes = 0;
    for (const Tensor& t : tensors) bytes += t.bytes();
    const auto slots = std::clamp<std::uint64_t>(kCold / bytes, 1, 256);
    std::vector<std::vector<View>> operands(slots);
    for (std::size_t k = 0; k < tensors.size(); ++k) {
      const std::uint64_t step = (tensors[k].bytes() + 255) / 256 * 256;
      const Buffer whole = device_.allocate(step * slots);
      if (k < inputs) fill(whole);
      for (std::uint64_t s = 0; s < slots; ++s)
        operands[s].push_back(View(whole, s * step, tensors[k].type, tensors[k].shape));
    }
    gpu::Recording recording(device_);
    for (const auto& o : operands) call(recording, o);
    const auto batch = [&](int n) {
      gpu::Encoder encoder(device_);
      const double start = seconds();
      for (int i = 0; i < n; ++i) encoder.replay(recording);
      encoder.submit();
      device_.wait();
      return (seconds() - start) / n;
    };
    batch(1);
    wake(device_, [&] { batch(1); });
    int n = 1;
    double t = batch(n);
    while (t * n < 0.05) t = batch(n *= 2);
    double best = t;
    for (int i = 0; i < 3; ++i) best = std::min(best, batch(n));
    return best / static_cast<double>(slots);
  }

  // Random bits with small exponents, so that no value is special in any float type.
  void fill(const Buffer& buffer) {
    if (words_.empty()) {
      words_.resize(1 << 22);
      std::mt19937 rng(1);
      for (auto& w : words_) w = (rng() & 0x83ff83ffu) | 0x38003800u;
    }
    for (std::uint64_t at = 0; at < buffer.size(); at += words_.size() * 4) {
      device_.upload(
          buffer, at,
          std::as_bytes(std::span(words_)).first(std::min<std::uint64_t>(words_.size() * 4, buffer.size() - at)));
    }
  }

  gpu::Device device_;
  std::string only_;
  std::vector<std::uint32_t> words_;
};

}  // namespace weft::bench
