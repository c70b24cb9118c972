// Times MLX on its GPU: tokens of a Llama with random weights, single operations, and steps of a linear regression.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "mlx/mlx.h"

namespace mx = mlx::core;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// A product with weights [n, k], of bf16 or of four bits in groups of 64.
struct Linear {
  Linear(int n, int k, int bits) : w(mx::multiply(mx::random::normal({n, k}, mx::bfloat16), mx::array(0.02f, mx::bfloat16))) {
    if (bits == 4) {
      const std::vector<mx::array> q = mx::quantize(w, 64, 4);
      w = q[0], scales = q[1], biases = q[2];
      mx::eval(w, *scales, *biases);
    } else {
      mx::eval(w);
    }
  }
  mx::array operator()(const mx::array& x) const {
    return scales ? mx::quantized_matmul(x, w, *scales, biases, true, 64, 4) : mx::matmul(x, mx::transpose(w));
  }
  double bytes() const {
    return static_cast<double>(w.nbytes() + (scales ? scales->nbytes() + biases->nbytes() : 0));
  }

  mx::array w;
  std::optional<mx::array> scales, biases;
};

struct Sizes {
  int layers = 32, width = 4096, inner = 14336, heads = 32, key_heads = 8, words = 128256, room = 256;
  int head() const { return width / heads; }
};

// x · sigmoid(x) · y, compiled as in mlx-lm.
const auto gated = mx::compile(
    [](const std::vector<mx::array>& in) {
      return std::vector<mx::array>{in[0] * mx::sigmoid(in[0]) * in[1]};
    },
    true);

struct Layer {
  Layer(const Sizes& s, int bits)
      : q(s.width, s.width, bits),
        k(s.key_heads * s.head(), s.width, bits),
        v(s.key_heads * s.head(), s.width, bits),
        o(s.width, s.width, bits),
        gate(s.inner, s.width, bits),
        up(s.inner, s.width, bits),
        down(s.width, s.inner, bits),
        attention_norm(mx::ones({s.width}, mx::bfloat16)),
        inner_norm(mx::ones({s.width}, mx::bfloat16)),
        keys(mx::zeros({1, s.key_heads, s.room, s.head()}, mx::bfloat16)),
        values(keys) {}

  mx::array operator()(const Sizes& s, const mx::array& x, int at) {
    const auto heads = [&](const mx::array& y, int count) {
      return mx::transpose(mx::reshape(y, {1, 1, count, s.head()}), {0, 2, 1, 3});
    };
    const mx::array h = mx::fast::rms_norm(x, attention_norm, 1e-5f);
    const auto turned = [&](const mx::array& y) { return mx::fast::rope(y, s.head(), false, 500000.0f, 1.0f, at); };
    const mx::array query = turned(heads(q(h), s.heads)), key = turned(heads(k(h), s.key_heads));
    const mx::Shape from{0, 0, at, 0}, to{1, s.key_heads, at + 1, s.head()};
    keys = mx::slice_update(keys, key, from, to);
    values = mx::slice_update(values, heads(v(h), s.key_heads), from, to);
    const mx::array seen = mx::fast::scaled_dot_product_attention(
        query, mx::slice(keys, {0, 0, 0, 0}, to), mx::slice(values, {0, 0, 0, 0}, to),
        1.0f / std::sqrt(static_cast<float>(s.head())));
    const mx::array y = x + o(mx::reshape(mx::transpose(seen, {0, 2, 1, 3}), {1, 1, s.width}));
    const mx::array inner = mx::fast::rms_norm(y, inner_norm, 1e-5f);
    return y + down(gated({gate(inner), up(inner)})[0]);
  }
  double bytes() const {
    return q.bytes() + k.bytes() + v.bytes() + o.bytes() + gate.bytes() + up.bytes() + down.bytes();
  }

  Linear q, k, v, o, gate, up, down;
  mx::array attention_norm, inner_norm, keys, values;
};

