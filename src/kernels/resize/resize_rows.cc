// The rows of the kernel table for weft/kernels/resize.h.
#include "kernels/table_rows.h"
#include "weft/kernels/resize.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kModes[] = {"nearest", "linear", "cubic", "area"};
constexpr std::string_view kCoordinates[] = {"half_pixel",         "align_corners",        "asymmetric",
                                             "pytorch_half_pixel", "half_pixel_symmetric", "crop"};
constexpr std::string_view kRoundings[] = {"prefer_floor", "prefer_ceil", "floor", "ceil"};

ResizeOptions options_of(const Reader& r) {
  return {.mode = r.choice<ResizeMode>("mode", kModes),
          .coordinates = r.choice<ResizeCoordinates>("coordinates", kCoordinates),
          .rounding = r.choice<ResizeRounding>("rounding", kRoundings),
          .cubic_a = r.real("cubic_a"),
          .antialias = r.flag("antialias"),
          .exclude_outside = r.flag("exclude_outside"),
          .scales = r.numbers("scales"),
          .starts = r.numbers("starts"),
          .ends = r.numbers("ends"),
          .value = r.number("value")};
}

Schema schema(std::string name, std::string summary, std::string formula, OperandSchema x, OperandSchema y,
              TypeSet types) {
  return {
      .name = std::move(name),
      .family = "resize",
      .summary = std::move(summary),
      .formula = std::move(formula),
      .inputs = {std::move(x)},
      .outputs = {std::move(y)},
      .signatures = {{types, as(0)}},
      .attributes = {
          choice(
              "mode",
              "what an element is made of: the nearest to its position, of any type; or, of floats, i8 and u8, the two "
              "around it by their distance (linear), four by a cubic convolution, or the mean of those that it "
              "covers (area)",
              kModes),
          choice("coordinates",
                 "where element i is in x, of n elements to m: (i + 0.5) / scale - 0.5 (half_pixel; "
                 "pytorch_half_pixel: 0 if m is 1), i · (n - 1) / (m - 1) (align_corners), i / scale (asymmetric), "
                 "half_pixel with the centres together (half_pixel_symmetric), or from start to end of x (crop)",
                 kCoordinates),
          choice("rounding",
                 "which element is nearest: between two the first (prefer_floor) or the last (prefer_ceil); always "
                 "the one before (floor) or after (ceil)",
                 kRoundings),
          number("cubic_a", "the coefficient of cubic convolutions", -0.75),
          boolean("antialias", "where y is smaller, all elements of x count", false),
          boolean("exclude_outside", "elements outside of x do not count; else they are the nearest ones", false),
          optional_numbers("scales", "y's sizes by x's, for each axis; none: as the sizes are"),
          optional_numbers("starts", "where in x y begins, for each axis, from 0 to 1; none: 0"),
          optional_numbers("ends", "where in x y ends, for each axis, from 0 to 1; none: 1"),
          number("value", "the number for positions outside of x, of coordinates crop", 0)}};
}

}  // namespace

void add_resize_rows(TableRows& rows) {
  rows.push_back(row(schema("resize", "x resampled along any of its axes", "y[i] = Σ_j w(i, j) · x[j], along each axis",
                            one("x", "any"), one("y", "the sizes that are wanted"), types::any - types::packed),
                     [](Stream& s, const Reader& r) { resize(s, r.in(0), r.out(0), options_of(r)); }));
  rows.push_back(row(schema("resize_gradient", "the gradient of resize for x, dy being that of y",
                            "dx[j] = Σ_i w(i, j) · dy[i], along each axis", one("dy", "y's shape"),
                            one("dx", "x's shape"), types::floats),
                     [](Stream& s, const Reader& r) { resize_gradient(s, r.in(0), r.out(0), options_of(r)); }));
}

}  // namespace weft::kernels
