// Movement by index: pad, tile, repeat, roll; tensors made of indices: triangles, one-hot codes.
#pragma once

#include "graph/op.h"

namespace weft {

class PadOp final : public Op {
 public:
  PadOp(Shape before, Shape after, kernels::PadMode mode, Number value)
      : before_(std::move(before)), after_(std::move(after)), mode_(mode), value_(value) {}
  std::string_view name() const override { return "pad"; }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  Shape before_, after_;  // of each axis; may be negative
  kernels::PadMode mode_;
  Number value_;
};

// Each axis `counts` times as long: the whole again and again (tile), or each element (repeat).
class TileOp final : public Op {
 public:
  TileOp(Shape counts, bool tiles) : counts_(std::move(counts)), tiles_(tiles) {}
  std::string_view name() const override { return tiles_ ? "tile" : "repeat"; }
  bool moves_elements() const override { return true; }
  void attributes(Attributes& f) const override { f.add("counts", counts_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  Shape counts_;
  bool tiles_;
};

class RollOp final : public Op {
 public:
  explicit RollOp(Shape shifts) : shifts_(std::move(shifts)) {}
  std::string_view name() const override { return "roll"; }
  bool moves_elements() const override { return true; }
  void attributes(Attributes& f) const override { f.add("shifts", shifts_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override { return {inputs[0]}; }
  void lower(const Launch& call) const override;

 private:
  Shape shifts_;  // of each axis
};

class TriangleOp final : public Op {
 public:
  TriangleOp(kernels::Triangle part, std::int64_t diagonal) : part_(part), diagonal_(diagonal) {}
  std::string_view name() const override { return "triangle"; }
  void attributes(Attributes& f) const override {
    f.add("part", part_ == kernels::Triangle::lower ? "lower" : "upper").add("diagonal", diagonal_);
  }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  kernels::Triangle part_;
  std::int64_t diagonal_;
};

class OneHotOp final : public Op {
 public:
  OneHotOp(std::int64_t classes, DType dtype, int axis, Number on, Number off)
      : classes_(classes), dtype_(dtype), axis_(axis), on_(on), off_(off) {}
  std::string_view name() const override { return "one_hot"; }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  std::int64_t classes_;
  DType dtype_;
  int axis_;
  Number on_, off_;
};

}  // namespace weft
