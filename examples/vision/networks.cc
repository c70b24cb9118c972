#include "networks.h"

#include <algorithm>
#include <cmath>

#include "weft/array.h"
#include "weft/convolution.h"
#include "weft/pooling.h"

using namespace weft;

namespace vision {
namespace {

enum class Activation : std::uint8_t { none, relu, hardswish };

Tensor activated(const Tensor& x, Activation activation) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return relu(x);
    case Activation::hardswish:
      return hardswish(x);
  }
  return x;
}

struct Convolution {
  std::int64_t outputs, window = 1, stride = 1, groups = 1;
};

// Layers on images [n, height, width, channels]. The kernels are fastest where the channels are adjacent in memory.
class Layers {
 public:
  Layers(const Weights& weights, double epsilon) : weights_(weights), epsilon_(epsilon) {}

  // A convolution without a bias, and batch norm with the statistics of training. The compiler puts the norm into the
  // convolution's weights, and the activation into its kernel.
  Tensor conv_norm(const Tensor& x, const std::string& conv_name, const std::string& norm_name, const Convolution& c,
                   Activation activation = Activation::none) const {
    const auto of_norm = [&](const char* what) { return weights_(norm_name + what, {c.outputs}); };
    const Tensor mean = of_norm(".running_mean"), variance = of_norm(".running_var");
    const Tensor scale = of_norm(".weight"), bias = of_norm(".bias");
    const Tensor y = convolution(x, conv_name, c);
    return activated(batch_norm(y, mean, variance, scale, bias, epsilon_, kChannels), activation);
  }

  // The same without a norm, with a bias.
  Tensor conv_bias(const Tensor& x, const std::string& name, std::int64_t outputs) const {
    return convolution(x, name, {.outputs = outputs}, weights_(name + ".bias", {outputs}));
  }

  // x [n, features] · weightᵀ + bias.
  Tensor linear(const Tensor& x, const std::string& name, std::int64_t outputs) const {
    return matmul(x, weights_(name + ".weight", {outputs, x.shape()[1]}).T()) + weights_(name + ".bias", {outputs});
  }

  static std::int64_t channels(const Tensor& x) { return x.shape()[kChannels]; }
  static Tensor channels_last(const Tensor& x) { return permute(x, {0, 2, 3, 1}); }
  // The mean of each channel, [n, channels].
  static Tensor pooled(const Tensor& x) { return reshape(global_average_pool(x, true), {x.shape()[0], channels(x)}); }

 private:
  static constexpr int kChannels = 3;

  Tensor convolution(const Tensor& x, const std::string& name, const Convolution& c, const Operand& bias = {}) const {
    const Tensor w = weights_(name + ".weight", {c.outputs, channels(x) / c.groups, c.window, c.window});
    const std::int64_t padding = (c.window - 1) / 2;
    return conv(
        x, w, bias,
        {.strides = {c.stride, c.stride}, .padding = {padding, padding}, .groups = c.groups, .channels_last = true});
  }

  const Weights& weights_;
  double epsilon_;
};

// ---- ResNet-50

// 1x1 to fewer channels, 3x3, 1x1 to four times as many, beside a shortcut.
Tensor bottleneck(const Layers& net, const Tensor& x, const std::string& name, std::int64_t channels,
                  std::int64_t stride) {
  constexpr auto kRelu = Activation::relu;
  Tensor y = net.conv_norm(x, name + ".conv1", name + ".bn1", {.outputs = channels}, kRelu);
  y = net.conv_norm(y, name + ".conv2", name + ".bn2", {.outputs = channels, .window = 3, .stride = stride}, kRelu);
  y = net.conv_norm(y, name + ".conv3", name + ".bn3", {.outputs = 4 * channels});
  Tensor shortcut = x;
  if (stride != 1 || Layers::channels(x) != 4 * channels) {
    shortcut =
        net.conv_norm(x, name + ".downsample.0", name + ".downsample.1", {.outputs = 4 * channels, .stride = stride});
  }
  return relu(y + shortcut);
}

// ---- MobileNet-v3

