// What a failing call threw, for tables of bad input: "FormatError: the message".
#pragma once

#include <string>

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
  } catch (const std::exception& e) {
    return std::string("another exception: ") + e.what();
  }
  return "nothing";
}

}  // namespace weft::test
