#include <algorithm>
#include <limits>

#include "core/format.h"
#include "gpu/choose.h"
#include "gpu/device_impl.h"
#include "gpu/instance.h"
#include "gpu/open.h"
#include "gpu/upload.h"
#include "gpu/wait.h"
#include "weft/error.h"
#include "weft/log.h"

namespace weft::gpu {

Device::Impl::Impl(std::shared_ptr<Context> c, AdapterInfo info, std::string why,
                   std::optional<std::uint64_t> memory_limit)
    : context(std::move(c)),
      adapter(std::move(info)),
      reason(std::move(why)),
      pool(std::make_shared<BufferPool>(context, memory_limit)),
      staging(std::make_shared<StagingPool>(context)),
      pipelines(context),
      bind_groups(context, pool),
      pages(context),
      uploads(context) {
  // Where the CPU can write to GPU memory, the queue does so itself.
  if (adapter.type != "discrete") ring_from = std::numeric_limits<std::uint64_t>::max();
  pool->on_destroy = [this](const wgpu::Buffer& buffer) { bind_groups.forget(buffer); };
}

Device::Impl::~Impl() {
  {
    const std::lock_guard held(context->lock);
    pool->on_destroy = nullptr;
    if (context->owned) context->device.Destroy();
  }
  // Pending reads fail now, and their callbacks are called.
  try {
    context->process_events();
    context->fail_pending(std::make_exception_ptr(DeviceLost("the device was closed before this read was submitted")));
    context->deliver();
  } catch (const std::exception& e) {
    log(LogLevel::warning, "closing a GPU device: {}", e.what());
  }
}

Device::Device(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {
  {
    const std::lock_guard held(impl_->context->lock);
    impl_->context->opened = impl_;
  }
  finish_at_process_end(impl_->context);
  if (callbacks_come_alone()) impl_->context->listen();
}

namespace {

Future<std::shared_ptr<Device::Impl>> open_chosen(const DeviceOptions& options) {
  const Choice choice = choose(options.adapter);
  log_mark("an adapter is chosen");
  return open_adapter(*choice.adapter, choice.reason, options);
}

}  // namespace

Device Device::open(const DeviceOptions& options) { return Device(open_chosen(options).get()); }

Future<Device> Device::open_async(const DeviceOptions& options) {
  return look_for_adapters()
      .and_then([options] {
        const AvoidWaiting no_wait;
        return open_chosen(options);
      })
      .map([](std::shared_ptr<Impl> impl) { return Device(std::move(impl)); });
}

Device Device::adopt(wgpu::Device device, bool timed_wait) {
  return Device(adopt_device(std::move(device), timed_wait));
}

const wgpu::Device& Device::webgpu() const { return impl_->context->device; }
const wgpu::Queue& Device::queue() const { return impl_->context->queue; }
const AdapterInfo& Device::adapter() const { return impl_->adapter; }
const Capabilities& Device::capabilities() const { return impl_->context->capabilities; }
const std::string& Device::reason() const { return impl_->reason; }

Buffer Device::allocate(std::uint64_t bytes) const {
  const std::lock_guard held(impl_->context->lock);
  impl_->context->check();
  return impl_->pool->allocate(bytes);
}

wgpu::Buffer Device::create_buffer(std::uint64_t bytes, std::string_view label) const {
  Context& context = *impl_->context;
  wgpu::BufferDescriptor descriptor;
  descriptor.label = label;
  descriptor.size = (bytes + 3) / 4 * 4;
  descriptor.usage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopySrc | wgpu::BufferUsage::CopyDst;
  const std::lock_guard held(context.lock);
  context.check();
  ErrorScope scope(context);
  wgpu::Buffer buffer = context.device.CreateBuffer(&descriptor);
  scope.check(std::format("allocating {} bytes for '{}'", descriptor.size, label));
  return buffer;
}

void Device::upload(const Buffer& target, std::uint64_t offset, std::span<const std::byte> bytes) const {
  upload_bytes(*this, target, offset, bytes);
}

Future<ReadBytes> Device::read(const Buffer& source, std::uint64_t offset, std::uint64_t bytes) const {
  Encoder encoder(*this);
  Readback result = encoder.read(source, offset, bytes);
  encoder.submit();
  return result;
}

void Device::wait() const {
  impl_->context->check();
  impl_->context->wait(*impl_->context->mark(), "wait", true);
  impl_->context->process_events();
  impl_->context->deliver();
  impl_->context->check();
}

Future<void> Device::async_wait() const {
  Encoder nothing(*this);
  return nothing.submit();
}

void Device::poll() const {
  impl_->context->process_events();
  impl_->context->deliver();
  if (impl_->context->lost()) impl_->context->notify_lost();
}

bool Device::lost() const { return impl_->context->lost(); }

std::shared_ptr<void> Device::on_lost(std::function<void(const std::string&)> callback) const {
  return impl_->context->on_lost(std::move(callback));
}

void Device::set_memory_limit(std::optional<std::uint64_t> bytes) const { impl_->pool->set_limit(bytes); }
MemoryFigures Device::memory() const { return impl_->pool->figures(); }
void Device::trim() const {
  const std::lock_guard held(impl_->context->lock);
  impl_->pool->trim();
  impl_->staging->trim();
  impl_->uploads.trim();
}

}  // namespace weft::gpu
