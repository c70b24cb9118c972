// Operators that move elements, or say what a tensor's shape is: views, slices, gathers, scatters, pads, orders and
// constants.
#include <algorithm>
#include <limits>
#include <numeric>

#include "core/checked.h"
#include "onnx/node.h"
#include "onnx/tracer.h"
#include "onnx/value.h"
#include "onnx/write.h"
#include "ops/promotion.h"
#include "ops/view.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/device.h"
#include "weft/graph.h"
#include "weft/resampling.h"

namespace weft::onnx {

namespace {

// A row of one result.
template <Tensor (*f)(const Node&)>
Tensors one(const Node& n) {
  return {f(n)};
}

template <class T>
Tensor constant_of(const Shape& shape, const std::vector<T>& values) {
  return Graph::constant(TensorData::of<T>(shape, std::span<const T>(values)));
}
Tensor constant_of(const Ints& values) { return constant_of(Shape{static_cast<std::int64_t>(values.size())}, values); }

// An operand's elements, converted, in row-major order.
template <class T>
std::vector<T> elements_of(const Tensor& host) {
  const DefaultDeviceScope there(Device::cpu());
  return host.to_vector<T>();
}

Shape shape_of(std::span<const std::int64_t> sizes) { return Shape(sizes); }
std::int64_t product(std::span<const std::int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

// The attribute `axis`, counted from the front.
int axis_attribute(const Node& n, int rank, std::int64_t otherwise) {
  return axis_of(n, n.integer("axis", otherwise), rank);
}

// Sizes that an operand gives, which are 0 or more.
Shape sizes_of(const Node& n, std::size_t i) {
  const Ints sizes = n.integers_of(i);
  if (std::ranges::any_of(sizes, [](std::int64_t size) { return size < 0; })) {
    n.fail("operand {} has negative sizes", i);
  }
  return shape_of(sizes);
}

// ---- Shapes

Tensor shape(const Node& n) {
  const Tensor x = n.in(0);
  const std::int64_t rank = x.rank();
  const auto place = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const std::int64_t start = place(n.integer("start", 0)), end = place(n.integer("end", rank));
  return constant_of(Ints(x.shape().begin() + start, x.shape().begin() + std::max(start, end)));
}

// A size of 0 is that of the operand unless `allowzero`; -1 is what is left.
Tensor reshape_of(const Node& n) {
  const Tensor x = n.in(0);
  Ints to = n.integers_of(1);
  const bool zeros = n.integer("allowzero", 0) != 0;
  // Sizes of x that are not taken over as they are, and those of the result; where there are zeros among the former, -1
  // is what is left of the others.
  std::int64_t given = 1, taken = 1;
  bool overflows = false;
  std::optional<std::size_t> open;
  std::vector<bool> copied(static_cast<std::size_t>(x.rank()));
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == -1) {
      if (open) n.fail("the shape has more than one -1");
      open = i;
    } else if (to[i] == 0 && !zeros) {
      if (i >= copied.size()) n.fail("size {} of the shape is 0, but the operand is {}", i, to_string(x.shape()));
      copied[i] = true;
      to[i] = x.shape()[static_cast<int>(i)];
    } else if (to[i] < 0) {
      n.fail("size {} of the shape is {}", i, to[i]);
    } else {
      overflows |= multiply_overflows(taken, to[i], taken);
    }
  }
  if (open) {
    for (std::size_t i = 0; i < copied.size(); ++i) {
      if (!copied[i]) overflows |= multiply_overflows(given, x.shape()[static_cast<int>(i)], given);
    }
    if (overflows || taken == 0 || given % taken != 0) {
      n.fail("the operand is {}, which leaves no size for -1", to_string(x.shape()));
    }
  }
  // As the rule that it is, by which the graph has other shapes.
  ReshapeAttributes rule{shape_of(to), std::vector<int>(to.size(), -1)};
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (i >= copied.size() || !copied[i]) continue;
    rule.shape[static_cast<int>(i)] = -1;
    rule.kept[i] = static_cast<int>(i);
  }
  return reshape(x, std::move(rule));
}

Tensor flatten_of(const Node& n) {
  const Tensor x = n.in(0);
  const std::int64_t given = n.integer("axis", 1);
  const int axis = given == x.rank() ? x.rank() : axis_of(n, given, x.rank());
  const std::span<const std::int64_t> sizes(x.shape().begin(), x.shape().end());
  if (axis == 1) return reshape(x, ReshapeAttributes{{-1, -1}, {0, -1}});  // a rule, as above
  const auto front = static_cast<std::size_t>(axis);
  return reshape(x, {product(sizes.first(front)), product(sizes.subspan(front))});
}

// The shape broadcasts with the operand's: sizes of 1 stay.
Tensor expand(const Node& n) {
  const Tensor x = n.in(0);
  return broadcast_to(x, broadcast(x.shape(), sizes_of(n, 1)));
}

Tensor squeeze_of(const Node& n) {
  const Tensor x = n.in(0);
  if (const auto axes = n.integers(13, 1, "axes")) return squeeze(x, axes_of(n, *axes, x.rank()));
  std::vector<int> ones;
  for (int d = 0; d < x.rank(); ++d) {
    if (x.shape()[d] == 1) ones.push_back(d);
  }
  return squeeze(x, ones);
}
Tensor unsqueeze(const Node& n) {
  const Tensor x = n.in(0);
  const auto axes = n.integers(13, 1, "axes");
  if (!axes) n.fail("it has no axes");
  return expand_dims(x, axes_of(n, *axes, x.rank() + static_cast<int>(axes->size())));
}

