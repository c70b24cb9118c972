#include "ops/sampler.h"

#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/random.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/distributions.h"
#include "weft/error.h"
#include "weft/kernels/random.h"

namespace weft {
namespace {

constexpr std::string_view kNames[] = {"random_gamma", "random_poisson", "random_binomial", "random_geometric"};

}  // namespace

void check_key(std::string_view name, const TensorType& key) {
  if (key.shape != Shape{2}) throw ShapeError("{}: key is {}, expected u32 [2]", name, to_string(key));
}

Batched batched_by_entry(const OpPtr& op, std::span<const Tensor> inputs, std::span<const int> axes) {
  const std::int64_t size = batch_size(inputs, axes);
  const auto entry = [&](std::int64_t i) {
    std::vector<Tensor> operands;
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      operands.push_back(axes[k] < 0 ? inputs[k] : squeeze(slice(inputs[k], axes[k], i, i + 1), axes[k]));
    }
    return apply(op, std::move(operands));
  };
  if (size > 0) {
    std::vector<Tensor> entries;
    for (std::int64_t i = 0; i < size; ++i) entries.push_back(entry(i));
    return batched(stack(entries));
  }
  std::vector<TensorType> types;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    types.push_back(inputs[k].type());
    if (axes[k] >= 0) types.back().shape.erase(axes[k]);
  }
  TensorType none = op->infer(types)[0];
  none.shape.insert(0, 0);
  return batched(zeros_of(none));
}

// ---- Samplers

std::string_view SamplerOp::name() const { return kNames[static_cast<int>(a.form)]; }

std::vector<TensorType> SamplerOp::infer(std::span<const TensorType> in) const {
  std::vector<const TensorType*> inputs;
  for (const TensorType& t : in) inputs.push_back(&t);
  const DType type = infer_dtypes(name(), inputs, a.dtype)[0];
  check_key(name(), in[0]);
  for (const TensorType& t : in.subspan(1)) {
    Shape shape;
    try {
      shape = broadcast(t.shape, a.shape);
    } catch (const ShapeError&) {
    }
    if (shape != a.shape) {
      throw ShapeError("{}: a parameter of shape {} does not broadcast to {}", name(), weft::to_string(t.shape),
                       weft::to_string(a.shape));
    }
  }
  return {{type, a.shape}};
}

void SamplerOp::lower(const Launch& call) const {
  const View &key = call.inputs[0], &first = call.inputs[1], &y = call.outputs[0];
  switch (a.form) {
    case SamplerForm::gamma:
      return kernels::random_gamma(call.stream, key, first, y, a.logarithm);
    case SamplerForm::poisson:
      return kernels::random_poisson(call.stream, key, first, y);
    case SamplerForm::binomial:
      return kernels::random_binomial(call.stream, key, first, call.inputs[2], y);
    case SamplerForm::geometric:
      return kernels::random_geometric(call.stream, key, first, y);
  }
}

std::optional<Batched> SamplerOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return batched_by_entry(shared_from_this(), in, axes);
}

// Implicit reparameterisation: a sample moves with its distribution function.
Derivatives SamplerOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  if (a.form != SamplerForm::gamma) return std::nullopt;
  const Tensor& concentration = node.inputs[1];
  std::vector<Tensor> all(2);
  if (node.wanted[1] && g[0].defined()) {
    const Tensor each =
        accumulated(g[0]) * accumulated(random_gamma_gradient(concentration, node.outputs[0], a.logarithm));
    all[1] = cast(summed_to(each, concentration.shape()), concentration.dtype());
  }
  return all;
}

std::vector<TensorType> GammaGradientOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype(name(), {&in[0], &in[1]});
  return {{type, in_function(name(), [&] { return broadcast(in[0].shape, in[1].shape); })}};
}

void GammaGradientOp::lower(const Launch& call) const {
  kernels::random_gamma_gradient(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a.logarithm);
}

std::optional<Batched> GammaGradientOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const int rank = std::max(entry_rank(in[0], axes[0]), entry_rank(in[1], axes[1]));
  return batched(
      random_gamma_gradient(batch_broadcast(in[0], axes[0], rank), batch_broadcast(in[1], axes[1], rank), a.logarithm));
}

// ---- Categories

std::vector<TensorType> CategoricalOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype(name(), {&in[0], &in[1]});
  check_key(name(), in[0]);
  Shape shape = in[1].shape;
  const int axis = normalize_axis(a.axis, shape.rank(), name());
  if (shape[axis] == 0 || shape[axis] > std::int64_t{1} << 31) {
    throw ShapeError("{}: logits are {}; expected 1 to 2^31 categories along axis {}", name(), weft::to_string(in[1]),
                     a.axis);
  }
  shape.erase(axis);
  return {{type, shape}};
}

void CategoricalOp::lower(const Launch& call) const {
  kernels::random_categorical(call.stream, call.inputs[0], call.inputs[1], call.outputs[0], a.axis);
}

std::optional<Batched> CategoricalOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return batched_by_entry(shared_from_this(), in, axes);
}

// ---- Functions

namespace {

Tensor sampled(SamplerAttributes attributes, std::vector<Tensor> inputs) {
  return apply(make_op<SamplerOp>(std::move(attributes)), std::move(inputs));
}

}  // namespace

Tensor random_gamma(const Operand& key, const Operand& concentration, const Shape& shape, DType dtype, bool logarithm) {
  return sampled({.form = SamplerForm::gamma, .shape = shape, .dtype = dtype, .logarithm = logarithm},
                 {key, concentration});
}

Tensor random_gamma_gradient(const Operand& concentration, const Operand& sample, bool logarithm) {
  return apply(make_op<GammaGradientOp>(GammaGradientAttributes{logarithm}), {concentration, sample});
}

Tensor random_poisson(const Operand& key, const Operand& rate, const Shape& shape, DType dtype) {
  return sampled({.form = SamplerForm::poisson, .shape = shape, .dtype = dtype}, {key, rate});
}

Tensor random_binomial(const Operand& key, const Operand& count, const Operand& probability, const Shape& shape,
                       DType dtype) {
  return sampled({.form = SamplerForm::binomial, .shape = shape, .dtype = dtype}, {key, count, probability});
}

Tensor random_geometric(const Operand& key, const Operand& probability, const Shape& shape, DType dtype) {
  return sampled({.form = SamplerForm::geometric, .shape = shape, .dtype = dtype}, {key, probability});
}

Tensor random_categorical(const Operand& key, const Operand& logits, int axis) {
  if (!logits.defined()) throw InvalidArgument("random_categorical: the logits are an undefined Tensor");
  return apply(make_op<CategoricalOp>(CategoricalAttributes{normalize_axis(axis, logits.rank(), "random_categorical")}),
               {key, logits});
}

void add_sampler_ops(OpRows& rows) {
  for (const SamplerForm form :
       {SamplerForm::gamma, SamplerForm::poisson, SamplerForm::binomial, SamplerForm::geometric}) {
    rows.push_back(
        op_row<SamplerOp>(schema_of_kernel(kNames[static_cast<int>(form)], "shape", "dtype"), {.form = form}));
  }
  rows.push_back(op_row<GammaGradientOp>(schema_of_kernel("random_gamma_gradient")));
  rows.push_back(op_row<CategoricalOp>(schema_of_kernel("random_categorical")));
}

}  // namespace weft
