#include "kernels/matmul/problem.h"

#include <algorithm>
#include <limits>

#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/memory.h"
#include "kernels/elementwise/block_memory.h"
#include "kernels/elementwise/scalar_ops_cpu.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/matmul/row_store.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// The leading dimensions of `view` broadcast to `batch`; the last two are unchanged.
View broadcast_batch(std::string_view name, const View& view, const Shape& batch) {
  Shape target = batch;
  target.push_back(view.shape()[-2]);
  target.push_back(view.shape()[-1]);
  if (view.rank() > target.rank()) {
    throw InvalidArgument("matmul: {} is {}, y has only {} leading dimensions", name, to_string(view), batch.rank());
  }
  try {
    return view.broadcast_to(target);
  } catch (const InvalidArgument&) {
    throw InvalidArgument("matmul: the leading dimensions of {} ({}) do not broadcast to {}", name, to_string(view),
                          to_string(batch));
  }
}

View transposed(const View& view) {
  Layout layout = view.layout;
  std::swap(layout.shape[-1], layout.shape[-2]);
  std::swap(layout.strides[-1], layout.strides[-2]);
  return view.with_layout(layout);
}

// Merges batch dimensions with each other, and with m if b is the same for all of them.
void collapse_batch(MatmulProblem& p) {
  Shape rows = p.batch;
  rows.push_back(p.m);
  std::vector<Strides> strides;
  std::vector<std::size_t> same{1};  // the views that do not move along m: b, and what tells batches apart
  p.for_each_view([&](View& view) {
    Strides s = batch_strides(view);
    s.push_back(&view == &p.b ? 0 : view.strides()[p.batch.rank()]);
    if (p.selects(view)) same.push_back(strides.size());
    strides.push_back(s);
  });
  Collapsed c = collapse(rows, strides);
  // The last dimension is m unless b moves along it, in which case m was 1 and has been dropped.
  const int last = c.shape.rank() - 1;
  const bool has_m =
      last >= 0 && std::ranges::all_of(same, [&](std::size_t view) { return c.strides[view][last] == 0; });
  p.batch = c.shape;
  p.m = 1;
  if (has_m) {
    p.m = c.shape[last];
    p.batch.erase(last);
  }
  std::size_t i = 0;
  p.for_each_view([&](View& view) {
    const Strides& s = c.strides[i++];
    Layout layout;
    for (int d = 0; d < p.batch.rank(); ++d) {
      layout.shape.push_back(p.batch[d]);
      layout.strides.push_back(s[d]);
    }
    const bool selects = p.selects(view);
    layout.shape.push_back(&view == &p.b ? p.k : selects ? 1 : p.m);
    layout.strides.push_back(&view == &p.b ? view.strides()[-2] : has_m && !selects ? s[last] : 0);
    layout.shape.push_back(&view == &p.a ? p.k : selects ? 1 : p.n);
    layout.strides.push_back(view.strides()[-1]);
    view = view.with_layout(layout);
  });
}

// Element `at` of integers; those past an i64 are its largest.
std::int64_t integer_at(const View& view, std::int64_t at) {
  if (cpu_register(view.dtype) == CpuRegister::u64) {
    std::uint64_t value = 0;
    load_block(view.dtype)(view.buffer.data() + view.offset, at, 1, 1, &value);
    return static_cast<std::int64_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::int64_t>::max()));
  }
  std::int64_t value = 0;
  load_block(view.dtype)(view.buffer.data() + view.offset, at, 1, 1, &value);
  return value;
}

}  // namespace

DType product_type(DType a, DType b) {
  if (a == DType::f64 || b == DType::f64) return DType::f64;
  return is_floating(a) ? DType::f32 : DType::i32;
}

MatmulProblem matmul_problem(const View& a, const View& b, const View& y, const Epilogue& epilogue) {
  return matmul_problem(a, {nullptr, b}, y, epilogue);
}

