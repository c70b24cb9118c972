#include "cpu/packed_weight_cache.h"

#include <algorithm>

namespace weft {

void PackedWeightCache::add(const Buffer& constant, const std::vector<std::weak_ptr<const void>>& owners) {
  if (constant.size() == 0 || owners.empty()) return;
  const std::lock_guard lock(mutex_);
  Constant& c = constants_[constant.data()];
  if (c.size >= constant.size()) return;
  c = {constant.size(), owners, {}};
}

const PackedWeightCache::Form* PackedWeightCache::find(const View& view, std::string_view form, Constant** constant) {
  const std::byte* const start = view.buffer.data() + view.offset;
  auto it = constants_.upper_bound(start);
  if (it == constants_.begin()) return nullptr;
  --it;
  Constant& c = it->second;
  if (start >= it->first + c.size) return nullptr;
  *constant = &c;
  for (const Form& f : c.forms) {
    if (f.start == start && f.name == form && f.dtype == view.dtype && f.layout.shape == view.shape() &&
        f.layout.strides == view.strides()) {
      return &f;
    }
  }
  return nullptr;
}

Buffer PackedWeightCache::form(const View& view, std::string_view form, const std::function<Buffer()>& make) {
  Constant* constant = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const Form* known = find(view, form, &constant)) return known->buffer;
    if (!constant) return {};
  }
  // Without the lock, because it uses all cores, which may be waiting for a form themselves. Threads that make the same
  // one keep the first.
  Buffer made = make();
  const std::lock_guard lock(mutex_);
  constant = nullptr;
  if (const Form* known = find(view, form, &constant)) return known->buffer;
  if (constant) {
    constant->forms.push_back({view.buffer.data() + view.offset, view.dtype, view.layout, form, made});
  }
  return made;
}

void PackedWeightCache::drop_orphans() {
  const std::lock_guard lock(mutex_);
  std::erase_if(constants_, [](const auto& entry) {
    return std::ranges::any_of(entry.second.owners, [](const auto& o) { return o.expired(); });
  });
}

}  // namespace weft
