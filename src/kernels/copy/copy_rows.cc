// The rows of the kernel table for weft/kernels/copy.h.
#include "kernels/table_rows.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {

void add_copy_rows(TableRows& rows) {
  using types::any;
  rows.push_back(row({.name = "copy",
                      .family = "copy",
                      .summary = "x converted to y's type and broadcast to its shape: floats to integers towards zero, "
                                 "saturating, NaN to 0; integers wrap; bool is x ≠ 0",
                      .formula = "y = x",
                      .inputs = {one("x", "broadcasts to y")},
                      .outputs = {one("y", "any")},
                      .signatures = {{any, any}},
                      .other_names = {"cast"}},
                     [](Stream& s, const Reader& r) { copy(s, r.in(0), r.out(0)); }));
  rows.push_back(row({.name = "fill",
                      .family = "copy",
                      .summary = "the same number, converted to y's type, in all elements",
                      .formula = "y = value",
                      .outputs = {one("y", "any")},
                      .signatures = {{any}},
                      .attributes = {number("value", "the number")}},
                     [](Stream& s, const Reader& r) { fill(s, r.number("value"), r.out(0)); }));
  rows.push_back(row({.name = "masked_copy",
                      .family = "copy",
                      .summary = "x where the mask is true; elsewhere y is unchanged",
                      .formula = "y[i] = x[i] where mask[i]",
                      .inputs = {one("mask", "broadcasts to y"), one("x", "broadcasts to y")},
                      .outputs = {one("y", "any")},
                      .signatures = {{types::boolean, any, as(1)}}},
                     [](Stream& s, const Reader& r) { masked_copy(s, r.in(0), r.in(1), r.out(0)); }));
  rows.push_back(row({.name = "concat",
                      .family = "copy",
                      .summary = "the parts one after the other along an axis",
                      .formula = "y = [parts[0], parts[1], …] along axis",
                      .inputs = {repeated("parts", "one shape but for axis")},
                      .outputs = {one("y", "the parts' shape, their sizes along axis added")},
                      .signatures = {{any, as(0)}},
                      .attributes = {integer("axis", "the axis along which the parts lie", 0)},
                      .other_names = {"concatenate", "cat"}},
                     [](Stream& s, const Reader& r) { concat(s, r.inputs(), r.out(0), r.axis()); }));
  rows.push_back(row({.name = "split",
                      .family = "copy",
                      .summary = "x cut along an axis into parts of the sizes that these have",
                      .formula = "[parts[0], parts[1], …] = x along axis",
                      .inputs = {one("x", "any")},
                      .outputs = {repeated("parts", "x's shape but for axis")},
                      .signatures = {{any, as(0)}},
                      .attributes = {integer("axis", "the axis along which x is cut", 0)}},
                     [](Stream& s, const Reader& r) { split(s, r.in(0), r.outputs(), r.axis()); }));
}

}  // namespace weft::kernels
