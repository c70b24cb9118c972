// Inside of the family search.
#pragma once

#include "cpu/executor.h"
#include "weft/kernels/search.h"

namespace weft::kernels {

void searchsorted_cpu(cpu::Executor& executor, const View& sorted, const View& values, const View& y, SearchSide side);

}  // namespace weft::kernels
