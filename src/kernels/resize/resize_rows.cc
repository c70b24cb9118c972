// The rows of the kernel table for weft/kernels/resize.h.
#include "kernels/table_rows.h"
#include "weft/kernels/resize.h"

namespace weft::kernels {
namespace {

Schema schema(std::string name, std::string summary, std::string formula, OperandSchema x, OperandSchema y,
              TypeSet types) {
  return {.name = std::move(name),
          .family = "resize",
          .summary = std::move(summary),
          .formula = std::move(formula),
          .inputs = {std::move(x)},
          .outputs = {std::move(y)},
          .signatures = {{types, as(0)}},
          .attributes = schemas_of<ResizeOptions>()};
}

}  // namespace

void add_resize_rows(TableRows& rows) {
  rows.push_back(row(schema("resize", "x resampled along any of its axes", "y[i] = Σ_j w(i, j) · x[j], along each axis",
                            one("x", "any"), one("y", "the sizes that are wanted"), types::any - types::packed),
                     [](Stream& s, const Reader& r) { resize(s, r.in(0), r.out(0), r.options<ResizeOptions>()); }));
  rows.push_back(
      row(schema("resize_gradient", "the gradient of resize for x, dy being that of y",
                 "dx[j] = Σ_i w(i, j) · dy[i], along each axis", one("dy", "y's shape"), one("dx", "x's shape"),
                 types::floats),
          [](Stream& s, const Reader& r) { resize_gradient(s, r.in(0), r.out(0), r.options<ResizeOptions>()); }));
}

}  // namespace weft::kernels
