// Reductions in a forced form, of rows that fit a binding: for tests and benchmarks.
#pragma once

#include "kernels/reduce/reduction.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {

void reduce_in_form(Stream& stream, ReduceKind op, const View& x, const View& y, std::span<const int> axes,
                    const ReduceForm& form);

}  // namespace weft::kernels
