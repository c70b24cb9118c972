// What softmax, norms, scans and reductions share: a tensor seen as rows, and how a GPU's threads share them.
// The WGSL half is common/row_reduce.wgsl.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <span>

#include "kernels/call.h"

namespace weft::kernels {

// Axes of a tensor, marked by position.
using AxisMask = std::array<bool, kMaxRank>;
// The mask of those axes of `rank`; negative ones count from the end.
AxisMask mask_of(std::span<const int> axes, int rank);

// A tensor's axes in two groups: `inner` are the axes along which a row runs, `outer` all others, which count the rows.
// Both are collapsed; strides[k] are those of operand k.
struct Rows {
  Collapsed outer, inner;
  std::int64_t count = 1;   // rows
  std::int64_t length = 1;  // elements of a row
};
// All operands share `shape`; operand k has strides[k].
Rows rows_along(const Shape& shape, const AxisMask& along, std::span<const Strides> strides);

// True if operand k of `rows` can be read and written four adjacent elements of one row at a time …
bool vectorises_along(const View& view, const Rows& rows, std::size_t k);
// … or the same element of four adjacent rows at a time.
bool vectorises_across(const View& view, const Rows& rows, std::size_t k);
// True if four adjacent rows of operand k, of a 16-bit type, can be read as two 32-bit words (packed pairs): at each
// step the first row begins at a word, and the number of rows is even and at least four. If it is no multiple of four,
// the last group of four rows overlaps the one before it.
bool packed_pairs(const View& view, const Rows& rows, std::size_t k);
// The same for rows that begin anywhere, at least four of them: four elements are assembled from three words.
bool unaligned_pairs(const View& view, const Rows& rows, std::size_t k);
// Elements of an aligned access to unaligned rows: two of a 16-bit type (a word), else four.
int alignment_unit_of(DType type);
// True if rows of operands k and l can be accessed together as unaligned rows: both types have 16 bits, or both 32,
// rows are contiguous, and each row has the same misalignment (its start modulo alignment_unit_of()) in both operands.
bool same_misalignment(const View& view, const View& other, const Rows& rows, std::size_t k, std::size_t l);
// True if adjacent elements of operand k in memory belong to different rows: adjacent threads should take adjacent
// rows.
bool runs_across(const Rows& rows, std::size_t k);

// How threads share rows. `threads_per_row` threads work on one row (or on four adjacent rows, if `across` and width
// 4). Lane m of them takes the steps m, m + threads_per_row, m + 2·threads_per_row, …; a step is `width` elements of a
// row, or one element of `width` rows.
struct RowPlan {
  bool across = false;                // adjacent threads belong to adjacent rows
  int width = 1;                      // 1 or 4
  std::uint32_t threads_per_row = 1;  // a power of two
  std::uint32_t interleave = 1;       // rows (or groups of four) whose lanes alternate in thread order; a power of two
  std::uint32_t workgroup = 1;        // threads
  std::uint32_t cluster = 1;          // adjacent threads that exchange values by subgroup shuffles
  std::uint32_t register_steps = 0;   // steps of each lane that stay in registers; 0: too many, the row is read again
  std::int64_t steps = 0;             // of a row
  std::int64_t groups = 0;            // workgroups
  bool split = false;                 // for split rows, as the options asked
  bool tiles = false;                 // for tiles of split_rows.h, whose steps are threads_per_row apart
  // Rows that begin and end anywhere: a vector body with a peeled head and tail. A step of a 16-bit type is two words,
  // threads_per_row words apart, so that adjacent threads access adjacent words; of a 32-bit type it is four adjacent
  // words. Elements of a lane's first step and of its last two may be outside of the row. Rows that the kernel reads
  // more than once are unaligned only if they stay in registers.
  bool unaligned = false;
  int alignment_unit = 2;        // alignment_unit_of() the leading operand's type
  bool packed = false;           // registers hold words of two 16-bit elements: more operations, half the registers
  bool packed_pairs = false;     // four rows are two words; the last group may overlap the one before it
  bool unaligned_pairs = false;  // the same for rows that begin anywhere and are only read
  // The pair_stride of Call's 16-bit operands. 0: groups of four are contiguous.
  std::uint32_t pair_stride() const {
    return unaligned && alignment_unit == 2 ? threads_per_row
           : packed_pairs                   ? 1
           : unaligned_pairs                ? Call::kUnaligned
                                            : 0;
  }
};

// True if the plan's steps of operand k are vectors of four in memory. `leader`, operand l, is the one whose
// misalignment the rows have.
bool steps_are_vec4(const RowPlan& plan, const Rows& rows, const View& view, std::size_t k, const View& leader,
                    std::size_t l);

// A plan that tests and benchmarks force. Rows of up to `register_steps` steps a lane stay in registers.
struct RowForm {
  std::uint32_t threads_per_row = 1, interleave = 1, register_steps = 0;
  std::uint32_t workgroup = 0;  // threads, if more than the rows of one group need
};

// Ways to access four elements at once. The last three are taken where neither of the first two is possible.
enum class RowAccess : std::uint8_t {
  along,             // vectors of adjacent elements of a row (vectorises_along)
  across,            // vectors of the same element of adjacent rows (vectorises_across)
  pairs_across,      // two words across rows of 16-bit elements (packed_pairs)
  unaligned_across,  // the same of rows that begin anywhere (unaligned_pairs)
  unaligned_along,   // rows that begin and end anywhere (RowPlan::unaligned)
};
class RowAccesses {
 public:
  RowAccesses() = default;
  RowAccesses(std::initializer_list<RowAccess> all) {
    for (const RowAccess a : all) bits_ |= bit(a);
  }
  bool has(RowAccess a) const { return bits_ & bit(a); }
  bool has_vectors() const { return has(RowAccess::along) || has(RowAccess::across); }
  void allow(RowAccess a) { bits_ |= bit(a); }
  // Another operand, or the kernel, allows it only if …
  void require(RowAccess a, bool allowed) {
    if (!allowed) bits_ &= ~bit(a);
  }
  RowAccesses& operator&=(RowAccesses other) {
    bits_ &= other.bits_;
    return *this;
  }

