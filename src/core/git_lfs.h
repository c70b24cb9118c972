// Git LFS leaves a small text, a pointer, in place of each large file that was not downloaded.
#pragma once

#include <string_view>

namespace weft {

// Throws FormatError if the file's bytes are such a pointer: they are not what the file is about. Source:
// https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md.
void refuse_git_lfs_pointer(std::string_view bytes, std::string_view source);

}  // namespace weft
