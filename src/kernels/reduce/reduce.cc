#include <cmath>
#include <limits>

#include "kernels/common/rows.h"
#include "kernels/reduce/reduce_cpu.h"
#include "weft/error.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {
namespace {

enum class Takes : std::uint8_t { numbers, floats, anything };

struct OpInfo {
  const char* name;
  Takes takes;
  bool on_64_bits;  // the GPU has it for 64-bit integers
  double start;     // what an accumulator starts with; integers take their range's end for an infinity
};

// In the order of ReduceOp.
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr OpInfo kOps[] = {
    {"sum", Takes::numbers, true, 0},
    {"mean", Takes::floats, false, 0},
    {"prod", Takes::numbers, false, 1},
    {"min", Takes::numbers, true, kInf},
    {"max", Takes::numbers, true, -kInf},
    {"sum_squares", Takes::numbers, false, 0},
    {"l1", Takes::numbers, false, 0},
    {"l2", Takes::floats, false, 0},
    {"log_sum", Takes::floats, false, 0},
    {"log_sum_exp", Takes::floats, false, 0},
    {"any", Takes::anything, true, 0},
    {"all", Takes::anything, true, 1},
};

void check_types(const OpInfo& op, const View& x, const View& y) {
  const auto fail = [&](std::string_view expected) {
    throw InvalidArgument("reduce {}: x is {}, y is {}; expected {}", op.name, to_string(x), to_string(y), expected);
  };
  if (op.takes == Takes::anything) {
    if (y.dtype != DType::boolean) fail("y to be bool");
  } else if (is_floating(x.dtype)) {
    if (!is_floating(y.dtype)) fail("y to be floating as x is");
  } else if (op.takes == Takes::floats) {
    fail("x to be floating");
  } else if (!is_integer(x.dtype)) {
    fail("x to be integer or floating");
  } else if (y.dtype != x.dtype) {
    const bool wider = is_integer(y.dtype) && bits(y.dtype) == 32 && bits(x.dtype) < 32;
    if (!wider || is_signed(x.dtype) != is_signed(y.dtype)) fail("y to have x's type, or the 32-bit one of its kind");
  }
}

struct Reduction {
  Rows rows;         // of x and y
  AxisMask along{};
};

Reduction check(ReduceOp op, const View& x, const View& y, std::span<const int> axes) {
  const OpInfo& info = kOps[static_cast<int>(op)];
  check_types(info, x, y);
  Reduction r;
  for (int axis : axes) {
    axis = normalize_axis(axis, x.rank(), "reduce");
    if (std::exchange(r.along[axis], true)) throw InvalidArgument("reduce {}: axis {} is named twice", info.name, axis);
  }
  Shape kept, with_ones;
  Strides y_strides = Strides::filled(x.rank(), 0);
  for (int d = 0; d < x.rank(); ++d) {
    with_ones.push_back(r.along[d] ? 1 : x.shape()[d]);
    if (!r.along[d]) kept.push_back(x.shape()[d]);
  }
  if (y.shape() != kept && y.shape() != with_ones) {
    throw InvalidArgument("reduce {}: x is {}, y is {}; expected y's shape to be {} or {}", info.name, to_string(x),
                          to_string(y), to_string(kept), to_string(with_ones));
  }
  const bool ones = y.rank() == x.rank();
  for (int d = 0, at = 0; d < x.rank(); ++d) {
    if (!r.along[d]) y_strides[d] = y.strides()[ones ? d : at++];
  }
  const std::array<Strides, 2> strides{x.strides(), y_strides};
  r.rows = split_rows(x.shape(), r.along, strides);
  return r;
}

RowPlan plan(const gpu::Capabilities& capabilities, const View& x, const Rows& rows) {
  return plan_rows(capabilities, rows,
                   {.along4 = vectorises_along(x, rows, 0),
                    .across4 = vectorises_across(x, rows, 0),
                    .across = runs_across(rows, 0)});
}

// Into how many parts, and of how many steps, a row is best cut.
struct Parts {
  std::int64_t count, steps;
};
Parts cut(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan) {
  if (plan.steps == 0) return {1, 0};
  const std::int64_t threads = rows.count / (plan.across ? plan.width : 1) * plan.team;
  const std::int64_t wanted = capabilities.software ? 256 : 1 << 18;
  const std::int64_t least = std::int64_t{plan.team} * 16;  // steps that are worth a part
  const std::int64_t parts = std::clamp<std::int64_t>(wanted / threads, 1, std::max<std::int64_t>(plan.steps / least, 1));
  const std::int64_t steps = ceil_div(ceil_div(plan.steps, parts), plan.team) * plan.team;
  return {ceil_div(plan.steps, steps), steps};
}

std::string_view kind_of(DType type) {
  if (is_floating(type)) return "float";
  if (bits(type) == 64) return is_signed(type) ? "long" : "ulong";
  return is_signed(type) ? "int" : "uint";
}

// The type of an accumulator in the workspace.
DType accumulator(ReduceOp op, DType x) {
  if (op == ReduceOp::log_sum_exp) return DType::c64;  // maximum and sum
  if (op == ReduceOp::any || op == ReduceOp::all) return DType::u32;
  if (is_floating(x)) return DType::f32;
  if (bits(x) == 64) return x;
  return is_signed(x) ? DType::i32 : DType::u32;
}

// The bits with which an accumulator of elements of type `x` starts, as the shader's type has them.
std::uint64_t identity_bits(ReduceOp op, DType x) {
  const double start = kOps[static_cast<int>(op)].start;
  if (op == ReduceOp::any || op == ReduceOp::all) return static_cast<std::uint64_t>(start);
  if (is_floating(x)) return std::bit_cast<std::uint32_t>(static_cast<float>(start));
  const std::uint64_t largest = ~std::uint64_t{0} >> (64 - bits(x) + (is_signed(x) ? 1 : 0));
  if (start == kInf) return largest;
  if (start == -kInf) return is_signed(x) ? ~largest : 0;
  return static_cast<std::uint64_t>(start);
}

// Which end of a cut this call is.
enum class Stage : std::uint8_t { whole, first, second };

void record(Stream& stream, ReduceOp op, const View& x, const View& y, const Rows& rows, const RowPlan& plan,
            const Parts& parts, Stage stage, std::int64_t length) {
  const OpInfo& info = kOps[static_cast<int>(op)];
  const std::string_view kind = kind_of(x.dtype);
  Call call(*stream.gpu(), op == ReduceOp::log_sum_exp ? "log_sum_exp" : "reduce");
  call.read("x", x, plan.width).write("y", y);
  add_rows(call, rows, plan, std::array<std::string_view, 2>{"x", "y"});
  call.set("partial_out", stage == Stage::first).set("partial_in", stage == Stage::second);
  call.index_param("parts", parts.count).index_param("part_steps", parts.steps);
  if (op == ReduceOp::log_sum_exp) {
    call.include("float_rows");
  } else {
    const std::uint64_t identity = identity_bits(op, x.dtype);
    call.set("op", info.name).set("kind", kind);
    call.param("identity_low", static_cast<std::uint32_t>(identity));
    call.param("identity_high", static_cast<std::uint32_t>(identity >> 32));
    call.param("length", static_cast<float>(length));
  }
  call.dispatch_groups(info.name, plan.groups * parts.count);
}

}  // namespace

