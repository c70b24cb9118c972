// Frames through a small network of WebNN, whose tensors never leave the device: webnn_stream [FRAMES].
//
// The network looks at each frame and folds what it sees into a state, which the next frame's run takes. Nothing waits
// for the GPU until the last state is read. Then the same again, reading the state after each frame, as a program does
// whose tensors live in host memory: the states are the same, the time is not.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "weft/webnn.h"

using namespace weft;

namespace {

constexpr std::int64_t kSize = 128, kState = 16;
const webnn::Sizes kFrame = {1, 3, kSize, kSize}, kStateShape = {1, kState};

// Numbers from -scale to scale, the same in each run.
std::vector<float> pattern(std::size_t count, float scale) {
  static std::uint32_t seed = 1;
  std::vector<float> values(count);
  for (float& v : values) {
    seed = seed * 1664525u + 1013904223u;
    v = scale * (static_cast<float>(seed >> 8) / 8388608.0f - 1.0f);
  }
  return values;
}

// frame [1, 3, 128, 128], state [1, 16] → the next state [1, 16].
webnn::Graph network(const webnn::Context& context) {
  webnn::GraphBuilder b(context);
  const auto weights = [&](const webnn::Sizes& shape) {
    std::size_t count = 1, inputs = 1;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      count *= static_cast<std::size_t>(shape[i]);
      if (i > 0) inputs *= static_cast<std::size_t>(shape[i]);
    }
    return b.constant({DType::f32, shape}, pattern(count, std::sqrt(3.0f / static_cast<float>(inputs))));
  };
  auto x = b.input("frame", {DType::f32, kFrame});
  auto state = b.input("state", {DType::f32, kStateShape});
  std::int64_t channels = 3;
  for (const std::int64_t outputs : {16, 32, 64}) {
    x = b.relu(b.conv2d(x, weights({outputs, channels, 3, 3}), {.padding = {1, 1, 1, 1}, .strides = {2, 2}}));
    channels = outputs;
  }
  x = b.reshape(b.average_pool2d(x), {1, channels});
  x = b.tanh(b.gemm(x, weights({kState, channels}), {.b_transpose = true}));
  const auto keep = b.constant(DType::f32, 0.9), take = b.constant(DType::f32, 0.1);
  return b.build({{"next", b.add(b.mul(state, keep), b.mul(x, take))}});
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

int main(int argc, char** argv) {
  const int frames = argc > 1 ? std::atoi(argv[1]) : 200;
  if (frames < 1) {
    std::fprintf(stderr, "usage: webnn_stream [FRAMES]\n");
    return 2;
  }
  auto context = webnn::Context::create();
  std::printf("%d frames of %lld x %lld on %s\n", frames, static_cast<long long>(kSize), static_cast<long long>(kSize),
              context.device().name().c_str());
  const auto graph = network(context);

  // Two frames in turn, so that one can be written while the other is read, and two states.
  std::vector<webnn::Tensor> frame, state;
  for (int i = 0; i < 2; ++i) {
    frame.push_back(context.create_tensor({.data_type = DType::f32, .shape = kFrame, .writable = true}));
    state.push_back(
        context.create_tensor({.data_type = DType::f32, .shape = kStateShape, .readable = true, .writable = true}));
  }
  const std::vector<float> pixels[] = {pattern(3 * kSize * kSize, 1), pattern(3 * kSize * kSize, 1)};

  std::vector<float> now(kState);
  const auto read = [&](const webnn::Tensor& tensor) {
    context.read_tensor(tensor, std::as_writable_bytes(std::span(now))).get();
  };
  const auto stream = [&](bool read_each) {
    context.write_tensor(state[0], std::vector<float>(kState));
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < frames; ++i) {
      const int even = i % 2, odd = 1 - even;
      context.write_tensor(frame[even], pixels[even]);
      context.dispatch(graph, {{"frame", frame[even]}, {"state", state[even]}}, {{"next", state[odd]}});
      if (read_each) read(state[odd]);
    }
    read(state[frames % 2]);
    return seconds_since(start) / frames;
  };

  stream(false);  // kernels are compiled and memory is taken
  const double once = stream(false);
  const std::vector<float> expected = now;
  const double each = stream(true);
  if (now != expected) {
    std::fprintf(stderr, "webnn_stream: the states differ\n");
    return 1;
  }
  std::printf("state:");
  for (int i = 0; i < 4; ++i) std::printf(" %.6f", now[static_cast<std::size_t>(i)]);
  std::printf(" …\nread once: %.3f ms a frame; read after each frame: %.3f ms, %.2f times as long\n", once * 1e3,
              each * 1e3, each / once);
  return 0;
}
