#include "core/error_context.h"

namespace weft {
namespace {

template <class E>
void throw_if(const Error& e, const std::string& text) {
  if (dynamic_cast<const E*>(&e)) throw E("{}", text);
}

template <class... Es>
void throw_as_one_of(const Error& e, const std::string& text) {
  (throw_if<Es>(e, text), ...);
}

}  // namespace

void throw_in_context(const Error& e, std::string_view context) {
  const std::string text = std::format("{}: {}", context, e.what());
  // The kinds of InvalidArgument before it.
  throw_as_one_of<ShapeError, TypeError, IndexError, DeviceError, InvalidArgument, Unsupported, IoError, FormatError, OutOfMemory, NoDevice, DeviceLost,
                  ValidationError, InternalError>(e, text);
  throw Error(text);
}

}  // namespace weft
