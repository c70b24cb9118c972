#include "graph/ops/random.h"

#include "core/format.h"
#include "graph/graph.h"
#include "graph/op_schemas.h"
#include "graph/promotion.h"
#include "kernels/random/random.h"
#include "weft/error.h"
#include "weft/kernels/random.h"

namespace weft {
namespace {

using Form = RandomOp::Form;

Tensor random(Form form, const Tensor& key, DType dtype, const Shape& shape, double first, double second,
              std::int64_t low = 0, std::int64_t high = 0) {
  return apply(make_op<RandomOp>(form, TensorType{dtype, shape}, first, second, low, high), {key});
}

}  // namespace

std::string_view RandomOp::name() const {
  constexpr std::string_view kNames[] = {"random_bits", "random_uniform", "random_normal", "random_integers"};
  return kNames[static_cast<int>(form_)];
}

void RandomOp::attributes(Attributes& f) const {
  f.add("shape", type_.shape).add("dtype", weft::name(type_.dtype));
  if (form_ == Form::uniform) f.add("low", first_).add("high", second_);
  if (form_ == Form::normal) f.add("mean", first_).add("deviation", second_);
  if (form_ == Form::integers) f.add("low", low_).add("high", high_);
}

std::vector<TensorType> RandomOp::infer(std::span<const TensorType> in) const {
  const DType type = infer_dtype(name(), {&in[0]}, type_.dtype);
  if (in[0].shape != Shape{2}) throw ShapeError("{}: key is {}, expected u32 [2]", name(), weft::to_string(in[0]));
  return {{type, type_.shape}};
}

void RandomOp::lower(const Launch& call) const {
  const View& key = call.inputs[0];
  const View& y = call.outputs[0];
  const auto first = static_cast<float>(first_), second = static_cast<float>(second_);
  switch (form_) {
    case Form::bits: return kernels::random_bits(call.stream, key, y);
    case Form::uniform: return kernels::random_uniform(call.stream, key, first, second, y);
    case Form::normal: return kernels::random_normal(call.stream, key, first, second, y);
    case Form::integers: return kernels::random_integers(call.stream, key, low_, high_, y);
  }
}

Tensor random_bits(const Operand& key, DType dtype, const Shape& shape) {
  return random(Form::bits, key, dtype, shape, 0, 0);
}

Tensor random_uniform(const Operand& key, DType dtype, const Shape& shape, double low, double high) {
  const Tensor x = random(Form::uniform, key, dtype, shape, low, high);
  kernels::check_uniform(dtype, static_cast<float>(low), static_cast<float>(high));
  return x;
}

Tensor random_normal(const Operand& key, DType dtype, const Shape& shape, double mean, double deviation) {
  kernels::check_normal(static_cast<float>(mean), static_cast<float>(deviation));
  return random(Form::normal, key, dtype, shape, mean, deviation);
}

Tensor random_integers(const Operand& key, DType dtype, const Shape& shape, std::int64_t low, std::int64_t high) {
  if (low >= high || static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) > std::uint64_t{1} << 32) {
    throw InvalidArgument("random_integers: from {} to {}; expected low < high, at most 2^32 apart", low, high);
  }
  if (is_integer(dtype) && !(fits(low, dtype) && fits(high - 1, dtype))) {
    throw InvalidArgument("random_integers: from {} to {} is outside of the range of {}", low, high, weft::name(dtype));
  }
  return random(Form::integers, key, dtype, shape, 0, 0, low, high);
}

}  // namespace weft
