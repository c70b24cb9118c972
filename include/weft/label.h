// Labels of tensors, in schedules, profiles, GPU debuggers and errors. They are no part of what graphs
// are compared by.
#pragma once

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

}  // namespace weft
