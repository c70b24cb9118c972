// Recurrent networks.
#include "weft/kernels/rnn.h"
#include "../bench.h"

namespace weft::bench {
namespace {

// An LSTM's whole sequence, as one call.
void lstm(KernelBench& b, DType type, std::int64_t steps, std::int64_t batch, std::int64_t inputs,
          std::int64_t hidden) {
  const double flop =
      2.0 * static_cast<double>(steps * batch) * static_cast<double>(4 * hidden) * static_cast<double>(inputs + hidden);
  // Software devices and CPUs would take minutes for the work of a minute on a GPU.
  if (b.bytes() < 256 << 20 && flop > 2e10) return;
  const auto weights = [&](const Shape& shape) { return b.random(shape, type, -0.04f, 0.04f); };
  const View x = b.random({steps, batch, inputs}, type), w = weights({1, 4 * hidden, inputs});
  const View r = weights({1, 4 * hidden, hidden}), bias = weights({1, 4 * hidden});
  const View y = b.poisoned({steps, 1, batch, hidden}, type), h = b.poisoned({1, batch, hidden}, type);
  const auto run = [&](Stream& s, const View& to) {
    kernels::lstm(s, {.x = x, .w = w, .r = r, .bias = bias}, {.h = h, .y = to});
  };
  b.measure(
      std::format("lstm {} [{}, {}, {}] to {}", name(type), steps, batch, inputs, hidden), Unit::flop, flop,
      [&](Stream& s) { run(s, y); },
      [&] {
        // The last step of y is h.
        const std::int64_t state = batch * hidden;
        return b.read(y, (steps - 1) * state, state) == b.read(h, 0, state) &&
               b.agrees(std::vector{x, w, r, bias}, y,
                        [&](Stream& s, std::span<const View> in, const View& out) {
                          const View last(Buffer::host(touched_bytes(h)), 0, type, h.shape());
                          kernels::lstm(s, {.x = in[0], .w = in[1], .r = in[2], .bias = in[3]}, {.h = last, .y = out});
                        },
                        {.absolute = type == DType::f32 ? 1e-4 : 1e-2});
      },
      {.bytes = touched_bytes(x) + touched_bytes(w) + touched_bytes(r) + touched_bytes(y), .flops = flop});
}

void cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    lstm(b, type, 128, 32, 512, 512);
    lstm(b, type, 1, 32, 512, 512);
    lstm(b, type, 16, 4, 128, 128);
  }
}

const bool registered = register_cases("rnn", cases);

}  // namespace
}  // namespace weft::bench
