// Values of conformance data: numbers that JSON lacks, elements of tensors, arguments of operations, tolerances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json_reader.h"
#include "weft/webnn.h"

namespace weft::app {

// {"ref": …}, {"special": …}, {"bigint": …}, {"limit": …}, {"undefined": true}, {"buffer": …}: an object that stands
// for something else than an object. The key that tells so; empty for all other JSON.
std::string_view mark_of(const JsonReader& json);
// null, or {"undefined": true}.
bool is_absent(const JsonReader& json);

// A number, {"special": …}, {"bigint": …}, or the digits of an integer as a string. Throws FormatError.
Number number_of(const JsonReader& json);

// What values refer to.
struct Surroundings {
  // The operand that JSON stands for. Throws if it stands for none.
  std::function<webnn::Operand(const JsonReader&)> operand;
  std::uint64_t max_tensor_byte_length = 0;  // {"limit": …}
};

// What JavaScript makes of JSON where WebIDL has a number. Throws webnn::TypeError.
Number to_number(const JsonReader& json, const Surroundings& around);

// As an argument of that kind, converted as JavaScript and WebIDL do; what they refuse is left to the call, or throws
// webnn::TypeError.
webnn::Value to_value(webnn::ArgumentKind kind, const JsonReader& json, const Surroundings& around);
// A dictionary's member, or the value at a place of a call, under the schema's name for it.
void add_argument(webnn::Arguments& arguments, const webnn::ArgumentSchema& schema, const JsonReader& json,
                  const Surroundings& around);
// The members of an options object that the operation has, and its label; others are ignored, as WebIDL does, and those
// of `unknown`, which would be an older name of one otherwise.
void add_options(webnn::Arguments& arguments, const webnn::OpSchema& op, const JsonReader& options,
                 const Surroundings& around, std::span<const std::string> unknown = {});

// {"dataType": …, "shape": […]}, which other members may stand beside. Throws webnn::TypeError as WebIDL does.
webnn::OperandDescriptor descriptor_of(const JsonReader& json, const Surroundings& around);

// Elements of a type, dense: integers keep their low bits as they do in a typed array. A number that is no list is
// `count` times itself. Throws FormatError, also for another number of them.
std::vector<std::byte> elements_of(const JsonReader& data, DType type, std::uint64_t count);
// Elements that a tensor of that shape has. Throws FormatError for more than a check can hold.
std::uint64_t count_of(const webnn::Sizes& shape, const JsonReader& json);

// How far results may be from what is expected.
struct Tolerance {
  enum class Metric : std::uint8_t { ulp, absolute, relative } metric = Metric::ulp;
  double value = 0;
};
// Exact if there is none. Throws FormatError.
Tolerance tolerance_of(const JsonReader& test_case);

// What the first element is that is too far from the expected one, and how many are; nothing if none is. Where
// `expected` is a number instead of a list, that many elements are compared with it. Throws FormatError.
inline constexpr std::uint64_t kComparedOfFill = 1000;  // in data cases
std::optional<std::string> first_mismatch(std::span<const std::byte> got, DType type, const webnn::Sizes& shape,
                                          const JsonReader& expected, const Tolerance& tolerance,
                                          std::uint64_t of_fill = kComparedOfFill);

}  // namespace weft::app
