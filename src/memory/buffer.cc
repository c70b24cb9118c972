// The whole of xxHash is compiled here, so that programs need no library of it.
#define XXH_INLINE_ALL
// Its vectors for WebAssembly are ARM's, through headers of another library.
#undef __wasm_simd128__
#include <webgpu/webgpu_cpp.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <new>

#include "core/bytes_text.h"
#include "core/format.h"
#include "core/host_memory.h"
#include "weft/error.h"
#include "weft/view.h"

namespace weft {

struct Buffer::State {
  wgpu::Buffer gpu;
  std::byte* host = nullptr;
  std::uint64_t size = 0;
  std::uint64_t capacity = 0;  // of a placeholder
  bool number = false;
  std::uint64_t id = next_id();
  std::shared_ptr<const void> owner;
  std::function<void()> on_release;
  // The digest of what the host wrote last, if nothing was written since.
  std::mutex mutex;
  std::atomic<bool> known = false;
  std::uint64_t known_offset = 0;
  Digest known_digest;

  ~State() {
    if (on_release) on_release();
  }
  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> next{1};
    return next++;
  }
};

Buffer::Buffer(wgpu::Buffer buffer) {
  if (!buffer) return;
  state_ = std::make_shared<State>();
  state_->size = buffer.GetSize();
  state_->gpu = std::move(buffer);
}

Buffer::Buffer(wgpu::Buffer buffer, std::uint64_t size, std::function<void()> on_release)
    : state_(std::make_shared<State>()) {
  state_->gpu = std::move(buffer);
  state_->size = size;
  state_->on_release = std::move(on_release);
}

namespace {

constexpr std::size_t kAlignment = 64;

// Allocates an object with so many bytes of memory behind it, which begin at a multiple of 64, and says where.
template <class T>
struct WithMemory {
  using value_type = T;
  std::size_t bytes;
  std::byte** memory;

  WithMemory(std::size_t b, std::byte** m) : bytes(b), memory(m) {}
  template <class U>
  WithMemory(const WithMemory<U>& other) : bytes(other.bytes), memory(other.memory) {}  // NOLINT: as allocators are
  T* allocate(std::size_t n) const {
    const std::size_t own = n * sizeof(T) + kAlignment - 1;
    auto* const start = static_cast<std::byte*>(::operator new(own + bytes));
    const auto past = reinterpret_cast<std::uintptr_t>(start) + own;
    *memory = start + (own - past % kAlignment);
    return reinterpret_cast<T*>(start);
  }
  void deallocate(T* p, std::size_t) const { ::operator delete(p); }
  template <class U>
  bool operator==(const WithMemory<U>&) const {
    return true;
  }
};

}  // namespace

Buffer Buffer::host(std::uint64_t size, std::function<void()> on_release) {
  // Whole units of 64 bytes, so that loads past the last element stay inside.
  const std::uint64_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  Buffer b;
  try {
    if (rounded < size || size > physical_memory()) throw std::bad_alloc();
    std::byte* memory = nullptr;
    b.state_ = std::allocate_shared<State>(WithMemory<State>(static_cast<std::size_t>(rounded), &memory));
    b.state_->host = size == 0 ? nullptr : memory;
  } catch (const std::bad_alloc&) {
    throw OutOfMemory("host memory: no {} to be had", bytes_text(size));
  }
  b.state_->size = size;
  b.state_->on_release = std::move(on_release);
  return b;
}

Buffer Buffer::borrow(std::span<const std::byte> bytes, std::shared_ptr<const void> owner) {
  Buffer b;
  b.state_ = std::make_shared<State>();
  b.state_->size = bytes.size();
  b.state_->host = const_cast<std::byte*>(bytes.data());
  b.state_->owner = std::move(owner);
  return b;
}

Buffer Buffer::placeholder(std::uint64_t size, std::uint64_t capacity) {
  Buffer b;
  b.state_ = std::make_shared<State>();
  b.state_->size = size;
  b.state_->capacity = std::max(size, capacity);
  return b;
}

void Buffer::point_at(std::byte* memory) const {
  if (on_gpu() || !state_ || state_->owner || state_->capacity == 0) {
    throw InternalError("a buffer that is no placeholder was given memory");
  }
  state_->host = memory;
}

Buffer Buffer::number() {
  constexpr std::uint64_t kBytes = 16;
  Buffer b = host(kBytes);
  std::memset(b.data(), 0, kBytes);
  b.state_->number = true;
  return b;
}

bool Buffer::is_number() const { return state_ && state_->number; }
bool Buffer::on_gpu() const { return state_ && state_->gpu; }
bool Buffer::on_host() const { return state_ && !state_->gpu && (state_->host || state_->size == 0); }
bool Buffer::is_placeholder() const { return state_ && !state_->gpu && !state_->host && state_->size != 0; }
std::uint64_t Buffer::size() const { return state_ ? state_->size : 0; }
std::uint64_t Buffer::capacity() const {
  return on_gpu() ? state_->gpu.GetSize() : is_placeholder() ? state_->capacity : size();
}
std::uint64_t Buffer::id() const { return state_ ? state_->id : 0; }

void Buffer::changed() const {
  // Most buffers never have a digest.
  if (state_ && state_->known.load(std::memory_order_relaxed)) state_->known = false;
}

bool Buffer::holds(std::uint64_t offset, const Digest& digest) const {
  if (!state_ || !state_->known) return false;
  const std::lock_guard lock(state_->mutex);
  return state_->known && state_->known_offset == offset && state_->known_digest == digest;
}

void Buffer::holds_now(std::uint64_t offset, const Digest& digest) const {
  if (!state_ || !state_->on_release) return;  // a caller's buffer: others may write to it
  const std::lock_guard lock(state_->mutex);
  state_->known_offset = offset;
  state_->known_digest = digest;
  state_->known = true;
}

std::byte* Buffer::data() const {
  if (!on_host()) throw InternalError("a CPU kernel was given a buffer that is not in host memory");
  return state_->host;
}

const wgpu::Buffer& Buffer::gpu() const {
  if (!on_gpu()) throw InternalError("a GPU kernel was given a buffer that is not in GPU memory");
  return state_->gpu;
}

Buffer::Digest digest_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {bytes.size(), hash.low64, hash.high64};
}

}  // namespace weft
