#include "tensor_summary.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/format.h"
#include "core/json_reader.h"
#include "core/mapped_file.h"
#include "core/utf8.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"

namespace weft::app {
namespace {

constexpr std::int64_t kFewElements = 8, kFewRows = 8;

std::vector<std::string> labels_in(const nlohmann::json& json, const std::string& source) {
  const nlohmann::json& all = json.is_object() && json.contains("id2label") ? json.at("id2label") : json;
  std::vector<std::string> labels;
  const auto fail = [&] {
    throw FormatError("{}: it is no list of names, nor an object of them by their numbers", source);
  };
  if (!all.is_array() && !all.is_object()) fail();
  if (all.is_object()) labels.resize(all.size());
  for (const auto& [key, value] : all.items()) {
    // A list of names, or of the several names of each, as ImageNet's has them.
    const nlohmann::json& name = value.is_array() && !value.empty() ? value.back() : value;
    if (!name.is_string()) fail();
    if (all.is_array()) {
      labels.push_back(name.get<std::string>());
      continue;
    }
    std::size_t at = 0;
    for (const char c : key)
      at =
          c >= '0' && c <= '9' && at <= labels.size() ? at * 10 + static_cast<std::size_t>(c - '0') : labels.size() + 1;
    if (key.empty() || at >= labels.size()) fail();
    labels[at] = name.get<std::string>();
  }
  return labels;
}

std::string number(double v) { return std::format("{:.6g}", v); }

std::string largest(std::span<const double> row, int top, const std::vector<std::string>& labels) {
  std::vector<std::size_t> order(row.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = std::min<std::size_t>(order.size(), static_cast<std::size_t>(top));
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), std::greater(),
                            [&](std::size_t i) { return std::isnan(row[i]) ? -INFINITY : row[i]; });
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = order[i];
    text +=
        std::format("{} {} {}", i ? "," : "", at < labels.size() ? labels[at] : std::to_string(at), number(row[at]));
  }
  return text;
}

}  // namespace

std::vector<std::string> read_labels(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  const auto is_control = [](unsigned char c) {
    return (c < 0x20 && c != '\t' && c != '\r' && c != '\n') || c == 0x7f;
  };
  const std::size_t other = std::min<std::size_t>(
      find_invalid_utf8(text), static_cast<std::size_t>(std::ranges::find_if(text, is_control) - text.begin()));
  if (other != text.size())
    throw FormatError("{}: it is no text in UTF-8: byte {} is 0x{:02x}; names of classes are a line each, or JSON",
                      path.string(), other, static_cast<unsigned>(static_cast<unsigned char>(text[other])));
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (text[first] == '[' || text[first] == '{')) {
    return labels_in(parse_json(text, path.string()), path.string());
  }
  std::vector<std::string> labels;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.pop_back();
    labels.push_back(std::move(line));
    at = end + 1;
  }
  return labels;
}

std::string place_text(const Shape& shape, std::size_t index) {
  std::string text;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const auto size = static_cast<std::size_t>(shape[d]);
    text = std::to_string(index % size) + (text.empty() ? "" : ", ") + text;
    index /= size;
  }
  return "[" + text + "]";
}

std::string summary(const std::string& called, const Tensor& x, int top, const std::vector<std::string>& labels) {
  std::string text = std::format("{} {}", called, to_string(x.type()));
  if (x.size() == 0 || x.dtype() == DType::c64) return text + "\n";
  const DefaultDeviceScope host(Device::cpu());
  const std::vector<double> all = cast(to(x, Device::cpu()), DType::f64).read<double>();
  std::vector<double> finite;
  std::ranges::copy_if(all, std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  const auto nans = std::ranges::count_if(all, [](double v) { return std::isnan(v); });
  const auto infinities = static_cast<std::ptrdiff_t>(all.size() - finite.size()) - nans;
  if (!finite.empty()) {
    const auto [least, most] = std::ranges::minmax(finite);
    const double mean = std::accumulate(finite.begin(), finite.end(), 0.0) / static_cast<double>(finite.size());
    double squares = 0;
    for (const double v : finite) squares += (v - mean) * (v - mean);
    text += std::format(": min {}, mean {}, max {}, std {}", number(least), number(mean), number(most),
                        number(std::sqrt(squares / static_cast<double>(finite.size()))));
  }
  if (nans) text += std::format("{} {} of {} NaN", finite.empty() ? ":" : ",", nans, all.size());
  if (infinities)
    text += std::format("{} {} of {} infinite", finite.empty() && !nans ? ":" : ",", infinities, all.size());
  text += "\n";
  if (x.size() <= kFewElements) {
    text += "  elements:";
    for (const double v : all) text += " " + number(v);
    text += "\n";
  }
  const std::int64_t row = x.rank() ? x.shape().back() : 1;
  const bool scores = is_floating(x.dtype()) && row > 1 &&
                      (row == x.size() || (!labels.empty() && row == static_cast<std::int64_t>(labels.size())));
  if (!scores || top == 0 || (labels.empty() && x.size() <= kFewElements)) return text;
  const std::int64_t rows = x.size() / row;
  for (std::int64_t r = 0; r < std::min(rows, kFewRows); ++r) {
    text += rows == 1 ? "  largest:" : std::format("  largest of row {}:", r);
    text +=
        largest(std::span(all).subspan(static_cast<std::size_t>(r * row), static_cast<std::size_t>(row)), top, labels) +
        "\n";
  }
  if (rows > kFewRows) text += std::format("  (and {} rows more)\n", rows - kFewRows);
  return text;
}

}  // namespace weft::app
