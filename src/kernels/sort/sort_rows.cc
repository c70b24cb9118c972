// The rows of the kernel table for weft/kernels/sort.h.
#include "kernels/table_rows.h"
#include "weft/kernels/sort.h"

namespace weft::kernels {

namespace {

Schema sorts(std::string name, std::string summary, AttributeSchema order, std::vector<std::string> other_names = {}) {
  return {.name = std::move(name),
          .family = "sort",
          .summary = std::move(summary),
          .inputs = {{"x"}},
          .outputs = {optional("values"), optional("indices")},
          .signatures = {{types::numbers | types::boolean, as(0), types::positions}},
          .attributes = {integer("axis", -1), std::move(order)},
          .other_names = std::move(other_names)};
}

SortOptions order(const Reader& r) { return {r.axis(), r.flag("descending")}; }

}  // namespace

void add_sort_rows(TableRows& rows) {
  rows.push_back(row(sorts("sort", "x in order along an axis, and where its elements were", boolean("descending", false),
                           {"argsort"}),
                     [](Stream& s, const Reader& r) { sort(s, r.in(0), r.maybe_out(0), r.maybe_out(1), order(r)); }));
  rows.push_back(row(sorts("top_k", "the first elements of sorting along an axis, and where they were",
                           boolean("largest", true)),
                     [](Stream& s, const Reader& r) {
                       top_k(s, r.in(0), r.maybe_out(0), r.maybe_out(1), {r.axis(), r.flag("largest")});
                     }));
}

void add_sort_forms(TableRows& forms) {
  Schema schema = kernel("sort");
  schema.name = "argsort";
  schema.summary = "where the elements of x are that come in order along an axis";
  schema.outputs = {{"indices"}};
  schema.other_names.clear();
  schema.signatures = {{types::numbers | types::boolean, types::positions}};
  forms.push_back(row(schema, [](Stream& s, const Reader& r) { sort(s, r.in(0), {}, r.out(0), order(r)); }));
}

}  // namespace weft::kernels
