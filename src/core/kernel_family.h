// The family that a kernel or an operation belongs to: what profiles and drawings colour by, so that a family has one
// colour in every picture.
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace weft {

inline constexpr std::array<std::string_view, 13> kKernelFamilies = {
    "matmul", "attention",   "norm",  "softmax", "reduce",        "elementwise", "index",
    "copy",   "sort and scan", "conv", "pool and resize", "recurrent", "other"};

// By the name of a dispatch ("matmul_reduce"), of a kernel ("argsort") or of an op ("reduce_sum"): one of
// kKernelFamilies, "other" for what none of them has.
std::string_view kernel_family(std::string_view name);

// The place of the family's name in kKernelFamilies.
std::size_t family_index(std::string_view family);
// A colour for shapes on a light or on a dark page: "#2a6fdb".
std::string_view family_colour(std::string_view family, bool dark);
// All of them, as custom properties of CSS: "--f0: #2a6fdb; --f1: …".
std::string family_colours(bool dark);

}  // namespace weft
