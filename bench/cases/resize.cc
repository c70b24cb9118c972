// Resampling of images: to twice and to half the size, with channels first and last, and at the positions of a grid.
#include <array>
#include <format>

#include "../bench.h"
#include "weft/kernels/grid_sample.h"
#include "weft/kernels/resize.h"

namespace weft::bench {
namespace {

using kernels::ResizeMode;
using kernels::ResizeOptions;

constexpr std::array<int, 4> kChannelsSecond{0, 3, 1, 2};

// Images [n, 16, size, size] that fill x or, if y is larger, y.
void resize(KernelBench& b, DType type, std::string_view what, std::int64_t from, std::int64_t to,
            const ResizeOptions& o, bool channels_last) {
  constexpr std::int64_t kChannels = 16;
  const std::int64_t most = std::max(from, to);
  const std::int64_t n = b.bytes() * 8 / bits(type) / (kChannels * most * most);
  if (n == 0) return;
  const auto memory = [&](std::int64_t size) {
    return channels_last ? Shape{n, size, size, kChannels} : Shape{n, kChannels, size, size};
  };
  const View x_memory = b.random(memory(from), type), y_memory = b.poisoned(memory(to), type);
  const auto image = [&](const View& v) { return channels_last ? v.permuted(kChannelsSecond) : v; };
  const View x = image(x_memory), y = image(y_memory);
  const double bytes = static_cast<double>(touched_bytes(x) + touched_bytes(y));
  const std::string label =
      std::format("resize {} {} {} to {}{}", what, name(type), from, to, channels_last ? " channels last" : "");
  b.measure(
      label, Unit::bytes, bytes, [&](Stream& s) { kernels::resize(s, x, y, o); },
      [&] {
        const std::vector<View> inputs{x};
        return b.agrees(inputs, y, [&](Stream& s, auto in, auto& out) { kernels::resize(s, in[0], out, o); },
                        {.relative = type == DType::f32 ? 1e-5 : 4e-3, .absolute = 1e-5});
      });
}

void sample(KernelBench& b, DType type, bool channels_last) {
  constexpr std::int64_t kChannels = 16, kSize = 128;
  const std::int64_t n = b.bytes() * 8 / bits(type) / (kChannels * kSize * kSize);
  if (n == 0) return;
  const Shape memory = channels_last ? Shape{n, kSize, kSize, kChannels} : Shape{n, kChannels, kSize, kSize};
  const View x_memory = b.random(memory, type), y_memory = b.poisoned(memory, type);
  const View grid = b.random({n, kSize, kSize, 2}, DType::f32, -1, 1);
  const auto image = [&](const View& v) { return channels_last ? v.permuted(kChannelsSecond) : v; };
  const View x = image(x_memory), y = image(y_memory);
  b.measure(
      std::format("grid_sample {}{}", name(type), channels_last ? " channels last" : ""), Unit::bytes,
      static_cast<double>(touched_bytes(x) + touched_bytes(grid) + touched_bytes(y)),
      [&](Stream& s) { kernels::grid_sample(s, x, grid, y); },
      [&] {
        const std::vector<View> inputs{x, grid};
        return b.agrees(inputs, y, [&](Stream& s, auto in, auto& out) { kernels::grid_sample(s, in[0], in[1], out); },
                        {.relative = type == DType::f32 ? 1e-4 : 4e-3, .absolute = 1e-4});
      });
}

void cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    for (const bool last : {false, true}) {
      resize(b, type, "nearest", 128, 256, {.mode = ResizeMode::nearest}, last);
      resize(b, type, "linear", 128, 256, {.mode = ResizeMode::linear}, last);
      resize(b, type, "linear", 256, 128, {.mode = ResizeMode::linear}, last);
      resize(b, type, "cubic", 128, 256, {.mode = ResizeMode::cubic}, last);
      resize(b, type, "antialiased cubic", 256, 64, {.mode = ResizeMode::cubic, .antialias = true}, last);
      sample(b, type, last);
    }
  }
}

const bool registered = register_cases("resize", cases);

}  // namespace
}  // namespace weft::bench
