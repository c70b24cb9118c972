// Pooling: windows of image networks with channels first and last, adaptive ones, and gradients.
#include <array>
#include <format>

#include "../bench.h"

namespace weft::bench {
namespace {

using kernels::PoolOptions;

struct Window {
  const char* name;
  std::int64_t size, stride, before;
};

// x with channels first or last in memory.
View image(KernelBench& b, const Shape& shape, DType type, bool channels_last, bool random) {
  const Shape stored = channels_last ? Shape{shape[0], shape[2], shape[3], shape[1]} : shape;
  const View memory = random ? b.random(stored, type) : b.poisoned(stored, type);
  return channels_last ? memory.permuted(std::array<int, 4>{0, 3, 1, 2}) : memory;
}

// A function from `in` to `out`, which are made only for a case that is asked for.
void pool(KernelBench& b, const std::string& what, DType type, const Shape& in, const Shape& out, bool channels_last,
          const Operation& operation) {
  const std::string name =
      std::format("{} {} {}{}", what, weft::name(type), to_string(in), channels_last ? " channels last" : "");
  if (!b.asked(name)) return;
  const View x = image(b, in, type, channels_last, true), y = image(b, out, type, channels_last, false);
  const auto bytes = static_cast<double>(touched_bytes(x) + touched_bytes(y));
  b.measure(
      name, Unit::bytes, bytes, [&](Stream& s) { operation(s, std::span(&x, 1), y); },
      [&] { return b.agrees(std::span(&x, 1), y, operation, {.absolute = type == DType::f32 ? 1e-5 : 4e-3}); });
}

void cases(KernelBench& b) {
  constexpr Window kWindows[] = {{"2x2 stride 2", 2, 2, 0}, {"3x3 stride 2", 3, 2, 1}, {"3x3 stride 1", 3, 1, 1}};
  constexpr std::int64_t kChannels = 64, kSide = 112;
  for (const DType type : {DType::f32, DType::f16}) {
    const Shape x = b.tensor(type, {-1, kChannels, kSide, kSide}).shape;
    for (const bool last : {false, true}) {
      for (const Window& w : kWindows) {
        const std::int64_t side = (kSide + 2 * w.before - w.size) / w.stride + 1;
        const Shape y{x[0], kChannels, side, side};
        const PoolOptions o{
            .window = {w.size, w.size}, .strides = {w.stride, w.stride}, .before = {w.before, w.before}};
        const auto named = [&](const char* what) { return std::format("{} {}", what, w.name); };
        pool(b, named("max pool"), type, x, y, last,
             [o](Stream& s, auto in, const View& out) { kernels::max_pool(s, in[0], out, o); });
        pool(b, named("average pool"), type, x, y, last,
             [o](Stream& s, auto in, const View& out) { kernels::average_pool(s, in[0], out, o); });
        pool(b, named("average pool gradient"), type, y, x, last,
             [o](Stream& s, auto in, const View& out) { kernels::average_pool_gradient(s, in[0], out, o); });
      }
      pool(b, "adaptive average pool 7x7", type, x, {x[0], kChannels, 7, 7}, last,
           [](Stream& s, auto in, const View& out) { kernels::average_pool(s, in[0], out, {.adaptive = true}); });
    }
  }
}

const bool registered = register_cases("pool", cases);

}  // namespace
}  // namespace weft::bench
