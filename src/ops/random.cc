#include "ops/random.h"

#include "core/format.h"
#include "graph/graph.h"
#include "kernels/random/random.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/rules.h"
#include "weft/distributions.h"
#include "weft/error.h"
#include "weft/kernels/random.h"

namespace weft {
namespace {

Tensor random(RandomAttributes attributes, const Tensor& key) {
  return apply(make_op<RandomOp>(std::move(attributes)), {key});
}

constexpr std::string_view kNames[] = {"random_bits", "random_uniform", "random_normal", "random_integers",
                                       "random_signed_uniform"};

}  // namespace

std::string_view RandomOp::name() const { return kNames[static_cast<int>(a.form)]; }

std::vector<TensorType> RandomOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype(name(), {&in[0]}, a.dtype);
  if (a.form == RandomForm::integers) kernels::integers_between(name(), type, a.least, a.end);
  check_key(name(), in[0]);
  return {{type, a.shape}};
}

void RandomOp::lower(const Launch& call) const {
  const View &key = call.inputs[0], &y = call.outputs[0];
  switch (a.form) {
    case RandomForm::bits:
      return kernels::random_bits(call.stream, key, y);
    case RandomForm::uniform:
      return kernels::random_uniform(call.stream, key, a.low, a.high, y);
    case RandomForm::normal:
      return kernels::random_normal(call.stream, key, a.mean, a.deviation, y);
    case RandomForm::integers:
      return kernels::random_integers(call.stream, key, a.least, a.end, y);
    case RandomForm::signed_uniform:
      return kernels::random_signed_uniform(call.stream, key, y);
  }
}

// The kernels take one key.
std::optional<Batched> RandomOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return batched_by_entry(shared_from_this(), in, axes);
}

Tensor random_bits(const Operand& key, DType dtype, const Shape& shape) {
  return random({.form = RandomForm::bits, .shape = shape, .dtype = dtype}, key);
}

Tensor random_uniform(const Operand& key, DType dtype, const Shape& shape, double low, double high) {
  const Tensor x = random({.form = RandomForm::uniform, .shape = shape, .dtype = dtype, .low = low, .high = high}, key);
  kernels::check_uniform(dtype, low, high);
  return x;
}

Tensor random_normal(const Operand& key, DType dtype, const Shape& shape, double mean, double deviation) {
  kernels::check_normal(mean, deviation);
  return random({.form = RandomForm::normal, .shape = shape, .dtype = dtype, .mean = mean, .deviation = deviation},
                key);
}

Tensor random_integers(const Operand& key, DType dtype, const Shape& shape, Number low, Number high) {
  return random({.form = RandomForm::integers, .shape = shape, .dtype = dtype, .least = low, .end = high}, key);
}

Tensor random_signed_uniform(const Operand& key, const Shape& shape) {
  return random({.form = RandomForm::signed_uniform, .shape = shape}, key);
}

void add_random_ops(OpRows& rows) {
  for (const RandomForm form :
       {RandomForm::bits, RandomForm::uniform, RandomForm::normal, RandomForm::integers, RandomForm::signed_uniform}) {
    const std::string_view name = kNames[static_cast<int>(form)];
    const std::string type = form == RandomForm::signed_uniform ? "" : "dtype";
    rows.push_back(op_row<RandomOp>(schema_of_kernel(name, "shape", type), {.form = form}));
  }
}

}  // namespace weft
