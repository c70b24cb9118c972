#include "core/error_context.h"

#include <algorithm>

#include "core/format.h"

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

[[noreturn]] void throw_with(const Error& e, const std::string& text) {
  // The kinds of InvalidArgument before it.
  throw_as_one_of<ShapeError, TypeError, IndexError, DeviceError, InvalidArgument, Unsupported, IoError, FormatError,
                  OutOfMemory, NoDevice, DeviceLost, LinAlgError, ValidationError, InternalError>(e, text);
  throw Error(text);
}

constexpr std::string_view kEnd = ": ";  // of a name

// Where the label ends with which the message begins; 0 if it begins with none.
std::size_t label_end(std::string_view message) {
  if (!message.starts_with('"')) return 0;
  for (std::size_t i = 1; i < message.size(); ++i) {
    if (message[i] == '\\')
      ++i;
    else if (message[i] == '"')
      return message.substr(i + 1).starts_with(kEnd) ? i + 1 + kEnd.size() : 0;
  }
  return 0;
}

// Where the name of a function ends that begins at `from`, as "stack", "random::uniform" or "scatter{axis=0}"; `from`
// if none does.
std::size_t function_end(std::string_view message, std::size_t from) {
  constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  std::size_t end = from;
  for (;;) {
    const std::size_t begin = end;
    end = std::min(message.find_first_not_of(kOfNames, begin), message.size());
    if (end == begin) return from;
    if (!message.substr(end).starts_with("::")) break;  // of a namespace
    end += 2;
  }
  if (message.substr(end).starts_with('{')) end = message.find('}', end) + 1;  // an operation's attributes
  return message.substr(end).starts_with(kEnd) ? end + kEnd.size() : from;
}

}  // namespace

void throw_in_context(const Error& e, std::string_view context) {
  throw_with(e, std::format("{}: {}", context, e.what()));
}

void throw_in_function(const Error& e, std::string_view function) {
  // (Reads throw it, and it names the function whose result does not exist.)
  if (dynamic_cast<const LinAlgError*>(&e)) throw LinAlgError(e.what());
  const std::string_view message = e.what();
  const std::size_t label = label_end(message);
  throw_with(e,
             std::format("{}{}: {}", message.substr(0, label), function, message.substr(function_end(message, label))));
}

std::string_view without_function(std::string_view message) {
  return message.substr(function_end(message, label_end(message)));
}

}  // namespace weft
