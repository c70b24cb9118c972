// What softmax, layer norm and the reductions share: a tensor seen as rows, and how a GPU's threads share them.
// The WGSL half is common/row_reduce.wgsl.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "kernels/call.h"

namespace weft::kernels {

// Axes of a tensor, marked by position.
using AxisMask = std::array<bool, kMaxRank>;

// A tensor split in two: `inner` are the axes along which a row runs, `outer` all others, which count the rows. Each
// is collapsed; strides[k] are those of operand k.
struct Rows {
  Collapsed outer, inner;
  std::int64_t count = 1;   // rows
  std::int64_t length = 1;  // elements of a row
};
// All operands share `shape`; their strides stand in the order of `strides`.
Rows rows_along(const Shape& shape, const AxisMask& along, std::span<const Strides> strides);

// True if operand k of `rows` can be read or written four neighbours of one row at a time …
bool vectorises_along(const View& view, const Rows& rows, std::size_t k);
// … or the same element of four neighbouring rows.
bool vectorises_across(const View& view, const Rows& rows, std::size_t k);
// True if operand k is of a type of 16 bits and rows side by side, an even number of them and at least four, begin at
// whole words wherever along them: fours of rows then are taken as two words, the last four together with some of those
// before.
bool packed_pairs(const View& view, const Rows& rows, std::size_t k);
// … or of any number, at least four, that begin at any halves of words: fours are put together of three words.
bool unaligned_pairs(const View& view, const Rows& rows, std::size_t k);
// Elements that threads take side by side of rows that begin anywhere: two, a word, of types of 16 bits, else four.
int alignment_unit_of(DType type);
// True if operands k and l are of types of 16 bits, or of 32, lie in one run along a row, and every row of both starts
// at the same of alignment_unit_of() elements, whichever that is: rows then may be phased.
bool same_misalignment(const View& view, const View& other, const Rows& rows, std::size_t k, std::size_t l);
// True if operand k's neighbours in memory belong to different rows: threads side by side should take rows side by
// side.
bool runs_across(const Rows& rows, std::size_t k);

// How threads share rows. A team of threads works on one row (or on four neighbouring rows, when `across` and width 4).
// Its member m takes the steps m, m + team, m + 2·team, …; a step is `width` elements of a row, or one element of
// `width` rows.
struct RowPlan {
  bool across = false;           // neighbouring threads belong to neighbouring rows
  int width = 1;                 // 1 or 4
  std::uint32_t threads_per_row = 1;        // members; a power of two
  std::uint32_t interleave = 1;  // teams whose members alternate in the order of threads; a power of two
  std::uint32_t workgroup = 1;   // threads
  std::uint32_t cluster = 1;     // neighbouring threads that exchange values by subgroup shuffles
  std::uint32_t register_steps = 0;  // steps of each member that stay in registers; 0: too many, the row is read again
  std::int64_t steps = 0;        // of a row
  std::int64_t groups = 0;       // workgroups
  bool split = false;              // for rows in parts, as the options asked
  bool tiles = false;            // of split_rows.h, whose steps lie `threads_per_row` apart
  // Rows that begin and end anywhere. Of types of 16 bits a step is two words of memory, `threads_per_row` apart, so that threads
  // side by side read and store words side by side; of 32 bits it is four words as they lie. Of a member's first step
  // and its last two, elements may lie outside of the row. Rows that should be kept are phased only if they are.
  bool unaligned = false;
  int alignment_unit = 2;                // alignment_unit_of() what leads
  bool packed = false;           // rows are kept as words of two 16-bit elements: more operations, half the registers
  bool packed_pairs = false;     // fours of rows are two words each; the last of them may overlap others
  bool unaligned_pairs = false;    // they begin at any halves of words; of rows that are only read
  // Of elements of 16 bits that are read or stored in words: what lies between the two words of four of them, as Call's
  // operands take it. 0: fours lie together.
  std::uint32_t pair_stride() const {
    return unaligned && alignment_unit == 2 ? threads_per_row
           : packed_pairs                   ? 1
           : unaligned_pairs                ? Call::kUnaligned
                                            : 0;
  }
};

// True if the plan's steps of operand k are four elements as they lie in memory; `leader`, operand l, is the one whose
// phase the rows have.
bool steps_are_vec4(const RowPlan& plan, const Rows& rows, const View& view, std::size_t k, const View& leader,
                    std::size_t l);

// How threads share rows, for tests and benchmarks: as in RowPlan, rows being kept that take up to `register_steps` steps a
// member.
struct RowForm {
  std::uint32_t threads_per_row = 1, interleave = 1, register_steps = 0;
  std::uint32_t workgroup = 0;  // threads of it, if a team is fewer
};

struct RowPlanOptions {
  bool along4 = false, across4 = false;  // which vectorised forms all operands allow
  bool packed_pairs = false;             // fours of rows are words, where nothing vectorises
  bool unaligned_pairs = false;            // or halves of words
  bool unaligned = false;                   // which rows may be, where nothing vectorises
  int alignment_unit = 2;                        // as in RowPlan, if they are
  bool across = false;                   // lay rows across threads though nothing vectorises
  bool keep = false;                     // the kernel reads a row more than once
  bool in_pairs = false;                   // it reads, or keeps, steps of four as words of two 16-bit elements
  bool packs = false;                    // it may keep rows of 16 bits as words: phased or long ones
  bool ahead = false;                    // steps are loaded ahead of their use, for which fewer threads are enough
  bool split = false;                      // rows will be cut into parts, so that few of them are threads enough
  std::optional<RowForm> form;           // as far as the device allows
};
RowPlan plan_rows(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlanOptions& options);
// What all windows of a tensor allow.
RowPlanOptions common_options(std::span<const RowPlanOptions> chunks);

// Gives `call` the plan as template variables, and what row_reduce.wgsl's row_access(name, …) needs of the operands,
// one name for each list of strides.
void add_rows(Call& call, const Rows& rows, const RowPlan& plan, std::span<const std::string_view> names);

// A row in so many parts, of so many steps each.
struct RowSplits {
  std::int64_t count = 1, steps = 0;
};
inline RowSplits uncut(const RowPlan& plan) { return {1, plan.steps}; }

// Loads that a thread has on their way: of narrow elements more, for as many bytes, and of single ones. `ahead`: of
// kernels that load ahead (row_fusion.wgsl).
int loads_at_once(const gpu::Capabilities& capabilities, const RowPlan& plan, bool narrow, bool ahead = false);

// Tells `call` how a member's steps of a part follow each other: batches of so many `loads` at once, then what is left
// of the longest part, at once too, of which all but `left_whole` may lie behind the end. Phased, the steps between the
// edges do so, and the edges are left as well. `ahead`: batches are loaded ahead (row_fusion.wgsl), so that the last of
// them always is left.
void add_batches(Call& call, const RowPlan& plan, const RowSplits& splits, int loads, bool ahead = false);

}  // namespace weft::kernels
