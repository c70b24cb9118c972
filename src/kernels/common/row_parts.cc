#include "kernels/common/row_parts.h"

#include <algorithm>
#include <bit>

#include "gpu/resting_words.h"
#include "kernels/common/memory.h"
#include "kernels/common/windows.h"
#include "kernels/plan_state.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// Measured on an H200. Threads that leave most of a large GPU idle.
constexpr std::int64_t kFewThreads = 1 << 15;
// Rows side by side in short runs share lines of memory: from this size on a dispatch more costs less than reading a
// line for each of them.
constexpr std::int64_t kSharedLines = std::int64_t{32} << 20;
// Parts of a row that may wait for each other: all must be on the GPU at a time, of which there are smaller ones.
constexpr std::int64_t kMostWaiting = 64;
// Parts that fill a large GPU, where each looks for what all of its row found.
constexpr std::int64_t kEnoughParts = 512;

// Numbers of `type`.
std::int64_t words_of(const RowParts& p) { return p.plan.groups * p.all_parts * p.block * p.words; }

std::uint32_t power_of_two_at_most(std::int64_t n) {
  return static_cast<std::uint32_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

// How many rows side by side make whole lines of memory, if runs of a row are short and the next row's follow them.
std::uint32_t adjoining(const Rows& rows, int element_bits) {
  if (rows.inner.shape.rank() < 2 || rows.outer.shape.empty()) return 1;
  const std::int64_t run = rows.inner.shape.back();
  if (rows.inner.strides[0].back() != 1 || rows.outer.strides[0].back() != run) return 1;
  return power_of_two_at_most(std::min(rows.outer.shape.back(), 1024 / (run * element_bits)));
}

}  // namespace

std::uint64_t RowParts::bytes() const {
  return waits ? 0 : (byte_size(type, static_cast<std::uint64_t>(words_of(*this))) + 15) / 16 * 16;
}

std::int64_t RowParts::part_steps() const { return std::int64_t{plan.team} * plan.kept * turns; }

RowPlan RowParts::plan_of(std::size_t window) const {
  RowPlan p = plan;
  p.steps = steps[window];
  return p;
}

