// Linear filters of differences (weft/signal.h).
//
// y[t] = Σ_j b[j] x[t - j] - Σ_{j ≥ 1} a[j] y[t - j] is two steps. The sums of x are a convolution. What follows, w, is
// the right side of the recurrence a ∗ y = w, whose results depend on all before them. It is solved by blocks of L
// elements, all at once, with the response h of 1 / a to an impulse:
//
//   y = P w + Q w' + F s'', P[i, j] = h[i - j], Q[i, j] = h[L + i - j], F[i, j] = O[L + i, j]
//
// of a block w, the block w' before it, and s'', the last elements of y in the block before that one, where column j of
// O is the response to a state whose element j is 1. The states follow a recurrence of their own, s = (last elements of
// P w + Q w') + K s'' with the last rows K of F, and are summed in log2(n / L) steps by powers of K, each over blocks
// twice as far away.
//
// Two blocks of w take part, not one, because of rounding: outputs of a filter may be small beside the terms O s of
// which they are the sum (by 10^5 for a band of order 8), so that an error of s would be magnified; behind L elements
// the response has decayed. h and O are the solution of a banded system T O = -W by forward substitution, which is the
// recurrence itself, and has its accuracy. Source: Blelloch, "Prefix sums and their applications", 1990 (recurrences as
// scans).
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "core/format.h"
#include "functions/host_values.h"
#include "functions/sliding_products.h"
#include "ops/composition.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "ops/view.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/graph.h"
#include "weft/linalg.h"
#include "weft/signal.h"

