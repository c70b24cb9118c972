// Linear algebra: checks, and the launches of the templates here. Small matrices are a workgroup's. Large ones are
// worked on in blocks, whose updates are matrix products: Cholesky and LU factors by panels of columns, triangular
// systems by halves.
#include <cmath>
#include <functional>
#include <limits>

#include "core/format.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/memory.h"
#include "kernels/linalg/linalg_cpu.h"
#include "kernels/linalg/linalg_products.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/linalg.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {

void subtract_product(Stream& stream, gpu::Commands& commands, const View& a, const View& b, const View& y) {
  Expression e;
  const int product = e.input(is_complex(y) ? DType::c64 : DType::f32), before = e.input(y.dtype);
  e.output(e.apply(ScalarOp::sub, {before, product}));
  if (!is_complex(y)) return matmul(stream, a, b, y, {&e, std::span(&y, 1)});
  GpuScratch scratch(commands);
  const View result = dense(scratch, y.dtype, y.shape());
  matmul(stream, a, b, result);
  const View operands[] = {result, y};
  map(stream, e, operands, std::span(&y, 1));
}

View adjoint(Stream& stream, GpuScratch& scratch, const View& v) {
  if (!is_complex(v)) return transposed(v);
  Expression e;
  e.output(e.apply(ScalarOp::conj, {e.input(v.dtype)}));
  const View result = dense(scratch, v.dtype, v.shape());
  map(stream, e, std::span(&v, 1), std::span(&result, 1));
  return transposed(result);
}

