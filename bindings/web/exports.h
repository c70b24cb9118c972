// What the module's functions for JavaScript share. Each is a function of C: objects are pointers, lists and attributes
// are JSON. What fails leaves its error for core.js (weft_error_name, weft_error_message), and returns null; what comes
// later settles a promise, by its number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/future.h"
#include "weft/tensor.h"

namespace weft::web {

using nlohmann::json;

// Keeps the error that is being caught, for JavaScript.
void keep_error();
void clear_error();
// The name that it has there: that of its class, "InvalidArgument".
std::string_view name_of(const std::exception& error);

// A function of JavaScript threw, which keeps what it threw (index.js).
struct ThrownByFunction : std::exception {
  const char* what() const noexcept override { return "a function of JavaScript threw"; }
};

// What f returns; if it throws, the error is kept, and the result is a default one. The error is that of the call that
// ends: f may call functions of JavaScript, whose own calls failed before.
template <class F>
auto guarded(F f) -> decltype(f()) {
  try {
    if constexpr (std::is_void_v<decltype(f())>) {
      f();
      clear_error();
    } else {
      auto result = f();
      clear_error();
      return result;
    }
  } catch (...) {
    keep_error();
    if constexpr (!std::is_void_v<decltype(f())>) return decltype(f())();
  }
}

// A text for JavaScript, which lives until the next one.
const char* returned(std::string text);

inline json address_of(const void* object) { return reinterpret_cast<std::uintptr_t>(object); }

// A handle for JavaScript, which releases it (weft_release_tensor) and is told how many there are (weft_memory).
json given_away(Tensor tensor);

extern "C" {
// Of imports.js. They settle a promise of core.js: with a value that is JSON, with bytes, or with an error.
void weft_resolve(int promise, const char* json);
void weft_resolve_bytes(int promise, const void* bytes, std::size_t size);
void weft_reject(int promise, const char* name, const char* message);
}

// Settles the promise with what `resolve` makes of the future's result: it calls one of the above. Errors reject it.
template <class T, class F>
void settle(Future<T> future, int promise, F resolve) {
  future.then([promise, resolve = std::move(resolve)](Future<T> done) mutable {
    try {
      if constexpr (std::is_void_v<T>) {
        done.get();
        resolve();
      } else {
        resolve(done.get());
      }
    } catch (const std::exception& e) {
      weft_reject(promise, std::string(name_of(e)).c_str(), e.what());
    }
  });
}

}  // namespace weft::web
