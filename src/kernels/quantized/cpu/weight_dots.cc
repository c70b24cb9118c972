#include "kernels/quantized/cpu/weight_dots.h"

#include "kernels/common/instruction_sets.h"

namespace weft::kernels {

WeightLoop weight_loop([[maybe_unused]] WeightForm form, [[maybe_unused]] ZeroForm zero) {
#if WEFT_X86
  const int zeros = zero == ZeroForm::none ? 0 : zero == ZeroForm::bias ? 2 : 1;
  if (instruction_set() == 4) return weight_loop_avx512(form, zeros);
  if (instruction_set() == 3) return weight_loop_avx2(form, zeros);
#endif
  return nullptr;
}

}  // namespace weft::kernels
