#include "pictures.h"

#include <png.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/resampling.h"

using namespace weft;

namespace vision {

Tensor read_png(const std::string& file) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, file.c_str()) == 0) throw IoError(file + ": " + image.message);
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  const png_color white = {255, 255, 255};  // behind what is transparent
  if (png_image_finish_read(&image, &white, pixels.data(), 0, nullptr) == 0) {
    throw IoError(file + ": " + image.message);
  }
  return tensor({static_cast<std::int64_t>(image.height), static_cast<std::int64_t>(image.width), 3}, pixels);
}

Tensor normalised(const Tensor& picture, std::int64_t size) {
  const std::int64_t height = picture.shape()[0], width = picture.shape()[1];
  const double scale = static_cast<double>(size * 8 / 7) / static_cast<double>(std::min(height, width));
  const auto resized = [&](std::int64_t n) {
    return std::max<std::int64_t>(size, static_cast<std::int64_t>(static_cast<double>(n) * scale));
  };
  Tensor x = expand_dims(permute(picture.cast(DType::f32) / 255, {2, 0, 1}), 0);
  x = upsample(x, {resized(height), resized(width)}, {.mode = ResizeMode::linear, .antialias = true});
  for (const int axis : {2, 3}) {
    const std::int64_t first = (x.shape()[axis] - size) / 2;
    x = slice(x, axis, first, first + size);
  }
  const Tensor mean = tensor({3, 1, 1}, {0.485f, 0.456f, 0.406f}),
               deviation = tensor({3, 1, 1}, {0.229f, 0.224f, 0.225f});
  return (x - mean) / deviation;
}

Tensor test_pattern(std::int64_t batch, std::int64_t size) {
  const Tensor along = arange(0, size).cast(DType::f32) / static_cast<double>(size);
  const Tensor channel = reshape(arange(1, 4), {3, 1, 1}), image = reshape(arange(1, batch + 1), {batch, 1, 1, 1});
  return sin(along * 40.0 * channel) + cos(reshape(along, {size, 1}) * 25.0 * image);
}

}  // namespace vision
