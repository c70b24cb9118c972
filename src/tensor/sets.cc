// Sets, and counts as many as the data say, as compositions of other operations (weft/sets.h, weft/statistics.h).
#include "weft/sets.h"

#include <algorithm>
#include <array>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/functions.h"
#include "graph/promotion.h"
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
  require_real(a, function, "a is");
  require_real(b, function, "b is");
  const DType type = result_type_for(function, std::array<Tensor, 2>{a, b});
  return {flatten(in_bytes(cast(a, type))), flatten(in_bytes(cast(b, type))), type};
}

// The distinct elements of a that are in b, or are not.
Tensor members(std::string_view function, const Tensor& a, const Tensor& b, bool in_b) try {
  const auto [x, y, type] = sets(function, a, b);
  const Tensor values = unique(x).values;
  return cast(compress(isin(values, y, !in_b), values), type);
} catch (const Error& e) {
  throw_in_function(e, function);
}

}  // namespace

Tensor isin(const Operand& x, const Operand& set, bool inverted) try {
  const auto [from, among, type] = sets("isin", x, set);
  const std::int64_t n = among.size();
  if (n == 0) return broadcast_to(Graph::scalar(inverted ? 1 : 0, DType::boolean), x.shape());
  const Tensor sorted = sort(among);
  const Tensor at = gather(sorted, minimum(searchsorted(sorted, from), n - 1));
  return reshape(inverted ? at != from : at == from, x.shape());
} catch (const Error& e) {
  throw_in_function(e, "isin");
}

Tensor intersect1d(const Operand& a, const Operand& b) { return members("intersect1d", a, b, true); }
Tensor setdiff1d(const Operand& a, const Operand& b) { return members("setdiff1d", a, b, false); }

Tensor union1d(const Operand& a, const Operand& b) {
  return in_function("union1d", [&] {
    const auto [x, y, type] = sets("union1d", a, b);
    return cast(unique(concat({x, y}, 0)).values, type);
  });
}

Tensor setxor1d(const Operand& a, const Operand& b) {
  return in_function("setxor1d", [&] {
    const auto [x, y, type] = sets("setxor1d", a, b);
    // What is in both occurs twice.
    const Unique all = unique(concat({unique(x).values, unique(y).values}, 0));
    return cast(compress(all.counts == 1, all.values), type);
  });
}

Tensor bincount(const Operand& x, const Operand& weights, std::int64_t minimum_length) try {
  require_integers(x, "bincount", "x is");
  if (x.rank() != 1) throw ShapeError("bincount: x is {}, expected rank 1", to_string(x.type()));
  if (minimum_length < 0) throw InvalidArgument("bincount: a length of {}", minimum_length);
  if (weights.defined() && weights.shape() != x.shape()) {
    throw ShapeError("bincount: weights are {}, expected x's shape {}", to_string(weights.type()),
                     to_string(x.shape()));
  }
  std::int64_t length = minimum_length;
  if (x.size() > 0) {
    // (Numbers of u64 from 2^63 on become negative.)
    const Tensor least = cast(min(x), DType::i64), most = cast(max(x), DType::i64);
    const std::vector<std::int64_t> ends = stack({least, most}).to_vector<std::int64_t>();
    if (ends[0] < 0 && is_signed(x.dtype()))
      throw InvalidArgument("bincount: x holds {}, expected numbers that are not negative", ends[0]);
    constexpr std::int64_t kMost = std::int64_t{1} << 40;  // more would not fit any memory
    if (ends[1] < 0 || ends[1] > kMost) throw OutOfMemory("bincount: x holds {}", ends[1]);
    length = std::max(length, ends[1] + 1);
  }
  if (weights.defined()) return segment_sum(weights, x, length);
  // (All are numbers of a bin.)
  const DType type = position_type(x.size());
  return scatter(ScatterKind::add, zeros({length}, type), x, broadcast_to(Graph::scalar(1, type), x.shape()), 0);
} catch (const Error& e) {
  throw_in_function(e, "bincount");
}

}  // namespace weft
