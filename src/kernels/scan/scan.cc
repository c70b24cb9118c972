// Scans: checks, and the launchers of scan.wgsl and, for few long rows, scan_split.wgsl: the splits' totals, then the
// scan of each split from those before it. These are two dispatches, since WGSL does not guarantee progress to threads
// that wait for another's result; a scan of many floats is one dispatch, which has a fallback.
#include <limits>

#include "core/format.h"
#include "kernels/check.h"
#include "kernels/common/element_work.h"
#include "kernels/common/memory.h"
#include "kernels/common/split_rows.h"
#include "kernels/plan_cache.h"
#include "kernels/scan/scan.h"
#include "kernels/scan/scan_cpu.h"
#include "kernels/scan/scan_split.h"
#include "weft/error.h"
#include "weft/kernels/scan.h"

namespace weft::kernels {
namespace {

constexpr std::string_view kNames[] = {"sum", "prod", "max", "min", "log_sum_exp"};
std::string_view op_name(ScanKind op) { return kNames[static_cast<int>(op)]; }
Rows check(ScanKind op, const View& x, const View& y, int axis) {
  const std::string_view name = scan_name(op);
  check_views(name, {&x}, {&y});
  if (x.shape() != y.shape()) {
    throw InvalidArgument("{}: x is {}, y is {}; expected one shape", name, to_string(x), to_string(y));
  }
  axis = normalize_axis(axis, x.rank(), name);
  AxisMask along{};
  along[axis] = true;
  const std::array<Strides, 2> strides{x.strides(), y.strides()};
  return rows_along(x.shape(), along, strides);
}

// The type of an accumulator in the partial statistics.
DType accumulator(ScanKind op, DType y) {
  if (op == ScanKind::log_sum_exp || y == DType::c64) return DType::c64;  // maximum and sum
  if (is_floating(y)) return DType::f32;
  if (bits(y) == 64) return y;
  return is_signed(y) ? DType::i32 : DType::u32;
}

// The bits of the accumulator of no elements.
std::uint64_t none_bits(ScanKind op, DType y) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const bool floats = is_floating(y) || y == DType::c64;
  if (op == ScanKind::sum || op == ScanKind::prod) {
    const int v = op == ScanKind::prod ? 1 : 0;
    return floats ? std::bit_cast<std::uint32_t>(static_cast<float>(v)) : static_cast<std::uint64_t>(v);
  }
  if (floats) return std::bit_cast<std::uint32_t>(op == ScanKind::max ? -kInf : kInf);
  const std::uint64_t largest = ~std::uint64_t{0} >> (64 - bits(y) + (is_signed(y) ? 1 : 0));
  return op == ScanKind::min ? largest : is_signed(y) ? ~largest : 0;
}

RowPlanOptions options_of(const View& x, const View& y, const Rows& rows) {
  RowAccesses access = {RowAccess::along, RowAccess::across};
  access.require(RowAccess::along, vectorises_along(x, rows, 0) && vectorises_along(y, rows, 1));
  access.require(RowAccess::across, vectorises_across(x, rows, 0) && vectorises_across(y, rows, 1));
  return {.access = access, .across = runs_across(rows, 0)};
}

// A thread's four accumulators of at most 8 bytes must fit workgroup memory.
gpu::Capabilities limited(const gpu::Capabilities& capabilities) {
  gpu::Capabilities c = capabilities;
  c.max_workgroup_size = std::min(c.max_workgroup_size, c.max_workgroup_memory / 32);
  return c;
}

// x and y, in one chunk or, if a row exceeds a binding, in several, in the order of the scan.
struct Chunk {
  View x, y;
  Rows rows;
};
std::vector<Chunk> chunks_of(ScanKind op, RowChunks pieces, int axis, const ScanOptions& options) {
  std::vector<Chunk> chunks;
  for (const auto& [views, begin] : pieces) {
    chunks.push_back({views[0], views[1], check(op, views[0], views[1], axis)});
  }
  if (options.reverse) std::ranges::reverse(chunks);
  return chunks;
}

std::optional<SplitRows> splits_of(const gpu::Capabilities& capabilities, ScanKind op, std::span<const Chunk> chunks,
                                   std::optional<SplitForm> form = {}) {
  const ChunkRows all =
      rows_of_chunks(chunks, [](const Chunk& c) { return std::pair(c.rows, options_of(c.x, c.y, c.rows)); });
  const View &x = chunks[0].x, &y = chunks[0].y;
  if (!form) {
    // Splits read x a second time, so only rows that would leave most of the device idle are split.
    const RowPlan whole = plan_rows(limited(capabilities), all.rows[0], common_options(all.options));
    const std::int64_t enough = capabilities.software ? 16 : (1 << 16) + 1;
    const std::int64_t threads = all.rows[0].count / (whole.across ? whole.width : 1) * whole.threads_per_row;
    if (chunks.size() == 1 && (threads >= enough || whole.steps < 32 * std::int64_t{whole.threads_per_row})) return {};
    form.emplace();
    if (capabilities.software) *form = {.threads = 64, .register_steps = 16};
    // A tile reads the totals of all tiles before it: larger tiles where there are many.
    else if (whole.steps > std::int64_t{1} << 22 && is_floating(y.dtype))
      *form = {.threads = 256, .register_steps = 16, .look_back = true};
    else if (whole.steps > std::int64_t{1} << 22)
      form->threads = 512;
  }
  form->register_steps = (form->register_steps + 3) / 4 * 4;
  auto splits =
      plan_split_rows(limited(capabilities), all,
                      {.element_bits = bits(x.dtype), .type = accumulator(op, y.dtype), .balances = false}, form);
  if (splits) splits->runs = splits->plan.across, splits->in_order = true;
  return splits;
}

// The scratch for chunks of such rows.
auto scratch_of(const gpu::Capabilities& capabilities, ScanKind op, int axis, const ScanOptions& options) {
  return [&capabilities, op, axis, options](RowChunks pieces) {
    const auto splits = splits_of(capabilities, op, chunks_of(op, pieces, axis, options));
    return splits ? splits->bytes() : 0;
  };
}

Call start(Stream& stream, const char* kernel, ScanKind op, const View& x, const View& y, const Rows& rows,
           const RowPlan& plan, const ScanOptions& options) {
  Call call(*stream.gpu(), kernel);
  call.read("x", x, plan.width).write("y", y, plan.width);
  add_rows(call, rows, plan, std::array<std::string_view, 2>{"x", "y"});
  const std::uint64_t none = none_bits(op, y.dtype);
  call.include("scan_common")
      .set("op", op_name(op))
      .set("acc", compute_type(accumulator(op, y.dtype)))
      .set("x_kind", compute_type(x.dtype))
      .set("has_sign", is_signed(y.dtype))
      .set("reverse", options.reverse)
      .set("exclusive", options.exclusive)
      .param("none_low", static_cast<std::uint32_t>(none))
      .param("none_high", static_cast<std::uint32_t>(none >> 32))
      .cost(work_of(scan_work(op), static_cast<double>(x.count()), nullptr, 0, nullptr));
  return call;
}

void run_split(Stream& stream, ScanKind op, std::span<const Chunk> chunks, const ScanOptions& options,
               const SplitRows& splits) {
  run_split_rows(*stream.gpu(), scan_name(op), splits, [&](std::size_t chunk) {
    const Chunk& w = chunks[chunk];
    Call call = start(stream, "scan_split", op, w.x, w.y, w.rows, splits.plan_of(chunk), options);
    call.set("pairs_of_x", false);
    return call;
  });
}

void run(Stream& stream, ScanKind op, const View& x, const View& y, int axis, const ScanOptions& options) {
  const Rows rows = check(op, x, y, axis);
  check_memory(stream, scan_name(op), {{"x", x}}, {{"y", y}}, Sharing::same_view);
  if (x.count() == 0) return;
  if (stream.cpu()) return scan_cpu(*stream.cpu(), op, x, y, rows, options);
  for (const View* v : {&x, &y}) {
    if (v->dtype != DType::f64) continue;
    throw Unsupported("{}: {} is {}, which runs on the CPU only", scan_name(op), v == &x ? "x" : "y", to_string(*v));
  }
  const gpu::Capabilities& capabilities = stream.gpu()->device().capabilities();
  const auto scratch = scratch_of(capabilities, op, axis, options);
  in_row_chunks(
      capabilities, scan_name(op), std::array{x, y}, mask_of({{axis}}, x.rank()), scratch, [&](RowChunks pieces) {
        const std::vector<Chunk> chunks = chunks_of(op, pieces, axis, options);
        const auto splits = splits_of(capabilities, op, chunks);
        if (splits) return run_split(stream, op, chunks, options, *splits);
        const Chunk& w = chunks[0];
        const RowPlan whole = plan_rows(limited(capabilities), w.rows, options_of(w.x, w.y, w.rows));
        start(stream, "scan", op, w.x, w.y, w.rows, whole, options).dispatch_groups(op_name(op), whole.groups);
      });
}

}  // namespace

void scan(Stream& stream, ScanKind op, const View& x, const View& y, int axis, const ScanOptions& options) {
  call(stream, CallKey("scan", op, axis, options.reverse, options.exclusive), {x, y},
       [&](Stream& s) { run(s, op, x, y, axis, options); });
}

void scan_split_rows(Stream& stream, ScanKind op, const View& x, const View& y, int axis, const ScanOptions& options,
                     const SplitForm& form) {
  call_once(stream, {x, y}, [&](Stream& s) {
    const Chunk chunk{x, y, check(op, x, y, axis)};
    const SplitRows splits = *splits_of(s.gpu()->device().capabilities(), op, std::span(&chunk, 1), form);
    run_split(s, op, std::span(&chunk, 1), options, splits);
  });
}

}  // namespace weft::kernels
