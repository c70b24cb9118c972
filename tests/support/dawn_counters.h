// How many WebGPU objects were made, counted where the calls enter Dawn.
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
  // What a steady state must not make.
  std::uint64_t created() const { return buffers + bind_groups + layouts + shader_modules + pipelines; }
  std::string text() const;
};

// After `skip` more buffers that work, `count` fail as if the GPU's memory were exhausted.
void fail_next_buffers(int count, int skip = 0);

}  // namespace weft::test
