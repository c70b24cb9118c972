#include "kernels/matmul/self_test.h"

#include <algorithm>
#include <cstring>
#include <format>

#include "gpu/self_test.h"
#include "kernels/matmul/matmul.h"
#include "kernels/source.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

// Small integers, exact in every type and in any order of summation. Neither pattern is its own transpose or the
// other's.
int a_value(std::int64_t i, std::int64_t k) { return static_cast<int>((i * 7 + k * 3 + i * k % 5) % 11) - 5; }
int b_value(std::int64_t k, std::int64_t j) { return static_cast<int>((k * 5 + j * 13 + 1 + k * j % 3) % 9) - 4; }

// The value that a type stores: u8 stores large numbers for negative ones.
int held(DType dtype, int value) { return dtype == DType::u8 ? value & 0xff : value; }

// A matrix of these values that is loaded in the given form; `k_is_last` as for load_form.
View upload(const gpu::Device& device, DType dtype, std::int64_t rows, std::int64_t columns, const LoadForm& form,
            bool k_is_last, int (*value)(std::int64_t, std::int64_t)) {
  const std::uint64_t size = static_cast<std::uint64_t>(bits(dtype)) / 8;
  const std::uint64_t offset = form.width > 1 ? 0 : size;  // one element off, so that nothing is 16-byte aligned
  std::vector<std::byte> bytes((static_cast<std::uint64_t>(rows * columns) * size + offset + 15) / 16 * 16);
  const Strides strides = form.along_k == k_is_last ? Strides{columns, 1} : Strides{1, rows};
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      const std::uint64_t at = offset + static_cast<std::uint64_t>(i * strides[0] + j * strides[1]) * size;
      if (bits(dtype) == 8) {
        bytes[at] = static_cast<std::byte>(value(i, j));
      } else {
        const float16 half(static_cast<float>(value(i, j)));
        std::memcpy(&bytes[at], &half, 2);
      }
    }
  }
  const Buffer buffer = device.allocate(bytes.size());
  device.upload(buffer, 0, bytes);
  return View(buffer, offset, dtype, {rows, columns}, strides);
}

// A product whose kernel starts to compile at construction, with its expected result.
struct Trial {
  std::int64_t m, n, k;
  DType operand;
  View y;
  gpu::Recording recording;
};

// Two tiles in each direction, two steps of k and a round of prefetch_stagger; the last ones partial where the
// problem's are.
Trial start(const gpu::Device& device, const MatmulVariant& v, const LoadForm& a_form, const LoadForm& b_form,
            const MatmulProblem& p) {
  const int wide = matrix_load_width(v.unit.operand);
  const auto size = [&](std::int64_t of_problem, int tile, int tiles = 2) {
    return tiles * tile - (of_problem % tile != 0 ? wide : 0);
  };
  const int step = v.tile_k * v.stages(a_form, b_form);
  const std::int64_t m = size(p.m, v.tile_m), n = size(p.n, v.tile_n), k = size(p.k, step, 2 + v.prefetch_stagger);
  const View a = upload(device, v.unit.operand, m, k, a_form, true, a_value);
  const View b = upload(device, v.unit.operand, k, n, b_form, false, b_value);
  const auto count = static_cast<std::size_t>(m * n);
  const View y(device.allocate(count * 4), 0, product_type(v.unit.operand, v.unit.operand), {m, n});
  device.upload(y.buffer, 0, std::vector<std::byte>(count * 4, std::byte{0xff}));
  Trial trial{m, n, k, v.unit.operand, y, gpu::Recording(device)};
  matmul_by(trial.recording, matmul_problem(a, b, y, {}), nullptr, v);
  return trial;
}

// Whether the trial's result, `got`, is right.
bool is_right(std::int64_t m, std::int64_t n, std::int64_t k, DType operand, DType result,
              std::span<const std::byte> got) {
  // Sums of whole rows, which compilers vectorise: the first result of a process waits for this test.
  std::vector<int> b_values, sums(static_cast<std::size_t>(n));
  for (std::int64_t l = 0; l < k; ++l) {
    for (std::int64_t j = 0; j < n; ++j) b_values.push_back(held(operand, b_value(l, j)));
  }
  for (std::int64_t i = 0; i < m; ++i) {
    std::ranges::fill(sums, 0);
    for (std::int64_t l = 0; l < k; ++l) {
      const int factor = held(operand, a_value(i, l));
      const int* row = &b_values[static_cast<std::size_t>(l * n)];
      for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += factor * row[j];
    }
    for (std::int64_t j = 0; j < n; ++j) {
      const int sum = sums[static_cast<std::size_t>(j)];
      const std::byte* at = &got[static_cast<std::size_t>((i * n + j) * 4)];
      float real;
      std::int32_t integer;
      std::memcpy(&real, at, 4);
      std::memcpy(&integer, at, 4);
      if (result == DType::f32 ? real != static_cast<float>(sum) : integer != sum) return false;
    }
  }
  return true;
}

Future<bool> passes(const gpu::Device& device, Trial& trial) {
  gpu::Encoder encoder(device);
  encoder.replay(trial.recording);
  gpu::Readback read = encoder.read(trial.y.buffer, 0, static_cast<std::uint64_t>(trial.m * trial.n) * 4);
  encoder.submit();
  return std::move(read).map([m = trial.m, n = trial.n, k = trial.k, operand = trial.operand, result = trial.y.dtype](
                                 const gpu::ReadBytes& got) { return is_right(m, n, k, operand, result, got.span()); });
}

}  // namespace

bool passes_matrix_self_test(const gpu::Device& device, const MatmulVariant& variant, const MatmulProblem& problem) {
  const int wide = matrix_load_width(variant.unit.operand);
  const LoadForm a = form_of_a(problem, wide), b = form_of_b(problem, wide);
  MatmulVariant v = variant;
  v.splits = 1;
  const auto text = [](const LoadForm& form, const char* other) {
    return std::format("{} {}", form.along_k ? "k" : other, form.width);
  };
  // The verdict applies to this text of the kernel.
  static const std::size_t kernel = std::hash<std::string>()(kernel_source("matmul_subgroup_matrix"));
  const auto edge = [](std::int64_t size, int tile, const char* name) { return size % tile != 0 ? name : ""; };
  const std::string key = std::format("{} {}, a along {}, b along {}, edges {}{}{}, stagger {}, kernel {:x}",
                                      to_string(v), name(v.unit.operand), text(a, "m"), text(b, "n"),
                                      edge(problem.m, v.tile_m, "m"), edge(problem.n, v.tile_n, "n"),
                                      edge(problem.k, v.tile_k * v.stages(a, b), "k"), v.prefetch_stagger, kernel);
  return gpu::passes_self_test(device, key, [&] {
    Trial trial = start(device, v, a, b, problem);
    return passes(device, trial);
  });
}

}  // namespace weft::kernels
