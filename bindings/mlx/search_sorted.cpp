#include <bit>

#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;

// A binary search whose steps are taken for all values at once: `found` elements are known to come before the value,
// and each step of half the size asks for the element that many further on.
void SearchSorted::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const weft::View sequence = call.in(inputs[0]), y = call.out(out, Elements::flat(out));
  const weft::View value = call.in_dense(inputs[1], y.shape());
  weft::kernels::fill(call.stream(), 0, y);
  const auto count = static_cast<std::uint64_t>(inputs[0].size());
  if (count == 0) return;
  if (count >= std::uint64_t{1} << 31) throw weft::Unsupported("sequences of 2^31 elements and more");
  const weft::View place = call.temporary(DType::u32, y.shape()), element = call.temporary(value.dtype, y.shape());
  using enum weft::ScalarOp;
  // NaN is after all numbers, as sort() has it.
  const auto is_less = [&](weft::Expression& e, int a, int b) {
    const int ordered = e.apply(less, {a, b});
    if (!weft::is_floating(value.dtype)) return ordered;
    const int number = e.apply(logical_not, {e.apply(is_nan, {a})});
    return e.apply(logical_or, {ordered, e.apply(logical_and, {number, e.apply(is_nan, {b})})});
  };
  for (std::uint64_t step = std::bit_floor(count); step > 0; step /= 2) {
    const auto number = [&](weft::Expression& e, std::uint64_t n) { return e.constant(n, DType::u32); };
    weft::Expression next;
    next.output(next.apply(add, {next.input(DType::u32), number(next, step - 1)}));
    weft::kernels::map(call.stream(), next, {{y}}, {{place}});
    weft::kernels::gather(call.stream(), sequence, place, element, 0);
    weft::Expression take;
    const int found = take.input(DType::u32), other = take.input(value.dtype), wanted = take.input(value.dtype);
    const int moved = take.apply(add, {found, number(take, step)});
    const int before = right_ ? take.apply(logical_not, {is_less(take, wanted, other)}) : is_less(take, other, wanted);
    const int inside = take.apply(less_equal, {moved, number(take, count)});
    take.output(take.apply(select, {take.apply(logical_and, {before, inside}), moved, found}));
    weft::kernels::map(call.stream(), take, {{y, element, value}}, {{y}});
  }
}

}  // namespace mlx::core
