// Picking, writing and joining by index: gathers, scatters, concat.
#pragma once

#include "graph/op.h"
#include "ops/patterns.h"
#include "weft/kernels/index.h"

namespace weft {

// Which elements indices choose (weft/kernels/index.h).
enum class Selecting : std::uint8_t { rows, elements, tuples };

struct GatherAttributes {
  Selecting form = Selecting::rows;
  int axis = 0;  // of tuples the number of batch axes

  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v) {
    if (form == Selecting::tuples) {
      v("batch", axis, 0, kernels::kBatchMeaning);
    } else {
      v("axis", axis, 0, kernels::kAxisMeaning);
    }
  }
};

class GatherOp final : public OpOf<GatherAttributes, RewriteInterface, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "gather"; }
  bool moves_elements() const override { return true; }
  std::optional<WeightOperand> weight_operand() const override { return WeightOperand{.operand = 0}; }
  // Of a conversion: the conversion of what is taken.
  Tensor simplified(std::span<const Tensor> inputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

// gather_elements along an axis, or gather_nd with batch axes.
class SelectOp final : public OpOf<GatherAttributes, RewriteInterface, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return a.form == Selecting::elements ? "gather_elements" : "gather_nd"; }
  double cost() const override { return 3; }
  // Of a conversion: the conversion of what is taken.
  Tensor simplified(std::span<const Tensor> inputs) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

// Several updates of one element.
enum class Repeats : std::uint8_t {
  combined,  // assign: the last one stays; others are combined in any order
  in_order,  // combined in their order, so that floats repeat to the bit
  none,      // there are none, which whoever makes the op knows
};
inline constexpr std::string_view kRepeats[] = {"combined", "in_order", "none"};

struct ScatterAttributes {
  GatherAttributes where = {};
  kernels::ScatterKind op = kernels::ScatterKind::assign;
  Repeats repeats = Repeats::combined;

  void normalise(std::string_view name, std::span<const TensorType> inputs) { where.normalise(name, inputs); }
  void fields(AttributeVisitor& v) {
    v("op", op, kernels::ScatterKind::assign, kernels::kScatterKinds, kernels::kScatterMeaning);
    v.brief("repeats", repeats, Repeats::combined, kRepeats,
            "several updates of an element: combined (assign: the last one stays), combined in_order, so that floats "
            "repeat to the bit, or none, if the indices are known to be different");
    where.fields(v);
  }
};

// Operands: x, indices, updates. A copy of x, of which the chosen elements are combined with the updates.
class ScatterOp final : public OpOf<ScatterAttributes, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  double cost() const override { return 4; }
  std::string_view name() const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool works_in_place(std::size_t operand) const override { return operand == 0; }
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

struct DynamicSliceAttributes {
  std::vector<int> axes = {};
  Shape sizes = {};

  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v) {
    v("axes", axes, kernels::kStartsMeaning);
    v("sizes", sizes, "the shape of the part");
  }
};

// Operands: x, starts.
class DynamicSliceOp final : public OpOf<DynamicSliceAttributes, LinearInFirst, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "dynamic_slice"; }
  bool moves_elements() const override { return true; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

struct DynamicUpdateSliceAttributes {
  std::vector<int> axes = {};

  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v) { v("axes", axes, kernels::kStartsMeaning); }
};

// Operands: x, update, starts.
class DynamicUpdateSliceOp final : public OpOf<DynamicUpdateSliceAttributes, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "dynamic_update_slice"; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  bool works_in_place(std::size_t operand) const override { return operand == 0; }
  void lower(const Launch& call) const override;
  Work work(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

struct ConcatAttributes {
  int axis = 0;

  void normalise(std::string_view op, std::span<const TensorType> inputs);
  void fields(AttributeVisitor& v) { v("axis", axis, 0, "the axis along which the parts lie"); }
};

// Each part is copied into its place in the result.
class ConcatOp final : public OpOf<ConcatAttributes, RewriteInterface, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "concat"; }
  // Of the slices that are all of a tensor: the tensor.
  Tensor simplified(std::span<const Tensor> parts) const override;
  OpPtr with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                   std::span<const DType> results) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  Derivatives jvp(const Differentiated& node, std::span<const Tensor> tangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
  std::vector<Tensor> vmap_in_order(const BatchInOrder& batch) const override;
};

// scatter() and scatter_elements() of ScatterKind::assign, for indices of which no two are equal.
Tensor scatter_different(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis);
Tensor scatter_different_elements(const Tensor& x, const Tensor& indices, const Tensor& updates, int axis);

}  // namespace weft