Tensor transpose(const Node& n) {
  const Tensor x = n.in(0);
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  if (n.attribute("perm")) {
    order = axes_of(n, n.integers("perm"), x.rank());
  } else {
    std::iota(order.rbegin(), order.rend(), 0);
  }
  return permute(x, order);
}

// ---- Parts

// Elements start, start + step, … before `end` along each axis, counted from the end if negative, and cut off.
Tensor sliced(const Node& n, const Ints& starts, const Ints& ends, const std::optional<Ints>& given_axes,
              const std::optional<Ints>& given_steps) {
  Tensor x = n.in(0);
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (given_axes) axes = *given_axes;
  const Ints steps = given_steps ? *given_steps : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    n.fail("{} starts, {} ends, {} axes and {} steps; expected as many of each", starts.size(), ends.size(),
           axes.size(), steps.size());
  }
  const std::vector<int> along = axes_of(n, axes, x.rank());
  for (std::size_t i = 0; i < along.size(); ++i) {
    const std::int64_t size = x.shape()[along[i]], step = steps[i];
    if (step == 0) n.fail("step {} is 0", i);
    // A step back begins at an element, and may end in front of the first one.
    const std::int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;
    const auto place = [&](std::int64_t at, std::int64_t low) {
      return std::clamp(at < 0 ? at + size : at, std::min(low, most), most);
    };
    const std::int64_t begin = place(starts[i], 0), end = place(ends[i], least);
    const bool whole = step == 1 && begin == 0 && end == size;
    // (A step past the axis takes its first element, as the axis' size does.)
    if (!whole) {
      x = weft::slice(x, along[i], begin, end,
                      std::clamp(step, -std::max<std::int64_t>(size, 1), std::max<std::int64_t>(size, 1)));
    }
  }
  return x;
}
std::optional<Ints> maybe_integers(const Node& n, std::size_t i) {
  return n.has(i) ? std::optional(n.integers_of(i)) : std::nullopt;
}
Tensor slice_by_attributes(const Node& n) {
  return sliced(n, n.integers("starts"), n.integers("ends"),
                n.attribute("axes") ? std::optional(n.integers("axes")) : std::nullopt, {});
}
Tensor slice(const Node& n) {
  return sliced(n, n.integers_of(1), n.integers_of(2), maybe_integers(n, 3), maybe_integers(n, 4));
}

// Without sizes as many equal parts as there are results; from opset 18 on the last one may be smaller.
Tensors split(const Node& n) {
  const Tensor x = n.in(0);
  const int axis = axis_attribute(n, x.rank(), 0);
  if (const auto sizes = n.integers(13, 1, "split")) return weft::split(x, *sizes, axis);
  const std::int64_t size = x.shape()[axis], results = static_cast<std::int64_t>(n.results());
  const std::int64_t parts = n.version() >= 18 ? n.integer("num_outputs", results) : results;
  if (parts < 1 || parts > std::max<std::int64_t>(results, 1 << 16)) n.fail("{} parts, and {} results", parts, results);
  if (n.version() < 18 && size % parts != 0) n.fail("axis {} of {} in {} parts", axis, to_string(x.shape()), parts);
  Ints sizes;
  for (std::int64_t i = 0, left = size; i < parts; ++i) {
    sizes.push_back(std::min((size + parts - 1) / parts, left));
    left -= sizes.back();
  }
  return weft::split(x, sizes, axis);
}

Tensor concat_of(const Node& n) {
  const Tensors parts = n.all();
  if (parts.empty()) n.fail("it has no operands");
  return concat(std::span<const Tensor>(parts), axis_of(n, n.integer("axis"), parts[0].rank()));
}

// The middle of x along these axes, or x in the middle of zeros. What is odd is cut off in front, and added behind.
Tensor center_crop_pad(const Node& n) {
  const Tensor x = n.in(0);
  const Shape to = sizes_of(n, 1);
  Ints all(static_cast<std::size_t>(x.rank()));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> axes = axes_of(n, n.integers("axes", all), x.rank());
  if (static_cast<int>(axes.size()) != to.rank()) n.fail("{} sizes for {} axes", to.rank(), axes.size());
  Ints before(all.size(), 0), after(all.size(), 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto d = static_cast<std::size_t>(axes[i]);
    const std::int64_t more = to[static_cast<int>(i)] - x.shape()[axes[i]];
    before[d] = more / 2;  // rounded towards zero: down of what is cut off, too
    after[d] = more - before[d];
  }
  return pad(x, before, after);
}

// ---- Elements chosen by indices

Tensor gather_of(const Node& n) {
  const Tensor x = n.in(0);
  return gather(x, n.in(1), axis_attribute(n, x.rank(), 0));
}

// The first part of x along each axis but one, as long as the indices: they may leave out what is behind it.
Tensor part_for(const Node& n, Tensor x, const Shape& indices, int axis) {
  if (indices.rank() != x.rank()) n.fail("indices are {} and the operand {}", to_string(indices), to_string(x.shape()));
  for (int d = 0; d < x.rank(); ++d) {
    if (indices[d] > x.shape()[d] && d != axis) {
      n.fail("indices are {} and the operand {}, which is smaller along axis {}", to_string(indices),
             to_string(x.shape()), d);
    }
    if (d != axis && indices[d] < x.shape()[d]) x = weft::slice(x, d, 0, indices[d]);
  }
  return x;
}
Tensor gather_elements_of(const Node& n) {
  const Tensor x = n.in(0), indices = n.in(1);
  const int axis = axis_attribute(n, x.rank(), 0);
  return gather_elements(part_for(n, x, indices.shape(), axis), indices, axis);
}

