// For programs: OpenGL ES without a display.
#pragma once

#include <cstdlib>

#include "core/system.h"

namespace weft::gpu {

// Without a display, EGL gives OpenGL ES only to programs that ask for the surfaceless platform. Called before threads
// start.
inline void allow_surfaceless() {
#ifdef __linux__
  if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY")) set_environment_default("EGL_PLATFORM", "surfaceless");
#endif
}

}  // namespace weft::gpu
