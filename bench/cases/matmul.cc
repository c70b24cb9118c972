// Matrix products.
#include <array>
#include <format>

#include "../bench.h"

namespace weft::bench {
namespace {

// `rows`: w is stored as [k, n], else as [n, k].
void product(KernelBench& b, DType type, std::int64_t m, std::int64_t n, std::int64_t k, bool rows = false) {
  const double flop = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  // Software devices and CPUs would take minutes for the work of a minute on a GPU.
  if (b.bytes() < 256 << 20 && flop > 2e10) return;
  constexpr std::array<int, 2> kTransposed{1, 0};
  // Matrices that exceed a binding are split, except those of a single row along k.
  if (rows && m < 16 && b.device().is_gpu() &&
      byte_size(type, static_cast<std::uint64_t>(n * k)) > b.device().gpu().capabilities().max_binding)
    return;
  const View a = b.random({m, k}, type), w = b.random(rows ? Shape{k, n} : Shape{n, k}, type);
  const View y = b.poisoned({m, n}, type == DType::i8 ? DType::i32 : type), bt = rows ? w : w.permuted(kTransposed);
  b.measure(
      std::format("matmul {} [{}, {}] x [{}, {}]{}", name(type), m, k, rows ? k : n, rows ? n : k, rows ? "" : "T"),
      Unit::flop, flop, [&](Stream& s) { kernels::matmul(s, a, bt, y); },
      [&] {
        const std::int64_t i = m - 1, j = n / 2 + 1;
        const auto ra = b.read(a, i * k, k);
        std::vector<double> rw;
        if (!rows) rw = b.read(w, j * k, k);
        double sum = 0;
        for (std::int64_t t = 0; t < k; ++t) {
          sum +=
              ra[static_cast<std::size_t>(t)] * (rows ? b.read(w, t * n + j, 1)[0] : rw[static_cast<std::size_t>(t)]);
        }
        return close(b.read(y, i * n + j, 1)[0], sum, type == DType::f32 ? 1e-4 : 4e-3);
      },
      {.bytes = touched_bytes(a) + touched_bytes(w) + touched_bytes(y)});
}

void cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    for (const std::int64_t side : {1024, 2048, 4096, 8192}) product(b, type, side, side, side);
    for (const std::int64_t tokens : {16, 128, 4096, 32768}) {
      for (const auto& [n, k] :
           {std::pair<std::int64_t, std::int64_t>{1152, 384}, {384, 384}, {1536, 384}, {384, 1536}}) {
        product(b, type, tokens, n, k);
      }
    }
    for (const std::int64_t m : {1, 4}) {
      for (const bool rows : {false, true}) product(b, type, m, 14336, 4096, rows);
    }
  }
  product(b, DType::i8, 1, 14336, 4096);
  product(b, DType::i8, 4096, 4096, 4096);
}

const bool registered = register_cases("matmul", cases);

}  // namespace
}  // namespace weft::bench
