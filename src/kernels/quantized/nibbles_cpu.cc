#include "kernels/quantized/nibbles_cpu.h"

#include <utility>

#include "kernels/common/instruction_sets.h"
#include "kernels/common/transpose.h"
#include "kernels/matmul/panels_cpu.h"

#if WEFT_X86
#include <immintrin.h>
#endif

namespace weft::kernels {
namespace {

#if WEFT_X86
WEFT_BEGIN_TARGET("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")
namespace avx512 {
#include "kernels/matmul/panels_block.h"
#include "kernels/quantized/nibbles_block.h"
constexpr const NibbleLoop* kLoops = kNibbleLoops<16>;
}  // namespace avx512
WEFT_END_TARGET
WEFT_BEGIN_TARGET("avx2,fma,f16c")
namespace avx2 {
#include "kernels/matmul/panels_block.h"
#include "kernels/quantized/nibbles_block.h"
constexpr const NibbleLoop* kLoops = kNibbleLoops<8>;
}  // namespace avx2
WEFT_END_TARGET
#endif

}  // namespace

NibbleLoop nibble_loop([[maybe_unused]] NibbleForm form) {
#if WEFT_X86
  if (instruction_set() == 4) return avx512::kLoops[static_cast<int>(form)];
  if (instruction_set() == 3) return avx2::kLoops[static_cast<int>(form)];
#endif
  return nullptr;
}

}  // namespace weft::kernels
