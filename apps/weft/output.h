// The target of results: standard output, or a file that is written completely or not at all.
#pragma once

#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <string_view>

#include "signals.h"

namespace weft::app {

// Standard output is a pipe that was closed at its other end, as by `| head -1`: no failure, but the end.
struct NobodyReads : std::exception {};
// The command failed, and has said in its output in what.
struct Reported : std::exception {};

// Writes bytes to standard output ("-") or to a temporary file in the directory of `path`, which commit() renames to
// `path`; without commit(), and after a signal that ends the program, it is removed. Throws IoError (full disk, no such
// directory), NobodyReads.
class Output {
 public:
  explicit Output(const std::string& path);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void write(std::string_view bytes);
  // Rewrites the file's first bytes; files only.
  void rewrite_head(std::string_view bytes);
  void flush();
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  std::FILE* file_ = nullptr;
  std::filesystem::path path_;  // empty: standard output
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
