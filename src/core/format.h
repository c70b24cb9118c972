// Messages of errors and of the log with arguments of std::format, in Weft's own sources:
//
//   throw ShapeError("matmul: b is {}, expected [{}, n]", to_string(b), k);
//   log(LogLevel::debug, "{}: {}", name, e.what());
#pragma once

#include <concepts>
#include <format>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/error.h"
#include "weft/log.h"

namespace weft {
namespace detail {

// Checked against the arguments when it is compiled.
template <class... Args>
struct FormatString {
  template <std::convertible_to<std::string_view> Text>
  consteval FormatString(const Text& text) : checked(text) {}

  std::format_string<Args...> checked;
};

template <class... Args>
std::string formatted(const FormatString<std::type_identity_t<Args>...>& format, Args&&... args) {
  return std::format(format.checked, std::forward<Args>(args)...);
}

}  // namespace detail

// Formats only what is logged.
template <class... Args>
void log(LogLevel level, std::format_string<Args...> format, Args&&... args) {
  if (log_enabled(level)) log_message(level, std::format(format, std::forward<Args>(args)...));
}

}  // namespace weft
