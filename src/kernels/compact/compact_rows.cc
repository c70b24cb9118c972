// The rows of the kernel table for weft/kernels/compact.h.
#include "kernels/table_rows.h"
#include "weft/kernels/compact.h"

namespace weft::kernels {

void add_compact_rows(TableRows& rows) {
  using types::any;
  const auto by_mask = [](std::string name, std::string summary) {
    return Schema{.name = std::move(name),
                  .family = "compact",
                  .summary = std::move(summary),
                  .inputs = {{"x"}, {"mask"}},
                  .outputs = {{"y"}, {"count"}},
                  .signatures = {{any, any, as(0), DType::u32}}};
  };
  rows.push_back(row(by_mask("compress", "the elements of x that a mask selects, and their number"),
                     [](Stream& s, const Reader& r) { compress(s, r.in(0), r.in(1), r.out(0), r.out(1)); }));
  rows.push_back(row(by_mask("expand", "the elements of y that a mask selects = those of x in turn"),
                     [](Stream& s, const Reader& r) { expand(s, r.in(0), r.in(1), r.out(0), r.out(1)); }));
  rows.push_back(row({.name = "nonzero",
                      .family = "compact",
                      .summary = "indices of the elements that are not zero, and their number",
                      .inputs = {{"x"}},
                      .outputs = {ranked("y", 2, 2), {"count"}},
                      .signatures = {{any, types::positions, DType::u32}}},
                     [](Stream& s, const Reader& r) { nonzero(s, r.in(0), r.out(0), r.out(1)); }));
}

}  // namespace weft::kernels
