// Short lists without memory of their own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace weft {

// A list whose first `n` elements lie in the list itself; only a longer one allocates. Of plain elements, which are
// copied as bytes.
template <class T, std::size_t n>
  requires std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>
class InlineList {
 public:
  InlineList() = default;
  // `count` elements that are all `value`.
  InlineList(std::size_t count, const T& value) : size_(count) {
    if (count > n)
      more_.assign(count, value);
    else
      std::uninitialized_fill_n(few(), count, value);
  }
  InlineList(const InlineList&) = delete;
  InlineList& operator=(const InlineList&) = delete;

  void push_back(const T& value) {
    if (size_ < n) {
      std::construct_at(few() + size_, value);
    } else {
      if (size_ == n) more_.assign(few(), few() + n);
      more_.push_back(value);
    }
    ++size_;
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return size_ <= n ? few() : more_.data(); }
  const T* data() const { return size_ <= n ? few() : more_.data(); }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }
  T& operator[](std::size_t i) { return data()[i]; }
  const T& operator[](std::size_t i) const { return data()[i]; }

 private:
  T* few() { return reinterpret_cast<T*>(few_); }
  const T* few() const { return reinterpret_cast<const T*>(few_); }

  std::size_t size_ = 0;
  alignas(T) std::byte few_[n * sizeof(T)];
  std::vector<T> more_;  // all, once they are more than n
};

}  // namespace weft
