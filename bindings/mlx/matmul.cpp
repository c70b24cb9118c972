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
  weft::kernels::matmul(call.stream(), call.in(inputs[0]), call.in(inputs[1]), call.out(out));
}

// alpha · a · b + beta · c
void AddMM::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const weft::View a = call.in(inputs[0]), b = call.in(inputs[1]), c = call.in(inputs[2]), y = call.out(out);
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
  const weft::View operands[] = {c, number(alpha_), number(beta_)};
  if (!complex) return weft::kernels::matmul(call.stream(), a, b, y, {&e, operands});
  // Products of complex numbers take no epilogue.
  const weft::View products = call.temporary(type, y.shape());
  weft::kernels::matmul(call.stream(), a, b, products);
  const weft::View inputs_of_sum[] = {products, operands[0], operands[1], operands[2]}, sums[] = {y};
  weft::kernels::map(call.stream(), e, inputs_of_sum, sums);
}

}  // namespace mlx::core
