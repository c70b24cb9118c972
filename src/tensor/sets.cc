// Sets, and counts as many as the data say, as compositions of other operations (weft/sets.h, weft/statistics.h).
#include "weft/sets.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/functions.h"
#include "graph/promotion.h"
#include "kernels/cpu_loops.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/device.h"
#include "weft/error.h"
#include "weft/evaluate.h"
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

// How many elements of x, of the cpu, are each number below `length`; all are. A table for every fourth element, where
// they are small: an increment does not wait for the one before it, of an equal number.
template <class X, class Count>
void count_numbers(const X* x, std::int64_t n, Count* counts, std::int64_t length) {
  constexpr std::int64_t kTables = 4, kLongest = 4096;
  std::int64_t i = 0;
  std::fill_n(counts, length, Count{0});
  if (length <= kLongest && n >= kTables * length) {
    std::vector<Count> tables(static_cast<std::size_t>((kTables - 1) * length));
    Count *const second = tables.data(), *const third = second + length, *const fourth = third + length;
    for (; i + kTables <= n; i += kTables) {
      ++counts[x[i]];
      ++second[x[i + 1]];
      ++third[x[i + 2]];
      ++fourth[x[i + 3]];
    }
    for (std::int64_t k = 0; k < length; ++k) counts[k] += second[k] + third[k] + fourth[k];
  }
  for (; i < n; ++i) ++counts[x[i]];
}
// The same as a tensor; undefined where x is not of the cpu, or its elements share bytes.
Tensor counts_on_cpu(const Tensor& x, std::int64_t length, DType type) {
  if (bits(x.dtype()) < 8 || x.size() == 0) return {};
  const Tensor dense = contiguous(x);
  eval({dense});
  if (dense.device().is_gpu()) return {};
  const Tensor counts(dense.device(), type, {length});
  const View from = dense.view(), to = counts.view();
  kernels::with_type(from.dtype, [&]<class X>() {
    if constexpr (std::is_integral_v<X> && !std::is_same_v<X, bool>) {
      const auto* const numbers = kernels::data<const X>(from);
      if (type == DType::i32)
        count_numbers(numbers, x.size(), kernels::data<std::int32_t>(to), length);
      else
        count_numbers(numbers, x.size(), kernels::data<std::int64_t>(to), length);
    }
  });
  return counts;
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
  if (const Tensor counts = counts_on_cpu(x, length, type); counts.defined()) return counts;
  return scatter(ScatterKind::add, zeros({length}, type), x, broadcast_to(Graph::scalar(1, type), x.shape()), 0);
} catch (const Error& e) {
  throw_in_function(e, "bincount");
}

}  // namespace weft
