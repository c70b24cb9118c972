// Weights quantised on the CPU.
#pragma once

#include "cpu/executor.h"
#include "kernels/quantized/encoding.h"

namespace weft::kernels {

// Stores x [..., rows, columns], of at least one element, in the matrix, whose layout and encoding these are.
void encode_cpu(cpu::Executor& executor, const View& x, const QuantizedMatrix& w, const QuantizedLayout& layout,
                const Encoding& encoding);

}  // namespace weft::kernels
