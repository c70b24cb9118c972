// Parts of tensors: slices are views; joining and splitting copy into and out of them.
#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/bits.h"
#include "kernels/common/memory.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/pad/remap.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {
namespace {

// Elements begin…begin+size-1 along the axis; nothing if they start inside a byte.
std::optional<View> part_of(const View& x, int axis, std::int64_t begin, std::int64_t size, std::int64_t step = 1) {
  View part = x;
  part.layout.shape[axis] = size;
  part.layout.strides[axis] = x.strides()[axis] * step;
  if (part.count() == 0) return part;
  const std::int64_t bit = begin * x.strides()[axis] * bits(x.dtype);
  if (bit % 8 != 0) return std::nullopt;
  part.offset += static_cast<std::uint64_t>(bit / 8);
  return part;
}

// Calls f(part, its begin) for each part, after checking it against the whole.
template <class F>
void for_each_chunk(std::string_view name, const View& whole, std::span<const View> parts, int axis, F&& f) {
  std::int64_t begin = 0;
  const std::string_view whole_name = name == "split" ? "x" : "y";
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const View& part = parts[k];
    Shape expected = whole.shape();
    if (part.rank() == whole.rank()) expected[axis] = part.shape()[axis];
    if (part.dtype != whole.dtype || part.shape() != expected) {
      throw InvalidArgument("{}: part {} is {}, which is no part of {} {} along axis {}", name, k, to_string(part),
                            whole_name, to_string(whole), axis);
    }
    begin += part.shape()[axis];
  }
  if (begin != whole.shape()[axis]) {
    throw InvalidArgument("{}: the parts have {} elements along axis {}, {} is {}", name, begin, axis, whole_name,
                          to_string(whole));
  }
  begin = 0;
  for (const View& part : parts) {
    if (part.count()) f(part, begin);
    begin += part.shape()[axis];
  }
}

std::vector<std::int64_t> along(const View& x, int axis, std::int64_t value) {
  std::vector<std::int64_t> before(x.rank());
  before[axis] = value;
  return before;
}

}  // namespace

View slice(const View& x, int axis, std::int64_t begin, std::int64_t end, std::int64_t step) {
  axis = normalize_axis(axis, x.rank(), "slice");
  if (step == 0) throw InvalidArgument("slice: a step of 0 along axis {} of {}", axis, to_string(x));
  step = std::max(step, -INT64_MAX);
  const std::int64_t n = x.shape()[axis];
  // The range of indices for both ends: of the first element, and of the position past the last, in either direction.
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? n : n - 1;
  const auto bounded = [&](std::int64_t i) { return std::clamp(i < 0 ? std::max(i, -n - 1) + n : i, low, high); };
  begin = bounded(begin);
  end = end == kToEnd && step < 0 ? low : bounded(end);
  const std::int64_t reach = step > 0 ? end - begin : begin - end;
  const std::int64_t stride = step > 0 ? step : -step;
  const std::int64_t size = reach <= 0 ? 0 : (reach - 1) / stride + 1;
  if (const auto part = part_of(x, axis, begin, size, size > 1 ? step : 1)) return *part;
  throw Unsupported("slice: element {} along axis {} of {} starts inside a byte", begin, axis, to_string(x));
}

void concat(Stream& stream, std::span<const View> parts, const View& y, int axis) {
  call(stream, CallKey("concat", axis), {parts, y}, [&](Stream& s) {
    axis = normalize_axis(axis, y.rank(), "concat");
    check_memory(s, "concat", {{"part", parts}}, {{"y", y}}, Sharing::none);
    for_each_chunk("concat", y, parts, axis, [&](const View& part, std::int64_t begin) {
      if (const auto target = part_of(y, axis, begin, part.shape()[axis]))
        copy(s, part, *target);
      else
        place(s, "concat", Remap::keep, part, y, along(y, axis, begin));
    });
  });
}

void split(Stream& stream, const View& x, std::span<const View> parts, int axis) {
  call(stream, CallKey("split", axis), {x, parts}, [&](Stream& s) {
    axis = normalize_axis(axis, x.rank(), "split");
    check_memory(s, "split", {{"x", x}}, {{"part", parts}}, Sharing::none);
    for_each_chunk("split", x, parts, axis, [&](const View& part, std::int64_t begin) {
      if (const auto source = part_of(x, axis, begin, part.shape()[axis]))
        copy(s, *source, part);
      else
        place(s, "split", Remap::constant, x, part, along(x, axis, -begin));
    });
  });
}

void masked_copy(Stream& stream, const View& mask, const View& x, const View& y) {
  call(stream, CallKey("masked_copy"), {mask, x, y}, [&](Stream& s) {
    check_views("masked_copy", {&mask, &x}, {&y});
    check_memory(s, "masked_copy", {{"mask", mask}, {"x", x}}, {{"y", y}});
    const View target = as_unsigned(y);
    Expression e;
    const int condition = e.input(DType::boolean);
    const int from = e.input(target.dtype), old = e.input(target.dtype);
    e.output(e.apply(ScalarOp::select, {condition, from, old}));
    const View inputs[] = {mask, as_unsigned(x), target};
    map(s, "masked_copy", e, inputs, std::span(&target, 1));
  });
}

}  // namespace weft::kernels
