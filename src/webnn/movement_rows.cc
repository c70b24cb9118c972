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

Tensors concat(const Call& c, const std::vector<Operand>& inputs, std::int64_t given_axis, const OperatorOptions&) {
  if (inputs.empty() || inputs.size() > kMostTensors) {
    c.fail("inputs are {} operands, expected 1 to {}", inputs.size(), kMostTensors);
  }
  const Operand& first = inputs.front();
  const int rank = rank_of(first), axis = checked_axis(c, "axis", given_axis, rank);
  const auto at = static_cast<std::size_t>(axis);
  Sizes shape = first.shape();
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    const Operand& input = inputs[i];
    bool fits = input.data_type() == first.data_type() && rank_of(input) == rank;
    for (std::size_t d = 0; fits && d < shape.size(); ++d) fits = d == at || input.shape()[d] == first.shape()[d];
    if (!fits) {
      c.fail("input {} is {}, expected the type and shape of input 0, {}, but for axis {}", i, describe(input),
             describe(first), axis);
    }
    shape[at] += input.shape()[at];
  }
  checked_shape(c, shape);
  Tensors tensors;
  for (const Operand& input : inputs) tensors.push_back(tensor_of(input));
  return {weft::concat(tensors, axis)};
}

Tensors expand(const Call& c, const Operand& input, const Sizes& shape, const OperatorOptions&) {
  if (!broadcasts_to(input.shape(), shape)) {
    c.fail("input is {}, which does not broadcast to newShape, {}", describe(input), to_string(shape));
  }
  return {weft::broadcast_to(tensor_of(input), checked_shape(c, shape))};
}

Tensors reshape(const Call& c, const Operand& input, const Sizes& new_shape, const OperatorOptions&) {
  const Shape shape = checked_shape(c, new_shape);
  if (const auto x = tensor_of(input); element_count(shape) != element_count(x.shape())) {
    c.fail("newShape is {}, of {} elements; input is {}, of {}", to_string(new_shape), element_count(shape),
           describe(input), element_count(x.shape()));
  }
  return {weft::reshape(tensor_of(input), shape)};
}

Tensors gather(const Call& c, const Operand& input, const Operand& indices, const GatherOptions& o) {
  const int axis = checked_axis(c, "axis", o.axis, rank_of(input));
  Sizes shape = input.shape();
  const auto at = shape.erase(shape.begin() + axis);
  shape.insert(at, indices.shape().begin(), indices.shape().end());
  checked_shape(c, shape);
  return {weft::gather(tensor_of(input), tensor_of(indices), axis)};
}

// The axis; the indices' shape is the input's but for it.
int elements_axis(const Call& c, const Operand& input, const Operand& indices, const GatherOptions& o) {
  const int axis = checked_axis(c, "axis", o.axis, rank_of(input));
  if (rank_of(indices) != rank_of(input)) {
    c.fail("indices are {}, expected the rank of input, {}", describe(indices), describe(input));
  }
  Sizes expected = input.shape();
  expected[static_cast<std::size_t>(axis)] = indices.shape()[static_cast<std::size_t>(axis)];
  if (indices.shape() != expected) {
    c.fail("indices are {}, expected the shape of input, {}, but for axis {}", describe(indices), describe(input),
           axis);
  }
  return axis;
}

Tensors gather_elements(const Call& c, const Operand& input, const Operand& indices, const GatherOptions& o) {
  return {weft::gather_elements(tensor_of(input), tensor_of(indices), elements_axis(c, input, indices, o))};
}

