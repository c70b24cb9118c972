// A file that takes another's place when it is complete, so that a write that fails leaves what was there.
#pragma once

#include <filesystem>

namespace weft {

class Replacement {
 public:
  // Where commit() will move the temporary file, which lies beside it and is the caller's to create. A symbolic link
  // stays; the file that it names is replaced. Throws IoError if something else than a file is there.
  explicit Replacement(const std::filesystem::path& target);
  // Removes the temporary file unless it was committed.
  ~Replacement();
  Replacement(const Replacement&) = delete;

  const std::filesystem::path& temporary() const { return temporary_; }
  // The new file gets the permissions of the old one. Throws IoError.
  void commit();

 private:
  std::filesystem::path target_, temporary_;
};

}  // namespace weft
