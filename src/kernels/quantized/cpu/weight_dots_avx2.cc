// The loops of weight_dots_block.h for AVX2.
#include <utility>

#include "kernels/common/instruction_sets.h"
#include "kernels/common/transpose.h"
#include "kernels/matmul/cpu/panels.h"
#include "kernels/quantized/cpu/weight_dots.h"

#if WEFT_X86
#include <immintrin.h>

namespace weft::kernels {
namespace {

WEFT_BEGIN_TARGET("avx2,fma,f16c")
#include "kernels/matmul/cpu/panels_block.h"
#include "kernels/quantized/cpu/weight_dots_block.h"
constexpr auto& kLoops = kWeightLoops<8>;
WEFT_END_TARGET

}  // namespace

WeightLoop weight_loop_avx2(WeightForm form, int zeros) { return kLoops[static_cast<int>(form)][zeros]; }

}  // namespace weft::kernels
#endif
