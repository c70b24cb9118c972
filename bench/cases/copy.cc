// Copies, transposes and casts.
#include <array>
#include <cmath>
#include <format>

#include "../bench.h"

namespace weft::bench {
namespace {

void copy_cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16, DType::bf16, DType::u8}) {
    const View whole = b.random({b.bytes() * 8 / bits(type)}, type), result = b.poisoned(whole.shape(), type);
    for (const std::int64_t bytes : b.sizes()) {
      const std::int64_t count = bytes * 8 / bits(type);
      const auto side = static_cast<std::int64_t>(std::sqrt(static_cast<double>(count))) / 64 * 64;
      const View x(whole.buffer, 0, type, {count}), y(result.buffer, 0, type, {count});
      const View xs(whole.buffer, 0, type, {side, side}), ys(result.buffer, 0, type, {side, side});
      b.poison(y);
      b.measure(
          std::format("copy {} [{}]", name(type), count), Unit::bytes, 2.0 * static_cast<double>(bytes),
          [&](Stream& s) { kernels::copy(s, x, y); },
          [&] { return b.read(x, count - 1000, 1000) == b.read(y, count - 1000, 1000); });
      b.poison(y);
      constexpr std::array<int, 2> kTransposed{1, 0};
      b.measure(
          std::format("transpose {0} [{1}, {1}]", name(type), side), Unit::bytes,
          2.0 * static_cast<double>(side * side) * bits(type) / 8,
          [&](Stream& s) { kernels::copy(s, xs.permuted(kTransposed), ys); },
          [&] { return b.read(xs, side * 3 + 1, 1) == b.read(ys, side + 3, 1); });
    }
  }
}

void cast_cases(KernelBench& b) {
  const std::int64_t count = b.bytes() / 4;
  const View x = b.random({count}), y = b.poisoned({count}, DType::f16);
  b.measure(
      std::format("cast f32 to f16 [{}]", count), Unit::bytes, 6.0 * static_cast<double>(count),
      [&](Stream& s) { kernels::copy(s, x, y); },
      [&] { return close(b.read(x, count - 1, 1)[0], b.read(y, count - 1, 1)[0], 1e-3); });
}

const bool registered = register_cases("copy", copy_cases) && register_cases("cast", cast_cases);

}  // namespace
}  // namespace weft::bench