ScatterKind scatter_kind(const Node& n) {
  const std::string reduction = n.text("reduction", "none");
  if (reduction == "none") return ScatterKind::assign;
  if (reduction == "add") return ScatterKind::add;
  if (reduction == "mul") return ScatterKind::mul;
  if (reduction == "max") return ScatterKind::max;
  if (reduction == "min") return ScatterKind::min;
  n.fail("reduction is '{}', expected none, add, mul, max or min", reduction);
}
Tensor scatter_elements_of(const Node& n) {
  const Tensor x = n.in(0), indices = n.in(1);
  const int axis = axis_attribute(n, x.rank(), 0);
  const Tensor part = part_for(n, x, indices.shape(), axis);
  if (indices.size() == 0) return x;
  const Tensor y = scatter_elements(scatter_kind(n), part, indices, n.in(2), axis);
  if (part.shape() == x.shape()) return y;
  return dynamic_update_slice(x, y, Graph::scalar(0, DType::i32), {axis});
}

// ---- Results as large as the data says: what is counted is read, and the elements stay on the device.

// The places of what is true in a tensor of rank 1, ascending, of its position type. `counts` are what is read: the
// number first, then `more` of the caller's.
struct Places {
  Tensor at;
  Ints counts;
};
Places places_of(const Node& n, const Tensor& flags, const Tensors& more = {}) {
  const std::int64_t size = flags.size();
  const DType type = position_type(size);
  if (size == 0) return {zeros({0}, type), Ints(more.size() + 1, 0)};
  Tensor ends = cumulative_sum(flags, 0, type);
  Tensors counts = {cast(reshape(weft::slice(ends, 0, size - 1, size), {}), DType::i64)};
  counts.insert(counts.end(), more.begin(), more.end());
  Tensor* const kept[] = {&ends};
  const Ints read = integers_in(n.tracer().read(n, "count", stack(counts, 0), kept));
  return {searchsorted(ends, arange(0, read[0], 1, type), Side::right), read};
}

// Slices of x along an axis where the condition is true; it may be shorter than the axis.
Tensor compress_of(const Node& n) {
  Tensor x = n.in(0), flags = cast(n.in(1), DType::boolean);
  const bool flat = !n.attribute("axis");
  if (flat) x = reshape(x, {x.size()});
  const int axis = flat ? 0 : axis_attribute(n, x.rank(), 0);
  if (flags.rank() != 1) n.fail("the condition is {}, expected rank 1", to_string(flags.shape()));
  const std::int64_t size = x.shape()[axis];
  Tensors behind;
  if (flags.size() > size) behind.push_back(count_nonzero(weft::slice(flags, 0, size, flags.size())));
  for (Tensor& t : behind) t = cast(t, DType::i64);
  const Places places = places_of(n, flags, behind);
  if (places.counts.size() > 1 && places.counts[1] > 0) {
    n.fail("the condition is true behind the end of axis {} of {}", axis, to_string(x.shape()));
  }
  return places.counts[0] == 0 ? weft::slice(x, axis, 0, 0) : gather(x, places.at, axis);
}

// [rank, count]: a column for each element that is not 0.
Tensor nonzero_of(const Node& n) {
  const Tensor x = n.in(0);
  const auto [at, counts] = places_of(n, reshape(x, {x.size()}) != 0);
  if (x.rank() == 0 || counts[0] == 0) return zeros({x.rank(), counts[0]}, DType::i64);
  Tensors rows(static_cast<std::size_t>(x.rank()));
  Tensor rest = at;
  for (int d = x.rank(); d-- > 0;) {
    rows[static_cast<std::size_t>(d)] = d == 0 ? rest : remainder(rest, x.shape()[d]);
    if (d > 0) rest = floor_divide(rest, x.shape()[d]);
  }
  return cast(stack(rows, 0), DType::i64);
}

// Rows of sorted elements: where each row's elements begin that differ from those before; all NaN are equal.
Tensor begins_of(const Tensor& sorted) {
  const int last = sorted.rank() - 1;
  const std::int64_t size = sorted.shape()[-1];
  const Tensor a = weft::slice(sorted, last, 1, size), b = weft::slice(sorted, last, 0, size - 1);
  Tensor differs = a != b;
  if (is_floating(sorted.dtype())) differs = logical_and(differs, !logical_and(is_nan(a), is_nan(b)));
  Shape first = sorted.shape();
  first[-1] = 1;
  return concat({full(first, true, DType::boolean), differs}, last);
}

// [rows, n]: which of its row's distinct elements, in ascending order, each is.
Tensor ranks_of(const Tensor& x) {
  const Tensor order = argsort(x, -1);
  const Tensor ranks = cumulative_sum(begins_of(gather_elements(x, order, -1)), -1, DType::i64) - 1;
  return scatter_elements(ScatterKind::assign, zeros(x.shape(), DType::i64), order, ranks, -1);
}

