// Pictures as input of networks that were trained on ImageNet.
#pragma once

#include <cstdint>
#include <string>

#include "weft/tensor.h"

namespace vision {

// A PNG file as [height, width, 3] of u8. Throws IoError.
weft::Tensor read_png(const std::string& file);

// What torchvision's transforms make of a picture [height, width, 3] of u8: its shorter side is resized to 8/7 of
// `size`, the middle is cut out, and the channels are normalised. [1, 3, size, size], f32.
weft::Tensor normalised(const weft::Tensor& picture, std::int64_t size);

// Waves of several lengths, where no picture is given: [batch, 3, size, size], f32.
weft::Tensor test_pattern(std::int64_t batch, std::int64_t size);

}  // namespace vision
