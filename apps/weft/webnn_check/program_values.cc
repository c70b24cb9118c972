#include "webnn_check/program_values.h"

#include <unicode/regex.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "webnn_check/values.h"
#include "weft/error.h"

namespace weft::app {
namespace {

constexpr BufferKind kBufferKinds[] = {
    {"ArrayBuffer"},
    {"SharedArrayBuffer"},
    {"DataView"},
    {"Int8Array", DType::i8, true},
    {"Uint8Array", DType::u8, true},
    {"Uint8ClampedArray", DType::u8, true},
    {"Int16Array", DType::i16, true},
    {"Uint16Array", DType::u16, true},
    {"Int32Array", DType::i32, true},
    {"Uint32Array", DType::u32, true},
    {"BigInt64Array", DType::i64, true},
    {"BigUint64Array", DType::u64, true},
    {"Float16Array", DType::f16, true},
    {"Float32Array", DType::f32, true},
    {"Float64Array", DType::f64, true},
};

constexpr std::int64_t kMostBytes = std::int64_t{1} << 28;

template <class T>
webnn::BufferSource typed_source(std::span<const std::byte> bytes) {
  return std::span<const T>(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T));
}

}  // namespace

BufferKind buffer_kind(const JsonReader& name) {
  const std::string text = name.text();
  const auto* found = std::ranges::find(kBufferKinds, text, &BufferKind::name);
  if (found == std::end(kBufferKinds)) name.expected("a kind of buffer, such as ArrayBuffer or Float32Array");
  return *found;
}

webnn::BufferSource ProgramBuffer::source() const {
  const std::span<const std::byte> all(*bytes);
  if (!typed) return all;
  switch (type) {
    case DType::i8:
      return typed_source<std::int8_t>(all);
    case DType::u8:
      return typed_source<std::uint8_t>(all);
    case DType::i16:
      return typed_source<std::int16_t>(all);
    case DType::u16:
      return typed_source<std::uint16_t>(all);
    case DType::i32:
      return typed_source<std::int32_t>(all);
    case DType::u32:
      return typed_source<std::uint32_t>(all);
    case DType::i64:
      return typed_source<std::int64_t>(all);
    case DType::u64:
      return typed_source<std::uint64_t>(all);
    case DType::f16:
      return typed_source<float16>(all);
    case DType::f32:
      return typed_source<float>(all);
    case DType::f64:
      return typed_source<double>(all);
    default:
      return all;
  }
}

ProgramBuffer buffer_of(const JsonReader& json) {
  const BufferKind kind = buffer_kind(json.at("buffer"));
  const JsonReader length = json.at("byteLength");
  const auto bytes = static_cast<std::uint64_t>(length.integer(0, kMostBytes));
  const auto element = static_cast<std::uint64_t>(bits(kind.type)) / 8;
  if (bytes % element != 0) length.expected("a multiple of the size of an element");
  ProgramBuffer buffer{.bytes = std::make_shared<std::vector<std::byte>>(), .type = kind.type, .typed = kind.typed};
  if (const auto detached = json.find("detached"); detached && detached->boolean()) return buffer;
  const auto data = json.find("data"), fill = json.find("fill");
  *buffer.bytes =
      data || fill ? elements_of(data ? *data : *fill, kind.type, bytes / element) : std::vector<std::byte>(bytes);
  buffer.original = *buffer.bytes;
  return buffer;
}

std::string_view kind_of(std::size_t alternative) {
  static constexpr std::string_view kNames[] = {
      "nothing", "a context", "a graph builder", "an operand", "a list of operands", "a tensor", "a graph", "a buffer"};
  static_assert(std::size(kNames) == std::variant_size_v<ProgramObject>);
  return kNames[alternative];
}

void ProgramResult::attempt(const std::function<void()>& action) {
  try {
    action();
  } catch (const webnn::Exception& e) {
    failure = ProgramFailure{std::string(e.name()), e.what()};
  } catch (const FormatError&) {
    throw;
  } catch (const Error& e) {
    failure = ProgramFailure{"an error of no name", e.what()};
  } catch (const std::bad_alloc&) {
    failure = ProgramFailure{"an error of no name", "the host's memory is exhausted"};
  }
}

void ProgramResult::settle() {
  if (!pending) return;
  const std::function<ProgramObject()> wait = std::exchange(pending, nullptr);
  attempt([&] { object = wait(); });
}

bool matches(std::string_view text, const JsonReader& pattern) {
  constexpr std::int32_t kTimeLimit = 100;  // in steps of the engine, about milliseconds
  const std::string source = pattern.text();
  UErrorCode error = U_ZERO_ERROR;
  icu::RegexMatcher matcher(icu::UnicodeString::fromUTF8(source), 0, error);
  if (U_FAILURE(error)) pattern.expected("a regular expression");
  const icu::UnicodeString subject =
      icu::UnicodeString::fromUTF8(icu::StringPiece(text.data(), static_cast<std::int32_t>(text.size())));
  matcher.setTimeLimit(kTimeLimit, error);
  matcher.reset(subject);
  const bool found = matcher.find(error);
  if (U_FAILURE(error)) pattern.expected("a regular expression that is matched in a moment");
  return found;
}

}  // namespace weft::app
