// What norms and their gradients are called with: the attributes of their kernels, of their ops and of their functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/attributes.h"

namespace weft::kernels {

enum class NormKind : std::uint8_t { layer, rms, group, instance, batch };

// Layer and RMS norm have rows along the last axes; the others those of the channels of each sample.
constexpr bool is_of_rows(NormKind kind) { return kind == NormKind::layer || kind == NormKind::rms; }

inline constexpr double kNormEpsilon = 1e-5;
inline constexpr std::string_view kFirstAxisMeaning =
    "the first of the axes that are normalised together; the rest follow it";

inline void epsilon_field(AttributeVisitor& v, double& epsilon) {
  v("epsilon", epsilon, kNormEpsilon, "added to the variance, or the mean square, so that it is never zero");
}

struct NormOptions {
  NormKind kind = NormKind::layer;
  int axis = -1;            // the first of a row, or that of the channels
  std::int64_t groups = 0;  // of group norm
  double epsilon = kNormEpsilon;

  // With the defaults of that kind.
  static constexpr NormOptions of(NormKind kind) { return {.kind = kind, .axis = is_of_rows(kind) ? -1 : 1}; }

  void fields(AttributeVisitor& v) {
    if (is_of_rows(kind)) v("first_axis", axis, -1, kFirstAxisMeaning);
    if (kind == NormKind::group) v("groups", groups, "how many groups the channels are divided into");
    epsilon_field(v, epsilon);
    if (!is_of_rows(kind)) v("channel_axis", axis, 1, "the axis of the channels");
  }
};

}  // namespace weft::kernels
