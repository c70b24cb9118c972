#include "kernels/common/split_rows.h"

#include <algorithm>
#include <bit>

#include "core/format.h"
#include "gpu/sync_flags.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/plan_state.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// Measured on an H200. Threads that leave most of a large GPU idle.
constexpr std::int64_t kFewThreads = 1 << 15;
// Adjacent rows in short runs share lines of memory: from this size on (bytes) a second dispatch costs less than
// reading a line for each row.
constexpr std::int64_t kSharedLines = std::int64_t{32} << 20;
// Splits of a row that may wait for each other: all must be resident at once, also on smaller GPUs.
constexpr std::int64_t kMaxLookBack = 64;
// Splits that fill a large GPU. Each reads the partial statistics of all of its row's splits.
constexpr std::int64_t kEnoughSplits = 512;

// The number of partial statistics, of `type`.
std::int64_t words_of(const SplitRows& p) { return p.plan.groups * p.all_splits * p.block * p.words; }

std::uint32_t power_of_two_at_most(std::int64_t n) {
  return static_cast<std::uint32_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

// The number of adjacent rows that make whole lines of memory, if runs of a row are short and directly followed by the
// next row's.
std::uint32_t adjacent_rows_per_line(const Rows& rows, int element_bits) {
  if (rows.inner.shape.rank() < 2 || rows.outer.shape.empty()) return 1;
  const std::int64_t run = rows.inner.shape.back();
  if (rows.inner.strides[0].back() != 1 || rows.outer.strides[0].back() != run) return 1;
  return power_of_two_at_most(std::min(rows.outer.shape.back(), 1024 / (run * element_bits)));
}

}  // namespace

std::uint64_t SplitRows::bytes() const {
  return look_back ? 0 : (byte_size(type, static_cast<std::uint64_t>(words_of(*this))) + 15) / 16 * 16;
}

std::int64_t SplitRows::split_steps() const {
  return std::int64_t{plan.threads_per_row} * plan.register_steps * tiles_per_split;
}

RowPlan SplitRows::plan_of(std::size_t chunk) const {
  RowPlan p = plan;
  p.steps = steps[chunk];
  return p;
}

