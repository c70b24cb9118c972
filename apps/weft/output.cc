#include "output.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <format>
#include <utility>

#include "core/format.h"
#include "weft/error.h"
#include "weft/log.h"

namespace weft::app {

Output::Output(const std::string& path, Head head) {
  if (path == "-") {
    file_ = stdout;
    return;
  }
  path_ = path;
  target_.emplace(path_);
  if (target_->stream() && head == Head::stays) {
    file_ = target_->stream();
    return;
  }
  temporary_ = TemporaryFile(target_->temporary());
  file_ = std::fopen(temporary_.path().c_str(), "wbx");
  if (!file_) fail("cannot be created");
}

Output::~Output() {
  if (file_ && is_file()) std::fclose(file_);
}

void Output::fail(const char* what) const {
  const int error = errno;
  const std::string name = path_.empty() ? "standard output" : path_.string();
  if (error == EPIPE && (!target_ || target_->stream())) throw NobodyReads();
  throw IoError(
      "{}: {}: {}{}", name, what, std::strerror(error),
      error == ENOSPC && is_file() ? "; free some space or name another --output; nothing was left behind" : "");
}

void Output::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) fail("cannot be written");
}

void Output::rewrite_head(std::string_view bytes) {
  if (std::fseek(file_, 0, SEEK_SET) != 0) fail("cannot be rewound");
  write(bytes);
}

void Output::flush() {
  if (std::fflush(file_) != 0 || std::ferror(file_)) fail("cannot be written");
}

void Output::commit() {
  flush();
  if (!is_file()) return;
  const int closed = std::fclose(file_);
  file_ = nullptr;
  if (closed != 0) fail("cannot be written");
  if (const std::error_code error = target_->put(temporary_.path())) {
    errno = error.value();
    fail("cannot be moved into place");
  }
  temporary_.release();
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Progress::Progress(std::string what, std::uint64_t total, bool wanted, std::string_view first)
    : what_(std::move(what)), total_(total), shown_(wanted && isatty(STDERR_FILENO)), start_(seconds_now()) {
  show(std::format("{}: {}", what_, first));
}

Progress::~Progress() { end(); }

void Progress::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  last_ = 0;
}

void Progress::end() {
  if (std::exchange(shown_, false)) std::fputs("\r\033[K", stderr);
}

void Progress::begin() {
  start_ = seconds_now();
  update(0, 0);
}

void Progress::update(std::uint64_t position, std::uint64_t items) {
  const double now = seconds_now();
  if (!shown_ || now - last_ < 0.1) return;
  last_ = now;
  const double rate = static_cast<double>(items) / std::max(now - start_, 1e-9);
  if (total_ == 0) return show(std::format("{} {} · {:.0f}/s", what_, items, rate));
  constexpr int kWidth = 30;
  const double part = std::min(1.0, static_cast<double>(position) / static_cast<double>(total_));
  const int full = static_cast<int>(part * kWidth);
  std::string bar;
  for (int i = 0; i < kWidth; ++i) bar += i < full ? "█" : "░";
  std::string line = std::format("{} {} {:3.0f} % · {} · {:.0f}/s", what_, bar, part * 100, items, rate);
  if (part > 0) line += std::format(" · {:.0f} s left", (now - start_) * (1 - part) / part);
  show(line);
}

void Progress::say(std::string_view line) {
  std::fprintf(stderr, "%sweft: %.*s\n", shown_ ? "\r\033[K" : "", static_cast<int>(line.size()), line.data());
}

void Progress::show(const std::string& line) {
  if (!shown_) return;
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
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
