// Sets, and counts as many as the data say, as compositions of other operations (weft/sets.h, weft/statistics.h).
#include "weft/sets.h"

#include <algorithm>
#include <array>

#include "core/format.h"
#include "ops/composition.h"
#include "ops/function_row.h"
#include "ops/promotion.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/error.h"
#include "weft/segments.h"
#include "weft/statistics.h"

namespace weft {
namespace {

// Both flattened, and their common type.
struct Sets {
  Tensor x, y;
  DType type;
};
Sets sets(std::string_view function, const Tensor& a, const Tensor& b) {
  const DType type = result_type_for(function, std::array<Tensor, 2>{a, b});
  return {flatten(in_bytes(cast(a, type))), flatten(in_bytes(cast(b, type))), type};
}

// The distinct elements of a that are in b, or are not.
Tensor members(std::string_view function, const Tensor& a, const Tensor& b, bool in_b) {
  const auto [x, y, type] = sets(function, a, b);
  const Tensor values = unique(x).values;
  return cast(compress(isin(values, y, !in_b), values), type);
}

struct IsinAttributes {
  bool inverted = false;
  void fields(AttributeVisitor& v) { v("inverted", inverted, false, "whether it is not among them"); }
};
struct BincountAttributes {
  std::int64_t minimum_length = 0;
  void fields(AttributeVisitor& v) { v("minimum_length", minimum_length, 0, "of the result"); }
};

constexpr FunctionOperand set(std::string_view name) { return {.name = name, .types = types::real, .shape = "any"}; }
constexpr FunctionResult kSet = {"y", "[count]", "the common type"};

constexpr Function kIsin = {{.name = "isin",
                             .operands = {set("x"), set("set")},
                             .results = {{"y", "x's shape", "bool"}},
                             .formula = "y = x ∈ set",
                             .summary = "whether each element of x is among those of the set"},
                            [](const Tensor& x, const Tensor& set, const IsinAttributes& a) {
                              const auto [from, among, type] = sets("isin", x, set);
                              const std::int64_t n = among.size();
                              if (n == 0)
                                return broadcast_to(Graph::scalar(a.inverted ? 1 : 0, DType::boolean), x.shape());
                              const Tensor sorted = sort(among);
                              const Tensor at = gather(sorted, minimum(searchsorted(sorted, from), n - 1));
                              return reshape(a.inverted ? at != from : at == from, x.shape());
                            }};
constexpr Function kIntersect1d = {{.name = "intersect1d",
                                    .operands = {set("a"), set("b")},
                                    .results = {kSet},
                                    .formula = "y = a ∩ b",
                                    .summary = "the values that are in both"},
                                   [](const Tensor& a, const Tensor& b) { return members("intersect1d", a, b, true); }};
constexpr Function kSetdiff1d = {{.name = "setdiff1d",
                                  .operands = {set("a"), set("b")},
                                  .results = {kSet},
                                  .formula = "y = a ∖ b",
                                  .summary = "the values of a that are not in b"},
                                 [](const Tensor& a, const Tensor& b) { return members("setdiff1d", a, b, false); }};
constexpr Function kUnion1d = {{.name = "union1d",
                                .operands = {set("a"), set("b")},
                                .results = {kSet},
                                .formula = "y = a ∪ b",
                                .summary = "the values that are in one of them, or in both"},
                               [](const Tensor& a, const Tensor& b) {
                                 const auto [x, y, type] = sets("union1d", a, b);
                                 return cast(unique(concat({x, y}, 0)).values, type);
                               }};
constexpr Function kSetxor1d = {{.name = "setxor1d",
                                 .operands = {set("a"), set("b")},
                                 .results = {kSet},
                                 .formula = "y = (a ∖ b) ∪ (b ∖ a)",
                                 .summary = "the values that are in exactly one of them"},
                                [](const Tensor& a, const Tensor& b) {
                                  const auto [x, y, type] = sets("setxor1d", a, b);
                                  // What is in both occurs twice.
                                  const Unique all = unique(concat({unique(x).values, unique(y).values}, 0));
                                  return cast(compress(all.counts == 1, all.values), type);
                                }};

constexpr Function kBincount = {
    {.name = "bincount",
     .operands = {{.name = "x", .types = types::integers, .min_rank = 1, .max_rank = 1, .shape = "[n]"},
                  {.name = "weights", .arity = Arity::optional, .shape = "x's shape"}},
     .results = {{"y", "[max(x) + 1], or [minimum_length] if that is more",
                  "i32; i64 from 2^31 elements on; of weights as segment_sum"}},
     .formula = "y[k] = #{x = k}, or Σ weights where x = k",
     .summary = "how often each of 0, 1, … occurs, or the sum of the weights of such"},
    [](const Tensor& x, const Tensor& weights, const BincountAttributes& a) {
      if (a.minimum_length < 0) throw InvalidArgument("bincount: a length of {}", a.minimum_length);
      if (weights.defined() && weights.shape() != x.shape()) {
        throw ShapeError("bincount: weights are {}, expected x's shape {}", to_string(weights.type()),
                         to_string(x.shape()));
      }
      std::int64_t length = a.minimum_length;
      if (x.size() > 0) {
        // (Numbers of u64 from 2^63 on become negative.)
        const Tensor least = cast(min(x), DType::i64), most = cast(max(x), DType::i64);
        const std::vector<std::int64_t> ends = stack({least, most}).to_vector<std::int64_t>();
        if (ends[0] < 0 && is_signed(x.dtype()))
          throw InvalidArgument("bincount: x holds {}, expected numbers that are not negative", ends[0]);
        constexpr std::int64_t kMost = std::int64_t{1} << 40;  // more would not fit any memory
        if (ends[1] < 0 || ends[1] > kMost) {
          throw OutOfMemory("bincount: x holds {}, expected {} at most", static_cast<std::uint64_t>(ends[1]), kMost);
        }
        length = std::max(length, ends[1] + 1);
      }
      if (weights.defined()) return segment_sum(weights, x, length);
      // (All are numbers of a bin.)
      const DType type = position_type(x.size());
      return scatter(ScatterKind::add, zeros({length}, type), x, broadcast_to(Graph::scalar(1, type), x.shape()), 0);
    }};

}  // namespace

// ---- The functions

Tensor isin(const Operand& x, const Operand& set, bool inverted) { return kIsin(x, set, {inverted}); }
Tensor intersect1d(const Operand& a, const Operand& b) { return kIntersect1d(a, b); }
Tensor setdiff1d(const Operand& a, const Operand& b) { return kSetdiff1d(a, b); }
Tensor union1d(const Operand& a, const Operand& b) { return kUnion1d(a, b); }
Tensor setxor1d(const Operand& a, const Operand& b) { return kSetxor1d(a, b); }
Tensor bincount(const Operand& x, const Operand& weights, std::int64_t minimum_length) {
  return kBincount(x, weights, {minimum_length});
}

void add_set_functions(FunctionRows& rows) {
  rows.add(kIsin, kIntersect1d, kSetdiff1d, kUnion1d, kSetxor1d, kBincount);
}

}  // namespace weft
