#include "compiler/mask_window.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <format>

#include "compiler/passes/fold_constants.h"
#include "weft/small_float.h"

namespace weft::compiler {
namespace {

constexpr std::int64_t kMax = std::int64_t{1} << 26;  // a larger mask takes too long to examine

// Calls f(element) with each as a double, or a boolean as 0 or 1; false if the type is not a mask's.
template <class F>
bool each_element(const TensorData& data, F&& f) {
  const auto all = [&]<class T>(auto&& value) {
    for (std::size_t at = 0; at + sizeof(T) <= data.bytes.size(); at += sizeof(T)) {
      T v;
      std::memcpy(&v, &data.bytes[at], sizeof(T));
      f(value(v));
    }
    return true;
  };
  switch (data.dtype) {
    case DType::boolean:
      return all.template operator()<std::uint8_t>([](std::uint8_t v) { return v ? 1.0 : 0.0; });
    case DType::f32:
      return all.template operator()<float>([](float v) { return static_cast<double>(v); });
    case DType::f16:
      return all.template operator()<float16>([](float v) { return static_cast<double>(v); });
    case DType::bf16:
      return all.template operator()<bfloat16>([](float v) { return static_cast<double>(v); });
    default:
      return false;
  }
}

// A row's visible keys: first…end-1.
struct Seen {
  std::int64_t first = 0, end = 0;
  bool operator==(const Seen& other) const {
    return (first == other.first && end == other.end) || (first >= end && other.first >= other.end);
  }
};

Seen seen_through(const MaskWindow& window, std::int64_t query, std::int64_t queries, std::int64_t keys) {
  const std::int64_t position = query + (window.top_left ? 0 : keys - queries);
  return {window.left < 0 ? 0 : std::clamp<std::int64_t>(position - window.left, 0, keys),
          window.right < 0 ? keys : std::clamp<std::int64_t>(position + window.right + 1, 0, keys)};
}

// The window that the rows of one mask form.
std::optional<MaskWindow> window_of(const std::vector<Seen>& rows, std::int64_t keys) {
  const auto queries = static_cast<std::int64_t>(rows.size());
  for (const bool top_left : {false, true}) {
    MaskWindow window{.top_left = top_left};
    for (std::int64_t i = 0; i < queries; ++i) {
      const Seen& s = rows[static_cast<std::size_t>(i)];
      const std::int64_t position = i + (top_left ? 0 : keys - queries);
      if (s.first >= s.end)
        window.every_query_sees = false;
      else if (s.end < keys)
        window.right = s.end - 1 - position;
      if (s.first < s.end && s.first > 0) window.left = position - s.first;
    }
    bool same = true;
    for (std::int64_t i = 0; i < queries && same; ++i) {
      same = rows[static_cast<std::size_t>(i)] == seen_through(window, i, queries, keys);
    }
    if (same) return window;
  }
  return std::nullopt;
}

std::optional<MaskWindow> look(const Constant& constant, std::int64_t queries, std::int64_t keys) {
  Shape shape = constant.type().shape;
  while (shape.rank() < 2) shape.insert(0, 1);
  const std::int64_t rows = shape[-2], columns = shape[-1];
  if ((rows != queries && rows != 1) || (columns != keys && columns != 1)) return std::nullopt;
  const TensorData data = constant.data();
  const bool boolean = data.dtype == DType::boolean;
  std::vector<char> visible;
  visible.reserve(static_cast<std::size_t>(element_count(shape)));
  bool plain = true, finite = false;
  const bool read = each_element(data, [&](double v) {
    const bool hidden = boolean ? v == 0 : hides(v);
    plain &= hidden || boolean || v == 0;
    finite |= hidden && !boolean && std::isfinite(v);
    visible.push_back(!hidden);
  });
  if (!read || !plain) return std::nullopt;
  std::vector<Seen> first(static_cast<std::size_t>(queries)), here = first;
  const std::int64_t masks = element_count(shape) / (rows * columns);
  for (std::int64_t m = 0; m < masks; ++m) {
    for (std::int64_t i = 0; i < queries; ++i) {
      const char* const row = visible.data() + (m * rows + (rows == 1 ? 0 : i)) * columns;
      const char* const end = row + columns;
      const char* const from = std::find(row, end, 1);
      const char* const to = std::find(from, end, 0);
      if (std::find(to, end, 1) != end) return std::nullopt;
      here[static_cast<std::size_t>(i)] = columns == keys ? Seen{from - row, to - row} : Seen{0, from < to ? keys : 0};
    }
    if (m == 0) first = here;
    if (here != first) return std::nullopt;
  }
  const auto window = window_of(first, keys);
  // If finite numbers hide all keys of a query, softmax still gives these keys weights, which a window would not.
  if (window && finite && !window->every_query_sees) return std::nullopt;
  return window;
}

}  // namespace

bool hides(double added) { return added <= -1e30; }

std::optional<MaskWindow> WindowMasks::find(const Tensor& mask, std::int64_t queries, std::int64_t keys) {
  const std::int64_t count = element_count(mask.shape());
  if (queries == 0 || keys == 0 || count == 0 || count > kMax) return std::nullopt;
  const ConstantPtr constant = constants_.of(mask);
  if (!constant) return std::nullopt;
  const auto [it, is_new] = known_.try_emplace(std::format("{} {} {}", constant->key(), queries, keys));
  if (is_new) it->second = look(*constant, queries, keys);
  return it->second;
}

}  // namespace weft::compiler
