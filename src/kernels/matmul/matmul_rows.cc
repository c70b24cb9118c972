// The rows of the kernel table for weft/kernels/matmul.h.
#include "kernels/table_rows.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {

void add_matmul_rows(TableRows& rows) {
  using types::floats, types::complex;
  const TypeSet small{DType::i8, DType::i16, DType::i32, DType::u8, DType::u16, DType::u32};
  rows.push_back(row({.name = "matmul",
                      .family = "matmul",
                      .summary = "the matrix product over the last two axes; the axes before them broadcast",
                      .formula = "y[…, m, n] = Σ_k a[…, m, k] · b[…, k, n]",
                      .inputs = {ranked("a", "[..., m, k]", 2), ranked("b", "[..., k, n]", 2)},
                      .outputs = {ranked("y", "[..., m, n]", 2)},
                      .signatures = {{floats, floats, floats},
                                     {small, small, TypeSet{DType::i32, DType::u32}},
                                     {complex, complex | floats, complex},
                                     {floats, complex, complex}}},
                     [](Stream& s, const Reader& r) { matmul(s, r.in(0), r.in(1), r.out(0), {}); }));
  const auto with_indices = [&](std::string name, std::string summary, std::string formula, OperandSchema a,
                                OperandSchema b, OperandSchema indices, auto run) {
    rows.push_back(row({.name = std::move(name),
                        .family = "matmul",
                        .summary = std::move(summary),
                        .formula = std::move(formula),
                        .inputs = {std::move(a), std::move(b), std::move(indices)},
                        .outputs = {ranked("y", "[..., m, n]", 2)},
                        .signatures = {{floats, floats, types::indices, floats},
                                       {small, small, types::indices, TypeSet{DType::i32, DType::u32}}}},
                       [run](Stream& s, const Reader& r) { run(s, r.in(0), r.in(1), r.in(2), r.out(0)); }));
  };
  with_indices("gather_matmul",
               "the product of which each entry takes one of several matrices, as a mixture of experts does",
               "y[…, m, n] = Σ_k a[…, m, k] · b[chosen[…], k, n]", ranked("a", "[..., m, k]", 2),
               ranked("b", "[matrices, k, n]", 3, 3), one("chosen", "broadcasts to y's leading axes"), gather_matmul);
  with_indices("segmented_matmul", "products of pieces of two matrices, cut along what is summed",
               "y[…, m, n] = Σ a[m, k] · b[k, n] over segments[…, 0] ≤ k < segments[…, 1]", ranked("a", "[m, k]", 2, 2),
               ranked("b", "[k, n]", 2, 2), ranked("segments", "[..., 2]", 1), segmented_matmul);
}

}  // namespace weft::kernels
