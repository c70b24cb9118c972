#include "ops/pad.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.h"
#include "core/error_context.h"
#include "core/format.h"
#include "graph/graph.h"
#include "ops/batch_in_order.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/iota.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/pad.h"

namespace weft {
namespace {

void check_per_axis(std::string_view op, const TensorType& x, std::size_t numbers) {
  if (numbers == static_cast<std::size_t>(x.shape.rank())) return;
  throw ShapeError("{}: {} numbers for the axes of {}", op, numbers, to_string(x));
}

// One number for each axis.
Dims per_axis(std::string_view op, const Tensor& x, std::span<const std::int64_t> numbers) {
  if (!x.defined()) throw InvalidArgument("{}: the operand is an undefined Tensor", op);
  check_per_axis(op, x.type(), numbers.size());
  return Dims(numbers);
}

bool all_are(const Dims& dims, std::int64_t value) {
  return std::ranges::all_of(dims, [value](auto d) { return d == value; });
}

Tensor multiplied(const Tensor& x, std::span<const std::int64_t> counts, bool tiles) {
  Dims left = per_axis(tiles ? "tile" : "repeat", x, counts);
  // An axis of one element is only seen more often.
  Shape seen = x.shape();
  for (int d = 0; d < x.rank(); ++d) {
    if (left[d] < 0) throw InvalidArgument("{}: a count of {}", tiles ? "tile" : "repeat", left[d]);
    if (seen[d] != 1) continue;
    seen[d] = left[d];
    left[d] = 1;
  }
  const Tensor wide = broadcast_to(x, seen);
  return all_are(left, 1) ? wide : apply(make_op<TileOp>(TileAttributes{tiles, left}), {wide});
}

// What mode fills `count` elements behind the last one along an axis with.
Tensor following(const Tensor& x, int axis, std::int64_t count, kernels::PadMode mode) {
  const std::int64_t n = x.shape()[axis];
  if (mode == kernels::PadMode::edge || n == 1) {
    Shape shape = x.shape();
    shape[axis] = count;
    return broadcast_to(slice(x, axis, n - 1, n), shape);
  }
  // What is repeated: x, or x backwards and then forwards.
  const bool wraps = mode == kernels::PadMode::wrap;
  const std::int64_t skip = mode == kernels::PadMode::reflect ? 1 : 0;
  Tensor period = wraps ? x : slice(x, axis, n - 1 - skip, -1, -1);
  if (count > n - skip && !wraps) {
    const Tensor both[] = {period, slice(x, axis, skip, n)};
    period = concat(both, axis);
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(x.rank()), 1);
  counts[static_cast<std::size_t>(axis)] = (count - 1) / period.shape()[axis] + 1;
  return slice(tile(period, counts), axis, 0, count);
}

// The numbers for the axes of an entry, behind that of the batch.
Dims behind_batch(std::int64_t of_batch, Dims of_entry) {
  of_entry.insert(0, of_batch);
  return of_entry;
}

// How many of start, start + step, … come before stop.
std::int64_t steps_between(const Number& start, const Number& stop, const Number& step) {
  const auto refuse = [&](std::string_view why) {
    throw InvalidArgument("arange: from {} to {} in steps of {}: {}", to_string(start), to_string(stop),
                          to_string(step), why);
  };
  if (step.value() == 0) refuse("the step is 0");
  const auto first = start.as_int64(), last = stop.as_int64(), by = step.as_int64();
  if (first && last && by) {
    // Unsigned differences cannot overflow.
    const bool up = *by > 0;
    if (up ? *first >= *last : *first <= *last) return 0;
    const auto span = up ? static_cast<std::uint64_t>(*last) - static_cast<std::uint64_t>(*first)
                         : static_cast<std::uint64_t>(*first) - static_cast<std::uint64_t>(*last);
    const auto size = up ? static_cast<std::uint64_t>(*by) : 0 - static_cast<std::uint64_t>(*by);
    const std::uint64_t count = (span - 1) / size + 1;
    if (count > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) refuse("too many numbers");
    return static_cast<std::int64_t>(count);
  }
  const double count = std::ceil((stop.value() - start.value()) / step.value());
  if (!std::isfinite(count)) refuse("not finite");
  if (count > 9e18) refuse("too many numbers");
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

}  // namespace

std::vector<TensorType> PadOp::infer(std::span<const TensorType> in) const {
  TensorType y = in[0];
  for (const Dims* numbers : {&a.before, &a.after})
    check_per_axis(name(), y, static_cast<std::size_t>(numbers->size()));
  for (int d = 0; d < y.shape.rank(); ++d) {
    std::int64_t more;
    if (add_overflows(a.before[d], a.after[d], more) || add_overflows(y.shape[d], more, y.shape[d])) {
      throw ShapeError("pad: {} and {} around axis {} of {} are more than 2^63 elements", a.before[d], a.after[d], d,
                       weft::to_string(in[0]));
    }
    if (y.shape[d] < 0) {
      throw ShapeError("pad: {} and {} leave less than nothing of axis {} of {}", a.before[d], a.after[d], d,
                       weft::to_string(in[0]));
    }
    if (a.fill.mode != kernels::PadMode::constant && in[0].shape[d] == 0 && y.shape[d] > 0) {
      throw ShapeError("pad: axis {} of {} is empty, there is nothing to fill {} elements with", d,
                       weft::to_string(in[0]), y.shape[d]);
    }
  }
  return {y};
}

void PadOp::lower(const Launch& call) const {
  kernels::pad(call.stream, call.inputs[0], call.outputs[0], {a.before.begin(), a.before.end()}, a.fill.mode,
               a.fill.value);
}

// Borders of elements of x, joined to it.
std::vector<Tensor> PadOp::decomposed(std::span<const Tensor> in) const {
  if (a.fill.mode == kernels::PadMode::constant) return {};
  Tensor y = in[0];
  for (int d = 0; d < y.rank(); ++d) {
    const std::int64_t before = a.before[d], after = a.after[d], size = y.shape()[d] + before + after;
    if (size == 0) {
      y = slice(y, d, 0, 0);
      continue;
    }
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(flip(following(flip(y, d), d, before, a.fill.mode), d));
    parts.push_back(y);
    if (after > 0) parts.push_back(following(y, d, after, a.fill.mode));
    const std::int64_t cropped = std::max<std::int64_t>(-before, 0);
    y = slice(concat(parts, d), d, cropped, cropped + size);
  }
  return {y};
}

// In the other direction: what was added comes off, and what came off is zero. Other modes are made of slices.
Derivatives PadOp::vjp(const Differentiated&, std::span<const Tensor> g) const {
  if (a.fill.mode != kernels::PadMode::constant) return std::nullopt;
  std::vector<std::int64_t> before, after;
  for (const std::int64_t n : a.before) before.push_back(-n);
  for (const std::int64_t n : a.after) after.push_back(-n);
  return std::vector{pad(g[0], before, after)};
}
Derivatives PadOp::jvp(const Differentiated&, std::span<const Tensor> t) const {
  return std::vector{pad(t[0], a.before, a.after, a.fill.mode)};
}
std::optional<Batched> PadOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const PadAttributes of_batch{behind_batch(0, a.before), behind_batch(0, a.after), a.fill};
  return batched(apply(make_op<PadOp>(of_batch), {batch_first(in[0], axes[0], 0)}));
}
std::vector<Tensor> PadOp::vmap_in_order(const BatchInOrder& batch) const {
  return {each_axis_in_order(
      batch, [&](int axis) { return a.before[axis] != 0 || a.after[axis] != 0; },
      [&](int axis, const Tensor& x) {
        const PadAttributes along{Dims{0, a.before[axis], 0}, Dims{0, a.after[axis], 0}, a.fill};
        return apply(make_op<PadOp>(along), {x});
      })};
}

std::vector<TensorType> TileOp::infer(std::span<const TensorType> in) const {
  TensorType y = in[0];
  check_per_axis(name(), y, static_cast<std::size_t>(a.counts.size()));
  for (int d = 0; d < y.shape.rank(); ++d) {
    if (multiply_overflows(y.shape[d], a.counts[d], y.shape[d])) {
      throw ShapeError("{}: {} times axis {} of {} are more than 2^63 elements", a.tiles ? "tile" : "repeat",
                       a.counts[d], d, weft::to_string(in[0]));
    }
  }
  return {y};
}

void TileOp::lower(const Launch& call) const {
  if (a.tiles)
    kernels::tile(call.stream, call.inputs[0], call.outputs[0]);
  else
    kernels::repeat(call.stream, call.inputs[0], call.outputs[0]);
}

// The sum over all places where an element stands.
Derivatives TileOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  Tensor x = g[0];
  if (element_count(x.shape()) == 0) return std::vector{Tensor()};
  for (int d = 0; d < x.rank(); ++d) {
    if (a.counts[d] == 1) continue;
    Shape shape = x.shape();
    const std::int64_t n = node.inputs[0].shape()[d];
    std::int64_t outer = 1, inner = 1;
    for (int i = 0; i < d; ++i) outer *= shape[i];
    for (int i = d + 1; i < shape.rank(); ++i) inner *= shape[i];
    const Shape split = a.tiles ? Shape{outer, a.counts[d], n, inner} : Shape{outer, n, a.counts[d], inner};
    shape[d] = n;
    x = reshape(reduce(ReduceKind::sum, reshape(x, split), {a.tiles ? 1 : 2}), shape);
  }
  return std::vector{x};
}
std::optional<Batched> TileOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return batched(
      apply(make_op<TileOp>(TileAttributes{a.tiles, behind_batch(1, a.counts)}), {batch_first(in[0], axes[0], 0)}));
}
std::vector<Tensor> TileOp::vmap_in_order(const BatchInOrder& batch) const {
  return {each_axis_in_order(
      batch, [&](int axis) { return a.counts[axis] != 1; },
      [&](int axis, const Tensor& x) {
        return apply(make_op<TileOp>(TileAttributes{a.tiles, Dims{1, a.counts[axis], 1}}), {x});
      })};
}

