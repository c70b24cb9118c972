// The rows of the kernel table for weft/kernels/index.h.
#include "kernels/table_rows.h"
#include "weft/kernels/index.h"

namespace weft::kernels {

namespace {

constexpr std::string_view kOps[] = {"assign", "add", "mul", "min", "max"};

Schema gathers(std::string name, std::string summary, AttributeSchema where, std::vector<std::string> other_names) {
  return {.name = std::move(name),
          .family = "index",
          .summary = std::move(summary),
          .inputs = {{"x"}, {"indices"}},
          .outputs = {{"y"}},
          .signatures = {{types::any, types::indices, as(0)}},
          .attributes = {std::move(where)},
          .other_names = std::move(other_names)};
}

// y is read, too. Which operations take which types: weft/kernels/index.h.
Schema scatters(std::string name, std::string summary, AttributeSchema where,
                std::vector<std::string> other_names = {}) {
  return {.name = std::move(name),
          .family = "index",
          .summary = std::move(summary),
          .inputs = {{"indices"}, {"updates"}},
          .outputs = {{"y"}},
          .signatures = {{types::indices, types::any, as(1)}},
          .attributes = {choice("op", kOps), std::move(where)},
          .other_names = std::move(other_names)};
}

}  // namespace

void add_index_rows(TableRows& rows) {
  rows.push_back(row(gathers("gather", "rows of x chosen by indices along an axis", integer("axis", 0), {"take"}),
                     [](Stream& s, const Reader& r) { gather(s, r.in(0), r.in(1), r.out(0), r.axis()); }));
  rows.push_back(row(gathers("gather_elements", "elements of x chosen by indices along an axis", integer("axis", 0),
                             {"take_along_axis"}),
                     [](Stream& s, const Reader& r) { gather_elements(s, r.in(0), r.in(1), r.out(0), r.axis()); }));
  rows.push_back(row(gathers("gather_nd", "slices of x chosen by tuples of indices", integer("batch", 0), {}),
                     [](Stream& s, const Reader& r) { gather_nd(s, r.in(0), r.in(1), r.out(0), r.axis("batch")); }));
  rows.push_back(row({.name = "dynamic_slice",
                      .family = "index",
                      .summary = "the part of x that begins at an index from data",
                      .inputs = {{"x"}, {"starts"}},
                      .outputs = {{"y"}},
                      .signatures = {{types::any, types::indices, as(0)}},
                      .attributes = {integers("axes")}},
                     [](Stream& s, const Reader& r) {
                       dynamic_slice(s, r.in(0), r.in(1), r.out(0), r.axes());
                     }));
  // y is read, too.
  rows.push_back(row({.name = "dynamic_update_slice",
                      .family = "index",
                      .summary = "an update written to the part of y that begins at an index from data",
                      .inputs = {{"update"}, {"starts"}},
                      .outputs = {{"y"}},
                      .signatures = {{types::any, types::indices, as(0)}},
                      .attributes = {integers("axes")}},
                     [](Stream& s, const Reader& r) {
                       dynamic_update_slice(s, r.in(0), r.in(1), r.out(0), r.axes());
                     }));
  rows.push_back(row(scatters("scatter", "rows of y combined with updates", integer("axis", 0)),
                     [](Stream& s, const Reader& r) {
                       scatter(s, r.choice<ScatterKind>("op", kOps), r.in(0), r.in(1), r.out(0), r.axis());
                     }));
  rows.push_back(row(scatters("scatter_elements", "elements of y along an axis combined with updates",
                              integer("axis", 0), {"put_along_axis"}),
                     [](Stream& s, const Reader& r) {
                       scatter_elements(s, r.choice<ScatterKind>("op", kOps), r.in(0), r.in(1), r.out(0), r.axis());
                     }));
  rows.push_back(row(scatters("scatter_nd", "slices of y chosen by tuples of indices combined with updates",
                              integer("batch", 0)),
                     [](Stream& s, const Reader& r) {
                       scatter_nd(s, r.choice<ScatterKind>("op", kOps), r.in(0), r.in(1), r.out(0), r.axis("batch"));
                     }));
}

}  // namespace weft::kernels
