// Softmax. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "weft/kernels/fusion.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// y = exp(x - max(x)) / sum(exp(x - max(x))) along `axis`, of floating types, computed in f32. A row that holds a NaN
// or +inf, or nothing but -inf, gives NaN. A result that in f32 is exactly between two bf16 values may be rounded to
// either on a GPU. The epilogue takes the result in f32, on the CPU f64 where x is that; a prologue makes x of its
// operands, such as scale · x + mask. An output may be the very view of an input.
void softmax(Stream& stream, const View& x, const View& y, int axis, const Fusion& fusion = {});

// y = x - max(x) - log(sum(exp(x - max(x)))) along `axis`: the logarithm of softmax(), types and special rows as there.
// An element of -inf in a row that has others gives -inf.
void log_softmax(Stream& stream, const View& x, const View& y, int axis, const Fusion& fusion = {});

}  // namespace weft::kernels
