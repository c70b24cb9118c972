// Positions in sorted lists, in bytes of the values and the positions.
#include <array>
#include <format>

#include "../bench.h"

namespace weft::bench {
namespace {

void cases(KernelBench& b) {
  constexpr std::int64_t kValues = 1 << 22;
  for (const std::int64_t n : {1 << 6, 1 << 12, 1 << 20}) {
    const std::string name = std::format("searchsorted f32 [{}] in [{}]", kValues, n);
    if (!b.asked(name)) continue;
    const View x = b.random({n}, DType::f32), list = b.poisoned({n}, DType::f32);
    b.run([&](Stream& s) { kernels::sort(s, x, list, {}, {}); });
    const std::array operands{list, b.random({kValues}, DType::f32)};
    const View y = b.poisoned({kValues}, DType::i32);
    const Operation search = [](Stream& s, auto in, const View& out) { kernels::searchsorted(s, in[0], in[1], out); };
    b.measure(
        name, Unit::bytes, 8.0 * kValues, [&](Stream& s) { search(s, operands, y); },
        [&] { return b.agrees(operands, y, search, {}); });
  }
}

const bool registered = register_cases("search", cases);

}  // namespace
}  // namespace weft::bench
