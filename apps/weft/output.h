// The target of results: standard output, a file that is written completely or not at all, or a device or pipe.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/output_target.h"
#include "signals.h"

namespace weft::app {

// Standard output is a pipe that was closed at its other end, as by `| head -1`: no failure, but the end.
struct NobodyReads : std::exception {};
// The command failed, and has said in its output in what.
struct Reported : std::exception {};

// Writes bytes to standard output ("-"), to what a path leads to if that is no regular file (core/output_target.h), or
// to a temporary file, which commit() moves into its place; without commit(), and after a signal that ends the program,
// it is removed. Throws IoError (full disk, no such directory), NobodyReads.
class Output {
 public:
  // Whether rewrite_head() may be called: then also what is no regular file gets its bytes from commit().
  enum class Head : std::uint8_t { stays, rewritten };

  explicit Output(const std::string& path, Head head = Head::stays);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes);
  // Rewrites the first bytes.
  void rewrite_head(std::string_view bytes);
  void flush();
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  bool is_file() const { return !temporary_.empty(); }

  std::FILE* file_ = nullptr;
  std::filesystem::path path_;          // empty: standard output
  std::optional<OutputTarget> target_;  // of the path
  TemporaryFile temporary_;
};

// A line that is rewritten in place on standard error if that is a terminal; silent otherwise. Shown from the start.
class Progress {
 public:
  // `total` in the units of update(), 0 if unknown. `first`: what happens before begin().
  Progress(std::string what, std::uint64_t total, bool wanted,
           std::string_view first = "opening the device and the model");
  ~Progress();
  // The work begins now: rates count from here.
  void begin();
  // `position` of `total`, and the number of items, that are done.
  void update(std::uint64_t position, std::uint64_t items);
  // Removes the line until the next update.
  void clear();
  // Removes the line.
  void end();
  // A line of its own on standard error, also where progress is not shown.
  void say(std::string_view line);

 private:
  void show(const std::string& line);
  std::string what_;
  std::uint64_t total_;
  bool shown_;
  double start_, last_ = 0;
};

double seconds_now();

// Ends the process with success. The system frees a GPU's memory at once, while freeing it buffer by buffer takes
// longer than embedding a sentence. All output must be committed.
void leave();

}  // namespace weft::app
