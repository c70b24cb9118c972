// Typed errors. Every failure that Weft reports is an exception derived from weft::Error; after any of them the
// library still works. A message says what was wrong, where, what was expected and, where it helps, what to do.
#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

namespace weft {
namespace detail {

// A format string and its arguments' text. Only Weft's own sources define them, by std::format (src/core/format.h):
// the public headers need no <format>, which GCC has from version 13 on.
template <class... Args>
struct FormatString;
template <class... Args>
std::string formatted(const FormatString<std::type_identity_t<Args>...>& format, Args&&... args);

}  // namespace detail

// Base of all of Weft's exceptions. Each is constructed from its message.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // For Weft's own sources, see above; programs format their messages themselves.
  template <class... Args>
    requires(sizeof...(Args) > 0)
  explicit Error(const detail::FormatString<std::type_identity_t<Args>...>& format, Args&&... args)
      : std::runtime_error(detail::formatted(format, std::forward<Args>(args)...)) {}
};

#define WEFT_DECLARE_ERROR(Name, Base) \
  class Name : public Base {           \
   public:                             \
    using Base::Base;                  \
  }

// An argument that breaks the documented contract: a name, a range, or one of the kinds below.
WEFT_DECLARE_ERROR(InvalidArgument, Error);
// Shapes or axes that do not fit each other or the operation.
WEFT_DECLARE_ERROR(ShapeError, InvalidArgument);
// Data types that do not fit each other or the operation.
WEFT_DECLARE_ERROR(TypeError, InvalidArgument);
// An index outside of its axis, or more indices than axes.
WEFT_DECLARE_ERROR(IndexError, InvalidArgument);
// Tensors of several devices where one is needed, or of a device that cannot do it.
WEFT_DECLARE_ERROR(DeviceError, InvalidArgument);
// A valid request that this device or this version cannot carry out.
WEFT_DECLARE_ERROR(Unsupported, Error);
// A matrix has no inverse, solution or factor, found when what depends on it is read (weft/linalg.h).
WEFT_DECLARE_ERROR(LinAlgError, Error);
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
// WebGPU refused a command, or a shader that a program wrote. Carries Dawn's own message.
WEFT_DECLARE_ERROR(ValidationError, Error);
// An internal invariant of Weft does not hold, or one of its own kernels does not compile. Please report it.
WEFT_DECLARE_ERROR(InternalError, Error);

#undef WEFT_DECLARE_ERROR

}  // namespace weft
