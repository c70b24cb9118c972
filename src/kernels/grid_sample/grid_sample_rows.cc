// The rows of the kernel table for weft/kernels/grid_sample.h.
#include "kernels/table_rows.h"
#include "weft/kernels/grid_sample.h"

namespace weft::kernels {

void add_grid_sample_rows(TableRows& rows) {
  rows.push_back(
      row({.name = "grid_sample",
           .family = "grid_sample",
           .summary = "x at the positions that a grid has for each place of y",
           .formula = "y[n, c, i] = x[n, c, p], p = the position grid[n, i, :], from -1 to 1 inside of x",
           .inputs = {ranked("x", "[n, C, spatial…]", 3, 5), ranked("grid", "[n, places…, d]", 3, 5)},
           .outputs = {ranked("y", "[n, C, places…]", 3, 5)},
           .signatures = {{types::floats, types::floats, as(0)}},
           .attributes = schemas_of<SampleOptions>(),
           .other_names = {"gridsample"}},
          [](Stream& s, const Reader& r) { grid_sample(s, r.in(0), r.in(1), r.out(0), r.options<SampleOptions>()); }));
  const OperandSchema dy = ranked("dy", "[n, C, places…]", 3, 5), grid = ranked("grid", "[n, places…, d]", 3, 5);
  rows.push_back(row({.name = "grid_sample_gradient",
                      .family = "grid_sample",
                      .summary = "the gradient of grid_sample for x, dy being the gradient of y",
                      .formula = "dx[n, c, j] = Σ_i dy[n, c, i] · the weight that x[n, c, j] has in y[n, c, i]",
                      .inputs = {dy, grid},
                      .outputs = {ranked("dx", "[n, C, spatial…]", 3, 5)},
                      .signatures = {{types::floats, types::floats, as(0)}},
                      .attributes = schemas_of<SampleOptions>(),
                      .other_names = {}},
                     [](Stream& s, const Reader& r) {
                       grid_sample_gradient(s, r.in(0), r.in(1), r.out(0), r.options<SampleOptions>());
                     }));
  rows.push_back(row({.name = "grid_sample_grid_gradient",
                      .family = "grid_sample",
                      .summary = "the gradient of grid_sample for the grid, dy being the gradient of y",
                      .formula = "dgrid[n, i, d] = Σ_c dy[n, c, i] · ∂y[n, c, i] / ∂grid[n, i, d]",
                      .inputs = {dy, ranked("x", "[n, C, spatial…]", 3, 5), grid},
                      .outputs = {ranked("dgrid", "grid's shape", 3, 5)},
                      .signatures = {{types::floats, as(0), types::floats, as(2)}},
                      .attributes = schemas_of<SampleOptions>(),
                      .other_names = {}},
                     [](Stream& s, const Reader& r) {
                       grid_sample_grid_gradient(s, r.in(0), r.in(1), r.in(2), r.out(0), r.options<SampleOptions>());
                     }));
}

}  // namespace weft::kernels
