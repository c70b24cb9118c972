// The row of the kernel table for weft/kernels/fold.h.
#include "kernels/table_rows.h"
#include "weft/kernels/fold.h"

namespace weft::kernels {

void add_fold_rows(TableRows& rows) {
  rows.push_back(
      row({.name = "fold",
           .family = "fold",
           .summary = "what windows add up to, where they lie on y",
           .formula = "y[n, c, i] = Σ x[n, c, k, j] over all k and j with j · stride + k · dilation − before = i",
           .inputs = {ranked("x", "[n, C, window…, places…]", 4, 8)},
           .outputs = {ranked("y", "[n, C, spatial…]", 3, 5)},
           .signatures = {{types::floats, as(0)}, {TypeSet{DType::i32, DType::u32}, as(0)}},
           .attributes = schemas_of<FoldOptions>(),
           .other_names = {"col2im"}},
          [](Stream& s, const Reader& r) { fold(s, r.in(0), r.out(0), r.options<FoldOptions>()); }));
}

}  // namespace weft::kernels
