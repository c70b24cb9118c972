// Memory of a device: what tensors and compiled graphs hold, what is kept to be used again, and limits. All in bytes.
//
// On a GPU these are figures of its buffer pool: buffers are a little larger than what was asked for, and those that
// no tensor holds any more are cached for the next tensor. On the cpu they count what Weft allocated for tensors;
// memory goes back to the system when the last tensor that holds it is gone, so nothing is cached. Memory of callers
// (views, from_buffer(), mapped files) counts nowhere.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/device.h"

namespace weft::memory {

// In use now.
std::uint64_t live(const Device& device = default_device());
// The most that was in use at once since the device was opened (the cpu: since the process began) or reset_peak().
std::uint64_t peak(const Device& device = default_device());
// Makes peak() begin again, with what is live now.
void reset_peak(const Device& device = default_device());
// Kept to be used again, in addition to what is live.
std::uint64_t cached(const Device& device = default_device());
// Gives back what is cached, and the memory that evaluations keep for their intermediates, which is live until then;
// also what evaluations were compiled to, and compiled kernels that no Executable has. What is wanted again is compiled
// again. It may wait in the driver for work that is not done yet.
void clear_cache(const Device& device = default_device());
// From now on an allocation that would make more than this live throws OutOfMemory; before that, and before the
// device's own memory runs out, what clear_cache() gives back goes, unless it is in use. None: as much as there is,
// which is the default unless Flag::memory_limit limits a GPU. What is allocated already stays.
void set_limit(std::optional<std::uint64_t> bytes, const Device& device = default_device());

}  // namespace weft::memory
