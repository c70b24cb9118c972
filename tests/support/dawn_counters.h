// Numbers of WebGPU objects created, counted at the entry points of Dawn.
#pragma once

#include <cstdint>
#include <string>

namespace weft::test {

struct DawnCounters {
  std::uint64_t buffers = 0, bind_groups = 0, layouts = 0, shader_modules = 0, pipelines = 0;
  std::uint64_t submits = 0, writes = 0, dispatches = 0, passes = 0, maps = 0;

  // Since the process began.
  static DawnCounters now();
  DawnCounters operator-(const DawnCounters& before) const;
  // Objects that a steady state must not create.
  std::uint64_t created() const { return buffers + bind_groups + layouts + shader_modules + pipelines; }
  std::string text() const;
};

// The next `skip` buffers work; the `count` after them fail as if the GPU's memory were exhausted.
void fail_next_buffers(int count, int skip = 0);

// Error scopes are answered by release_error_scopes(), as a browser answers later; false: at once again, and those that
// wait are released.
void hold_error_scopes(bool hold);
void release_error_scopes();

}  // namespace weft::test
