#include "core/parallel.h"
#include "weft/cpu.h"

namespace weft {

CpuExecutor::CpuExecutor(int threads) : threads_(threads > 0 ? threads : core_count()) {}

}  // namespace weft
