// What programs of WebNN pass around: objects of its interfaces, buffers, and promises of either.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/json_reader.h"
#include "weft/webnn.h"

namespace weft::app {

// A kind of JavaScript's buffers: "ArrayBuffer", "Float32Array", …
struct BufferKind {
  std::string_view name;
  DType type = DType::u8;
  bool typed = false;  // elements of a type, else bytes
};
// Throws FormatError if it is none.
BufferKind buffer_kind(const JsonReader& name);

struct ProgramBuffer {
  std::shared_ptr<std::vector<std::byte>> bytes;
  std::vector<std::byte> original = {};  // what it held before anything was written to it
  DType type = DType::u8;                // of its elements
  bool typed = false;

  webnn::BufferSource source() const;
};
// {"buffer": KIND, "byteLength", "data" or "fill", "detached"}; a detached one is empty. Throws FormatError.
ProgramBuffer buffer_of(const JsonReader& json);

using ProgramObject = std::variant<std::monostate, webnn::Context, webnn::GraphBuilder, webnn::Operand,
                                   std::vector<webnn::Operand>, webnn::Tensor, webnn::Graph, ProgramBuffer>;
std::string_view kind_of(std::size_t alternative);  // "a tensor"
template <class T, std::size_t i = 0>
std::string_view kind_of() {
  if constexpr (std::is_same_v<std::variant_alternative_t<i, ProgramObject>, T>)
    return kind_of(i);
  else
    return kind_of<T, i + 1>();
}

struct ProgramFailure {
  std::string name;  // "TypeError"
  std::string message;
};

// What a call gave: an object, a failure, or something that is still to come.
struct ProgramResult {
  ProgramObject object = {};
  std::optional<ProgramFailure> failure = {};
  std::function<ProgramObject()> pending = {};

  // Runs what may fail; FormatError alone, which is the program's fault, is thrown.
  void attempt(const std::function<void()>& action);
  // Waits for what is still to come.
  void settle();
};

// Whether the text has what an ECMAScript regular expression describes. Throws FormatError if it is none, or one that
// takes too long.
bool matches(std::string_view text, const JsonReader& pattern);

}  // namespace weft::app
