#include "kernels/matmul/panels_cpu.h"

#include <cstdint>

#include "kernels/common/instruction_sets.h"

#if WEFT_X86
#include <immintrin.h>
#endif

namespace weft::kernels {
namespace {

#if WEFT_GNU

// The numbers of rows are those for which tiles of rows × two vectors fill the registers.
#if WEFT_X86
WEFT_BEGIN_TARGET("avx512f,avx512dq,avx512bw,avx512vl,avx2,fma,f16c")
namespace avx512 {
#include "kernels/matmul/panels_block.h"
constexpr PanelLoops kLoops = loops<16, 8>();
}  // namespace avx512
WEFT_END_TARGET
WEFT_BEGIN_TARGET("avx2,fma,f16c")
namespace avx2 {
#include "kernels/matmul/panels_block.h"
constexpr PanelLoops kLoops = loops<8, 5>();
}  // namespace avx2
WEFT_END_TARGET
#endif
namespace plain {
#include "kernels/matmul/panels_block.h"
constexpr PanelLoops kLoops = loops<4, 4>();
}  // namespace plain

const PanelLoops& choose() {
#if WEFT_X86
  if (instruction_set() == 4) return avx512::kLoops;
  if (instruction_set() == 3) return avx2::kLoops;
#endif
  return plain::kLoops;
}

#else

const PanelLoops& choose() { return standard_panel_loops(); }

#endif

}  // namespace

const PanelLoops& panel_loops() {
  static const PanelLoops& loops = choose();
  return loops;
}

}  // namespace weft::kernels
