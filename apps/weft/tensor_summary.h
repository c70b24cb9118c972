// What a tensor holds, in a few lines.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft::app {

// Names of classes: a line each, or JSON, which is a list, an object with numbers as names, or has one of these as
// "id2label". Throws IoError, FormatError.
std::vector<std::string> read_labels(const std::filesystem::path& path);

// Where an element is, by its index in row-major order: "[0, 3]".
std::string place_text(const Shape& shape, std::size_t index);

// The type, the range, mean and standard deviation of what is finite, and how much is not; the elements of what has up
// to eight; and of scores, the `top` largest of each row with their labels. Scores are floats whose last axis has as
// many elements as there are labels, or all elements.
std::string summary(const std::string& name, const Tensor& x, int top, const std::vector<std::string>& labels);

}  // namespace weft::app
