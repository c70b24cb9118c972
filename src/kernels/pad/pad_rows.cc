// The rows of the kernel table for weft/kernels/pad.h.
#include "kernels/table_rows.h"
#include "weft/kernels/pad.h"

namespace weft::kernels {

void add_pad_rows(TableRows& rows) {
  const auto moves = [](std::string name, std::string formula, std::string summary, std::string y,
                        std::vector<AttributeSchema> attributes = {}) {
    return Schema{.name = std::move(name),
                  .family = "pad",
                  .summary = std::move(summary),
                  .formula = std::move(formula),
                  .inputs = {one("x", "any")},
                  .outputs = {one("y", std::move(y))},
                  .signatures = {{types::any, as(0)}},
                  .attributes = std::move(attributes)};
  };
  rows.push_back(row(
      moves("pad", "y[i] = x[i - before]", "x with a border on each side, which the mode fills; negative amounts crop",
            "x's sizes with the borders",
            with(integers("before", "how many elements come before the first one along each axis"), PadFill())),
      [](Stream& s, const Reader& r) {
        const auto fill = r.options<PadFill>();
        pad(s, r.in(0), r.out(0), r.integers("before"), fill.mode, fill.value);
      }));
  rows.push_back(row(moves("tile", "y[i] = x[i mod n], n = x's size", "x as a whole several times along each axis",
                           "multiples of x's sizes"),
                     [](Stream& s, const Reader& r) { tile(s, r.in(0), r.out(0)); }));
  rows.push_back(row(moves("repeat", "y[i] = x[i / count], rounded down",
                           "each element of x several times in a row along each axis", "multiples of x's sizes"),
                     [](Stream& s, const Reader& r) { repeat(s, r.in(0), r.out(0)); }));
  rows.push_back(row(moves("roll", "y[i] = x[(i - shift) mod n], n = x's size",
                           "x shifted along its axes; what leaves at one end enters at the other", "x's shape",
                           {integers("shifts", "how far along each axis, towards higher indices")}),
                     [](Stream& s, const Reader& r) { roll(s, r.in(0), r.out(0), r.integers("shifts")); }));
}

}  // namespace weft::kernels
