// Constants in the form that a kernel computes with, such as a weight packed for a matrix product: packed once, then
// reused.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "weft/view.h"

namespace weft {

// Any thread may call.
class PackedWeightCache {
 public:
  // Registers a constant. Its bytes must not change while all owners live.
  void add(const Buffer& constant, const std::vector<std::weak_ptr<const void>>& owners);
  // The view's packed form of that name; the first call makes it by `make`. Empty if the view is not of a constant.
  Buffer form(const View& view, std::string_view form, const std::function<Buffer()>& make);
  // Drops constants whose owners are gone.
  void drop_orphans();

 private:
  struct Form {
    const std::byte* start;
    DType dtype;
    Layout layout;
    std::string_view name;
    Buffer buffer;
  };
  struct Constant {
    std::uint64_t size;
    std::vector<std::weak_ptr<const void>> owners;
    std::vector<Form> forms;
  };
  const Form* find(const View& view, std::string_view form, Constant** constant);

  std::mutex mutex_;
  std::map<const std::byte*, Constant> constants_;
};

}  // namespace weft
