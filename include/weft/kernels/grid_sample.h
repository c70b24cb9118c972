// Sampling of images at positions from data. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>

#include "weft/attributes.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// What a sample is made of, along each axis.
enum class SampleMode : std::uint8_t {
  linear,   // the two elements around its position, by their distance
  nearest,  // the nearest element; halfway between two the even one
  cubic,    // the four elements around its position, by the cubic convolution with the coefficient -0.75
};

// What elements outside of x are.
enum class SamplePadding : std::uint8_t {
  zeros,       // 0
  border,      // the nearest element of x
  reflection,  // x mirrored at its edges: at the centres of its first and last elements if align_corners, else at the
               // elements' outer ends
};

inline constexpr std::string_view kSampleModes[] = {"linear", "nearest", "cubic"};
inline constexpr std::string_view kSamplePaddings[] = {"zeros", "border", "reflection"};

struct SampleOptions {
  SampleMode mode = SampleMode::linear;
  SamplePadding padding = SamplePadding::zeros;
  // -1 and 1 are the centres of x's first and last elements; else their outer ends.
  bool align_corners = false;

  void fields(AttributeVisitor& v) {
    v("mode", mode, SampleMode::linear, kSampleModes,
      "what a sample is made of: the elements around its position by their distance (linear), the nearest one, or four "
      "along each axis by a cubic convolution");
    v("padding", padding, SamplePadding::zeros, kSamplePaddings,
      "what is outside of x: zeros, the nearest element (border), or x mirrored (reflection)");
    v.brief("align_corners", align_corners, false,
            "whether -1 and 1 are the centres of the first and last elements; else their outer ends");
  }
};

// y[n, c, i…] = x[n, c, …] at the position grid[n, i…, :]: x [n, C, spatial…] with one to three spatial axes, grid [n,
// places…, d] with a number for each spatial axis, the last axis' first (x, y, z for [depth, height, width]), y [n, C,
// places…]. Numbers from -1 to 1 are inside of x: with align_corners p = (g + 1) / 2 · (size - 1), else p = ((g + 1) ·
// size - 1) / 2. A number that is NaN, or further than 2^30 elements away, counts as p = -100. Elements of weight 0 do
// not count, even if they are infinite or NaN. Types are floats; x and y have one, and positions and sums are f32, or
// f64 for x of f64, which GPUs do not have. Throws InvalidArgument (an axis of x is empty, and y is not), Unsupported.
void grid_sample(Stream& stream, const View& x, const View& grid, const View& y, const SampleOptions& options = {});

// The gradient of grid_sample for x: dx[n, c, j…] = Σ_i dy[n, c, i…] · w(i, j), the weights that x[n, c, j…] has in y.
// Sums are f32 (f64 where dy is); GPUs add in any order. Options as grid_sample was given; dy and dx have one type.
void grid_sample_gradient(Stream& stream, const View& dy, const View& grid, const View& dx,
                          const SampleOptions& options = {});

// The gradient of grid_sample for the grid: dgrid[n, i…, d] = Σ_c dy[n, c, i…] · ∂y[n, c, i…] / ∂grid[n, i…, d]. It is
// 0 of mode nearest, where the padding clamps a position (at x's outer elements, too), and of numbers that count as p =
// -100. Linear samples at an element's centre have the slope towards the next element. dy and x have one type, grid and
// dgrid another one.
void grid_sample_grid_gradient(Stream& stream, const View& dy, const View& x, const View& grid, const View& dgrid,
                               const SampleOptions& options = {});

}  // namespace weft::kernels
