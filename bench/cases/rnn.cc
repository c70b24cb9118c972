// Recurrent networks.
#include "weft/kernels/rnn.h"

#include <format>

#include "../bench.h"
#include "kernels/rnn/recurrence.h"

namespace weft::bench {
namespace {

using kernels::Recurrence;
using kernels::StepForm;

// A network's whole sequence, as one call.
void network(KernelBench& b, const Recurrence& recurrence, DType type, std::int64_t steps, std::int64_t batch,
             std::int64_t inputs, std::int64_t hidden, StepForm form = StepForm::automatic) {
  const std::int64_t rows = recurrence.gates() * hidden;
  const double flop =
      2.0 * static_cast<double>(steps * batch) * static_cast<double>(rows) * static_cast<double>(inputs + hidden);
  // Software devices and CPUs would take minutes for the work of a minute on a GPU.
  if (b.bytes() < 256 << 20 && flop > 2e10) return;
  const auto weights = [&](const Shape& shape) { return b.random(shape, type, -0.04f, 0.04f); };
  const View x = b.random({steps, batch, inputs}, type), w = weights({1, rows, inputs});
  const View r = weights({1, rows, hidden}), bias = weights({1, rows});
  const View y = b.poisoned({steps, 1, batch, hidden}, type), h = b.poisoned({1, batch, hidden}, type);
  const std::string_view forms[] = {"", ", fused steps", ", split steps"};
  b.measure(
      std::format("{} {} [{}, {}, {}] to {}{}", recurrence.name(), name(type), steps, batch, inputs, hidden,
                  forms[static_cast<int>(form)]),
      Unit::flop, flop,
      [&](Stream& s) { recur(s, recurrence, {.x = x, .w = w, .r = r, .bias = bias}, {.h = h, .y = y}, form); },
      [&] {
        // The last step of y is h.
        const std::int64_t state = batch * hidden;
        return b.read(y, (steps - 1) * state, state) == b.read(h, 0, state) &&
               b.agrees(std::vector{x, w, r, bias}, y,
                        [&](Stream& s, std::span<const View> in, const View& out) {
                          const View last(Buffer::host(touched_bytes(h)), 0, type, h.shape());
                          recur(s, recurrence, {.x = in[0], .w = in[1], .r = in[2], .bias = in[3]},
                                {.h = last, .y = out});
                        },
                        {.absolute = type == DType::f32 ? 1e-4 : 1e-2});
      },
      {.bytes = touched_bytes(x) + touched_bytes(w) + touched_bytes(r) + touched_bytes(y), .flops = flop});
}

void cases(KernelBench& b) {
  const Recurrence lstm{kernels::LstmOptions{}}, gru{kernels::GruOptions{}};
  for (const DType type : {DType::f32, DType::f16}) {
    network(b, lstm, type, 128, 32, 512, 512);
    network(b, lstm, type, 1, 32, 512, 512);
    network(b, lstm, type, 16, 4, 128, 128);
    network(b, gru, type, 128, 32, 512, 512);
    network(b, gru, type, 16, 4, 128, 128);
    if (!b.device().is_gpu()) continue;
    // Each form of a step, to find where one overtakes the other.
    for (const StepForm form : {StepForm::fused, StepForm::split}) {
      network(b, lstm, type, 16, 4, 128, 128, form);
      if (b.device().gpu().capabilities().software) continue;
      network(b, lstm, type, 128, 32, 512, 512, form);
      network(b, gru, type, 128, 32, 512, 512, form);
      for (const std::int64_t batch : {1, 8, 64, 128}) network(b, lstm, type, 32, batch, 512, 512, form);
      for (const std::int64_t batch : {8, 64}) network(b, lstm, type, 8, batch, 2048, 2048, form);
    }
  }
}

const bool registered = register_cases("rnn", cases);

}  // namespace
}  // namespace weft::bench
