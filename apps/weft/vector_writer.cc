#include "vector_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <format>
#include <utility>

#include "core/format.h"
#include "core/suffix.h"
#include "weft/error.h"

namespace weft::app {
namespace {

// NumPy's format 1.0, in 128 bytes.
std::string npy_header(std::uint64_t count, int dimension) {
  std::string head = std::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", count, dimension);
  head.resize(128 - 10 - 1, ' ');
  head += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + std::string("\x76\x00", 2) + head;
}

// The length of the JSON in 8 bytes, and the JSON, which may end in spaces; in 256 bytes.
std::string safetensors_header(std::uint64_t count, int dimension) {
  constexpr std::size_t kSize = 256 - 8;
  std::string head = std::format(R"({{"embeddings":{{"dtype":"F32","shape":[{},{}],"data_offsets":[0,{}]}}}})", count,
                                 dimension, count * static_cast<std::uint64_t>(dimension) * sizeof(float));
  head.resize(kSize, ' ');
  std::string length(8, '\0');
  length[0] = static_cast<char>(kSize);
  return length + head;
}

}  // namespace

VectorFormat vector_format(const std::string& path) {
  constexpr std::pair<std::string_view, VectorFormat> kFormats[] = {{".jsonl", VectorFormat::json_lines},
                                                                    {".ndjson", VectorFormat::json_lines},
                                                                    {".npy", VectorFormat::npy},
                                                                    {".safetensors", VectorFormat::safetensors}};
  for (const auto& [suffix, format] : kFormats) {
    if (has_suffix(path, suffix)) return format;
  }
  if (!std::filesystem::path(path).has_extension()) return VectorFormat::json_lines;
  throw InvalidArgument("'{}' ends in none of .npy, .safetensors, .jsonl and .ndjson", path);
}

VectorWriter::VectorWriter(const std::string& path, int dimension, std::string advice)
    : format_(vector_format(path)),
      out_(path, format_ == VectorFormat::json_lines ? Output::Head::stays : Output::Head::rewritten),
      dimension_(dimension),
      advice_(std::move(advice)) {
  out_.write(header());
}

std::string VectorWriter::header() const {
  switch (format_) {
    case VectorFormat::json_lines:
      break;
    case VectorFormat::npy:
      return npy_header(count_, dimension_);
    case VectorFormat::safetensors:
      return safetensors_header(count_, dimension_);
  }
  return {};
}

void VectorWriter::write(std::span<const float> rows) {
  const auto bad = std::ranges::find_if(rows, [](float v) { return !std::isfinite(v); });
  if (bad != rows.end()) {
    const auto row = static_cast<std::uint64_t>((bad - rows.begin()) / dimension_);
    throw InvalidArgument(
        "sentence {} of the input: its vector holds {}; the model's weights hold such numbers, or "
        "make them{}",
        count_ + row + 1, *bad, advice_);
  }
  count_ += rows.size() / static_cast<std::size_t>(dimension_);
  if (format_ == VectorFormat::json_lines) return write_json(rows);
  out_.write({reinterpret_cast<const char*>(rows.data()), rows.size_bytes()});
}

void VectorWriter::write_json(std::span<const float> rows) {
  for (std::size_t begin = 0; begin < rows.size(); begin += static_cast<std::size_t>(dimension_)) {
    line_ = "{\"embedding\": [";
    for (int i = 0; i < dimension_; ++i) {
      char digits[32];
      const auto end = std::to_chars(digits, digits + sizeof digits, rows[begin + static_cast<std::size_t>(i)]).ptr;
      if (i) line_ += ", ";
      line_.append(digits, end);
    }
    line_ += "]}\n";
    out_.write(line_);
  }
  out_.flush();
}

void VectorWriter::commit() {
  if (format_ != VectorFormat::json_lines) out_.rewrite_head(header());
  out_.commit();
}

}  // namespace weft::app