// How indices [places…, k] name parts of the input by their first k axes.
struct Coordinates {
  Sizes places;       // as many parts as these
  Sizes named, part;  // the input's shape: the axes that they name, and what a part has
};
Coordinates coordinates(const Call& c, const Operand& input, const Operand& indices) {
  const Sizes &sizes = input.shape(), &places = indices.shape();
  const std::int64_t count = places.back();
  if (count > static_cast<std::int64_t>(sizes.size())) {
    c.fail("indices are {}, coordinates of {} numbers; expected at most the rank of input, {}", describe(indices),
           count, describe(input));
  }
  return {.places = {places.begin(), places.end() - 1},
          .named = {sizes.begin(), sizes.begin() + count},
          .part = {sizes.begin() + count, sizes.end()}};
}
Sizes joined(Sizes a, const Sizes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tensors gather_nd(const Call& c, const Operand& input, const Operand& indices, const OperatorOptions&) {
  const Coordinates k = coordinates(c, input, indices);
  checked_shape(c, joined(k.places, k.part));
  return {weft::gather_nd(tensor_of(input), tensor_of(indices))};
}

// ---- Scatter. Of several updates of one element the last one is to win, on every device, where the kernel leaves open
// which one does. So the largest place among the updates is scattered first, which is exact in any order; -1 is no
// place.
weft::Tensor no_place(const Shape& shape) { return weft::broadcast_to(weft::Graph::scalar(-1, DType::i32), shape); }
weft::Tensor places(const Shape& shape) {
  return weft::reshape(weft::arange(0, element_count(shape), 1, DType::i32), shape);
}

Tensors scatter_elements(const Call& c, const Operand& input, const Operand& indices, const Operand& updates,
                         const ScatterOptions& o) {
  const int axis = elements_axis(c, input, indices, o);
  expect_shape(c, "updates", updates, indices.shape());
  const auto x = tensor_of(input), values = tensor_of(updates);
  const auto last =
      weft::scatter_elements(ScatterKind::max, no_place(x.shape()), tensor_of(indices), places(values.shape()), axis);
  return {weft::select(last >= 0, weft::gather(weft::reshape(values, {-1}), last), x)};
}

Tensors scatter_nd(const Call& c, const Operand& input, const Operand& indices, const Operand& updates,
                   const OperatorOptions&) {
  const Coordinates k = coordinates(c, input, indices);
  expect_shape(c, "updates", updates, joined(k.places, k.part));
  const auto last =
      weft::scatter_nd(ScatterKind::max, no_place(to_shape(k.named)), tensor_of(indices), places(to_shape(k.places)));
  const auto rows = weft::reshape(tensor_of(updates), to_shape(joined({-1}, k.part)));
  const auto there = weft::reshape(last >= 0, to_shape(joined(k.named, Sizes(k.part.size(), 1))));
  return {weft::select(there, weft::gather(rows, last), tensor_of(input))};
}

Tensors pad(const Call& c, const Operand& input, const Sizes& before, const Sizes& after, const PadOptions& o) {
  const std::size_t rank = input.shape().size();
  counted(c, "beginningPadding", before, rank);
  counted(c, "endingPadding", after, rank);
  // How far beyond a size the mirrored elements reach: reflection leaves out the one at the edge.
  const std::int64_t most = o.mode == PaddingMode::reflection  ? -1
                            : o.mode == PaddingMode::symmetric ? 0
                                                               : 2 * kMostSize;
  Sizes shape = input.shape();
  for (std::size_t d = 0; d < rank; ++d) {
    for (const auto& [name, padding] : {std::pair("beginningPadding", &before), {"endingPadding", &after}}) {
      if ((*padding)[d] > shape[d] + most) {
        c.fail("{} is {}; expected at most {} for axis {} of input, {}, in mode {}", name, to_string(*padding),
               shape[d] + most, d, describe(input), kPaddingModes[static_cast<std::size_t>(o.mode)]);
      }
    }
  }
  for (std::size_t d = 0; d < rank; ++d) shape[d] += before[d] + after[d];
  checked_shape(c, shape);
  constexpr PadMode kModes[] = {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::symmetric};
  return {weft::pad(tensor_of(input), before, after, kModes[static_cast<std::size_t>(o.mode)],
                    cast_number(o.value, input.data_type()))};
}

Tensors reverse(const Call& c, const Operand& input, const ReverseOptions& o) {
  const auto x = tensor_of(input);
  return {o.axes ? weft::flip(x, checked_axes(c, "axes", *o.axes, x.rank())) : weft::flip(x)};
}

Tensors slice(const Call& c, const Operand& input, const Sizes& starts, const Sizes& sizes, const SliceOptions& o) {
  auto x = tensor_of(input);
  const std::size_t rank = input.shape().size();
  const Sizes strides = o.strides ? *o.strides : Sizes(rank, 1);
  counted(c, "starts", starts, rank);
  counted(c, "sizes", sizes, rank);
  counted(c, "strides", strides, rank);
  check_positive(c, "sizes", sizes);
  check_positive(c, "strides", strides);
  for (std::size_t d = 0; d < rank; ++d) {
    if (starts[d] + sizes[d] > input.shape()[d]) {
      c.fail("starts are {} and sizes {}; expected a part of input, {}, but it ends at {} along axis {}",
             to_string(starts), to_string(sizes), describe(input), starts[d] + sizes[d], d);
    }
    x = weft::slice(x, static_cast<int>(d), starts[d], starts[d] + sizes[d], strides[d]);
  }
  return {x};
}

Tensors split(const Call& c, const Operand& input, const Splits& splits, const SplitOptions& o) {
  const auto x = tensor_of(input);
  const int axis = checked_axis(c, "axis", o.axis, x.rank());
  const std::int64_t size = x.shape()[axis];
  if (const auto* parts = std::get_if<std::int64_t>(&splits)) {
    if (*parts < 1 || *parts > static_cast<std::int64_t>(kMostTensors) || size % *parts != 0) {
      c.fail("splits is {}; expected a number from 1 to {} that divides the size of axis {} of input, {}", *parts,
             kMostTensors, axis, describe(input));
    }
    return weft::split(x, Sizes(static_cast<std::size_t>(*parts), size / *parts), axis);
  }
  const Sizes& sizes = std::get<Sizes>(splits);
  if (sizes.empty() || sizes.size() > kMostTensors) {
    c.fail("splits are {} sizes, expected 1 to {}", sizes.size(), kMostTensors);
  }
  check_positive(c, "splits", sizes);
  if (const auto sum = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}); sum != size) {
    c.fail("splits are {}, which add up to {}; expected {}, the size of axis {} of input, {}", to_string(sizes), sum,
           size, axis, describe(input));
  }
  return weft::split(x, sizes, axis);
}

