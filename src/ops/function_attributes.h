// Attributes that many rows of functions have (ops/function_row.h).
#pragma once

#include <cstdint>
#include <optional>

#include "weft/attributes.h"

namespace weft {

// Of results, in words.
inline constexpr std::string_view kPositionType = "i32; i64 from 2^31 elements on";
inline constexpr std::string_view kReducedShape = "x's shape without the axes, or with size 1 there (keep_dims)";

// Of ConvolveMode (weft/numeric.h) and FftNorm (weft/fft.h), in their order.
inline constexpr std::string_view kConvolveModes[] = {"full", "same", "valid"};
inline constexpr std::string_view kFftNorms[] = {"backward", "ortho", "forward"};

struct ReductionAttributes {
  Axes axes = {};
  bool keep_dims = false;
  void fields(AttributeVisitor& v) {
    v("axes", axes, {}, "what is reduced; without them all axes");
    v("keep_dims", keep_dims, false, "leave the axes in the result, with size 1");
  }
};

struct MomentAttributes : ReductionAttributes {
  double correction = 0;
  void fields(AttributeVisitor& v) {
    v("axes", axes, {}, "what is reduced; without them all axes");
    v("correction", correction, 0, "what the number of elements is lessened by for the divisor; 0 or more");
    v("keep_dims", keep_dims, false, "leave the axes in the result, with size 1");
  }
};

// Of linspace() and its kin, from one number to another.
struct LinspaceAttributes {
  double start = 0, stop = 0;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  bool endpoint = true;
  void fields(AttributeVisitor& v) {
    v("start", start, "the first number");
    v("stop", stop, "the last number");
    v("count", count, "how many numbers there are");
    v("dtype", dtype, DType::f32, "the type of the result");
    v("endpoint", endpoint, true, "stop is among the numbers; else it would be the next one");
  }
};

struct AxisAttributes {
  int axis = -1;
  void fields(AttributeVisitor& v) { v("axis", axis, -1, "the axis along which it goes"); }
};

// Of what goes along the flattened operand if there is no axis.
struct OptionalAxisAttributes {
  std::optional<int> axis = {};
  void fields(AttributeVisitor& v) {
    v("axis", axis, {}, "the axis along which it goes; only an operand of rank 1 needs none");
  }
};

}  // namespace weft
