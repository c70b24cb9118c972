#include "kernels/resize/problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/format.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// The tables of each pass, as indices of the pass' tables. Axes that become shorter come first.
std::vector<std::vector<std::size_t>> groups_of(const ResizePass& whole) {
  std::vector<std::size_t> order(whole.tables.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::less(), [&](std::size_t k) { return whole.tables[k].ratio; });
  // Up to this many products of an element cost less than a pass through memory; cubic ones of two axes are 16.
  constexpr std::int64_t kProducts = 16;
  std::vector<std::vector<std::size_t>> groups;
  std::int64_t products = 0;
  for (const std::size_t k : order) {
    const std::int64_t pitch = whole.tables[k].pitch;
    if (groups.empty() || sums_integers(whole) || products * pitch > kProducts) {
      groups.emplace_back();
      products = 1;
    }
    groups.back().push_back(k);
    products *= pitch;
  }
  return groups;
}

DType intermediate_type(const ResizePass& whole) {
  return sums_integers(whole) ? kIntegerIntermediate : whole.from_type == DType::f64 ? DType::f64 : DType::f32;
}

// The strides of a dense tensor whose axes lie in the order of these strides.
Strides dense_as(const Shape& shape, const Strides& strides) {
  std::vector<int> axes(static_cast<std::size_t>(shape.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::ranges::stable_sort(axes, std::greater(), [&](int d) { return std::abs(strides[d]); });
  Strides dense = strides;
  std::int64_t next = 1;
  for (auto d = axes.rbegin(); d != axes.rend(); ++d) {
    dense[*d] = next;
    next *= shape[*d];
  }
  return dense;
}

template <class F>
void for_each_intermediate(const ResizePass& whole, const std::vector<std::vector<std::size_t>>& groups, F&& f) {
  Shape shape = whole.x_shape();
  for (std::size_t g = 0; g + 1 < groups.size(); ++g) {
    for (const std::size_t k : groups[g]) shape[whole.tables[k].axis] = whole.tables[k].to();
    f(g, shape);
  }
}

}  // namespace

std::pair<std::int32_t, std::int32_t> limits_of(DType type) {
  switch (type) {
    case DType::i8:
      return {-128, 127};
    case DType::u8:
      return {0, 255};
    // Two more cubic passes do not overflow 32 bits.
    case kIntegerIntermediate:
      return {-0x7fff, 0x7fff};
    default:
      throw InternalError("resize of {}", name(type));
  }
}

std::int32_t fixed_point(const Number& value, DType type) {
  const auto [low, high] = limits_of(type);
  const double scaled = value.value() * (1 << fraction_bits(type));
  return std::isnan(scaled) ? 0
                            : static_cast<std::int32_t>(std::clamp(std::nearbyint(scaled), double(low), double(high)));
}

ResizeOrder order_of(const ResizePass& pass) {
  const int rank = pass.y.rank();
  std::vector<int> axes(static_cast<std::size_t>(rank)), table_of(static_cast<std::size_t>(rank), -1);
  std::iota(axes.begin(), axes.end(), 0);
  for (std::size_t k = 0; k < pass.tables.size(); ++k) {
    table_of[static_cast<std::size_t>(pass.tables[k].axis)] = static_cast<int>(k);
  }
  std::erase_if(axes, [&](int d) { return pass.y.shape()[d] == 1 && table_of[static_cast<std::size_t>(d)] < 0; });
  // Axes of one element say nothing about the order.
  std::ranges::stable_sort(axes, std::greater(),
                           [&](int d) { return pass.y.shape()[d] == 1 ? INT64_MAX : std::abs(pass.y.strides()[d]); });
  ResizeOrder o;
  o.inputs.resize(pass.inputs.size());
  o.operands.resize(pass.operands.size());
  // Calls f(strides in this order, the view's stride along axis d) for each view.
  const auto for_each = [&](int d, auto&& f) {
    f(o.y, pass.y.strides()[d]);
    for (std::size_t k = 0; k < o.inputs.size(); ++k) f(o.inputs[k], pass.inputs[k].strides()[d]);
    for (std::size_t k = 0; k < o.operands.size(); ++k) f(o.operands[k], pass.operands[k].strides()[d]);
  };
  for (const int d : axes) {
    const int table = table_of[static_cast<std::size_t>(d)];
    const std::int64_t n = pass.y.shape()[d];
    bool one = table < 0 && !o.table.empty() && o.table.back() < 0;
    if (one) for_each(d, [&](Strides& s, std::int64_t stride) { one &= s[-1] == stride * n; });
    if (one) {
      o.shape[-1] *= n;
      o.x_shape[-1] *= n;
      for_each(d, [](Strides& s, std::int64_t stride) { s[-1] = stride; });
      continue;
    }
    o.shape.push_back(n);
    o.x_shape.push_back(pass.x_shape()[d]);
    for_each(d, [](Strides& s, std::int64_t stride) { s.push_back(stride); });
    o.table.push_back(table);
  }
  if (o.table.empty()) {
    o.shape = o.x_shape = {1};
    o.y = {1};
    o.inputs.assign(o.inputs.size(), {1});
    o.operands.assign(o.operands.size(), {1});
    o.table = {-1};
  }
  return o;
}

std::uint64_t intermediate_bytes(const ResizePass& whole) {
  if (whole.moves) return 0;
  std::uint64_t most = 0;
  for_each_intermediate(whole, groups_of(whole), [&](std::size_t, const Shape& shape) {
    most = std::max(most, byte_size(intermediate_type(whole), static_cast<std::uint64_t>(element_count(shape))));
  });
  return most;
}

std::vector<ResizePass> passes_of(const ResizePass& whole, bool as_y,
                                  const std::function<View(std::uint64_t bytes)>& memory) {
  if (whole.moves) return {whole};
  const auto groups = groups_of(whole);
  const DType type = intermediate_type(whole);
  std::vector<View> between;
  for_each_intermediate(whole, groups, [&](std::size_t, const Shape& shape) {
    const View bytes = memory(byte_size(type, static_cast<std::uint64_t>(element_count(shape))));
    const View& v = between.emplace_back(bytes.buffer, bytes.offset, type, shape);
    if (as_y) between.back() = v.with_layout({shape, dense_as(shape, whole.y.strides())});
  });
  std::vector<ResizePass> passes;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const bool first = g == 0, last = g + 1 == groups.size();
    ResizePass pass{.inputs = first ? whole.inputs : std::vector{between[g - 1]},
                    .y = last ? whole.y : between[g],
                    .tables = {},
                    .value = whole.value,
                    .from_type = first ? whole.from_type : type,
                    .to_type = last ? whole.to_type : type,
                    .prologue = first ? whole.prologue : nullptr,
                    .epilogue = last ? whole.epilogue : nullptr};
    if (last) pass.operands = whole.operands;
    for (const std::size_t k : groups[g]) pass.tables.push_back(whole.tables[k]);
    passes.push_back(std::move(pass));
  }
  return passes;
}

}  // namespace weft::kernels
