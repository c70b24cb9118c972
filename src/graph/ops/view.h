// The view ops: another layout of the same elements. None of them computes anything.
#pragma once

#include "graph/op.h"

namespace weft {

class ReshapeOp final : public Op {
 public:
  explicit ReshapeOp(Shape shape) : shape_(std::move(shape)) {}
  std::string_view name() const override { return "reshape"; }
  void attributes(Attributes& f) const override { f.add("shape", shape_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool is_view() const override { return true; }
  std::optional<Placement> place(const Layout& x) const override;
  Tensor simplified(std::span<const Tensor> x) const override { return reshape(x[0], shape_); }

 private:
  Shape shape_;
};

class PermuteOp final : public Op {
 public:
  explicit PermuteOp(std::vector<int> order) : order_(std::move(order)) {}
  std::string_view name() const override { return "permute"; }
  void attributes(Attributes& f) const override { f.add("order", order_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool is_view() const override { return true; }
  std::optional<Placement> place(const Layout& x) const override;
  Tensor simplified(std::span<const Tensor> x) const override { return permute(x[0], order_); }
  const std::vector<int>& order() const { return order_; }

 private:
  std::vector<int> order_;
};

class BroadcastOp final : public Op {
 public:
  explicit BroadcastOp(Shape shape) : shape_(std::move(shape)) {}
  Tensor simplified(std::span<const Tensor> x) const override;
  std::string_view name() const override { return "broadcast"; }
  void attributes(Attributes& f) const override { f.add("shape", shape_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool is_view() const override { return true; }
  std::optional<Placement> place(const Layout& x) const override;

 private:
  Shape shape_;
};

// Elements begin, begin + step, … before `end` along an axis; a negative step walks down from `begin` to after `end`.
class SliceOp final : public Op {
 public:
  SliceOp(int axis, std::int64_t begin, std::int64_t end, std::int64_t step)
      : axis_(axis), begin_(begin), end_(end), step_(step) {}
  std::string_view name() const override { return "slice"; }
  void attributes(Attributes& f) const override {
    f.add("axis", axis_).add("begin", begin_).add("end", end_);
    if (step_ != 1) f.add("step", step_);
  }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool is_view() const override { return true; }
  std::optional<Placement> place(const Layout& x) const override;
  Tensor simplified(std::span<const Tensor> x) const override;
  std::int64_t size() const;
  int axis() const { return axis_; }
  std::int64_t begin() const { return begin_; }
  std::int64_t step() const { return step_; }

 private:
  int axis_;
  std::int64_t begin_, end_, step_;
};

// What chains of the others become in the compiler: strides straight into a tensor that a kernel wrote or that came
// from outside, whose own layout is whatever it is stored as.
class StridedOp final : public Op {
 public:
  explicit StridedOp(Placement placement) : placement_(std::move(placement)) {}
  std::string_view name() const override { return "strided"; }
  void attributes(Attributes& f) const override {
    f.add("offset", placement_.offset).add("shape", placement_.layout.shape).add("strides", placement_.layout.strides);
  }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool is_view() const override { return true; }
  std::optional<Placement> place(const Layout&) const override { return placement_; }

 private:
  Placement placement_;
};

}  // namespace weft
