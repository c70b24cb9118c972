// Buffers and views: the operands of every kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "weft/dtype.h"
#include "weft/shape.h"

// WebGPU's, in <webgpu/webgpu_cpp.h>, which only who wraps or takes out a buffer of its own includes.
namespace wgpu {
class Buffer;
}

namespace weft {

// A shared handle to a range of memory, on a GPU or on the host. Copies refer to the same memory, which lives until
// the last handle is gone. Handles may be copied and destroyed on any thread.
class Buffer {
 public:
  Buffer() = default;

  // Wraps the caller's buffer; the handle is empty if it is null. Its usage must include Storage for kernels, CopySrc
  // for reads and CopyDst for writes. Kernels see whole 32-bit words: if its size is no multiple of four bytes, they do
  // not see the last ones.
  Buffer(wgpu::Buffer buffer);  // NOLINT: implicit, so that views of a caller's buffers read well
  // `on_release` runs when the last handle goes (a pool takes its memory back there).
  Buffer(wgpu::Buffer buffer, std::uint64_t size, std::function<void()> on_release);

  // Uninitialised host memory, aligned to 64 bytes. `on_release` as above. Throws OutOfMemory.
  static Buffer host(std::uint64_t size, std::function<void()> on_release = {});
  // Host memory of the caller's, kept alive by `owner`. Kernels never write to a view they only read, so it may be a
  // read-only mapping there.
  static Buffer borrow(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  // No memory yet: stands in for an input or output of a recording until it is replayed with a real buffer, of at least
  // that size and that capacity().
  static Buffer placeholder(std::uint64_t size, std::uint64_t capacity = 0);
  // Gives a placeholder memory of the host's, of its size or more, or takes it away (null). So calls that were planned
  // for it run on the memory of each run, which nothing keeps.
  void point_at(std::byte* memory) const;
  // Host memory for one element of any type, at first zero, that GPU kernels take as a parameter of the call, not as
  // memory: views of it are inputs in which every element is that one. Its value is read when a call is recorded by an
  // encoder, or when a recording is replayed; it is part of no pipeline and of no plan.
  static Buffer number();

  explicit operator bool() const { return state_ != nullptr; }
  bool on_gpu() const;
  bool on_host() const;
  bool is_placeholder() const;
  bool is_number() const;
  std::uint64_t size() const;
  // Bytes from its start that kernels may read: size(), or more if the memory behind it continues. They write only to
  // elements of views.
  std::uint64_t capacity() const;
  // Unique in the process and never reused, so that it can stand for the buffer in a cache's key.
  std::uint64_t id() const;

  // A digest of content that the host wrote, so that the same bytes need not be uploaded again. changed() forgets it,
  // because something else may have been written; every kernel, copy and upload of Weft calls it. The caller's own
  // buffers never have one.
  struct Digest {
    std::uint64_t size = 0, low = 0, high = 0;
    bool operator==(const Digest&) const = default;
  };
  void changed() const;  // forgets the digest
  bool holds(std::uint64_t offset,
             const Digest& digest) const;  // true if the content from `offset` on is known to have that digest
  void holds_now(std::uint64_t offset, const Digest& digest) const;  // notes that it has, until changed()

  // Throws InternalError if the buffer has no memory of that kind.
  std::byte* data() const;
  const wgpu::Buffer& gpu() const;

  // Whether there is no other handle to it.
  bool alone() const { return state_.use_count() == 1; }

  bool operator==(const Buffer&) const = default;
  // The same for equal buffers, and for no others.
  const void* identity() const { return state_.get(); }

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A tensor in a buffer: element type, shape and strides (in elements), starting `offset` bytes into the buffer.
// Strides may be zero (broadcast) or negative. `offset` is a multiple of the element's size (packed types: of a byte).
struct View {
  Buffer buffer = {};
  std::uint64_t offset = 0;
  DType dtype = DType::f32;
  Layout layout = {};

  View() = default;
  // Dense.
  View(Buffer buffer, std::uint64_t offset, DType dtype, const Shape& shape);
  // Throws InvalidArgument if an element would lie outside the buffer or the offset is not aligned.
  View(Buffer buffer, std::uint64_t offset, DType dtype, const Shape& shape, const Strides& strides);

  const Shape& shape() const { return layout.shape; }
  const Strides& strides() const { return layout.strides; }
  int rank() const { return layout.rank(); }
  std::int64_t count() const { return layout.count(); }
  bool is_dense() const { return layout.is_dense(); }

  // The same memory under another layout.
  View with_layout(const Layout& other) const;
  // With its axes in another order.
  View permuted(std::span<const int> order) const { return with_layout(layout.permuted(order)); }
  // With axes of size 1 repeated, and new axes in front.
  View broadcast_to(const Shape& target) const { return with_layout(layout.broadcast_to(target)); }
};

// "f32 [2, 3] strides [3, 1]", for messages.
std::string to_string(const View& view);

// Bytes of its elements; those of a broadcast axis count once.
std::uint64_t touched_bytes(const View& view);

// Equal bytes have equal digests; different ones have equal digests with a probability of about 2⁻¹²⁸.
Buffer::Digest digest_of(std::span<const std::byte> bytes);

}  // namespace weft