namespace {

// The form for splitting rows of such a plan; nothing if whole rows are faster.
std::optional<SplitForm> usual_form(const gpu::Capabilities& capabilities, std::span<const Rows> chunks,
                                    const RowPlanOptions& options, const SplitKind& kind, const RowPlan& plan) {
  const Rows& rows = chunks[0];
  const int element_bits = kind.element_bits;
  // A second dispatch, and reading x twice, pay where whole rows leave most of a GPU idle …
  const bool idle = plan.register_steps == 0 && plan.groups * plan.workgroup <= kFewThreads &&
                    plan.steps >= 64 * std::int64_t{plan.threads_per_row};
  // … or, for single columns, some of it …
  const bool singles = plan.across && plan.width == 1;
  const bool few = singles && plan.register_steps == 0 && plan.groups * plan.workgroup <= 1 << 17 && plan.steps >= 4096;
  // … or use a fraction of each line that they read.
  const bool lines = !plan.across && plan.steps >= 4096 && adjacent_rows_per_line(rows, element_bits) > 1 &&
                     rows.count * rows.length * element_bits / 8 >= kSharedLines;
  // Look-back saves rows that do not fit a workgroup the second read, if registers hold much of them (16-bit types only
  // as words). Rows that take nearly all registers of a workgroup, and columns that use few of a line, gain too.
  const bool dense = element_bits == 32 || (element_bits == 16 && plan.width == 4);
  const std::int64_t registers = plan.steps * plan.width / (options.words == RowWords::always || plan.packed ? 2 : 1);
  const bool crowds = registers > (element_bits == 16 ? 1 << 14 : 1 << 15);
  const bool crowded = plan.width == 4 && (plan.across ? kind.by_columns : crowds);
  const bool twice = kind.can_look_back && options.reads_again() && (plan.register_steps == 0 || crowded) && dense &&
                     !singles && plan.steps >= 1024 && rows.count * rows.length * element_bits / 8 >= kSharedLines;
  const bool binds = kind.operands < capabilities.max_storage_buffers;
  if (chunks.size() == 1 && (capabilities.software || !binds || !(idle || few || lines || twice))) return {};
  SplitForm f;
  if (lines || twice)
    f = {.threads = 128, .register_steps = element_bits == 16 || options.reads_again() ? 32u : 16u, .look_back = true};
  // Single elements make small tiles. With few threads there would be hundreds of them, each reading all partial
  // statistics (softmax down 333 columns of 50,257: 134 ms, H200).
  if (twice && plan.width == 1) f = {.threads = 256, .register_steps = 32, .look_back = true};
  if (few) f = {.threads = 512, .register_steps = 32, .interleave = element_bits == 32 ? 4u : 8u};
  f.register_steps = std::min(f.register_steps, kind.max_register_steps);
  // Wide tiles, since runs of 256 bytes of a row are read faster than of 128, unless there would be many tiles, each of
  // which reads all partial statistics.
  if (f.look_back && plan.across && plan.width == 4) {
    const auto tiles = [&](const SplitForm& form) {
      return ceil_div(plan.steps, std::int64_t{form.threads / form.interleave} * form.register_steps);
    };
    if (kind.column_pairs) {
      // The most packed pairs for which two workgroups share a core's registers. Short rows make runs with the next
      // ones.
      const std::int64_t fours = rows.outer.shape.empty() ? 1 : ceil_div(rows.outer.shape.back(), 4);
      const auto beside = std::bit_ceil(static_cast<std::uint32_t>(std::clamp<std::int64_t>(fours, 8, 32)));
      f = {.threads = 256, .register_steps = 46, .interleave = beside, .look_back = true};
      if (tiles(f) > 48) f.interleave = 16;
    } else if (kind.by_columns) {
      SplitForm wide = f;
      wide.threads = element_bits == 16 ? 256 : 128;
      wide.interleave = 16;
      if (tiles(wide) <= 32) f = wide;
    }
  }
  return f;
}

// Sets the plan's threads a row and interleaving for tiles of that form.
void lay_tile(RowPlan& plan, const gpu::Capabilities& capabilities, const Rows& rows, int element_bits,
              const SplitForm& f) {
  // Two 16-byte values of each thread may be in workgroup memory.
  const std::uint32_t threads = power_of_two_at_most(
      std::min({f.threads, capabilities.max_workgroup_size, capabilities.max_workgroup_memory / 64, 1024u}));
  const std::int64_t row_groups = plan.across ? ceil_div(rows.count, plan.width) : rows.count;
  const std::int64_t beside = plan.across
                                  ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(row_groups)))
                                  : adjacent_rows_per_line(rows, element_bits);
  const std::int64_t most_beside = plan.across ? f.interleave * 4 / plan.width : 32;
  plan.interleave = power_of_two_at_most(std::min<std::int64_t>({most_beside, beside, threads}));
  plan.threads_per_row = threads / plan.interleave;
  while (plan.threads_per_row > 1 && plan.threads_per_row / 2 * std::int64_t{f.register_steps} >= plan.steps)
    plan.threads_per_row /= 2;
  plan.workgroup =
      std::max({plan.threads_per_row * plan.interleave, capabilities.subgroups ? capabilities.subgroup_max : 1u});
  plan.groups = ceil_div(row_groups, plan.workgroup / plan.threads_per_row);
}

}  // namespace

