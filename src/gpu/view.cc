#include "weft/view.h"

#include <atomic>
#include <new>

#include "weft/error.h"

namespace weft {

struct Buffer::State {
  wgpu::Buffer gpu;
  std::byte* host = nullptr;
  std::uint64_t size = 0;
  std::uint64_t id = next_id();
  std::shared_ptr<const void> owner;
  std::function<void()> on_release;

  ~State() {
    if (on_release) on_release();
  }
  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> next{1};
    return next++;
  }
};

Buffer::Buffer(wgpu::Buffer buffer) : state_(std::make_shared<State>()) {
  state_->size = buffer.GetSize();
  state_->gpu = std::move(buffer);
}

Buffer::Buffer(wgpu::Buffer buffer, std::uint64_t size, std::function<void()> on_release)
    : state_(std::make_shared<State>()) {
  state_->gpu = std::move(buffer);
  state_->size = size;
  state_->on_release = std::move(on_release);
}

Buffer Buffer::host(std::uint64_t size) {
  constexpr std::uint64_t kAlignment = 64;
  const std::uint64_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  Buffer b;
  b.state_ = std::make_shared<State>();
  b.state_->size = size;
  if (size == 0) return b;
  void* memory = rounded >= size ? std::aligned_alloc(kAlignment, rounded) : nullptr;
  if (!memory) throw OutOfMemory("host memory: no {} bytes to be had", size);
  b.state_->host = static_cast<std::byte*>(memory);
  b.state_->owner = std::shared_ptr<void>(memory, std::free);
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

Buffer Buffer::placeholder(std::uint64_t size) {
  Buffer b;
  b.state_ = std::make_shared<State>();
  b.state_->size = size;
  return b;
}

bool Buffer::on_gpu() const { return state_ && state_->gpu; }
bool Buffer::on_host() const { return state_ && !state_->gpu && (state_->host || state_->size == 0); }
bool Buffer::is_placeholder() const { return state_ && !state_->gpu && !state_->host && state_->size != 0; }
std::uint64_t Buffer::size() const { return state_ ? state_->size : 0; }
std::uint64_t Buffer::id() const { return state_ ? state_->id : 0; }

std::byte* Buffer::data() const {
  if (!on_host()) throw InternalError("a kernel's CPU twin was given a buffer that is not in host memory");
  return state_->host;
}

const wgpu::Buffer& Buffer::gpu() const {
  if (!on_gpu()) throw InternalError("a GPU kernel was given a buffer that is not in GPU memory");
  return state_->gpu;
}

View::View(Buffer buffer, std::uint64_t offset, DType dtype, const Shape& shape)
    : View(std::move(buffer), offset, dtype, shape, dense_strides(shape)) {}

View::View(Buffer b, std::uint64_t byte_offset, DType type, const Shape& shape, const Strides& strides)
    : buffer(std::move(b)), offset(byte_offset), dtype(type), layout{shape, strides} {
  if (shape.rank() != strides.rank()) {
    throw InvalidArgument("view: shape {} and strides {} differ in rank", to_string(shape), to_string(strides));
  }
  const std::uint64_t element = std::max(bits(type) / 8, 1);
  if (offset % element != 0) {
    throw InvalidArgument("view: offset {} is not a multiple of the {} bytes of {}", offset, element, name(type));
  }
  if (count() == 0) return;
  const auto [low, high] = layout.offset_range();
  const std::int64_t first = static_cast<std::int64_t>(offset) * 8 + low * bits(type);
  const std::int64_t last = static_cast<std::int64_t>(offset) * 8 + (high + 1) * bits(type);
  if (first < 0 || last > static_cast<std::int64_t>(buffer.size()) * 8) {
    throw InvalidArgument("view: {} at byte {} reaches bytes {} to {} of a buffer of {}", to_string(*this), offset,
                          first / 8, (last + 7) / 8, buffer.size());
  }
}

View View::with_layout(const Layout& other) const { return View(buffer, offset, dtype, other.shape, other.strides); }

std::string to_string(const View& view) {
  std::string s = std::format("{} {}", name(view.dtype), to_string(view.shape()));
  if (!view.is_dense()) s += " strides " + to_string(view.strides());
  return s;
}

}  // namespace weft