void decode(const Sizes& s, int bits, double copy) {
  std::vector<Layer> layers;
  double bytes = 0;
  for (int i = 0; i < s.layers; ++i) {
    layers.emplace_back(s, bits);
    bytes += layers.back().bytes();
  }
  const Linear head(s.words, s.width, bits);
  bytes += head.bytes();
  const mx::array table = mx::random::normal({s.words, s.width}, mx::bfloat16), norm = mx::ones({s.width}, mx::bfloat16);
  mx::array token = mx::array({17}), before = token;
  mx::eval(table, norm, token);
  std::vector<double> times, hosts;
  double last = now();
  for (int at = 0; at < 72; ++at) {
    const double start = now();
    mx::array x = mx::reshape(mx::take(table, token, 0), {1, 1, s.width});
    for (Layer& layer : layers) x = layer(s, x, at);
    token = mx::reshape(mx::argmax(head(mx::fast::rms_norm(x, norm, 1e-5f)), -1), {1});
    std::vector<mx::array> results{token};
    for (const Layer& layer : layers) results.push_back(layer.keys), results.push_back(layer.values);
    mx::async_eval(results);
    const double recorded = now();
    // As mlx-lm generates: a token is read while the GPU computes the next one.
    before.item<std::uint32_t>();
    before = token;
    const double end = now();
    if (at >= 8) times.push_back(end - last), hosts.push_back(recorded - start);
    last = end;
  }
  before.item<std::uint32_t>();
  const double time = median(times);
  std::printf("decode %s, %d layers of %d: %.2f ms a token, %.0f GB/s, %.0f %% of copy; host %.2f ms\n",
              bits == 4 ? "4 bits" : "bf16", s.layers, s.width, 1e3 * time, 1e-9 * bytes / time,
              100 * bytes / time / copy, 1e3 * median(hosts));
  std::fflush(stdout);
}

// Bytes a second that a copy reads and writes.
double copy_rate(int mebibytes) {
  const mx::array x = mx::random::uniform({mebibytes << 18});
  mx::eval(x);
  std::vector<double> times;
  for (int i = 0; i < 20; ++i) {
    const double start = now();
    mx::eval(mx::negative(x));
    mx::synchronize();
    times.push_back(now() - start);
  }
  return 2.0 * static_cast<double>(x.nbytes()) / median(times);
}

void eager() {
  constexpr int kTimes = 20000;
  const mx::array a = mx::random::uniform({1024}), b = mx::random::uniform({1024});
  mx::eval(a, b);
  for (const bool warm : {true, false}) {
    const double start = now();
    for (int i = 0; i < kTimes; ++i) mx::async_eval(a + b);
    const double host = now() - start;
    mx::synchronize();
    if (!warm) std::printf("an eager addition of 1,024 numbers: %.2f us of the host's time\n", 1e6 * host / kTimes);
  }
}

double regression(mx::Device device) {
  mx::set_default_device(device);
  const int features = 100, examples = 1000, steps = 500;
  const mx::array truth = mx::random::normal({features}), x = mx::random::normal({examples, features});
  const mx::array y = mx::matmul(x, truth) + 1e-2f * mx::random::normal({examples});
  mx::array w = 1e-2f * mx::random::normal({features});
  mx::eval(x, y, w);
  const auto loss = [&](const mx::array& v) {
    return (0.5f / examples) * mx::sum(mx::square(mx::matmul(x, v) - y));
  };
  const auto gradient = mx::grad(loss);
  double start = 0;
  for (int i = 0; i < 2 * steps; ++i) {
    if (i == steps) mx::synchronize(), start = now();
    w = w - 0.01f * gradient(w);
    mx::eval(w);
  }
  mx::synchronize();
  return steps / (now() - start);
}

}  // namespace

int main(int argc, char** argv) {
  Sizes s;
  int mebibytes = 512;
  if (argc > 1 && std::strcmp(argv[1], "--small") == 0) {
    s = {.layers = 2, .width = 512, .inner = 1024, .heads = 8, .key_heads = 2, .words = 1000, .room = 80};
    mebibytes = 4;
  } else if (argc > 1) {
    std::fprintf(stderr, "usage: %s [--small]\nThe model is Llama 3 8B's, or --small.\n", argv[0]);
    return 2;
  }
  mx::set_default_device(mx::Device::gpu);
  const double copy = copy_rate(mebibytes);
  std::printf("copy: %.0f GB/s\n", 1e-9 * copy);
  eager();
  for (const int bits : {4, 16}) decode(s, bits, copy);
  const double on_gpu = regression(mx::Device::gpu), on_cpu = regression(mx::Device::cpu);
  std::printf("steps of a linear regression a second: %.0f, on MLX's CPU %.0f\n", on_gpu, on_cpu);
}
