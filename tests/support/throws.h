// The error of a failing call as text, for tables of bad input: "FormatError: the message".
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "weft/error.h"

namespace weft::test {

template <class Call>
std::string thrown_by(Call&& call) {
  try {
    call();
  } catch (const InvalidArgument& e) {
    return std::string("InvalidArgument: ") + e.what();
  } catch (const Unsupported& e) {
    return std::string("Unsupported: ") + e.what();
  } catch (const IoError& e) {
    return std::string("IoError: ") + e.what();
  } catch (const FormatError& e) {
    return std::string("FormatError: ") + e.what();
  } catch (const InternalError& e) {
    return std::string("InternalError: ") + e.what();
  } catch (const std::exception& e) {
    return std::string("another exception: ") + e.what();
  }
  return "nothing";
}

// The message of the InvalidArgument that a call throws; otherwise the error that it threw.
template <class Call>
std::string refused_by(Call&& call) {
  constexpr std::string_view kType = "InvalidArgument: ";
  const std::string text = thrown_by(std::forward<Call>(call));
  return text.starts_with(kType) ? text.substr(kType.size()) : text;
}

// The message of the Error that a call throws.
template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

}  // namespace weft::test
