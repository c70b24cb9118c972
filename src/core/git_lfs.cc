#include "core/git_lfs.h"

#include <format>
#include <string>

#include "core/format.h"
#include "weft/error.h"

namespace weft {

void refuse_git_lfs_pointer(std::string_view bytes, std::string_view source) {
  if (!bytes.starts_with("version https://git-lfs.github.com/spec/")) return;
  // Its third line: "size 90868376".
  const auto size = bytes.find("\nsize ");
  std::string_view digits = size == std::string_view::npos ? "" : bytes.substr(size + 6);
  digits = digits.substr(0, digits.find_first_not_of("0123456789"));
  throw FormatError(
      "{}: this is a Git LFS pointer; the file{} that it stands for was not downloaded: run `git lfs pull` "
      "in its repository",
      source, digits.empty() ? "" : std::format(" of {} bytes", digits));
}

}  // namespace weft
