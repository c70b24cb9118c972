// The row of the kernel table for weft/kernels/search.h.
#include "kernels/table_rows.h"
#include "weft/kernels/search.h"

namespace weft::kernels {

void add_search_rows(TableRows& rows) {
  rows.push_back(
      row({.name = "searchsorted",
           .family = "search",
           .summary = "the positions before which values are put into a sorted list so that it stays sorted",
           .formula = "y = the number of j with sorted[j] < values (≤: side right)",
           .inputs = {ranked("sorted", "[n]", 1, 1), one("values", "any")},
           .outputs = {one("y", "values' shape")},
           .signatures = {{types::numbers | types::boolean, as(0), types::positions}},
           .attributes = schemas_of<SearchOptions>()},
          [](Stream& s, const Reader& r) { searchsorted(s, r.in(0), r.in(1), r.out(0), r.options<SearchOptions>()); }));
}

}  // namespace weft::kernels
