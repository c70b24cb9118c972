// A temporary directory, removed at the end of the test.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace weft::test {

class TempDir {
 public:
  TempDir() {
    static std::atomic<int> count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("weft_test_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directory(path_);
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, std::string_view contents) const {
    std::ofstream(path_ / name, std::ios::binary) << contents;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace weft::test
