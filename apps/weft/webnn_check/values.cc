#include "webnn_check/values.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <format>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/format.h"
#include "webnn/message.h"
#include "weft/small_float.h"

namespace weft::app {
namespace {

using webnn::ArgumentKind;
using webnn::TypeError;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Elements of one tensor: more than any check needs, less than a host's memory.
constexpr std::uint64_t kMostElements = std::uint64_t{1} << 28;

// Arguments of older data, by the specification's names for them.
constexpr struct {
  std::string_view old, name;
} kOldNames[] = {{"roundingType", "outputShapeRounding"}, {"type", "dataType"}};

template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

// Digits of an integer. Past 64 bits it is the nearest double.
std::optional<Number> integer_in(std::string_view text) {
  if (const auto v = parsed<std::int64_t>(text)) return Number(*v);
  if (const auto v = parsed<std::uint64_t>(text)) return Number(*v);
  const bool digits = !text.empty() && text.find_first_not_of("0123456789", text[0] == '-') == std::string_view::npos;
  if (const auto v = parsed<double>(text); v && digits) return Number(*v);
  return {};
}

std::optional<Number> plain_number(const nlohmann::json& json) {
  if (json.is_number_unsigned()) return Number(json.get<std::uint64_t>());
  if (json.is_number_integer()) return Number(json.get<std::int64_t>());
  if (json.is_number_float()) return Number(json.get<double>());
  return {};
}

Number special(const JsonReader& json) {
  const JsonReader value = json.at("special");
  const std::string text = value.text();
  if (text == "NaN") return kNaN;
  if (text == "Infinity") return kInfinity;
  if (text == "-Infinity") return -kInfinity;
  if (text == "-0") return -0.0;
  value.expected("NaN, Infinity, -Infinity or -0");
}

Number bigint(const JsonReader& json) {
  const JsonReader value = json.at("bigint");
  const auto number = integer_in(value.text());
  if (!number) value.expected("the digits of an integer");
  return *number;
}

double limit(const JsonReader& json, const Surroundings& around) {
  const JsonReader name = json.at("limit");
  if (name.text() != "maxTensorByteLength") name.expected("maxTensorByteLength");
  const auto add = json.find("add"), divide = json.find("divide");
  return (static_cast<double>(around.max_tensor_byte_length) + (add ? add->number() : 0)) /
         (divide ? divide->number() : 1);
}

bool truth(const JsonReader& json, const Surroundings& around) {
  if (json.is_string()) return !json.text().empty();
  const nlohmann::json& value = json.value();
  if (value.is_boolean()) return value.get<bool>();
  const std::string_view mark = mark_of(json);
  if (value.is_number() || mark == "special" || mark == "limit") {
    const double number = to_number(json, around).value();
    return number != 0 && !std::isnan(number);
  }
  return mark != "bigint" || bigint(json).value() != 0;
}

webnn::Value list_value(ArgumentKind kind, const JsonReader& json, const Surroundings& around) {
  const std::vector<JsonReader> elements = json.elements();
  if (kind == ArgumentKind::operands) {
    std::vector<webnn::Operand> operands;
    for (const JsonReader& e : elements) operands.push_back(around.operand(e));
    return operands;
  }
  if (kind == ArgumentKind::choices) {
    std::vector<std::string> texts;
    for (const JsonReader& e : elements) texts.push_back(e.is_string() ? e.text() : e.value().dump());
    return texts;
  }
  std::vector<double> reals;
  webnn::Sizes sizes;
  for (const JsonReader& e : elements) {
    const Number number = to_number(e, around);
    reals.push_back(number.value());
    if (const auto integer = number.as_int64()) sizes.push_back(*integer);
  }
  if (sizes.size() == reals.size()) return sizes;
  return reals;
}

// ---- Elements

std::uint64_t low_bits(const Number& number, DType type) {
  if (is_floating(type)) return number.bits(type);
  const int unused = 64 - bits(type);
  return number.integer().value_or(0) << unused >> unused;
}

std::uint64_t element(std::span<const std::byte> bytes, DType type, std::uint64_t index) {
  const int width = bits(type);
  if (width < 8) return std::to_integer<std::uint64_t>(bytes[index / 2]) >> (4 * (index % 2)) & 15;
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data() + index * static_cast<std::size_t>(width) / 8, static_cast<std::size_t>(width) / 8);
  return value;
}

double real_of(std::uint64_t element, DType type) {
  if (type == DType::f16) return float16::from_bits(static_cast<std::uint16_t>(element));
  if (type == DType::f32) return std::bit_cast<float>(static_cast<std::uint32_t>(element));
  return std::bit_cast<double>(element);
}

// An integer of any type.
struct Integer {
  bool negative = false;
  std::uint64_t magnitude = 0;

