// Convolutional networks as graphs, with torchvision's names and shapes of weights.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "weft/graph.h"

namespace vision {

// Gives the weight of that name, which must have that shape.
using Weights = std::function<weft::Tensor(const std::string& name, const weft::Shape& shape)>;

struct NetworkOptions {
  std::int64_t classes = 1000;
  double width = 1;  // numbers of channels, as a fraction of the published network's
};

// The classes' scores [n, classes] (before softmax) of normalised images x [n, 3, height, width].
using Network = weft::Tensor(const weft::Tensor& x, const Weights& weights, const NetworkOptions& options);

// He, Zhang, Ren and Sun, Deep Residual Learning for Image Recognition, 2015; strides are in the 3x3 convolutions.
Network resnet50;
// Howard et al., Searching for MobileNetV3, 2019.
Network mobilenet_v3_large;

}  // namespace vision