// The distinct slices along an axis, or elements, in ascending order or in that in which they come; where each is
// first, which of them each slice is, and how often it comes.
Tensors unique_of(const Node& n) {
  Tensor x = n.in(0);
  if (x.dtype() == DType::c64) n.lacks("complex numbers");
  const bool flat = !n.attribute("axis");
  if (flat) x = reshape(x, {x.size()});
  const int axis = flat ? 0 : axis_attribute(n, x.rank(), 0);
  const std::int64_t count = x.shape()[axis], length = count == 0 ? 0 : x.size() / count;
  const auto indices = [](const Tensor& t) { return cast(t, DType::i64); };
  Tensors results(std::min<std::size_t>(n.results(), 4));
  const auto give = [&](std::size_t i, const auto& make) {
    if (n.wants(i)) results[i] = make();
  };
  if (count == 0) {
    for (std::size_t i = 0; i < results.size(); ++i) results[i] = i == 0 ? x : zeros({0}, DType::i64);
    return results;
  }
  // Slices are numbered in their order: by their elements' ranks, of neighbours together, then of neighbouring pairs, …
  Tensor keys = x.dtype() == DType::boolean ? cast(x, DType::u8) : bits(x.dtype()) < 8 ? cast(x, DType::i32) : x;
  if (!flat) {
    keys = length == 0 ? zeros({1, count}, DType::i64) : reshape(moveaxis(keys, axis, -1), {length, count});
    while (keys.shape()[0] > 1) {
      const std::int64_t rows = keys.shape()[0];
      const Tensor ranks = ranks_of(keys);
      const Tensor front = weft::slice(ranks, 0, 0, rows, 2), back = weft::slice(ranks, 0, 1, rows, 2);
      keys = (rows % 2 == 0 ? front : weft::slice(front, 0, 0, rows / 2)) * count + back;
      if (rows % 2 != 0) keys = concat({keys, weft::slice(front, 0, rows / 2, rows / 2 + 1)}, 0);
    }
    keys = reshape(keys, {count});
  }
  Tensor order = argsort(keys);
  Tensor begins = begins_of(gather(keys, order));
  Tensor* const kept[] = {&order, &begins};
  const DType type = position_type(count);
  const std::int64_t found =
      integers_in(n.tracer().read(n, "count", cast(count_nonzero(begins), DType::i64), kept)).at(0);
  const Tensor ends = cumulative_sum(begins, 0, type);
  const Tensor starts = searchsorted(ends, arange(0, found, 1, type), Side::right);
  // As they come: by where they are first, which the sort keeps in front (it is stable).
  const Tensor firsts = gather(order, starts);
  const bool sorted = n.integer("sorted", 1) != 0;
  const Tensor turn = sorted ? Tensor() : argsort(firsts);
  const auto turned = [&](const Tensor& t) { return sorted ? t : gather(t, turn); };
  give(0, [&] { return gather(x, turned(firsts), axis); });
  give(1, [&] { return indices(turned(firsts)); });
  give(2, [&] {
    Tensor groups = ends - 1;
    if (!sorted) groups = gather(argsort(turn), groups);
    return indices(scatter_elements(ScatterKind::assign, zeros({count}, groups.dtype()), order, groups, 0));
  });
  give(3, [&] { return indices(turned(diff(starts, 0, 1, {}, full({1}, count, type)))); });
  return results;
}

// values are [off, on].
Tensor one_hot_of(const Node& n) {
  Tensor indices = n.in(0);
  if (is_floating(indices.dtype())) indices = cast(indices, DType::i64);
  const auto classes = static_cast<std::int64_t>(n.number_of(1));
  const Tensor values = n.in(2);
  const int axis = axis_attribute(n, indices.rank() + 1, -1);
  const auto value = [&](std::int64_t i) { return reshape(weft::slice(values, 0, i, i + 1), {}); };
  return select(one_hot(indices, classes, DType::boolean, axis), value(1), value(0));
}

// The first `length` elements of each row in reverse order.
Tensor reverse_sequence(const Node& n) {
  const Tensor x = n.in(0);
  const int batch = axis_of(n, n.integer("batch_axis", 1), x.rank());
  const int time = axis_of(n, n.integer("time_axis", 0), x.rank());
  const auto along = [&](const Tensor& v, int axis) {
    Shape shape = Shape::filled(x.rank(), 1);
    shape[axis] = v.size();
    return reshape(v, shape);
  };
  const Tensor lengths = along(cast(n.in(1), DType::i32), batch);
  const Tensor i = along(arange(0, x.shape()[time], 1, DType::i32), time);
  return gather_elements(x, select(i < lengths, lengths - 1 - i, i), time);
}

// A cache [batch, …] in which the update stands along an axis from write_indices[batch] on.
Tensor tensor_scatter(const Node& n) {
  const Tensor x = n.in(0), update = n.in(1), writes = n.maybe(2);
  const std::string mode = n.text("mode", "linear");
  if (mode != "linear" && mode != "circular") n.fail("mode is '{}', expected linear or circular", mode);
  const int axis = axis_attribute(n, x.rank(), -2);
  if (axis == 0) n.fail("axis is 0, which is that of the batch");
  if (!writes.defined()) return dynamic_update_slice(x, update, Graph::scalar(0, DType::i32), {axis});
  if (mode == "linear" && writes.size() == 1) return dynamic_update_slice(x, update, reshape(writes, {1}), {axis});
  Shape batch = Shape::filled(x.rank(), 1), time = batch;
  batch[0] = writes.size();
  time[axis] = update.shape()[axis];
  Tensor at = reshape(cast(writes, DType::i64), batch) + reshape(arange(0, time[axis], 1, DType::i64), time);
  if (mode == "circular") at = remainder(at, x.shape()[axis]);
  return scatter_elements(ScatterKind::assign, x, at, update, axis);
}

// ---- Pads, repetitions and blocks

// The element of an operand that has one.
Number number_in(const Tensor& host) {
  const DType type = host.dtype();
  if (type == DType::u64) return elements_of<std::uint64_t>(host).at(0);
  if (is_floating(type)) return elements_of<double>(host).at(0);
  return elements_of<std::int64_t>(host).at(0);
}

