// Few long rows, and rows longer than a binding, for kernels that read them twice (softmax, norms, scans): a row is
// cut into parts, each of one workgroup, which reads it in tiles. In a first dispatch each workgroup leaves in the
// scratch what its part adds to the row's statistics; in a second, each finishes its part with the statistics of all
// of them, so that there should be no more parts than workgroups fill a GPU. Or, of parts that are single tiles, with
// `look_back`, one dispatch does both: a workgroup keeps its tile in registers while it looks for the statistics of the
// row's other parts, so that memory is read once. WGSL promises no progress to threads that wait for others: one that
// has looked `spin_limit` times in vain gives its tile up, and the last workgroup to leave the row, which needs nobody,
// finishes those. What parts find they then leave not in scratch but in words that rest (gpu/sync_flags.h),
// which that last one lays to rest.
// The WGSL half is common/split_rows.wgsl.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/common/rows.h"

namespace weft::kernels {

// Chosen by the kernels; tests and benchmarks force one.
struct SplitForm {
  std::uint32_t threads = 256;    // of a workgroup, at most
  std::uint32_t register_steps = 8;         // steps of each thread in a tile
  std::uint32_t interleave = 8;   // teams of fours side by side where rows lie across
  bool look_back = false;             // only rows in one window
  std::uint32_t spin_limit = 256;
  std::uint32_t tiles_per_split = 0;        // tiles of a part that does not wait; 0: so many that parts are just enough
  bool late = false;              // for a test: what is waited for comes when everybody has given up
};

// Parts of rows that are longer than a binding lie in several windows, of which the longest decides the form.
struct SplitRows {
  RowPlan plan;               // of a tile, which are `register_steps` steps of its members
  std::vector<std::int64_t> steps, splits;  // of a row, in each window
  std::int64_t all_splits = 0;
  std::int64_t block = 1;     // rows of a tile
  std::int64_t tiles_per_split = 1;     // tiles of a part
  DType type = DType::f32;    // of the statistics
  int words = 0;              // of them a part's
  bool look_back = false;         // as the form says; of floats only
  std::uint32_t spin_limit = 0;
  bool late = false;          // as the form says
  bool exact = false;         // what waits has no tiles or rows in part
  bool column_pairs = false;  // as the kind says, of tiles that wait
  bool runs = false;          // a thread's steps lie four after another, not all a team apart
  // Parts of all but one length, where rows do not end with a tile: they share rounds, a step of each member, in order.
  bool balanced = false;
  RowPlan plan_of(std::size_t chunk) const;
  std::int64_t split_steps() const;  // unless balanced
  std::uint64_t bytes() const;  // of scratch
};

// What a kernel's parts are made of.
struct SplitKind {
  int element_bits = 32;    // of x
  DType type = DType::f32;  // of a part's statistics, of which there are so many words
  int words = 1;
  std::size_t operands = 2;      // of the kernel, beside the scratch
  std::uint32_t max_register_steps = 32;  // steps of each thread
  bool by_columns = false;       // where rows lie across, what is found is joined column by column
  // Columns of 16 bits, in fours of both x and y, go through a kernel of their own (column_pairs.wgsl) where they wait,
  // with so many words of statistics; 0: there is none.
  int column_pairs = 0;
  bool can_look_back = true;          // else rows are read twice
  bool balances = true;          // its parts may be; else all but the last are whole tiles
};

// `chunks`: the rows, one for each window. Nothing if rows had better stay whole, as they can only in one window.
std::optional<SplitRows> plan_split_rows(const gpu::Capabilities& capabilities, std::span<const Rows> chunks,
                                         const RowPlanOptions& options, const SplitKind& kind,
                                         const std::optional<SplitForm>& form = {});

// Records the dispatches. `start` makes a call with a window's operands, after add_rows(…, parts.plan_of(window), …).
void run_split_rows(gpu::Commands& commands, std::string_view name, const SplitRows& splits,
                    const std::function<Call(std::size_t chunk)>& start);

// Gives a call whose kernel includes column_pairs.wgsl what that needs, `shares` threads asking for what the parts of a
// column found.
void add_column_pairs(Call& call, const SplitRows& splits, DType x, DType y, std::int64_t shares);

// Part of rows that are longer than a binding: views of what it holds, and where that begins along a row's axes.
struct RowChunk {
  std::vector<View> views;
  Dims begin;
};
using RowChunks = std::span<const RowChunk>;
// Calls `run` with `views` (of one shape) in pieces of fewer rows until all fit a binding; where single rows do not,
// with each piece in windows, cut along the rows' axes, in row-major order. `along` marks those; `scratch` says how many
// bytes the windows of a piece leave for each other, which must fit a binding too.
void in_row_chunks(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
                   const AxisMask& along, const std::function<std::uint64_t(RowChunks)>& scratch,
                   const std::function<void(RowChunks)>& run);
}  // namespace weft::kernels
