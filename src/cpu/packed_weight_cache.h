// Other forms of constants, such as a weight packed for a matrix product: kernels make them once and find them again.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/view.h"

namespace weft::cpu {

class PackedWeightCache {
 public:
  // The buffer's bytes stay as they are as long as all owners live.
  void add(const Buffer& constant, const std::vector<std::weak_ptr<const void>>& owners);
  // What `make` makes of the view, under the name `form`; made the first time. Empty if the view is not of a constant.
  Buffer form(const View& view, std::string_view form, const std::function<Buffer()>& make);
  // Forgets constants whose owners are gone.
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
  std::map<const std::byte*, Constant> constants_;
};

}  // namespace weft::cpu
