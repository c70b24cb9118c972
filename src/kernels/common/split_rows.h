// Split rows: few long rows, and rows longer than a binding, for kernels that read a row twice (softmax, norms, scans).
// A row is cut into splits of one workgroup each, which reads its split in tiles. There are two ways:
//
// Two passes. The first dispatch writes each split's partial statistics to scratch; the second combines those of all
// splits and finishes each split. There should be no more splits than workgroups fill a GPU.
//
// Look-back (single pass), for splits of one tile. A workgroup keeps its tile in registers, publishes its partial
// statistics through sync flags (gpu/sync_flags.h) and waits for those of the row's other splits, so that memory is
// read once. WGSL does not guarantee progress to waiting workgroups. So after `spin_limit` polls a workgroup marks its
// tile for the fallback; the last workgroup of a block of rows to arrive, which waits for no other, finishes the marked
// tiles and resets the flags.
//
// The WGSL half is common/split_rows.wgsl.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/common/rows.h"

namespace weft::kernels {

// How rows are split. The kernels choose a form; tests and benchmarks force one.
struct SplitForm {
  std::uint32_t threads = 256;        // of a workgroup, at most
  std::uint32_t register_steps = 8;   // steps of each thread in a tile
  std::uint32_t interleave = 8;       // groups of four rows side by side, where rows lie across
  bool look_back = false;             // single pass; only for rows in one chunk
  std::uint32_t spin_limit = 256;     // polls before a tile is left to the fallback
  std::uint32_t tiles_per_split = 0;  // two passes only; 0: chosen so that the splits just fill the GPU
  bool late = false;                  // for a test: partial statistics arrive only after every waiting one fell back
};

// Rows longer than a binding lie in several chunks, of which the longest decides the form.
struct SplitRows {
  RowPlan plan;                             // of a tile, which is `register_steps` steps of each thread
  std::vector<std::int64_t> steps, splits;  // of a row, in each chunk
  std::int64_t all_splits = 0;              // of a row, in all chunks
  std::int64_t block = 1;                   // rows of a tile
  std::int64_t tiles_per_split = 1;
  DType type = DType::f32;  // of the statistics
  int words = 0;            // statistics of a split, for each row
  bool look_back = false;   // as the form says; for statistics of floats only
  std::uint32_t spin_limit = 0;
  bool late = false;             // as the form says
  bool exact = false;            // with look_back: no tile is partly past a row's end or the last row
  bool column_pairs = false;     // with look_back: as SplitKind says
  bool in_order = false;         // scans: splits are joined in the row's order
  bool packed_partials = false;  // a split's statistics are one packed word
  bool runs = false;             // a thread's steps are groups of four adjacent ones, else all threads_per_row apart
  // Splits have equal lengths up to one step of each thread, where rows do not end with a tile.
  bool balanced = false;
  RowPlan plan_of(std::size_t chunk) const;
  std::int64_t split_steps() const;  // unless balanced
  std::uint64_t bytes() const;       // of scratch; 0: none is needed
};

// What a kernel needs of its splits.
struct SplitKind {
  int element_bits = 32;                  // of x
  DType type = DType::f32;                // of the statistics
  int words = 1;                          // statistics of a split, for each row
  std::size_t operands = 2;               // of the kernel, without the scratch
  std::uint32_t max_register_steps = 32;  // steps of each thread in a tile, at most
  bool by_columns = false;                // where rows lie across, partial statistics are combined column by column
  // Words of statistics of the kernel for 16-bit columns, in groups of four of both x and y, that look back
  // (column_pairs.wgsl); 0: there is no such kernel.
  int column_pairs = 0;
  bool can_look_back = true;  // else rows are read twice
  bool balances = true;       // splits may be balanced; else all but the last are whole tiles
};

// `chunks`: the rows, for each chunk. Nothing if whole rows are faster, which is possible only for one chunk.
std::optional<SplitRows> plan_split_rows(const gpu::Capabilities& capabilities, std::span<const Rows> chunks,
                                         const RowPlanOptions& options, const SplitKind& kind,
                                         const std::optional<SplitForm>& form = {});

// How each chunk's rows are split, for plan_split_rows(): its rows, and what its plan may do.
struct ChunkRows {
  std::vector<Rows> rows;
  std::vector<RowPlanOptions> options;
};
// `describe(chunk)` returns a pair of them.
template <class Chunks, class Describe>
ChunkRows rows_of_chunks(const Chunks& chunks, const Describe& describe) {
  ChunkRows all;
  for (const auto& chunk : chunks) {
    auto [rows, options] = describe(chunk);
    all.rows.push_back(std::move(rows));
    all.options.push_back(std::move(options));
  }
  return all;
}
inline std::optional<SplitRows> plan_split_rows(const gpu::Capabilities& capabilities, const ChunkRows& chunks,
                                                const SplitKind& kind, const std::optional<SplitForm>& form = {}) {
  return plan_split_rows(capabilities, chunks.rows, common_options(chunks.options), kind, form);
}

// Records the dispatches. `start` makes a call with a chunk's operands, after add_rows(…, splits.plan_of(chunk), …).
void run_split_rows(gpu::Commands& commands, std::string_view name, const SplitRows& splits,
                    const std::function<Call(std::size_t chunk)>& start);

// Adds what a kernel that includes column_pairs.wgsl needs; `shares` threads read the partial statistics of a column.
void add_column_pairs(Call& call, const SplitRows& splits, DType y, std::int64_t shares);

// A chunk of rows that are longer than a binding: its views, and where it begins along the rows' axes.
struct RowChunk {
  std::vector<View> views;
  Dims begin;
};
using RowChunks = std::span<const RowChunk>;
// Calls `run` with `views` (of one shape) in pieces of fewer rows, so that all fit a binding. Where single rows do not,
// a piece comes in chunks along the rows' axes, which `along` marks, in row-major order. `scratch` returns the bytes
// that the chunks of a piece exchange, which must fit a binding too.
void in_row_chunks(const gpu::Capabilities& capabilities, std::string_view kernel, std::span<const View> views,
                   const AxisMask& along, const std::function<std::uint64_t(RowChunks)>& scratch,
                   const std::function<void(RowChunks)>& run);
}  // namespace weft::kernels