MatmulProblem matmul_problem(const View& a, const RightOperand& right, const View& y, const Epilogue& epilogue) {
  const View& b = right.view;
  // An epilogue gives y any type.
  View sums = y;
  if (epilogue.expression) sums.dtype = product_type(a.dtype, b.dtype);
  check_views("matmul", {&a, &b}, {&sums});
  const std::int64_t m = a.shape()[-2], k = a.shape()[-1], n = b.shape()[-1];
  if (b.shape()[-2] != k) {
    throw InvalidArgument("matmul: a is {} and b is {}; b's second last size should be a's last, {}", to_string(a),
                          to_string(b), k);
  }
  if (y.shape()[-2] != m || y.shape()[-1] != n) {
    throw InvalidArgument("matmul: y is {}, expected [..., {}, {}] for a {} and b {}", to_string(y), m, n, to_string(a),
                          to_string(b));
  }
  const DType product = product_type(a.dtype, b.dtype);
  check_epilogue("matmul", epilogue, product, y);
  for (const View* operand : {&a, &b}) {
    if (overlap(*operand, y)) {
      throw InvalidArgument("matmul: y {} shares memory with {} {}, which it would overwrite while it is read",
                            to_string(y), operand == &a ? "a" : "b", to_string(*operand));
    }
  }

  MatmulProblem p;
  for (int d = 0; d + 2 < y.rank(); ++d) p.batch.push_back(y.shape()[d]);
  p.a = broadcast_batch("a", a, p.batch);
  p.reader = right.reader;
  const auto of_batches = [&](std::string_view name, const View& view, Layout layout) {
    for (int i = 0; i < 2; ++i) layout.shape.push_back(1), layout.strides.push_back(0);
    return broadcast_batch(name, view.with_layout(layout), p.batch);
  };
  if (right.chosen) {
    p.matrices = b.shape()[0], p.matrix = b.strides()[0];
    Layout matrix{{b.shape()[-2], b.shape()[-1]}, {b.strides()[-2], b.strides()[-1]}};
    p.b = broadcast_batch("b", b.with_layout(matrix), p.batch);
    p.chosen = of_batches("chosen", *right.chosen, right.chosen->layout);
  } else {
    p.b = broadcast_batch("b", b, p.batch);
  }
  if (right.ranges) {
    Layout begins = right.ranges->layout;
    p.range_step = begins.strides[-1];
    begins.shape.pop_back(), begins.strides.pop_back();
    p.ranges = of_batches("segments", *right.ranges, begins);
  }
  p.y = y;
  for (const View& operand : epilogue.operands) {
    try {
      p.operands.push_back(operand.broadcast_to(y.shape()));
    } catch (const InvalidArgument&) {
      throw InvalidArgument("matmul: epilogue operand {} does not broadcast to y, {}", to_string(operand),
                            to_string(y));
    }
  }
  p.m = m, p.n = n, p.k = k;
  // A matrix times a vector is also a vector times a matrix.
  const bool vector = n == 1 && m > 1 && p.batch.rank() == 0;
  if (vector || (y.strides()[-1] != 1 && y.strides()[-2] == 1)) {
    p.for_each_view([](View& view) { view = transposed(view); });
    std::swap(p.a, p.b);
    std::swap(p.m, p.n);
    p.reader_is_b = false;
  }
  if (p.y.count() != 0) collapse_batch(p);
  return p;
}

Strides batch_strides(const View& view) {
  Strides s;
  for (int d = 0; d + 2 < view.rank(); ++d) s.push_back(view.strides()[d]);
  return s;
}

std::int64_t MatmulProblem::first_read(std::int64_t index) const {
  const View& view = reader_is_b ? b : a;
  const std::int64_t first = first_element(view);
  if (!chosen) return first + batch_offset(view, batch, index);
  const std::int64_t at = batch_offset(*chosen, batch, index);
  return first + std::clamp<std::int64_t>(integer_at(*chosen, at), 0, matrices - 1) * matrix;
}

View MatmulProblem::all_matrices(const View& one) const {
  return one.with_layout(
      {{matrices, one.shape()[-2], one.shape()[-1]}, {matrix, one.strides()[-2], one.strides()[-1]}});
}

std::optional<View> MatmulProblem::both_ends() const {
  if (!ranges) return std::nullopt;
  Layout layout = ranges->layout;
  layout.shape[-1] = 2, layout.strides[-1] = range_step;
  return ranges->with_layout(layout);
}

MatmulProblem MatmulProblem::of_batch(std::int64_t index) const {
  MatmulProblem p = *this;
  for (int d = batch.rank() - 1; d >= 0; index /= batch[d], --d) p = part(p, d, index % batch[d], 1);
  if (p.chosen) {
    View& from = reader_is_b ? p.b : p.a;
    const std::int64_t which = std::clamp<std::int64_t>(integer_at(*p.chosen, 0), 0, matrices - 1);
    from.offset += static_cast<std::uint64_t>(which * matrix * bits(from.dtype) / 8);
    p.chosen.reset();
  }
  if (p.ranges) {
    const auto bound = [&](std::int64_t at, std::int64_t least) {
      return std::clamp(integer_at(*p.ranges, at), least + k_first, k + k_first) - k_first;
    };
    const std::int64_t begin = bound(0, 0), end = bound(range_step, begin);
    p.ranges.reset();
    p = part(p, batch.rank() + 2, begin, end - begin);
  }
  return p;
}

MatmulProblem part(const MatmulProblem& problem, int d, std::int64_t begin, std::int64_t size) {
  MatmulProblem p = problem;
  const int rank = p.batch.rank(), m = rank, n = rank + 1, k = rank + 2;
  p.for_each_view([&](View& view) {
    const bool is_a = &view == &p.a, is_b = &view == &p.b;
    if ((d == m && is_b) || (d == n && is_a) || (d == k && !is_a && !is_b) || (d >= m && p.selects(view))) return;
    const int axis = d < k ? d : is_a ? rank + 1 : rank;
    Layout layout = view.layout;
    layout.shape[axis] = size;
    // Packed types are excluded before, so offsets are whole bytes.
    const std::int64_t bytes = begin * layout.strides[axis] * bits(view.dtype) / 8;
    view = View(view.buffer, view.offset + static_cast<std::uint64_t>(bytes), view.dtype, layout.shape, layout.strides);
  });
  (d < rank ? p.batch[d] : d == m ? p.m : d == n ? p.n : p.k) = size;
  if (d == k) p.k_first += begin;
  return p;
}

}  // namespace weft::kernels