std::vector<TensorType> RollOp::infer(std::span<const TensorType> in) const {
  check_per_axis(name(), in[0], static_cast<std::size_t>(a.shifts.size()));
  return {in[0]};
}

void RollOp::lower(const Launch& call) const {
  kernels::roll(call.stream, call.inputs[0], call.outputs[0], {a.shifts.begin(), a.shifts.end()});
}

Derivatives RollOp::vjp(const Differentiated&, std::span<const Tensor> g) const {
  std::vector<std::int64_t> back;
  for (int d = 0; d < g[0].rank(); ++d) back.push_back(-(a.shifts[d] % std::max<std::int64_t>(g[0].shape()[d], 1)));
  return std::vector{roll(g[0], back)};
}
std::optional<Batched> RollOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return batched(roll(batch_first(in[0], axes[0], 0), behind_batch(0, a.shifts)));
}
std::vector<Tensor> RollOp::vmap_in_order(const BatchInOrder& batch) const {
  return {each_axis_in_order(
      batch, [&](int axis) { return a.shifts[axis] != 0; },
      [&](int axis, const Tensor& x) { return roll(x, std::vector<std::int64_t>{0, a.shifts[axis], 0}); })};
}

std::vector<TensorType> TriangleOp::infer(std::span<const TensorType> in) const {
  if (in.empty()) throw InvalidArgument("triangle: no operands, expected x");  // which its kernel does not need
  if (in[0].shape.rank() < 2) {
    throw ShapeError("triangle: x is {}, expected rank 2 or more", weft::to_string(in[0]));
  }
  return {{infer_dtype(name(), {&in[0]}), in[0].shape}};
}

