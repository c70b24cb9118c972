#pragma once

#include "counted_bytes.h"
#include "mirrored_buffer.h"
#include "mlx/array.h"

namespace mlx::core::webgpu {

// The memory behind an array; null if it has none.
inline MirroredBuffer* mirrored(const array& a) { return static_cast<MirroredBuffer*>(a.buffer().ptr()); }

}  // namespace mlx::core::webgpu
