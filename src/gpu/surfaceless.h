// For programs: OpenGL ES without a display.
#pragma once

#include <cstdlib>

namespace weft::gpu {

// Without a display, EGL gives OpenGL ES only to programs that ask for the surfaceless platform. Called before threads
// start.
inline void allow_surfaceless() {
#ifdef __linux__
  if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY")) setenv("EGL_PLATFORM", "surfaceless", 0);
#endif
}

}  // namespace weft::gpu
