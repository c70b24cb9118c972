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
}

}  // namespace weft::kernels
