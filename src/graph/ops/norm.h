// Operations on rows: softmax, norms.
#pragma once

#include "graph/op.h"

namespace weft {

class SoftmaxOp final : public Op {
 public:
  // The result has x's type unless `result` names one; so too below.
  explicit SoftmaxOp(int axis, std::optional<DType> result = {}) : axis_(axis), result_(result) {}
  std::string_view name() const override { return "softmax"; }
  double cost() const override { return 0.6; }
  void fields(Fields& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::uint64_t workspace(const Launch& call) const override;
  int axis() const { return axis_; }

 private:
  int axis_;
  std::optional<DType> result_;
};

class LogSoftmaxOp final : public Op {
 public:
  explicit LogSoftmaxOp(int axis) : axis_(axis) {}
  std::string_view name() const override { return "log_softmax"; }
  double cost() const override { return 1.3; }
  void fields(Fields& f) const override { f.add("axis", axis_); }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::uint64_t workspace(const Launch& call) const override;

 private:
  int axis_;
};

// Operands: x, then scale if it is there.
class RmsNormOp final : public Op {
 public:
  RmsNormOp(int first_axis, double epsilon, std::optional<DType> result = {})
      : first_axis_(first_axis), epsilon_(epsilon), result_(result) {}
  OpPtr with_result(DType dtype) const { return std::make_shared<const RmsNormOp>(first_axis_, epsilon_, dtype); }
  std::string_view name() const override { return "rms_norm"; }
  double cost() const override { return 0.3; }
  void fields(Fields& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::uint64_t workspace(const Launch& call) const override;

 private:
  int first_axis_;
  double epsilon_;
  std::optional<DType> result_;
};

// Operands: x, then scale and bias as far as they are there. 0 groups: each channel is one, instance norm.
class GroupNormOp final : public Op {
 public:
  GroupNormOp(int channel_axis, std::int64_t groups, double epsilon, bool has_scale, bool has_bias)
      : channel_axis_(channel_axis), groups_(groups), epsilon_(epsilon), has_scale_(has_scale), has_bias_(has_bias) {}
  std::string_view name() const override { return groups_ ? "group_norm" : "instance_norm"; }
  double cost() const override { return 0.3; }
  void fields(Fields& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::uint64_t workspace(const Launch& call) const override;

 private:
  int channel_axis_;
  std::int64_t groups_;
  double epsilon_;
  bool has_scale_, has_bias_;
};

// Operands: x, then scale and bias as far as they are there.
class LayerNormOp final : public Op {
 public:
  LayerNormOp(int first_axis, double epsilon, bool has_scale, bool has_bias, std::optional<DType> result = {})
      : first_axis_(first_axis), epsilon_(epsilon), has_scale_(has_scale), has_bias_(has_bias), result_(result) {}
  OpPtr with_result(DType dtype) const {
    return std::make_shared<const LayerNormOp>(first_axis_, epsilon_, has_scale_, has_bias_, dtype);
  }
  std::string_view name() const override { return "layer_norm"; }
  double cost() const override { return 0.3; }
  void fields(Fields& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::uint64_t workspace(const Launch& call) const override;

 private:
  int first_axis_;
  double epsilon_;
  bool has_scale_, has_bias_;
  std::optional<DType> result_;
};

}  // namespace weft