Tensor pad_of(const Node& n) {
  const Tensor x = n.in(0);
  const auto rank = static_cast<std::size_t>(x.rank());
  const std::optional<Ints> pads = n.integers(11, 1, "pads");
  if (!pads) n.fail("it has no pads");
  Ints all(rank);
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> axes = axes_of(n, n.version() >= 18 && n.has(3) ? n.integers_of(3) : all, x.rank());
  if (pads->size() != 2 * axes.size()) n.fail("{} pads for {} axes, expected two for each", pads->size(), axes.size());
  Ints before(rank, 0), after(rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    before[static_cast<std::size_t>(axes[i])] = (*pads)[i];
    after[static_cast<std::size_t>(axes[i])] = (*pads)[axes.size() + i];
  }
  const std::string mode = n.text("mode", "constant");
  if (mode == "edge") return pad(x, before, after, PadMode::edge);
  if (mode == "reflect") return pad(x, before, after, PadMode::reflect);
  if (mode == "wrap") return pad(x, before, after, PadMode::wrap);
  if (mode != "constant") n.fail("mode is '{}', expected constant, edge, reflect or wrap", mode);
  if (n.version() < 11) return pad(x, before, after, PadMode::constant, n.number("value", 0));
  if (!n.has(2)) return pad(x, before, after);
  if (n.in(2).size() != 1) n.fail("the value has {} elements, expected one", n.in(2).size());
  return pad(x, before, after, PadMode::constant, number_in(n.host(2)));
}

Tensor depth_to_space_of(const Node& n) {
  const std::string mode = n.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") n.fail("mode is '{}', expected DCR or CRD", mode);
  return depth_to_space(n.in(0), n.integer("blocksize"),
                        mode == "DCR" ? BlockOrder::depth_column_row : BlockOrder::column_row_depth);
}

// Columns [n, channels · block, places] added up to an image.
Tensor col2im(const Node& n) {
  const Tensor x = n.in(0);
  const Shape image = sizes_of(n, 1), block = sizes_of(n, 2);
  const Ints pads = n.integers("pads");
  const std::size_t half = pads.size() / 2;
  const Tensor y = fold(is_integer(x.dtype()) && bits(x.dtype()) < 32 ? cast(x, DType::i32) : x, image, block,
                        {.strides = shape_of(n.integers("strides")),
                         .dilations = shape_of(n.integers("dilations")),
                         .padding = shape_of(std::span(pads).first(half)),
                         .padding_after = shape_of(std::span(pads).subspan(half))});
  return cast(y, x.dtype());
}

Tensor trilu(const Node& n) {
  const std::int64_t diagonal = n.has(1) ? n.integer_of(1) : 0;
  return triangle(n.in(0), n.integer("upper", 1) != 0 ? Triangle::upper : Triangle::lower, diagonal);
}

// ---- Orders

Tensors top(const Node& n, std::int64_t k, bool largest) {
  const Tensor x = n.in(0);
  const TopK found = top_k(x, k, axis_attribute(n, x.rank(), -1), largest);
  return {found.values, cast(found.indices, DType::i64)};
}
Tensors top_k_by_attributes(const Node& n) { return top(n, n.integer("k"), true); }
// Unless `sorted` they may be in any order: sorted.
Tensors top_k_of(const Node& n) { return top(n, n.integer_of(1), n.integer("largest", 1) != 0); }

// ---- Constants

Tensor constant(const Node& n) {
  for (const std::string_view name : {"value", "sparse_value"}) {
    if (n.attribute(name)) return n.tensor(name);
  }
  if (n.attribute("value_int")) return constant_of(Shape{}, Ints{n.integer("value_int")});
  if (n.attribute("value_ints")) return constant_of(n.integers("value_ints"));
  if (n.attribute("value_float")) return Graph::scalar(n.number("value_float", 0), DType::f32);
  if (n.attribute("value_floats")) {
    const std::vector<double> values = n.numbers("value_floats");
    return constant_of(Shape{static_cast<std::int64_t>(values.size())},
                       std::vector<float>(values.begin(), values.end()));
  }
  if (n.attribute("value_string") || n.attribute("value_strings")) n.lacks("texts");
  n.fail("it has no value");
}

Tensor constant_of_shape(const Node& n) {
  const Tensor value = n.attribute("value") ? reshape(n.tensor("value"), {}) : Graph::scalar(0, DType::f32);
  return broadcast_to(value, sizes_of(n, 0));
}

Tensor range(const Node& n) {
  const DType type = n.in(0).dtype();
  if (is_floating(type)) return arange(n.number_of(0), n.number_of(1), n.number_of(2), type);
  return arange(n.integer_of(0), n.integer_of(1), n.integer_of(2), type);
}

Tensor eye_like(const Node& n) {
  const Tensor x = n.in(0);
  if (x.rank() != 2) n.fail("the operand is {}, expected two axes", to_string(x.shape()));
  return eye(x.shape()[0], x.shape()[1], n.type("dtype", x.dtype()), n.integer("k", 0));
}

