// Rows on the CPU: each row of a tensor of any type and strides is passed to a function as a dense array.
#pragma once

#include <vector>

#include "core/compiler.h"
#include "core/host_memory.h"
#include "kernels/common/rows.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/block_memory.h"

// Compiled once for each level of vector instructions; the loader selects one. Not with sanitizers, whose runtime is
// not initialised when the loader selects.
#if defined(__x86_64__) && WEFT_GNU && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define WEFT_VECTOR_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define WEFT_VECTOR_CLONES
#endif

namespace weft::kernels {

// Element offsets along a row, of one operand.
class RowSteps {
 public:
  RowSteps(const Collapsed& inner, std::size_t operand, std::int64_t length) {
    if (inner.shape.rank() <= 1) {
      stride_ = inner.shape.empty() ? 1 : inner.strides[operand][0];
      return;
    }
    const Layout layout{inner.shape, inner.strides[operand]};
    table_ = host_list<std::int64_t>(length);
    for (std::int64_t j = 0; j < length; ++j) table_[static_cast<std::size_t>(j)] = offset_of(layout, j);
  }
  bool contiguous() const { return table_.empty() && stride_ == 1; }
  std::int64_t operator[](std::int64_t j) const { return table_.empty() ? j * stride_ : table_[j]; }

 private:
  std::int64_t stride_ = 1;
  std::vector<std::int64_t> table_;
};

// The rows of one operand, read in blocks as dense arrays of T. Rows that are adjacent in memory are read together, so
// that each cache line is used whole.
template <class T>
class RowReader {
 public:
  RowReader(const View& view, const Rows& rows, std::size_t operand)
      : view_(view),
        outer_{rows.outer.shape, rows.outer.strides[operand]},
        steps_(rows.inner, operand, rows.length),
        length_(rows.length) {}

  bool direct() const { return steps_.contiguous() && view_.dtype == (sizeof(T) == 8 ? DType::f64 : DType::f32); }
  T* direct_row(std::int64_t row) const { return data<T>(view_) + offset_of(outer_, row); }

  // buffer[r * length + j] = element j of row first + r.
  void gather(std::int64_t first, std::int64_t count, T* buffer) const {
    if (by_blocks()) {
      for_each_block(first, count, [&, load = load_block(view_.dtype)](std::int64_t at, std::int64_t to, int n) {
        load(view_.buffer.data() + view_.offset, at, 1, n, buffer + to);
      });
      return;
    }
    with_type(view_.dtype, [&]<class X>() {
      if constexpr (std::is_convertible_v<X, T>) {
        walk<X>(first, count, [&](const X& element, std::int64_t at) { buffer[at] = static_cast<T>(element); });
      }
    });
  }
  void scatter(std::int64_t first, std::int64_t count, const T* buffer) const {
    if (by_blocks()) {
      for_each_block(first, count, [&, store = store_block(view_.dtype)](std::int64_t at, std::int64_t from, int n) {
        store(view_.buffer.data() + view_.offset, at, 1, n, buffer + from);
      });
      return;
    }
    with_type(view_.dtype, [&]<class X>() {
      if constexpr (std::is_convertible_v<X, T>) {
        walk<X>(first, count, [&](X& element, std::int64_t at) { element = X(static_cast<float_for<X>>(buffer[at])); });
      }
    });
  }

 private:
  template <class X>
  using float_for = std::conditional_t<std::is_same_v<X, double>, double, float>;

  // True if rows are contiguous and of a type whose blocks are converted by vector code.
  bool by_blocks() const { return std::is_same_v<T, float> && steps_.contiguous() && widens_to_f32(view_.dtype); }
  template <class F>
  void for_each_block(std::int64_t first, std::int64_t count, F&& f) const {
    constexpr std::int64_t kMax = 1 << 20;
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t start = offset_of(outer_, first + r);
      for (std::int64_t j = 0; j < length_; j += kMax) {
        f(start + j, r * length_ + j, static_cast<int>(std::min(kMax, length_ - j)));
      }
    }
  }

  template <class X, class F>
  void walk(std::int64_t first, std::int64_t count, F&& f) const {
    std::int64_t start[kBlock];
    for (std::int64_t r = 0; r < count; ++r) start[r] = offset_of(outer_, first + r);
    X* base = data<X>(view_);
    for (std::int64_t j = 0; j < length_; ++j) {
      const std::int64_t step = steps_[j];
      for (std::int64_t r = 0; r < count; ++r) f(base[start[r] + step], r * length_ + j);
    }
  }

 public:
  static constexpr std::int64_t kBlock = 16;

 private:
  View view_;
  Layout outer_;
  RowSteps steps_;
  std::int64_t length_;
};

}  // namespace weft::kernels
