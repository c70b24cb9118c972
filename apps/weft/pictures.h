// Files of pictures, and pictures as inputs and outputs of models.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/dtype.h"
#include "weft/tensor.h"

namespace weft::app {

struct Picture {
  std::int64_t height = 0, width = 0, channels = 0;  // of 3 channels: red, green, blue; of 4: and opacity
  std::vector<std::uint8_t> pixels;                  // [height, width, channels]
};

// A PNG or JPEG file, as its first bytes say; a JPEG is turned as its camera says. Throws IoError, FormatError, and
// Unsupported for other kinds of files, colours of printers, and where the program was built without libpng or libjpeg.
Picture read_picture(const std::string& path);
bool is_picture_name(const std::string& path);  // .png, .jpg, .jpeg

// Writes a picture of 1, 3 or 4 channels as PNG. Throws IoError, Unsupported.
void write_png(const std::string& path, const Picture& picture);

// How a picture becomes an input. What is not given follows from the input's shape and type.
struct PictureOptions {
  std::vector<std::int64_t> size;  // height and width, or one number for both
  enum class Fit : std::uint8_t { stretch, crop, pad } fit = Fit::stretch;
  enum class Layout : std::uint8_t { automatic, nchw, nhwc } layout = Layout::automatic;
  enum class Channels : std::uint8_t { automatic, rgb, bgr, grey, rgba } channels = Channels::automatic;
  // An element is (pixel − mean) · scale, of pixels from 0 to 255; a number for all channels or one for each, in the
  // order in which the model has them.
  std::vector<double> mean, scale;
};

// A picture as an input with these sizes (none: open) and of this type; on the cpu. Throws InvalidArgument for a rank
// that no picture has, and for as many numbers as there are no channels.
Tensor picture_tensor(const Picture& picture, const std::optional<std::vector<std::optional<std::int64_t>>>& sizes,
                      DType dtype, const PictureOptions& options);

// The pictures that an output looks like: [batch,] channels, height, width or height, width, channels of 1, 3 or 4
// channels and at least 8 pixels a side, or height and width alone; of floats, u8 or bool. Floats between 0 and 1 are a
// picture's brightness; u8 and floats between 0 and 255 are pixels; others are stretched from the least to the largest
// value. None if it looks like no picture.
std::vector<Picture> pictures_in(const Tensor& output);

}  // namespace weft::app
