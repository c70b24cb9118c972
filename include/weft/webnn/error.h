// The errors of WebNN, each an exception of the name that the specification gives it.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/error.h"

namespace weft::webnn {

// Base of WebNN's errors. A message names the operation and its label: `conv2d [stem]: filter has …`.
class Exception : public Error {
 public:
  // "TypeError", "InvalidStateError", …
  std::string_view name() const { return name_; }

 protected:
  Exception(std::string_view name, const std::string& text) : Error(text), name_(name) {}

 private:
  std::string_view name_;
};

#define WEFT_DECLARE_WEBNN_ERROR(Name)                                                               \
  class Name final : public Exception {                                                              \
   public:                                                                                           \
    template <class... Args>                                                                         \
      requires(sizeof...(Args) > 0)                                                                  \
    explicit Name(const detail::FormatString<std::type_identity_t<Args>...>& format, Args&&... args) \
        : Exception(#Name, detail::formatted(format, std::forward<Args>(args)...)) {}                \
    explicit Name(const std::string& text) : Exception(#Name, text) {}                               \
  }
// An argument that breaks a rule of the specification, or that WebIDL would not convert.
WEFT_DECLARE_WEBNN_ERROR(TypeError);
// Something was used that was destroyed, built already, rented out or lost.
WEFT_DECLARE_WEBNN_ERROR(InvalidStateError);
// A graph could not be compiled or run.
WEFT_DECLARE_WEBNN_ERROR(OperationError);
// Memory could not be had or read.
WEFT_DECLARE_WEBNN_ERROR(UnknownError);
// There is no such context here.
WEFT_DECLARE_WEBNN_ERROR(NotSupportedError);
#undef WEFT_DECLARE_WEBNN_ERROR

}  // namespace weft::webnn