  explicit Integer(std::uint64_t element, DType type) {
    const int unused = 64 - bits(type);
    const auto extended = static_cast<std::int64_t>(element << unused) >> unused;
    negative = is_signed(type) && extended < 0;
    magnitude = negative ? 0 - static_cast<std::uint64_t>(extended) : element;
  }
  explicit Integer(const JsonReader& json) {
    const Number number = number_of(json);
    const double value = number.value();
    const auto whole = number.integer();
    if (!whole || std::trunc(value) != value) json.expected("an integer of 64 bits");
    negative = value < 0;
    magnitude = negative ? 0 - *whole : *whole;
  }
  double distance(const Integer& other) const {
    if (negative == other.negative) {
      return static_cast<double>(std::max(magnitude, other.magnitude) - std::min(magnitude, other.magnitude));
    }
    return static_cast<double>(magnitude) + static_cast<double>(other.magnitude);
  }
  double value() const { return negative ? -static_cast<double>(magnitude) : static_cast<double>(magnitude); }
  std::string to_string() const { return (negative ? "-" : "") + std::to_string(magnitude); }
};

// The bits of a floating number as an integer that is in the order of the values.
double ordered(std::uint64_t element, DType type) {
  const std::uint64_t sign = std::uint64_t{1} << (bits(type) - 1);
  const auto magnitude = static_cast<double>(element & (sign - 1));
  return element & sign ? -magnitude : magnitude;
}

std::string real_text(std::uint64_t element, DType type) {
  const double value = real_of(element, type);
  return bits(type) > 32 ? std::format("{}", value) : std::format("{}", static_cast<float>(value));
}

struct Comparison {
  double distance = 0;  // by the metric
  double allowed = 0;
  std::string got = {}, expected = {};
};

// Distances and what they are compared with. Only a comparison that fails needs its texts.
class Comparer {
 public:
  Comparer(DType type, const Tolerance& tolerance) : type_(type), tolerance_(tolerance) {}

  Comparison compare(std::uint64_t got, const JsonReader& json) const {
    const bool ulp = tolerance_.metric == Tolerance::Metric::ulp;
    Comparison c;
    if (is_floating(type_)) {
      const std::uint64_t bits = number_of(json).bits(type_);
      const double a = real_of(got, type_), b = real_of(bits, type_);
      c.allowed = allowed(b);
      if (a == b || (std::isnan(a) && std::isnan(b))) return c;
      c.distance = std::isnan(a) || std::isnan(b) ? kInfinity
                   : ulp                          ? std::abs(ordered(got, type_) - ordered(bits, type_))
                                                  : std::abs(a - b);
      if (!(c.distance <= c.allowed) || std::isinf(c.distance)) {
        c.got = real_text(got, type_);
        c.expected = real_text(bits, type_);
      }
      return c;
    }
    const Integer a(got, type_), b(json);
    c.allowed = allowed(b.value());
    c.distance = a.distance(b);
    if (c.distance > c.allowed) {
      c.got = a.to_string();
      c.expected = b.to_string();
    }
    return c;
  }

  std::string text(const Comparison& c) const {
    const std::string_view unit = tolerance_.metric == Tolerance::Metric::ulp && is_floating(type_) ? " ULP" : "";
    if (std::isinf(c.distance)) return std::format("{}, expected {}", c.got, c.expected);
    return std::format("{}, expected {}: {}{} apart, {} allowed", c.got, c.expected, c.distance, unit, c.allowed);
  }

 private:
  double allowed(double expected) const {
    return tolerance_.metric == Tolerance::Metric::relative ? tolerance_.value * std::abs(expected) : tolerance_.value;
  }

