#include "kernels/reduce/variance.h"

#include "kernels/reduce/reduction.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

void record(gpu::Commands& commands, const ReduceProblem& r, const View& x, const View& y, const Rows& rows,
            const RowPlan& plan, const Parts& parts, Stage stage, std::int64_t part_elements) {
  const char* name = r.op == ReduceOp::deviation ? "deviation" : "variance";
  Call call(commands, "variance");
  call.read("x", x, plan.width).write("y", y);
  add_rows(call, rows, plan, std::array<std::string_view, 2>{"x", "y"});
  call.include("float_rows").include("moments").set("op", name);
  call.set("partial_out", stage == Stage::first).set("partial_in", stage == Stage::second);
  call.index_param("parts", parts.count).index_param("part_steps", parts.steps);
  call.index_param("length", r.rows.length).index_param("part_elements", part_elements);
  call.param("divisor", static_cast<float>(std::max(static_cast<double>(r.rows.length) - r.correction, 0.0)));
  call.dispatch_groups(name, plan.groups * parts.count);
}

}  // namespace

std::uint64_t variance_workspace(Stream& stream, const View& x, const View& y, std::span<const int> axes) {
  const Rows rows = reduced_rows("variance", x, y, axes);
  if (stream.cpu() || rows.count == 0 || rows.length == 0) return 0;
  const gpu::Capabilities& can = stream.gpu()->device().capabilities();
  const Parts parts = cut_rows(can, rows, plan_reduction(can, x, rows, true));
  return parts.count == 1 ? 0 : byte_size(DType::c64, static_cast<std::uint64_t>(rows.count * parts.count));
}

void variance_gpu(gpu::Commands& commands, const ReduceProblem& r, const std::optional<View>& workspace) {
  const View& x = r.inputs[0];
  for (const View* v : {&x, &r.y}) {
    if (v->dtype == DType::f64) throw Unsupported("variance: {} runs on the CPU only", to_string(*v));
  }
  const gpu::Capabilities& can = commands.device().capabilities();
  const RowPlan plan = plan_reduction(can, x, r.rows, workspace.has_value());
  const Parts parts = cut_rows(can, r.rows, plan);
  if (!workspace || parts.count == 1) {
    const RowPlan keeping = plan_reduction(can, x, r.rows, false, true);
    const RowPlan& whole = keeping.kept ? keeping : plan;
    return record(commands, r, x, r.y, r.rows, whole, uncut(whole), Stage::whole, r.rows.length);
  }
  const std::int64_t part_elements = parts.steps * (plan.across ? 1 : plan.width);
  const View partial = partials("reduce", *workspace, DType::c64, r.rows, parts);
  record(commands, r, x, partial, to_partials(r.rows, parts), plan, parts, Stage::first, part_elements);
  const Rows second = from_partials(r.rows, parts);
  const RowPlan last = plan_rows(can, second, {});
  record(commands, r, partial, r.y, second, last, uncut(last), Stage::second, part_elements);
}

}  // namespace weft::kernels
