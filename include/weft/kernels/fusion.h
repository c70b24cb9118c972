// Elementwise work in a kernel, before and after its own: y = epilogue(kernel(prologue(x, …)), …), in one dispatch.
// Intermediate results do not go through memory, and narrow floats are not rounded between the steps.
#pragma once

#include <span>

#include "weft/expression.h"
#include "weft/view.h"

namespace weft::kernels {

// What becomes of each element of the kernel's operand x where it is read: expression input 0 is the element as it is
// stored, the others are `operands`. All have one shape, that of x; of softmax, norms and reductions they broadcast to
// it. Result 0 has the type that the kernel takes x to have. What stands for elements outside of x (padding, a
// resampling's `value`) does not go through it. An element that several results need, or a row that does not fit in
// registers, is computed again where it is read again. No expression: x as it is.
struct Prologue {
  Prologue() = default;
  Prologue(const Expression* expression, std::span<const View> operands, std::span<const View> outputs = {})
      : expression(expression), operands(operands), outputs(outputs) {}

  const Expression* expression = nullptr;
  std::span<const View> operands = {};
  // Where the expression's further results are stored, of x's shape: an x + residual, say, that is needed after a norm,
  // too. Of softmax, norms, and reductions but variance and deviation. Each may be the very view of something that the
  // prologue reads, but not of a weight or an epilogue's operand.
  std::span<const View> outputs = {};
};

// What happens to each element of the kernel's result before it is stored: expression input 0 is the result before it
// is rounded (each kernel says in which type), the others are `operands`, which broadcast to y's shape. No expression:
// it is stored as it is. y may be an operand's very view.
struct Epilogue {
  Epilogue() = default;
  Epilogue(const Expression* expression, std::span<const View> operands, std::span<const View> outputs = {})
      : expression(expression), operands(operands), outputs(outputs) {}

  const Expression* expression = nullptr;
  std::span<const View> operands = {};
  // Where the expression's further results are stored, of y's shape. Of softmax and norms.
  std::span<const View> outputs = {};
};

struct Fusion {
  Prologue prologue = {};
  Epilogue epilogue = {};
};

}  // namespace weft::kernels
