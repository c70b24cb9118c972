#include "weft/shape.h"

#include <algorithm>
#include <utility>

#include "core/checked.h"
#include "core/format.h"
#include "weft/error.h"

namespace weft {

Dims Dims::filled(int rank, std::int64_t value) {
  Dims d;
  for (int i = 0; i < rank; ++i) d.push_back(value);
  return d;
}

void Dims::refuse_more() { throw ShapeError("shape: more than {} dimensions", kMaxRank); }

void Dims::insert(int at, std::int64_t value) {
  if (rank_ == kMaxRank) refuse_more();
  std::copy_backward(values_.begin() + at, values_.begin() + rank_, values_.begin() + rank_ + 1);
  values_[at] = value;
  ++rank_;
}

void Dims::erase(int at) {
  std::copy(values_.begin() + at + 1, values_.begin() + rank_, values_.begin() + at);
  values_[--rank_] = 0;
}

void Dims::pop_back() { erase(rank_ - 1); }

std::string to_string(const Dims& dims) {
  std::string s = "[";
  for (int i = 0; i < dims.rank(); ++i) s += (i ? ", " : "") + std::to_string(dims[i]);
  return s + "]";
}

std::int64_t element_count(const Shape& shape) {
  for (auto d : shape) {
    if (d < 0) throw ShapeError("shape {}: negative size", to_string(shape));
  }
  if (std::ranges::find(shape, 0) != shape.end()) return 0;
  std::int64_t n = 1;
  for (auto d : shape) {
    if (multiply_overflows(n, d, n)) throw ShapeError("shape {}: more than 2^63 elements", to_string(shape));
  }
  return n;
}

Strides dense_strides(const Shape& shape) {
  Strides strides = Strides::filled(shape.rank(), 1);
  for (int i = shape.rank() - 2; i >= 0; --i) {
    if (multiply_overflows(strides[i + 1], std::max<std::int64_t>(shape[i + 1], 1), strides[i])) {
      throw ShapeError("shape {}: more than 2^63 elements", to_string(shape));
    }
  }
  return strides;
}

Shape broadcast(const Shape& a, const Shape& b) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  Shape result = Shape::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.rank() ? a[-i] : 1;
    const std::int64_t y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw ShapeError("shapes {} and {} do not broadcast: sizes {} and {} meet {} from the end", to_string(a),
                       to_string(b), x, y, i);
    }
    result[-i] = x == 1 ? y : x;
  }
  return result;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int i = 1; i <= from.rank(); ++i) {
    if (from[-i] != 1 && from[-i] != to[-i]) return false;
  }
  return true;
}

int normalize_axis(int axis, int rank, std::string_view where) {
  if (axis < -rank || axis >= rank) {
    throw ShapeError("{}: axis {} is outside a tensor of rank {}", where, axis, rank);
  }
  return axis < 0 ? axis + rank : axis;
}

bool Layout::is_dense() const {
  if (std::ranges::find(shape, 0) != shape.end()) return true;
  std::int64_t expected = 1;
  for (int i = rank() - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    if (multiply_overflows(expected, shape[i], expected)) return false;
  }
  return true;
}

std::array<std::int64_t, 2> Layout::offset_range() const {
  std::int64_t low = 0;
  std::int64_t high = 0;
  for (int i = 0; i < rank(); ++i) {
    if (shape[i] == 0) return {0, 0};
    std::int64_t reach = 0;
    std::int64_t& end = strides[i] < 0 ? low : high;
    if (multiply_overflows(shape[i] - 1, strides[i], reach) || add_overflows(end, reach, end)) {
      throw ShapeError("shape {} with strides {} reaches past 2^63 elements", to_string(shape), to_string(strides));
    }
  }
  return {low, high};
}

Layout Layout::permuted(std::span<const int> order) const {
  if (static_cast<int>(order.size()) != rank()) {
    throw ShapeError("permute: {} axes given for shape {}", order.size(), to_string(shape));
  }
  Layout result;
  std::array<bool, kMaxRank> seen{};
  for (int axis : order) {
    axis = normalize_axis(axis, rank(), "permute");
    if (std::exchange(seen[axis], true)) throw ShapeError("permute: axis {} is named twice", axis);
    result.shape.push_back(shape[axis]);
    result.strides.push_back(strides[axis]);
  }
  return result;
}

Layout Layout::broadcast_to(const Shape& target) const {
  if (weft::broadcast(shape, target) != target) {
    throw ShapeError("shape {} does not broadcast to {}", to_string(shape), to_string(target));
  }
  Layout result{target, Strides::filled(target.rank(), 0)};
  for (int i = 1; i <= rank(); ++i) {
    if (shape[-i] == target[-i]) result.strides[-i] = strides[-i];
  }
  return result;
}

bool Layout::reshaped(const Shape& target, Layout& result) const {
  if (element_count(target) != count()) {
    throw ShapeError("reshape: {} has {} elements, {} has {}", to_string(shape), count(), to_string(target),
                     element_count(target));
  }
  if (count() == 0) {
    result = dense(target);
    return true;
  }
  // Each run of old dimensions that is contiguous in memory can be split in another way; a new dimension may not cross
  // runs.
  const std::array<Strides, 1> own{strides};
  const Collapsed runs = collapse(shape, own);
  result = {target, Strides::filled(target.rank(), 0)};
  int run = runs.shape.rank() - 1;
  std::int64_t left = run >= 0 ? runs.shape[run] : 1;
  std::int64_t stride = run >= 0 ? runs.strides[0][run] : 1;
  for (int i = target.rank() - 1; i >= 0; --i) {
    if (target[i] == 1) {
      result.strides[i] = stride;
      continue;
    }
    if (left == 1) {
      --run;
      left = runs.shape[run];
      stride = runs.strides[0][run];
    }
    if (left % target[i] != 0) return false;
    result.strides[i] = stride;
    stride *= target[i];
    left /= target[i];
  }
  return true;
}

Collapsed collapse(const Shape& shape, std::span<const Strides> strides) {
  Collapsed result;
  result.strides.resize(strides.size());
  for (int i = 0; i < shape.rank(); ++i) {
    if (shape[i] == 1) continue;
    const int last = result.shape.rank() - 1;
    bool merges = last >= 0;
    for (std::size_t k = 0; merges && k < strides.size(); ++k) {
      merges = result.strides[k][last] == strides[k][i] * shape[i];
    }
    if (merges) {
      result.shape[last] *= shape[i];
      for (std::size_t k = 0; k < strides.size(); ++k) result.strides[k][last] = strides[k][i];
    } else {
      result.shape.push_back(shape[i]);
      for (std::size_t k = 0; k < strides.size(); ++k) result.strides[k].push_back(strides[k][i]);
    }
  }
  return result;
}

}  // namespace weft
