#include "device.h"

#include <weft/error.h>
#include <weft/process.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>

#include "mlx/backend/gpu/device_info.h"

namespace mlx::core {
namespace webgpu {
namespace {

constexpr std::size_t kBatchesInFlight = 16;
constexpr int kUnusedReads = 32;                     // early copies that nobody asked for, after which no more are made
constexpr std::chrono::microseconds kInterval(100);  // between submissions that nobody waits for

std::atomic<Recorder*> recorder_made = nullptr;

}  // namespace

const weft::gpu::Device& device() {
  // Never destroyed: threads of MLX's CPU streams may use it until the process ends.
  static const auto* device = [] {
    auto* device = new weft::gpu::Device(weft::gpu::Device::open());
    weft::end_before_static_objects();
    weft::at_process_end([] {
      if (Recorder* const made = recorder_made.load()) made->exit();
    });
    return device;
  }();
  return *device;
}

bool available() {
  static const bool available = [] {
    try {
      device();
      return true;
    } catch (const weft::NoDevice&) {
      return false;
    }
  }();
  return available;
}

void Marker::wait() {
  const weft::InWeft uses;
  if (!ended_) recorder().submit();
  if (!batch_->submitted) recorder().encoder().finish();
  if (batch_->done) batch_->done->wait();
}

bool Marker::ready() {
  const weft::InWeft uses;
  return batch_->submitted && (!batch_->done || batch_->done->ready());
}

Recorder::Recorder() : encoder_(device()), thread_([this] { submit_what_is_left(); }) {}

void Recorder::exit() {
  {
    const auto held = lock();
    exits_ = true;
    wake_.notify_one();
  }
  thread_.join();
  encoder_.exit();
  // What is at work ends before the driver does; whether it failed nobody asks any more.
  try {
    submit()->wait();
  } catch (const std::exception&) {
  }
}

std::shared_ptr<Marker> Recorder::marker() {
  if (!last_) {
    last_ = std::make_shared<Marker>();
    if (empty_) last_->ended_ = last_->batch_->submitted = true;
  }
  return last_;
}

std::shared_ptr<EarlyRead> Recorder::read_early(const weft::Buffer& buffer, std::size_t size) {
  if (unused_reads_left_ <= 0) return nullptr;
  return early_reads_.emplace_back(std::make_shared<EarlyRead>(buffer, size, nullptr));
}

void Recorder::asked_for(std::uint64_t batch, bool early) {
  if (early || batch + 1 < batch_) unused_reads_left_ = kUnusedReads;
}

std::shared_ptr<Marker> Recorder::submit() {
  const auto held = lock();
  std::shared_ptr<Marker> end = marker();
  if (!empty_) {
    for (std::shared_ptr<EarlyRead>& early : std::exchange(early_reads_, {})) {
      if (early.use_count() == 1) continue;  // written over, or freed
      end->batch_->reads.push_back(std::move(early));
      --unused_reads_left_;
    }
    encoder_.submit(end->batch_);
    end->ended_ = true;
    pending_.push_back(end);
    empty_ = true;
    ++batch_;
    last_submit_ = Clock::now();
  }
  return end;
}

std::shared_ptr<Marker> Recorder::submit_soon() {
  const auto held = lock();
  if (empty_ || exits_ || Clock::now() - last_submit_ >= kInterval) return submit();
  if (!watched_) {
    watched_ = true;
    wake_.notify_one();
  }
  return marker();
}

void Recorder::submit_what_is_left() {
  auto held = lock();
  for (;;) {
    wake_.wait(held, [&] { return watched_ || exits_; });
    // Looks again as long as somebody records, so that who records seldom has to wake this thread.
    for (std::uint64_t seen = 0; !exits_ && (std::exchange(seen, batch_.load()) != batch_ || !empty_);) {
      held.unlock();
      std::this_thread::sleep_for(kInterval);
      held.lock();
      if (!empty_ && Clock::now() - last_submit_ >= kInterval) submit();
    }
    if (exits_) return;
    watched_ = false;
  }
}

void Recorder::limit_batches() {
  std::shared_ptr<Marker> oldest;
  {
    const auto held = lock();
    if (pending_.size() <= kBatchesInFlight) return;
    while (!pending_.empty() && pending_.front()->ready()) pending_.pop_front();
    if (pending_.size() > kBatchesInFlight) oldest = pending_.front();
  }
  if (oldest) oldest->wait();
}

Recorder& recorder() {
  static auto* recorder = [] {
    auto* recorder = new Recorder;
    recorder_made = recorder;
    return recorder;
  }();
  return *recorder;
}

}  // namespace webgpu

namespace gpu {

bool is_available() { return webgpu::available(); }

int device_count() { return is_available() ? 1 : 0; }

const std::unordered_map<std::string, std::variant<std::string, size_t>>& device_info(int) {
  static const auto info = [] {
    std::unordered_map<std::string, std::variant<std::string, size_t>> info;
    if (is_available()) {
      const auto& adapter = webgpu::device().adapter();
      info["device_name"] = adapter.name;
      info["architecture"] = adapter.architecture;
      info["max_buffer_length"] = static_cast<size_t>(webgpu::device().capabilities().max_buffer);
    }
    return info;
  }();
  return info;
}

}  // namespace gpu
}  // namespace mlx::core
