// Reductions, scans, sorting, softmax.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "call.h"
#include "functions.h"
#include "mlx/backend/gpu/copy.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;

namespace {

// The same elements converted to another type.
weft::View converted(Call& call, const weft::View& x, DType type) {
  const weft::View y = call.temporary(type, x.shape());
  weft::kernels::copy(call.stream(), x, y);
  return y;
}

// The real (0) or imaginary (1) parts of complex numbers.
weft::View part(const weft::View& z, int which) {
  weft::Strides strides = z.strides();
  for (std::int64_t& stride : strides) stride *= 2;
  return weft::View(z.buffer, z.offset + which * sizeof(float), DType::f32, z.shape(), strides);
}

// Complex numbers are in the order of their real parts, then of the imaginary ones; those with NaN come last. Sorted by
// the second first, since sort() keeps the order of equal elements.
void sort_complex(Call& call, const weft::View& x, const weft::View& y, int axis, bool indices) {
  using enum weft::ScalarOp;
  const auto temporary = [&](DType type) { return call.temporary(type, x.shape()); };
  const weft::View second = temporary(DType::u32), keys = temporary(DType::f32), in_order = temporary(DType::f32);
  const weft::View first = temporary(DType::u32);
  weft::kernels::sort(call.stream(), part(x, 1), {}, second, {.axis = axis});
  weft::Expression e;
  const int re = e.input(DType::f32), im = e.input(DType::f32);
  e.output(e.apply(select, {e.apply(is_nan, {im}), im, re}));
  const weft::View parts[] = {part(x, 0), part(x, 1)}, results[] = {keys};
  weft::kernels::map(call.stream(), e, parts, results);
  weft::kernels::gather_elements(call.stream(), keys, second, in_order, axis);
  weft::kernels::sort(call.stream(), in_order, {}, first, {.axis = axis});
  const weft::View order = indices ? y : temporary(DType::u32);
  weft::kernels::gather_elements(call.stream(), second, first, order, axis);
  if (!indices) weft::kernels::gather_elements(call.stream(), x, order, y, axis);
}

void sort(const array& in, array& out, int axis, bool indices) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const Grouped along = Grouped::around(in, axis);
  const weft::View x = call.in(in, along), y = call.out(out, along);
  if (x.dtype == DType::c64) return sort_complex(call, x, y, along.axis, indices);
  const std::optional<weft::View> none;
  weft::kernels::sort(call.stream(), x, indices ? none : y, indices ? y : none, {.axis = along.axis});
}

// A scan by a function of two elements, in which each step combines the results of twice as many elements (Hillis and
// Steele, "Data parallel algorithms", 1986).
void scan_by(Call& call, Build function, const weft::View& x, const weft::View& y, int axis, bool reverse,
             bool exclusive, weft::Number of_none) {
  using weft::kernels::kToEnd;
  using weft::kernels::slice;
  const std::int64_t count = x.shape()[axis];
  const auto ordered = [&](const weft::View& view) { return reverse ? slice(view, axis, -1, INT64_MIN, -1) : view; };
  weft::View from = call.temporary(x.dtype, x.shape()), to = call.temporary(x.dtype, x.shape());
  if (exclusive) {
    weft::kernels::fill(call.stream(), of_none, slice(from, axis, 0, 1));
    if (count > 1) weft::kernels::copy(call.stream(), slice(ordered(x), axis, 0, -1), slice(from, axis, 1));
  } else {
    weft::kernels::copy(call.stream(), ordered(x), from);
  }
  weft::Expression e;
  const int before = e.input(x.dtype), here = e.input(x.dtype);
  e.output(function(e, {before, here}));
  for (std::int64_t step = 1; step < count; step *= 2) {
    weft::kernels::copy(call.stream(), slice(from, axis, 0, step), slice(to, axis, 0, step));
    const weft::View operands[] = {slice(from, axis, 0, -step), slice(from, axis, step)};
    const weft::View results[] = {slice(to, axis, step, kToEnd)};
    weft::kernels::map(call.stream(), e, operands, results);
    std::swap(from, to);
  }
  weft::kernels::copy(call.stream(), from, ordered(y));
}

// The least or greatest of complex numbers: of two halves of each axis, until one element is left.
void reduce_complex(Call& call, Build function, weft::View x, const weft::View& y, const std::vector<int>& axes) {
  using weft::kernels::slice;
  weft::Expression e;
  const int a = e.input(x.dtype), b = e.input(x.dtype);
  e.output(function(e, {a, b}));
  for (const int axis : axes) {
    while (x.shape()[axis] > 1) {
      const std::int64_t half = x.shape()[axis] / 2;
      weft::Shape shape = x.shape();
      shape[axis] -= half;
      const weft::View next = call.temporary(x.dtype, shape);
      const weft::View operands[] = {slice(x, axis, 0, half), slice(x, axis, -half)};
      const weft::View results[] = {slice(next, axis, 0, half)};
      weft::kernels::map(call.stream(), e, operands, results);
      if (shape[axis] > half) {
        weft::kernels::copy(call.stream(), slice(x, axis, half, half + 1), slice(next, axis, half));
      }
      x = next;
    }
  }
  weft::kernels::copy(call.stream(), x, y);
}

}  // namespace

