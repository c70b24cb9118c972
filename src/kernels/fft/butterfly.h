// WGSL of the transforms that one thread does in its registers.
#pragma once

#include <span>
#include <string>

namespace weft::kernels {

// fn butterfly_<r>(x: array<vec2<f32>, r>) -> array<vec2<f32>, r> for each radix: y[k] = Σ x[j] exp(-2πi jk / r).
std::string butterflies_wgsl(std::span<const int> radices);

}  // namespace weft::kernels
