// Labels of tensors, in schedules, profiles, GPU debuggers and errors, and the lines of programs that errors name. They
// are no part of what graphs are compared by.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// While it lives, all tensors that this thread makes are labelled with its text, after that of the scopes around it:
// LabelScope("layers.0") and in it LabelScope("query") give "layers.0.query". Errors in making them say it, too.
class LabelScope {
 public:
  explicit LabelScope(std::string_view label);
  ~LabelScope();
  LabelScope(const LabelScope&) = delete;
  LabelScope& operator=(const LabelScope&) = delete;

 private:
  const std::string* before_;
};

// While it lives, errors that show only when tensors are computed, for those that this thread makes, name this line and
// not one of C++: for interfaces of other languages. `file` lives as long as the program; without one there is no line.
class SourceLineScope {
 public:
  SourceLineScope(const char* file, std::uint32_t line);
  ~SourceLineScope();
  SourceLineScope(const SourceLineScope&) = delete;
  SourceLineScope& operator=(const SourceLineScope&) = delete;

 private:
  const char* file_before_;
  std::uint32_t line_before_;
  int depth_before_;
};

}  // namespace weft
