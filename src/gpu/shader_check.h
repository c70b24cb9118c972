// Checks a WGSL text with the WGSL compiler.
#pragma once

#include <optional>
#include <string>

#include "weft/gpu.h"

namespace weft::gpu {

struct ShaderProblem {
  std::uint64_t line = 0;  // from 1; 0: in no line
  std::string message;     // the compiler's own
};

// The first error of a text with an entry point "main", or nothing, as also where WebGPU does not answer at once.
// Nothing is cached. Throws DeviceLost.
std::optional<ShaderProblem> shader_problem(const Device& device, const std::string& wgsl);

}  // namespace weft::gpu