  DType type_;
  Tolerance tolerance_;
};

std::string coordinates(std::uint64_t index, const webnn::Sizes& shape) {
  webnn::Sizes at(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    at[i] = static_cast<std::int64_t>(index) % shape[i];
    index /= static_cast<std::uint64_t>(shape[i]);
  }
  return webnn::to_string(at);
}

}  // namespace

std::string_view mark_of(const JsonReader& json) {
  for (const std::string_view mark : {"ref", "special", "bigint", "limit", "undefined", "buffer"}) {
    if (json.has(mark)) return mark;
  }
  return {};
}

bool is_absent(const JsonReader& json) { return json.is_null() || mark_of(json) == "undefined"; }

Number number_of(const JsonReader& json) {
  if (const auto number = plain_number(json.value())) return *number;
  const std::string_view mark = mark_of(json);
  if (mark == "special") return special(json);
  if (mark == "bigint") return bigint(json);
  if (json.is_string()) {
    if (const auto number = integer_in(json.text())) return *number;
  }
  json.expected("a number");
}

Number to_number(const JsonReader& json, const Surroundings& around) {
  if (const auto number = plain_number(json.value())) return *number;
  const std::string_view mark = mark_of(json);
  if (mark == "special") return special(json);
  if (mark == "limit") return limit(json, around);
  if (mark == "bigint") throw TypeError("a BigInt cannot be converted to a number");
  if (json.is_null()) return 0;
  if (json.value().is_boolean()) return json.boolean() ? 1 : 0;
  if (json.is_string()) return parsed<double>(json.text()).value_or(kNaN);
  return kNaN;
}

webnn::Value to_value(ArgumentKind kind, const JsonReader& json, const Surroundings& around) {
  if (is_absent(json)) return {};
  const nlohmann::json& value = json.value();
  switch (kind) {
    case ArgumentKind::operand:
      return around.operand(json);
    case ArgumentKind::boolean:
      return truth(json, around);
    case ArgumentKind::number:
      if (mark_of(json) == "bigint") return bigint(json);
      [[fallthrough]];
    case ArgumentKind::size:
    case ArgumentKind::integer:
    case ArgumentKind::real:
      return to_number(json, around);
    case ArgumentKind::splits:
      if (!value.is_array()) return to_number(json, around);
      [[fallthrough]];
    case ArgumentKind::operands:
    case ArgumentKind::sizes:
    case ArgumentKind::reals:
    case ArgumentKind::choices:
      if (!value.is_array()) throw TypeError("{} is no list", json.is_string() ? json.text() : value.dump());
      return list_value(kind, json, around);
    case ArgumentKind::choice:
    case ArgumentKind::data_type:
      break;
  }
  return json.is_string() ? json.text() : value.dump();
}

void add_argument(webnn::Arguments& arguments, const webnn::ArgumentSchema& schema, const JsonReader& json,
                  const Surroundings& around) {
  arguments.emplace_back(schema.name, to_value(schema.kind, json, around));
}

void add_options(webnn::Arguments& arguments, const webnn::OpSchema& op, const JsonReader& options,
                 const Surroundings& around, std::span<const std::string> unknown) {
  for (const auto& [key, value] : options.members()) {
    if (std::ranges::find(unknown, key) != unknown.end()) continue;
    if (key == "label" && !is_absent(value)) {
      arguments.emplace_back("label", value.is_string() ? value.text() : value.value().dump());
      continue;
    }
    std::string_view name = key;
    for (const auto& [old, now] : kOldNames) {
      // The specification's name outranks an older one beside it.
      if (key == old && !op.argument(old) && !options.has(now)) name = now;
    }
    const webnn::ArgumentSchema* schema = op.argument(name);
    if (schema && !schema->required) add_argument(arguments, *schema, value, around);
  }
}

