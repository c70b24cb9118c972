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
// of each. The last `kept` axes stay what they are, and may differ in size.
void for_each_part(std::vector<Elements> lists, const std::vector<size_t>& bytes,
                   const std::function<void(const std::vector<Elements>&)>& use, size_t kept = 0);

weft::Layout layout(const Elements& elements);

// How a kernel sees arrays of more axes than Weft takes: as groups of axes, each merged into one. Others stay as they
// are.
struct Grouped {
  // One axis, those before it and those behind it.
  static Grouped around(const array& a, int axis) {
    return is_past_rank(a) ? Grouped{1, {axis, axis + 1, static_cast<int>(a.ndim())}} : Grouped{axis, {}};
  }
  // The last axis, and all others.
  static Grouped rows(const array& a) {
    const int last = static_cast<int>(a.ndim()) - 1;
    return is_past_rank(a) ? Grouped{1, {last, last + 1}} : Grouped{last, {}};
  }
  // The last two axes, and all others as one, whatever their number.
  static Grouped matrices(const array& a) {
    const int rank = static_cast<int>(a.ndim());
    return {0, {rank - 2, rank - 1, rank}};
  }
  static bool is_past_rank(const array& a) { return a.ndim() > weft::kMaxRank; }

  int axis;               // which of the view's it is
  std::vector<int> ends;  // before which axis each group ends; none: nothing is merged
};

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
  weft::View in(const array& a, const Grouped& grouped);
  // All elements in row-major order, copied if they are not; as another shape.
  weft::View in_dense(const array& a);
  weft::View in_dense(const array& a, const weft::Shape& shape);
  // What a kernel writes, all of it. Elements of the array's memory that are not among these stay.
  weft::View out(array& a) { return out(a, Elements::of(a)); }
  weft::View out(array& a, const Elements& elements);
  weft::View out(array& a, const Grouped& grouped);
  // What a kernel changes: it has the elements that the kernel does not write, or reads first.
  weft::View in_out(array& a) { return in_out(a, Elements::of(a)); }
  weft::View in_out(array& a, const Elements& elements);
  weft::View in_out(array& a, const Grouped& grouped);
  // An intermediate result, dense. It counts as memory in use until the call is recorded.
  weft::View temporary(weft::DType type, const weft::Shape& shape);

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  std::vector<MirroredBuffer*> used_;
  std::vector<std::shared_ptr<allocator::Data>> wholes_;  // whose parts are used
  CountedBytes temporaries_;
};

// Gives `out` memory of its own, in row-major order.
void allocate(array& out);

// MLX gives an output the memory of an input whose elements are as large. A kernel can only write over what it reads if
// the types are the same, too: if they are not, `out` gets other memory.
void refuse_donation(array& out, const std::vector<array>& inputs);

}  // namespace mlx::core::webgpu
