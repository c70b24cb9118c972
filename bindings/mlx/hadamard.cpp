#include "mlx/backend/common/hadamard.h"

#include <bit>
#include <cstdint>
#include <map>
#include <mutex>

#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;

namespace {

// The matrix of a power of two, whose element (i, j) is -1 to the number of bits that i and j have in common.
weft::View power_of_two(Call& call, std::int64_t size) {
  using enum weft::ScalarOp;
  const weft::View steps = call.temporary(DType::u32, {size}), matrix = call.temporary(DType::f32, {size, size});
  weft::kernels::arange(call.stream(), 0, 1, steps);
  weft::Expression e;
  const int bits = e.apply(popcount, {e.apply(bitwise_and, {e.input(DType::u32), e.input(DType::u32)})});
  const int odd = e.cast(e.apply(bitwise_and, {bits, e.constant(1, DType::u32)}), DType::boolean);
  e.output(e.apply(select, {odd, e.constant(-1, DType::f32), e.constant(1, DType::f32)}));
  const weft::View inputs[] = {steps.with_layout({matrix.shape(), {1, 0}}), steps.broadcast_to(matrix.shape())};
  const weft::View outputs[] = {matrix};
  weft::kernels::map(call.stream(), e, inputs, outputs);
  return matrix;
}

// MLX's matrices of other sizes, which are text of + and -.
const array& other_matrix(int size) {
  static std::mutex mutex;
  static auto* matrices = new std::map<int, array>;
  const std::lock_guard lock(mutex);
  const auto found = matrices->find(size);
  if (found != matrices->end()) return found->second;
  std::vector<float> elements;
  for (const char sign : hadamard_matrices().at(size)) {
    if (sign != '\n') elements.push_back(sign == '+' ? 1.0f : -1.0f);
  }
  return matrices->emplace(size, array(elements.begin(), {size, size})).first->second;
}

}  // namespace

// A product with small matrices along each factor of the axis.
void Hadamard::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  const auto [n, m] = decompose_hadamard(out.shape(-1));
  Call call;
  weft::View x = call.in_dense(inputs[0], {static_cast<std::int64_t>(out.size())});
  const auto multiply = [&](const weft::View& matrix, std::int64_t inner) {
    const std::int64_t size = matrix.shape()[0];
    const weft::Shape shape{x.count() / (size * inner), size, inner};
    const weft::View y = call.temporary(DType::f32, shape);
    weft::kernels::matmul(call.stream(), matrix, weft::View(x.buffer, x.offset, x.dtype, shape), y);
    x = y;
  };
  for (std::int64_t inner = 1; inner < n;) {
    const std::int64_t size = std::min<std::int64_t>(n / inner, 64);
    multiply(power_of_two(call, size), inner);
    inner *= size;
  }
  if (m > 1) multiply(call.in(other_matrix(m)), n);
  const weft::View y = call.out(out, Elements::flat(out)), result(x.buffer, x.offset, x.dtype, y.shape());
  weft::Expression e;
  const int value = e.cast(e.input(x.dtype), DType::f32);
  e.output(e.cast(e.apply(weft::ScalarOp::mul, {value, e.constant(scale_, DType::f32)}), y.dtype));
  const weft::View operands[] = {result}, results[] = {y};
  weft::kernels::map(call.stream(), e, operands, results);
}

}  // namespace mlx::core
