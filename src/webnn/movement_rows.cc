// Operations that move elements.
#include <algorithm>
#include <format>
#include <numeric>

#include "webnn/message.h"
#include "webnn/op_rows.h"
#include "webnn/row_checks.h"
#include "weft/array.h"

namespace weft::webnn {

namespace {

using Tensors = std::vector<weft::Tensor>;

int rank_of(const Call& c, std::string_view operand = "input") { return static_cast<int>(c.shape(operand).size()); }

Tensors concat(const Call& c) {
  const Tensors inputs = c.operands("inputs");
  if (inputs.empty() || inputs.size() > kMostTensors) {
    c.fail("inputs are {} operands, expected 1 to {}", inputs.size(), kMostTensors);
  }
  const auto describe = [](const weft::Tensor& t) { return to_string(t.dtype(), to_sizes(t.shape())); };
  const weft::Tensor& first = inputs.front();
  const int axis = c.axis("axis", first.rank());
  Sizes shape = to_sizes(first.shape());
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const weft::Tensor& input = inputs[i];
    bool fits = input.dtype() == first.dtype() && input.rank() == first.rank();
    for (int d = 0; fits && d < first.rank(); ++d) fits = d == axis || input.shape()[d] == first.shape()[d];
    if (!fits) {
      c.fail("input {} is {}, expected the type and shape of input 0, {}, but for axis {}", i, describe(input),
             describe(first), axis);
    }
    shape[static_cast<std::size_t>(axis)] += input.shape()[axis];
  }
  checked_shape(c, shape);
  return {weft::concat(inputs, axis)};
}

Tensors expand(const Call& c) {
  const Sizes& shape = c.sizes("newShape");
  if (!broadcasts_to(c.shape("input"), shape)) {
    c.fail("input is {}, which does not broadcast to newShape, {}", describe(c, "input"), to_string(shape));
  }
  return {weft::broadcast_to(c.operand("input"), checked_shape(c, shape))};
}

Tensors reshape(const Call& c) {
  const Shape shape = checked_shape(c, c.sizes("newShape"));
  if (const auto x = c.operand("input"); element_count(shape) != element_count(x.shape())) {
    c.fail("newShape is {}, of {} elements; input is {}, of {}", to_string(c.sizes("newShape")), element_count(shape),
           describe(c, "input"), element_count(x.shape()));
  }
  return {weft::reshape(c.operand("input"), shape)};
}

Tensors gather(const Call& c) {
  const int axis = c.axis("axis", rank_of(c));
  Sizes shape = c.shape("input");
  const auto at = shape.erase(shape.begin() + axis);
  shape.insert(at, c.shape("indices").begin(), c.shape("indices").end());
  checked_shape(c, shape);
  return {weft::gather(c.operand("input"), c.operand("indices"), axis)};
}

// The axis; the indices' shape is the input's but for it.
int elements_axis(const Call& c) {
  const int axis = c.axis("axis", rank_of(c));
  if (rank_of(c, "indices") != rank_of(c)) {
    c.fail("indices are {}, expected the rank of input, {}", describe(c, "indices"), describe(c, "input"));
  }
  Sizes expected = c.shape("input");
  expected[static_cast<std::size_t>(axis)] = c.shape("indices")[static_cast<std::size_t>(axis)];
  if (c.shape("indices") != expected) {
    c.fail("indices are {}, expected the shape of input, {}, but for axis {}", describe(c, "indices"),
           describe(c, "input"), axis);
  }
  return axis;
}

Tensors gather_elements(const Call& c) {
  const int axis = elements_axis(c);
  return {weft::gather_elements(c.operand("input"), c.operand("indices"), axis)};
}

// How indices [places…, k] name parts of the input by their first k axes.
struct Coordinates {
  Sizes places;       // as many parts as these
  Sizes named, part;  // the input's shape: the axes that they name, and what a part has
};
Coordinates coordinates(const Call& c) {
  const Sizes &input = c.shape("input"), &indices = c.shape("indices");
  const std::int64_t count = indices.back();
  if (count > static_cast<std::int64_t>(input.size())) {
    c.fail("indices are {}, coordinates of {} numbers; expected at most the rank of input, {}", describe(c, "indices"),
           count, describe(c, "input"));
  }
  return {.places = {indices.begin(), indices.end() - 1},
          .named = {input.begin(), input.begin() + count},
          .part = {input.begin() + count, input.end()}};
}
Sizes joined(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tensors gather_nd(const Call& c) {
  const Coordinates k = coordinates(c);
  checked_shape(c, joined(k.places, k.part));
  return {weft::gather_nd(c.operand("input"), c.operand("indices"))};
}

// ---- Scatter. Of several updates of one element the last one is to win, on every device, where the kernel leaves open
// which one does. So the largest place among the updates is scattered first, which is exact in any order; -1 is no
// place.
weft::Tensor no_place(const Shape& shape) { return weft::broadcast_to(weft::Graph::scalar(-1, DType::i32), shape); }
weft::Tensor places(const Shape& shape) {
  return weft::reshape(weft::arange(0, element_count(shape), 1, DType::i32), shape);
}

Tensors scatter_elements(const Call& c) {
  const int axis = elements_axis(c);
  expect_shape(c, "updates", c.shape("indices"));
  const auto x = c.operand("input"), updates = c.operand("updates");
  const auto last = weft::scatter_elements(ScatterKind::max, no_place(x.shape()), c.operand("indices"),
                                           places(updates.shape()), axis);
  return {weft::select(last >= 0, weft::gather(weft::reshape(updates, {-1}), last), x)};
}

Tensors scatter_nd(const Call& c) {
  const Coordinates k = coordinates(c);
  expect_shape(c, "updates", joined(k.places, k.part));
  const auto last =
      weft::scatter_nd(ScatterKind::max, no_place(to_shape(k.named)), c.operand("indices"), places(to_shape(k.places)));
  const auto rows = weft::reshape(c.operand("updates"), to_shape(joined({-1}, k.part)));
  const auto there = weft::reshape(last >= 0, to_shape(joined(k.named, Sizes(k.part.size(), 1))));
  return {weft::select(there, weft::gather(rows, last), c.operand("input"))};
}

Tensors pad(const Call& c) {
  const auto x = c.operand("input");
  const auto rank = static_cast<std::size_t>(x.rank());
  const Sizes before = c.sizes("beginningPadding", rank, 0), after = c.sizes("endingPadding", rank, 0);
  const std::string_view mode = c.choice("mode");
  // How far beyond a size the mirrored elements reach: reflection leaves out the one at the edge.
  const std::int64_t most = mode == "reflection" ? -1 : mode == "symmetric" ? 0 : 2 * kMostSize;
  Sizes shape = c.shape("input");
  for (std::size_t d = 0; d < rank; ++d) {
    for (const auto& [name, padding] : {std::pair("beginningPadding", &before), {"endingPadding", &after}}) {
      if ((*padding)[d] > shape[d] + most) {
        c.fail("{} is {}; expected at most {} for axis {} of input, {}, in mode {}", name, to_string(*padding),
               shape[d] + most, d, describe(c, "input"), mode);
      }
    }
  }
  for (std::size_t d = 0; d < rank; ++d) shape[d] += before[d] + after[d];
  checked_shape(c, shape);
  const PadMode modes[] = {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::symmetric};
  const std::string_view names[] = {"constant", "edge", "reflection", "symmetric"};
  const auto at = std::ranges::find(names, mode) - std::begin(names);
  return {weft::pad(x, before, after, modes[at], cast_number(c.number("value"), x.dtype()))};
}

Tensors reverse(const Call& c) {
  const auto x = c.operand("input");
  return {c.has("axes") ? weft::flip(x, c.axes("axes", x.rank())) : weft::flip(x)};
}

Tensors slice(const Call& c) {
  auto x = c.operand("input");
  const auto rank = static_cast<std::size_t>(x.rank());
  const Sizes starts = c.sizes("starts", rank, 0), sizes = c.sizes("sizes", rank, 1);
  const Sizes strides = c.sizes("strides", rank, 1);
  check_positive(c, "sizes", sizes);
  check_positive(c, "strides", strides);
  for (std::size_t d = 0; d < rank; ++d) {
    if (starts[d] + sizes[d] > c.shape("input")[d]) {
      c.fail("starts are {} and sizes {}; expected a part of input, {}, but it ends at {} along axis {}",
             to_string(starts), to_string(sizes), describe(c, "input"), starts[d] + sizes[d], d);
    }
    x = weft::slice(x, static_cast<int>(d), starts[d], starts[d] + sizes[d], strides[d]);
  }
  return {x};
}

Tensors split(const Call& c) {
  const auto x = c.operand("input");
  const int axis = c.axis("axis", x.rank());
  const std::int64_t size = x.shape()[axis];
  Sizes sizes;
  if (c.is_size("splits")) {
    const std::int64_t parts = c.size("splits");
    if (parts < 1 || parts > static_cast<std::int64_t>(kMostTensors) || size % parts != 0) {
      c.fail("splits is {}; expected a number from 1 to {} that divides the size of axis {} of input, {}", parts,
             kMostTensors, axis, describe(c, "input"));
    }
    sizes.assign(static_cast<std::size_t>(parts), size / parts);
  } else {
    sizes = c.sizes("splits");
    if (sizes.empty() || sizes.size() > kMostTensors) {
      c.fail("splits are {} sizes, expected 1 to {}", sizes.size(), kMostTensors);
    }
    check_positive(c, "splits", sizes);
    if (const auto sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}); sum != size) {
      c.fail("splits are {}, which add up to {}; expected {}, the size of axis {} of input, {}", to_string(sizes), sum,
             size, axis, describe(c, "input"));
    }
  }
  return weft::split(x, sizes, axis);
}

