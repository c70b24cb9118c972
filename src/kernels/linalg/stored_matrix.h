// Matrices as LAPACK takes them, and how a batch of them is divided among threads.
#pragma once

#include <limits>
#include <optional>

#include "kernels/copy/copy.h"
#include "kernels/cpu_loops.h"
#include "kernels/linalg/lapack.h"

namespace weft::kernels {

// Says which form of a decomposition runs.
inline void say_whose(bool lapack) {
  cpu::say_form([lapack] {
    return lapack ? std::pair{"lapack", "the library was built with LAPACK, and --lapack is on"}
                  : std::pair{"loops", "the library was built without LAPACK, or --lapack is off"};
  });
}

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

// Calls f(index) for each matrix of a batch: small ones on all cores, where LAPACK's routines stay on the thread that
// calls them; larger ones one after the other, each on LAPACK's own threads.
constexpr std::int64_t kSmallMatrix = 1 << 16;  // bytes
template <class F>
void for_each_matrix(cpu::Executor& executor, std::int64_t count, std::int64_t bytes, F&& f) {
  const auto piece = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) f(k);
  };
  if (bytes <= kSmallMatrix)
    parallel(executor, count, std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, bytes)), piece);
  else
    piece(0, count);
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
      int others = 0;
      for (std::int64_t i = 0; i < length; ++i) others |= !(std::abs(v[i]) <= std::numeric_limits<Real>::max());
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
