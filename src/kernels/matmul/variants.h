// The variants of the matrix-product kernels, and the choice among them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/matmul/problem.h"
#include "weft/gpu.h"

namespace weft::kernels {

enum class MatmulKind : std::uint8_t {
  tile,             // matmul_tile.wgsl: tiles in workgroup memory
  gemv_k,           // matmul_gemv_k.wgsl: threads split k; both operands contiguous along k
  direct,           // matmul_direct.wgsl: no workgroup memory; for software devices
  subgroup_matrix,  // matmul_subgroup_matrix.wgsl: cooperative matrices
  gemv_n,           // matmul_gemv_n.wgsl: few rows, b's rows contiguous
  read_gemv,        // matmul_read_gemv.wgsl: few rows, b read in runs along k
};

struct MatmulVariant {
  MatmulKind kind = MatmulKind::tile;
  int tile_m = 0, tile_n = 0;      // a workgroup's part of y
  int tile_k = 0;                  // step of k (all kinds but gemv_k and direct)
  int thread_m = 0, thread_n = 0;  // a thread's part of y (kinds tile and direct), a subgroup's (subgroup_matrix)
  int threads = 0;                 // of a workgroup
  bool double_buffer = false;      // kind tile: two stages in workgroup memory, one barrier a step
  // Parts of k within a workgroup. Kind tile: with several, tile_k is at least tile_n. Kind read_gemv: so many times 32
  // threads share columns, and tile_k is a multiple of 1024 times as many.
  int slices = 1;
  int splits = 1;           // kinds tile, subgroup_matrix and gemv_n: split k, summed by matmul_reduce.wgsl
  gpu::MatrixShape unit{};  // kind subgroup_matrix: what a subgroup multiplies at once
  // Kind subgroup_matrix, if an operand lies along k: workgroups that share operands and start k at different steps, so
  // that one's cache miss is the others' hit. 0: none.
  int prefetch_stagger = 0;

  int workgroup_memory() const;  // bytes; kind subgroup_matrix: for the layouts that take most
  int stages(const LoadForm& a, const LoadForm& b) const;  // kind subgroup_matrix: of a step of k
  // Kind subgroup_matrix: columns of matrices, and subgroups, that store through workgroup memory at once.
  int result_columns() const;
  int result_slots(bool a_along_k, bool b_along_k) const;
  int results(const LoadForm& a, const LoadForm& b) const;  // kinds tile, subgroup_matrix: fours that a thread stores
  bool operator==(const MatmulVariant&) const = default;
};

// "tile_128x128x16_8x8", "tile_64x64x16_8x4_double_split4", "tile_32x32x32_4x4_slices4", "gemv_k_8x4_32",
// "direct_16x2_8", "gemv_n_1x128_256", "read_gemv_1x32x4096_256", "subgroup_matrix_128x128x32_64x64_by_16x16x16".
std::string to_string(const MatmulVariant& variant);

// All variants without cooperative matrices, for tests and tuning.
std::span<const MatmulVariant> matmul_variants();
// Variants on the device's cooperative matrices of f16, i8 or u8, with the best shape first.
std::vector<MatmulVariant> matrix_variants(const gpu::Capabilities& capabilities, DType operand);
// A variant with any tile, for tuning.
MatmulVariant matrix_variant(int tile_m, int tile_n, int tile_k, int sub_m, int sub_n, const gpu::MatrixShape& unit,
                             const gpu::Capabilities& capabilities);
// The shape of cooperative matrices for operands of this type; nothing if the device has no suitable one.
std::optional<gpu::MatrixShape> matrix_unit(const gpu::Capabilities& capabilities, DType operand);

// True if the device and the operands' layouts allow the variant.
bool can_run(const MatmulVariant& variant, const MatmulProblem& problem, const gpu::Capabilities& capabilities);

// The variant that was fastest in measurements. `scratch`: bytes that splits may use. `matrices`: cooperative matrices
// may be used.
MatmulVariant choose_variant(const MatmulProblem& problem, const gpu::Capabilities& capabilities, std::uint64_t scratch,
                             bool matrices = true);

// Bytes of scratch that a variant's splits need.
std::uint64_t scratch_bytes(const MatmulVariant& variant, const MatmulProblem& problem);

// `wide`: elements of a load if the layout allows it.
LoadForm load_form(const View& view, bool k_is_last, int wide = 4);
LoadForm form_of_a(const MatmulProblem& problem, int wide = 4);
LoadForm form_of_b(const MatmulProblem& problem, int wide = 4);

// Elements of 16 bytes, which kind subgroup_matrix loads at once.
int matrix_load_width(DType operand);

// Whether b is read in runs along k, and a four elements at a time.
bool reads_in_runs(const MatmulProblem& problem);

// True if `width` elements of a row can be loaded at once, in every row.
bool rows_vectorise(const View& view, int width = 4);

}  // namespace weft::kernels
