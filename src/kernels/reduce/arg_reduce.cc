#include "kernels/common/ordered_key.h"
#include "kernels/reduce/arg_reduce_cpu.h"
#include "kernels/reduce/reduction.h"
#include "kernels/common/memory.h"
#include "weft/error.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kNames[] = {"argmin", "argmax"};

Rows check(ArgOp op, const View& x, const View& y, std::span<const int> axes) {
  const std::string_view name = kNames[static_cast<int>(op)];
  if (!has_order(x.dtype)) throw InvalidArgument("{}: x is {}; expected a type with an order", name, to_string(x));
  if (!is_integer(y.dtype) || bits(y.dtype) < 32) {
    throw InvalidArgument("{}: y is {}; expected an integer of 32 or 64 bits", name, to_string(y));
  }
  Rows rows = reduced_rows(name, x, y, axes);
  if (rows.length == 0 && rows.count > 0) throw InvalidArgument("{}: x is {}; there is nothing to choose from", name, to_string(x));
  return rows;
}

// Accumulators of a part: key and index together, or one after the other.
int slots_of(const View& x) { return bits(x.dtype) == 64 ? 2 : 1; }

void record(Stream& stream, const KeyRule& rule, std::string_view name, const View& x, const View& y, const Rows& rows,
            const RowPlan& plan, const Parts& parts, Stage stage) {
  Call call(*stream.gpu(), "arg_reduce");
  call.read("x", x, plan.width).write("y", y);
  add_rows(call, rows, plan, std::array<std::string_view, 2>{"x", "y"});
  rule.add_to(call);
  call.set("partial_out", stage == Stage::first).set("partial_in", stage == Stage::second);
  call.set("long_result", bits(y.dtype) == 64);
  call.index_param("parts", parts.count).index_param("part_steps", parts.steps);
  call.dispatch_groups(name, plan.groups * parts.count);
}

}  // namespace

std::uint64_t arg_reduce_workspace(Stream& stream, ArgOp op, const View& x, const View& y, std::span<const int> axes) {
  const Rows rows = check(op, x, y, axes);
  if (stream.cpu() || rows.count == 0) return 0;
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const View raw = as_raw(x);
  const Parts parts = cut_rows(capabilities, rows, plan_reduction(capabilities, raw, rows, true));
  if (parts.count == 1) return 0;
  return byte_size(DType::u64, static_cast<std::uint64_t>(rows.count * parts.count * slots_of(x)));
}

void arg_reduce(Stream& stream, ArgOp op, const View& x, const View& y, std::span<const int> axes,
                const std::optional<View>& workspace) {
  const Rows rows = check(op, x, y, axes);
  check_memory(stream, kNames[static_cast<int>(op)], {x}, {y}, Sharing::same_view, workspace);
  if (rows.count == 0) return;
  if (stream.cpu()) return arg_reduce_cpu(*stream.cpu(), op, x, y, rows);

  const std::string_view name = kNames[static_cast<int>(op)];
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  if (in_reduced_windows(capabilities, name, x, y, axes, [&](const View& part, const View& result) {
        arg_reduce(stream, op, part, result, axes);
      })) {
    return;
  }
  // NaN has the greatest key both ways.
  const KeyRule rule(x.dtype, op == ArgOp::min);
  const View raw = as_raw(x);
  const RowPlan plan = plan_reduction(capabilities, raw, rows, workspace.has_value());
  const Parts parts = cut_rows(capabilities, rows, plan);
  if (!workspace || parts.count == 1) {
    return record(stream, rule, name, raw, y, rows, plan, uncut(plan), Stage::whole);
  }
  const int slots = slots_of(x);
  const View partial = partials("arg_reduce", *workspace, DType::u64, rows, parts, slots);
  record(stream, rule, name, raw, partial, to_partials(rows, parts, slots), plan, parts, Stage::first);
  const Rows second = from_partials(rows, parts, slots);
  const RowPlan last = plan_rows(capabilities, second, {});
  record(stream, rule, name, partial, y, second, last, uncut(last), Stage::second);
}

}  // namespace weft::kernels
