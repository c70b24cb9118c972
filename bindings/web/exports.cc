#include "exports.h"

#include <emscripten.h>

#include <new>

#include "weft/error.h"
#include "weft/webnn/error.h"

namespace weft::web {
namespace {

std::string error_name, error_message, text;

}  // namespace

std::string_view name_of(const std::exception& error) {
  if (const auto* e = dynamic_cast<const webnn::Exception*>(&error)) return e->name();
  // Derived ones first.
#define WEFT_NAMED(Name) \
  if (dynamic_cast<const Name*>(&error)) return #Name
  WEFT_NAMED(ShapeError);
  WEFT_NAMED(TypeError);
  WEFT_NAMED(IndexError);
  WEFT_NAMED(DeviceError);
  WEFT_NAMED(InvalidArgument);
  WEFT_NAMED(Unsupported);
  WEFT_NAMED(LinAlgError);
  WEFT_NAMED(IoError);
  WEFT_NAMED(FormatError);
  WEFT_NAMED(OutOfMemory);
  WEFT_NAMED(NoDevice);
  WEFT_NAMED(DeviceLost);
  WEFT_NAMED(ValidationError);
  WEFT_NAMED(InternalError);
  WEFT_NAMED(ThrownByFunction);
#undef WEFT_NAMED
  if (dynamic_cast<const std::bad_alloc*>(&error)) return "OutOfMemory";
  return "Error";
}

void clear_error() { error_name.clear(); }

void keep_error() {
  try {
    throw;
  } catch (const std::exception& e) {
    error_name = name_of(e);
    error_message = e.what();
  }
}

const char* returned(std::string result) {
  text = std::move(result);
  return text.c_str();
}

}  // namespace weft::web

extern "C" {

// Empty: the last call did not fail.
EMSCRIPTEN_KEEPALIVE const char* weft_error_name() { return weft::web::error_name.c_str(); }
EMSCRIPTEN_KEEPALIVE const char* weft_error_message() { return weft::web::error_message.c_str(); }

}  // extern "C"
