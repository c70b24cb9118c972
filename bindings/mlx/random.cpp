// MLX's random bits: Threefry-2×32 with 20 rounds, whose counters are the index of a word of the first half of a key's
// bits and that of the second half.
#include <algorithm>

#include "call.h"
#include "mlx/backend/common/utils.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;

namespace {

// Both words of the block with counters a and b: inputs key[0], key[1], a, b.
const weft::Expression& threefry() {
  static const weft::Expression expression = [] {
    using enum weft::ScalarOp;
    constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    weft::Expression e;
    const auto number = [&](std::uint32_t value) { return e.constant(value, DType::u32); };
    int keys[3] = {e.input(DType::u32), e.input(DType::u32)};
    keys[2] = e.apply(bitwise_xor, {e.apply(bitwise_xor, {keys[0], keys[1]}), number(0x1BD11BDA)});
    int a = e.apply(add, {e.input(DType::u32), keys[0]}), b = e.apply(add, {e.input(DType::u32), keys[1]});
    for (int round = 0; round < 5; ++round) {
      for (const int rotation : kRotations[round % 2]) {
        a = e.apply(add, {a, b});
        const int left = e.apply(shift_left, {b, number(rotation)});
        const int right = e.apply(shift_right, {b, number(32 - rotation)});
        b = e.apply(bitwise_xor, {e.apply(bitwise_or, {left, right}), a});
      }
      a = e.apply(add, {a, keys[(round + 1) % 3]});
      b = e.apply(add, {e.apply(add, {b, keys[(round + 2) % 3]}), number(round + 1)});
    }
    e.output(a);
    e.output(b);
    return e;
  }();
  return expression;
}

}  // namespace

void RandomBits::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  const array& keys = inputs[0];
  const std::int64_t key_count = static_cast<std::int64_t>(keys.size() / 2);
  const std::int64_t bytes = static_cast<std::int64_t>(out.nbytes()) / key_count;  // of a key
  const std::int64_t words = (bytes + 3) / 4, half = (words + 1) / 2;
  Call call;
  // The counters of both halves; an odd number of words leaves out the last one, whose counter is 0.
  const weft::View counters = call.temporary(DType::u32, {2 * half});
  weft::kernels::arange(call.stream(), 0, 1, counters);
  if (words % 2) weft::kernels::fill(call.stream(), 0, weft::kernels::slice(counters, 0, -1));
  // One after the other, [keys…, half], with as few axes as there can be.
  auto [key_shape, key_strides] = collapse_contiguous_dims(Shape(keys.shape().begin(), keys.shape().end() - 1),
                                                           Strides(keys.strides().begin(), keys.strides().end() - 1));
  key_shape.push_back(1);
  key_strides.push_back(0);
  const weft::View key = call.in(keys, Elements::of(key_shape, key_strides, keys.offset()));
  const int64_t second_offset = keys.offset() + keys.strides().back() * static_cast<int64_t>(keys.itemsize());
  const weft::View second = call.in(keys, Elements::of(key_shape, key_strides, second_offset));
  weft::Shape shape = key.shape();
  shape[-1] = half;
  const weft::View first_words = call.temporary(DType::u32, shape), second_words = call.temporary(DType::u32, shape);
  const weft::View operands[] = {key.broadcast_to(shape), second.broadcast_to(shape),
                                 weft::kernels::slice(counters, 0, 0, half).broadcast_to(shape),
                                 weft::kernels::slice(counters, 0, half).broadcast_to(shape)};
  const weft::View results[] = {first_words, second_words};
  weft::kernels::map(call.stream(), threefry(), operands, results);
  // The halves side by side, as bytes, since a key's last word may be cut.
  const auto as_bytes = [&](const weft::View& view) {
    return weft::View(view.buffer, view.offset, DType::u8, weft::Shape{key_count, 4 * half});
  };
  const weft::Buffer target = call.out(out, Elements::flat(out)).buffer;
  const weft::View y(target, 0, DType::u8, weft::Shape{key_count, bytes});
  const std::int64_t first_bytes = std::min(4 * half, bytes);
  weft::kernels::copy(call.stream(), weft::kernels::slice(as_bytes(first_words), 1, 0, first_bytes),
                      weft::kernels::slice(y, 1, 0, first_bytes));
  if (bytes > first_bytes) {
    weft::kernels::copy(call.stream(), weft::kernels::slice(as_bytes(second_words), 1, 0, bytes - first_bytes),
                        weft::kernels::slice(y, 1, first_bytes));
  }
}

}  // namespace mlx::core
