#include "kernels/quantized/cpu/weight_dots.h"

#include <utility>

#include "kernels/common/instruction_sets.h"
#include "kernels/common/transpose.h"
#include "kernels/matmul/cpu/panels.h"

#if WEFT_X86
#include <immintrin.h>
#endif

namespace weft::kernels {
namespace {

#if WEFT_X86
WEFT_BEGIN_TARGET("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")
namespace avx512 {
#include "kernels/matmul/cpu/panels_block.h"
#include "kernels/quantized/cpu/weight_dots_block.h"
constexpr auto& kLoops = kWeightLoops<16>;
}  // namespace avx512
WEFT_END_TARGET
WEFT_BEGIN_TARGET("avx2,fma,f16c")
namespace avx2 {
#include "kernels/matmul/cpu/panels_block.h"
#include "kernels/quantized/cpu/weight_dots_block.h"
constexpr auto& kLoops = kWeightLoops<8>;
}  // namespace avx2
WEFT_END_TARGET
#endif

}  // namespace

WeightLoop weight_loop([[maybe_unused]] WeightForm form, [[maybe_unused]] ZeroForm zero) {
#if WEFT_X86
  const int zeros = zero == ZeroForm::none ? 0 : zero == ZeroForm::bias ? 2 : 1;
  if (instruction_set() == 4) return avx512::kLoops[static_cast<int>(form)][zeros];
  if (instruction_set() == 3) return avx2::kLoops[static_cast<int>(form)][zeros];
#endif
  return nullptr;
}

}  // namespace weft::kernels
