// Typed errors. Every failure that Weft reports is an exception derived from weft::Error; after any of them the
// library still works. A message says what was wrong, where, what was expected and, where it helps, what to do.
#pragma once

#include <format>
#include <stdexcept>
#include <string>
#include <utility>

namespace weft {

// Base of all of Weft's exceptions.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Declares an error type whose constructor takes std::format's arguments.
#define WEFT_DECLARE_ERROR(Name)                                                           \
  class Name : public Error {                                                              \
   public:                                                                                 \
    template <class... Args>                                                               \
    explicit Name(std::format_string<Args...> format, Args&&... args)                      \
        : Error(std::format(format, std::forward<Args>(args)...)) {}                       \
  }

// An argument that breaks the documented contract: shape, type, range, name.
WEFT_DECLARE_ERROR(InvalidArgument);
// A valid request that this device or this version cannot carry out.
WEFT_DECLARE_ERROR(Unsupported);
// A file, stream or operating-system call failed.
WEFT_DECLARE_ERROR(IoError);
// Data from outside (a model file, JSON, text) is malformed.
WEFT_DECLARE_ERROR(FormatError);
// Memory of the device or the host is exhausted, or a limit that the user set is reached.
WEFT_DECLARE_ERROR(OutOfMemory);
// No adapter fits the request.
WEFT_DECLARE_ERROR(NoDevice);
// The GPU was lost (driver reset, unplugged, destroyed). Open a new device and load the weights again.
WEFT_DECLARE_ERROR(DeviceLost);
// WebGPU refused a command or a shader. Carries Dawn's own message.
WEFT_DECLARE_ERROR(ValidationError);
// An internal invariant of Weft does not hold. Please report it.
WEFT_DECLARE_ERROR(InternalError);

#undef WEFT_DECLARE_ERROR

}  // namespace weft