std::int64_t divisible_by_8(double channels) {
  const std::int64_t rounded = std::max<std::int64_t>(8, std::llround(std::floor((channels + 4) / 8)) * 8);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

struct InvertedResidual {
  std::int64_t window, expanded, outputs;
  bool squeeze;
  Activation activation;
  std::int64_t stride;
};

constexpr InvertedResidual kMobileNetLarge[] = {
    {3, 16, 16, false, Activation::relu, 1},       {3, 64, 24, false, Activation::relu, 2},
    {3, 72, 24, false, Activation::relu, 1},       {5, 72, 40, true, Activation::relu, 2},
    {5, 120, 40, true, Activation::relu, 1},       {5, 120, 40, true, Activation::relu, 1},
    {3, 240, 80, false, Activation::hardswish, 2}, {3, 200, 80, false, Activation::hardswish, 1},
    {3, 184, 80, false, Activation::hardswish, 1}, {3, 184, 80, false, Activation::hardswish, 1},
    {3, 480, 112, true, Activation::hardswish, 1}, {3, 672, 112, true, Activation::hardswish, 1},
    {5, 672, 160, true, Activation::hardswish, 2}, {5, 960, 160, true, Activation::hardswish, 1},
    {5, 960, 160, true, Activation::hardswish, 1},
};

// A factor from 0 to 1 for each channel, from the means of all of them.
Tensor squeeze_and_excite(const Layers& net, const Tensor& x, const std::string& name) {
  const std::int64_t channels = Layers::channels(x);
  Tensor factor = global_average_pool(x, true);
  factor = relu(net.conv_bias(factor, name + ".fc1", divisible_by_8(static_cast<double>(channels) / 4)));
  factor = hardsigmoid(net.conv_bias(factor, name + ".fc2", channels));
  return x * factor;
}

// 1x1 to more channels, a convolution of each channel alone, 1x1 to fewer, beside a shortcut.
Tensor inverted_residual(const Layers& net, const Tensor& x, const std::string& name, const InvertedResidual& block,
                         double width) {
  const auto scaled = [&](std::int64_t channels) { return divisible_by_8(static_cast<double>(channels) * width); };
  const std::int64_t expanded = scaled(block.expanded), outputs = scaled(block.outputs);
  int part = 0;
  const auto next = [&] { return name + ".block." + std::to_string(part++); };
  const auto layer = [&](const Tensor& y, const Convolution& c, Activation activation) {
    const std::string at = next();
    return net.conv_norm(y, at + ".0", at + ".1", c, activation);
  };
  Tensor y = x;
  if (expanded != Layers::channels(x)) y = layer(y, {.outputs = expanded}, block.activation);
  y = layer(y, {.outputs = expanded, .window = block.window, .stride = block.stride, .groups = expanded},
            block.activation);
  if (block.squeeze) y = squeeze_and_excite(net, y, next());
  y = layer(y, {.outputs = outputs}, Activation::none);
  return block.stride == 1 && Layers::channels(x) == outputs ? x + y : y;
}

}  // namespace

Tensor resnet50(const Tensor& x, const Weights& weights, const NetworkOptions& options) {
  const Layers net(weights, 1e-5);
  const std::int64_t first = std::max<std::int64_t>(1, std::llround(64 * options.width));
  Tensor y = net.conv_norm(Layers::channels_last(x), "conv1", "bn1", {.outputs = first, .window = 7, .stride = 2},
                           Activation::relu);
  y = max_pool(y, {.window = {3, 3}, .strides = {2, 2}, .padding = {1, 1}, .channels_last = true});
  constexpr int kBlocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    for (int block = 0; block < kBlocks[stage]; ++block) {
      const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(block);
      y = bottleneck(net, y, name, first << stage, stage > 0 && block == 0 ? 2 : 1);
    }
  }
  return net.linear(Layers::pooled(y), "fc", options.classes);
}

Tensor mobilenet_v3_large(const Tensor& x, const Weights& weights, const NetworkOptions& options) {
  const Layers net(weights, 1e-3);
  const auto scaled = [&](std::int64_t channels) {
    return divisible_by_8(static_cast<double>(channels) * options.width);
  };
  const auto layer = [&](const Tensor& y, int at, const Convolution& c) {
    const std::string name = "features." + std::to_string(at);
    return net.conv_norm(y, name + ".0", name + ".1", c, Activation::hardswish);
  };
  int at = 0;
  Tensor y = layer(Layers::channels_last(x), at++, {.outputs = scaled(16), .window = 3, .stride = 2});
  for (const InvertedResidual& block : kMobileNetLarge) {
    y = inverted_residual(net, y, "features." + std::to_string(at++), block, options.width);
  }
  y = layer(y, at, {.outputs = 6 * Layers::channels(y)});
  y = hardswish(net.linear(Layers::pooled(y), "classifier.0", scaled(1280)));
  return net.linear(y, "classifier.3", options.classes);
}

}  // namespace vision
