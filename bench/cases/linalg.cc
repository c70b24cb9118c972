// Decompositions of matrices.
#include <cmath>

#include "../bench.h"

namespace weft::bench {
namespace {

// Symmetric matrices with a heavy diagonal, so that they are positive definite, and pivots are on it or near.
View definite(KernelBench& b, std::int64_t count, std::int64_t n) {
  std::vector<float> values(static_cast<std::size_t>(count * n * n));
  std::uint32_t state = 1;
  for (std::int64_t m = 0; m < count; ++m) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) {
        state = state * 1664525u + 1013904223u;
        const float v = i == j ? static_cast<float>(n) : static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
        values[static_cast<std::size_t>((m * n + i) * n + j)] = values[static_cast<std::size_t>((m * n + j) * n + i)] =
            v;
      }
    }
  }
  const View a(b.device().allocate(values.size() * 4), 0, DType::f32, {count, n, n});
  b.device().upload(a.buffer, 0, std::as_bytes(std::span(values)));
  return a;
}

void linalg_cases(KernelBench& b) {
  for (const auto& [count, n] : {std::pair<std::int64_t, std::int64_t>{1, 4096}, {10000, 32}, {64, 512}}) {
    const auto label = [&](const char* what) { return std::format("{} f32 [{}, {}, {}]", what, count, n, n); };
    if (!b.asked(label("cholesky")) && !b.asked(label("lu")) && !b.asked(label("triangular_solve")) &&
        !b.asked(label("qr"))) {
      continue;
    }
    const View a = definite(b, count, n), factor = b.poisoned({count, n, n}), x = b.poisoned({count, n, n});
    const View info(b.device().allocate(static_cast<std::uint64_t>(count) * 4), 0, DType::i32, {count});
    const View pivots(b.device().allocate(static_cast<std::uint64_t>(count * n) * 4), 0, DType::i32, {count, n});
    const View order(b.device().allocate(static_cast<std::uint64_t>(count * n) * 4), 0, DType::i32, {count, n});
    const double cube = static_cast<double>(count) * std::pow(static_cast<double>(n), 3);
    const auto fine = [&] { return b.read(info, 0, 1)[0] == 0; };
    b.measure(label("cholesky"), Unit::flop, cube / 3, [&](Stream& s) { kernels::cholesky(s, a, factor, info); }, fine);
    b.measure(label("triangular_solve"), Unit::flop, cube,
              [&](Stream& s) { kernels::triangular_solve(s, factor, a, x, {}); }, {});
    b.measure(
        label("lu"), Unit::flop, cube * 2 / 3, [&](Stream& s) { kernels::lu(s, a, factor, pivots, order, info); },
        fine);
    b.measure(label("qr"), Unit::flop, cube * 8 / 3, [&](Stream& s) { kernels::qr(s, a, factor, x); }, {});
  }
}

const bool registered = register_cases("linalg", linalg_cases);

}  // namespace
}  // namespace weft::bench
