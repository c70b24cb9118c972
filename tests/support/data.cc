#include "support/data.h"

#include <cstdlib>

namespace weft::test {

// (The source tree's place is known to this file alone, so that a compiler cache finds the others wherever that is.)
std::filesystem::path data_path(const std::string& name) {
  const char* elsewhere = std::getenv("WEFT_TEST_DATA");
  return std::filesystem::path(elsewhere ? elsewhere : WEFT_TEST_DATA) / name;
}

}  // namespace weft::test
