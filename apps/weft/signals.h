// What a signal that ends the program leaves behind: nothing.
#pragma once

#include <filesystem>

namespace weft::app {

// From here on signals that end a program (SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU) remove the temporary files that
// exist then, and end the process with the status 128 + signal, as a shell reports it: 129, 130, … A signal that was
// ignored stays so. SIGPIPE and SIGXFSZ (a file too large) are ignored, so that writing reports them as other errors.
void handle_signals();

// A name for a file that does not outlive the program: removed when the object goes, and by signals.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  explicit TemporaryFile(std::filesystem::path path);
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;
  ~TemporaryFile();

  const std::filesystem::path& path() const { return path_; }
  bool empty() const { return path_.empty(); }
  // The file has another name now, or shall stay.
  void release();

 private:
  std::filesystem::path path_;
  int slot_ = -1;  // in the table that signal handlers read
};

}  // namespace weft::app
