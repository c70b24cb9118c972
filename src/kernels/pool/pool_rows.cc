// The rows of the kernel table for weft/kernels/pool.h.
#include "kernels/table_rows.h"
#include "weft/kernels/pool.h"

namespace weft::kernels {
namespace {

// The options of pools that are no averages.
struct WindowOptions : PoolOptions {
  void fields(AttributeVisitor& v) { windows(v); }
};

}  // namespace

void add_pool_rows(TableRows& rows) {
  using types::floats;
  constexpr int kLeast = 3, kMost = 5;  // ranks
  const TypeSet small{DType::i8, DType::i16, DType::i32, DType::u8, DType::u16, DType::u32};
  const auto x = ranked("x", "[n, c, spatial…]", kLeast, kMost);
  const auto y = ranked("y", "[n, c, windows…]", kLeast, kMost), dy = ranked("dy", "[n, c, windows…]", kLeast, kMost);
  const auto dx = ranked("dx", "[n, c, spatial…]", kLeast, kMost);
  const auto indices = ranked("indices", "[n, c, windows…]", kLeast, kMost);
  rows.push_back(row({.name = "max_pool",
                      .family = "pool",
                      .summary = "the greatest element of each window over one to three spatial axes",
                      .formula = "y[n, c, i] = max over window i of x[n, c, …]",
                      .inputs = {x},
                      .outputs = {y},
                      .signatures = {{floats, floats}, {small, as(0)}},
                      .attributes = schemas_of<WindowOptions>(),
                      .other_names = {"maxPool2d"}},
                     [](Stream& s, const Reader& r) { max_pool(s, r.in(0), r.out(0), r.options<WindowOptions>()); }));
  rows.push_back(
      row({.name = "max_pool_with_indices",
           .family = "pool",
           .summary = "the greatest element of each window, and its position in x's spatial axes in row-major order",
           .formula = "y[n, c, i] = max over window i of x[n, c, …] = x[n, c, indices[n, c, i]]",
           .inputs = {x},
           .outputs = {y, indices},
           .signatures = {{floats, floats, DType::i32}, {small, as(0), DType::i32}},
           .attributes = schemas_of<WindowOptions>(),
           .other_names = {"max_pool1d", "max_pool2d", "max_pool3d"}},
          [](Stream& s, const Reader& r) {
            max_pool_with_indices(s, r.in(0), r.out(0), r.out(1), r.options<WindowOptions>());
          }));
  rows.push_back(row({.name = "average_pool",
                      .family = "pool",
                      .summary = "the mean of each window over one to three spatial axes",
                      .formula = "y[n, c, i] = Σ over window i of x[n, c, …] / divisor",
                      .inputs = {x},
                      .outputs = {y},
                      .signatures = {{floats, floats}},
                      .attributes = schemas_of<PoolOptions>(),
                      .other_names = {"avg_pool1d", "avg_pool2d", "avg_pool3d", "averagePool2d"}},
                     [](Stream& s, const Reader& r) { average_pool(s, r.in(0), r.out(0), r.options<PoolOptions>()); }));
  rows.push_back(
      row({.name = "lp_pool",
           .family = "pool",
           .summary = "the p-norm of each window over one to three spatial axes",
           .formula = "y[n, c, i] = (Σ over window i of |x[n, c, …]|^p)^(1/p)",
           .inputs = {x},
           .outputs = {y},
           .signatures = {{floats, floats}},
           .attributes = with(number("p", "the norm, a positive number", Number(2)), WindowOptions()),
           .other_names = {"lp_pool1d", "lp_pool2d", "lp_pool3d"}},
          [](Stream& s, const Reader& r) { lp_pool(s, r.in(0), r.out(0), r.real("p"), r.options<WindowOptions>()); }));
  rows.push_back(row({.name = "max_pool_gradient",
                      .family = "pool",
                      .summary = "the gradient of max_pool_with_indices for x, dy being the gradient of y",
                      .formula = "dx[n, c, j] = Σ dy[n, c, i] over the windows i whose index is j",
                      .inputs = {dy, indices},
                      .outputs = {dx},
                      .signatures = {{floats, DType::i32, floats}},
                      .attributes = schemas_of<WindowOptions>(),
                      .other_names = {}},
                     [](Stream& s, const Reader& r) {
                       max_pool_gradient(s, r.in(0), r.in(1), r.out(0), r.options<WindowOptions>());
                     }));
  rows.push_back(
      row({.name = "average_pool_gradient",
           .family = "pool",
           .summary = "the gradient of average_pool for x, dy being the gradient of y",
           .formula = "dx[n, c, j] = Σ dy[n, c, i] / divisor(i) over the windows i that contain j",
           .inputs = {dy},
           .outputs = {dx},
           .signatures = {{floats, floats}},
           .attributes = schemas_of<PoolOptions>(),
           .other_names = {}},
          [](Stream& s, const Reader& r) { average_pool_gradient(s, r.in(0), r.out(0), r.options<PoolOptions>()); }));
}

}  // namespace weft::kernels
