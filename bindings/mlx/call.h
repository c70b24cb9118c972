// Calls of Weft's kernels on MLX's arrays.
#pragma once

#include <weft/kernels.h>

#include <functional>
#include <mutex>
#include <vector>

#include "allocator.h"
#include "mlx/array.h"

namespace mlx::core::webgpu {

weft::DType dtype(Dtype type);

// Elements of an array's memory: sizes and strides as MLX has them, `offset` in bytes.
struct Elements {
  using Sizes = Strides;  // which have 64 bits, unlike MLX's shapes

  // All elements of an array.
  static Elements of(const array& a) { return of(a.shape(), a.strides(), a.offset()); }
  static Elements of(const Shape& shape, const Strides& strides, int64_t offset) {
    return {Sizes(shape.begin(), shape.end()), strides, offset};
  }
  // The memory of an array without gaps, one element after the other, whatever its shape.
  static Elements flat(const array& a) { return {{static_cast<int64_t>(a.data_size())}, {1}, a.offset()}; }

  Sizes shape;
  Strides strides;
  int64_t offset = 0;
};

// Calls `use` with lists of elements of one shape that have at most as many axes as Weft takes: axes are merged if
// there are more, and if there still are, it is called for each index of the first ones. `bytes`: those of an element
// of each.
void for_each_part(std::vector<Elements> lists, const std::vector<size_t>& bytes,
                   const std::function<void(const std::vector<Elements>&)>& use);

weft::Layout layout(const Elements& elements);

// Records one or more kernel calls: holds the recorder's lock, and brings the operands' current halves to the GPU.
class Call {
 public:
  Call() : lock_(recorder().lock()) {}
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  weft::Stream& stream() { return recorder().encoder(); }

  // What a kernel reads.
  weft::View in(const array& a) { return in(a, Elements::of(a)); }
  weft::View in(const array& a, const Elements& elements);
  // The same of a kernel that takes a number in the place of an operand that has one element.
  weft::View in_or_number(const array& a, const Elements& elements);
  // All elements in row-major order, copied if they are not.
  weft::View in_dense(const array& a);
  // What a kernel writes, all of it. Elements of the array's memory that are not among these stay.
  weft::View out(array& a) { return out(a, Elements::of(a)); }
  weft::View out(array& a, const Elements& elements);
  // What a kernel changes: it has the elements that the kernel does not write, or reads first.
  weft::View in_out(array& a) { return in_out(a, Elements::of(a)); }
  weft::View in_out(array& a, const Elements& elements);
  // An intermediate result, dense.
  weft::View temporary(weft::DType type, const weft::Shape& shape);

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  std::vector<MirroredBuffer*> used_;
};

// Gives `out` memory of its own, in row-major order.
void allocate(array& out);

// MLX gives an output the memory of an input whose elements are as large. A kernel can only write over what it reads if
// the types are the same, too: if they are not, `out` gets other memory.
void refuse_donation(array& out, const std::vector<array>& inputs);

}  // namespace mlx::core::webgpu
