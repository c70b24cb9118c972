// What is made once for each key and kept while it is used: the executables of a graph by its shapes, those of a cache
// by their graphs, what a function became by the types of its arguments.
//
//   Forms<std::string, MadeOnce<Executable>> forms(32);
//   Executable e = forms.get(key, [&] { return compile(graph, device); });
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::compiler {

// Something that takes long to make: the first thread that asks for it makes it, and those that ask meanwhile wait.
template <class T>
class MadeOnce {
 public:
  // What `make` returned to the first call. If it throws, the caller gets its exception, and the next one makes it.
  template <class Make>
  T get(const Make& make) {
    return get([](const T&) { return true; }, make);
  }
  // The same; what `is_valid` does not hold for any more is made again.
  template <class IsValid, class Make>
  T get(const IsValid& is_valid, const Make& make) {
    const std::lock_guard lock(mutex_);
    if (made_ && !is_valid(*made_)) {
      is_made_ = false;
      made_.reset();
    }
    if (!made_) made_.emplace(make());
    is_made_ = true;
    return *made_;
  }
  // Does not wait.
  bool is_made() const { return is_made_; }

 private:
  std::mutex mutex_;
  std::optional<T> made_;
  std::atomic<bool> is_made_ = false;
};

// A table of at most `capacity` entries, of which the one that was used longest ago is dropped first. An entry that was
// dropped lives as long as a thread still uses it. Any number of threads.
template <class Key, class Entry, class Hash = std::hash<Key>>
class Forms {
 public:
  using EntryPtr = std::shared_ptr<Entry>;

  explicit Forms(std::size_t capacity) : capacity_(std::max<std::size_t>(capacity, 1)) {}

  // The key's entry, which is the most recently used one from then on. If there is none, `make` returns a new one:
  // under the table's lock, so what takes long is for MadeOnce.
  template <class Make>
  EntryPtr find(Key key, const Make& make) {
    EntryPtr dropped;  // after the lock
    const std::lock_guard lock(mutex_);
    const auto [it, is_new] = items_.try_emplace(std::move(key));
    Item& item = it->second;
    if (!is_new) {
      used_.splice(used_.begin(), used_, item.used);
      return item.entry;
    }
    try {
      item.entry = make();
      used_.push_front(&it->first);
    } catch (...) {
      items_.erase(it);
      throw;
    }
    item.used = used_.begin();
    EntryPtr entry = item.entry;
    if (items_.size() > capacity_) dropped = erase(items_.find(*used_.back()));
    return entry;
  }

  // What the key's entry, a MadeOnce, has; `make` makes it. A key whose making failed is not kept.
  template <class Make>
  auto get(Key key, const Make& make) {
    const EntryPtr entry = find(key, [] { return std::make_shared<Entry>(); });
    try {
      return entry->get(make);
    } catch (...) {
      drop_if([&](const Key&, const Entry& e) { return &e == entry.get() && !e.is_made(); });
      throw;
    }
  }

  // Drops the entries for which it holds.
  template <class Condition>
  void drop_if(const Condition& holds) {
    std::vector<EntryPtr> dropped;  // after the lock
    const std::lock_guard lock(mutex_);
    for (auto it = items_.begin(); it != items_.end();) {
      const auto at = it++;
      if (holds(at->first, std::as_const(*at->second.entry))) dropped.push_back(erase(at));
    }
  }
  void clear() {
    drop_if([](const Key&, const Entry&) { return true; });
  }

  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  // How many entries it holds for.
  template <class Condition>
  std::size_t count_if(const Condition& holds) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(items_, [&](const auto& item) { return holds(std::as_const(*item.second.entry)); }));
  }

 private:
  struct Item {
    EntryPtr entry;
    typename std::list<const Key*>::iterator used;
  };
  using Items = std::unordered_map<Key, Item, Hash>;
  EntryPtr erase(typename Items::iterator it) {
    EntryPtr entry = std::move(it->second.entry);
    used_.erase(it->second.used);
    items_.erase(it);
    return entry;
  }

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  Items items_;
  std::list<const Key*> used_;  // keys of the table, the most recently used first
};

}  // namespace weft::compiler
