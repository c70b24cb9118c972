// The rows of the kernel table for weft/kernels/index.h.
#include "kernels/table_rows.h"
#include "weft/kernels/index.h"

namespace weft::kernels {

namespace {

Schema gathers(std::string name, std::string formula, std::string summary, std::string indices, std::string y,
               AttributeSchema where, std::vector<std::string> other_names) {
  return {
      .name = std::move(name),
      .family = "index",
      .summary = std::move(summary) + "; negative indices count from the end, and all are clamped to the valid range",
      .formula = std::move(formula),
      .inputs = {one("x", "any"), one("indices", std::move(indices))},
      .outputs = {one("y", std::move(y))},
      .signatures = {{types::any, types::indices, as(0)}},
      .attributes = {std::move(where)},
      .other_names = std::move(other_names)};
}

// y is read, too. Which operations take which types: weft/kernels/index.h.
Schema scatters(std::string name, std::string formula, std::string summary, std::string indices, std::string updates,
                AttributeSchema where, std::vector<std::string> other_names = {}) {
  return {.name = std::move(name),
          .family = "index",
          .summary = std::move(summary) +
                     "; negative indices count from the end, updates whose index is outside are "
                     "ignored",
          .formula = std::move(formula),
          .inputs = {one("indices", std::move(indices)), one("updates", std::move(updates))},
          .outputs = {one("y", "any")},
          .signatures = {{types::indices, types::any, as(1)}},
          .attributes = {choice("op", kScatterMeaning, kScatterKinds), std::move(where)},
          .other_names = std::move(other_names)};
}

}  // namespace

void add_index_rows(TableRows& rows) {
  rows.push_back(
      row(gathers("gather", "y[i…, j…, k…] = x[i…, indices[j…], k…]", "whole rows of x, chosen by one list of indices",
                  "any", "x's shape with indices' in place of axis", integer("axis", kAxisMeaning, 0), {"take"}),
          [](Stream& s, const Reader& r) { gather(s, r.in(0), r.in(1), r.out(0), r.axis()); }));
  rows.push_back(row(gathers("gather_elements", "y[i…, j, k…] = x[i…, indices[i…, j, k…], k…]",
                             "single elements of x, each chosen by an index of its own", "x's rank", "indices' shape",
                             integer("axis", kAxisMeaning, 0), {"take_along_axis"}),
                     [](Stream& s, const Reader& r) { gather_elements(s, r.in(0), r.in(1), r.out(0), r.axis()); }));
  rows.push_back(row(gathers("gather_nd", "y[b…, i…, k…] = x[b…, indices[b…, i…, :], k…]",
                             "elements or slices of x, chosen by tuples of indices", "[b..., i..., axes of a tuple]",
                             "[b..., i..., k...]: the axes of x that a tuple leaves come last",
                             integer("batch", kBatchMeaning, 0), {}),
                     [](Stream& s, const Reader& r) { gather_nd(s, r.in(0), r.in(1), r.out(0), r.axis("batch")); }));
  rows.push_back(
      row({.name = "dynamic_slice",
           .family = "index",
           .summary = "the part of x that begins at an index from data, which is clamped so that the part lies "
                      "inside of x",
           .formula = "y[i…] = x[starts + i…]",
           .inputs = {one("x", "any"), one("starts", "[axes], or [] for one axis")},
           .outputs = {one("y", "the sizes of the part, at most x's")},
           .signatures = {{types::any, types::indices, as(0)}},
           .attributes = {integers("axes", kStartsMeaning)}},
          [](Stream& s, const Reader& r) { dynamic_slice(s, r.in(0), r.in(1), r.out(0), r.axes()); }));
  // y is read, too.
  rows.push_back(
      row({.name = "dynamic_update_slice",
           .family = "index",
           .summary = "an update written to the part of y that begins at an index from data, which is clamped "
                      "so that the part lies inside of y; other elements of y are unchanged",
           .formula = "y[starts + i…] = update[i…]",
           .inputs = {one("update", "sizes of at most y's"), one("starts", "[axes], or [] for one axis")},
           .outputs = {one("y", "any")},
           .signatures = {{types::any, types::indices, as(0)}},
           .attributes = {integers("axes", kStartsMeaning)}},
          [](Stream& s, const Reader& r) { dynamic_update_slice(s, r.in(0), r.in(1), r.out(0), r.axes()); }));
  rows.push_back(row(scatters("scatter", "y[i…, indices[j…], k…] = op(y[i…, indices[j…], k…], updates[i…, j…, k…])",
                              "whole rows of y, chosen by one list of indices, combined with updates", "any",
                              "y's shape with indices' in place of axis", integer("axis", kAxisMeaning, 0)),
                     [](Stream& s, const Reader& r) {
                       scatter(s, r.choice<ScatterKind>("op", kScatterKinds), r.in(0), r.in(1), r.out(0), r.axis());
                     }));
  rows.push_back(row(scatters("scatter_elements",
                              "y[i…, indices[i…, j, k…], k…] = op(y[i…, indices[i…, j, k…], k…], updates[i…, j, k…])",
                              "single elements of y, each chosen by an index of its own, combined with updates",
                              "y's rank", "indices' shape", integer("axis", kAxisMeaning, 0), {"put_along_axis"}),
                     [](Stream& s, const Reader& r) {
                       scatter_elements(s, r.choice<ScatterKind>("op", kScatterKinds), r.in(0), r.in(1), r.out(0),
                                        r.axis());
                     }));
  rows.push_back(row(
      scatters("scatter_nd", "y[b…, indices[b…, i…, :], k…] = op(y[b…, indices[b…, i…, :], k…], updates[b…, i…, k…])",
               "elements or slices of y, chosen by tuples of indices, combined with updates",
               "[b..., i..., axes of a tuple]", "[b..., i..., k...]", integer("batch", kBatchMeaning, 0)),
      [](Stream& s, const Reader& r) {
        scatter_nd(s, r.choice<ScatterKind>("op", kScatterKinds), r.in(0), r.in(1), r.out(0), r.axis("batch"));
      }));
}

}  // namespace weft::kernels
