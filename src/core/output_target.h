// Where a file that is written goes. A regular file is replaced when the new one is complete, so that a write that
// fails leaves what was there; anything else is written to as it is.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <system_error>

namespace weft {

class OutputTarget {
 public:
  // What `path` leads to through symbolic links decides. Where a regular file or nothing is, put() moves the new file;
  // the links stay. What else is there is opened here: a device, a pipe, and whatever a descriptor of this process is
  // open on (/dev/stdout, /dev/fd/3), which is written to where the descriptor stands. Throws IoError: a directory, a
  // file that is read-only or may not be written, a descriptor that is not open, links that lead nowhere.
  explicit OutputTarget(const std::filesystem::path& path);
  ~OutputTarget();
  OutputTarget(const OutputTarget&) = delete;

  // Open on what is not replaced; null otherwise.
  std::FILE* stream() const { return stream_; }
  // A new name for the file until it is complete: beside the one that it replaces, otherwise among the system's
  // temporary files. It is short, whatever the length of the target's.
  std::filesystem::path temporary() const;
  // Moves the complete file to its place, with the mode and the owner of the one that was there, or copies it to the
  // stream and removes it.
  std::error_code put(const std::filesystem::path& complete);

 private:
  std::filesystem::path path_;  // past the links
  std::FILE* stream_ = nullptr;
};

// A temporary file that put() has not taken is removed.
class Replacement {
 public:
  // Throws as OutputTarget does.
  explicit Replacement(const std::filesystem::path& target)
      : path_(target), target_(target), temporary_(target_.temporary()) {}
  ~Replacement();
  Replacement(const Replacement&) = delete;

  // The caller creates and closes it.
  const std::filesystem::path& temporary() const { return temporary_; }
  // Throws IoError unless the file system of temporary() has space for so many bytes, as far as it tells.
  void require_space(std::uint64_t bytes) const;
  // Throws IoError.
  void commit();

 private:
  std::filesystem::path path_;
  OutputTarget target_;
  std::filesystem::path temporary_;
};

}  // namespace weft
