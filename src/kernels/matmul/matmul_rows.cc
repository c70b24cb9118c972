// The rows of the kernel table for weft/kernels/matmul.h.
#include "kernels/table_rows.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {

void add_matmul_rows(TableRows& rows) {
  using types::floats, types::complex;
  const TypeSet small{DType::i8, DType::i16, DType::i32, DType::u8, DType::u16, DType::u32};
  rows.push_back(row({.name = "matmul",
                      .family = "matmul",
                      .summary = "matrix product of the last two axes; the others broadcast",
                      .inputs = {ranked("a", 2), ranked("b", 2)},
                      .outputs = {ranked("y", 2)},
                      .signatures = {{floats, floats, floats},
                                     {small, small, TypeSet{DType::i32, DType::u32}},
                                     {complex, complex | floats, complex},
                                     {floats, complex, complex}}},
                     [](Stream& s, const Reader& r) { matmul(s, r.in(0), r.in(1), r.out(0), {}); }));
}

}  // namespace weft::kernels
