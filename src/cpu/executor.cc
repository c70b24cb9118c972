#include <oneapi/tbb/info.h>

#include "weft/cpu.h"

namespace weft::cpu {

Executor::Executor(int threads) : threads_(threads > 0 ? threads : tbb::info::default_concurrency()) {}

}  // namespace weft::cpu