webnn::OperandDescriptor descriptor_of(const JsonReader& json, const Surroundings& around) {
  if (!json.value().is_object() || !mark_of(json).empty()) throw TypeError("a descriptor is {}", json.value().dump());
  const auto type = json.find("dataType"), shape = json.find("shape");
  if (!type || is_absent(*type)) throw TypeError("the descriptor has no dataType");
  const std::string name = type->is_string() ? type->text() : type->value().dump();
  const auto data_type = webnn::data_type_from_name(name);
  if (!data_type) throw TypeError("the descriptor's dataType is '{}', which is none", webnn::printable(name));
  if (!shape || !shape->value().is_array()) throw TypeError("the descriptor has no list as its shape");
  webnn::OperandDescriptor descriptor{*data_type, {}};
  for (const JsonReader& size : shape->elements()) {
    const double value = std::trunc(to_number(size, around).value());
    if (!(value >= 0 && value <= 4294967295.0)) {
      throw TypeError("the descriptor's shape has {}, expected integers from 0 to 4294967295", value);
    }
    descriptor.shape.push_back(static_cast<std::int64_t>(value));
  }
  return descriptor;
}

std::uint64_t count_of(const webnn::Sizes& shape, const JsonReader& json) {
  std::uint64_t count = 1;
  for (const std::int64_t size : shape) {
    if (size > 0 && count > kMostElements / static_cast<std::uint64_t>(size)) {
      throw FormatError("{}: {} has more than {} elements, which is more than a check takes", json.where(),
                        webnn::to_string(shape), kMostElements);
    }
    count *= static_cast<std::uint64_t>(size);
  }
  return count;
}

std::vector<std::byte> elements_of(const JsonReader& data, DType type, std::uint64_t count) {
  std::vector<std::byte> bytes(byte_size(type, count));
  const int width = bits(type);
  const auto put = [&](std::uint64_t index, std::uint64_t value) {
    if (width < 8)
      bytes[index / 2] |= static_cast<std::byte>(value << (4 * (index % 2)));
    else
      std::memcpy(bytes.data() + index * static_cast<std::size_t>(width) / 8, &value,
                  static_cast<std::size_t>(width) / 8);
  };
  if (!data.value().is_array()) {
    const std::uint64_t value = low_bits(number_of(data), type);
    for (std::uint64_t i = 0; i < count; ++i) put(i, value);
    return bytes;
  }
  const std::vector<JsonReader> elements = data.elements();
  if (elements.size() != count) {
    throw FormatError("{}: has {} elements, expected {}", data.where(), elements.size(), count);
  }
  for (std::uint64_t i = 0; i < count; ++i) put(i, low_bits(number_of(elements[i]), type));
  return bytes;
}

Tolerance tolerance_of(const JsonReader& test_case) {
  const auto given = test_case.find("tolerance");
  if (!given) return {};
  const JsonReader metric = given->at("metricType"), value = given->at("value");
  Tolerance tolerance;
  const std::string name = metric.text();
  if (name == "ULP")
    tolerance.metric = Tolerance::Metric::ulp;
  else if (name == "ATOL")
    tolerance.metric = Tolerance::Metric::absolute;
  else if (name == "RELATIVE")
    tolerance.metric = Tolerance::Metric::relative;
  else
    metric.expected("ULP, ATOL or RELATIVE");
  tolerance.value = number_of(value).value();
  if (!(tolerance.value >= 0)) value.expected("a number from 0 on");
  return tolerance;
}

std::optional<std::string> first_mismatch(std::span<const std::byte> got, DType type, const webnn::Sizes& shape,
                                          const JsonReader& expected, const Tolerance& tolerance,
                                          std::uint64_t of_fill) {
  const std::uint64_t count = count_of(shape, expected);
  const bool fill = !expected.value().is_array();
  const std::vector<JsonReader> list = fill ? std::vector<JsonReader>() : expected.elements();
  if (!fill && list.size() != count) {
    throw FormatError("{}: has {} elements, expected {}", expected.where(), list.size(), count);
  }
  const std::uint64_t compared = fill ? std::min(count, of_fill) : count;
  const Comparer comparer(type, tolerance);
  std::uint64_t failed = 0;
  std::string first;
  for (std::uint64_t i = 0; i < compared; ++i) {
    const Comparison c = comparer.compare(element(got, type, i), fill ? expected : list[i]);
    if (c.got.empty()) continue;
    if (failed++ == 0) first = std::format("{} is {}", coordinates(i, shape), comparer.text(c));
  }
  if (failed == 0) return {};
  if (compared > 1) first += std::format(" ({} of {} elements)", failed, compared);
  return first;
}

}  // namespace weft::app
