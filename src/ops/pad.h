// Movement by index: pad, tile, repeat, roll; tensors made of indices: triangles, one-hot codes.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/pad.h"

namespace weft {

struct PadAttributes {
  Dims before = {}, after = {};
  kernels::PadFill fill = {};

  void fields(AttributeVisitor& v) {
    v("before", before, "how many elements come before the first one along each axis");
    v("after", after, "how many elements come after the last one along each axis");
    fill.fields(v);
  }
};

class PadOp final : public OpOf<PadAttributes, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "pad"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::vector<Tensor> decomposed(std::span<const Tensor> inputs) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

struct TileAttributes {
  bool tiles = true;
  Dims counts = {};

  void fields(AttributeVisitor& v) {
    v("counts", counts,
      tiles ? "how many times x stands along each axis" : "how many times each element stands along each axis");
  }
};

// Each axis `counts` times as long: the whole again and again (tile), or each element (repeat).
class TileOp final : public OpOf<TileAttributes, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return a.tiles ? "tile" : "repeat"; }
  OpPattern pattern() const override { return a.tiles ? OpPattern::none : OpPattern::repeat; }
  bool moves_elements() const override { return true; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

struct RollAttributes {
  Dims shifts = {};

  void fields(AttributeVisitor& v) { v("shifts", shifts, "how far along each axis, towards higher indices"); }
};

class RollOp final : public OpOf<RollAttributes, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "roll"; }
  bool moves_elements() const override { return true; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

class TriangleOp final : public OpOf<kernels::TriangleOptions, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "triangle"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

struct OneHotAttributes {
  std::int64_t classes = 0;
  DType dtype = DType::f32;
  kernels::OneHotOptions options = {};

  void normalise(std::string_view op, std::span<const TensorType> inputs) {
    options.axis = normalize_axis(options.axis, inputs[0].shape.rank() + 1, op);
  }
  void fields(AttributeVisitor& v) {
    v("classes", classes, "how many elements a row has");
    v("dtype", dtype, "the type of the result");
    options.fields(v);
  }
};

class OneHotOp final : public OpOf<OneHotAttributes, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "one_hot"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

}  // namespace weft
