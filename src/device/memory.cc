#include "weft/memory.h"
#include "cpu/host_pool.h"
#include "gpu/device_impl.h"

namespace weft::memory {
namespace {

MemoryFigures figures(const Device& device) {
  return device.is_gpu() ? device.gpu().memory() : cpu::HostPool::instance().figures();
}

}  // namespace

std::uint64_t live(const Device& device) { return figures(device).live; }
std::uint64_t peak(const Device& device) { return figures(device).peak; }
std::uint64_t cached(const Device& device) { return figures(device).cached; }

void reset_peak(const Device& device) {
  if (device.is_gpu())
    device.gpu().impl().pool->reset_peak();
  else
    cpu::HostPool::instance().reset_peak();
}

void set_limit(std::optional<std::uint64_t> bytes, const Device& device) {
  if (device.is_gpu())
    device.gpu().set_memory_limit(bytes);
  else
    cpu::HostPool::instance().set_limit(bytes);
}

}  // namespace weft::memory