namespace {

// What rows of such a plan take if they are cut; nothing if they had better stay whole.
std::optional<PartsForm> usual_form(const gpu::Capabilities& capabilities, std::span<const Rows> windows,
                                    const RowPlanOptions& options, const PartKind& kind, const RowPlan& plan) {
  const Rows& rows = windows[0];
  const int element_bits = kind.element_bits;
  // A second dispatch, and another reading of x, pay where whole rows leave most of a GPU idle …
  const bool idle = plan.kept == 0 && plan.groups * plan.workgroup <= kFewThreads &&
                    plan.steps >= 64 * std::int64_t{plan.team};
  // … or, of columns one by one, some of it …
  const bool singles = plan.across && plan.width == 1;
  const bool few = singles && plan.kept == 0 && plan.groups * plan.workgroup <= 1 << 17 && plan.steps >= 4096;
  // … or read lines for a part of what these hold.
  const bool lines = !plan.across && plan.steps >= 4096 && adjoining(rows, element_bits) > 1 &&
                     rows.count * rows.length * element_bits / 8 >= kSharedLines;
  // Waiting spares rows that do not fit a workgroup their second reading, if registers hold much of them: 16 bits as
  // words only. Whole rows that crowd one, and columns that are few to a line of memory, are slower, too.
  const bool dense = element_bits == 32 || (element_bits == 16 && plan.width == 4);
  const std::int64_t registers = plan.steps * plan.width / (options.words || plan.packed ? 2 : 1);
  const bool crowds = registers > (element_bits == 16 ? 1 << 14 : 1 << 15);
  const bool crowded = plan.width == 4 && (plan.across ? kind.by_columns : crowds);
  const bool twice = kind.may_wait && options.keep && (plan.kept == 0 || crowded) && dense && !singles &&
                     plan.steps >= 1024 && rows.count * rows.length * element_bits / 8 >= kSharedLines;
  const bool binds = kind.operands < capabilities.max_storage_buffers;
  if (windows.size() == 1 && (capabilities.software || !binds || !(idle || few || lines || twice))) return {};
  PartsForm f;
  if (lines || twice) f = {.threads = 128, .kept = element_bits == 16 || options.keep ? 32u : 16u, .waits = true};
  // Single elements make small tiles: of few threads there would be hundreds, each looking for what all others found
  // (softmax down 333 columns of 50,257: 134 ms).
  if (twice && plan.width == 1) f = {.threads = 256, .kept = 32, .waits = true};
  if (few) f = {.threads = 512, .kept = 32, .interleave = element_bits == 32 ? 4u : 8u};
  f.kept = std::min(f.kept, kind.most_kept);
  // Wide tiles, since runs of 256 bytes of a row are read faster than of 128, unless there would be many: each looks
  // for what all others found.
  if (f.waits && plan.across && plan.width == 4) {
    const auto tiles = [&](const PartsForm& form) {
      return ceil_div(plan.steps, std::int64_t{form.threads / form.interleave} * form.kept);
    };
    if (kind.column_words) {
      // Words so many that two workgroups share a core's registers. Short rows make runs with those that follow.
      const std::int64_t fours = rows.outer.shape.empty() ? 1 : ceil_div(rows.outer.shape.back(), 4);
      const auto beside = std::bit_ceil(static_cast<std::uint32_t>(std::clamp<std::int64_t>(fours, 8, 32)));
      f = {.threads = 256, .kept = 46, .interleave = beside, .waits = true};
      if (tiles(f) > 48) f.interleave = 16;
    } else if (kind.by_columns) {
      PartsForm wide = f;
      wide.threads = element_bits == 16 ? 256 : 128;
      wide.interleave = 16;
      if (tiles(wide) <= 32) f = wide;
    }
  }
  return f;
}

// The team and the interleaving of `plan` as tiles of such a form have them.
void lay_tile(RowPlan& plan, const gpu::Capabilities& capabilities, const Rows& rows, int element_bits,
              const PartsForm& f) {
  // A thread's two values of 16 bytes may go through workgroup memory.
  const std::uint32_t threads = power_of_two_at_most(
      std::min({f.threads, capabilities.max_workgroup_size, capabilities.max_workgroup_memory / 64, 1024u}));
  const std::int64_t teams = plan.across ? ceil_div(rows.count, plan.width) : rows.count;
  const std::int64_t beside = plan.across ? static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(teams)))
                                          : adjoining(rows, element_bits);
  const std::int64_t most_beside = plan.across ? f.interleave * 4 / plan.width : 32;
  plan.interleave = power_of_two_at_most(std::min<std::int64_t>({most_beside, beside, threads}));
  plan.team = threads / plan.interleave;
  while (plan.team > 1 && plan.team / 2 * std::int64_t{f.kept} >= plan.steps) plan.team /= 2;
  plan.workgroup = std::max({plan.team * plan.interleave, capabilities.subgroups ? capabilities.subgroup_max : 1u});
  plan.groups = ceil_div(teams, plan.workgroup / plan.team);
}

}  // namespace

