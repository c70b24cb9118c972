#include "kernels/matmul/matmul.h"

#include "kernels/call.h"
#include "kernels/matmul/epilogue.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// Tile rows that neighbouring workgroups cover before they go to the next tile column.
constexpr int kOrder = 8;

void add_operand(Call& call, std::string_view name, const View& view, bool k_is_last, int width) {
  const int k = k_is_last ? -1 : -2, other = k_is_last ? -2 : -1;
  call.read(name, view, width).strides(name, batch_strides(view));
  call.index_param(std::format("{}_k", name), view.strides()[k]);
  call.index_param(std::format("{}_w", name), view.strides()[other]);
}

// Sums the slices of a split k in `workspace`; without one, the product of an empty k: zeros through the epilogue.
void record_reduce(gpu::Commands& commands, const MatmulProblem& p, const Expression* epilogue, const View* workspace,
                   int slices) {
  Call call(commands, "matmul_reduce");
  const std::uint32_t threads = workgroup_size(call.capabilities(), 128);
  const std::int64_t quads = ceil_div(p.n, 4);
  call.iterate(p.batch);
  const int width = add_outputs(call, p, epilogue, StoreUnit::row_of_four);
  if (workspace) call.read("partial", *workspace, width == 4 && can_vectorise(*workspace) ? 4 : 1);
  call.set("partial_width", width == 4 && workspace && can_vectorise(*workspace) ? 4 : 1);
  call.set("threads", threads).set("slices", workspace != nullptr).set("splits", false);
  call.index_param("m", p.m).index_param("n", p.n).index_param("quads_n", quads);
  call.index_param("count", p.batches() * p.m * quads);
  call.index_param("slices", slices).index_param("slice_stride", p.batches() * p.m * p.n);
  call.dispatch_groups("matmul", ceil_div(p.batches() * p.m * quads, threads));
}

void record(gpu::Commands& commands, const MatmulProblem& p, const Expression* epilogue, const MatmulVariant& v,
            const std::optional<View>& workspace) {
  static constexpr std::string_view kTemplates[] = {"matmul_tile", "matmul_dot", "matmul_direct"};
  Call call(commands, kTemplates[static_cast<int>(v.kind)]);
  LoadForm a = load_form(p.a, true), b = load_form(p.b, false);
  if (v.kind != MatmulKind::tile) {  // these take fours along k only
    if (!a.along_k) a.width = 1;
    if (!b.along_k) b.width = 1;
  }
  if (v.kind == MatmulKind::dot) a.width = b.width = std::min(a.width, b.width);
  const std::int64_t tiles_m = ceil_div(p.m, v.tile_m), tiles_n = ceil_div(p.n, v.tile_n);
  const std::int64_t groups = tiles_m * tiles_n * p.batches() * v.splits;
  call.iterate(p.batch);
  add_operand(call, "a", p.a, true, a.width);
  add_operand(call, "b", p.b, false, b.width);
  call.set("a_width", a.width).set("b_width", b.width).set("threads", v.threads);
  call.set("tile_m", v.tile_m).set("tile_n", v.tile_n);
  if (v.kind != MatmulKind::dot) call.set("thread_m", v.thread_m).set("thread_n", v.thread_n);

  std::optional<View> partial;
  if (v.splits > 1) {
    const std::int64_t count = v.splits * p.batches() * p.m * p.n;
    if (!workspace || workspace->buffer.size() - workspace->offset < static_cast<std::uint64_t>(count) * 4) {
      throw InvalidArgument("matmul: {} needs a workspace of {} bytes, given {}", to_string(v), count * 4,
                            workspace ? to_string(*workspace) : "none");
    }
    partial = View(workspace->buffer, workspace->offset, DType::f32, {count});
    add_partial_outputs(call, p, *partial);
  } else {
    add_outputs(call, p, epilogue, v.kind == MatmulKind::tile ? StoreUnit::row_of_four : StoreUnit::element);
  }
  call.set("splits", v.splits > 1);
  if (v.kind == MatmulKind::tile) {
    const std::int64_t step = v.tile_k * v.slices;
    const std::int64_t slice_k = ceil_div(ceil_div(p.k, v.splits), step) * step;
    call.set("tile_k", v.tile_k).set("double_buffer", v.double_buffer).set("order", kOrder);
    call.set("a_along_k", a.along_k).set("b_along_k", b.along_k);
    call.set("edge_k", p.k % step != 0 || slice_k * (v.splits - 1) >= p.k).set("slices", v.slices);
    if (v.splits > 1) call.index_param("slice_k", slice_k).index_param("batches", p.batches());
  }
  call.index_param("m", p.m).index_param("n", p.n).index_param("k", p.k);
  call.index_param("tiles_m", tiles_m).index_param("tiles_n", tiles_n).index_param("groups", groups);
  call.dispatch_groups("matmul", groups);
  if (partial) record_reduce(commands, p, epilogue, &*partial, v.splits);
}

