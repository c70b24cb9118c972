// What the WGSL compiler says about a text.
#pragma once

#include <optional>
#include <string>

#include "weft/gpu.h"

namespace weft::gpu {

struct ShaderProblem {
  std::uint64_t line = 0;  // from 1; 0: about no line
  std::string message;     // the compiler's own
};

// The first error of a text with an entry point "main", if it has one. Nothing is cached. Throws DeviceLost.
std::optional<ShaderProblem> shader_problem(const Device& device, const std::string& wgsl);

}  // namespace weft::gpu
