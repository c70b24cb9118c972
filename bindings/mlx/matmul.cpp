#include <cstring>

#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;

void Matmul::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const array &a = inputs[0], &b = inputs[1];
  for_each_part(
      {Elements::of(a), Elements::of(b), Elements::of(out)}, {a.itemsize(), b.itemsize(), out.itemsize()},
      [&](const std::vector<Elements>& parts) {
        weft::kernels::matmul(call.stream(), call.in(a, parts[0]), call.in(b, parts[1]), call.out(out, parts[2]));
      },
      2);
}

namespace {

// alpha · a · b + beta · c
void scaled_sum(Call& call, const weft::View& a, const weft::View& b, const weft::View& c, const weft::View& y,
                float alpha, float beta) {
  const bool complex = y.dtype == DType::c64;
  const DType type = complex ? DType::c64 : DType::f32;
  const auto number = [&](float value) {
    const weft::Buffer buffer = weft::Buffer::number();
    const std::uint64_t bits = weft::Number(value).bits(type);
    std::memcpy(buffer.data(), &bits, sizeof bits);
    return weft::View(buffer, 0, type, y.shape(), weft::Strides::filled(y.rank(), 0));
  };
  weft::Expression e;
  const int product = e.input(type), addend = e.cast(e.input(c.dtype), type);
  const int scaled = e.apply(weft::ScalarOp::mul, {e.input(type), product});
  e.output(
      e.cast(e.apply(weft::ScalarOp::add, {scaled, e.apply(weft::ScalarOp::mul, {e.input(type), addend})}), y.dtype));
  const weft::View operands[] = {c, number(alpha), number(beta)};
  if (!complex) return weft::kernels::matmul(call.stream(), a, b, y, {&e, operands});
  // Products of complex numbers take no epilogue.
  const weft::View products = call.temporary(type, y.shape());
  weft::kernels::matmul(call.stream(), a, b, products);
  const weft::View inputs_of_sum[] = {products, operands[0], operands[1], operands[2]}, sums[] = {y};
  weft::kernels::map(call.stream(), e, inputs_of_sum, sums);
}

}  // namespace

void AddMM::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const array &a = inputs[0], &b = inputs[1], &c = inputs[2];
  for_each_part(
      {Elements::of(a), Elements::of(b), Elements::of(c), Elements::of(out)},
      {a.itemsize(), b.itemsize(), c.itemsize(), out.itemsize()},
      [&](const std::vector<Elements>& parts) {
        scaled_sum(call, call.in(a, parts[0]), call.in(b, parts[1]), call.in(c, parts[2]), call.out(out, parts[3]),
                   alpha_, beta_);
      },
      2);
}

}  // namespace mlx::core
