// The view ops: another layout of the same elements. None of them computes anything.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"

namespace weft {

// A view op of attributes A, with other interfaces.
template <class A, class... Interfaces>
using ViewOpOf = OpOf<A, ViewInterface, Interfaces...>;

struct ReshapeAttributes {
  Shape shape = {};
  std::vector<int> kept = {};

  void fields(AttributeVisitor& v) {
    v("shape", shape, "the new shape, of as many elements as x has; one size may be -1, which follows from the others");
    v.brief("kept", kept, {}, "for each size the axis of x whose size it is, in place of what shape has; -1: none");
  }
};

class ReshapeOp final : public ViewOpOf<ReshapeAttributes, RewriteInterface, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "reshape"; }
  OpPattern pattern() const override { return OpPattern::reshape; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::optional<Placement> view_layout(const Layout& x) const override;
  Tensor simplified(std::span<const Tensor> x) const override { return reshape(x[0], shape_of(x[0].shape())); }
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
  // The new shape of x of that one.
  Shape shape_of(const Shape& x) const;
};

// x in the shape that the attributes say, by a rule if they keep sizes of x: then it is one at other shapes, too. x
// itself if the rule changes nothing.
Tensor reshape(const Tensor& x, ReshapeAttributes attributes);

struct PermuteAttributes {
  std::vector<int> order = {};

  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v) { v("order", order, "which axis of x each axis of y is"); }
};

class PermuteOp final : public ViewOpOf<PermuteAttributes, RewriteInterface, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "permute"; }
  OpPattern pattern() const override { return OpPattern::permute; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::optional<Placement> view_layout(const Layout& x) const override;
  Tensor simplified(std::span<const Tensor> x) const override { return permute(x[0], a.order); }
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

struct BroadcastAttributes {
  Shape shape = {};

  void fields(AttributeVisitor& v) { v("shape", shape, "the new shape; x's sizes are its last ones, or 1"); }
};

class BroadcastOp final : public ViewOpOf<BroadcastAttributes, RewriteInterface, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "broadcast"; }
  OpPattern pattern() const override { return OpPattern::broadcast; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::optional<Placement> view_layout(const Layout& x) const override;
  Tensor simplified(std::span<const Tensor> x) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

// Elements begin, begin + step, … before `end` along an axis; a negative step walks down from `begin` to after `end`.
struct SliceAttributes {
  int axis = 0;
  std::int64_t begin = 0, end = 0, step = 1;
  bool begin_from_end = false, end_from_end = false;

  void normalise(std::string_view op, std::span<const TensorType> inputs);
  // With begin and end as numbers, for an axis of n elements.
  SliceAttributes of(std::int64_t n) const;
  // How many elements it takes. Of an axis of n elements, or of numbers alone.
  std::int64_t size(std::int64_t n) const { return of(n).size(); }
  std::int64_t size() const;
  void fields(AttributeVisitor& v) {
    v("axis", axis, "the axis along which elements are taken");
    v("begin", begin, "the first element");
    v("end", end, "the element before which they end");
    v.brief("step", step, 1, "the distance of elements");
    v.brief("begin_from_end", begin_from_end, false, "begin is n + begin of an axis of n elements");
    v.brief("end_from_end", end_from_end, false, "end is n + end of an axis of n elements");
  }
};

// The slice. By a rule, if it counts from the end, which is one at other shapes, too; x itself if it takes the whole
// axis at all shapes.
Tensor slice(const Tensor& x, const SliceAttributes& attributes);

class SliceOp final : public ViewOpOf<SliceAttributes, RewriteInterface, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "slice"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::optional<Placement> view_layout(const Layout& x) const override;
  Tensor simplified(std::span<const Tensor> x) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

// Windows of `size` elements that are `dilation` apart, which begin at every step-th element of an axis.
struct WindowsAttributes {
  int axis = 0;
  std::int64_t size = 1, step = 1, dilation = 1;

  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v) {
    v("axis", axis, "the axis along which windows lie");
    v("size", size, "the elements of a window");
    v.brief("step", step, 1, "the distance from window to window");
    v.brief("dilation", dilation, 1, "the distance of a window's elements");
  }
};

// Two axes in place of the one: in a window, and from window to window. Windows may overlap.
class WindowsOp final : public ViewOpOf<WindowsAttributes, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "windows"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::optional<Placement> view_layout(const Layout& x) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;

 private:
  Layout layout_of(const Layout& x) const;
};

Tensor windows(const Tensor& x, const WindowsAttributes& attributes);

struct StridedAttributes {
  Placement placement = {};

  void fields(AttributeVisitor& v) {
    v("offset", placement.offset, "the first element");
    v("shape", placement.layout.shape, "the shape of the view");
    v("strides", placement.layout.strides, "the distance of neighbours along each axis, in elements");
  }
};

// What chains of the others become in the compiler: strides straight into a tensor that a kernel wrote or that came
// from outside, whose own layout is whatever it is stored as.
class StridedOp final : public ViewOpOf<StridedAttributes> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "strided"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  std::optional<Placement> view_layout(const Layout&) const override { return a.placement; }
};

}  // namespace weft
