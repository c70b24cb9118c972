#pragma once

#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core::webgpu {

// What an update does to the elements that it goes to. Booleans have the bytes of the integers 0 and 1, of which the
// sum is whether there is a 1, and the product whether all are.
struct Update {
  weft::kernels::ScatterKind kind;
  weft::ScalarOp op;  // of two elements, where it is no assignment
  bool as_bytes;

  // The elements as the kernels of `kind` and `op` take them.
  weft::View of(weft::View view) const {
    if (as_bytes) view.dtype = weft::DType::u8;
    return view;
  }
};

// SliceUpdate has the same types in the same order.
inline Update update_of(Scatter::ReduceType type, Dtype dtype) {
  using enum weft::kernels::ScatterKind;
  using weft::ScalarOp;
  constexpr Update kNumbers[] = {
      {max, ScalarOp::max}, {min, ScalarOp::min}, {add, ScalarOp::add}, {mul, ScalarOp::mul}, {assign, ScalarOp::max}};
  constexpr Update kBooleans[] = {{max, ScalarOp::max, true},
                                  {min, ScalarOp::min, true},
                                  {max, ScalarOp::max, true},
                                  {min, ScalarOp::min, true},
                                  {assign, ScalarOp::max, true}};
  return (dtype == bool_ ? kBooleans : kNumbers)[type];
}

}  // namespace mlx::core::webgpu
