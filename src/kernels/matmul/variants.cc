#include "kernels/matmul/variants.h"

#include <bit>
#include <limits>

#include "core/str_cat.h"
#include "kernels/call.h"

namespace weft::kernels {
namespace {

constexpr MatmulVariant tile(int m, int n, int k, int thread_m, int thread_n, bool double_buffer = false) {
  return {MatmulKind::tile, m, n, k, thread_m, thread_n, m / thread_m * (n / thread_n), double_buffer};
}
constexpr MatmulVariant sliced(int m, int n, int k, int thread_m, int thread_n, int slices) {
  return {MatmulKind::tile, m, n, k, thread_m, thread_n, m / thread_m * (n / thread_n) * slices, false, slices};
}
constexpr MatmulVariant gemv_k(int m, int n, int threads) { return {MatmulKind::gemv_k, m, n, 0, 0, 0, threads}; }
constexpr MatmulVariant gemv_n(int m, int threads) {
  return {MatmulKind::gemv_n, m, 128, threads / 32 * 4, 0, 0, threads};
}
// Thirty-two threads times `slices` share four columns.
constexpr MatmulVariant read_gemv(int m, int k, int threads, int slices = 1) {
  return {MatmulKind::read_gemv, m, threads / 32 / slices * 4, k, 0, 0, threads, false, slices};
}
constexpr MatmulVariant direct(int m, int n, int threads) {
  return {MatmulKind::direct, m, n * threads, 0, m, n, threads};
}

constexpr MatmulVariant kVariants[] = {
    tile(256, 128, 16, 16, 8),
    tile(128, 128, 32, 8, 8),
    tile(128, 64, 16, 8, 8),
    tile(64, 64, 16, 8, 4),
    tile(64, 64, 16, 8, 4, true),
    tile(32, 64, 32, 4, 4),
    tile(32, 32, 32, 4, 4),
    tile(16, 32, 32, 4, 4),
    sliced(32, 32, 32, 4, 4, 2),
    sliced(16, 32, 32, 4, 4, 4),
    gemv_k(8, 4, 32),
    gemv_k(8, 4, 64),
    gemv_k(4, 8, 32),
    gemv_k(4, 4, 32),
    gemv_k(2, 4, 32),
    gemv_k(1, 4, 32),
    gemv_k(1, 4, 64),
    gemv_k(1, 4, 128),
    gemv_k(1, 2, 256),
    gemv_n(1, 256),
    gemv_n(2, 256),
    gemv_n(4, 256),
    gemv_n(1, 128),
    gemv_n(4, 128),
    read_gemv(1, 4096, 256),
    read_gemv(1, 2048, 128),
    read_gemv(1, 2048, 32),
    read_gemv(1, 4096, 128, 4),
    read_gemv(1, 4096, 256, 2),
    read_gemv(2, 1024, 64),
    read_gemv(4, 2048, 128, 2),
    read_gemv(4, 1024, 256),
    read_gemv(4, 1024, 64),
    direct(32, 4, 8),
    direct(16, 4, 8),
    direct(8, 4, 8),
    direct(4, 4, 8),
    direct(1, 4, 8),
};

// Tile sizes for cooperative matrices: of a workgroup and of a subgroup.
struct MatrixTile {
  int m, n, k, sub_m, sub_n;
};
constexpr MatrixTile kMatrixTiles[] = {
    {256, 128, 32, 64, 64}, {128, 256, 32, 64, 64}, {128, 128, 32, 64, 64}, {128, 64, 32, 64, 32},
    {64, 64, 64, 32, 32},   {32, 64, 64, 16, 32},   {32, 32, 64, 16, 16},   {16, 32, 64, 16, 16},
};

// Bytes of padding of a row, so that adjacent rows start on different banks.
constexpr int kRowPadding = 16;

// Workgroup memory that leaves room for a second workgroup on a core with 48 KiB.
constexpr int kSharedMemory = 23 * 1024 + 512;
// Workgroup memory of a core with one workgroup.
constexpr int kOwnMemory = 48 * 1024 - 64;  // scheduling of loads takes a little

int element_bytes(const gpu::MatrixShape& unit) { return bits(unit.operand) / 8; }

int subgroups(const MatmulVariant& v) { return v.tile_m / v.thread_m * (v.tile_n / v.thread_n); }

// Bytes of the operands' tiles, with rows along k, or along m or n, like the operand in memory.
int operand_memory(const MatmulVariant& v, bool a_along_k, bool b_along_k) {
  const auto tile = [&](int across, int sub, bool along_k) {
    const int size = element_bytes(v.unit);
    return across / sub * (along_k ? sub * (v.tile_k * size + kRowPadding) : v.tile_k * (sub * size + kRowPadding));
  };
  return tile(v.tile_m, v.thread_m, a_along_k) + tile(v.tile_n, v.thread_n, b_along_k);
}

// Bytes of a subgroup's results while they are stored.
int result_memory(const MatmulVariant& v) {
  return static_cast<int>(v.unit.m) * (v.result_columns() * static_cast<int>(v.unit.n) + kRowPadding / 4) * 4;
}

}  // namespace

int MatmulVariant::workgroup_memory() const {
  switch (kind) {
    case MatmulKind::subgroup_matrix: {
      int most = 0;
      for (const auto& [a, b] : {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
        most = std::max(most, operand_memory(*this, a, b) + result_slots(a, b) * result_memory(*this));
      }
      return most;
    }
    case MatmulKind::tile:
      return (tile_m + tile_n) * tile_k * 4 * (double_buffer ? 2 : 1) * slices;
    case MatmulKind::gemv_k:
      return (tile_m * tile_n * (threads + 1) + (threads > tile_m * tile_n ? threads : 0)) * 4;
    case MatmulKind::gemv_n:
      return threads * 16;
    case MatmulKind::read_gemv:  // a's elements, then sums
      return tile_m * std::max(tile_k / 128, threads / 32) * 33 * 16;
    case MatmulKind::direct:
      return 0;
  }
  return 0;
}

// Two if a stage's rows of operands along k are half a cache line, and registers suffice for twice as many loads.
int MatmulVariant::stages(const LoadForm& a, const LoadForm& b) const {
  constexpr int kHalfLine = 64, kMaxLoads = 12;
  if (tile_k * element_bytes(unit) != kHalfLine || a.width == 1 || b.width == 1 || !(a.along_k || b.along_k)) return 1;
  const int loads_a = tile_m * kHalfLine / 16, loads_b = tile_n * kHalfLine / 16;
  if (loads_a % threads != 0 || loads_b % threads != 0) return 1;
  const int loads = loads_a * (a.along_k ? 2 : 1) + loads_b * (b.along_k ? 2 : 1);
  return loads <= kMaxLoads * threads ? 2 : 1;
}

int MatmulVariant::results(const LoadForm& a, const LoadForm& b) const {
  if (kind == MatmulKind::tile) return thread_m * thread_n / 4;
  const int columns = result_columns() * static_cast<int>(unit.n), slots = result_slots(a.along_k, b.along_k);
  const int times = thread_m / static_cast<int>(unit.m) * (thread_n / columns) * (subgroups(*this) / slots);
  return times * static_cast<int>(ceil_div(slots * static_cast<int>(unit.m) * columns / 4, threads));
}

int MatmulVariant::result_columns() const { return thread_n / static_cast<int>(unit.n) % 2 == 0 ? 2 : 1; }

int MatmulVariant::result_slots(bool a_along_k, bool b_along_k) const {
  const int operands = operand_memory(*this, a_along_k, b_along_k), each = result_memory(*this);
  const int room = (operands + each <= kSharedMemory ? kSharedMemory : kOwnMemory) - operands;
  int slots = subgroups(*this);
  while (slots > 1 && (subgroups(*this) % slots != 0 || slots * each > room)) --slots;
  return slots;
}

std::string to_string(const MatmulVariant& v) {
  switch (v.kind) {
    case MatmulKind::tile:
      return str_cat("tile_", v.tile_m, "x", v.tile_n, "x", v.tile_k, "_", v.thread_m, "x", v.thread_n,
                     v.double_buffer ? "_double" : "", v.slices > 1 ? str_cat("_slices", v.slices) : "",
                     v.splits > 1 ? str_cat("_split", v.splits) : "");
    case MatmulKind::gemv_k:
      return str_cat("gemv_k_", v.tile_m, "x", v.tile_n, "_", v.threads);
    case MatmulKind::gemv_n:
      return str_cat("gemv_n_", v.tile_m, "x", v.tile_n, "_", v.threads,
                     v.splits > 1 ? str_cat("_split", v.splits) : "");
    case MatmulKind::read_gemv:
      return str_cat("read_gemv_", v.tile_m, "x", v.tile_n, "x", v.tile_k, "_", v.threads,
                     v.slices > 1 ? str_cat("_slices", v.slices) : "");
    case MatmulKind::direct:
      return str_cat("direct_", v.thread_m, "x", v.thread_n, "_", v.threads);
    case MatmulKind::subgroup_matrix:
      return str_cat("subgroup_matrix_", v.tile_m, "x", v.tile_n, "x", v.tile_k, "_", v.thread_m, "x", v.thread_n,
                     "_by_", v.unit.m, "x", v.unit.n, "x", v.unit.k, v.splits > 1 ? str_cat("_split", v.splits) : "");
  }
  return {};
}

std::span<const MatmulVariant> matmul_variants() { return kVariants; }

std::optional<gpu::MatrixShape> matrix_unit(const gpu::Capabilities& capabilities, DType operand) {
  // The subgroup size must be known beforehand.
  if (capabilities.subgroup_min == 0 || capabilities.subgroup_min != capabilities.subgroup_max) return std::nullopt;
  if (operand != DType::f16 && operand != DType::i8 && operand != DType::u8) return std::nullopt;
  // Sums of u8 are u32, with the same bits as the i32 of a product.
  const DType sum = operand == DType::u8 ? DType::u32 : product_type(operand, operand);
  std::optional<gpu::MatrixShape> best;
  for (const gpu::MatrixShape& s : capabilities.matrix_shapes) {
    if (s.operand != operand || s.result != sum) continue;
    if (s.m > 16 || s.n > 16 || s.k > 32) continue;  // tiles are multiples of these
    if (!best || s.m * s.n * s.k > best->m * best->n * best->k) best = s;
  }
  return best;
}

MatmulVariant matrix_variant(int tile_m, int tile_n, int tile_k, int sub_m, int sub_n, const gpu::MatrixShape& unit,
                             const gpu::Capabilities& capabilities) {
  const int subgroups = tile_m / sub_m * (tile_n / sub_n);
  MatmulVariant v{MatmulKind::subgroup_matrix,
                  tile_m,
                  tile_n,
                  tile_k,
                  sub_m,
                  sub_n,
                  subgroups * static_cast<int>(capabilities.subgroup_max)};
  v.unit = unit;
  // Measured on an H200: gains 6 to 20 % with large tiles.
  if (tile_m >= 128 && tile_n >= 128) v.prefetch_stagger = 8;
  return v;
}

std::vector<MatmulVariant> matrix_variants(const gpu::Capabilities& capabilities, DType operand) {
  std::vector<MatmulVariant> variants;
  const auto unit = matrix_unit(capabilities, operand);
  if (!unit) return variants;
  // The tiles' k in bytes of a row, the same for all types.
  const int deeper = 2 / element_bytes(*unit);
  for (const MatrixTile& t : kMatrixTiles) {
    variants.push_back(matrix_variant(t.m, t.n, t.k * deeper, t.sub_m, t.sub_n, *unit, capabilities));
  }
  return variants;
}

bool rows_vectorise(const View& view, int width) {
  if (view.shape()[-1] % width != 0 || view.strides()[-1] != 1) return false;
  if (width == 4) return can_vectorise(view);
  if (view.offset * 8 % static_cast<std::uint64_t>(bits(view.dtype) * width) != 0) return false;
  for (int d = 0; d + 1 < view.rank(); ++d) {
    if (view.shape()[d] != 1 && view.strides()[d] % width != 0) return false;
  }
  return true;
}

LoadForm load_form(const View& view, bool k_is_last, int wide) {
  std::vector<int> order;
  for (int d = 0; d < view.rank(); ++d) order.push_back(d);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  if (rows_vectorise(view, wide)) return {k_is_last, wide};
  if (rows_vectorise(view.permuted(order), wide)) return {!k_is_last, wide};
  const auto size = [](std::int64_t stride) { return stride < 0 ? -stride : stride; };
  const bool last_is_nearer = size(view.strides()[-1]) <= size(view.strides()[-2]);
  return {last_is_nearer == k_is_last, 1};
}

namespace {

LoadForm form_of(const MatmulProblem& p, bool is_b, int wide) {
  if (p.reads_windows() && p.windows_are_b == is_b) return p.windows->form(wide);
  const View& view = is_b ? p.b : p.a;
  LoadForm form = load_form(!p.reader && p.is_chosen_from(view) ? p.all_matrices(view) : view, !is_b, wide);
  if (p.reader && p.reader_is_b == is_b && !p.reader->in_fours()) form.width = 1;
  return form;
}

}  // namespace

LoadForm form_of_a(const MatmulProblem& p, int wide) { return form_of(p, false, wide); }
LoadForm form_of_b(const MatmulProblem& p, int wide) { return form_of(p, true, wide); }

bool reads_in_runs(const MatmulProblem& p) {
  const int run = p.reader && p.reader_is_b ? p.reader->run_elements() : 0;
  if (run == 0 || p.k % run != 0 || p.b.strides()[-2] != 1 || (p.n > 1 && p.b.strides()[-1] % run != 0)) return false;
  const LoadForm a = form_of_a(p);
  return a.along_k && a.width == 4;
}

int matrix_load_width(DType operand) { return 128 / bits(operand); }

bool can_run(const MatmulVariant& v, const MatmulProblem& p, const gpu::Capabilities& capabilities) {
  if (static_cast<std::uint32_t>(v.threads) > capabilities.max_workgroup_size) return false;
  if (static_cast<std::uint32_t>(v.workgroup_memory()) > capabilities.max_workgroup_memory) return false;
  const bool tiles = v.kind == MatmulKind::tile || v.kind == MatmulKind::subgroup_matrix;
  if (p.reads_windows() && !tiles) return false;
  // (Only software devices have windows in memory.)
  if (p.windows && !tiles && v.kind != MatmulKind::direct) return false;
  if (p.ranges && v.kind != MatmulKind::tile && v.kind != MatmulKind::direct) return false;
  if (v.kind == MatmulKind::gemv_k) return p.a.strides()[-1] == 1 && p.b.strides()[-2] == 1;
  if (v.kind == MatmulKind::gemv_n) return p.b.strides()[-1] == 1;
  if (v.kind == MatmulKind::read_gemv) return reads_in_runs(p);
  if (v.kind == MatmulKind::subgroup_matrix) {
    if (p.a.dtype != v.unit.operand || p.b.dtype != v.unit.operand) return false;
    if (std::ranges::find(capabilities.matrix_shapes, v.unit) == capabilities.matrix_shapes.end()) return false;
    // The kernel accesses operands as vectors of words, y as its elements.
    if (p.a.buffer == p.y.buffer || p.b.buffer == p.y.buffer) return false;
    // Bytes are loaded sixteen at a time or not at all.
    const int wide = matrix_load_width(v.unit.operand);
    if (v.thread_m % wide != 0 || v.thread_n % wide != 0) return false;  // a load must be within one subgroup's block
    const LoadForm a = form_of_a(p, wide), b = form_of_b(p, wide);
    if (p.reads_windows() && (p.windows_are_b ? b : a).width == 1) return false;
    return v.unit.operand == DType::f16 || (a.width > 1 && b.width > 1);
  }
  return true;
}

std::uint64_t scratch_bytes(const MatmulVariant& v, const MatmulProblem& p) {
  return v.splits > 1 ? p.sums_bytes(v.splits) : 0;
}

namespace {

// Measured on an H200 (132 cores): the number of workgroups from which on a tile pays.
struct Threshold {
  MatmulVariant variant;
  std::int64_t groups;
};

std::int64_t groups_of(const MatmulVariant& v, const MatmulProblem& p) {
  return p.batches() * ceil_div(p.m, v.tile_m) * ceil_div(p.n, v.tile_n);
}

// True if tiles of that size compute far more past the edges than those of 64 × 64 would: of 64 columns half of a tile
// of 128. Measured on an H100 at 100,352 × 64 × 256: 128 × 64 takes three quarters of the time of 256 × 128 in f16, and
// 0.6 of it in f32.
bool is_wasteful(const MatmulVariant& v, const MatmulProblem& p) {
  const auto area = [&](std::int64_t tile_m, std::int64_t tile_n) {
    return ceil_div(p.m, tile_m) * tile_m * ceil_div(p.n, tile_n) * tile_n;
  };
  return 2 * area(v.tile_m, v.tile_n) >= 3 * area(64, 64);
}

std::optional<MatmulVariant> choose_subgroup_matrix(const MatmulProblem& p, const gpu::Capabilities& capabilities,
                                                    std::uint64_t scratch) {
  const auto unit = matrix_unit(capabilities, p.a.dtype);
  if (!unit || p.m < 16 || p.n < 16 || p.k < 32) return std::nullopt;
  const int deeper = 2 / element_bytes(*unit);
  const auto tile = [&](int m, int n, int k, int sub_m, int sub_n) {
    return matrix_variant(m, n, k * deeper, sub_m, sub_n, *unit, capabilities);
  };
  // The largest tile only pays with whole cache lines of both operands.
  const int wide = matrix_load_width(p.a.dtype);
  const LoadForm a = form_of_a(p, wide), b = form_of_b(p, wide);
  const bool lines = a.along_k && b.along_k && a.width > 1 && b.width > 1;
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  for (const auto& [v, least] : {Threshold{tile(256, 128, 32, 64, 64), lines ? 128 : kNever},
                                 {tile(128, 128, 32, 64, 64), lines ? 90 : 128},
                                 {tile(128, 64, 32, 64, 32), 110},
                                 {tile(64, 64, 64, 32, 32), 70},
                                 {tile(32, 64, 64, 16, 32), 70}}) {
    if (groups_of(v, p) >= least && !is_wasteful(v, p) && can_run(v, p, capabilities)) return v;
  }
  MatmulVariant smallest = tile(16, 32, 64, 16, 16);
  if (!can_run(smallest, p, capabilities)) return std::nullopt;
  if (p.k >= 1024 && groups_of(smallest, p) < 100) {
    smallest.splits = 4;
    if (scratch_bytes(smallest, p) > scratch) smallest.splits = 1;
  }
  return smallest;
}

// The tile with k split so that every core has work, if that is worth summing the partial products.
std::optional<MatmulVariant> choose_split(const MatmulProblem& p, const gpu::Capabilities& capabilities,
                                          std::uint64_t scratch) {
  constexpr std::int64_t kEnough = 380;
  for (auto [v, least_k] : {std::pair(tile(128, 64, 16, 8, 8), 512), std::pair(tile(64, 64, 16, 8, 4), 96)}) {
    if (!can_run(v, p, capabilities)) continue;
    for (v.splits = 2; v.splits <= 8; v.splits *= 2) {
      if (p.k / v.splits < least_k || scratch_bytes(v, p) > scratch) break;
      if (groups_of(v, p) * v.splits >= kEnough) return v;
    }
  }
  return std::nullopt;
}

// Few rows of a and contiguous rows of b: splits k until every core has enough loads in flight.
std::optional<MatmulVariant> choose_gemv_n(const MatmulProblem& p, const gpu::Capabilities& capabilities,
                                           std::uint64_t scratch) {
  constexpr std::int64_t kEnough = 528, kLeastK = 128;
  const int threads = capabilities.max_workgroup_size >= 256 ? 256 : 128;
  MatmulVariant v = gemv_n(p.m == 1 ? 1 : p.m == 2 && threads == 256 ? 2 : 4, threads);
  if (p.m > 8 || p.n < 32 || !can_run(v, p, capabilities)) return std::nullopt;
  while (groups_of(v, p) * v.splits < kEnough && p.k / v.splits >= 2 * kLeastK) v.splits *= 2;
  while (v.splits > 1 && scratch_bytes(v, p) > scratch) v.splits /= 2;
  return v;
}

// Few rows of a, and rows of b that are read in runs: as many threads as still give every core several workgroups.
// (Measured on an H100: cooperative matrices are slower up to eight rows, for want of workgroup memory.)
std::optional<MatmulVariant> choose_read_gemv(const MatmulProblem& p, const gpu::Capabilities& capabilities) {
  const int rows = p.m == 1 ? 1 : p.m == 2 ? 2 : 4;
  const int threads = rows == 1 || capabilities.max_workgroup_size < 256 ? 128 : 256;
  MatmulVariant v = read_gemv(rows, rows == 1 && p.k >= 8192 ? 2048 : 1024, threads);
  // Several rows leave workgroup memory for two workgroups on a core.
  const std::int64_t enough = rows == 1 ? 264 : 100;
  // Few columns: twice as many threads share them. Measured on an H100 with weights of 4 bits: 14 % less time for 4096
  // × 14336, 20 % for 1024 × 4096.
  if (rows == 1 && p.k >= 4096 && groups_of(v, p) < enough) v = read_gemv(rows, 2048, threads, 2);
  while (v.threads > 32 * v.slices && groups_of(v, p) < enough) {
    v = read_gemv(rows, v.tile_k, v.threads / 2, v.slices);
  }
  if (can_run(v, p, capabilities)) return v;
  return std::nullopt;
}

}  // namespace

MatmulVariant choose_variant(const MatmulProblem& p, const gpu::Capabilities& capabilities, std::uint64_t scratch,
                             bool matrices) {
  if (capabilities.software) {
    // 32 rows take about four fifths of the time of two times 16, unless too many of them are past the end.
    const bool tall = p.m >= 96 || ceil_div(p.m, 32) * 2 == ceil_div(p.m, 16);
    return direct(tall ? 32 : p.m > 8 ? 16 : p.m > 4 ? 8 : p.m > 1 ? 4 : 1, 4, 8);
  }
  if (p.ranges) {
    const MatmulVariant large = tile(64, 64, 16, 8, 4);
    return groups_of(large, p) >= 250 && can_run(large, p, capabilities) ? large : tile(32, 32, 32, 4, 4);
  }
  if (matrices) {
    if (const auto v = choose_subgroup_matrix(p, capabilities, scratch)) return *v;
  }
  // Few rows: a thread decodes each weight once for all of them, or for eight.
  if (p.reader && p.reader_is_b && p.m <= 16) {
    if (const auto v = choose_read_gemv(p, capabilities)) return *v;
    const int rows = std::min(static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(p.m))), 8);
    const MatmulVariant skinny = gemv_k(rows, 4, rows == 1 && p.k >= 2048 ? 64 : 32);
    if (can_run(skinny, p, capabilities)) return skinny;
  }
  // Few rows or columns: tiles would be mostly empty in one direction.
  const MatmulVariant skinny = p.m == 1                   ? p.k >= 8192 ? gemv_k(1, 2, 256) : gemv_k(1, 4, 32)
                                                 : p.k >= 1024 && p.m <= 16 ? gemv_k(8, 4, 64)
                               : p.m <= 4                 ? gemv_k(4, 8, 32)
                                                          : gemv_k(8, 4, 32);
  const MatmulVariant smallest = tile(32, 32, 32, 4, 4);
  if ((p.m <= 16 || p.n <= 8) && can_run(skinny, p, capabilities)) return skinny;
  if (const auto v = choose_gemv_n(p, capabilities, scratch)) return *v;
  for (const auto& [v, least] :
       {Threshold{tile(256, 128, 16, 16, 8), 380}, {tile(128, 128, 32, 8, 8), 500}, {tile(128, 64, 16, 8, 8), 500}}) {
    if (groups_of(v, p) >= least && !is_wasteful(v, p) && can_run(v, p, capabilities)) return v;
  }
  if (const auto v = choose_split(p, capabilities, scratch)) return *v;
  for (const auto& [v, least] : {Threshold{tile(64, 64, 16, 8, 4), 250}, {tile(32, 64, 32, 4, 4), 250}}) {
    if (groups_of(v, p) >= least && can_run(v, p, capabilities)) return v;
  }
  if (groups_of(smallest, p) < 150 && can_run(skinny, p, capabilities)) return skinny;
  return p.m <= 16 ? tile(16, 32, 32, 4, 4) : smallest;
}

}  // namespace weft::kernels