void TriangleOp::lower(const Launch& call) const {
  kernels::triangle(call.stream, a.part, call.inputs[0], call.outputs[0], a.diagonal);
}

Derivatives TriangleOp::vjp(const Differentiated&, std::span<const Tensor> g) const {
  return std::vector{triangle(g[0], a.part, a.diagonal)};
}
std::optional<Batched> TriangleOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  return batched(triangle(batch_first(in[0], axes[0], 0), a.part, a.diagonal));
}
std::vector<Tensor> TriangleOp::vmap_in_order(const BatchInOrder& batch) const {
  return samples_in_order(shared_from_this(), batch, 2);
}

std::vector<TensorType> OneHotOp::infer(std::span<const TensorType> in) const {
  if (a.classes < 0) throw InvalidArgument("one_hot: {} classes", a.classes);
  TensorType y{infer_dtype(name(), {&in[0]}, a.dtype), in[0].shape};
  y.shape.insert(a.options.axis, a.classes);
  return {y};
}

void OneHotOp::lower(const Launch& call) const {
  kernels::one_hot(call.stream, call.inputs[0], call.outputs[0], a.options.axis, a.options.on, a.options.off);
}

std::optional<Batched> OneHotOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const kernels::OneHotOptions& o = a.options;
  return batched(one_hot(batch_first(in[0], axes[0], 0), a.classes, a.dtype, o.axis + 1, o.on, o.off));
}