namespace weft {
namespace {

constexpr std::int64_t kBlock = 256;  // elements of a block; more of them, if a has more coefficients

Tensor tail(const Tensor& x, int axis, std::int64_t count) {
  const std::int64_t n = x.shape()[axis];
  return slice(x, axis, n - count, n);
}
// With zeros along an axis.
Tensor padded(const Tensor& x, int axis, std::int64_t before, std::int64_t after) {
  std::vector<std::int64_t> front(static_cast<std::size_t>(x.rank()), 0), back = front;
  front[static_cast<std::size_t>(axis)] = before;
  back[static_cast<std::size_t>(axis)] = after;
  return pad(x, front, back);
}

// [rows, columns] of v [rows + columns - 1]: element [i, j] is v[columns - 1 + i - j]. A view.
Tensor toeplitz(const Tensor& v, std::int64_t columns) {
  return flip(windows(v, {.axis = 0, .size = columns}), {0}).T();  // (windows() has the window's axis in front)
}

// The responses to a state: O [size, order], of a [order + 1] with a[0] = 1.
Tensor responses_of(const Tensor& a, std::int64_t size) {
  const std::int64_t order = a.size() - 1;
  const Tensor band =
      padded(slice(a, 0, 0, std::min(order + 1, size)), 0, size - 1, std::max<std::int64_t>(size - order - 1, 0));
  // Row t reaches back to the state by coefficients from t + 1 on.
  const Tensor reach = toeplitz(padded(slice(a, 0, 1, order + 1), 0, 0, order - 1), order);
  const Tensor coupling = order < size ? padded(reach, 0, 0, size - order) : slice(reach, 0, 0, size);
  return solve_triangular(toeplitz(band, size), -coupling, {.unit = true});
}

// y with Σ_j a[j] y[t - j] = w[t] of each row, of w [rows, n] and a [order + 1], order ≥ 1 and a[0] = 1.
Tensor recursive(const Tensor& w, const Tensor& a) {
  const std::int64_t rows = w.shape()[0], n = w.shape()[1], order = a.size() - 1;
  const std::int64_t block = std::min(n, (order + kBlock - 1) / kBlock * kBlock), blocks = (n + block - 1) / block;
  const std::int64_t reached = std::min<std::int64_t>(blocks, 2) * block;
  const Tensor responses = responses_of(a, reached);
  // The response to the last element of a state is h from h[1] on.
  const Tensor later = reshape(slice(slice(responses, 0, 0, reached - 1), 1, order - 1, order), {reached - 1});
  const Tensor h = concat({Tensor(ones_like(slice(a, 0, 0, 1))), later}, 0);
  const Tensor within = toeplitz(padded(slice(h, 0, 0, block), 0, block - 1, 0), block);

  const Tensor whole = padded(w, 1, 0, blocks * block - n);
  const auto by_blocks = [&](const Tensor& x) { return reshape(x, {rows * blocks, block}); };
  Tensor y = matmul(by_blocks(whole), within.T());
  if (blocks > 1) {
    // What is `count` blocks before, of elements or of states.
    const auto before = [&](const Tensor& x, std::int64_t count, std::int64_t size) {
      return padded(slice(x, 1, 0, x.shape()[1] - count * size), 1, count * size, 0);
    };
    y = y + matmul(by_blocks(before(whole, 1, block)), toeplitz(slice(h, 0, 1, 2 * block), block).T());
    if (blocks > 2) {
      Tensor state = reshape(tail(y, 1, order), {rows, blocks, order}), power = tail(responses, 0, order);
      for (std::int64_t distance = 2; distance < blocks; distance *= 2) {
        if (distance > 2) power = matmul(power, power);
        state = state + matmul(before(state, distance, 1), power.T());
      }
      const Tensor far = reshape(before(state, 2, 1), {rows * blocks, order});
      y = y + matmul(far, tail(responses, 0, block).T());
    }
  }
  return slice(reshape(y, {rows, blocks * block}), 1, 0, n);
}

// The same, with NaN from the first element of a row on that is not finite: in a block's products such an element would
// reach those in front of it, too.
Tensor recursive_from_finite(const Tensor& w, const Tensor& a) {
  const Tensor usable = parts_are_finite(w);
  const Tensor y = recursive(select(usable, w, zeros_like(w)), a);
  const Tensor unusable = scan(ScanKind::max, cast(!usable, DType::u8), 1);
  return select(unusable != 0, Graph::scalar(std::numeric_limits<double>::quiet_NaN(), w.dtype()), y);
}

// The filter b / a, whose coefficients are divided by a[0], of rows.
struct Coefficients {
  Tensor b, a;
  std::int64_t states = 0;  // max(size of b, size of a) - 1
};
Coefficients coefficients_of(const Tensor& b, const Tensor& a) {
  const Tensor first = slice(a, 0, 0, 1);
  return {b / first, a / first, std::max(b.size(), a.size()) - 1};
}

struct Rows {
  Tensor y, state;
};

// x [rows, n], state [rows, states] or undefined for zeros; the last state only if it is wanted.
Rows filtered(const Coefficients& f, const Tensor& x, const Tensor& state, bool wants_state) {
  const std::int64_t n = x.shape()[1], states = f.states, order = f.a.size() - 1;
  if (x.shape()[0] == 0 || n == 0) return {x, state};
  const std::int64_t behind = wants_state ? states : 0;
  Tensor w = sliding_products(x, flip(f.b), f.b.size() - 1, behind);
  // (b may be shorter than a: behind the products there is nothing then.)
  if (state.defined()) {
    const std::int64_t reached = std::min(states, n + behind);
    w = w + padded(slice(state, 1, 0, reached), 1, 0, n + behind - reached);
  }
  Tensor y = slice(w, 1, 0, n);
  if (order > 0) y = recursive_from_finite(y, f.a);
  if (!wants_state) return {y, {}};
  Tensor last = slice(w, 1, n, n + states);
  if (order > 0) {
    const std::int64_t known = std::min(order, n);
    const Tensor fed_back = sliding_products(tail(y, 1, known), flip(f.a), order - known, order);
    last = last - padded(fed_back, 1, 0, states - order);
  }
  return {y, last};
}

// What a filter goes along: the axis as the last one, of rows.
class Lines {
 public:
  Lines(std::string_view function, const Tensor& x, int axis) : function_(function), shape_(x.shape()) {
    if (x.rank() == 0) throw ShapeError("{}: x is {}, expected an axis", function, to_string(x.type()));
    axis_ = normalize_axis(axis, x.rank(), function);
    rows_ = 1;
    for (int d = 0; d < x.rank(); ++d) rows_ *= d == axis_ ? 1 : shape_[d];
  }
  Tensor to_rows(const Tensor& x) const { return reshape(moveaxis(x, {axis_}, {-1}), {rows_, x.shape()[axis_]}); }
  Tensor from_rows(const Tensor& rows) const {
    Shape moved;
    for (int d = 0; d < shape_.rank(); ++d) {
      if (d != axis_) moved.push_back(shape_[d]);
    }
    moved.push_back(rows.shape()[1]);
    return moveaxis(reshape(rows, moved), {-1}, {axis_});
  }
  // x's shape with so many elements along the axis.
  Shape with(std::int64_t count) const {
    Shape shape = shape_;
    shape[axis_] = count;
    return shape;
  }
  // States of that shape, or broadcast to it.
  Tensor states(const Tensor& given, std::int64_t count) const {
    const Shape expected = with(count);
    if (given.rank() != expected.rank() || given.shape()[axis_] != count || !broadcasts_to(given.shape(), expected)) {
      throw ShapeError("{}: the state is {}, expected {}, or sizes of 1 beside the axis", function_,
                       to_string(given.type()), to_string(expected));
    }
    return to_rows(broadcast_to(given, expected));
  }