std::uint64_t reduce_workspace(Stream& stream, ReduceOp op, const View& x, const View& y, std::span<const int> axes) {
  const Reduction r = check(op, x, y, axes);
  if (stream.cpu() || r.rows.count == 0 || r.rows.length == 0) return 0;
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const Parts parts = cut(capabilities, r.rows, plan(capabilities, x, r.rows));
  if (parts.count == 1) return 0;
  return byte_size(accumulator(op, x.dtype), static_cast<std::uint64_t>(r.rows.count * parts.count));
}

void reduce(Stream& stream, ReduceOp op, const View& x, const View& y, std::span<const int> axes,
            const std::optional<View>& workspace) {
  const Reduction r = check(op, x, y, axes);
  const OpInfo& info = kOps[static_cast<int>(op)];
  if (r.rows.count == 0) return;
  if (stream.cpu()) return reduce_cpu(*stream.cpu(), op, x, y, r.rows);
  for (const View* v : {&x, &y}) {
    if (v->dtype == DType::f64 || v->dtype == DType::c64 || (bits(v->dtype) == 64 && !info.on_64_bits)) {
      throw Unsupported("reduce {}: {} runs on the CPU only", info.name, to_string(*v));
    }
  }

  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const RowPlan whole = plan(capabilities, x, r.rows);
  const Parts parts = cut(capabilities, r.rows, whole);
  if (!workspace || parts.count == 1) {
    return record(stream, op, x, y, r.rows, whole, {1, whole.steps}, Stage::whole, r.rows.length);
  }
  const DType type = accumulator(op, x.dtype);
  const std::uint64_t needed = byte_size(type, static_cast<std::uint64_t>(r.rows.count * parts.count));
  if (byte_size(workspace->dtype, static_cast<std::uint64_t>(workspace->count())) < needed || !workspace->is_dense()) {
    throw InvalidArgument("reduce {}: the workspace is {}; expected {} dense bytes, as reduce_workspace() says",
                          info.name, to_string(*workspace), needed);
  }
  // The accumulators: for each row, in row-major order, those of its parts.
  const View partial(workspace->buffer, workspace->offset, type, {r.rows.count, parts.count});
  Rows first = r.rows;
  first.outer.strides[1] = dense_strides(first.outer.shape);
  for (auto& s : first.outer.strides[1]) s *= parts.count;
  record(stream, op, x, partial, first, whole, parts, Stage::first, r.rows.length);

  // y's rows stand where they stood; the partials' are a list.
  Rows second;
  second.count = r.rows.count;
  second.length = parts.count;
  second.outer = {r.rows.outer.shape, {first.outer.strides[1], r.rows.outer.strides[1]}};
  second.inner = {{parts.count}, {{1}, {0}}};
  const bool fours = op != ReduceOp::log_sum_exp && vectorises_along(partial, second, 0);
  const RowPlan last = plan_rows(capabilities, second, {.along4 = fours});
  record(stream, op, partial, y, second, last, {1, last.steps}, Stage::second, r.rows.length);
}

}  // namespace weft::kernels