constexpr OperatorRow kRows[] = {
    // ---- Shapes
    {"Expand", one<expand>, 8},
    {"Flatten", one<flatten_of>},
    {"Reshape", one<reshape_of>, 5},
    {"Shape", one<shape>},
    {"Size", one<[](const Node& n) { return Graph::scalar(n.in(0).size(), DType::i64); }>},
    {"Squeeze", one<squeeze_of>},
    {"Transpose", one<transpose>},
    {"Unsqueeze", one<unsqueeze>},

    // ---- Parts
    {"CenterCropPad", one<center_crop_pad>, 18},
    {"Concat", one<concat_of>, 4},
    {"Slice", one<slice_by_attributes>},
    {"Slice", one<slice>, 10},
    {"Split", split, 2},

    // ---- Elements chosen by indices
    {"Compress", one<compress_of>, 9, "the number of results is read"},
    {"Gather", one<gather_of>},
    {"GatherElements", one<gather_elements_of>, 11},
    {"GatherND",
     one<[](const Node& n) { return gather_nd(n.in(0), n.in(1), static_cast<int>(n.integer("batch_dims", 0))); }>, 11},
    {"NonZero", one<nonzero_of>, 9, "the number of results is read"},
    {"OneHot", one<one_hot_of>, 9},
    {"ReverseSequence", one<reverse_sequence>, 10},
    {"Scatter", one<scatter_elements_of>, 9},
    {"ScatterElements", one<scatter_elements_of>, 11},
    {"ScatterND", one<[](const Node& n) { return scatter_nd(scatter_kind(n), n.in(0), n.in(1), n.in(2)); }>, 11},
    {"TensorScatter", one<tensor_scatter>, 24},
    {"Unique", unique_of, 11, "the number of results is read"},

    // ---- Pads, repetitions and blocks
    {"Col2Im", one<col2im>, 18, "up to three spatial axes; no integers of 64 bits"},
    {"DepthToSpace", one<depth_to_space_of>},
    {"Pad", one<pad_of>, 2},
    {"SpaceToDepth", one<[](const Node& n) { return space_to_depth(n.in(0), n.integer("blocksize")); }>},
    {"Tile", one<[](const Node& n) { return tile(n.in(0), n.integers_of(1)); }>, 6},
    {"Trilu", one<trilu>, 14},

    // ---- Orders
    {"TopK", top_k_by_attributes},
    {"TopK", top_k_of, 10},

    // ---- Constants
    {"Constant", one<constant>, 1, "no texts"},
    {"ConstantOfShape", one<constant_of_shape>, 9},
    {"EyeLike", one<eye_like>, 9},
    {"Range", one<range>, 11},
};

// ---- Read backwards

Ints ints_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

std::string reshape_written(const Written& w) { return w.reshape(w.in(0), w.result().shape); }
std::string permute_written(const Written& w) { return w.transpose(w.in(0), w.integers("order")); }
std::string broadcast_written(const Written& w) {
  return w.node("Expand", {w.in(0), w.constant(ints_of(w.result().shape))});
}
std::string identity_written(const Written& w) { return w.in(0); }

std::string slice_written(const Written& w) {
  const std::int64_t step = w.has("step") ? w.integer("step") : 1, axis = w.integer("axis");
  const auto place = [&](std::string_view name, std::string_view from_end) {
    return w.integer(name) + (w.flag(from_end) ? w.type(0).shape[static_cast<int>(axis)] : 0);
  };
  const std::int64_t end = place("end", "end_from_end");
  // Down to the first element: behind the end of all numbers.
  const bool first = step < 0 && end < 0;
  return w.slice(w.in(0), axis, place("begin", "begin_from_end"),
                 first ? std::numeric_limits<std::int64_t>::min() + 1 : end, step);
}

// Rows by a list of positions that is known.
std::string picked(const Written& w, const std::string& x, std::int64_t axis, const Shape& shape, const Ints& places) {
  return w.node("Gather", {x, w.constant(TensorData::of<std::int64_t>(shape, std::span<const std::int64_t>(places)))},
                {{"axis", axis}});
}
constexpr std::int64_t kMostPlaces = 1 << 24;

std::string windows_written(const Written& w) {
  const std::int64_t axis = w.integer("axis"), size = w.integer("size");
  const std::int64_t step = w.has("step") ? w.integer("step") : 1,
                     dilation = w.has("dilation") ? w.integer("dilation") : 1;
  const std::int64_t count = w.result().shape[static_cast<int>(axis) + 1];
  if (size * count > kMostPlaces) w.lacks("windows of {} elements", size * count);
  Ints places;
  for (std::int64_t j = 0; j < size; ++j) {
    for (std::int64_t t = 0; t < count; ++t) places.push_back(t * step + j * dilation);
  }
  return picked(w, w.in(0), axis, {size, count}, places);
}

std::string concat_written(const Written& w) { return w.concat(w.all(), w.integer("axis")); }

// Indices of a type that ONNX takes.
std::string indices_in(const Written& w, std::size_t i) {
  const DType type = w.dtype(i);
  return type == DType::i32 || type == DType::i64 ? w.in(i) : w.cast(w.in(i), type, DType::i64);
}
std::string gather_written(const Written& w) {
  return w.node("Gather", {w.in(0), indices_in(w, 1)}, {{"axis", w.integer("axis")}});
}
std::string gather_elements_written(const Written& w) {
  const std::int64_t axis = w.integer("axis");
  Shape wide = w.shape(0);
  std::string x = w.in(0), indices = indices_in(w, 1);
  Shape all = w.shape(1);
  for (int d = 0; d < wide.rank(); ++d) {
    if (d == axis) continue;
    wide[d] = std::max(wide[d], all[d]);
    if (all[d] == 1 && w.result().shape[d] > 1) all[d] = w.result().shape[d];
  }
  if (wide != w.shape(0)) x = w.node("Expand", {x, w.constant(ints_of(wide))});
  if (all != w.shape(1)) indices = w.node("Expand", {indices, w.constant(ints_of(all))});
  return w.node("GatherElements", {x, indices}, {{"axis", axis}});
}
std::string gather_nd_written(const Written& w) {
  return w.node("GatherND", {w.in(0), w.cast(w.in(1), w.dtype(1), DType::i64)}, {{"batch_dims", w.integer("batch")}});
}

