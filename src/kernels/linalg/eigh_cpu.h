// The Hermitian eigenproblem on the CPU: by LAPACK, in the type itself, or by loops, in f64.
#pragma once

#include <optional>

#include "cpu/executor.h"
#include "weft/kernels/linalg.h"

namespace weft::kernels {

// Views as the launcher checks them.
void eigh_cpu(cpu::Executor& executor, const View& a, const View& w, const View& info, const std::optional<View>& v,
              bool upper);
// The form without LAPACK.
void eigh_loops(cpu::Executor& executor, const View& a, const View& w, const View& info, const std::optional<View>& v,
                bool upper);

}  // namespace weft::kernels
