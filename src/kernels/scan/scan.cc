// Scans: checks, and the launcher of scan.wgsl. Few long rows are cut into parts, in three passes: the parts' totals, the
// scan of these, the scan of each part from there (reduce, then scan: no thread waits for another's result, since WGSL
// promises no progress to threads that wait).
#include <limits>

#include "kernels/common/memory.h"
#include "kernels/common/rows.h"
#include "kernels/common/windows.h"
#include "kernels/scan/scan_cpu.h"
#include "weft/error.h"
#include "weft/kernels/scan.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kNames[] = {"sum", "prod", "max", "min", "log_sum_exp"};
std::string_view op_name(ScanOp op) { return kNames[static_cast<int>(op)]; }

Rows check(ScanOp op, const View& x, const View& y, int axis) {
  const std::string_view name = op_name(op);
  const auto fail = [&](std::string_view expected) {
    throw InvalidArgument("scan {}: x is {}, y is {}; expected {}", name, to_string(x), to_string(y), expected);
  };
  if (x.shape() != y.shape()) fail("one shape");
  axis = normalize_axis(axis, x.rank(), "scan");
  const bool adds = op == ScanOp::sum || op == ScanOp::prod;
  for (const View* v : {&x, &y}) {
    if (bits(v->dtype) < 8) throw Unsupported("scan {}: {}; cast packed types first", name, to_string(*v));
  }
  switch (info(x.dtype).kind) {
    case DTypeKind::floating:
      if (!is_floating(y.dtype)) fail("y to be floating as x is");
      break;
    case DTypeKind::complex:
      if (!adds || y.dtype != x.dtype) fail("a sum or product of complex numbers");
      break;
    case DTypeKind::boolean:
      if (!adds || !is_integer(y.dtype)) fail("a sum or product of booleans in an integer type");
      break;
    default:
      if (op == ScanOp::log_sum_exp) fail("x to be floating");
      if (adds ? !is_integer(y.dtype) : y.dtype != x.dtype) fail(adds ? "y to be integer" : "y to have x's type");
  }
  AxisMask along{};
  along[axis] = true;
  const std::array<Strides, 2> strides{x.strides(), y.strides()};
  return split_rows(x.shape(), along, strides);
}

// The type of an accumulator, as partials have it.
DType accumulator(ScanOp op, DType y) {
  if (op == ScanOp::log_sum_exp || y == DType::c64) return DType::c64;  // maximum and sum
  if (is_floating(y)) return DType::f32;
  if (bits(y) == 64) return y;
  return is_signed(y) ? DType::i32 : DType::u32;
}

// The bits of what stands for no elements.
std::uint64_t none_bits(ScanOp op, DType y) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const bool floats = is_floating(y) || y == DType::c64;
  if (op == ScanOp::sum || op == ScanOp::prod) {
    const int v = op == ScanOp::prod ? 1 : 0;
    return floats ? std::bit_cast<std::uint32_t>(static_cast<float>(v)) : static_cast<std::uint64_t>(v);
  }
  if (floats) return std::bit_cast<std::uint32_t>(op == ScanOp::max ? -kInf : kInf);
  const std::uint64_t largest = ~std::uint64_t{0} >> (64 - bits(y) + (is_signed(y) ? 1 : 0));
  return op == ScanOp::min ? largest : is_signed(y) ? ~largest : 0;
}

RowPlan plan(const gpu::Capabilities& capabilities, const View& x, const View& y, const Rows& rows) {
  // A thread's four accumulators of at most 8 bytes go through workgroup memory.
  gpu::Capabilities limited = capabilities;
  limited.max_workgroup_size = std::min(limited.max_workgroup_size, limited.max_workgroup_memory / 32);
  return plan_rows(limited, rows,
                   {.along4 = vectorises_along(x, rows, 0) && vectorises_along(y, rows, 1),
                    .across4 = vectorises_across(x, rows, 0) && vectorises_across(y, rows, 1),
                    .across = runs_across(rows, 0)});
}

// Into how many parts, and of how many steps, a row is best cut.
struct Parts {
  std::int64_t count, steps;
};
Parts cut(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlan& plan) {
  const std::int64_t threads = rows.count / (plan.across ? plan.width : 1) * plan.team;
  const std::int64_t round = std::int64_t{plan.team} * 4;
  // A cut costs another reading of x, so only what would leave most of the device idle is cut.
  const std::int64_t enough = capabilities.software ? 16 : 1 << 16;
  const std::int64_t wanted = capabilities.software ? 64 : 1 << 18;
  if (threads >= enough || plan.steps < 8 * round) return {1, plan.steps};
  const std::int64_t parts = std::min(ceil_div(wanted, threads), plan.steps / (4 * round));
  const std::int64_t steps = ceil_div(ceil_div(plan.steps, parts), round) * round;
  return {ceil_div(plan.steps, steps), steps};
}