Tensors tile(const Call& c, const Operand& input, const Sizes& repetitions, const OperatorOptions&) {
  Sizes shape = input.shape();
  counted(c, "repetitions", repetitions, shape.size());
  check_positive(c, "repetitions", repetitions);
  for (std::size_t d = 0; d < shape.size(); ++d) shape[d] *= repetitions[d];
  checked_shape(c, shape);
  return {weft::tile(tensor_of(input), repetitions)};
}

Tensors transpose(const Call& c, const Operand& input, const TransposeOptions& o) {
  const int rank = rank_of(input);
  std::vector<int> order;
  if (o.permutation) {
    counted(c, "permutation", *o.permutation, static_cast<std::size_t>(rank));
    order = checked_axes(c, "permutation", *o.permutation, rank);
  } else {
    for (int d = rank; d-- > 0;) order.push_back(d);
  }
  return {weft::permute(tensor_of(input), order)};
}

Tensors triangular(const Call&, const Operand& input, const TriangularOptions& o) {
  return {weft::triangle(tensor_of(input), o.upper ? Triangle::upper : Triangle::lower, o.diagonal)};
}

constexpr TypeSet kIndexTypes = {DType::i32, DType::u32, DType::i64};

}  // namespace

void add_movement_rows(std::vector<Op>& rows) {
  const RowAdder add{rows};
  const ArgumentSchema input = operand("input", kDataTypes), axes_of = operand("input", kDataTypes, 1);
  const ArgumentSchema indices = operand("indices", kIndexTypes), places = operand("indices", kIndexTypes, 1);
  const ArgumentSchema as_input = result_as("input");

  add("concat", "concat", {operand("inputs", kDataTypes, 1), argument("axis")}, result_as("inputs", 1), concat);
  add("expand", "expand", {input, argument("newShape")}, as_input, expand);
  add("gather", "gather", {axes_of, indices}, as_input, gather);
  add("gatherElements", "gatherelements", {axes_of, places}, result_as("input", 1), gather_elements);
  add("gatherND", "gathernd", {axes_of, places}, as_input, gather_nd);
  add("pad", "pad", {axes_of, argument("beginningPadding"), argument("endingPadding")}, as_input, pad);
  add("reshape", "reshape-method", {input, argument("newShape")}, as_input, reshape);
  add("reverse", "reverse-method", {input}, as_input, reverse);
  add("scatterElements", "scatterelements", {axes_of, places, operand_as("updates", "input", 1)}, result_as("input", 1),
      scatter_elements);
  add("scatterND", "scatternd", {axes_of, places, operand_as("updates", "input")}, result_as("input", 1), scatter_nd);
  add("slice", "slice", {input, argument("starts"), argument("sizes")}, as_input, slice);
  ArgumentSchema parts = result_as("input", 1, kMaxRank, "outputs");
  parts.kind = ArgumentKind::operands;
  add("split", "split", {axes_of, argument("splits")}, std::move(parts), split);
  add("tile", "tile", {input, argument("repetitions")}, as_input, tile);
  add("transpose", "transpose", {input}, as_input, transpose);
  add("triangular", "triangular", {operand("input", kDataTypes, 2)}, result_as("input", 2), triangular);
}

}  // namespace weft::webnn
