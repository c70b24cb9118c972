// OpenGL ES without a display.
#pragma once

#include <cstdlib>

#include "core/system.h"

namespace weft::gpu {

// Without a display, EGL gives OpenGL ES only to programs that ask for the surfaceless platform. The library does so
// when it first looks for adapters; a program that does that while it has other threads does it before they start.
inline void allow_surfaceless() {
#ifdef __linux__
  if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY"))
    set_environment_default("EGL_PLATFORM", "surfaceless");
#endif
}

}  // namespace weft::gpu