enum class Stage : std::uint8_t { whole, totals, partials, parts };

void record(Stream& stream, ScanOp op, const View& x, const View& y, const Rows& rows, const RowPlan& plan,
            const Parts& parts, Stage stage, const ScanOptions& options, const std::optional<View>& partial = {}) {
  Call call(*stream.gpu(), "scan");
  call.read("x", x, plan.width);
  if (stage == Stage::totals) call.write("partial", *partial);
  else call.write("y", y, plan.width);
  if (stage == Stage::parts) call.read("partial", *partial);
  add_rows(call, rows, plan, std::array<std::string_view, 2>{"x", "y"});
  const DType acc = accumulator(op, y.dtype);
  const std::uint64_t none = none_bits(op, y.dtype);
  call.set("op", op_name(op))
      .set("acc", compute_type(acc))
      .set("x_kind", compute_type(x.dtype))
      .set("has_sign", is_signed(y.dtype))
      .set("reverse", options.reverse && stage != Stage::partials)
      .set("exclusive", options.exclusive || stage == Stage::partials)
      .set("total", stage == Stage::totals)
      .set("pairs", stage == Stage::partials)
      .set("carry", stage == Stage::parts)
      .index_param("parts", parts.count)
      .index_param("part_steps", parts.steps)
      .param("none_low", static_cast<std::uint32_t>(none))
      .param("none_high", static_cast<std::uint32_t>(none >> 32))
      .dispatch_groups(op_name(op), plan.groups * parts.count);
}

}  // namespace

std::uint64_t scan_workspace(Stream& stream, ScanOp op, const View& x, const View& y, int axis, const ScanOptions&) {
  const Rows rows = check(op, x, y, axis);
  if (!stream.gpu() || x.count() == 0) return 0;
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const Parts parts = cut(capabilities, rows, plan(capabilities, x, y, rows));
  if (parts.count == 1) return 0;
  return byte_size(accumulator(op, y.dtype), static_cast<std::uint64_t>(rows.count * parts.count));
}

void scan(Stream& stream, ScanOp op, const View& x, const View& y, int axis, const ScanOptions& options,
          const std::optional<View>& workspace) {
  const Rows rows = check(op, x, y, axis);
  check_memory(stream, "scan", {x}, {y}, Sharing::same_view, workspace);
  if (x.count() == 0) return;
  if (stream.cpu()) return scan_cpu(*stream.cpu(), op, x, y, rows, options);
  for (const View* v : {&x, &y}) {
    if (v->dtype == DType::f64) throw Unsupported("scan {}: {} runs on the CPU only", op_name(op), to_string(*v));
  }
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  AxisMask others = every_axis();
  others[axis < 0 ? axis + x.rank() : axis] = false;
  if (in_windows(capabilities, op_name(op), std::array{x, y}, others,
                 [&](std::span<const View> part) { scan(stream, op, part[0], part[1], axis, options); })) {
    return;
  }
  const RowPlan whole = plan(capabilities, x, y, rows);
  const Parts parts = cut(capabilities, rows, whole);
  if (!workspace || parts.count == 1) {
    return record(stream, op, x, y, rows, whole, {1, whole.steps}, Stage::whole, options);
  }
  const DType type = accumulator(op, y.dtype);
  const std::uint64_t needed = byte_size(type, static_cast<std::uint64_t>(rows.count * parts.count));
  if (byte_size(workspace->dtype, static_cast<std::uint64_t>(workspace->count())) < needed || !workspace->is_dense()) {
    throw InvalidArgument("scan {}: the workspace is {}; expected {} dense bytes, as scan_workspace() says", op_name(op),
                          to_string(*workspace), needed);
  }
  // The accumulators: for each row, in row-major order, those of its parts.
  const View partial(workspace->buffer, workspace->offset, type, {rows.count, parts.count});
  record(stream, op, x, y, rows, whole, parts, Stage::totals, options, partial);
  AxisMask last{};
  last[1] = true;
  const std::array<Strides, 2> strides{partial.strides(), partial.strides()};
  const Rows of_partials = split_rows(partial.shape(), last, strides);
  const RowPlan small = plan(capabilities, partial, partial, of_partials);
  record(stream, op, partial, partial, of_partials, small, {1, small.steps}, Stage::partials, options);
  record(stream, op, x, y, rows, whole, parts, Stage::parts, options, partial);
}

}  // namespace weft::kernels
