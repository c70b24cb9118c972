// Axes that a function goes over.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

namespace weft {

// One axis, several, or all of them, which is what Axes() means. Negative ones count from the end.
class Axes {
 public:
  Axes() = default;
  Axes(int axis) : axes_{axis}, all_(false) {}                         // NOLINT: implicit, as are the next
  Axes(std::initializer_list<int> axes) : axes_(axes), all_(false) {}  // NOLINT
  Axes(std::span<const int> axes) : axes_(axes.begin(), axes.end()), all_(false) {}  // NOLINT
  Axes(const std::vector<int>& axes) : axes_(axes), all_(false) {}                   // NOLINT

  bool are_all() const { return all_; }
  // As they were given; of all axes none.
  const std::vector<int>& given() const { return axes_; }
  bool operator==(const Axes&) const = default;

  // Those of a tensor of this rank, as they were given.
  std::vector<int> of(int rank) const {
    if (!all_) return axes_;
    std::vector<int> every;
    for (int i = 0; i < rank; ++i) every.push_back(i);
    return every;
  }

 private:
  std::vector<int> axes_;
  bool all_ = true;
};

}  // namespace weft
