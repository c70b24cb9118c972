#include "ops/segment_products.h"

#include <array>
#include <ranges>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "ops/scan.h"
#include "weft/array.h"
#include "weft/graph.h"

namespace weft {
namespace {

// Products with their tangents.
struct Products {
  Tensor value, tangent;
};

Products select_or_one(const Tensor& condition, const Products& a) {
  return {select(condition, a.value, 1), select(condition, a.tangent, 0)};
}
Products operator*(const Products& a, const Products& b) {
  return {zeros_absorbing_product(a.value, b.value),
          zeros_absorbing_product(a.tangent, b.value) + zeros_absorbing_product(a.value, b.tangent)};
}

// [elements before the axis, along it, behind it]; the axis is that of tensors of this rank, to which x broadcasts.
Tensor as_lists(const Tensor& x, int axis, int rank) {
  axis -= rank - x.rank();
  Shape shape{1, x.shape()[axis], 1};
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis) shape[d < axis ? 0 : 2] *= x.shape()[d];
  }
  return reshape(x, shape);
}

// Every second element, from the first or the second one on; of these as many as of the others, the last one being
// `missing` where there is none.
Tensor left_of(const Tensor& x) { return slice(x, 1, 0, x.shape()[1], 2); }
Tensor right_of(const Tensor& x, double missing = 0) {
  constexpr std::array<std::int64_t, 3> kNone{}, kOne{0, 1, 0};
  const Tensor right = slice(x, 1, 1, x.shape()[1], 2);
  return x.shape()[1] % 2 == 0 ? right : pad(right, kNone, kOne, PadMode::constant, missing);
}
Products left_of(const Products& x) { return {left_of(x.value), left_of(x.tangent)}; }
Products right_of(const Products& x) { return {right_of(x.value, 1), right_of(x.tangent)}; }

// The first `count` of left and right elements in turn.
Tensor in_turn(const Tensor& left, const Tensor& right, std::int64_t count) {
  const Shape& half = left.shape();
  return slice(reshape(stack({left, right}, 2), {half[0], 2 * half[1], half[2]}), 1, 0, count);
}
Products in_turn(const Products& left, const Products& right, std::int64_t count) {
  return {in_turn(left.value, right.value, count), in_turn(left.tangent, right.tangent, count)};
}

// Two neighbours on one level of a binary tree, whose leaves are the elements.
struct Pairs {
  std::int64_t count = 0;          // of the level's nodes
  Tensor meet;                     // whether the left one's last leaf and the right one's first are of one segment
  Tensor left_whole, right_whole;  // whether they meet, and that node is of one segment
  Products left_end, right_start;  // products of the left one's last segment, and of the right one's first
};

}  // namespace

Tensor tangents_of_others(const Tensor& x, const Tensor& tangent, const Tensor& joined, int axis) {
  std::vector<Pairs> levels;
  // Of each node: products of its first and of its last segment, whether these are one, and whether the next node goes
  // on with the last.
  const int rank = x.rank();
  Products start{as_lists(x, axis, rank), as_lists(tangent, axis, rank)}, end = start;
  Tensor goes_on = as_lists(joined, axis, rank), whole = ones_like(goes_on);
  while (start.value.shape()[1] > 1) {
    const Tensor meet = left_of(goes_on);
    Pairs p{.count = start.value.shape()[1],
            .meet = meet,
            .left_whole = logical_and(meet, left_of(whole)),
            .right_whole = logical_and(meet, right_of(whole)),
            .left_end = left_of(end),
            .right_start = right_of(start)};
    start = left_of(start) * select_or_one(p.left_whole, p.right_start);
    end = right_of(end) * select_or_one(p.right_whole, p.left_end);
    whole = logical_and(p.left_whole, right_of(whole));
    goes_on = right_of(goes_on);
    levels.push_back(std::move(p));
  }
  // Of each node: products of what is before and behind it of the segments of its first and its last leaf.
  Products before{ones_like(start.value), zeros_like(start.value)}, behind = before;
  for (const Pairs& p : std::views::reverse(levels)) {
    // (What a condition leaves out is 1 in the product, and takes no part in its derivatives.)
    const Products right_before = select_or_one(p.meet, p.left_end) * select_or_one(p.left_whole, before);
    const Products left_behind = select_or_one(p.meet, p.right_start) * select_or_one(p.right_whole, behind);
    before = in_turn(before, right_before, p.count);
    behind = in_turn(left_behind, behind, p.count);
  }
  return reshape((before * behind).tangent, x.shape());
}

}  // namespace weft