Tensors tile(const Call& c) {
  const auto x = c.operand("input");
  const Sizes counts = c.sizes("repetitions", static_cast<std::size_t>(x.rank()), 1);
  check_positive(c, "repetitions", counts);
  Sizes shape = c.shape("input");
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] *= counts[d];
  checked_shape(c, shape);
  return {weft::tile(x, counts)};
}

Tensors transpose(const Call& c) {
  const auto x = c.operand("input");
  std::vector<int> order;
  if (c.has("permutation")) {
    c.sizes("permutation", static_cast<std::size_t>(x.rank()), 0);  // as many as axes
    order = c.axes("permutation", x.rank());
  } else {
    for (int d = x.rank(); d-- > 0;) order.push_back(d);
  }
  return {weft::permute(x, order)};
}

Tensors triangular(const Call& c) {
  return {
      weft::triangle(c.operand("input"), c.boolean("upper") ? Triangle::upper : Triangle::lower, c.size("diagonal"))};
}

constexpr TypeSet kIndexTypes = {DType::i32, DType::u32, DType::i64};

}  // namespace

void add_movement_rows(std::vector<Op>& rows) {
  using Kind = ArgumentKind;
  // `section`: behind "#api-mlgraphbuilder-". Operands have ranks from `least` on.
  const auto add = [&](std::string name, std::string_view section, std::vector<ArgumentSchema> arguments, Map map,
                       int least = 0) {
    rows.push_back({{.name = std::move(name),
                     .section = std::format("#api-mlgraphbuilder-{}", section),
                     .arguments = std::move(arguments),
                     .outputs = {result_as("input", least)}},
                    map});
  };
  const ArgumentSchema input = operand("input", kDataTypes), axes_of = operand("input", kDataTypes, 1);
  const ArgumentSchema axis = option("axis", Kind::size, "0");

  rows.push_back(
      {{.name = "concat",
        .section = "#api-mlgraphbuilder-concat",
        .arguments = {{.name = "inputs", .kind = Kind::operands, .required = true, .types = kDataTypes, .min_rank = 1},
                      required("axis", Kind::size)},
        .outputs = {result_as("inputs", 1)}},
       concat});
  add("expand", "expand", {input, required("newShape", Kind::sizes)}, expand);
  add("gather", "gather", {axes_of, operand("indices", kIndexTypes), axis}, gather);
  add("gatherElements", "gatherelements", {axes_of, operand("indices", kIndexTypes, 1), axis}, gather_elements, 1);
  add("gatherND", "gathernd", {axes_of, operand("indices", kIndexTypes, 1)}, gather_nd);
  add("pad", "pad",
      {axes_of, required("beginningPadding", Kind::sizes), required("endingPadding", Kind::sizes),
       option("mode", {"constant", "edge", "reflection", "symmetric"}), option("value", Kind::number, "0")},
      pad);
  add("reshape", "reshape-method", {input, required("newShape", Kind::sizes)}, reshape);
  add("reverse", "reverse-method", {input, option("axes", Kind::sizes)}, reverse);
  add("scatterElements", "scatterelements",
      {axes_of, operand("indices", kIndexTypes, 1), operand_as("updates", "input", 1), axis}, scatter_elements, 1);
  add("scatterND", "scatternd", {axes_of, operand("indices", kIndexTypes, 1), operand_as("updates", "input")},
      scatter_nd, 1);
  add("slice", "slice",
      {input, required("starts", Kind::sizes), required("sizes", Kind::sizes), option("strides", Kind::sizes)}, slice);
  rows.push_back(
      {{.name = "split",
        .section = "#api-mlgraphbuilder-split",
        .arguments = {axes_of, required("splits", Kind::splits), axis},
        .outputs = {{.name = "outputs", .kind = Kind::operands, .required = true, .same_as = "input", .min_rank = 1}}},
       split});
  add("tile", "tile", {input, required("repetitions", Kind::sizes)}, tile);
  add("transpose", "transpose", {input, option("permutation", Kind::sizes)}, transpose);
  add("triangular", "triangular",
      {operand("input", kDataTypes, 2), option("upper", Kind::boolean, "true"), option("diagonal", Kind::integer, "0")},
      triangular, 2);
}

}  // namespace weft::webnn
