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
#define WEFT_DECLARE_ERROR(Name, Base)                                                     \
  class Name : public Base {                                                               \
   public:                                                                                 \
    template <class... Args>                                                               \
    explicit Name(std::format_string<Args...> format, Args&&... args)                      \
        : Name(Formatted{}, std::format(format, std::forward<Args>(args)...)) {}           \
                                                                                           \
   protected:                                                                              \
    struct Formatted {};                                                                   \
    Name(Formatted, const std::string& text) : Base(text) {}                               \
  }
// One more kind of InvalidArgument.
#define WEFT_DECLARE_INVALID(Name)                                                         \
  class Name : public InvalidArgument {                                                    \
   public:                                                                                 \
    template <class... Args>                                                               \
    explicit Name(std::format_string<Args...> format, Args&&... args)                      \
        : InvalidArgument(Formatted{}, std::format(format, std::forward<Args>(args)...)) {} \
  }

// An argument that breaks the documented contract: a name, a range, or one of the kinds below.
WEFT_DECLARE_ERROR(InvalidArgument, Error);
// Shapes or axes that do not fit each other or the operation.
WEFT_DECLARE_INVALID(ShapeError);
// Data types that do not fit each other or the operation.
WEFT_DECLARE_INVALID(TypeError);
// An index outside of its axis, or more indices than axes.
WEFT_DECLARE_INVALID(IndexError);
// Tensors of several devices where one is needed, or of a device that cannot do it.
WEFT_DECLARE_INVALID(DeviceError);
// A valid request that this device or this version cannot carry out.
WEFT_DECLARE_ERROR(Unsupported, Error);
// A file, stream or operating-system call failed.
WEFT_DECLARE_ERROR(IoError, Error);
// Data from outside (a model file, JSON, text) is malformed.
WEFT_DECLARE_ERROR(FormatError, Error);
// Memory of the device or the host is exhausted, or a limit that the user set is reached.
WEFT_DECLARE_ERROR(OutOfMemory, Error);
// No adapter fits the request.
WEFT_DECLARE_ERROR(NoDevice, Error);
// The GPU was lost (driver reset, unplugged, destroyed). Open a new device and load the weights again.
WEFT_DECLARE_ERROR(DeviceLost, Error);
// WebGPU refused a command or a shader. Carries Dawn's own message.
WEFT_DECLARE_ERROR(ValidationError, Error);
// An internal invariant of Weft does not hold. Please report it.
WEFT_DECLARE_ERROR(InternalError, Error);

#undef WEFT_DECLARE_ERROR
#undef WEFT_DECLARE_INVALID

}  // namespace weft
