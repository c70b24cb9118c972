// Errors that tell their way: the same type of error, with the context in front of its text.
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

}  // namespace weft
