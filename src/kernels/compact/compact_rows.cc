// The rows of the kernel table for weft/kernels/compact.h.
#include "kernels/table_rows.h"
#include "weft/kernels/compact.h"

namespace weft::kernels {

void add_compact_rows(TableRows& rows) {
  using types::any;
  const auto by_mask = [](std::string name, std::string formula, std::string summary, std::string x, std::string mask,
                          std::string y) {
    return Schema{.name = std::move(name),
                  .family = "compact",
                  .summary = std::move(summary),
                  .formula = std::move(formula),
                  .inputs = {one("x", std::move(x)), one("mask", std::move(mask))},
                  .outputs = {one("y", std::move(y)), one("count", "one element")},
                  .signatures = {{any, any, as(0), DType::u32}}};
  };
  rows.push_back(
      row(by_mask("compress", "y = x[mask]",
                  "the elements of x where the mask is not zero, one after the other in row-major order, and how "
                  "many there are; elements of y past the count are unchanged",
                  "any", "broadcasts to x", "[capacity]"),
          [](Stream& s, const Reader& r) { compress(s, r.in(0), r.in(1), r.out(0), r.out(1)); }));
  rows.push_back(
      row(by_mask("expand", "y[mask] = x",
                  "the k-th element of y where the mask is not zero becomes x[k], all others are unchanged; the "
                  "count is the number of those elements",
                  "[n]", "broadcasts to y", "any"),
          [](Stream& s, const Reader& r) { expand(s, r.in(0), r.in(1), r.out(0), r.out(1)); }));
  rows.push_back(
      row({.name = "nonzero",
           .family = "compact",
           .summary = "the indices of the elements that are not zero, in row-major order, and how many there "
                      "are; rows of y past the count are unchanged",
           .formula = "y[k, :] = index of the k-th i with x[i] ≠ 0",
           .inputs = {one("x", "any")},
           .outputs = {ranked("y", "[capacity, rank of x]", 2, 2), one("count", "one element")},
           .signatures = {{any, types::positions, DType::u32}}},
          [](Stream& s, const Reader& r) { nonzero(s, r.in(0), r.out(0), r.out(1)); }));
}

}  // namespace weft::kernels
