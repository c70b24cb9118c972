// NumPy's .npz format: a ZIP archive of .npy files, one for each array, by libzip.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "files/npy.h"

struct zip;

namespace weft {

// An archive to be read. Everything that its directory says of sizes is checked before memory is taken for it.
class NpzFile {
 public:
  // `owner` keeps `bytes` alive; `source` is what errors call it. Throws FormatError.
  NpzFile(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, std::string source);
  ~NpzFile();
  NpzFile(const NpzFile&) = delete;

  const std::string& source() const { return source_; }
  // The arrays' names: the members' without .npy, in their order. Folders and other files are left out, and members
  // that another one of the same name follows.
  const std::vector<std::string>& names() const { return names_; }
  // The array of names()[i], in memory of its own. Throws FormatError, Unsupported (types; encryption, methods of
  // compression that NumPy does not write), OutOfMemory.
  NpyArray read(std::size_t i) const;

 private:
  void check_members();
  bool begins_as_array(std::uint64_t index) const;

  std::shared_ptr<const void> owner_;
  std::string source_;
  struct zip* archive_ = nullptr;
  std::uint64_t size_;  // of the archive
  std::vector<std::string> names_;
  struct ArrayMember {
    std::uint64_t index, size;  // in the archive; uncompressed
    std::string refusal;        // why it cannot be read; empty if it can
  };
  std::vector<ArrayMember> members_;  // of names_
};

// Writes an archive of uncompressed members, as numpy.savez does. The file is as if written in 1980, so that equal
// tensors are equal files. Throws IoError, TypeError.
void write_npz(const std::filesystem::path& path, std::string source, std::span<const FileEntry> entries,
               const EntryData& data);

}  // namespace weft