Tensor pad(const Operand& x, std::span<const std::int64_t> before, std::span<const std::int64_t> after,
           kernels::PadMode mode, Number value) {
  const Dims b = per_axis("pad", x, before), a = per_axis("pad", x, after);
  const auto crops = [](auto n) { return n <= 0; };
  if (!std::ranges::all_of(b, crops) || !std::ranges::all_of(a, crops)) {
    return apply(make_op<PadOp>(PadAttributes{b, a, {mode, value}}), {x});
  }
  Tensor y = x;
  for (int d = 0; d < x.rank(); ++d) {
    const std::int64_t n = x.shape()[d];
    const std::int64_t left = n + b[d];  // both are at most 0, and may be the least number
    if (left < 0 || left + a[d] < 0) PadOp({b, a, {mode, value}}).infer(std::span(&x.type(), 1));  // says what is wrong
    y = slice(y, d, -b[d], n + a[d]);
  }
  return y;
}

Tensor tile(const Operand& x, std::span<const std::int64_t> counts) { return multiplied(x, counts, true); }

namespace {

struct RepeatAttributes {
  std::int64_t count = 1;
  int axis = -1;
  void fields(AttributeVisitor& v) {
    v("count", count, "how many times each element stands");
    v("axis", axis, "the axis along which elements are repeated");
  }
};
constexpr Function kRepeat = {{.name = "repeat",
                               .operands = {{"x"}},
                               .results = {{"y", "x's shape, with count times as many along axis", "x's type"}},
                               .formula = "y[…, i, …] = x[…, ⌊i / count⌋, …]",
                               .summary = "each element several times in a row along an axis"},
                              [](const Tensor& x, const RepeatAttributes& a) {
                                Dims counts = Dims::filled(x.rank(), 1);
                                counts[normalize_axis(a.axis, x.rank(), "repeat")] = a.count;
                                return multiplied(x, {counts.begin(), counts.end()}, false);
                              }};

}  // namespace

Tensor repeat(const Operand& x, std::int64_t count, int axis) { return kRepeat(x, {count, axis}); }

Tensor roll(const Operand& x, std::span<const std::int64_t> shifts) {
  Dims s = per_axis("roll", x, shifts);
  for (int d = 0; d < x.rank(); ++d) s[d] = x.shape()[d] ? (s[d] % x.shape()[d] + x.shape()[d]) % x.shape()[d] : 0;
  return all_are(s, 0) ? Tensor(x) : apply(make_op<RollOp>(RollAttributes{s}), {x});
}

