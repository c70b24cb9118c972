#include "compiler/device_data.h"

#include <algorithm>
#include <atomic>

#include "core/format.h"
#include "graph/leaf.h"
#include "weft/error.h"
#include "weft/flags.h"

namespace weft {
namespace {

// Kernels bind whole words, so a tensor's memory is rounded up to them.
std::uint64_t buffer_size(std::uint64_t bytes) { return std::max<std::uint64_t>((bytes + 15) / 16 * 16, 16); }

std::uint64_t bytes_of(const View& view) { return byte_size(view.dtype, static_cast<std::uint64_t>(view.count())); }

}  // namespace

DeviceData::DeviceData(const Device& device, DType dtype, const Shape& shape) : device_(device), owns_memory_(true) {
  const std::uint64_t bytes = byte_size(dtype, static_cast<std::uint64_t>(element_count(shape)));
  view_ = View(device_.allocate(buffer_size(bytes)), 0, dtype, shape);
}

DeviceData::DeviceData(const Device& device, const View& view) : device_(device), view_(view), defined_(true) {
  if (!view_.is_dense()) throw InvalidArgument("tensor: {} is not dense", to_string(view_));
  if (device_.is_gpu() ? !view_.buffer.on_gpu() : !view_.buffer.on_host()) {
    throw InvalidArgument("tensor: the view of {} is not in memory of {}", to_string(view_), device_.name());
  }
}

void DeviceData::write(std::span<const std::byte> bytes) const {
  if (bytes.size() != bytes_of(view_)) {
    throw InvalidArgument("tensor: {} bytes written to {}, which has {}", bytes.size(), to_string(view_),
                          bytes_of(view_));
  }
  spoilt_ = false;
  if (bytes.empty()) return;
  if (!device_.is_gpu() || flag_on(Flag::always_upload)) {
    overwritten();
    return device_.upload(view_.buffer, view_.offset, bytes);
  }
  const Buffer::Digest digest = digest_of(bytes);
  if (view_.buffer.holds(view_.offset, digest) && !device_.gpu().lost()) return;
  overwritten();
  device_.upload(view_.buffer, view_.offset, bytes);
  view_.buffer.holds_now(view_.offset, digest);
  remember(digest, nullptr);
}

void DeviceData::require_values() const {
  if (!spoilt_) return;
  throw Error(std::format("{} has lost its values: an evaluation that took its memory over failed", to_string(view_)));
}

DeviceData::Bytes DeviceData::remembered() const {
  const std::lock_guard lock(mutex_);
  return bytes_ && view_.buffer.holds(view_.offset, mark_) ? bytes_ : nullptr;
}

Buffer::Digest DeviceData::mark() const {
  static std::atomic<std::uint64_t> next{1};
  const std::lock_guard lock(mutex_);
  if (!view_.buffer.holds(view_.offset, mark_)) {
    // No digest of bytes is of so many.
    mark_ = {~std::uint64_t{0}, next++, 0};
    bytes_ = nullptr;
    view_.buffer.holds_now(view_.offset, mark_);
  }
  return mark_;
}

void DeviceData::remember(const Buffer::Digest& mark, Bytes bytes) const {
  const std::lock_guard lock(mutex_);
  mark_ = mark;
  bytes_ = std::move(bytes);
}

void DeviceData::read(std::span<std::byte> target) const {
  if (target.size() != bytes_of(view_)) {
    throw InvalidArgument("tensor: {} bytes read from {}, which has {}", target.size(), to_string(view_),
                          bytes_of(view_));
  }
  require_values();
  for (const auto& check : checks()) check->async_require().get();
  if (target.empty()) return;
  if (flag_on(Flag::dispatch_only)) {
    device_.wait();
    std::ranges::fill(target, std::byte{0});
    return;
  }
  if (!device_.is_gpu()) return device_.read(view_.buffer, view_.offset, target);
  if (const Bytes bytes = remembered()) {
    std::ranges::copy(*bytes, target.begin());
    return;
  }
  const Buffer::Digest mark = this->mark();
  device_.read(view_.buffer, view_.offset, target);
  remember(mark, std::make_shared<const std::vector<std::byte>>(target.begin(), target.end()));
}

ValueChecks DeviceData::checks() const {
  if (!checked_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(mutex_);
  std::erase_if(checks_, [](const auto& check) { return check->passed(); });
  checked_.store(!checks_.empty(), std::memory_order_release);
  return checks_;
}

void DeviceData::set_checks(ValueChecks checks) const {
  const std::lock_guard lock(mutex_);
  checks_ = std::move(checks);
  checked_.store(!checks_.empty(), std::memory_order_release);
}

Future<gpu::ReadBytes> DeviceData::async_read() const {
  require_values();
  ValueChecks checks = this->checks();
  if (checks.empty()) return read_unchecked();
  // Asked for first, they are answered when the values are there.
  const auto answers = std::make_shared<std::vector<Future<void>>>();
  for (const auto& check : checks) answers->push_back(check->async_require());
  return read_unchecked().map([answers, checks = std::move(checks)](gpu::ReadBytes read) {
    for (Future<void>& answer : *answers) answer.get();
    return read;
  });
}

Future<gpu::ReadBytes> DeviceData::read_unchecked() const {
  const std::uint64_t bytes = bytes_of(view_);
  const auto zeros = [bytes] {
    const auto held = std::make_shared<const std::vector<std::byte>>(bytes);
    return gpu::ReadBytes(*held, held);
  };
  if (bytes == 0) return Future<gpu::ReadBytes>({}, zeros);
  if (const Bytes held = remembered(); held && !flag_on(Flag::dispatch_only)) {
    return Future<gpu::ReadBytes>({}, [held] { return gpu::ReadBytes(*held, held); });
  }
  Future<gpu::ReadBytes> read = device_.async_read(view_.buffer, view_.offset, bytes);
  if (!flag_on(Flag::dispatch_only)) return read;
  return std::move(read).map([zeros](const gpu::ReadBytes&) { return zeros(); });
}

const DeviceData* find_data(const Tensor& tensor) {
  if (!tensor.defined()) throw InvalidArgument("an undefined Tensor, which stands for no tensor, was used as one");
  if (const DataOp* op = tensor.node()->op().data_op()) return static_cast<const DeviceData*>(op->data_ptr().get());
  // The data live as long as the node, which the tensor holds.
  return static_cast<const DeviceData*>(tensor.node()->data(tensor.index()).get());
}

const DeviceData& data_of(const Tensor& tensor) {
  if (const DeviceData* data = find_data(tensor)) return *data;
  throw InvalidArgument("tensor: {} has no data: it is still to be computed", to_string(tensor.type()));
}

// (Views have no data, and so keep their operand.)
const Tensor& stored_by(const Tensor& tensor) {
  const Tensor* stored = &tensor;
  while (!find_data(*stored) && stored->node()->op().is_view()) stored = &stored->node()->inputs()[0];
  return *stored;
}

std::optional<Placement> layout_in_stored(const Tensor& view) {
  std::vector<const Op*> views;
  const Tensor* stored = &view;
  for (; !find_data(*stored) && stored->node()->op().is_view(); stored = &stored->node()->inputs()[0]) {
    views.push_back(&stored->node()->op());
  }
  Placement all{0, Layout::dense(stored->shape())};
  for (std::size_t i = views.size(); i-- > 0;) {
    const auto shown = views[i]->view_layout(all.layout);
    if (!shown) return std::nullopt;
    all.offset += shown->offset;
    all.layout = shown->layout;
  }
  return all;
}

}  // namespace weft
