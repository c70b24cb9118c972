// The directory of the tests' data: $WEFT_TEST_DATA (a bundle's), else the source tree's.
#pragma once

#include <filesystem>
#include <string>

namespace weft::test {

std::filesystem::path data_path(const std::string& name);

}  // namespace weft::test
