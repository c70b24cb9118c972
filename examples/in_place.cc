// Steps that update their inputs where they lie: a row of a cache, and a weight by a rate that changes.
#include <cstdio>
#include <vector>

#include "weft/compile.h"

using namespace weft;

int main() {
  const Device device = Device::open();
  const std::vector<float> zeros(4096 * 64, 0.0f), ones(64, 1.0f);
  Tensor memory(device, DType::f32, {4096, 64}), row(device, DType::f32, {1, 64}), weights(device, DType::f32, {64});
  memory.write(std::as_bytes(std::span(zeros)));
  row.write(std::as_bytes(std::span(ones)));
  weights.write(std::as_bytes(std::span(ones)));

  Graph graph("step");
  auto cache = graph.input("cache", DType::f32, {4096, 64});
  auto w = graph.input("w", DType::f32, {64});
  auto latest = graph.input("row", DType::f32, {1, 64});
  auto at = graph.number("at", DType::i32), rate = graph.number("rate");
  graph.output("cache_out", dynamic_update_slice(cache, latest, at, {0}));
  graph.output("w_out", w - squeeze(latest, 0) * rate);
  auto step = compile(graph, device, {.donate = {{"cache", "cache_out"}, {"w", "w_out"}}});
  for (int i = 0; i < 100; ++i) {  // one row is written in each turn, nothing is copied
    step.run({{"cache", memory}, {"w", weights}, {"row", row}}, {{"cache_out", memory}, {"w_out", weights}},
             {{"at", i}, {"rate", 0.5 / (i + 1)}});
  }
  auto later = memory.async_read<float>();  // a Future<std::vector<float>>: get() waits
  auto values = later.get();

  for (const Donation& d : step.report().donations) {
    std::printf("%s: %s\n", d.output.c_str(), d.in_place ? "in place" : d.reason.c_str());
  }
  double rows = 0;
  for (const float v : values) rows += v / 64;
  std::printf("%g rows are written, w[0] = %g\n", rows, weights.read<float>()[0]);
  return rows == 100 ? 0 : 1;
}