std::optional<SplitRows> plan_split_rows(const gpu::Capabilities& capabilities, std::span<const Rows> chunks,
                                         const RowPlanOptions& options, const SplitKind& kind,
                                         const std::optional<SplitForm>& form) {
  const Rows& rows = *std::ranges::max_element(chunks, {}, &Rows::length);  // scans may begin with the shortest
  RowPlanOptions whole = options;
  whole.access.require(RowAccess::unaligned_along, !form);  // splits are not
  SplitRows p;
  p.plan = plan_rows(capabilities, rows, whole);
  RowPlan& plan = p.plan;
  if (plan.unaligned) return {};  // whole rows fit registers
  std::optional<SplitForm> chosen = form ? form : usual_form(capabilities, chunks, options, kind, plan);
  if (!chosen) return {};
  SplitForm& f = *chosen;
  f.look_back &= kind.can_look_back && chunks.size() == 1 && (kind.type == DType::f32 || kind.type == DType::c64) &&
                 is_one_dispatch(capabilities, rows.count * rows.length, 16);

  const std::int64_t groups_of_whole = plan.groups;
  lay_tile(plan, capabilities, rows, kind.element_bits, f);
  const auto tiles = [&] { return ceil_div(plan.steps, std::int64_t{plan.threads_per_row} * f.register_steps); };
  if (!form && f.look_back && tiles() > kMaxLookBack) {
    if (groups_of_whole >= kEnoughSplits) return {};
    f = {.register_steps = std::min(16u, kind.max_register_steps), .interleave = kind.element_bits == 16 ? 16u : 8u};
    lay_tile(plan, capabilities, rows, kind.element_bits, f);
  }
  f.look_back &= tiles() < 1 << 16;  // limit of a block's counters
  if (f.look_back) f.tiles_per_split = 1;
  if (f.tiles_per_split == 0) {
    const std::int64_t enough = capabilities.software ? 64 : kEnoughSplits;
    f.tiles_per_split = static_cast<std::uint32_t>(ceil_div(tiles() * plan.groups, enough));
  }
  p.tiles_per_split = f.tiles_per_split;

  const auto ends_with_tile = [&](std::int64_t steps) {
    return steps % (std::int64_t{plan.threads_per_row} * f.register_steps) == 0;
  };
  const std::int64_t rounds = ceil_div(plan.steps, std::int64_t{plan.threads_per_row});
  p.balanced = p.tiles_per_split == 1 && chunks.size() == 1 && rows.inner.shape.rank() <= 1 && kind.balances &&
               !ends_with_tile(plan.steps) &&
               rounds * ceil_div(rounds, std::int64_t{f.register_steps}) < std::int64_t{1} << 32;
  if (p.balanced) {
    f.register_steps = static_cast<std::uint32_t>(ceil_div(rounds, ceil_div(rounds, std::int64_t{f.register_steps})));
  } else if (!form && f.look_back && kind.element_bits == 32 && plan.width == 4 && !ends_with_tile(plan.steps)) {
    f.register_steps = 16;  // tiles of 64 KiB are the fastest, unless rows end within them
  }
  plan.register_steps = f.register_steps;
  plan.tiles = options.reads_again();
  p.block = plan.workgroup / plan.threads_per_row * (plan.across ? plan.width : 1);
  for (const Rows& chunk : chunks) {
    p.steps.push_back(chunk.length / (plan.across ? 1 : plan.width));
    p.splits.push_back(ceil_div(p.steps.back(), p.split_steps()));
    p.all_splits += p.splits.back();
  }
  p.type = kind.type;
  p.words = kind.words;
  p.look_back = f.look_back;
  p.spin_limit = f.spin_limit;
  p.late = f.late;
  // With fewer threads a row, combining takes more workgroup memory than lay_tile() counts on. A word holds sums below
  // 2^11.
  p.column_pairs = kind.column_pairs > 0 && p.look_back && plan.across && plan.width == 4 &&
                   plan.threads_per_row >= 8 && std::int64_t{plan.threads_per_row} * f.register_steps < 1 << 11;
  if (p.column_pairs) p.words = kind.column_pairs;
  const std::int64_t row_groups = plan.across ? ceil_div(rows.count, plan.width) : rows.count;
  p.exact = p.look_back && row_groups % (plan.workgroup / plan.threads_per_row) == 0 &&
            std::ranges::all_of(p.steps, ends_with_tile);
  return p;
}

namespace {

void set_splits(Call& call, const SplitRows& p, std::size_t chunk, std::int64_t first_split) {
  call.include("split_rows");
  call.set("words", p.words).set("runs", p.runs).set("balanced", p.balanced).set("multi_tile", p.tiles_per_split > 1);
  call.set("look_back", p.look_back).set("late", p.look_back && p.late).set("exact", p.exact);
  call.set("pairs", p.look_back && p.type == DType::c64).set("known_splits", p.column_pairs ? p.all_splits : 0);
  call.set("in_order", p.in_order).set("packed_partials", p.packed_partials);
  if (p.tiles_per_split > 1) call.index_param("tiles_per_split", p.tiles_per_split);
  if (p.balanced) call.index_param("rounds", ceil_div(p.steps[chunk], std::int64_t{p.plan.threads_per_row}));
  call.index_param("splits", p.splits[chunk])
      .index_param("all_splits", p.all_splits)
      .index_param("first_split", first_split);
  call.index_param("tiles", p.plan.groups * p.splits[chunk]);
}

void run_look_back(gpu::Commands& commands, std::string_view name, const SplitRows& p,
                   const std::function<Call(std::size_t chunk)>& start) {
  // After the partial statistics: a fallback flag for each tile, the abort flag, and each block's count of arrivals.
  const std::int64_t words = words_of(p) * bits(p.type) / 32, tiles = p.plan.groups * p.all_splits;
  const auto count = static_cast<std::uint64_t>(words + tiles + 1 + p.plan.groups);
  Call call = start(0);
  set_splits(call, p, 0, 0);
  call.raw("partials", gpu::sync_flags(commands.device(), count), "atomic<u32>", 4, gpu::Access::read_write);
  call.set("gathers", true).set("finishes", true).opaque_zero().opaque_start();
  call.index_param("flags", words).param("spin_limit", p.spin_limit);
  call.single_dispatch().dispatch_groups(name, tiles);
}

}  // namespace

