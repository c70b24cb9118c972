// The directory of the tests' data: $WEFT_TEST_DATA (a bundle's), else the source tree's.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace weft::test {

inline std::filesystem::path data_path(const std::string& name) {
  const char* elsewhere = std::getenv("WEFT_TEST_DATA");
  return std::filesystem::path(elsewhere ? elsewhere : WEFT_TEST_DATA) / name;
}

}  // namespace weft::test
