// Convolutions: layers of ResNet-50 and MobileNet, with channels last and channels first.
#include <array>
#include <format>

#include "../bench.h"

namespace weft::bench {
namespace {

struct Layer {
  std::int64_t batch, channels, outputs, size, window, stride = 1, groups = 1;
};

void conv(KernelBench& b, DType type, const Layer& l, bool channels_last) {
  const std::int64_t padding = l.window / 2, out = (l.size + 2 * padding - l.window) / l.stride + 1;
  const std::int64_t depth = l.channels / l.groups * l.window * l.window;
  const double flop = 2.0 * static_cast<double>(l.batch * l.outputs * out * out) * static_cast<double>(depth);
  if (b.bytes() < 256 << 20 && flop > 2e10) return;
  constexpr std::array<int, 4> kChannelsSecond{0, 3, 1, 2};
  const auto image = [&](std::int64_t channels, std::int64_t size) {
    return channels_last ? Shape{l.batch, size, size, channels} : Shape{l.batch, channels, size, size};
  };
  const auto in_order = [&](const View& v) { return channels_last ? v.permuted(kChannelsSecond) : v; };
  const View x_memory = b.random(image(l.channels, l.size), type), y_memory = b.poisoned(image(l.outputs, out), type);
  const View w_memory = b.random(channels_last ? Shape{l.outputs, l.window, l.window, l.channels / l.groups}
                                               : Shape{l.outputs, l.channels / l.groups, l.window, l.window},
                                 type);
  const View x = in_order(x_memory), w = in_order(w_memory), y = in_order(y_memory);
  const kernels::ConvOptions options{.strides = {l.stride, l.stride}, .before = {padding, padding}, .groups = l.groups};
  // A layer without reuse of its operands is bound by memory.
  const bool depthwise = l.groups == l.channels;
  const double bytes = static_cast<double>(touched_bytes(x) + touched_bytes(w) + touched_bytes(y));
  b.measure(
      std::format("conv {}x{} {} {}-{} {}x{}x{}{}{}", l.window, l.window, name(type), l.channels, l.outputs, l.batch,
                  l.size, l.size, l.stride > 1 ? std::format(" stride {}", l.stride) : "",
                  channels_last ? " channels last" : ""),
      depthwise ? Unit::bytes : Unit::flop, depthwise ? bytes : flop,
      [&](Stream& s) { kernels::conv(s, x, w, y, options); },
      [&] {
        // The centre of the last image's last channel.
        const std::int64_t n = l.batch - 1, o = l.outputs - 1, at = out / 2;
        double sum = 0;
        for (std::int64_t c = 0; c < l.channels / l.groups; ++c) {
          for (std::int64_t i = 0; i < l.window; ++i) {
            for (std::int64_t j = 0; j < l.window; ++j) {
              const std::int64_t r = at * l.stride + i - padding, q = at * l.stride + j - padding;
              if (r < 0 || q < 0 || r >= l.size || q >= l.size) continue;
              const std::int64_t from = o / (l.outputs / l.groups) * (l.channels / l.groups) + c;
              const auto place = [](const View& v, std::int64_t a, std::int64_t d, std::int64_t e, std::int64_t f) {
                return a * v.strides()[0] + d * v.strides()[1] + e * v.strides()[2] + f * v.strides()[3];
              };
              sum += b.read(x_memory, place(x, n, from, r, q), 1)[0] * b.read(w_memory, place(w, o, c, i, j), 1)[0];
            }
          }
        }
        const std::int64_t place = n * y.strides()[0] + o * y.strides()[1] + at * (y.strides()[2] + y.strides()[3]);
        return close(b.read(y_memory, place, 1)[0], sum, type == DType::f32 ? 1e-4 : 4e-3);
      },
      {.bytes = static_cast<std::uint64_t>(bytes), .flops = flop});
}

void cases(KernelBench& b) {
  constexpr Layer kLayers[] = {{32, 128, 128, 28, 3},       {32, 64, 256, 56, 1},        {32, 256, 64, 56, 1},
                               {32, 3, 64, 224, 7, 2},      {32, 512, 512, 7, 3},        {32, 256, 512, 56, 1, 2},
                               {1, 128, 128, 28, 3},        {1, 512, 512, 7, 3},         {32, 96, 96, 112, 3, 1, 96},
                               {32, 96, 96, 112, 3, 2, 96}, {32, 960, 960, 7, 3, 1, 960}};
  for (const DType type : {DType::f32, DType::f16}) {
    for (const Layer& layer : kLayers) {
      for (const bool channels_last : {true, false}) conv(b, type, layer, channels_last);
    }
  }
}

const bool registered = register_cases("conv", cases);

}  // namespace
}  // namespace weft::bench
