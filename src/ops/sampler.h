// Random numbers of distributions with parameters.
#pragma once

#include "graph/op.h"

namespace weft {

enum class SamplerForm : std::uint8_t { gamma, poisson, binomial, geometric };

struct SamplerAttributes {
  SamplerForm form = SamplerForm::gamma;
  Shape shape = {};
  DType dtype = DType::i32;
  bool logarithm = false;  // of gamma

  void fields(AttributeVisitor& v) {
    v("shape", shape, "the shape of the result");
    if (form != SamplerForm::gamma) {
      v("dtype", dtype, DType::i32, "the type of the result");
      return;
    }
    v("dtype", dtype, "the type of the result");
    v("logarithm", logarithm, false, "gives the numbers' logarithms, which do not underflow");
  }
};

// Of a key and the parameters, which broadcast to the shape.
class SamplerOp final : public OpOf<SamplerAttributes, DerivativeInterface, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override;
  double cost() const override { return 60; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  Derivatives vjp(const Differentiated& node, std::span<const Tensor> cotangents) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

struct GammaGradientAttributes {
  bool logarithm = false;

  void fields(AttributeVisitor& v) {
    v("logarithm", logarithm, false, "the samples are logarithms, and y their derivatives");
  }
};

// Of concentrations and samples.
class GammaGradientOp final : public OpOf<GammaGradientAttributes, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "random_gamma_gradient"; }
  double cost() const override { return 40; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

struct CategoricalAttributes {
  int axis = -1;

  void fields(AttributeVisitor& v) { v("axis", axis, -1, "the axis of the categories"); }
  void normalise(std::string_view op, std::span<const TensorType> inputs) {
    axis = normalize_axis(axis, inputs[1].shape.rank(), op);
  }
};

class CategoricalOp final : public OpOf<CategoricalAttributes, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override { return "random_categorical"; }
  double cost() const override { return 20; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

}  // namespace weft
