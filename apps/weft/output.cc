#include "output.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <format>

#include "weft/error.h"
#include "weft/log.h"

namespace weft::app {

Output::Output(const std::string& path) {
  if (path.empty() || path == "-") {
    file_ = stdout;
    return;
  }
  path_ = path;
  if (std::filesystem::exists(path_) && !std::filesystem::is_regular_file(path_)) {
    // A device or a pipe (/dev/null, a FIFO) cannot be replaced by renaming, so it is written directly.
    if (std::filesystem::is_directory(path_)) throw IoError("{}: is a directory; --output takes a file", path);
    file_ = std::fopen(path.c_str(), "wb");
    if (!file_) fail("cannot be opened");
    return;
  }
  temporary_ = path_;
  temporary_ += std::format(".{}.part", getpid());
  file_ = std::fopen(temporary_.c_str(), "wb");
  if (!file_) fail("cannot be created");
}

Output::~Output() {
  if (file_ && file_ != stdout) std::fclose(file_);
  if (!temporary_.empty()) {
    std::error_code ignored;
    std::filesystem::remove(temporary_, ignored);
  }
}

void Output::fail(const char* what) const {
  const int error = errno;
  const std::string name = path_.empty() ? "standard output" : path_.string();
  if (error == EPIPE) throw IoError("{}: nobody reads it any more (closed pipe)", name);
  throw IoError("{}: {}: {}{}", name, what, std::strerror(error),
                error == ENOSPC ? "; free some space or name another --output; nothing was left behind" : "");
}

void Output::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail("cannot be written");
}

void Output::rewrite_head(std::string_view bytes) {
  if (std::fseek(file_, 0, SEEK_SET) != 0) fail("cannot be rewound (--output .npy needs an ordinary file)");
  write(bytes);
}

void Output::flush() {
  if (std::fflush(file_) != 0) fail("cannot be written");
}

void Output::commit() {
  flush();
  if (file_ == stdout) return;
  const int closed = std::fclose(file_);
  file_ = nullptr;
  if (closed != 0) fail("cannot be written");
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be moved into place");
  temporary_.clear();
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Progress(std::string what, std::uint64_t total, bool wanted)
    : what_(std::move(what)), total_(total), shown_(wanted && isatty(STDERR_FILENO)), start_(seconds_now()) {}

Progress::~Progress() {
  if (shown_ && last_ > 0) std::fputs("\r\033[K", stderr);
}

void Progress::update(std::uint64_t position, std::uint64_t items) {
  const double now = seconds_now();
  if (!shown_ || now - last_ < 0.1) return;
  last_ = now;
  const double rate = static_cast<double>(items) / std::max(now - start_, 1e-9);
  std::string line = std::format("\r\033[K{} {} · {:.0f}/s", what_, items, rate);
  if (total_ > 0) {
    constexpr int kWidth = 30;
    const double part = std::min(1.0, static_cast<double>(position) / static_cast<double>(total_));
    const int full = static_cast<int>(part * kWidth);
    std::string bar;
    for (int i = 0; i < kWidth; ++i) bar += i < full ? "█" : "░";
    const double left = part > 0 ? (now - start_) * (1 - part) / part : 0;
    line = std::format("\r\033[K{} {} {:3.0f} % · {} · {:.0f}/s · {:.0f} s left", what_, bar, part * 100, items, rate,
                       left);
  }
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

void leave() {
  log_mark("done");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // the sanitizers check for leaks at exit
  std::fflush(nullptr);
  std::_Exit(0);
#endif
}

}  // namespace weft::app
