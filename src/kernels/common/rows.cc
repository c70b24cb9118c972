#include "kernels/common/rows.h"
#include "core/str_cat.h"

#include <algorithm>
#include <bit>
#include <format>

namespace weft::kernels {
namespace {

// Measured on an H200 and on lavapipe; where times are flat, chosen for less compiled code.
// Threads that fill a large GPU; with fewer, rows are spread over more threads each.
constexpr std::int64_t kManyThreads = 1 << 17;
// Threads of a workgroup where one row needs fewer.
constexpr std::int64_t kUsualWorkgroup = 256;
// Rows (or groups of four) side by side where rows lie across: enough to read whole lines of memory, fewer where that
// would leave cores of a large GPU without a workgroup.
struct Interleaving {
  std::uint32_t most, least;
};
constexpr Interleaving kInterleaveFours = {16, 4}, kInterleaveSingles = {64, 16};
constexpr std::int64_t kManyWorkgroups = 128;

// Registers of a thread that hold a row, usually.
constexpr std::int64_t kUsualRegisters = 64;

// Steps that a thread holds in registers. On a CPU they are in its cache, and loads dominate. Long rows are shared by
// half as many threads, which wait less for each other: group norm of rows of 32,768 takes 140 instead of 149 µs in
// f32, 142 instead of 166 µs in f16; softmax of rows of 16,384 in f16 135 instead of 164 µs (H200).
std::int64_t max_register_steps(const RowPlan& plan, const RowPlanOptions& options, bool software,
                                std::uint32_t largest) {
  if (software) return std::min(96 / plan.width, 24);
  const std::int64_t few = options.words == RowWords::always ? 1024 : 2048, many = largest / 2 * std::int64_t{32};
  // As packed pairs, of which more fit. For unaligned rows 512 threads with few registers, or 256 with all registers,
  // are faster than anything between.
  const bool packs = options.words == RowWords::if_they_help;
  if (packs && (plan.unaligned || options.access.has(RowAccess::along)) && plan.steps > 4096) {
    if (plan.steps <= 8192) return plan.unaligned ? 16 : 32;
    if (plan.unaligned && plan.steps <= 24576) return 64;
  }
  if (plan.width == 4 && !plan.across && plan.steps > few && plan.steps <= many) return 32;
  return std::min<std::int64_t>(kUsualRegisters / plan.width, 16);
}

std::uint32_t power_of_two_at_least(std::int64_t n) {
  return static_cast<std::uint32_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}
std::uint32_t power_of_two_at_most(std::int64_t n) {
  return static_cast<std::uint32_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

bool four_by_four(const View& view) {
  const int b = bits(view.dtype);
  return b >= 8 && b <= 32 && view.offset * 8 / b % 4 == 0;
}

// True if `fast` ends in a contiguous run of whole groups of four, and every other stride is a multiple of four.
bool strides_in_fours(const Collapsed& fast, const Collapsed& slow, std::size_t k) {
  if (fast.shape.empty() || fast.shape.back() % 4 != 0 || fast.strides[k].back() != 1) return false;
  const auto in_fours = [](std::int64_t s) { return s % 4 == 0; };
  return std::all_of(fast.strides[k].begin(), fast.strides[k].end() - 1, in_fours) &&
         std::ranges::all_of(slow.strides[k], in_fours);
}

Collapsed collapse_axes(const Shape& shape, std::span<const Strides> strides, const AxisMask& mask, bool value) {
  Shape sizes;
  std::vector<Strides> own_strides(strides.size());
  for (int d = 0; d < shape.rank(); ++d) {
    if (mask[d] != value) continue;
    sizes.push_back(shape[d]);
    for (std::size_t k = 0; k < strides.size(); ++k) own_strides[k].push_back(strides[k][d]);
  }
  return collapse(sizes, own_strides);
}

// Threads that read along a row: enough steps each to have loads in flight, enough adjacent threads to read whole
// lines, and one subgroup as long as its registers hold the row.
std::uint32_t threads_along(const RowPlan& plan, std::int64_t rows, const RowPlanOptions& options,
                            std::int64_t register_steps, bool software, std::uint32_t largest) {
  const bool keep = options.reads_again();
  const std::uint32_t neighbours = power_of_two_at_most(std::min<std::int64_t>(plan.steps, 8));
  // On software devices threads are SIMD lanes: more than a subgroup would only add barriers.
  if (software) return std::min({neighbours, plan.cluster, largest});

  const bool words = options.words == RowWords::always && !keep, short_steps = plan.width == 1 || words;
  // A row in registers is loaded before anything else happens: more threads with half as many steps each.
  const int each = (short_steps ? 16 : 8) / (keep && !plan.unaligned ? 2 : 1);
  std::uint32_t threads_per_row = std::max(power_of_two_at_least(ceil_div(plan.steps, each)), neighbours);
  // Many steps each, in one cluster if possible: max of 32,768 rows of 4,096 in f16 takes 65 µs with 16 or 32 threads a
  // row, 78 µs with 64, 90 µs with 128 (H200).
  if (words)
    threads_per_row =
        std::max({std::min(threads_per_row, 16u), neighbours, power_of_two_at_least(ceil_div(plan.steps, 64))});
  const bool one_cluster = plan.cluster > 1 && plan.steps <= plan.cluster * register_steps;
  if (keep && threads_per_row > plan.cluster)
    threads_per_row = one_cluster ? plan.cluster : power_of_two_at_least(ceil_div(plan.steps, register_steps));
  // Half of the largest workgroup leaves each thread the registers for a row.
  const bool keeps = keep && plan.steps <= largest / 2 * register_steps;
  threads_per_row = std::min(threads_per_row, keeps  ? largest / 2
                                              : keep ? largest
                                                     : std::min<std::uint32_t>(largest, kUsualWorkgroup));
  // Few rows: more threads each, but no additional barriers to save a few loads.
  while (!options.split && rows * threads_per_row * 2 <= kManyThreads &&
         threads_per_row * 2 <= std::min<std::int64_t>(plan.steps, largest)) {
    if (threads_per_row >= plan.cluster && plan.steps <= threads_per_row * 8) break;
    threads_per_row *= 2;
  }
  return threads_per_row;
}

// Threads a row and interleaving where rows lie across: adjacent rows cover lines of memory, and threads split the way
// along a row until registers hold it, or until there are enough threads.
void lay_across(RowPlan& plan, std::int64_t row_groups, const RowPlanOptions& options, std::int64_t register_steps,
                bool software, std::uint32_t largest) {
  if (software) {
    plan.interleave = std::min({8u, power_of_two_at_least(row_groups), largest});
    return;
  }
  const Interleaving limits = plan.width == 4 ? kInterleaveFours : kInterleaveSingles;
  plan.interleave = std::min({limits.most, power_of_two_at_least(row_groups), largest});
  while (!options.split && plan.interleave > limits.least && row_groups < plan.interleave * kManyWorkgroups)
    plan.interleave /= 2;
  const std::uint32_t whole = power_of_two_at_least(ceil_div(plan.steps, register_steps));
  // Even narrower, so that registers hold longer rows, is three times as slow (8192 rows of 8192, H200).
  const std::uint32_t narrow = std::max(plan.interleave / 2, 1u);
  if (options.reads_again() && plan.steps >= 16 && whole * narrow <= largest / 2) {
    plan.threads_per_row = whole;
    plan.interleave = narrow;
  }
  if (options.split) largest = std::min<std::uint32_t>(largest, kUsualWorkgroup);
  const std::int64_t enough = options.reads == RowReads::once_ahead ? kManyThreads / 2 : kManyThreads;
  while (row_groups * plan.threads_per_row < enough && plan.threads_per_row * 16 <= plan.steps &&
         plan.threads_per_row * plan.interleave * 2 <= largest) {
    plan.threads_per_row *= 2;
  }
}

}  // namespace

AxisMask mask_of(std::span<const int> axes, int rank) {
  AxisMask mask{};
  for (const int axis : axes) mask[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = true;
  return mask;
}

Rows rows_along(const Shape& shape, const AxisMask& along, std::span<const Strides> strides) {
  Rows rows{collapse_axes(shape, strides, along, false), collapse_axes(shape, strides, along, true)};
  rows.count = element_count(rows.outer.shape);
  rows.length = element_count(rows.inner.shape);
  return rows;
}

bool vectorises_along(const View& view, const Rows& rows, std::size_t k) {
  return four_by_four(view) && strides_in_fours(rows.inner, rows.outer, k);
}

bool vectorises_across(const View& view, const Rows& rows, std::size_t k) {
  return four_by_four(view) && strides_in_fours(rows.outer, rows.inner, k);
}

bool packed_pairs(const View& view, const Rows& rows, std::size_t k) {
  // An even number of rows, since the last four also begin at a word.
  if (bits(view.dtype) != 16 || view.offset % 4 != 0 || rows.count < 4 || rows.count % 2 != 0) return false;
  if (rows.outer.shape.rank() != 1 || rows.outer.strides[k][0] != 1) return false;
  return std::ranges::all_of(rows.inner.strides[k], [](std::int64_t s) { return s % 2 == 0; });
}

bool unaligned_pairs(const View& view, const Rows& rows, std::size_t k) {
  return bits(view.dtype) == 16 && rows.count >= 4 && rows.outer.shape.rank() == 1 && rows.outer.strides[k][0] == 1;
}

int alignment_unit_of(DType type) { return bits(type) == 16 ? 2 : 4; }

bool same_misalignment(const View& view, const View& other, const Rows& rows, std::size_t k, std::size_t l) {
  const int element_bits = bits(other.dtype);
  const auto is_run = [&](const View& v, std::size_t i) {
    return bits(v.dtype) == element_bits && rows.inner.shape.rank() == 1 && rows.inner.strides[i][0] == 1;
  };
  const auto differ = [&](std::int64_t a, std::int64_t b) { return (a - b) % alignment_unit_of(other.dtype) != 0; };
  const auto start = [&](const View& v) { return static_cast<std::int64_t>(v.offset) / (element_bits / 8); };
  if (element_bits != 16 && element_bits != 32) return false;
  if (!is_run(view, k) || !is_run(other, l) || differ(start(view), start(other))) return false;
  for (int d = 0; d < rows.outer.shape.rank(); ++d) {
    if (differ(rows.outer.strides[k][d], rows.outer.strides[l][d])) return false;
  }
  return true;
}

bool runs_across(const Rows& rows, std::size_t k) {
  if (rows.outer.shape.empty()) return false;
  if (rows.inner.shape.empty()) return true;
  return std::abs(rows.outer.strides[k].back()) < std::abs(rows.inner.strides[k].back());
}

bool steps_are_vec4(const RowPlan& plan, const Rows& rows, const View& view, std::size_t k, const View& leader,
                    std::size_t l) {
  if (plan.width != 4) return false;
  if (plan.unaligned) return same_misalignment(view, leader, rows, k, l);
  if (plan.packed_pairs) return packed_pairs(view, rows, k);
  if (plan.unaligned_pairs) return unaligned_pairs(view, rows, k);
  return plan.across ? vectorises_across(view, rows, k) : vectorises_along(view, rows, k);
}

RowPlan plan_rows(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlanOptions& options) {
  RowPlan plan;
  plan.split = options.split;
  const RowAccesses& access = options.access;
  const bool along4 = access.has(RowAccess::along);
  plan.packed_pairs = access.has(RowAccess::pairs_across) && !access.has_vectors();
  plan.unaligned_pairs = access.has(RowAccess::unaligned_across) && !access.has_vectors() && !plan.packed_pairs;
  const bool across4 = access.has(RowAccess::across) || plan.packed_pairs || plan.unaligned_pairs;
  plan.across = !along4 && (across4 || options.across);
  plan.unaligned = access.has(RowAccess::unaligned_along) && !along4 && !plan.across;
  plan.width = along4 || across4 || plan.unaligned ? 4 : 1;
  plan.alignment_unit = options.alignment_unit;
  // For unaligned rows: the steps of the row with the largest misalignment.
  plan.steps = plan.across      ? rows.length
               : plan.unaligned ? (plan.alignment_unit - 1 + rows.length + 3) / 4
                                : rows.length / plan.width;
  const std::int64_t row_groups = plan.across ? ceil_div(rows.count, plan.width) : rows.count;
  if (capabilities.subgroups) plan.cluster = std::min(capabilities.subgroup_min, 32u);
  const std::uint32_t largest = power_of_two_at_most(std::min(capabilities.max_workgroup_size, 1024u));

  const std::int64_t register_steps = max_register_steps(plan, options, capabilities.software, largest);
  if (options.form) {
    plan.interleave = std::min({options.form->interleave, power_of_two_at_least(row_groups), largest});
    plan.threads_per_row = std::min(options.form->threads_per_row, largest / plan.interleave);
  } else if (plan.across) {
    lay_across(plan, row_groups, options, register_steps, capabilities.software, largest);
  } else {
    plan.threads_per_row = threads_along(plan, row_groups, options, register_steps, capabilities.software, largest);
  }

  // Whole subgroups, on which the order of threads relies; otherwise no more than there is work for, and few threads
  // where each has much work: sums of rows of 1,024 in f16 take 64 µs with 32 threads, 75 µs with 256 (H200).
  const std::uint32_t unit = plan.threads_per_row * plan.interleave;
  const bool small = options.words == RowWords::always && !options.reads_again() && !plan.across &&
                     plan.steps >= 16 * std::int64_t{plan.threads_per_row};
  // Rows in registers that need barriers get a workgroup each, so as not to wait for each other: softmax of rows of
  // 16,384 in f16 takes 130 µs in workgroups of 128 threads, 183 µs in workgroups of two such rows (H200).
  const bool alone = options.reads_again() && !plan.across && plan.threads_per_row >= 64;
  const std::int64_t usual = capabilities.software ? 64 : small || alone ? 0 : kUsualWorkgroup;
  const std::int64_t all = power_of_two_at_least(row_groups) * std::int64_t{plan.threads_per_row};
  const std::uint32_t wanted =
      options.form ? options.form->workgroup : static_cast<std::uint32_t>(std::min(all, usual));
  plan.workgroup = std::min(std::max({unit, wanted, capabilities.subgroups ? capabilities.subgroup_max : 1u}), largest);
  plan.groups = ceil_div(row_groups, plan.workgroup / plan.threads_per_row);

  const std::int64_t needed = ceil_div(plan.steps, plan.threads_per_row);
  const std::int64_t most = options.form ? options.form->register_steps : register_steps;
  if (options.reads_again() && needed <= most) plan.register_steps = static_cast<std::uint32_t>(needed);
  plan.packed = options.words == RowWords::if_they_help &&
                (plan.unaligned ? plan.register_steps > 8 : along4 && plan.steps > 4096 && plan.register_steps > 0);
  if (plan.unaligned && options.reads_again() && plan.register_steps == 0) {
    RowPlanOptions single = options;
    single.access.require(RowAccess::unaligned_along, false);
    return plan_rows(capabilities, rows, single);
  }
  return plan;
}

RowPlanOptions common_options(std::span<const RowPlanOptions> chunks) {
  RowPlanOptions common = chunks.back();
  for (const RowPlanOptions& own : chunks) common.access &= own.access;
  common.access.require(RowAccess::unaligned_along, chunks.size() == 1);
  return common;
}

void add_rows(Call& call, const Rows& rows, const RowPlan& plan, std::span<const std::string_view> names) {
  if (plan.cluster > 1) call.enable("subgroups");
  call.include("row_reduce");
  call.variant(str_cat(plan.across ? "across" : "along", "_threads", plan.threads_per_row, "_width", plan.width,
                       plan.register_steps ? "_registers" : "", plan.unaligned ? "_unaligned" : ""),
               str_cat(rows.count, " rows of ", rows.length));
  call.set("across", plan.across)
      .set("width", plan.width)
      .set("threads_per_row", plan.threads_per_row)
      .set("interleave", plan.interleave);
  call.set("workgroup", plan.workgroup).set("cluster", plan.cluster).set("register_steps", plan.register_steps);
  call.set("outer_rank", rows.outer.shape.rank()).set("inner_rank", rows.inner.shape.rank());
  call.set("unaligned", plan.unaligned).set("alignment_unit", plan.alignment_unit);
  if (plan.unaligned) call.index_param("row_length", rows.length);
  call.index_param("rows", rows.count).index_param("steps", plan.steps);
  const auto add_space = [&](std::string_view space, const Collapsed& dims) {
    for (int d = 0; d < dims.shape.rank(); ++d) {
      call.index_param(str_cat(space, "_n", d), dims.shape[d]);
      for (std::size_t k = 0; k < names.size(); ++k) {
        call.index_param(str_cat(names[k], "_", space, d), dims.strides[k][d]);
      }
    }
  };
  add_space("outer", rows.outer);
  add_space("inner", rows.inner);
  // The index needs no split for operands whose rows are single runs.
  const int rank = rows.inner.shape.rank();
  std::vector<std::string> flat;
  for (std::size_t k = 0; k < names.size() && rank > 1; ++k) {
    const Strides& s = rows.inner.strides[k];
    bool run = true;
    for (int d = 0; d + 1 < rank; ++d) run &= s[d] == s[d + 1] * rows.inner.shape[d + 1];
    if (run) flat.emplace_back(names[k]);
  }
  call.set("flat", flat);
  // The stride from a lane's step to its next: constant if the lane keeps its position along the fastest axis, or
  // (`aligned`) if all lanes stay on that axis for the same number of steps.
  const std::int64_t ahead = std::int64_t{plan.threads_per_row} * (plan.across ? 1 : plan.width);
  const std::int64_t fastest = rank == 2 ? std::max<std::int64_t>(rows.inner.shape.back(), 1) : 1;  // rows may be empty
  const bool even = rank <= 1 || (rank == 2 && ahead % fastest == 0);
  const bool aligned = !even && rank == 2 && fastest % ahead == 0;
  call.set("even", even).set("aligned", aligned);
  // A number in the text, so that compilers can simplify quotients by it.
  const std::int64_t runs = aligned ? fastest / ahead : 1;
  call.set("per_run", std::min(runs, std::max<std::int64_t>(plan.register_steps, 1)));
  bool in_ways = even || aligned;  // true if steps are found by strides from the first one
  std::string_view tile_way;
  if (plan.tiles) {
    // A tile's steps lie on one run of the fastest axis, or begin at the start of a run.
    const bool one_run = even || (aligned && runs % plan.register_steps == 0);
    in_ways = one_run || (aligned && plan.register_steps % runs == 0);
    tile_way = one_run ? "even" : in_ways ? "aligned" : "none";
  }
  call.set("tile_way", tile_way);
  std::vector<std::string> still;  // operands with stride 0 from step to step (`aligned`: within a run)
  for (std::size_t k = 0; k < names.size() && (even || aligned); ++k) {
    const Strides& s = rows.inner.strides[k];
    const std::int64_t jump = rank == 0 ? 0 : rank == 1 || aligned ? ahead * s.back() : ahead / fastest * s[0];
    call.index_param(str_cat(names[k], "_jump"), jump);
    if (aligned) call.index_param(str_cat(names[k], "_wrap"), s[0]);
    if (in_ways && jump == 0) still.emplace_back(names[k]);
  }
  call.set("still", still);
}

int loads_at_once(const gpu::Capabilities& capabilities, const RowPlan& plan, bool narrow, bool ahead) {
  if (capabilities.software) return 4;
  const bool single = plan.width == 1;
  if (single && !plan.across) return 16;
  if (narrow) return ahead && plan.unaligned ? 16 : 8;
  if (single) return ahead || plan.steps >= 128 ? 16 : 4;
  return ahead && plan.across ? 8 : 4;
}

void add_batches(Call& call, const RowPlan& plan, const RowSplits& splits, int loads, bool ahead) {
  const std::int64_t threads_per_row = plan.threads_per_row;
  const std::int64_t longest = std::min(plan.steps, splits.steps);
  const std::int64_t batch = ahead ? std::clamp<std::int64_t>(ceil_div(longest, threads_per_row), 1, loads) : loads;
  std::int64_t left = 0, whole = batch;
  const auto count = [&](std::int64_t steps) {
    const std::int64_t rest =
        ahead && steps > 0 ? (steps - 1) % (threads_per_row * batch) + 1 : steps % (threads_per_row * batch);
    left = std::max(left, ceil_div(rest, threads_per_row));
    whole = std::min(whole, rest / threads_per_row);
  };
  if (plan.unaligned) {
    const std::int64_t rounds = ceil_div(plan.steps, threads_per_row), between = std::max<std::int64_t>(rounds - 3, 0);
    count(between * threads_per_row);
    call.index_param("between", between);
  } else {
    count(plan.steps - (splits.count - 1) * splits.steps);
    if (splits.count > 1) count(splits.steps);
  }
  call.set("batch", batch).set("left", left).set("left_whole", whole);
  if (ahead) call.set("loops", longest > threads_per_row * batch);
}

bool is_long(const RowPlan& plan, const RowSplits& splits) {
  return std::min(plan.steps, splits.steps) > 256 * std::int64_t{plan.threads_per_row};
}

void add_moments(Call& call, const RowPlan& plan, const RowSplits& splits, int loads) {
  add_batches(call, plan, splits, loads, true);
  call.set("blocks", is_long(plan, splits));
}
void add_no_moments(Call& call) {
  call.set("batch", 0).set("left", 0).set("left_whole", 0).set("loops", false).set("blocks", false);
}

}  // namespace weft::kernels