WrittenAttribute scatter_reduction(const Written& w) {
  const std::string op = w.text("op");
  return {"reduction", op == "assign" || op.empty() ? std::string("none") : op};
}
std::string scatter_elements_written(const Written& w) {
  return w.node("ScatterElements", {w.in(0), indices_in(w, 1), w.in(2)},
                {{"axis", w.integer("axis")}, scatter_reduction(w)});
}
// Rows: each element by its row's index.
std::string scatter_rows(const Written& w) {
  const auto axis = static_cast<int>(w.integer("axis"));
  const std::int64_t count = element_count(w.shape(1));
  Shape updates = w.shape(0), list = Shape::filled(w.rank(0), 1);
  updates[axis] = list[axis] = count;
  const std::string indices = w.node("Expand", {w.reshape(indices_in(w, 1), list), w.constant(ints_of(updates))});
  return w.node("ScatterElements", {w.in(0), indices, w.reshape(w.in(2), updates)},
                {{"axis", std::int64_t{axis}}, scatter_reduction(w)});
}
std::string scatter_nd_written(const Written& w) {
  if (w.integer("batch") != 0) w.lacks("scatter_nd of a batch");
  return w.node("ScatterND", {w.in(0), w.cast(w.in(1), w.dtype(1), DType::i64), w.in(2)}, {scatter_reduction(w)});
}

// The first elements, clamped so that the part lies inside: i64 [axes].
std::string starts_written(const Written& w, std::size_t i, const Ints& axes, const Shape& part) {
  Ints most;
  for (const std::int64_t a : axes) most.push_back(w.shape(0)[static_cast<int>(a)] - part[static_cast<int>(a)]);
  const std::string starts =
      w.reshape(w.cast(w.in(i), w.dtype(i), DType::i64), {static_cast<std::int64_t>(axes.size())});
  return w.node("Max", {w.node("Min", {starts, w.constant(most)}), w.constant(Ints(axes.size()))});
}
std::string dynamic_slice_written(const Written& w) {
  const Ints axes = w.integers("axes"), all = w.integers("sizes");
  const Shape part = shape_of(all);
  const std::string starts = starts_written(w, 1, axes, part);
  Ints sizes;
  for (const std::int64_t a : axes) sizes.push_back(part[static_cast<int>(a)]);
  std::string y = w.node("Slice", {w.in(0), starts, w.node("Add", {starts, w.constant(sizes)}), w.constant(axes)});
  for (int d = 0; d < part.rank(); ++d) {
    if (!std::ranges::count(axes, d) && part[d] != w.shape(0)[d]) y = w.slice(y, d, 0, part[d]);
  }
  return w.reshape(y, part);
}
std::string dynamic_update_slice_written(const Written& w) {
  const Ints axes = w.integers("axes");
  const Shape& part = w.shape(1);
  const std::int64_t rank = part.rank(), count = element_count(part);
  if (rank == 0) return w.in(1);
  if (count * rank > kMostPlaces) w.lacks("an update of {} elements", count);
  const std::string starts = starts_written(w, 2, axes, part);
  ValueNames all;
  for (std::int64_t d = 0; d < rank; ++d) {
    const auto at = std::ranges::find(axes, d) - axes.begin();
    const bool moves = at < static_cast<std::ptrdiff_t>(axes.size());
    all.push_back(moves ? w.slice(starts, 0, at, at + 1) : w.constant({0}));
  }
  Ints places;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t left = i;
    Ints place(static_cast<std::size_t>(rank));
    for (std::int64_t d = rank - 1; d >= 0; --d) {
      place[static_cast<std::size_t>(d)] = left % part[static_cast<int>(d)];
      left /= part[static_cast<int>(d)];
    }
    places.insert(places.end(), place.begin(), place.end());
  }
  Shape shape = part;
  shape.push_back(rank);
  const std::string grid = w.constant(TensorData::of<std::int64_t>(shape, std::span<const std::int64_t>(places)));
  return w.node("ScatterND", {w.in(0), w.node("Add", {grid, w.concat(all, 0)}), w.in(1)});
}