// The dimension to halve so that every operand fits a binding; -1 if all fit.
int dimension_to_halve(const MatmulProblem& problem, const gpu::Capabilities& capabilities) {
  // A window may start up to an alignment before its operand.
  const std::int64_t limit = static_cast<std::int64_t>(capabilities.max_binding - capabilities.storage_alignment);
  int result = -1;
  MatmulProblem p = problem;
  p.for_each_view([&](View& view) {
    const auto [low, high] = view.layout.offset_range();
    if (result >= 0 || (high + 1 - low) * bits(view.dtype) / 8 <= limit) return;
    const int rank = p.batch.rank();
    std::int64_t longest = 0;
    for (int d = 0; d < rank + 2; ++d) {
      if ((&view == &p.a && d == rank + 1) || (&view == &p.b && d == rank)) continue;  // k
      const std::int64_t stride = view.strides()[d];
      const std::int64_t length = (stride < 0 ? -stride : stride) * (view.shape()[d] - 1);
      if (length > longest) longest = length, result = d;
    }
    if (result < 0) {
      throw Unsupported("matmul: {} is longer along k than this device's bindings of {} bytes", to_string(view),
                        capabilities.max_binding);
    }
  });
  return result;
}

template <class F>
void in_parts(const MatmulProblem& p, const gpu::Capabilities& capabilities, F&& f) {
  const int d = dimension_to_halve(p, capabilities);
  if (d < 0) return f(p);
  const int rank = p.batch.rank();
  const std::int64_t size = d < rank ? p.batch[d] : d == rank ? p.m : p.n;
  // Parts start at multiples of 64, so that they vectorise and tile as the whole does.
  const std::int64_t unit = d < rank || size < 128 ? 1 : 64;
  const std::int64_t half = ceil_div(size / 2, unit) * unit;
  in_parts(part(p, d, 0, half), capabilities, f);
  in_parts(part(p, d, half, size - half), capabilities, f);
}

void record_all(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
                const MatmulVariant* variant, const std::optional<View>& workspace) {
  if (problem.y.count() == 0) return;
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  if (problem.k == 0) return record_reduce(commands, problem, epilogue, nullptr, 0);
  const std::uint64_t bytes = workspace ? workspace->buffer.size() - workspace->offset : 0;
  in_parts(problem, capabilities, [&](const MatmulProblem& p) {
    record(commands, p, epilogue, variant ? *variant : choose_variant(p, capabilities, bytes), workspace);
  });
}

}  // namespace

void matmul_by(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
               const MatmulVariant& variant, const std::optional<View>& workspace) {
  if (!can_run(variant, problem, commands.device().capabilities())) {
    throw Unsupported("matmul: this device or these operands cannot take {}", to_string(variant));
  }
  record_all(commands, problem, epilogue, &variant, workspace);
}

void matmul(Stream& stream, const View& a, const View& b, const View& y, const Epilogue& epilogue,
            const std::optional<View>& workspace) {
  const MatmulProblem problem = matmul_problem(a, b, y, epilogue);
  if (problem.y.count() == 0) return;
  if (gpu::Commands* commands = stream.gpu()) {
    record_all(*commands, problem, epilogue.expression, nullptr, workspace);
  } else {
    matmul_cpu(*stream.cpu(), problem, epilogue.expression);
  }
}

std::uint64_t matmul_workspace(Stream& stream, const View& a, const View& b, const View& y) {
  gpu::Commands* commands = stream.gpu();
  if (!commands) return 0;
  // The epilogue that the call will have decides y's type, not the form.
  Expression any;
  any.output(any.cast(any.input(DType::f32), y.dtype));
  const MatmulProblem problem = matmul_problem(a, b, y, {&any, {}});
  if (problem.y.count() == 0 || problem.k == 0) return 0;
  return workspace_bytes(choose_variant(problem, commands->device().capabilities(), ~std::uint64_t{0}), problem);
}

}  // namespace weft::kernels