 private:
  static std::uint32_t bit(RowAccess a) { return 1u << static_cast<int>(a); }
  std::uint32_t bits_ = 0;
};

// How a kernel reads a row.
enum class RowReads : std::uint8_t {
  once,
  once_ahead,  // its steps are loaded ahead of their use, so fewer threads are enough
  again,       // more than once, so that it should stay in registers
};
// When a kernel takes four 16-bit elements as two words.
enum class RowWords : std::uint8_t {
  never,
  always,        // it reads, or holds, each step so
  if_they_help,  // it may hold rows so that are unaligned or long
};

// What a plan follows from.
struct RowPlanOptions {
  RowAccesses access = {};  // that all operands allow
  int alignment_unit = 2;   // as in RowPlan, for unaligned rows
  bool across = false;      // adjacent elements of memory belong to adjacent rows (runs_across)
  RowReads reads = RowReads::once;
  RowWords words = RowWords::never;
  bool split = false;           // rows will be split, so fewer threads a row are enough
  std::optional<RowForm> form;  // as far as the device allows

  bool reads_again() const { return reads == RowReads::again; }
};
RowPlan plan_rows(const gpu::Capabilities& capabilities, const Rows& rows, const RowPlanOptions& options);
// What all chunks of a tensor allow.
RowPlanOptions common_options(std::span<const RowPlanOptions> chunks);

// Adds the plan to `call` as template variables, and what row_reduce.wgsl's row_access(name, …) needs of the operands:
// one name for each list of strides.
void add_rows(Call& call, const Rows& rows, const RowPlan& plan, std::span<const std::string_view> names);

// A row in `count` splits of `steps` steps each.
struct RowSplits {
  std::int64_t count = 1, steps = 0;
};
inline RowSplits uncut(const RowPlan& plan) { return {1, plan.steps}; }

// Loads that a thread has in flight: more for narrow elements, so that bytes are equal, and for single elements.
// `ahead`: for kernels that load ahead of use (row_fusion.wgsl).
int loads_at_once(const gpu::Capabilities& capabilities, const RowPlan& plan, bool narrow, bool ahead = false);

// Adds the order of a lane's steps of a split to `call`: batches of `loads` steps, then the rest of the longest split
// in one batch, of which all but `left_whole` steps may be past the end. Of unaligned rows this is about the steps
// between head and tail, which are added to the rest. `ahead`: batches are loaded ahead of use (row_fusion.wgsl), so
// that the last batch always belongs to the rest.
void add_batches(Call& call, const RowPlan& plan, const RowSplits& splits, int loads, bool ahead = false);
// True if a thread takes so many steps that their sum is one of blocks' sums.
bool is_long(const RowPlan& plan, const RowSplits& splits);
// What moments.wgsl needs: batches that are loaded ahead, or, if the moments' rows are in registers, nothing.
void add_moments(Call& call, const RowPlan& plan, const RowSplits& splits, int loads);
void add_no_moments(Call& call);

}  // namespace weft::kernels
