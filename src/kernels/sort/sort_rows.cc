// The rows of the kernel table for weft/kernels/sort.h.
#include <format>

#include "kernels/table_rows.h"
#include "weft/kernels/sort.h"

namespace weft::kernels {

namespace {

constexpr const char* kOrder = "stable in both directions, NaN last";

Schema sorts(std::string name, std::string formula, std::string summary, std::string shape, AttributeSchema order,
             std::vector<std::string> other_names = {}) {
  return {.name = std::move(name),
          .family = "sort",
          .summary = std::move(summary),
          .formula = std::move(formula),
          .inputs = {one("x", "any")},
          .outputs = {optional("values", shape), optional("indices", shape)},
          .signatures = {{types::numbers | types::boolean, as(0), types::positions}},
          .attributes = {integer("axis", "the axis along which elements are compared", -1), std::move(order)},
          .other_names = std::move(other_names)};
}

SortOptions order(const Reader& r) { return {r.axis(), r.flag("descending")}; }

}  // namespace

void add_sort_rows(TableRows& rows) {
  rows.push_back(row(sorts("sort", "values[i] = x[indices[i]], values[i] ≤ values[i+1]",
                           std::format("x in order along an axis, and where its elements were; {}", kOrder),
                           "x's shape", boolean("descending", "the greatest element first", false), {"argsort"}),
                     [](Stream& s, const Reader& r) { sort(s, r.in(0), r.maybe_out(0), r.maybe_out(1), order(r)); }));
  rows.push_back(
      row(sorts("top_k", "values[i] = x[indices[i]], the k greatest or least of x",
                std::format("the first elements that sorting along an axis gives, and where they were; {}", kOrder),
                "x's shape with k along axis",
                boolean("largest", "the greatest elements, descending; else the least, ascending", true)),
          [](Stream& s, const Reader& r) {
            top_k(s, r.in(0), r.maybe_out(0), r.maybe_out(1), {r.axis(), r.flag("largest")});
          }));
}

void add_sort_forms(TableRows& forms) {
  Schema schema = kernel("sort");
  schema.name = "argsort";
  schema.summary = std::format("where the elements of x are that come in order along an axis; {}", kOrder);
  schema.formula = "x[indices[i]] ≤ x[indices[i+1]]";
  schema.outputs = {one("indices", "x's shape")};
  schema.other_names.clear();
  schema.signatures = {{types::numbers | types::boolean, types::positions}};
  forms.push_back(row(schema, [](Stream& s, const Reader& r) { sort(s, r.in(0), {}, r.out(0), order(r)); }));
}

}  // namespace weft::kernels