// The element of an axis of n elements that stands at i, which may be outside.
std::int64_t element_at(const std::string& mode, std::int64_t i, std::int64_t n) {
  const auto rest = [](std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; };
  if (mode == "edge") return std::clamp<std::int64_t>(i, 0, n - 1);
  if (mode == "wrap") return rest(i, n);
  if (mode == "symmetric") {
    const std::int64_t at = rest(i, 2 * n);
    return at < n ? at : 2 * n - 1 - at;
  }
  if (n == 1) return 0;
  const std::int64_t at = rest(i, 2 * (n - 1));
  return at < n ? at : 2 * (n - 1) - at;
}
std::string pad_written(const Written& w) {
  const Ints before = w.integers("before"), after = w.integers("after");
  const std::string mode = w.text("mode");
  Ints pads = before;
  pads.insert(pads.end(), after.begin(), after.end());
  const bool constant = mode.empty() || mode == "constant";
  if (constant) {
    const Number value(w.has("value") ? w.number("value") : 0.0);
    return w.node("Pad", {w.in(0), w.constant(pads), w.scalar(value, w.dtype())});
  }
  // ONNX mirrors once, and does not say what cropping changes.
  bool once = mode != "symmetric";
  for (std::size_t d = 0; d < before.size(); ++d) {
    const std::int64_t n = w.shape(0)[static_cast<int>(d)];
    once &= before[d] >= 0 && after[d] >= 0 && before[d] < n && after[d] < n;
  }
  if (once) return w.node("Pad", {w.in(0), w.constant(pads)}, {{"mode", mode}});
  std::string y = w.in(0);
  for (std::size_t d = 0; d < before.size(); ++d) {
    const std::int64_t n = w.shape(0)[static_cast<int>(d)], size = n + before[d] + after[d];
    if (size > kMostPlaces) w.lacks("an axis of {} elements", size);
    if (before[d] == 0 && after[d] == 0) continue;
    Ints places;
    for (std::int64_t i = 0; i < size; ++i) places.push_back(element_at(mode, i - before[d], n));
    y = picked(w, y, static_cast<std::int64_t>(d), {size}, places);
  }
  return y;
}
std::string tile_written(const Written& w) { return w.node("Tile", {w.in(0), w.constant(w.integers("counts"))}); }
std::string repeat_written(const Written& w) {
  // Each element becomes a row of its own, which is repeated.
  std::string y = w.in(0);
  const Ints counts = w.integers("counts");
  Shape shape = w.shape(0);
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const auto d = static_cast<int>(k);
    if (counts[k] == 1) continue;
    Shape rows = shape, wide;
    rows.insert(d + 1, 1);
    wide = rows;
    wide[d + 1] = counts[k];
    shape[d] *= counts[k];
    y = w.reshape(w.node("Expand", {w.reshape(y, rows), w.constant(ints_of(wide))}), shape);
  }
  return y;
}
std::string roll_written(const Written& w) {
  std::string y = w.in(0);
  const Ints shifts = w.integers("shifts");
  for (std::size_t k = 0; k < shifts.size(); ++k) {
    const auto d = static_cast<std::int64_t>(k);
    const std::int64_t n = w.shape(0)[static_cast<int>(d)];
    const std::int64_t shift = n == 0 ? 0 : ((shifts[k] % n) + n) % n;
    if (shift == 0) continue;
    y = w.concat(ValueNames{w.slice(y, d, n - shift, n), w.slice(y, d, 0, n - shift)}, d);
  }
  return y;
}
std::string triangle_written(const Written& w) {
  std::string x;
  if (w.size() == 0) {
    const Shape& shape = w.result().shape;
    x = w.node("Expand", {w.scalar(1, w.result().dtype), w.constant(ints_of(shape))});
  } else {
    x = w.in(0);
  }
  return w.node("Trilu", {x, w.scalar(w.integer("diagonal"), DType::i64)},
                {{"upper", std::int64_t{w.text("part") == "upper"}}});
}
std::string one_hot_written(const Written& w) {
  // Negative ones count from the end; those outside of the classes give no one.
  const std::int64_t classes = w.integer("classes"), rank = w.result().shape.rank();
  std::int64_t axis = w.integer("axis");
  if (axis < 0) axis += rank;
  Shape each = Shape::filled(static_cast<int>(rank), 1), in = w.shape(0);
  each[static_cast<int>(axis)] = classes;
  in.insert(static_cast<int>(axis), 1);
  Ints all(static_cast<std::size_t>(classes));
  std::iota(all.begin(), all.end(), 0);
  const std::string places = w.constant(TensorData::of<std::int64_t>(each, std::span<const std::int64_t>(all)));
  std::string index = w.reshape(w.cast(w.in(0), w.dtype(0), DType::i64), in);
  if (is_signed(w.dtype(0))) {
    const std::string behind = w.node("Less", {index, w.scalar(0, DType::i64)});
    index = w.node("Where", {behind, w.node("Add", {index, w.scalar(classes, DType::i64)}), index});
  }
  const std::string hit = w.node("Equal", {index, places});
  return w.cast(hit, DType::boolean, w.result().dtype);
}
std::string iota_written(const Written& w) {
  const DType type = w.result().dtype;
  const bool has_range = type == DType::i32 || type == DType::i64;
  const DType in = has_range ? type : DType::i64;
  const std::string y = w.node("Range", {w.scalar(0, in), w.scalar(w.integer("count"), in), w.scalar(1, in)});
  return w.cast(y, in, type);
}

// Values, and where they were.
ValueNames ordered(const Written& w, std::int64_t k, bool largest) {
  return w.nodes("TopK", ValueNames{w.in(0), w.constant({k})}, 2,
                 {{"axis", w.integer("axis")}, {"largest", std::int64_t{largest}}, {"sorted", std::int64_t{1}}});
}
ValueNames sort_written(const Written& w) {
  const std::int64_t n = w.shape(0)[static_cast<int>(w.integer("axis"))];
  const ValueNames both = ordered(w, n, w.flag("descending"));
  if (w.op() == "argsort") return {w.cast(both[1], DType::i64, w.result().dtype)};
  return {both[0]};
}
ValueNames top_k_written(const Written& w) {
  const ValueNames both = ordered(w, w.integer("k"), w.flag("largest"));
  return {both[0], w.cast(both[1], DType::i64, w.result(1).dtype)};
}

constexpr WriteRow kWritten[] = {
    by("reshape", written<reshape_written>),
    by("permute", written<permute_written>),
    by("broadcast", written<broadcast_written>),
    by("slice", written<slice_written>),
    by("windows", written<windows_written>),
    by("identity", written<identity_written>),
    by("stop_gradient", written<identity_written>),
    by("barrier", written<identity_written>),
    by("checked", written<identity_written>),
    by("solution", written<identity_written>),
    by("concat", written<concat_written>),
    by("gather", written<gather_written>),
    by("gather_elements", written<gather_elements_written>),
    by("gather_nd", written<gather_nd_written>),
    as_function("scatter", written<scatter_rows>),
    as_function("scatter_elements", written<scatter_elements_written>),
    as_function("scatter_nd", written<scatter_nd_written>),
    as_function("dynamic_slice", written<dynamic_slice_written>),
    as_function("dynamic_update_slice", written<dynamic_update_slice_written>),
    by("pad", written<pad_written>),
    by("tile", written<tile_written>),
    by("repeat", written<repeat_written>),
    by("roll", written<roll_written>),
    by("triangle", written<triangle_written>),
    by("one_hot", written<one_hot_written>),
    by("iota", written<iota_written>),
    as_function("sort", sort_written),
    as_function("argsort", sort_written),
    as_function("top_k", top_k_written),
};

}  // namespace

OperatorRows movement_rows() { return {"", kRows, kWritten}; }

}  // namespace weft::onnx
