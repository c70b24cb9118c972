// The rows of the kernel table for weft/kernels/copy.h.
#include "kernels/table_rows.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {

void add_copy_rows(TableRows& rows) {
  using types::any;
  rows.push_back(row({.name = "copy",
                      .family = "copy",
                      .summary = "y = x, converted to y's type, broadcast to its shape",
                      .inputs = {{"x"}},
                      .outputs = {{"y"}},
                      .signatures = {{any, any}},
                      .other_names = {"cast"}},
                     [](Stream& s, const Reader& r) { copy(s, r.in(0), r.out(0)); }));
  rows.push_back(row({.name = "fill",
                      .family = "copy",
                      .summary = "y = value",
                      .outputs = {{"y"}},
                      .signatures = {{any}},
                      .attributes = {number("value")}},
                     [](Stream& s, const Reader& r) { fill(s, r.number("value"), r.out(0)); }));
  rows.push_back(row({.name = "masked_copy",
                      .family = "copy",
                      .summary = "y = x where the mask is true",
                      .inputs = {{"mask"}, {"x"}},
                      .outputs = {{"y"}},
                      .signatures = {{types::boolean, any, as(1)}}},
                     [](Stream& s, const Reader& r) { masked_copy(s, r.in(0), r.in(1), r.out(0)); }));
  rows.push_back(row({.name = "concat",
                      .family = "copy",
                      .summary = "the parts one after the other",
                      .inputs = {repeated("parts")},
                      .outputs = {{"y"}},
                      .signatures = {{any, as(0)}},
                      .attributes = {integer("axis", 0)},
                      .other_names = {"concatenate", "cat"}},
                     [](Stream& s, const Reader& r) { concat(s, r.inputs(), r.out(0), r.axis()); }));
  rows.push_back(row({.name = "split",
                      .family = "copy",
                      .summary = "x cut into parts",
                      .inputs = {{"x"}},
                      .outputs = {repeated("parts")},
                      .signatures = {{any, as(0)}},
                      .attributes = {integer("axis", 0)}},
                     [](Stream& s, const Reader& r) { split(s, r.in(0), r.outputs(), r.axis()); }));
}

}  // namespace weft::kernels
