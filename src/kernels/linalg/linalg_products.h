// Products of blocks of matrices, which the launchers of large decompositions are made of.
#pragma once

#include "kernels/linalg/linalg_launch.h"
#include "weft/kernels/linalg.h"

namespace weft::kernels {

// y = y - a · b.
void subtract_product(Stream& stream, gpu::Commands& commands, const View& a, const View& b, const View& y);
// The conjugate transpose, in scratch if it is no view.
View adjoint(Stream& stream, GpuScratch& scratch, const View& v);

}  // namespace weft::kernels
