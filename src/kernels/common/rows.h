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
Rows split_rows(const Shape& shape, const AxisMask& along, std::span<const Strides> strides);

// True if operand k of `rows` can be read or written four neighbours of one row at a time …
bool vectorises_along(const View& view, const Rows& rows, std::size_t k);
// … or the same element of four neighbouring rows.
bool vectorises_across(const View& view, const Rows& rows, std::size_t k);
// True if operand k is of a type of 16 bits and rows side by side, an even number of them and at least four, begin at
// whole words wherever along them: fours of rows then are taken as two words, the last four together with some of those
// before.
bool words_across(const View& view, const Rows& rows, std::size_t k);
// … or of any number, at least four, that begin at any halves of words: fours are put together of three words.
bool halves_across(const View& view, const Rows& rows, std::size_t k);
// Elements that threads take side by side of rows that begin anywhere: two, a word, of types of 16 bits, else four.
int phases_of(DType type);
// True if operands k and l are of types of 16 bits, or of 32, lie in one run along a row, and every row of both starts
// at the same of phases_of() elements, whichever that is: rows then may be phased.
bool in_phase(const View& view, const View& other, const Rows& rows, std::size_t k, std::size_t l);
// True if operand k's neighbours in memory belong to different rows: threads side by side should take rows side by
// side.
bool runs_across(const Rows& rows, std::size_t k);

// How threads share rows. A team of threads works on one row (or on four neighbouring rows, when `across` and width 4).
// Its member m takes the steps m, m + team, m + 2·team, …; a step is `width` elements of a row, or one element of
// `width` rows.
struct RowPlan {
  bool across = false;           // neighbouring threads belong to neighbouring rows
  int width = 1;                 // 1 or 4
  std::uint32_t team = 1;        // members; a power of two
  std::uint32_t interleave = 1;  // teams whose members alternate in the order of threads; a power of two
  std::uint32_t workgroup = 1;   // threads
  std::uint32_t cluster = 1;     // neighbouring threads that exchange values by subgroup shuffles
  std::uint32_t kept = 0;        // steps of each member that stay in registers; 0: too many, the row is read again
  std::int64_t steps = 0;        // of a row
  std::int64_t groups = 0;       // workgroups
  bool cut = false;              // for rows in parts, as the options asked
  bool tiles = false;            // of row_parts.h, whose steps lie `team` apart
  // Rows that begin and end anywhere. Of types of 16 bits a step is two words of memory, `team` apart, so that threads
  // side by side read and store words side by side; of 32 bits it is four words as they lie. Of a member's first step
  // and its last two, elements may lie outside of the row. Rows that should be kept are phased only if they are.
  bool phased = false;
  int phases = 2;                // phases_of() what leads
  bool packed = false;           // rows are kept as words of two 16-bit elements: more operations, half the registers
  bool words_across = false;     // fours of rows are two words each; the last of them may overlap others
  bool halves_across = false;    // they begin at any halves of words; of rows that are only read
  // Of elements of 16 bits that are read or stored in words: what lies between the two words of four of them, as Call's
  // operands take it. 0: fours lie together.
  std::uint32_t apart() const {
    return phased && phases == 2 ? team : words_across ? 1 : halves_across ? Call::kAnywhere : 0;
  }
};

// True if the plan's steps of operand k are four elements as they lie in memory; `leader`, operand l, is the one whose
// phase the rows have.
bool steps_in_fours(const RowPlan& plan, const Rows& rows, const View& view, std::size_t k, const View& leader,
                    std::size_t l);

// How threads share rows, for tests and benchmarks: as in RowPlan, rows being kept that take up to `kept` steps a
// member.
struct RowForm {
  std::uint32_t team = 1, interleave = 1, kept = 0;
  std::uint32_t workgroup = 0;  // threads of it, if a team is fewer
};

struct RowPlanOptions {
  bool along4 = false, across4 = false;  // which vectorised forms all operands allow
  bool words_across = false;             // fours of rows are words, where nothing vectorises
  bool halves_across = false;            // or halves of words
  bool phased = false;                   // which rows may be, where nothing vectorises
  int phases = 2;                        // as in RowPlan, if they are
  bool across = false;                   // lay rows across threads though nothing vectorises
  bool keep = false;                     // the kernel reads a row more than once
  bool words = false;                    // it reads, or keeps, steps of four as words of two 16-bit elements
  bool packs = false;                    // it may keep rows of 16 bits as words: phased or long ones
  bool ahead = false;                    // steps are loaded ahead of their use, for which fewer threads are enough
  bool cut = false;                      // rows will be cut into parts, so that few of them are threads enough
  std::optional<RowForm> form;           // as far as the device allows
};
RowPlan plan_rows(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlanOptions& options);
// What all windows of a tensor allow.
RowPlanOptions common_options(std::span<const RowPlanOptions> windows);

// Gives `call` the plan as template variables, and what row_reduce.wgsl's row_access(name, …) needs of the operands,
// one name for each list of strides.
void add_rows(Call& call, const Rows& rows, const RowPlan& plan, std::span<const std::string_view> names);

// A row in so many parts, of so many steps each.
struct Parts {
  std::int64_t count = 1, steps = 0;
};
inline Parts uncut(const RowPlan& plan) { return {1, plan.steps}; }

// Loads that a thread has on their way: of narrow elements more, for as many bytes, and of single ones. `ahead`: of
// kernels that load ahead (row_work.wgsl).
int loads_at_once(const gpu::Capabilities& capabilities, const RowPlan& plan, bool narrow, bool ahead = false);

// Tells `call` how a member's steps of a part follow each other: batches of so many `loads` at once, then what is left
// of the longest part, at once too, of which all but `left_whole` may lie behind the end. Phased, the steps between the
// edges do so, and the edges are left as well. `ahead`: batches are loaded ahead (row_work.wgsl), so that the last of
// them always is left.
void add_batches(Call& call, const RowPlan& plan, const Parts& parts, int loads, bool ahead = false);

}  // namespace weft::kernels