void Reduce::eval_gpu(const std::vector<array>& inputs, array& out) {
  using enum weft::kernels::ReduceKind;
  constexpr weft::kernels::ReduceKind kKinds[] = {all, any, sum, prod, min, max};  // ReduceType
  // Of booleans the least is whether all are true; a sum counts.
  constexpr weft::kernels::ReduceKind kBooleanKinds[] = {all, any, count, prod, all, any};
  allocate(out);
  if (out.size() == 0) return;
  array in = inputs[0];
  std::vector<int> axes = axes_;
  Elements elements = Elements::of(in), result = Elements::of(out);
  if (in.ndim() > weft::kMaxRank) {
    // Of more axes than Weft takes: those that stay as one, and those that go as another.
    std::vector<int> order;
    for (int axis = 0; axis < in.ndim(); ++axis) {
      if (std::ranges::find(axes_, axis) == axes_.end()) order.push_back(axis);
    }
    order.insert(order.end(), axes_.begin(), axes_.end());
    in = contiguous_copy_gpu(transpose_in_eval(in, order), stream());
    const auto rows = static_cast<int64_t>(out.size()), columns = static_cast<int64_t>(in.size() / out.size());
    axes = {1};
    elements = {{rows, columns}, {columns, 1}, in.offset()};
    result = {{rows, 1}, {1, 1}, out.offset()};
  }
  Call call;
  weft::View x = call.in(in, elements);
  const weft::View y = call.out(out, result);
  if (x.dtype == DType::c64 && x.count() > 0 && (reduce_type_ == Min || reduce_type_ == Max)) {
    return reduce_complex(call, scan_function(reduce_type_ == Min ? Scan::Min : Scan::Max), x, y, axes);
  }
  auto kind = (inputs[0].dtype() == bool_ ? kBooleanKinds : kKinds)[reduce_type_];
  if (x.dtype == DType::boolean && kind == prod) x = converted(call, x, dtype(out.dtype()));
  weft::kernels::reduce(call.stream(), kind, x, y, axes);
}

void ArgReduce::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const Grouped along = Grouped::around(inputs[0], axis_);
  const int axes[] = {along.axis};
  weft::kernels::arg_reduce(call.stream(),
                            reduce_type_ == ArgMin ? weft::kernels::ArgKind::min : weft::kernels::ArgKind::max,
                            call.in(inputs[0], along), call.out(out, along), axes);
}

void Scan::eval_gpu(const std::vector<array>& inputs, array& out) {
  using enum weft::kernels::ScanKind;
  constexpr weft::kernels::ScanKind kKinds[] = {max, min, sum, prod, log_sum_exp};  // ReduceType
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const Grouped along = Grouped::around(inputs[0], axis_);
  weft::View x = call.in(inputs[0], along), y = call.out(out, along);
  const auto kind = kKinds[reduce_type_];
  if (x.dtype == DType::c64 && kind != sum && kind != prod) {
    const float of_none = std::numeric_limits<float>::infinity() * (kind == min ? 1 : -1);
    return scan_by(call, scan_function(reduce_type_), x, y, along.axis, reverse_, !inclusive_, of_none);
  }
  // Booleans have the bytes of the integers 0 and 1.
  if (x.dtype == DType::boolean) x.dtype = DType::u8;
  if (y.dtype == DType::boolean) y.dtype = DType::u8;
  weft::kernels::scan(call.stream(), kind, x, y, along.axis, {.reverse = reverse_, .exclusive = !inclusive_});
}

void Sort::eval_gpu(const std::vector<array>& inputs, array& out) { sort(inputs[0], out, axis_, false); }
void ArgSort::eval_gpu(const std::vector<array>& inputs, array& out) { sort(inputs[0], out, axis_, true); }
// What is sorted is partitioned.
void Partition::eval_gpu(const std::vector<array>& inputs, array& out) { sort(inputs[0], out, axis_, false); }
void ArgPartition::eval_gpu(const std::vector<array>& inputs, array& out) { sort(inputs[0], out, axis_, true); }

void Softmax::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const Grouped rows = Grouped::rows(inputs[0]);
  weft::kernels::softmax(call.stream(), call.in(inputs[0], rows), call.out(out, rows), -1);
}

void LogSumExp::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const Grouped rows = Grouped::rows(inputs[0]);
  const int axes[] = {-1};
  weft::kernels::reduce(call.stream(), weft::kernels::ReduceKind::log_sum_exp, call.in(inputs[0], rows),
                        call.out(out, rows), axes);
}

void Arange::eval_gpu(const std::vector<array>&, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  weft::Number start = start_, step = step_;
  if (issubdtype(out.dtype(), integer)) {
    // The step is the difference of the first two elements, as integers.
    const auto first = static_cast<int64_t>(start_);
    start = first;
    step = static_cast<int64_t>(start_ + step_) - first;
  }
  weft::kernels::arange(call.stream(), start, step, call.out(out));
}

}  // namespace mlx::core
