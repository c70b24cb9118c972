// The eigenproblem of matrices of any kind on the CPU: by loops, in f64.
#pragma once

#include <optional>

#include "cpu/executor.h"
#include "weft/kernels/linalg.h"

namespace weft::kernels {

// Views as the launcher checks them.
void eig_cpu(cpu::Executor& executor, const View& a, const View& w, const View& info, const std::optional<View>& v);

}  // namespace weft::kernels
