#include "kernels/matmul/matmul.h"

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/index/selection.h"
#include "kernels/matmul/epilogue.h"
#include "kernels/matmul/self_test.h"
#include "kernels/plan_cache.h"
#include "weft/error.h"
#include "weft/kernels/pad.h"

namespace weft::kernels {
namespace {

// Tile rows that consecutive workgroups cover before they move to the next tile column.
constexpr int kRowsPerBand = 8, kSubgroupMatrixRows = 16;

// Integers that tell batches apart.
void add_indices(Call& call, const View& all, const View& of_batches) {
  call.include("index").set("index_kind", index_kind(all.dtype));
  call.read("indices", all).strides("indices", batch_strides(of_batches));
}

void add_operand(Call& call, std::string_view name, const MatmulProblem& p, const View& view, bool k_is_last, int width,
                 const ReadForm* read) {
  const bool chosen = p.is_chosen_from(view);
  const View all = chosen ? p.all_matrices(view) : view;
  if (read) {
    p.reader->add(call, name, all, *read);
    // Loads of more than four elements count in units of them, from where a binding would begin.
    if (width > 4) call.index_param(str_cat(name, "_o"), 0);
  } else if (width > 4) {
    call.raw(name, all, "vec4<u32>", 16, gpu::Access::read);
  } else {
    call.read(name, all, width);
  }
  if (chosen) {
    call.include("matmul_chosen");
    if (!read) call.set("operand", name);
    add_indices(call, *p.chosen, *p.chosen);
    call.index_param("matrices", p.matrices).index_param("matrix", p.matrix);
  } else {
    call.strides(name, batch_strides(view));
  }
  call.index_param(str_cat(name, "_k"), view.strides()[k_is_last ? -1 : -2]);
  call.index_param(str_cat(name, "_w"), view.strides()[k_is_last ? -2 : -1]);
}

// The part of k that each batch sums; `shared`: a workgroup loops over it, with barriers.
void add_ranges(Call& call, const MatmulProblem& p, bool shared) {
  if (!p.ranges) return;
  call.include("matmul_range").set("shared_range", shared);
  add_indices(call, *p.both_ends(), *p.ranges);
  call.index_param("range_step", p.range_step).index_param("k_first", p.k_first);
}

std::string_view why(const MatmulVariant& v, const gpu::Capabilities& capabilities) {
  switch (v.kind) {
    case MatmulKind::tile:
      return "the largest tile that still gives every core work";
    case MatmulKind::subgroup_matrix:
      return "cooperative matrices, whose self-test passed";
    case MatmulKind::gemv_k:
      return "few rows, few columns or little work: lanes split k";
    case MatmulKind::gemv_n:
      return "few rows, and b's rows are contiguous";
    case MatmulKind::read_gemv:
      return "few rows, and b's rows are read in runs";
    case MatmulKind::direct:
      break;
  }
  return capabilities.software ? "a software device: no workgroup memory" : "asked for";
}

// Sums the slices of a split k in `partial`; without it, the product for an empty k: zeros through the epilogue.
void record_reduce(gpu::Commands& commands, const MatmulProblem& p, const Expression* epilogue, const View* partial,
                   int slices) {
  Call call(commands, "matmul_reduce");
  const std::uint32_t threads = workgroup_size(call.capabilities(), 128);
  const std::int64_t quads = ceil_div(p.n, 4);
  call.iterate(p.batch);
  const int width = add_outputs(call, p, epilogue, StoreUnit::row_of_four);
  if (partial) call.read("partial", *partial, width == 4 && can_vectorise(*partial) ? 4 : 1);
  call.set("partial_width", width == 4 && partial && can_vectorise(*partial) ? 4 : 1);
  call.set("threads", threads).set("slices", partial != nullptr).set("splits", false);
  call.set("product", compute_type(p.sum_type())).set("padded", "");
  call.index_param("m", p.m).index_param("n", p.n).index_param("quads_n", quads);
  call.index_param("count", p.batches() * p.m * quads);
  call.index_param("slices", slices).index_param("slice_stride", p.products());
  call.variant("reduce", partial ? "adds the parts of k" : "k is empty");
  call.dispatch_groups("matmul", ceil_div(p.batches() * p.m * quads, threads));
}

// 8-bit operands that are contiguous along k, as words of four for dot4I8Packed and dot4U8Packed; nothing if the device
// does not support these, or the operands have other layouts.
std::optional<MatmulProblem> in_words(const gpu::Capabilities& capabilities, const MatmulProblem& problem) {
  const DType type = problem.a.dtype;
  if (problem.windows || problem.reader || problem.chosen || problem.ranges) return std::nullopt;
  if (!capabilities.packed_dot || bits(type) != 8 || is_floating(type)) return std::nullopt;
  if (problem.b.dtype != type || problem.k % 4 != 0) return std::nullopt;
  MatmulProblem p = problem;
  p.k /= 4;
  for (View* view : {&p.a, &p.b}) {
    const int along_k = view->rank() - (view == &p.a ? 1 : 2);
    Layout layout = view->layout;
    if (layout.strides[along_k] != 1 || view->offset % 4 != 0 || view->buffer == p.y.buffer) return std::nullopt;
    for (int d = 0; d < view->rank(); ++d) {
      if (d == along_k) continue;
      if (layout.shape[d] != 1 && layout.strides[d] % 4 != 0) return std::nullopt;
      layout.strides[d] /= 4;
    }
    layout.shape[along_k] /= 4;
    *view = View(view->buffer, view->offset, DType::u32, layout.shape, layout.strides);
  }
  return p;
}

// `sums`: receives the product's sums, dense, in place of y.
void record(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue, const MatmulVariant& v,
            const std::optional<View>& sums = {}) {
  GpuScratch scratch(commands);
  static constexpr std::string_view kTemplates[] = {
      "matmul_tile", "matmul_gemv_k", "matmul_direct", "matmul_subgroup_matrix", "matmul_gemv_n", "matmul_read_gemv"};
  const bool reads_b = problem.reader && problem.reader_is_b, reads_a = problem.reader && !problem.reader_is_b;
  const bool runs = v.kind == MatmulKind::read_gemv;
  Call call(commands, kTemplates[static_cast<int>(v.kind)]);
  const bool subgroup_matrix = v.kind == MatmulKind::subgroup_matrix, gemv_n = v.kind == MatmulKind::gemv_n;
  const bool tiles = subgroup_matrix || gemv_n || v.kind == MatmulKind::tile;
  // The direct form is for CPUs, which multiply bytes more slowly this way (llvmpipe: half the rate).
  const bool by_words = v.kind == MatmulKind::tile || v.kind == MatmulKind::gemv_k;
  const std::optional<MatmulProblem> words = by_words ? in_words(call.capabilities(), problem) : std::nullopt;
  const MatmulProblem& p = words ? *words : problem;
  const int wide = subgroup_matrix ? matrix_load_width(p.a.dtype) : 4;
  LoadForm a = form_of_a(p, wide), b = form_of_b(p, wide);
  if (!tiles) {  // the other kinds load four elements along k only
    if (!a.along_k) a.width = 1;
    if (!b.along_k) b.width = 1;
  }
  if (gemv_n) {
    a.width = 1;
    if (b.along_k) b.width = 1;
  }
  if (p.ranges) {  // which begin and end anywhere
    if (a.along_k) a.width = 1;
    if (b.along_k) b.width = 1;
  }
  if (v.kind == MatmulKind::gemv_k) {
    a.width = b.width = std::min(a.width, b.width);
    const bool half = !p.reader && (p.b.dtype == DType::f16 || p.b.dtype == DType::bf16);
    const LoadForm wider = form_of_b(p, 8);
    if (half && a.width == 4 && wider.along_k && wider.width == 8 && !(p.b.buffer == p.y.buffer)) {
      b.width = 8;
    }
    call.set("b_type", b.width == 8 ? name(p.b.dtype) : std::string_view());
  }
  const std::int64_t tiles_m = ceil_div(p.m, v.tile_m), tiles_n = ceil_div(p.n, v.tile_n);
  const std::int64_t groups = tiles_m * tiles_n * p.batches() * v.splits;
  call.iterate(p.batch);
  for (const bool is_b : {false, true}) {
    const std::string_view name = is_b ? "b" : "a";
    const int width = is_b ? b.width : a.width;
    const ReadForm form{runs, runs && p.a.dtype != DType::f32};
    if (p.reads_windows() && p.windows_are_b == is_b)
      p.windows->add(call, name, width);
    else
      add_operand(call, name, p, is_b ? p.b : p.a, !is_b, width, (is_b ? reads_b : reads_a) ? &form : nullptr);
  }
  add_ranges(call, p, tiles);
  const bool direct = v.kind == MatmulKind::direct;
  if (tiles || direct) call.set("ranged", p.ranges.has_value());
  // (Integers have no NaN.)
  const bool padded = p.windows && p.windows->padded() && p.sum_type() == DType::f32;
  const std::string_view of_windows = p.windows_are_b ? "b" : "a";
  if (padded && !p.reads_windows()) p.windows->add_places(call, of_windows);
  call.set("window", p.reads_windows() ? of_windows : "").set("padded", padded ? of_windows : "");
  call.set("product", compute_type(p.sum_type()));
  call.set("a_width", a.width).set("b_width", b.width);
  if (v.kind != MatmulKind::tile) call.set("threads", v.threads);
  if (!direct) call.set("tile_m", v.tile_m).set("tile_n", v.tile_n);
  if (by_words) call.set("packed", !words ? "" : problem.a.dtype == DType::i8 ? "dot4I8Packed" : "dot4U8Packed");
  if (direct || v.kind == MatmulKind::tile) call.set("thread_m", v.thread_m).set("thread_n", v.thread_n);
  if (runs) call.set("tile_k", v.tile_k).set("slices", v.slices);

  std::optional<View> partial = sums;
  if (v.splits > 1) {
    const View memory = scratch.take(p.sums_bytes(v.splits));
    partial = View(memory.buffer, memory.offset, p.sum_type(), {v.splits * p.products()});
  }
  const StoreUnit unit = tiles ? StoreUnit::row_of_four : StoreUnit::element;
  if (partial)
    add_partial_outputs(call, p, *partial, unit);
  else
    add_outputs(call, p, epilogue, unit);
  call.set("splits", v.splits > 1);
  if (tiles) {
    const std::int64_t step = v.tile_k * v.slices;
    const int stages = subgroup_matrix ? v.stages(a, b) : 1;
    const std::int64_t slice_k = ceil_div(ceil_div(p.k, v.splits), step * stages) * step * stages;
    call.include("matmul_layout").set("rows_per_band", subgroup_matrix ? kSubgroupMatrixRows : kRowsPerBand);
    call.set("a_along_k", a.along_k).set("b_along_k", b.along_k);
    const bool edge_k = p.ranges || p.k % (step * stages) != 0 || slice_k * (v.splits - 1) >= p.k;
    if (!gemv_n) {
      call.set("tile_k", v.tile_k).set("edge_k", edge_k);
      const std::int64_t depth = subgroup_matrix ? v.tile_k * stages : v.tile_k;
      call.set("whole_taps", p.reads_windows() && p.windows->run() % depth == 0 && !(subgroup_matrix && edge_k));
      call.set("sites", v.results(a, b));
    }
    if (subgroup_matrix) {
      call.set("read", reads_b ? "b" : reads_a ? "a" : "");
      call.include("store_f16").enable("f16").enable("subgroups").enable("chromium_experimental_subgroup_matrix");
      call.set("columns", v.result_columns()).set("slots", v.result_slots(a.along_k, b.along_k));
      const int prefetch_stagger = a.along_k || b.along_k ? v.prefetch_stagger : 0;  // costs 2 % if neither is
      call.set("prefetch_stagger", prefetch_stagger).set("stages", stages);
      // Measured on an H200: loads between the products gain 1 to 4 % if both operands are contiguous along the same
      // dimension, and cost as much if they are not and there is no prefetch_stagger; if both operands are contiguous
      // along k, other numbers of shares than three cost 10 %.
      call.set("spread", prefetch_stagger > 0 || a.along_k == b.along_k);
      call.set("shares", stages == 2 && a.along_k && b.along_k ? 3 : v.thread_m / static_cast<int>(v.unit.m));
      call.set("a_edge", p.m % v.tile_m != 0).set("b_edge", p.n % v.tile_n != 0);
      call.set("inside", p.m % v.tile_m == 0 && p.n % v.tile_n == 0);
      call.set("type", name(v.unit.operand))
          .set("sum", compute_type(v.unit.result))
          .set("sub_m", v.thread_m)
          .set("sub_n", v.thread_n);
      call.set("unit_m", v.unit.m).set("unit_n", v.unit.n).set("unit_k", v.unit.k);
    } else if (!gemv_n) {
      call.set("double_buffer", v.double_buffer).set("slices", v.slices);
    }
    if (v.splits > 1) call.index_param("slice_k", slice_k).index_param("batches", p.batches());
  } else {
    call.include("matmul_sums");
    if (v.kind == MatmulKind::gemv_k) call.include("matmul_gemv_sums");
  }
  call.index_param("m", p.m).index_param("n", p.n).index_param("k", p.k);
  call.index_param("tiles_m", tiles_m).index_param("tiles_n", tiles_n).index_param("groups", groups);
  const double products = static_cast<double>(p.products());
  const bool ends = epilogue && !partial;
  call.cost({.flops = products * (2.0 * static_cast<double>(problem.k) + (ends ? epilogue->operation_count() : 0)),
             .functions = ends ? products * epilogue->cost() : 0,
             .arithmetic = subgroup_matrix           ? Arithmetic::matrix
                           : p.a.dtype == DType::f16 ? Arithmetic::f16
                                                     : Arithmetic::f32});
  call.variant(to_string(v), why(v, call.capabilities()));
  call.dispatch_groups("matmul", groups);
  if (v.splits > 1) record_reduce(commands, p, epilogue, &*partial, v.splits);
}

// `bytes` rounded up to where the next buffer in scratch may begin.
std::uint64_t to_lines(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

// A product whose operands are all loaded several elements at a time: operands that do not allow it are first copied to
// rows that begin at multiples of a load and are padded with zeros.
struct AlignedProblem {
  MatmulProblem problem;
  std::vector<std::pair<View, View>> copies;  // from, to
  std::uint64_t bytes = 0;                    // of the copies
};

// Makes `p` such a product for kernels of that kind, with the copies at `offset` of `memory`.
AlignedProblem align(const MatmulProblem& p, MatmulKind kind, const Buffer& memory, std::uint64_t offset) {
  AlignedProblem result{.problem = p};
  for (View* view : {&result.problem.a, &result.problem.b}) {
    const int width = kind == MatmulKind::subgroup_matrix ? matrix_load_width(view->dtype) : 4, last = view->rank() - 1;
    const bool is_a = view == &result.problem.a;
    const LoadForm form = load_form(*view, is_a, width);
    if (form.width > 1 || bits(view->dtype) > 32) continue;
    View from = *view;
    // Copies keep the operand's faster axis contiguous; broadcast batches are copied once.
    if (form.along_k != is_a) {
      std::swap(from.layout.shape[last], from.layout.shape[last - 1]);
      std::swap(from.layout.strides[last], from.layout.strides[last - 1]);
    }
    for (int d = 0; d + 2 < from.rank(); ++d) {
      if (from.strides()[d] == 0) from.layout.shape[d] = 1;
    }
    View to;
    to.dtype = from.dtype;
    Shape rows = from.shape();
    rows[last] = ceil_div(rows[last], width) * width;
    to.layout = Layout::dense(rows);
    to.buffer = memory;
    to.offset = offset + result.bytes;
    result.bytes += to_lines(byte_size(to.dtype, static_cast<std::uint64_t>(to.count())));
    result.copies.emplace_back(from, to);
    for (int d = 0; d + 2 < to.rank(); ++d) {
      if (view->shape()[d] != to.shape()[d]) to.layout.shape[d] = view->shape()[d], to.layout.strides[d] = 0;
    }
    if (form.along_k != is_a) {
      std::swap(to.layout.shape[last], to.layout.shape[last - 1]);
      std::swap(to.layout.strides[last], to.layout.strides[last - 1]);
    }
    *view = to;
  }
  return result;
}

// The aligned product, with placeholder memory, if there is something to copy and the copies pay.
std::optional<AlignedProblem> worth_aligning(const MatmulProblem& p, const gpu::Capabilities& capabilities) {
  // Measured on an H200: loads of single elements give a tenth of the rate of cooperative matrices, and four fifths of
  // that of f32 tiles; copies take about 3 µs each.
  const double flops = 2 * static_cast<double>(p.products()) * static_cast<double>(p.k);
  if (capabilities.software || p.reader || p.chosen || p.ranges) return std::nullopt;
  if (p.m < 32 || p.n < 32 || p.k < 32) return std::nullopt;
  for (const auto& [kind, worth] : {std::pair(MatmulKind::subgroup_matrix, 1e8), {MatmulKind::tile, 2e10}}) {
    if (flops < worth) break;
    AlignedProblem result = align(p, kind, placeholder_memory(), 0);
    if (result.copies.empty()) break;  // what is aligned for matrices is for tiles too
    if (choose_variant(result.problem, capabilities, 0).kind != kind) continue;
    if (result.bytes > chunk_limit(capabilities)) break;
    return result;
  }
  return std::nullopt;
}

// Records the product by that variant, which must not split k: sums and copies would share a buffer.
void record_aligned(gpu::Commands& commands, const MatmulProblem& p, const Expression* epilogue, const MatmulVariant& v,
                    std::uint64_t bytes) {
  GpuScratch scratch(commands);
  const View memory = scratch.take(bytes);
  const AlignedProblem all = align(p, v.kind, memory.buffer, memory.offset);
  for (const auto& [from, to] : all.copies) {
    pad(commands, from, to, std::vector<std::int64_t>(static_cast<std::size_t>(from.rank())));
  }
  record(commands, all.problem, epilogue, v);
}

// From so many rows of a on it pays to decode what is read of b into scratch first: measured on an H100, 2,048 rows
// with quantised weights take 1.1 times as long as with weights of f16 then, 1.3 to 2 times if they are decoded as they
// are read.
constexpr std::int64_t kDecodedRows = 512;
constexpr std::uint64_t kDecodedBytes = 64 << 20;

// So many columns of b, a multiple of 64, are decoded at a time; 0: none.
std::int64_t decoded_columns(const MatmulProblem& p, const gpu::Capabilities& capabilities) {
  if (!p.reader || !p.reader_is_b || p.chosen || p.batches() != 1 || p.m < kDecodedRows) return 0;
  if (p.a.dtype != DType::f16 || !matrix_unit(capabilities, DType::f16)) return 0;
  if (p.b.strides()[-1] != 1 && p.b.strides()[-2] != 1) return 0;
  const std::uint64_t bytes = std::min(kDecodedBytes, chunk_limit(capabilities));
  return static_cast<std::int64_t>(bytes) / (2 * p.k) / 64 * 64;
}

// Records the product by parts of its columns whose operand b fits scratch as f16.
template <class Choose>
void record_decoded(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
                    std::int64_t most, const Choose& choose) {
  const int rank = problem.batch.rank();
  for (std::int64_t n = 0; n < problem.n; n += most) {
    MatmulProblem p = part(problem, rank + 1, n, std::min(most, problem.n - n));
    GpuScratch scratch(commands);
    const std::int64_t down = p.b.strides()[-2], across = p.b.strides()[-1];
    const bool along_k = down == 1;
    View rows = p.b;
    rows.layout = along_k ? Layout{{p.n, p.k}, {across, down}} : Layout{{p.k, p.n}, {down, across}};
    const View memory = scratch.take(static_cast<std::uint64_t>(p.k * p.n) * 2);
    const View decoded(memory.buffer, memory.offset, DType::f16, rows.shape());
    p.reader->decode(commands, rows, decoded);
    const View as_b = along_k ? decoded.permuted(std::array{1, 0}) : decoded;
    p.reader = nullptr;
    p.b.buffer = as_b.buffer, p.b.offset = as_b.offset, p.b.dtype = DType::f16;
    for (const int d : {-2, -1}) p.b.layout.strides[p.b.rank() + d] = as_b.strides()[d];
    record(commands, p, epilogue, choose(p, 0));
  }
}

// Bytes from a view's first to its last element, or those that are read for them.
std::uint64_t span_of(const MatmulProblem& p, const View& view) {
  const View all = p.is_chosen_from(view) ? p.all_matrices(view) : view;
  const bool read = p.reader && &view == (p.reader_is_b ? &p.b : &p.a);
  return read ? p.reader->bytes(all) : span_bytes(all);
}

// The length of k's chunks: all of k, unless an operand exceeds a binding and spans more than half of one along k.
std::int64_t window_of_k(const MatmulProblem& problem, const gpu::Capabilities& capabilities) {
  std::int64_t chunk = problem.k;
  for (const View* view : {&problem.a, &problem.b}) {
    if (problem.reader && view == (problem.reader_is_b ? &problem.b : &problem.a)) {
      // Only rows of what is stored make it shorter.
      const bool rows_along_k = view->strides()[view == &problem.a ? -1 : -2] != 1;
      // Of one matrix: batches are cut by themselves.
      MatmulProblem one = problem;
      for (int d = 0; d < problem.batch.rank(); ++d) one = part(one, d, 0, 1);
      const auto bytes = [&] {
        const MatmulProblem p = part(one, one.batch.rank() + 2, 0, chunk);
        return span_of(p, p.reader_is_b ? p.b : p.a);
      };
      while (rows_along_k && chunk > 1 && bytes() > chunk_limit(capabilities)) chunk = first_half(chunk);
      continue;
    }
    if (span_bytes(*view) <= chunk_limit(capabilities)) continue;
    const std::int64_t stride = std::abs(view->strides()[view == &problem.a ? -1 : -2]);
    const auto half = static_cast<std::int64_t>(chunk_limit(capabilities) / 2) * 8 / bits(view->dtype);
    while (chunk > 1 && stride * (chunk - 1) + 1 > half) chunk = first_half(chunk);
  }
  return chunk;
}

// The dimension to halve so that every operand, and the sums of `chunks` chunks, fit a binding; -1 if all fit.
int dimension_to_halve(const MatmulProblem& problem, std::int64_t chunk, std::int64_t chunks,
                       const gpu::Capabilities& capabilities) {
  const int rank = problem.batch.rank();
  MatmulProblem p = chunk < problem.k ? part(problem, rank + 2, 0, chunk) : problem;
  int result = -1;
  std::int64_t longest = 0;
  if (chunks > 1 && p.sums_bytes(chunks) > chunk_limit(capabilities)) {
    for (int d = 0; d < rank + 2; ++d) {
      const std::int64_t size = p.y.shape()[d];
      if (size > 1 && size > longest) longest = size, result = d;
    }
  }
  p.for_each_view([&](View& view) {
    if (result >= 0 || span_of(p, view) <= chunk_limit(capabilities)) return;
    for (int d = 0; d < rank + 2; ++d) {
      if ((&view == &p.a && d == rank + 1) || (&view == &p.b && d == rank)) continue;  // k
      const std::int64_t reach = std::abs(view.strides()[d]) * (view.shape()[d] - 1);
      if (reach > longest) longest = reach, result = d;
    }
  });
  return result;
}

// Calls f with parts of the product whose operands fit bindings if k is processed in chunks of length `chunk`.
template <class F>
void in_parts(const MatmulProblem& p, std::int64_t chunk, const gpu::Capabilities& capabilities, F&& f) {
  const int d = dimension_to_halve(p, chunk, ceil_div(p.k, chunk), capabilities);
  if (d < 0) return f(p);
  const int rank = p.batch.rank();
  const std::int64_t size = d < rank ? p.batch[d] : d == rank ? p.m : p.n;
  // Parts start at multiples of 64, so that they vectorise and tile like the whole product.
  const std::int64_t unit = d < rank || size < 128 ? 1 : 64;
  const std::int64_t half = ceil_div(size / 2, unit) * unit;
  in_parts(part(p, d, 0, half), chunk, capabilities, f);
  in_parts(part(p, d, half, size - half), chunk, capabilities, f);
}

void record_all(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
                const MatmulVariant* variant) {
  if (problem.y.count() == 0) return;
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  if (problem.k == 0) return record_reduce(commands, problem, epilogue, nullptr, 0);
  const auto choose = [&](const MatmulProblem& p, std::uint64_t scratch) {
    if (variant) return *variant;
    const MatmulVariant choice = choose_variant(p, capabilities, scratch);
    const bool failed =
        choice.kind == MatmulKind::subgroup_matrix && !passes_matrix_self_test(commands.device(), choice, p);
    return failed ? choose_variant(p, capabilities, scratch, false) : choice;
  };
  const std::int64_t chunk = window_of_k(problem, capabilities), chunks = ceil_div(problem.k, chunk);
  in_parts(problem, chunk, capabilities, [&](const MatmulProblem& p) {
    if (chunks == 1) {
      // Copies are scratch, as what is decoded: no kernel for aligned operands reads them in the buffer that it writes
      // to.
      const bool in_scratch = p.y.buffer == commands.scratch(0);
      const std::int64_t decoded = variant || in_scratch ? 0 : decoded_columns(p, capabilities);
      if (decoded > 0) return record_decoded(commands, p, epilogue, decoded, choose);
      const auto copies = variant || in_scratch ? std::nullopt : worth_aligning(p, capabilities);
      if (copies) {
        const MatmulVariant v = choose(copies->problem, 0);
        const bool takes = v.kind == MatmulKind::subgroup_matrix || v.kind == MatmulKind::tile;
        if (takes) return record_aligned(commands, p, epilogue, v, copies->bytes);
      }
      return record(commands, p, epilogue, choose(p, capabilities.max_buffer));
    }
    GpuScratch scratch(commands);
    const View memory = scratch.take(p.sums_bytes(chunks));
    const auto sums_of = [&](std::int64_t first, std::int64_t size) {
      return View(memory.buffer, memory.offset + p.sums_bytes(first), p.sum_type(), {size * p.products()});
    };
    for (std::int64_t w = 0; w < chunks; ++w) {
      const MatmulProblem q = part(p, p.batch.rank() + 2, w * chunk, std::min(chunk, p.k - w * chunk));
      MatmulVariant v = choose(q, 0);
      v.splits = 1;
      record(commands, q, nullptr, v, sums_of(w, 1));
    }
    const View all = sums_of(0, chunks);
    record_reduce(commands, p, epilogue, &all, static_cast<int>(chunks));
  });
}

// The real or imaginary parts of a complex view.
View part_of(const View& view, bool imaginary) {
  Strides strides = view.strides();
  for (auto& s : strides) s *= 2;
  return View(view.buffer, view.offset + (imaginary ? 4 : 0), DType::f32, view.shape(), strides);
}

// The product of complex matrices: products of their parts, summed in y. The imaginary part of a real operand is
// skipped.
void complex_matmul(Stream& stream, const View& a, const View& b, const View& y, const Epilogue& epilogue) {
  if (y.dtype != DType::c64) throw InvalidArgument("matmul: y is {}, expected c64", to_string(y));
  if (epilogue.expression)
    throw InvalidArgument("matmul: c64 takes no epilogue, given {}", epilogue.expression->to_string());
  for (const View* operand : {&a, &b}) {
    if (operand->dtype != DType::c64 && !is_floating(operand->dtype)) {
      throw InvalidArgument("matmul: a is {} and b is {}, which don't mix", to_string(a), to_string(b));
    }
    if (overlap(*operand, y)) {
      throw InvalidArgument("matmul: y {} shares memory with {} {}", to_string(y), operand == &a ? "a" : "b",
                            to_string(*operand));
    }
  }
  Expression add, subtract;
  {
    const int product = add.input(DType::f32), so_far = add.input(DType::f32);
    add.output(add.apply(ScalarOp::add, {so_far, product}));
  }
  {
    const int product = subtract.input(DType::f32), so_far = subtract.input(DType::f32);
    subtract.output(subtract.apply(ScalarOp::sub, {so_far, product}));
  }
  const bool both = a.dtype == b.dtype;
  for (const bool imaginary : {false, true}) {
    const View sum = part_of(y, imaginary);
    if (!both) {
      matmul(stream, a.dtype == DType::c64 ? part_of(a, imaginary) : a,
             b.dtype == DType::c64 ? part_of(b, imaginary) : b, sum);
      continue;
    }
    matmul(stream, part_of(a, false), part_of(b, imaginary), sum);
    matmul(stream, part_of(a, true), part_of(b, !imaginary), sum, {imaginary ? &add : &subtract, std::span(&sum, 1)});
  }
}

void launch(Stream& stream, std::string_view name, const MatmulProblem& problem, const Expression* epilogue) {
  if (problem.y.count() == 0) return;
  gpu::Commands* const commands = stream.gpu();
  if (!commands) return matmul_cpu(*stream.cpu(), problem, epilogue);
  for (const View* operand : {&problem.a, &problem.b, &problem.y}) {
    if (operand->dtype == DType::f64) {
      throw Unsupported("{}: {} on a GPU, which has no f64", name, to_string(*operand));
    }
  }
  record_all(*commands, problem, epilogue, nullptr);
}

void launch(Stream& stream, const View& a, const View& b, const View& y, const Epilogue& epilogue) {
  check_memory(stream, "matmul", {{"a", a}, {"b", b}}, {{"y", y}}, Sharing::none);
  check_memory(stream, "matmul", {{"epilogue operand", epilogue.operands}}, {{"y", y}}, Sharing::same_view);
  if (a.dtype == DType::c64 || b.dtype == DType::c64) return complex_matmul(stream, a, b, y, epilogue);
  launch(stream, "matmul", matmul_problem(a, b, y, epilogue), epilogue.expression);
}

}  // namespace

void matmul_by(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
               const MatmulVariant& variant) {
  check_memory(commands, "matmul", {{"a", problem.a}, {"b", problem.b}}, {{"y", problem.y}}, Sharing::none);
  check_memory(commands, "matmul", {{"epilogue operand", std::span<const View>(problem.operands)}}, {{"y", problem.y}});
  if (!can_run(variant, problem, commands.device().capabilities())) {
    throw Unsupported("matmul: this device or these operands cannot take {}", to_string(variant));
  }
  call_once(commands, {problem.a, problem.b, problem.operands, problem.chosen, problem.both_ends(), problem.y},
            [&](Stream& s) { record_all(*s.gpu(), problem, epilogue, &variant); });
}

void matmul_of_windows(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
                       const MatmulVariant* variant, std::uint64_t scratch) {
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  MatmulVariant v = variant ? *variant : choose_variant(problem, capabilities, scratch);
  if (!variant && v.kind == MatmulKind::subgroup_matrix && !passes_matrix_self_test(commands.device(), v, problem)) {
    v = choose_variant(problem, capabilities, scratch, false);
  }
  if (!can_run(v, problem, capabilities)) {
    throw Unsupported("matmul: this device or these windows cannot take {}", to_string(v));
  }
  record(commands, problem, epilogue, v);
}

void matmul_of_copies(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
                      const MatmulVariant& variant) {
  call_once(commands, {problem.a, problem.b, problem.operands, problem.y}, [&](Stream& s) {
    record_aligned(*s.gpu(), problem, epilogue, variant, align(problem, variant.kind, placeholder_memory(), 0).bytes);
  });
}

void matmul_of_read(gpu::Commands& commands, const MatmulProblem& problem, const Expression* epilogue,
                    const MatmulVariant* variant) {
  if (variant && !can_run(*variant, problem, commands.device().capabilities())) {
    throw Unsupported("matmul: this device or these operands cannot take {}", to_string(*variant));
  }
  record_all(commands, problem, epilogue, variant);
}

void matmul(Stream& stream, const View& a, const View& b, const View& y, const Epilogue& epilogue) {
  call(stream, CallKey("matmul", epilogue.expression), {a, b, epilogue.operands, y},
       [&](Stream& s) { launch(s, a, b, y, epilogue); });
}

void gather_matmul(Stream& stream, const View& a, const View& b, const View& chosen, const View& y) {
  constexpr std::string_view kName = "gather_matmul";
  call(stream, CallKey(kName), {a, b, chosen, y}, [&](Stream& s) {
    check_views(kName, {&a, &b, &chosen}, {&y});
    check_memory(s, kName, {{"a", a}, {"b", b}, {"chosen", chosen}}, {{"y", y}}, Sharing::none);
    if (b.shape()[0] == 0 && y.count() != 0)
      throw ShapeError("{}: b is {}, there is no matrix to choose", kName, to_string(b));
    if (gpu::Commands* commands = s.gpu(); commands && b.count() != 0) {
      const std::uint64_t most = chunk_limit(commands->device().capabilities());
      if (span_bytes(b) > most) {
        throw Unsupported("{}: b is {}, matrices to choose from; this device binds {} bytes", kName, to_string(b),
                          most);
      }
    }
    launch(s, kName, matmul_problem(a, {.view = b, .chosen = chosen}, y, {}), nullptr);
  });
}

void segmented_matmul(Stream& stream, const View& a, const View& b, const View& segments, const View& y) {
  constexpr std::string_view kName = "segmented_matmul";
  call(stream, CallKey(kName), {a, b, segments, y}, [&](Stream& s) {
    check_views(kName, {&a, &b, &segments}, {&y});
    check_memory(s, kName, {{"a", a}, {"b", b}, {"segments", segments}}, {{"y", y}}, Sharing::none);
    if (segments.shape()[-1] != 2) {
      throw ShapeError("{}: segments are {}, expected [..., 2], where each begins and ends", kName,
                       to_string(segments));
    }
    launch(s, kName, matmul_problem(a, {.view = b, .ranges = segments}, y, {}), nullptr);
  });
}

}  // namespace weft::kernels
