// Files of sounds as inputs of models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/dtype.h"
#include "weft/tensor.h"

namespace weft::app {

struct Sound {
  std::int64_t rate = 0;  // samples in a second
  std::int64_t channels = 0;
  std::vector<float> samples;  // [length, channels], integers as -1 to 1
};

// A WAV file: integers of 8, 16, 24 and 32 bits, floats of 32 and 64. Throws IoError, FormatError, Unsupported.
Sound read_wav(const std::string& path);

// The sound as an input with these sizes (none: open) and of this type: [samples], [1, samples], [1, channels, samples]
// or [1, samples, channels], where the shorter of two known sizes is that of the channels. Channels are mixed into one
// unless the model has as many. A sound of another length than a fixed size is cut, or ends with zeros; `note` says so.
// Integers have the type's whole range. Throws ShapeError.
Tensor sound_tensor(const Sound& sound, const std::optional<std::vector<std::optional<std::int64_t>>>& sizes,
                    DType dtype, std::string& note);

}  // namespace weft::app