 private:
  std::string_view function_;
  Shape shape_;
  int axis_ = 0;
  std::int64_t rows_ = 1;
};

// The type of the result, and that in which it is computed.
struct Types {
  DType result, sums;
};
Types types_of(std::string_view function, std::vector<Tensor> operands, const Tensor& state) {
  if (state.defined()) operands.push_back(state);
  const DType result = averaged(result_type_for(function, operands));
  return {result, accumulated(Graph::scalar(0, result)).dtype()};
}

void require_coefficients(std::string_view function, std::string_view name, const Tensor& x) {
  if (x.size() > 0) return;
  throw ShapeError("{}: {} is {}, expected a coefficient at least", function, name, to_string(x.type()));
}

FilterResult filtered_along(std::string_view function, const Tensor& b, const Tensor& a, const Tensor& x,
                            const Tensor& state, int axis, bool wants_state) {
  require_coefficients(function, "b", b);
  require_coefficients(function, "a", a);
  const Types types = types_of(function, {b, a, x}, state);
  const auto leading = host_values(a);
  if (leading && leading->front() == 0) throw InvalidArgument("{}: a[0] is 0; expected another number", function);
  const Lines lines(function, x, axis);
  const Coefficients f = coefficients_of(cast(b, types.sums), cast(a, types.sums));
  Tensor rows;
  if (wants_state) {
    rows = lines.states(
        state.defined() ? cast(state, types.sums) : Tensor(zeros_of({types.sums, lines.with(f.states)})), f.states);
  }
  const Rows made = filtered(f, lines.to_rows(cast(x, types.sums)), rows, wants_state);
  FilterResult result{cast(lines.from_rows(made.y), types.result), {}};
  if (wants_state) result.state = cast(lines.from_rows(made.state), types.result);
  return result;
}

FilterResult sections_along(std::string_view function, const Tensor& sos, const Tensor& x, const Tensor& state,
                            int axis, bool wants_state) {
  if (sos.shape()[1] != 6) {
    throw ShapeError("{}: sections are {}, expected [sections, 6]", function, to_string(sos.type()));
  }
  const Types types = types_of(function, {sos, x}, state);
  const Lines lines(function, x, axis);
  const std::int64_t sections = sos.shape()[0];
  if (const auto all = host_values(sos)) {
    for (std::int64_t i = 0; i < sections; ++i) {
      if ((*all)[static_cast<std::size_t>(6 * i + 3)] == 0) {
        throw InvalidArgument("{}: a[0] of section {} is 0; expected another number", function, i);
      }
    }
  }
  if (state.defined() && (state.rank() != x.rank() + 1 || state.shape()[0] != sections)) {
    throw ShapeError("{}: the state is {}, expected one of {} for each of {} sections", function,
                     to_string(state.type()), to_string(lines.with(2)), sections);
  }
  const Tensor all = cast(sos, types.sums);
  Tensor y = lines.to_rows(cast(x, types.sums));
  std::vector<Tensor> last;
  for (std::int64_t i = 0; i < sections; ++i) {
    const Tensor section = reshape(slice(all, 0, i, i + 1), {6});
    const Coefficients f = coefficients_of(slice(section, 0, 0, 3), slice(section, 0, 3, 6));
    Tensor rows;
    if (wants_state) {
      rows = lines.states(state.defined() ? squeeze(slice(cast(state, types.sums), 0, i, i + 1), 0)
                                          : Tensor(zeros_of({types.sums, lines.with(2)})),
                          2);
    }
    const Rows made = filtered(f, y, rows, wants_state);
    y = made.y;
    if (wants_state) last.push_back(lines.from_rows(made.state));
  }
  FilterResult result{cast(lines.from_rows(y), types.result), {}};
  if (!wants_state) return result;
  Shape none = lines.with(2);
  none.insert(0, 0);
  result.state = last.empty() ? zeros_of({types.result, none}) : cast(stack(last), types.result);
  return result;
}

constexpr FunctionOperand kNumerator = {.name = "b", .min_rank = 1, .max_rank = 1, .shape = "[p]"};
constexpr FunctionOperand kDenominator = {.name = "a", .min_rank = 1, .max_rank = 1, .shape = "[q]"};
constexpr FunctionOperand kSections = {.name = "sos", .min_rank = 2, .max_rank = 2, .shape = "[sections, 6]"};
constexpr FunctionResult kFiltered = {"y", "x's shape", "the common type; of integers and bool f32"};
constexpr std::string_view kRecurrence = "a[0] y[t] = Σ_j b[j] x[t - j] - Σ_{j ≥ 1} a[j] y[t - j]";

constexpr Function kLfilter = {{.name = "lfilter",
                                .operands = {kNumerator, kDenominator, {"x"}},
                                .results = {kFiltered},
                                .formula = kRecurrence,
                                .summary = "a signal after the linear filter b / a along an axis"},
                               [](const Tensor& b, const Tensor& a, const Tensor& x, const AxisAttributes& o) {
                                 return filtered_along("lfilter", b, a, x, {}, o.axis, false).y;
                               }};
constexpr Function kLfilterState = {
    {.name = "lfilter_state",
     .operands = {kNumerator,
                  kDenominator,
                  {"x"},
                  {.name = "state", .arity = Arity::optional, .shape = "x's, with max(p, q) - 1 along the axis"}},
     .results = {kFiltered, {"state", "x's shape, with max(p, q) - 1 along the axis", "y's"}},
     .formula = kRecurrence,
     .summary =
         "the same of a signal's next part, from the state that the part before left, and the state that it leaves",
     .form_of = "lfilter"},
    [](const Tensor& b, const Tensor& a, const Tensor& x, const Tensor& state, const AxisAttributes& o) {
      return filtered_along("lfilter", b, a, x, state, o.axis, true);
    }};
constexpr Function kSosfilt = {{.name = "sosfilt",
                                .operands = {kSections, {"x"}},
                                .results = {kFiltered},
                                .formula = "y = lfilter(sos[i, :3], sos[i, 3:], …) for each i, from the first on",
                                .summary = "a signal after a cascade of filters of the second order along an axis"},
                               [](const Tensor& sos, const Tensor& x, const AxisAttributes& o) {
                                 return sections_along("sosfilt", sos, x, {}, o.axis, false).y;
                               }};
constexpr Function kSosfiltState = {
    {.name = "sosfilt_state",
     .operands = {kSections,
                  {"x"},
                  {.name = "state",
                   .arity = Arity::optional,
                   .shape = "[sections, …] of x's shape, with 2 along the axis"}},
     .results = {kFiltered, {"state", "[sections, …] of x's shape, with 2 along the axis", "y's"}},
     .formula = "y = lfilter(sos[i, :3], sos[i, 3:], …) for each i, from the first on",
     .summary = "the same of a signal's next part, from the states that the part before left, and those that it leaves",
     .form_of = "sosfilt"},
    [](const Tensor& sos, const Tensor& x, const Tensor& state, const AxisAttributes& o) {
      return sections_along("sosfilt", sos, x, state, o.axis, true);
    }};

}  // namespace

void add_filters_functions(FunctionRows& rows) { rows.add(kLfilter, kLfilterState, kSosfilt, kSosfiltState); }

Tensor lfilter(const Operand& b, const Operand& a, const Operand& x, int axis) { return kLfilter(b, a, x, {axis}); }
FilterResult lfilter(const Operand& b, const Operand& a, const Operand& x, const Operand& state, int axis) {
  return kLfilterState(b, a, x, state, {axis});
}
Tensor sosfilt(const Operand& sos, const Operand& x, int axis) { return kSosfilt(sos, x, {axis}); }
FilterResult sosfilt(const Operand& sos, const Operand& x, const Operand& state, int axis) {
  return kSosfiltState(sos, x, state, {axis});
}

}  // namespace weft
