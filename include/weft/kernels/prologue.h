// Elementwise work on what kernels of images read: pooling and resampling.
#pragma once

#include <span>

#include "weft/expression.h"
#include "weft/view.h"

namespace weft::kernels {

// What becomes of each element of x where it is read: expression input 0 is the element as it is stored, the others
// are `operands`, broadcast to x's shape. The result has the type that the kernel takes x to have; narrow floats are
// not rounded to it. What stands for elements outside of x (padding, a resampling's `value`) does not go through it.
// An element that several results need is computed for each of them. No expression: x as it is.
struct Prologue {
  const Expression* expression = nullptr;
  std::span<const View> operands = {};
};

}  // namespace weft::kernels
