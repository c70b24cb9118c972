#include "core/kernel_family.h"

#include <algorithm>
#include <format>

namespace weft {
namespace {

struct Prefix {
  std::string_view begins, family;
};

// The first that a name begins with counts, so that longer ones stand before the shorter ones that they contain.
constexpr Prefix kPrefixes[] = {
    {"matmul", "matmul"},
    {"attention", "attention"},
    {"conv", "conv"},
    {"max_pool", "pool and resize"},
    {"average_pool", "pool and resize"},
    {"lp_pool", "pool and resize"},
    {"pool", "pool and resize"},
    {"resize", "pool and resize"},
    {"grid_sample", "pool and resize"},
    {"fold", "pool and resize"},
    {"lstm", "recurrent"},
    {"gru", "recurrent"},
    {"rnn", "recurrent"},
    {"quantize", "elementwise"},
    {"dequantize", "elementwise"},
    {"layer_norm", "norm"},
    {"rms_norm", "norm"},
    {"group_norm", "norm"},
    {"instance_norm", "norm"},
    {"batch_norm", "norm"},
    {"softmax", "softmax"},
    {"log_softmax", "softmax"},
    {"argsort", "sort and scan"},
    {"sort", "sort and scan"},
    {"top_k", "sort and scan"},
    {"radix", "sort and scan"},
    {"scan", "sort and scan"},
    {"masked", "copy"},
    {"copy", "copy"},
    {"concat", "copy"},
    {"split", "copy"},
    {"fill", "copy"},
    {"transpose", "copy"},
    {"pad", "copy"},
    {"remap", "copy"},
    {"spread", "copy"},
    {"roll", "copy"},
    {"tile", "copy"},
    {"repeat", "copy"},
    {"gather", "index"},
    {"scatter", "index"},
    {"dynamic_", "index"},
    {"compact", "index"},
    {"compress", "index"},
    {"nonzero", "index"},
    {"expand", "index"},
    {"elementwise", "elementwise"},
    {"map", "elementwise"},
    {"reduce_", "reduce"},
    {"arg", "reduce"},
    {"variance", "reduce"},
    {"log_sum", "reduce"},
};

// Dispatches of reductions have the reduction's own name.
constexpr std::string_view kReductions[] = {"sum", "mean", "prod", "min", "max",   "sum_squares",
                                            "l1",  "l2",   "any",  "all", "count", "deviation"};

struct Colour {
  std::string_view light, dark;
};

constexpr std::array<Colour, kKernelFamilies.size()> kColours = {{{"#2a6fdb", "#6ea8ff"},
                                                                  {"#d9822b", "#f0a35e"},
                                                                  {"#1f9e6e", "#4cc99a"},
                                                                  {"#c0392b", "#ef7a6d"},
                                                                  {"#7a52c7", "#ab8bf0"},
                                                                  {"#0f8fa8", "#4dbdd3"},
                                                                  {"#b0457b", "#e083b1"},
                                                                  {"#8d6a1f", "#cfae5c"},
                                                                  {"#5d7a1e", "#a3c45a"},
                                                                  {"#d4488e", "#ff8cc4"},
                                                                  {"#3b7a57", "#7cc49a"},
                                                                  {"#a0522d", "#d89a76"},
                                                                  {"#8a919a", "#8a939d"}}};

}  // namespace

std::string_view kernel_family(std::string_view name) {
  for (const Prefix& p : kPrefixes) {
    if (name.starts_with(p.begins)) return p.family;
  }
  for (const std::string_view reduction : kReductions) {
    if (name == reduction) return "reduce";
  }
  return "other";
}

std::size_t family_index(std::string_view family) {
  return static_cast<std::size_t>(std::ranges::find(kKernelFamilies, family) - kKernelFamilies.begin());
}

std::string_view family_colour(std::string_view family, bool dark) {
  const Colour& colour = kColours.at(family_index(family));
  return dark ? colour.dark : colour.light;
}

std::string family_colours(bool dark) {
  std::string text;
  for (std::size_t i = 0; i < kKernelFamilies.size(); ++i) {
    text += std::format("{}--f{}: {};", i ? " " : "", i, family_colour(kKernelFamilies[i], dark));
  }
  return text;
}

}  // namespace weft
