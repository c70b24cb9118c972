// The family that a kernel or an operation belongs to, as the tables of both say: what profiles and drawings colour by,
// so that a family has one colour in every picture.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace weft::kernels {

// In the order of the table of kernels, then "other".
std::span<const std::string_view> kernel_families();

// By the name of a kernel or of one of its forms ("argsort"), of a WGSL template that is a part of one
// ("radix_scatter"), or of something that such a name begins: one of kernel_families(), "other" for what none of them
// has.
std::string_view kernel_family(std::string_view name);

// The place of the family's name in kernel_families().
std::size_t family_index(std::string_view family);
// A colour for shapes on a light or on a dark page: "#2a6fdb". Hues of neighbours lie far apart.
std::string family_colour(std::string_view family, bool dark);
// All of them, as custom properties of CSS: "--f0: #2a6fdb; --f1: …".
std::string family_colours(bool dark);

}  // namespace weft::kernels
