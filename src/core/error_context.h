// Errors that tell their way: the same type of error, with the context in front of its text, or in the name of the
// function that was called.
#pragma once

#include <string>
#include <utility>

#include "weft/error.h"

namespace weft {

// Throws an error of e's type: "<context>: <what e says>".
[[noreturn]] void throw_in_context(const Error& e, std::string_view context);

// What `f` returns; its errors get the context, which is computed only for them.
template <class Context, class F>
auto in_context(const Context& context, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const Error& e) {
    throw_in_context(e, context());
  }
}

// Throws an error of e's type that names `function` in place of the one that its text begins with: a label in quotes
// stays in front, and a text without a name gets one.
[[noreturn]] void throw_in_function(const Error& e, std::string_view function);

// What `f` returns, for functions that are made of others: its errors name `function`, which was called, and not the
// one inside that found them.
template <class F>
auto in_function(std::string_view function, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (const Error& e) {
    throw_in_function(e, function);
  }
}

// What a message says behind the label and the function's name with which it begins.
std::string_view without_function(std::string_view message);

}  // namespace weft