std::optional<RowParts> plan_parts(const gpu::Capabilities& capabilities, std::span<const Rows> windows,
                                   const RowPlanOptions& options, const PartKind& kind,
                                   const std::optional<PartsForm>& form) {
  const Rows& rows = *std::ranges::max_element(windows, {}, &Rows::length);  // scans may begin with the shortest
  RowPlanOptions whole = options;
  whole.phased &= !form;  // parts are not
  RowParts p;
  p.plan = plan_rows(capabilities, rows, whole);
  RowPlan& plan = p.plan;
  if (plan.phased) return {};  // it keeps its rows
  std::optional<PartsForm> chosen = form ? form : usual_form(capabilities, windows, options, kind, plan);
  if (!chosen) return {};
  PartsForm& f = *chosen;
  f.waits &= kind.may_wait && windows.size() == 1 && (kind.type == DType::f32 || kind.type == DType::c64) &&
             is_one_dispatch(capabilities, rows.count * rows.length, 16);

  const std::int64_t groups_of_whole = plan.groups;
  lay_tile(plan, capabilities, rows, kind.element_bits, f);
  const auto tiles = [&] { return ceil_div(plan.steps, std::int64_t{plan.team} * f.kept); };
  if (!form && f.waits && tiles() > kMostWaiting) {
    if (groups_of_whole >= kEnoughParts) return {};
    f = {.kept = std::min(16u, kind.most_kept), .interleave = kind.element_bits == 16 ? 16u : 8u};
    lay_tile(plan, capabilities, rows, kind.element_bits, f);
  }
  f.waits &= tiles() < 1 << 16;  // as a block counts them
  if (f.waits) f.turns = 1;
  if (f.turns == 0) {
    const std::int64_t enough = capabilities.software ? 64 : kEnoughParts;
    f.turns = static_cast<std::uint32_t>(ceil_div(tiles() * plan.groups, enough));
  }
  p.turns = f.turns;

  const auto ends_with_tile = [&](std::int64_t steps) { return steps % (std::int64_t{plan.team} * f.kept) == 0; };
  const std::int64_t rounds = ceil_div(plan.steps, std::int64_t{plan.team});
  p.balanced = p.turns == 1 && windows.size() == 1 && rows.inner.shape.rank() <= 1 && kind.balances &&
               !ends_with_tile(plan.steps) &&
               rounds * ceil_div(rounds, std::int64_t{f.kept}) < std::int64_t{1} << 32;
  if (p.balanced) {
    f.kept = static_cast<std::uint32_t>(ceil_div(rounds, ceil_div(rounds, std::int64_t{f.kept})));
  } else if (!form && f.waits && kind.element_bits == 32 && plan.width == 4 && !ends_with_tile(plan.steps)) {
    f.kept = 16;  // tiles of 64 KiB are the quickest, but not if rows end within them
  }
  plan.kept = f.kept;
  plan.tiles = options.keep;
  p.block = plan.workgroup / plan.team * (plan.across ? plan.width : 1);
  for (const Rows& window : windows) {
    p.steps.push_back(window.length / (plan.across ? 1 : plan.width));
    p.parts.push_back(ceil_div(p.steps.back(), p.part_steps()));
    p.all_parts += p.parts.back();
  }
  p.type = kind.type;
  p.words = kind.words;
  p.waits = f.waits;
  p.patience = f.patience;
  p.late = f.late;
  // With smaller teams what is told takes more workgroup memory than lay_tile() counts on; a word tells of sums below
  // 2^11.
  p.column_words = kind.column_words > 0 && p.waits && plan.across && plan.width == 4 && plan.team >= 8 &&
                   std::int64_t{plan.team} * f.kept < 1 << 11;
  if (p.column_words) p.words = kind.column_words;
  const std::int64_t teams = plan.across ? ceil_div(rows.count, plan.width) : rows.count;
  p.exact = p.waits && teams % (plan.workgroup / plan.team) == 0 && std::ranges::all_of(p.steps, ends_with_tile);
  return p;
}

namespace {

void set_parts(Call& call, const RowParts& p, std::size_t window, std::int64_t first_part) {
  call.include("row_parts");
  call.set("words", p.words).set("runs", p.runs).set("balanced", p.balanced).set("long", p.turns > 1);
  if (p.turns > 1) call.index_param("turns", p.turns);
  if (p.balanced) call.index_param("rounds", ceil_div(p.steps[window], std::int64_t{p.plan.team}));
  call.index_param("parts", p.parts[window])
      .index_param("all_parts", p.all_parts)
      .index_param("first_part", first_part);
  call.index_param("tiles", p.plan.groups * p.parts[window]);
}

void run_waiting(gpu::Commands& commands, std::string_view name, const RowParts& p,
                 const std::function<Call(std::size_t window)>& start) {
  // Behind the words: which tiles gave up, whether any waited in vain; and how many of a block's workgroups have left it.
  const std::int64_t words = words_of(p) * bits(p.type) / 32, tiles = p.plan.groups * p.all_parts;
  const auto count = static_cast<std::uint64_t>(words + tiles + 1 + p.plan.groups);
  Call call = start(0);
  set_parts(call, p, 0, 0);
  call.raw("found", gpu::resting_words(commands.device(), count), "atomic<u32>", 4, gpu::Access::read_write);
  call.set("waits", true).set("gathers", true).set("finishes", true).set("late", p.late);
  call.nothing().set("exact", p.exact).set("pairs", p.type == DType::c64);
  call.index_param("flags", words).param("patience", p.patience);
  call.undivided().dispatch_groups(name, tiles);
}

}  // namespace