namespace {

// The largest block that fits workgroup memory with as many elements beside each row.
std::int64_t block_size(const gpu::Capabilities& can, const View& a, std::int64_t beside, std::int64_t most) {
  const std::int64_t bytes = is_complex(a) ? 8 : 4;
  std::int64_t n = most;
  while (n > 8 && n * ((n + 1 + beside) * bytes + 4) > can.max_workgroup_memory) n /= 2;
  return n;
}

// Where n > size rows are divided: `size` times the largest power of two below.
std::int64_t half_of(std::int64_t n, std::int64_t size) {
  std::int64_t half = size;
  while (half * 2 < n) half *= 2;
  return half;
}

// ---- Cholesky

struct Factor {
  bool first;        // of the matrix
  std::int64_t row;  // where the block begins
  std::optional<View> inverse;
};

void cholesky_block(gpu::Commands& commands, const View& a, const View& l, const View& info, const Factor& f,
                    std::int64_t size) {
  Call call(commands, "cholesky");
  call.include("linalg_common");
  const bool in_place = is_same(a, l);
  const Batch batch(call, batch_of(l));
  if (in_place) {
    call.read_write("l", l);
  } else {
    call.read("a", a).write("l", l);
    batch.strides("a", a, 2);
  }
  batch.strides("l", l, 2);
  (f.first ? call.write("info", info) : call.read_write("info", info));
  batch.strides("info", info, 0);
  if (f.inverse) call.write("w", *f.inverse);
  const std::int64_t n = l.shape()[-1];
  std::int64_t fitting = 8;
  while (fitting < n) fitting *= 2;
  fitting = std::min(fitting, size);
  const std::uint32_t threads = workgroup_size(call.capabilities(), fitting <= 16 ? 32 : fitting <= 32 ? 64 : 256);
  const std::uint32_t width = fitting <= 16 ? 8 : 16;
  call.set("complex", is_complex(l))
      .set("in_place", in_place)
      .set("inverse", f.inverse.has_value())
      .set("first", f.first);
  call.set("size", std::max(fitting, n)).set("threads", threads).set("width", width);
  call.index_param("n", n).index_param("row", f.row).param("nan", std::numeric_limits<float>::quiet_NaN());
  const double matrices = static_cast<double>(element_count(batch_of(l))), each = static_cast<double>(n);
  const double operations = is_complex(l) ? 4 : 1;
  call.cost({.bytes = 2 * byte_size(l.dtype, static_cast<std::uint64_t>(l.count())),
             .flops = matrices * operations * each * each * each * (f.inverse ? 2.0 / 3 : 1.0 / 3)});
  call.dispatch_groups("cholesky", element_count(batch_of(l)));
}

// Large matrices, by panels of some blocks of columns: what the columns to the left take from a panel is one product,
// and in it what each block takes from the columns behind it another. A block's inverse, by which the rows below it are
// multiplied, comes with its factor.
void large_cholesky(Stream& stream, const View& l, const View& info, std::int64_t size) {
  constexpr std::int64_t kBlocks = 8;
  gpu::Commands& commands = *stream.gpu();
  const std::int64_t n = l.shape()[-1], panel = kBlocks * size;
  // Rows [column, n) of columns [column, end) lose what the columns [first, last) have there.
  const auto update = [&](std::int64_t first, std::int64_t last, std::int64_t column, std::int64_t end) {
    GpuScratch scratch(commands);
    const View left = block(l, column, n - column, first, last - first);
    const View own = block(l, column, end - column, first, last - first);
    subtract_product(stream, commands, left, adjoint(stream, scratch, own),
                     block(l, column, n - column, column, end - column));
  };
  for (std::int64_t column = 0; column < n; column += panel) {
    const std::int64_t end = std::min(column + panel, n);
    if (column > 0) update(0, column, column, end);
    for (std::int64_t k = column; k < end; k += size) {
      const std::int64_t rows = std::min(size, n - k), below = n - k - rows;
      Factor f{.first = k == 0, .row = k, .inverse = {}};
      GpuScratch scratch(commands);
      if (below > 0) {
        Shape shape = batch_of(l);
        shape.push_back(rows);
        shape.push_back(rows);
        f.inverse = dense(scratch, l.dtype, shape);
      }
      const View own = block(l, k, rows, k, rows);
      cholesky_block(commands, own, own, info, f, size);
      if (below == 0) return;
      const View x = block(l, k + rows, below, k, rows), copied = dense(scratch, x.dtype, x.shape());
      copy(stream, x, copied);
      matmul(stream, copied, *f.inverse, x);
      if (k + rows < end) update(k, k + rows, k + rows, end);
    }
  }
}

void cholesky_gpu(Stream& stream, const View& a, const View& l, const View& info) {
  gpu::Commands& commands = *stream.gpu();
  const gpu::Capabilities& can = commands.device().capabilities();
  const std::int64_t n = l.shape()[-1], size = block_size(can, l, 0, 64);
  if (n <= size) return cholesky_block(commands, a, l, info, {.first = true, .row = 0, .inverse = {}}, size);
  if (!is_same(a, l)) copy(stream, a, l);
  large_cholesky(stream, l, info, size);
  triangle(stream, Triangle::lower, l, l);
}

void run(Stream& stream, const View& a, const View& l, const View& info, const CholeskyOptions& options) {
  constexpr std::string_view kName = "cholesky";
  check_views(kName, {&a}, {&l, &info});
  check_matrices(kName, a);
  if (l.shape() != a.shape())
    throw InvalidArgument("{}: l is {}; expected a's shape {}", kName, to_string(l), to_string(a));
  if (info.shape() != batch_of(a)) {
    throw InvalidArgument("{}: info is {}; expected the shape {}", kName, to_string(info), to_string(batch_of(a)));
  }
  check_memory(stream, kName, {{"a", a}}, {{"l", l}, {"info", info}}, Sharing::same_view);
  if (info.count() == 0) return;
  if (a.count() == 0) return fill(stream, 0, info);
  // The transpose of u is the factor of the transpose of a.
  const View from = options.upper ? transposed(a) : a, to = options.upper ? transposed(l) : l;
  if (stream.cpu()) return cholesky_cpu(*stream.cpu(), from, to, info);
  if (a.dtype == DType::f64) throw Unsupported("{}: a is {}, which runs on the CPU only", kName, to_string(a));
  in_batches(stream.gpu()->device().capabilities(), kName, {from, to, info}, info.rank(),
             [&](std::span<const View> v) { cholesky_gpu(stream, v[0], v[1], v[2]); });
}

// ---- LU

// Operands of which each matrix has a list.
void add_list(Call& call, const Batch& batch, const std::string& name, const View& v) {
  batch.strides(name, v, 1);
  call.index_param(name + "_step", v.strides()[-1]);
}

// Each row in a lane's registers.
bool fits_subgroup(const gpu::Capabilities& can, const View& lu) {
  const std::int64_t m = lu.shape()[-2], n = lu.shape()[-1];
  return can.subgroups && can.subgroup_min == can.subgroup_max && m <= std::min<std::int64_t>(can.subgroup_max, 255) &&
         n <= (is_complex(lu) ? 16 : 32);
}

void lu_small(gpu::Commands& commands, const View& a, const View& lu, const View& pivots, const View& order,
              const View& info) {
  const bool by_subgroup = fits_subgroup(commands.device().capabilities(), lu);
  Call call(commands, by_subgroup ? "lu_subgroup" : "lu_small");
  call.include("linalg_common").include("lu_pivot");
  const bool in_place = is_same(a, lu);
  const Batch batch(call, batch_of(lu));
  if (in_place) {
    call.read_write("lu", lu);
  } else {
    call.read("a", a).write("lu", lu);
    batch.strides("a", a, 2);
  }
  batch.strides("lu", lu, 2);
  call.write("pivots", pivots).write("order", order).write("info", info);
  add_list(call, batch, "pivots", pivots);
  add_list(call, batch, "order", order);
  batch.strides("info", info, 0);
  const std::int64_t m = lu.shape()[-2], n = lu.shape()[-1], steps = std::min(m, n);
  const std::uint32_t threads = workgroup_size(call.capabilities(), std::max(m, n) <= 16   ? 32
                                                                    : std::max(m, n) <= 32 ? 64
                                                                                           : 256);
  call.set("complex", is_complex(lu)).set("in_place", in_place).set("rows", m).set("pitch", n | 1);
  if (by_subgroup) {
    call.enable("subgroups").set("columns", n).set("steps", steps).set("lanes", call.capabilities().subgroup_max);
  } else {
    call.set("threads", threads).set("scanners", std::min(threads, 32u)).set("width", std::max(m, n) <= 16 ? 8 : 16);
    call.index_param("m", m).index_param("n", n).index_param("steps", steps);
  }
  const double matrices = static_cast<double>(element_count(batch_of(lu)));
  call.cost({.bytes = 2 * byte_size(lu.dtype, static_cast<std::uint64_t>(lu.count())),
             .flops = matrices * static_cast<double>(m * n * steps) * (is_complex(lu) ? 8.0 / 3 : 2.0 / 3)});
  call.dispatch_groups("lu", element_count(batch_of(lu)));
}

// order[…, i] = i.
void in_order(Stream& stream, const View& order) {
  GpuScratch scratch(*stream.gpu());
  const View first = dense(scratch, DType::i32, {order.shape()[-1]});
  arange(stream, 0, 1, first);
  copy(stream, first.broadcast_to(order.shape()), order);
}

struct Panel {
  std::int64_t first, columns;  // of the matrix
};

void lu_panel(gpu::Commands& commands, const View& panel, const View& lu, const View& pivots, const View& info,
              const Panel& at) {
  const std::int64_t rows = lu.shape()[-2] - at.first;
  // A thread has that many elements in registers, if its rows are not too many.
  const bool software = commands.device().capabilities().software;
  std::uint32_t threads = workgroup_size(commands.device().capabilities(), software ? 64 : 512);
  while (threads > 32 && threads / 2 >= rows) threads /= 2;
  std::int64_t slots = 1;
  while (slots * threads < rows) slots *= 2;
  const std::int64_t width = std::min<std::int64_t>(software ? 4 : 8, (is_complex(lu) ? 32 : 64) / slots);
  const bool in_registers = width > 0;
  Call call(commands, in_registers ? "lu_panel_registers" : "lu_panel");
  call.include("linalg_common").include("lu_pivot").include("lu_panel_common");
  const Batch batch(call, batch_of(lu));
  call.read_write("panel", panel).write("pivots", pivots);
  add_list(call, batch, "pivots", pivots);
  (at.first == 0 ? call.write("info", info) : call.read_write("info", info));
  batch.strides("info", info, 0);
  call.set("complex", is_complex(lu)).set("first", at.first == 0).set("size", at.columns);
  if (in_registers)
    call.set("slots", slots).set("width", width);
  else
    threads = workgroup_size(call.capabilities(), software ? 64 : 1024);
  call.set("threads", threads);
  call.index_param("m", rows).index_param("n", at.columns).index_param("row", at.first);
  const auto elements = static_cast<std::uint64_t>(panel.count());
  call.cost({.bytes = 2 * byte_size(lu.dtype, elements),
             .flops = static_cast<double>(elements) * static_cast<double>(at.columns) * (is_complex(lu) ? 4 : 1)});
  call.dispatch_groups("lu_panel", element_count(batch_of(lu)));
}

void lu_swap(gpu::Commands& commands, const View& lu, const View& pivots, const View& order, const Panel& at) {
  Call call(commands, "lu_swap");
  const Batch batch(call, batch_of(lu));
  call.read("pivots", pivots).read_write("lu", lu).read_write("order", order);
  add_list(call, batch, "pivots", pivots);
  add_list(call, batch, "order", order);
  batch.strides("lu", lu, 2);
  const std::int64_t columns = lu.shape()[-1], steps = pivots.shape()[-1];
  const std::uint32_t threads = workgroup_size(call.capabilities(), 64);
  call.set("threads", threads);
  call.index_param("columns", columns)
      .index_param("row", at.first)
      .index_param("n", at.columns)
      .index_param("steps", steps);
  const std::int64_t all = element_count(batch_of(lu)) * (columns + 1);
  call.cost({.bytes = byte_size(lu.dtype, static_cast<std::uint64_t>(4 * all * steps))});
  call.dispatch_groups("lu_swap", ceil_div(all, threads));
}

void lu_gpu(Stream& stream, const View& a, const View& lu, const View& pivots, const View& order, const View& info) {
  gpu::Commands& commands = *stream.gpu();
  const gpu::Capabilities& can = commands.device().capabilities();
  const std::int64_t m = lu.shape()[-2], n = lu.shape()[-1];
  const std::int64_t bytes = is_complex(lu) ? 8 : 4;
  if (m * (n | 1) * bytes + m * 4 + 256 <= can.max_workgroup_memory)
    return lu_small(commands, a, lu, pivots, order, info);
  if (!is_same(a, lu)) copy(stream, a, lu);
  in_order(stream, order);
  constexpr std::int64_t kColumns = 32;
  const std::int64_t steps = std::min(m, n);
  for (std::int64_t k = 0; k < steps; k += kColumns) {
    const Panel at{k, std::min(kColumns, steps - k)};
    const std::int64_t rows = m - k, right = n - k - at.columns, below = rows - at.columns;
    const View own = slice(pivots, -1, k, k + at.columns);
    const View column = block(lu, k, rows, k, at.columns);
    {
      GpuScratch scratch(commands);
      Shape shape = batch_of(lu);
      shape.push_back(at.columns);
      shape.push_back(rows);
      const View panel = dense(scratch, lu.dtype, shape);
      copy(stream, transposed(column), panel);
      lu_panel(commands, panel, lu, own, info, at);
      copy(stream, panel, transposed(column));
    }
    lu_swap(commands, lu, own, order, at);
    if (right <= 0) continue;
    const View upper = block(lu, k, at.columns, k + at.columns, right);
    triangular_solve(stream, block(lu, k, at.columns, k, at.columns), upper, upper, {.unit = true});
    if (below > 0) {
      subtract_product(stream, commands, block(lu, k + at.columns, below, k, at.columns), upper,
                       block(lu, k + at.columns, below, k + at.columns, right));
    }
  }
}

void run_lu(Stream& stream, const View& a, const View& lu, const View& pivots, const View& order, const View& info) {
  constexpr std::string_view kName = "lu";
  check_views(kName, {&a}, {&lu, &pivots, &order, &info});
  if (a.rank() < 2) throw InvalidArgument("{}: a is {}; expected matrices, [..., m, n]", kName, to_string(a));
  const auto expect = [&](std::string_view operand, const View& v, Shape batch, std::optional<std::int64_t> size) {
    if (size) batch.push_back(*size);
    if (v.shape() != batch) {
      throw InvalidArgument("{}: {} is {}; expected the shape {}, for a {}", kName, operand, to_string(v),
                            to_string(batch), to_string(a));
    }
  };
  if (lu.shape() != a.shape())
    throw InvalidArgument("{}: lu is {}; expected a's shape {}", kName, to_string(lu), to_string(a));
  const std::int64_t m = a.shape()[-2], n = a.shape()[-1];
  expect("pivots", pivots, batch_of(a), std::min(m, n));
  expect("order", order, batch_of(a), m);
  expect("info", info, batch_of(a), {});
  check_memory(stream, kName, {{"a", a}}, {{"lu", lu}, {"pivots", pivots}, {"order", order}, {"info", info}},
               Sharing::same_view);
  if (info.count() == 0) return;
  if (stream.cpu()) return lu_cpu(*stream.cpu(), a, lu, pivots, order, info);
  if (a.dtype == DType::f64) throw Unsupported("{}: a is {}, which runs on the CPU only", kName, to_string(a));
  if (a.count() == 0) {
    if (order.count()) in_order(stream, order);
    return fill(stream, 0, info);
  }
  in_batches(stream.gpu()->device().capabilities(), kName, {a, lu, pivots, order, info}, info.rank(),
             [&](std::span<const View> v) { lu_gpu(stream, v[0], v[1], v[2], v[3], v[4]); });
}

// ---- Triangular systems

struct Triangular {
  bool unit, conjugates;
  std::int64_t size;
};

void solve_block(gpu::Commands& commands, const View& a, const View& b, const View& x, const Triangular& t) {
  Call call(commands, "triangular_solve");
  call.include("linalg_common");
  const bool in_place = is_same(b, x);
  const Batch batch(call, batch_of(x));
  call.read("a", a);
  batch.strides("a", a, 2);
  if (in_place) {
    call.read_write("x", x);
  } else {
    call.read("b", b).write("x", x);
    batch.strides("b", b, 2);
  }
  batch.strides("x", x, 2);
  const std::int64_t n = x.shape()[-2], m = x.shape()[-1];
  const std::int64_t columns = is_complex(x) ? 32 : 64, tiles = ceil_div(m, columns);
  call.set("complex", is_complex(x)).set("in_place", in_place).set("unit", t.unit).set("conjugates", t.conjugates);
  call.set("size", t.size).set("columns", columns);
  call.index_param("n", n).index_param("m", m).index_param("tiles", tiles);
  const auto elements = static_cast<std::uint64_t>(x.count());
  call.cost({.bytes = byte_size(x.dtype, 2 * elements + static_cast<std::uint64_t>(a.count())),
             .flops = static_cast<double>(elements) * static_cast<double>(n) * (is_complex(x) ? 4 : 1)});
  call.dispatch_groups("triangular_solve", element_count(batch_of(x)) * tiles);
}

// By halves: the first one, what it takes from the second, and that.
void solve_lower(Stream& stream, const View& a, const View& b, const View& x, const Triangular& t) {
  gpu::Commands& commands = *stream.gpu();
  const std::int64_t n = x.shape()[-2], m = x.shape()[-1];
  if (n <= t.size) return solve_block(commands, a, b, x, t);
  const std::int64_t half = half_of(n, t.size);
  const View first = block(x, 0, half, 0, m), second = block(x, half, n - half, 0, m);
  solve_lower(stream, block(a, 0, half, 0, half), block(b, 0, half, 0, m), first, t);
  const View rest = block(b, half, n - half, 0, m);
  if (!is_same(rest, second)) copy(stream, rest, second);
  {
    GpuScratch scratch(commands);
    const View below = block(a, half, n - half, 0, half);
    const View factors = t.conjugates && is_complex(a) ? transposed(adjoint(stream, scratch, below)) : below;
    subtract_product(stream, commands, factors, first, second);
  }
  solve_lower(stream, block(a, half, n - half, half, n - half), second, second, t);
}

void run(Stream& stream, const View& a, const View& b, const View& x, const TriangularSolveOptions& options) {
  constexpr std::string_view kName = "triangular_solve";
  check_views(kName, {&a, &b}, {&x});
  check_matrices(kName, a);
  if (b.rank() < 2 || b.shape()[-2] != a.shape()[-1]) {
    throw InvalidArgument("{}: b is {}; expected [..., {}, m], for a {}", kName, to_string(b), a.shape()[-1],
                          to_string(a));
  }
  Shape shape = broadcast(batch_of(a), batch_of(b));
  const Shape batch = shape;
  shape.push_back(b.shape()[-2]);
  shape.push_back(b.shape()[-1]);
  if (x.shape() != shape)
    throw InvalidArgument("{}: x is {}; expected the shape {}", kName, to_string(x), to_string(shape));
  check_memory(stream, kName, {{"a", a}}, {{"x", x}}, Sharing::none);
  check_memory(stream, kName, {{"b", b}}, {{"x", x}}, Sharing::same_view);
  if (x.count() == 0) return;
  Shape square = batch;
  square.push_back(a.shape()[-1]);
  square.push_back(a.shape()[-1]);
  View from = b.broadcast_to(shape), to = x, factors = a.broadcast_to(square);
  if (options.adjoint) factors = transposed(factors);
  const bool upper = options.upper != options.adjoint, conjugates = options.adjoint && is_complex(a);
  if (stream.cpu()) return triangular_solve_cpu(*stream.cpu(), factors, from, to, {upper, options.unit, conjugates});
  // What is upper triangular is lower triangular from its end.
  if (upper) {
    factors = reversed(reversed(factors, -1), -2);
    from = reversed(from, -2);
    to = reversed(to, -2);
  }
  if (a.dtype == DType::f64) throw Unsupported("{}: a is {}, which runs on the CPU only", kName, to_string(a));
  const gpu::Capabilities& can = stream.gpu()->device().capabilities();
  const std::int64_t size = block_size(can, a, is_complex(a) ? 32 : 64, 32);
  in_batches(can, kName, {factors, from, to}, batch.rank(),
             [&](std::span<const View> v) { solve_lower(stream, v[0], v[1], v[2], {options.unit, conjugates, size}); });
}

}  // namespace

void cholesky(Stream& stream, const View& a, const View& l, const View& info, const CholeskyOptions& options) {
  call(stream, CallKey("cholesky", options.upper), {a, l, info}, [&](Stream& s) { run(s, a, l, info, options); });
}

void lu(Stream& stream, const View& a, const View& lu, const View& pivots, const View& order, const View& info) {
  call(stream, CallKey("lu"), {a, lu, pivots, order, info}, [&](Stream& s) { run_lu(s, a, lu, pivots, order, info); });
}

void triangular_solve(Stream& stream, const View& a, const View& b, const View& x,
                      const TriangularSolveOptions& options) {
  call(stream, CallKey("triangular_solve", options.upper, options.adjoint, options.unit), {a, b, x},
       [&](Stream& s) { run(s, a, b, x, options); });
}

}  // namespace weft::kernels