Tensor triangle(const Operand& x, kernels::Triangle part, std::int64_t diagonal) {
  if (!x.defined()) throw InvalidArgument("triangle: the operand is an undefined Tensor");
  return apply(make_op<TriangleOp>(kernels::TriangleOptions{part, diagonal}), {x});
}

// i32 if the first and the last number fit, else i64; u64 past its end; f32 of fractions.
DType arange_type(const Number& start, const Number& step, bool integral, std::int64_t count) {
  if (!integral || !start.integral() || !step.integral()) return DType::f32;
  const auto first = start.as_int64(), by = step.as_int64();
  if (!first || !by) return DType::u64;
  // The last number lies between the start and the stop; unsigned sums wrap.
  const auto steps = static_cast<std::uint64_t>(std::max<std::int64_t>(count, 1) - 1);
  const Number last(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(*first) + steps * static_cast<std::uint64_t>(*by)));
  return fits(start, DType::i32) && fits(last, DType::i32) ? DType::i32 : DType::i64;
}

Tensor arange(Number start, Number stop, Number step, std::optional<DType> dtype) {
  const std::int64_t count = steps_between(start, stop, step);
  const DType type = dtype ? *dtype : arange_type(start, step, stop.integral(), count);
  return in_function("arange", [&] { return ramp(start, step, count, type); });
}

namespace {

// ---- Rows of functions that are more than the op of their name, or have none.

struct OneHotFunctionAttributes {
  OneHotAttributes own = {};
  void fields(AttributeVisitor& v) {
    v("classes", own.classes, "how many elements a row has");
    v("dtype", own.dtype, DType::f32, "the type of the result");
    own.options.fields(v);
  }
};
constexpr Function kOneHot = {
    {.name = "one_hot",
     .operands = {{"indices"}},
     .results = {{"y", "indices' shape with classes inserted at axis", "dtype"}},
     .formula = "y[i…, c, j…] = on if indices[i…, j…] = c, else off",
     .summary = "each index as a row that is on at the index and off elsewhere; negative indices count from the end, "
                "others outside give a row that is off"},
    [](const Tensor& indices, const OneHotFunctionAttributes& a) {
      OneHotAttributes own = a.own;
      own.options.axis = normalize_axis(own.options.axis, indices.rank() + 1, "one_hot");
      return apply(make_op<OneHotOp>(std::move(own)), {indices});
    }};

// The C++ function has a default for no stop but that of the row, and so does not call it.
struct ArangeAttributes {
  Number start, stop = std::numeric_limits<double>::quiet_NaN(), step = 1;
  std::optional<DType> dtype = {};
  void fields(AttributeVisitor& v) {
    v("start", start, "the first number; without a stop the numbers begin at 0, and this is the stop");
    v("stop", stop, std::numeric_limits<double>::quiet_NaN(), "the end, which is not among the numbers");
    v("step", step, 1, "the distance from a number to the next");
    v("dtype", dtype, {}, "the type of the result");
  }
};
constexpr Function kArange = {
    {.name = "arange",
     .results = {{"y", "[⌈(stop - start) / step⌉]",
                  "dtype; without one i32 if all numbers are integers (i64 or u64 where that is too small), else f32"}},
     .formula = "y[i] = start + i · step",
     .summary = "start, start + step, … before stop"},
    [](const ArangeAttributes& a) {
      return std::isnan(a.stop.value()) ? arange(0, a.start, a.step, a.dtype)
                                        : arange(a.start, a.stop, a.step, a.dtype);
    }};

constexpr Function kLinspace = {
    {.name = "linspace",
     .results = {{"y", "[count]", "dtype"}},
     .formula = "y[i] = start + i · (stop - start) / (count - 1)",
     .summary = "numbers at equal distances from start to stop; with endpoint = false stop would be the next one"},
    [](const LinspaceAttributes& a) {
      if (a.count < 0) throw InvalidArgument("linspace: {} numbers were asked for", a.count);
      if (!a.endpoint && a.count > 0) return slice(linspace(a.start, a.stop, a.count + 1, a.dtype), 0, 0, a.count);
      return ramp_between(a.start, a.stop, a.count, a.dtype);
    }};

struct EyeAttributes {
  std::int64_t rows = 0;
  std::optional<std::int64_t> columns = {};
  DType dtype = DType::f32;
  std::int64_t diagonal = 0;
  void fields(AttributeVisitor& v) {
    v("rows", rows, "how many rows there are");
    v("columns", columns, {}, "how many columns there are; without it as many as rows");
    v("dtype", dtype, DType::f32, "the type of the result");
    v("diagonal", diagonal, 0, "how many diagonals the ones are above the main one; negative: below");
  }
};
constexpr Function kEye = {{.name = "eye",
                            .results = {{"y", "[rows, columns]", "dtype"}},
                            .formula = "y[r, c] = 1 if c - r = diagonal, else 0",
                            .summary = "ones on a diagonal, zeros elsewhere"},
                           [](const EyeAttributes& a) {
                             return band(a.rows, a.columns.value_or(a.rows), a.dtype, ScalarOp::equal, a.diagonal);
                           }};

struct TriangleMatrixAttributes {
  std::int64_t rows = 0, columns = 0;
  DType dtype = DType::f32;
  kernels::TriangleOptions options = {};
  void fields(AttributeVisitor& v) {
    v("rows", rows, "how many rows there are");
    v("columns", columns, "how many columns there are");
    v("dtype", dtype, "the type of the result");
    v("part", options.part, kernels::Triangle::lower, kernels::kTriangles, "which triangle has the ones");
    v("diagonal", options.diagonal, 0, "0 for the main diagonal, k for the one k above it, -k for the one k below");
  }
};
constexpr Function kTriangleMatrix = {
    {.name = "triangle_matrix",
     .results = {{"y", "[rows, columns]", "dtype"}},
     .formula = "y[r, c] = 1 if c - r ≤ diagonal (lower) or c - r ≥ diagonal (upper), else 0",
     .summary = "ones on a diagonal and on one side of it, zeros elsewhere",
     .form_of = "triangle"},
    [](const TriangleMatrixAttributes& a) {
      const bool lower = a.options.part == kernels::Triangle::lower;
      return band(a.rows, a.columns, a.dtype, lower ? ScalarOp::less_equal : ScalarOp::greater_equal,
                  a.options.diagonal);
    }};

}  // namespace

