// The rows of the kernel table for weft/kernels/grid_sample.h.
#include "kernels/table_rows.h"
#include "weft/kernels/grid_sample.h"

namespace weft::kernels {

namespace {
constexpr std::string_view kModes[] = {"linear", "nearest", "cubic"};
constexpr std::string_view kPaddings[] = {"zeros", "border", "reflection"};
}  // namespace

void add_grid_sample_rows(TableRows& rows) {
  rows.push_back(row(
      {.name = "grid_sample",
       .family = "grid_sample",
       .summary = "x at the positions that a grid has for each place of y",
       .formula = "y[n, c, i] = x[n, c, p], p = the position grid[n, i, :], from -1 to 1 inside of x",
       .inputs = {ranked("x", "[n, C, spatial…]", 3, 5), ranked("grid", "[n, places…, d]", 3, 5)},
       .outputs = {ranked("y", "[n, C, places…]", 3, 5)},
       .signatures = {{types::floats, types::floats, as(0)}},
       .attributes = {choice("mode",
                             "what a sample is made of: the elements around its position by their distance (linear), "
                             "the nearest one, or four along each axis by a cubic convolution",
                             kModes),
                      choice("padding",
                             "what is outside of x: zeros, the nearest element (border), or x mirrored (reflection)",
                             kPaddings),
                      boolean("align_corners",
                              "whether -1 and 1 are the centres of the first and last elements; else their outer ends",
                              false)},
       .other_names = {"gridsample"}},
      [](Stream& s, const Reader& r) {
        grid_sample(s, r.in(0), r.in(1), r.out(0),
                    {.mode = r.choice<SampleMode>("mode", kModes),
                     .padding = r.choice<SamplePadding>("padding", kPaddings),
                     .align_corners = r.flag("align_corners")});
      }));
}

}  // namespace weft::kernels
