#include <oneapi/tbb/info.h>

#include "weft/cpu.h"

namespace weft {

CpuExecutor::CpuExecutor(int threads) : threads_(threads > 0 ? threads : tbb::info::default_concurrency()) {}

}  // namespace weft