Tensor one_hot(const Operand& indices, std::int64_t classes, DType dtype, int axis, Number on, Number off) {
  return kOneHot(indices, {{classes, dtype, {axis, on, off}}});
}

Tensor linspace(double start, double stop, std::int64_t count, DType dtype, bool endpoint) {
  return kLinspace({start, stop, count, dtype, endpoint});
}

Tensor eye(std::int64_t rows, std::int64_t columns, DType dtype, std::int64_t diagonal) {
  return kEye({rows, columns, dtype, diagonal});
}

Tensor triangle(std::int64_t rows, std::int64_t columns, DType dtype, kernels::Triangle part, std::int64_t diagonal) {
  return kTriangleMatrix({rows, columns, dtype, {part, diagonal}});
}

void add_pad_functions(FunctionRows& rows) { rows.add(kRepeat, kOneHot, kArange, kLinspace, kEye, kTriangleMatrix); }

void add_pad_ops(OpRows& rows) {
  rows.push_back(op_row<PadOp>(schema_of_kernel("pad")));
  for (const bool tiles : {true, false}) {
    rows.push_back(
        op_row<TileOp>(schema_of_kernel(tiles ? "tile" : "repeat", "x's sizes times the counts"), {.tiles = tiles}));
  }
  rows.push_back(op_row<RollOp>(schema_of_kernel("roll")));
  rows.push_back(op_row<TriangleOp>(schema_of_kernel("triangle")));
  rows.push_back(
      op_row<OneHotOp>(schema_of_kernel("one_hot", "indices' shape with classes inserted at axis", "dtype")));
}

}  // namespace weft
