// Resampling of tensors along any of their axes: images to other sizes, sounds to other rates. Conventions that all
// kernels share are in weft/kernels.h.
//
// Every axis is resampled on its own: an element of y is a weighted sum of neighbours of its position in x, with the
// products of the axes' weights. Axes that stay as they are cost nothing.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/attributes.h"
#include "weft/kernels/fusion.h"
#include "weft/number.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// What an element of y is made of, at its position p along an axis of x.
enum class ResizeMode : std::uint8_t {
  nearest,  // the element at p, rounded as ResizeRounding says
  linear,   // the two elements around p, by their distance
  cubic,    // the four elements around p, by the cubic convolution of the coefficient `cubic_a` (R. Keys, "Cubic
            // convolution interpolation for digital image processing", 1981)
  area,     // the mean of the elements i · n / m, rounded down, to (i + 1) · n / m, rounded up (adaptive mean pooling)
};

// The position of y's element i along an axis: n elements of x, m of y, scale = m / n if none is given.
enum class ResizeCoordinates : std::uint8_t {
  half_pixel,            // (i + 0.5) / scale - 0.5: elements are intervals, whose outer ends meet
  align_corners,         // i · (n - 1) / (m - 1), and 0 if m is 1: the centres of the first and last elements meet
  asymmetric,            // i / scale
  pytorch_half_pixel,    // half_pixel, but 0 if m is 1
  half_pixel_symmetric,  // half_pixel moved so that the centres of x and y meet, if m is not n · scale
  crop,                  // (start + (end - start) · i / (m - 1)) · (n - 1), and (start + end) / 2 · (n - 1) if m is 1;
                         // elements whose position is outside of x are `value` (tf_crop_and_resize of ONNX)
};

// Which element is nearest, for positions halfway between two, or for all of them.
enum class ResizeRounding : std::uint8_t {
  prefer_floor,  // the nearest, of two the first
  prefer_ceil,   // the nearest, of two the last
  floor,         // the last at or before the position
  ceil,          // the first at or after the position
};

inline constexpr std::string_view kResizeModes[] = {"nearest", "linear", "cubic", "area"};
inline constexpr std::string_view kResizeCoordinates[] = {"half_pixel",         "align_corners",        "asymmetric",
                                                          "pytorch_half_pixel", "half_pixel_symmetric", "crop"};
inline constexpr std::string_view kResizeRoundings[] = {"prefer_floor", "prefer_ceil", "floor", "ceil"};

struct ResizeOptions {
  ResizeMode mode = ResizeMode::nearest;
  ResizeCoordinates coordinates = ResizeCoordinates::half_pixel;
  ResizeRounding rounding = ResizeRounding::prefer_floor;  // of mode nearest
  double cubic_a = -0.75;                                  // of mode cubic
  // Modes linear and cubic: the weights reach over 1 / scale times as many elements where y is smaller, so that all of
  // x counts.
  bool antialias = false;
  // Modes linear and cubic: elements outside of x do not count, and the weights of the others are divided by their sum.
  // Else they are x's nearest elements.
  bool exclude_outside = false;
  // The scale of each axis, where it is not y's size by x's: y's size is within 1 of x's times the scale. Where a scale
  // is the rounding to f32 of a quotient of integers up to 1024, a position that the rounding moves off a multiple of
  // 1/2 by less than 1/8 counts as that multiple.
  std::vector<double> scales = {};
  // Of coordinates `crop`, for each axis: the part of x that y shows, from 0 (the centre of the first element) to 1 (of
  // the last). May be empty for 0 and 1; start > end mirrors.
  std::vector<double> starts = {}, ends = {};
  Number value = 0;  // of elements outside of x, of coordinates `crop`

  void fields(AttributeVisitor& v) {
    v("mode", mode, ResizeMode::nearest, kResizeModes,
      "what an element is made of: the nearest to its position, of any type; or, of floats, i8 and u8, the two around "
      "it "
      "by their distance (linear), four by a cubic convolution, or the mean of those that it covers (area)");
    v("coordinates", coordinates, ResizeCoordinates::half_pixel, kResizeCoordinates,
      "where element i is in x, of n elements to m: (i + 0.5) / scale - 0.5 (half_pixel; pytorch_half_pixel: 0 if m is "
      "1), i · (n - 1) / (m - 1) (align_corners), i / scale (asymmetric), half_pixel with the centres together "
      "(half_pixel_symmetric), or from start to end of x (crop)");
    v.brief("rounding", rounding, ResizeRounding::prefer_floor, kResizeRoundings,
            "which element is nearest: between two the first (prefer_floor) or the last (prefer_ceil); always the one "
            "before (floor) or after (ceil)");
    v.brief("cubic_a", cubic_a, -0.75, "the coefficient of cubic convolutions");
    v.brief("antialias", antialias, false, "where y is smaller, all elements of x count");
    v.brief("exclude_outside", exclude_outside, false,
            "elements outside of x do not count; else they are the nearest ones");
    v.brief("scales", scales, {}, "y's sizes by x's, for each axis; none: as the sizes are");
    v.brief("starts", starts, {}, "where in x y begins, for each axis, from 0 to 1; none: 0");
    v.brief("ends", ends, {}, "where in x y ends, for each axis, from 0 to 1; none: 1");
    v.brief("value", value, 0, "the number for positions outside of x, of coordinates crop");
  }
};

// y[i…] = Σ_j x[j…] · Π_d w_d(i_d, j_d), the weights being those of the options. x and y have one type and one rank.
// Mode nearest moves elements of any type, packed ones (i4, …) excepted, with their bits. The others compute in f32, in
// f64 for f64, which GPUs do not have. Of i8 and u8 they round the exact sum to the nearest integer, up from halfway,
// and saturate; their weights are multiples of 2^-14, and several axes are resampled one after the other, with a
// rounding to 1/64 in between, so that every device gives the same bits. Elements of weight 0 do not count, even if
// they are infinite or NaN. Throws InvalidArgument (an axis of x that is empty and of y that is not; scales that do not
// fit the shapes), Unsupported.
//
// With a prologue, x stands for what the prologue gives, and may itself have any type. The epilogue takes the result,
// also where it is `value`, and gives y any type: of mode nearest as an element of x's type, else before it is rounded,
// as f32 (f64 if x is), of i8 and u8 after that, as i32.
void resize(Stream& stream, const View& x, const View& y, const ResizeOptions& options = {}, const Fusion& fusion = {});

// The gradient of resize for x: dx[j…] = Σ_i dy[i…] · Π_d w_d(i_d, j_d), dy being the gradient of y. Options as resize
// was given. Floats; the prologue is one of dy, the epilogue takes f32 or f64 in any mode. With an epilogue dy must
// have elements.
void resize_gradient(Stream& stream, const View& dy, const View& dx, const ResizeOptions& options = {},
                     const Fusion& fusion = {});

// Throws InvalidArgument and Unsupported, naming `kernel`, unless the options fit x and y of these shapes, of one rank.
void check_resize(std::string_view kernel, const ResizeOptions& options, const Shape& x, const Shape& y);

}  // namespace weft::kernels
