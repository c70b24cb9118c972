#pragma once

#include <optional>

#include "cpu/executor.h"
#include "weft/gpu.h"
#include "weft/view.h"

namespace weft::kernels {

// The form of a transposition. y is contiguous along axis a, x along b.
struct TransposeForm {
  bool direct;         // each thread transposes 4×4 elements in registers; else through a tile of workgroup memory
  std::uint32_t tile;  // direct: threads of a workgroup along a; else the words of a tile's row along a
  bool b_first;        // adjacent workgroups lie along b
  bool words = false;  // direct, for bytes: each thread transposes 4×16 of them as words
  std::uint32_t tile_b = 32;  // through a tile: the rows of y in it
};
// False if the layouts are not a transposition, or the form does not fit it. `form`: forced, for measurements.
bool transpose_gpu(gpu::Commands& commands, const View& x, const View& y,
                   const std::optional<TransposeForm>& form = {});

// Same types and shapes; x may have strides of zero.
void copy_bits_gpu(gpu::Commands& commands, const View& x, const View& y);
void copy_bits_cpu(cpu::Executor& executor, const View& x, const View& y);
void fill_cpu(cpu::Executor& executor, std::uint64_t bits, const View& y);

}  // namespace weft::kernels
