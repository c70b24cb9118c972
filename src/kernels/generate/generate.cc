// Tensors that are functions of their indices: expressions of ramps, numbers that grow along the axes.
#include "weft/kernels/generate.h"
#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/bits.h"
#include "kernels/common/memory.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/generate/generate_cpu.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

void check_range(std::string_view name, Stream& stream, const View& y) {
  check_views(name, {}, {&y});
  if (stream.gpu() && y.dtype == DType::f64) {
    throw Unsupported("{}: y is {}; WGSL has no f64, it runs on the CPU only", name, to_string(y));
  }
  if (stream.gpu() && y.count() > std::int64_t{1} << 32) {
    throw Unsupported("{}: y is {}; on a GPU indices have 32 bits", name, to_string(y));
  }
}

Virtual number(float v) { return {DType::f32, std::bit_cast<std::uint32_t>(v)}; }
Virtual number(std::int32_t v) { return {DType::i32, static_cast<std::uint32_t>(v)}; }

// `value` in y's type, as the unsigned integer of its size.
int constant_of(Expression& e, Number value, DType type, DType unsigned_type) {
  return e.constant_bits(value.bits(type), unsigned_type);
}

// c - r along the last two axes.
Virtual diagonals(const View& y, std::int64_t diagonal) {
  Virtual v{DType::i32, static_cast<std::uint32_t>(-diagonal), Strides::filled(y.rank(), 0)};
  v.strides[-1] = 1;
  v.strides[-2] = -1;
  return v;
}

// y = x, or 1, where (c - r - diagonal) compares with 0, else 0.
void band(Stream& stream, std::string_view name, ScalarOp compare, std::span<const View> x, const View& y,
          std::int64_t diagonal) {
  if (x.empty())
    check_views(name, {}, {&y});
  else
    check_views(name, {&x[0]}, {&y});
  const std::optional<View> from = x.empty() ? std::nullopt : std::optional(x[0]);
  check_memory(stream, name, {{"x", from}}, {{"y", y}});
  // All diagonals outside of the matrix are alike; clamped, so that the difference fits 32 bits.
  diagonal = std::clamp(diagonal, -y.shape()[-2] - 1, y.shape()[-1] + 1);
  const View target = as_unsigned(y);
  Expression e;
  const int inside = x.empty() ? constant_of(e, 1, y.dtype, target.dtype) : e.input(target.dtype);
  const int outside = constant_of(e, 0, y.dtype, target.dtype);
  const int difference = e.input(DType::i32);
  e.output(e.apply(ScalarOp::select, {e.apply(compare, {difference, e.constant(0, DType::i32)}), inside, outside}));
  std::vector<View> inputs;
  for (const View& v : x) inputs.push_back(as_unsigned(v));
  const Virtual difference_of = diagonals(y, diagonal);
  map(stream, name, e, inputs, std::span(&difference_of, 1), std::span(&target, 1));
}

ScalarOp side(Triangle part) { return part == Triangle::lower ? ScalarOp::less_equal : ScalarOp::greater_equal; }

// y[i] = start + i · step, all modulo 2^64.
void integers(Stream& stream, std::uint64_t start, std::uint64_t step, const View& y) {
  if (!stream.gpu()) return arange_cpu(*stream.cpu(), start, step, y);
  const DType type = bits(y.dtype) == 64 ? DType::u64 : DType::u32;
  const DType result = bits(y.dtype) == 64 ? y.dtype : is_signed(y.dtype) ? DType::i32 : DType::u32;
  Expression e;
  const int i = e.cast(e.input(DType::u32), type);
  const int first = e.input(type), by = e.input(type);
  e.output(e.cast(e.cast(e.apply(ScalarOp::fma, {i, by, first}), result), y.dtype));
  const std::uint64_t mask = type == DType::u64 ? ~std::uint64_t{0} : 0xffffffffu;
  const Virtual inputs[] = {{DType::u32, 0, {1}}, {type, start & mask}, {type, step & mask}};
  map(stream, "arange", e, {}, inputs, std::span(&y, 1));
}

}  // namespace

void arange(Stream& stream, Number start, Number step, const View& y) {
  call(stream, CallKey("arange", start, step), {y}, [&](Stream& s) {
    check_range("arange", s, y);
    const auto first_integer = start.integer(), step_integer = step.integer();
    if (is_integer(y.dtype) && !(first_integer && step_integer)) {
      throw InvalidArgument("arange: from {} by {} in {}; expected numbers that 64 bits hold", start.value(),
                            step.value(), name(y.dtype));
    }
    check_memory(s, "arange", {}, {{"y", y}});
    if (is_integer(y.dtype)) return integers(s, *first_integer, *step_integer, y);
    if (!s.gpu()) return arange_cpu(*s.cpu(), start.value(), step.value(), y);
    Expression e;
    const int i = e.cast(e.input(DType::u32), DType::f32);
    const int first = e.input(DType::f32), by = e.input(DType::f32);
    e.output(e.cast(e.apply(ScalarOp::fma, {i, by, first}), y.dtype));
    const Virtual inputs[] = {
        {DType::u32, 0, {1}}, number(static_cast<float>(start.value())), number(static_cast<float>(step.value()))};
    map(s, "arange", e, {}, inputs, std::span(&y, 1));
  });
}

