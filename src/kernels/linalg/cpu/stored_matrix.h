// Matrices as LAPACK takes them, and when it does.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "kernels/copy/copy.h"
#include "kernels/cpu_loops.h"
#include "kernels/linalg/cpu/lapack.h"

namespace weft::kernels {

// One matrix, vector or number of a batch: the last `axes` axes.
inline View of_batch(const View& v, int axes, std::int64_t index) {
  Layout batch{v.shape(), v.strides()}, own;
  for (int k = 0; k < axes; ++k) {
    batch.shape.pop_back();
    batch.strides.pop_back();
  }
  for (int k = -axes; k < 0; ++k) {
    own.shape.push_back(v.shape()[k]);
    own.strides.push_back(v.strides()[k]);
  }
  View one = v.with_layout(own);
  if (v.count()) one.offset += static_cast<std::uint64_t>(offset_of(batch, index) * bits(v.dtype) / 8);
  return one;
}

// LAPACK, where it takes less time for so many matrices, or systems, of sides m and n than the loops, which share them
// among the cores. It is called by one thread at a time, since calls of several wait for its memory and its threads:
// on two cores 1,000 LU factors of 32 × 32 take OpenBLAS 0.3.34 5 ms one after another, and 23 ms two at a time. On one
// core it is about n / 8 times as fast as the loops are; on large matrices it uses the other cores itself.
template <class T>
const Lapack<T>* lapack_for(const cpu::Executor& executor, std::int64_t count, std::int64_t m, std::int64_t n) {
  const std::int64_t side = std::max(m, n);
  const Lapack<T>* const by = side >= 8 * std::min<std::int64_t>(count, executor.threads()) ? lapack<T>(side) : nullptr;
  cpu::say_form([by] {
    return by ? std::pair{"lapack", "the library was built with LAPACK, and the matrices are not many small ones"}
              : std::pair{"loops", "many small matrices, or --lapack is off, or the library was built without LAPACK"};
  });
  return by;
}

enum class Order : std::uint8_t { rows, columns };

// A matrix in memory that LAPACK can work in: a view's own if it is stored by columns or by rows, else a copy.
template <class T>
class StoredMatrix {
 public:
  // `order`: the one that it must have, if not any.
  explicit StoredMatrix(const View& view, std::optional<Order> order = {}) : view_(view), stored_(view) {
    const std::int64_t rows = view.shape()[0], columns = view.shape()[1];
    const auto fits = [](std::int64_t across, std::int64_t step, std::int64_t along, std::int64_t length) {
      return (length <= 1 || step == 1) &&
             (across <= 1 || (along >= std::max<std::int64_t>(1, length) && along <= std::numeric_limits<int>::max()));
    };
    const bool by_columns = fits(columns, view.strides()[0], view.strides()[1], rows),
               by_rows = fits(rows, view.strides()[1], view.strides()[0], columns);
    copied_ = order == Order::rows ? !by_rows : order == Order::columns ? !by_columns : !by_rows && !by_columns;
    order_ = order ? *order : by_columns && !by_rows ? Order::columns : Order::rows;
    const std::int64_t length = order_ == Order::rows ? columns : rows, across = order_ == Order::rows ? rows : columns;
    ld_ = std::max<std::int64_t>(1, length);
    if (copied_) {
      const Strides strides = order_ == Order::rows ? Strides{ld_, 1} : Strides{1, ld_};
      stored_ = View(Buffer::host(static_cast<std::uint64_t>(view.count()) * sizeof(T)), 0, view.dtype, view.shape(),
                     strides);
    } else if (across > 1) {
      ld_ = view.strides()[order_ == Order::rows ? 0 : 1];
    }
  }

  const View& view() const { return stored_; }
  T* data() const { return kernels::data<T>(stored_); }
  Order order() const { return order_; }
  int ld() const { return static_cast<int>(ld_); }
  T& operator()(std::int64_t i, std::int64_t j) const {
    return order_ == Order::rows ? data()[i * ld_ + j] : data()[i + j * ld_];
  }

  // Sets it to another one, which may be the view itself.
  void load(cpu::Executor& executor, const View& from) {
    const bool same =
        !copied_ && from.buffer == view_.buffer && from.offset == view_.offset && from.layout == view_.layout;
    if (!same && view_.count()) copy_bits_cpu(executor, from, stored_);
  }
  // Brings what was computed into the view.
  void store(cpu::Executor& executor) {
    if (copied_ && view_.count()) copy_bits_cpu(executor, stored_, view_);
  }
  bool is_finite() const {
    using Real = typename Lapack<T>::Real;
    const std::int64_t parts = sizeof(T) / sizeof(Real);
    const std::int64_t rows = view_.shape()[0], columns = view_.shape()[1];
    const std::int64_t length = parts * (order_ == Order::rows ? columns : rows),
                       across = order_ == Order::rows ? rows : columns;
    bool finite = true;
    for (std::int64_t k = 0; k < across; ++k) {
      const auto* const v = reinterpret_cast<const Real*>(data() + k * ld_);
      // As wide as the elements, so that the loop is vectorised.
      std::conditional_t<sizeof(Real) == 8, std::int64_t, std::int32_t> others = 0;
      for (std::int64_t i = 0; i < length; ++i) others |= std::abs(v[i]) <= std::numeric_limits<Real>::max() ? 0 : 1;
      finite = finite && !others;
    }
    return finite;
  }

 private:
  View view_, stored_;
  Order order_ = Order::rows;
  bool copied_ = false;
  std::int64_t ld_ = 1;
};

}  // namespace weft::kernels
