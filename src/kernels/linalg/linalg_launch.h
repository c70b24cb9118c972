// What launchers of linear algebra share: views of matrices, the batch in front of them, and scratch.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/format.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/plan_state.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"

namespace weft::kernels {

inline View transposed(const View& v) {
  View t = v;
  std::swap(t.layout.shape[-1], t.layout.shape[-2]);
  std::swap(t.layout.strides[-1], t.layout.strides[-2]);
  return t;
}
// An axis in the opposite order.
inline View reversed(const View& v, int axis) { return slice(v, axis, -1, -v.shape()[axis] - 1, -1); }
inline View block(const View& v, std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t columns) {
  return slice(slice(v, -2, row, row + rows), -1, column, column + columns);
}
inline bool is_same(const View& a, const View& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.layout == b.layout;
}
inline bool is_complex(const View& v) { return v.dtype == DType::c64; }

inline void check_matrices(std::string_view name, const View& a) {
  if (a.rank() < 2 || a.shape()[-1] != a.shape()[-2]) {
    throw InvalidArgument("{}: a is {}; expected square matrices, [..., n, n]", name, to_string(a));
  }
}
inline Shape batch_of(const View& v) {
  Shape batch = v.shape();
  batch.pop_back();
  batch.pop_back();
  return batch;
}

// Operands of eigenvalues w, info and, if they are asked for, eigenvectors v.
inline void check_eigenvalues(Stream& stream, std::string_view name, const View& a, const View& w, const View& info,
                              const std::optional<View>& v) {
  check_views(name, {&a}, {&w, &info, v ? &*v : nullptr});
  check_matrices(name, a);
  const auto expect = [&](std::string_view operand, const View& view, const Shape& shape) {
    if (view.shape() == shape) return;
    throw InvalidArgument("{}: {} is {}; expected the shape {}, for a {}", name, operand, to_string(view),
                          to_string(shape), to_string(a));
  };
  Shape row = a.shape();
  row.pop_back();
  expect("w", w, row);
  expect("info", info, batch_of(a));
  if (v) expect("v", *v, a.shape());
  check_memory(stream, name, {{"a", a}}, {{"w", w}, {"info", info}, {"v", v}}, Sharing::none);
}

// A dense tensor in scratch.
inline View dense(GpuScratch& scratch, DType type, const Shape& shape) {
  const View bytes = scratch.take(byte_size(type, static_cast<std::uint64_t>(element_count(shape))));
  return {bytes.buffer, bytes.offset, type, shape};
}

// The batch's dimensions and, for each operand, its strides along them.
class Batch {
 public:
  Batch(Call& call, const Shape& batch) : call_(call), shape_(batch) {
    if (shape_.rank() == 0) shape_.push_back(1);
    call.iterate(shape_);
    call.index_param("count", element_count(shape_));
  }
  void strides(const std::string& name, const View& v, int matrix_rank) const {
    Strides own = v.strides();
    for (int k = 0; k < matrix_rank; ++k) own.pop_back();
    if (own.rank() == 0) own.push_back(0);
    call_.strides(name, own);
    if (matrix_rank == 2)
      call_.index_param(name + "_row", v.strides()[-2]).index_param(name + "_column", v.strides()[-1]);
  }

 private:
  Call& call_;
  Shape shape_;
};

// Calls f with pieces of the batch, which all views have in front of what is their own, that fit bindings.
inline void in_batches(const gpu::Capabilities& can, std::string_view kernel, const std::vector<View>& views,
                       int batch_rank, const std::function<void(std::span<const View>)>& f) {
  std::uint64_t largest = 0;
  std::int64_t elements = 0;
  for (const View& v : views) {
    largest = std::max(largest, span_bytes(v));
    elements = std::max(elements, v.count());
  }
  if (largest <= chunk_limit(can) && elements <= kMaxElements) return f(views);
  int cut = -1;
  for (int d = 0; d < batch_rank; ++d) {
    if (views[0].shape()[d] > 1 && (cut < 0 || views[0].shape()[d] > views[0].shape()[cut])) cut = d;
  }
  if (cut < 0) {
    throw Unsupported("{}: {} takes {} bytes; this device binds {} at most", kernel, to_string(views[0]), largest,
                      chunk_limit(can));
  }
  const std::int64_t size = views[0].shape()[cut], half = std::min(first_half(size), size - 1);
  for (const auto& [begin, count] : {std::pair{std::int64_t{0}, half}, {half, size - half}}) {
    std::vector<View> part;
    for (const View& v : views) part.push_back(chunk_along(v, cut, begin, count, kernel));
    in_batches(can, kernel, part, batch_rank, f);
  }
}

}  // namespace weft::kernels
