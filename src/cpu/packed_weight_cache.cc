#include "cpu/packed_weight_cache.h"

#include <algorithm>

namespace weft::cpu {

void PackedWeightCache::add(const Buffer& constant, const std::vector<std::weak_ptr<const void>>& owners) {
  if (constant.size() == 0 || owners.empty()) return;
  Constant& c = constants_[constant.data()];
  if (c.size >= constant.size()) return;
  c = {constant.size(), owners, {}};
}

Buffer PackedWeightCache::form(const View& view, std::string_view form, const std::function<Buffer()>& make) {
  const std::byte* const start = view.buffer.data() + view.offset;
  auto it = constants_.upper_bound(start);
  if (it == constants_.begin()) return {};
  --it;
  Constant& c = it->second;
  if (start >= it->first + c.size) return {};
  for (const Form& f : c.forms) {
    if (f.start == start && f.name == form && f.dtype == view.dtype && f.layout.shape == view.shape() &&
        f.layout.strides == view.strides()) {
      return f.buffer;
    }
  }
  c.forms.push_back({start, view.dtype, view.layout, form, make()});
  return c.forms.back().buffer;
}

void PackedWeightCache::drop_orphans() {
  std::erase_if(constants_, [](const auto& entry) {
    return std::ranges::any_of(entry.second.owners, [](const auto& o) { return o.expired(); });
  });
}

}  // namespace weft::cpu
