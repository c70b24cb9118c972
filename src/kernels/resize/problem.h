// A resampling as passes over tensors, each along some of their axes: what the devices' kernels run.
#pragma once

#include <functional>

#include "cpu/executor.h"
#include "kernels/resize/axis_table.h"
#include "weft/gpu.h"

namespace weft::kernels {

// y = x resampled along the axes of these tables; x and y have the same sizes along all others.
struct ResizePass {
  std::vector<View> inputs;  // x, or what a prologue makes it of; all of one shape
  View y;
  std::vector<AxisTable> tables;
  bool moves = false;        // elements are moved as they are: at most one of each row
  Number value = 0;          // where a table's row is empty
  DType from_type, to_type;  // of x behind the prologue, and of y in front of the epilogue
  const Expression* prologue = nullptr;
  const Expression* epilogue = nullptr;
  std::vector<View> operands = {};  // the epilogue's, of y's shape

  const Shape& x_shape() const { return inputs[0].shape(); }
};

// Sums of integers are fixed-point numbers: those of the types i8 and u8 have none, intermediate ones this many bits
// behind the point, in i16.
constexpr int kFractionBits = 6;
constexpr DType kIntegerIntermediate = DType::i16;
inline bool sums_integers(const ResizePass& pass) { return !pass.moves && !is_floating(pass.from_type); }
inline int fraction_bits(DType type) { return type == kIntegerIntermediate ? kFractionBits : 0; }
// How far right a sum of products is shifted for y.
inline int result_shift(const ResizePass& pass) {
  return kWeightBits + fraction_bits(pass.from_type) - fraction_bits(pass.to_type);
}

// The least and the greatest number of a type, as sums are stored in it, and the nearest to `value`.
std::pair<std::int32_t, std::int32_t> limits_of(DType type);
std::int32_t fixed_point(const Number& value, DType type);

// The axes of a pass in the order of y's memory, last the one whose elements are adjacent; adjacent ones that no table
// is for are one where their strides allow it. `table`: which of the pass' tables is for it, or -1.
struct ResizeOrder {
  Shape shape;  // of y
  Strides y;
  std::vector<Strides> inputs, operands;
  Shape x_shape;
  std::vector<int> table;
};
ResizeOrder order_of(const ResizePass& pass);

// The passes that resample x to y, of which none has many products for an element. Memory for what is between two of
// them comes from `memory`. `as_y`: its axes lie in the order of y's, else in their own.
std::vector<ResizePass> passes_of(const ResizePass& whole, bool as_y,
                                  const std::function<View(std::uint64_t bytes)>& memory);
// The bytes between the passes, at most.
std::uint64_t intermediate_bytes(const ResizePass& whole);

void resize_gpu(gpu::Commands& commands, std::string_view name, const ResizePass& whole);
void resize_cpu(cpu::Executor& executor, const ResizePass& whole);

}  // namespace weft::kernels