void run_parts(gpu::Commands& commands, std::string_view name, const RowParts& p,
               const std::function<Call(std::size_t window)>& start) {
  if (p.waits) return run_waiting(commands, name, p, start);
  GpuScratch scratch(commands);
  const View memory = scratch.take(p.bytes());
  const View found(memory.buffer, memory.offset, p.type, {words_of(p)});
  for (const bool finish : {false, true}) {
    std::int64_t first_part = 0;
    for (std::size_t w = 0; w < p.parts.size(); ++w) {
      Call call = start(w);
      if (finish) call.read("found", found);
      else call.write("found", found);
      set_parts(call, p, w, first_part);
      call.set("waits", false).set("gathers", !finish).set("finishes", finish);
      if (!finish) call.cost({});  // counted once
      call.dispatch_groups(name, p.plan.groups * p.parts[w]);
      first_part += p.parts[w];
    }
  }
}

void add_column_words(Call& call, const RowParts& p, DType x, DType y, std::int64_t shares) {
  call.include("column_words").set("known_parts", p.all_parts);
  call.set("x_is_f16", x == DType::f16).set("rounds", y == DType::bf16);
  // A few at a time, which wait for each other.
  const std::int64_t each = ceil_div(p.all_parts, shares);
  const std::int64_t looks = ceil_div(each, ceil_div(each, std::int64_t{6} / p.words));
  call.set("looks", looks).set("looks_end", p.all_parts % (shares * looks) != 0);
}

void in_row_windows(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
                    const AxisMask& along, const std::function<std::uint64_t(RowWindows)>& scratch,
                    const std::function<void(RowWindows)>& run) {
  const Shape& whole = views[0].shape();
  AxisMask others{};
  for (int d = 0; d < whole.rank(); ++d) others[d] = !along[d];
  const bool row_fits = std::ranges::none_of(views, [&](View row) {
    for (int d = 0; d < whole.rank(); ++d) {
      if (others[d]) row.layout.shape[d] = 1;
    }
    return axis_to_cut(capabilities, kernel, row, every_axis()) >= 0;
  });
  Shape shape = shape_of_parts(capabilities, kernel, views, row_fits ? others : every_axis());
  if (shape == whole) {
    const RowWindow all{{views.begin(), views.end()}, Dims::filled(whole.rank(), 0)};
    return run(std::span(&all, 1));
  }
  const auto windows_at = [&](const Dims& rows_begin) {
    std::vector<View> rows;
    for (const View& v : views) rows.push_back(part_at(v, rows_begin, shape, others, kernel));
    std::vector<RowWindow> windows;
    for_each_part(whole, shape, along, [&](const Dims& begin) {
      RowWindow& w = windows.emplace_back(RowWindow{{}, begin});
      for (const View& v : rows) w.views.push_back(part_at(v, begin, shape, along, kernel));
    });
    return windows;
  };
  const Dims start = Dims::filled(whole.rank(), 0);
  for (;;) {
    const std::vector<RowWindow> windows = windows_at(start);
    const std::uint64_t bytes = windows.size() == 1 ? 0 : scratch(windows);
    if (bytes <= window_limit(capabilities)) break;
    int widest = -1;
    for (int d = 0; d < whole.rank(); ++d) {
      if (others[d] && shape[d] > (widest < 0 ? 1 : shape[widest])) widest = d;
    }
    if (widest < 0) {
      throw Unsupported("{}: a row of {} is longer than this device's bindings of {} bytes, as are the {} bytes that "
                        "its parts leave", kernel, to_string(views[0]), capabilities.max_binding, bytes);
    }
    shape[widest] = first_half(shape[widest]);
  }
  for_each_part(whole, shape, others, [&](const Dims& begin) { run(windows_at(begin)); });
}

}  // namespace weft::kernels
