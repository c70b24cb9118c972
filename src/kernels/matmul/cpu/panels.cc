#include "kernels/matmul/cpu/panels.h"

#include <cstdint>
#include <utility>

#include "kernels/common/instruction_sets.h"
#include "kernels/common/transpose.h"

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
#include "kernels/matmul/cpu/panels_block.h"
constexpr PanelLoops<float> kLoops = loops<16, 8>();
constexpr PanelLoops<double> kLoopsF64 = loops_f64<8, 8>();
}  // namespace avx512
WEFT_END_TARGET
WEFT_BEGIN_TARGET("avx2,fma,f16c")
namespace avx2 {
#include "kernels/matmul/cpu/panels_block.h"
constexpr PanelLoops<float> kLoops = loops<8, 5>();
constexpr PanelLoops<double> kLoopsF64 = loops_f64<4, 5>();
}  // namespace avx2
WEFT_END_TARGET
#endif
namespace plain {
#include "kernels/matmul/cpu/panels_block.h"
constexpr PanelLoops<float> kLoops = loops<4, 4>();
constexpr PanelLoops<double> kLoopsF64 = loops_f64<4, 2>();
}  // namespace plain

template <class Sum>
const PanelLoops<Sum>& choose() {
  const auto of = [](const PanelLoops<float>& f32, const PanelLoops<double>& f64) -> const PanelLoops<Sum>& {
    if constexpr (std::is_same_v<Sum, double>)
      return f64;
    else
      return f32;
  };
#if WEFT_X86
  if (instruction_set() == 4) return of(avx512::kLoops, avx512::kLoopsF64);
  if (instruction_set() == 3) return of(avx2::kLoops, avx2::kLoopsF64);
#endif
  return of(plain::kLoops, plain::kLoopsF64);
}

#else

template <class Sum>
const PanelLoops<Sum>& choose() {
  return standard_panel_loops<Sum>();
}

#endif

}  // namespace

template <class Sum>
const PanelLoops<Sum>& panel_loops() {
  static const PanelLoops<Sum>& loops = choose<Sum>();
  return loops;
}
template const PanelLoops<float>& panel_loops();
template const PanelLoops<double>& panel_loops();

}  // namespace weft::kernels