void run_split_rows(gpu::Commands& commands, std::string_view name, const SplitRows& p,
                    const std::function<Call(std::size_t chunk)>& start) {
  if (p.look_back) return run_look_back(commands, name, p, start);
  GpuScratch scratch(commands);
  const View memory = scratch.take(p.bytes());
  const View partials(memory.buffer, memory.offset, p.type, {words_of(p)});
  for (const bool finish : {false, true}) {
    std::int64_t first_split = 0;
    for (std::size_t w = 0; w < p.splits.size(); ++w) {
      Call call = start(w);
      if (finish)
        call.read("partials", partials);
      else
        call.write("partials", partials);
      set_splits(call, p, w, first_split);
      call.set("gathers", !finish).set("finishes", finish);
      if (!finish) call.cost({});  // counted for one of the two dispatches
      call.dispatch_groups(name, p.plan.groups * p.splits[w]);
      first_split += p.splits[w];
    }
  }
}

void add_column_pairs(Call& call, const SplitRows& p, DType y, std::int64_t shares) {
  call.include("column_pairs").set("rounds", y == DType::bf16);
  // A few splits at a time, so that their loads are in flight together.
  const std::int64_t each = ceil_div(p.all_splits, shares);
  const std::int64_t looks = ceil_div(each, ceil_div(each, std::int64_t{6} / p.words));
  call.set("looks", looks).set("looks_end", p.all_splits % (shares * looks) != 0);
}

void in_row_chunks(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
                   const AxisMask& along, const std::function<std::uint64_t(RowChunks)>& scratch,
                   const std::function<void(RowChunks)>& run) {
  const Shape& whole = views[0].shape();
  AxisMask others{};
  for (int d = 0; d < whole.rank(); ++d) others[d] = !along[d];
  const bool row_fits = std::ranges::none_of(views, [&](View row) {
    for (int d = 0; d < whole.rank(); ++d) {
      if (others[d]) row.layout.shape[d] = 1;
    }
    return axis_to_cut(capabilities, kernel, row, every_axis()) >= 0;
  });
  Shape shape = chunk_shape(capabilities, kernel, views, row_fits ? others : every_axis());
  if (shape == whole) {
    const RowChunk all{{views.begin(), views.end()}, Dims::filled(whole.rank(), 0)};
    return run(std::span(&all, 1));
  }
  const auto windows_at = [&](const Dims& rows_begin) {
    std::vector<View> rows;
    for (const View& v : views) rows.push_back(chunk_at(v, rows_begin, shape, others, kernel));
    std::vector<RowChunk> chunks;
    for_each_chunk(whole, shape, along, [&](const Dims& begin) {
      RowChunk& w = chunks.emplace_back(RowChunk{{}, begin});
      for (const View& v : rows) w.views.push_back(chunk_at(v, begin, shape, along, kernel));
    });
    return chunks;
  };
  const Dims start = Dims::filled(whole.rank(), 0);
  for (;;) {
    const std::vector<RowChunk> chunks = windows_at(start);
    const std::uint64_t bytes = chunks.size() == 1 ? 0 : scratch(chunks);
    if (bytes <= chunk_limit(capabilities)) break;
    int widest = -1;
    for (int d = 0; d < whole.rank(); ++d) {
      if (others[d] && shape[d] > (widest < 0 ? 1 : shape[widest])) widest = d;
    }
    if (widest < 0) {
      throw Unsupported(
          "{}: a row of {} is longer than this device's bindings of {} bytes, as are the {} bytes that "
          "its parts leave",
          kernel, to_string(views[0]), capabilities.max_binding, bytes);
    }
    shape[widest] = first_half(shape[widest]);
  }
  for_each_chunk(whole, shape, others, [&](const Dims& begin) { run(windows_at(begin)); });
}

}  // namespace weft::kernels
