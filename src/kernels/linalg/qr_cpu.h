// QR factors on the CPU: by LAPACK, in the type itself, or by loops, whose sums are in f64.
#pragma once

#include "cpu/executor.h"
#include "weft/view.h"

namespace weft::kernels {

// q may have no columns, and r as many rows as a, or as many as the lesser side of a; views as the launcher checks
// them.
void qr_cpu(cpu::Executor& executor, const View& a, const View& q, const View& r);
// The form without LAPACK.
void qr_loops(cpu::Executor& executor, const View& a, const View& q, const View& r);

}  // namespace weft::kernels
