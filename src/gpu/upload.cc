#include "gpu/upload.h"

#include <cstring>

#include "core/format.h"
#include "gpu/device_impl.h"
#include "weft/error.h"

namespace weft::gpu {

namespace {

struct MergeParams {
  std::uint32_t index, mask, value, padding = 0;
};

std::string merge_wgsl() {
  return R"(
struct Params { index: u32, mask: u32, value: u32, padding: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(1) fn main() {
  words[params.index] = (words[params.index] & ~params.mask) | params.value;
}
)";
}

// Writes `bytes` (at most 3, inside one word) at `offset`.
void merge(const Device& device, const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes) {
  const std::uint64_t alignment = device.capabilities().storage_alignment;
  const std::uint64_t word = offset / 4 * 4, base = word / alignment * alignment;
  if (word + 4 > target.gpu().GetSize()) {
    throw InvalidArgument(
        "upload: the last bytes of a buffer of {} lie in no whole 32-bit word; make it a multiple of 4", target.size());
  }
  MergeParams params{static_cast<std::uint32_t>((word - base) / 4), 0, 0};
  std::memcpy(reinterpret_cast<std::byte*>(&params.value) + offset % 4, bytes.data(), bytes.size());
  std::memset(reinterpret_cast<std::byte*>(&params.mask) + offset % 4, 0xFF, bytes.size());
  const Binding bindings[] = {{target, base, word + 4 - base, Access::read_write}};
  Encoder encoder(device);
  encoder.dispatch({.key = "weft.merge_word",
                    .make_wgsl = merge_wgsl,
                    .bindings = bindings,
                    .params = std::as_bytes(std::span(&params, 1)),
                    .label = "upload edge"});
  encoder.submit();
}

}  // namespace

UploadRing::Slot* UploadRing::next() {
  std::erase_if(slots_, [](const auto& slot) { return slot->refused.load(); });
  const bool full = slots_.size() * kSlot >= kMax;
  if (slots_.empty() || (!full && slots_.front()->mapping && !context_->done(*slots_.front()->mapping))) {
    wgpu::BufferDescriptor descriptor;
    descriptor.label = "weft upload";
    descriptor.size = kSlot;
    descriptor.usage = wgpu::BufferUsage::MapWrite | wgpu::BufferUsage::CopySrc;
    descriptor.mappedAtCreation = true;
    auto slot = std::make_shared<Slot>();
    constexpr const char* kWhat = "allocating memory to upload from";
    ErrorScope scope(*context_);
    slot->buffer = context_->device.CreateBuffer(&descriptor);
    if (const auto failure = scope.take(kWhat, [slot] { slot->refused = true; })) {
      if (context_->lost()) context_->raise_lost();
      failure->raise(kWhat);
    }
    slots_.push_back(std::move(slot));
  } else {
    // Taken out first: other threads upload while this one waits.
    auto slot = std::move(slots_.front());
    slots_.pop_front();
    if (slot->mapping) context_->hold_back(*slot->mapping);
    if (slot->mapping && !slot->mapping->is_done()) {
      slots_.push_front(std::move(slot));
      return nullptr;
    }
    if (slot->mapping && slot->mapping->error) {
      if (context_->lost()) context_->raise_lost();
      std::rethrow_exception(slot->mapping->error);
    }
    slot->mapping = nullptr;
    slots_.push_back(std::move(slot));
  }
  return slots_.back().get();
}

void UploadRing::write(const wgpu::Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min<std::uint64_t>(bytes.size(), kSlot));
    if (Slot* slot = next()) {
      std::memcpy(slot->buffer.GetMappedRange(0, part.size()), part.data(), part.size());
      slot->buffer.Unmap();
      const wgpu::CommandEncoder encoder = context_->device.CreateCommandEncoder();
      encoder.CopyBufferToBuffer(slot->buffer, 0, target, offset, part.size());
      const wgpu::CommandBuffer commands = encoder.Finish();
      context_->queue.Submit(1, &commands);
      slot->mapping = context_->map<InternalError>(slot->buffer, wgpu::MapMode::Write, kSlot, "uploading");
    } else {
      context_->queue.WriteBuffer(target, offset, part.data(), part.size());
    }
    offset += part.size();
    bytes = bytes.subspan(part.size());
  }
}

void upload_bytes(const Device& device, const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes) {
  Context& context = *device.impl().context;
  const std::lock_guard held(context.lock);
  context.check();
  if (offset > target.size() || bytes.size() > target.size() - offset) {
    throw InvalidArgument("upload: bytes {} to {} of a buffer of {}", offset, offset + bytes.size(), target.size());
  }
  if (!target.on_gpu()) throw InvalidArgument("upload: the buffer is not in GPU memory");
  if (bytes.empty()) return;
  device.impl().pool->require(target.gpu());
  target.changed();
  const wgpu::Buffer& buffer = target.gpu();
  if (const std::uint64_t ragged = offset % 4; ragged != 0) {
    const auto head = bytes.first(std::min<std::size_t>(bytes.size(), 4 - ragged));
    merge(device, target, offset, head);
    offset += head.size();
    bytes = bytes.subspan(head.size());
  }
  ErrorScope scope(context);
  if (const auto words = bytes.first(bytes.size() / 4 * 4); !words.empty()) {
    const bool large = words.size() >= device.impl().ring_from;
    if (large)
      device.impl().uploads.write(buffer, offset, words);
    else
      context.queue.WriteBuffer(buffer, offset, words.data(), words.size());
    offset += words.size();
    bytes = bytes.subspan(words.size());
  }
  // After the end of a pool buffer's handle there is padding, which may be overwritten.
  if (!bytes.empty() && offset + bytes.size() == target.size() && offset + 4 <= buffer.GetSize()) {
    std::array<std::byte, 4> tail{};
    std::ranges::copy(bytes, tail.begin());
    context.queue.WriteBuffer(buffer, offset, tail.data(), tail.size());
    bytes = {};
  }
  scope.collect(std::format("uploading to a buffer of {} bytes", target.size()));
  if (!bytes.empty()) merge(device, target, offset, bytes);
}

}  // namespace weft::gpu