void linspace(Stream& stream, double start, double stop, const View& y) {
  call(stream, CallKey("linspace", start, stop), {y}, [&](Stream& s) {
    check_range("linspace", s, y);
    check_memory(s, "linspace", {}, {{"y", y}});
    if (!s.gpu()) return linspace_cpu(*s.cpu(), start, stop, y);
    const std::int64_t n = y.count();
    const Distances d = distances(start, stop, n);
    Expression e;
    const int i = e.input(DType::u32), back = e.input(DType::u32), half = e.input(DType::u32);
    const int first = e.input(DType::f32), last = e.input(DType::f32);
    const int step = e.input(DType::f32), step_back = e.input(DType::f32);
    const int from_first = e.apply(ScalarOp::fma, {e.cast(i, DType::f32), step, first});
    const int from_last = e.apply(ScalarOp::fma, {e.cast(back, DType::f32), step_back, last});
    e.output(e.cast(e.apply(ScalarOp::select, {e.apply(ScalarOp::less, {i, half}), from_first, from_last}), y.dtype));
    const Virtual inputs[] = {{DType::u32, 0, {1}},
                              {DType::u32, static_cast<std::uint32_t>(n - 1), {-1}},
                              {DType::u32, static_cast<std::uint32_t>(d.from_start)},
                              number(static_cast<float>(start)),
                              number(static_cast<float>(stop)),
                              number(static_cast<float>(d.step)),
                              number(static_cast<float>(-d.back))};
    map(s, "linspace", e, {}, inputs, std::span(&y, 1));
  });
}

void eye(Stream& stream, const View& y, std::int64_t diagonal) {
  call(stream, CallKey("eye", diagonal), {y}, [&](Stream& s) { band(s, "eye", ScalarOp::equal, {}, y, diagonal); });
}

void triangle(Stream& stream, Triangle part, const View& x, const View& y, std::int64_t diagonal) {
  call(stream, CallKey("triangle", part, diagonal), {x, y},
       [&](Stream& s) { band(s, "triangle", side(part), std::span(&x, 1), y, diagonal); });
}

void triangle(Stream& stream, Triangle part, const View& y, std::int64_t diagonal) {
  call(stream, CallKey("triangle", part, diagonal), {y},
       [&](Stream& s) { band(s, "triangle", side(part), {}, y, diagonal); });
}

void one_hot(Stream& stream, const View& indices, const View& y, int axis, Number on, Number off) {
  call(stream, CallKey("one_hot", axis, on, off), {indices, y}, [&](Stream& s) {
    axis = normalize_axis(axis, y.rank(), "one_hot");
    check_views("one_hot", {&indices}, {&y});
    Shape rest = y.shape();
    rest.erase(axis);
    if (indices.shape() != rest) {
      throw InvalidArgument("one_hot: y is {}, expected the shape of indices {} with the classes at axis {}",
                            to_string(y), to_string(indices), axis);
    }
    check_memory(s, "one_hot", {{"indices", indices}}, {{"y", y}});
    View by = indices;
    by.layout.shape.insert(axis, 1);
    by.layout.strides.insert(axis, 0);
    const View target = as_unsigned(y);
    // Classes have a type that indices can be compared in: 8- and 16-bit types may not hold all classes.
    const bool has_sign = is_signed(indices.dtype);
    const DType type = bits(indices.dtype) == 64 ? indices.dtype : has_sign ? DType::i32 : DType::u32;
    const std::int64_t classes = y.shape()[axis];
    Expression e;
    const int index = e.cast(e.input(indices.dtype), type);
    const DType ramp = has_sign ? DType::i32 : DType::u32;
    int hit = e.apply(ScalarOp::equal, {index, e.cast(e.input(ramp), type)});
    std::vector<Virtual> virtuals{{ramp, 0, Strides::filled(y.rank(), 0)}};
    virtuals[0].strides[axis] = 1;
    if (has_sign) {
      hit = e.apply(ScalarOp::logical_or, {hit, e.apply(ScalarOp::equal, {index, e.cast(e.input(ramp), type)})});
      virtuals.push_back(number(static_cast<std::int32_t>(-classes)));
      virtuals[1].strides = virtuals[0].strides;
    }
    e.output(e.apply(ScalarOp::select,
                     {hit, constant_of(e, on, y.dtype, target.dtype), constant_of(e, off, y.dtype, target.dtype)}));
    map(s, "one_hot", e, std::span(&by, 1), virtuals, std::span(&target, 1));
  });
}

}  // namespace weft::kernels
