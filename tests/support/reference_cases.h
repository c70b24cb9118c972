// Cases that a script of tests/reference wrote: a list in JSON, and the bytes of its operands in one .npy file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/kernel_test.h"
#include "weft/view.h"

namespace weft::test {

class ReferenceCases {
 public:
  // `folder` is a path below tests/data that holds bytes.npy. Throws FormatError and IoError.
  explicit ReferenceCases(std::string folder);

  nlohmann::json list(const std::string& file) const;
  // {"type": "f32", "shape": [2, 3], "at": 64}: where in the bytes it lies. null: an optional operand that is not
  // given.
  View operand(const nlohmann::json& j) const;
  // Those of a case's list; none if it has no such list.
  std::vector<View> operands(const nlohmann::json& c, const char* name) const;
  static Tolerance tolerance(const nlohmann::json& c);

 private:
  std::string folder_;
  View bytes_;
};

}  // namespace weft::test
