// Checks of an attention call, the keys that its queries see, and pieces of calls.
#include <algorithm>

#include "core/format.h"
#include "kernels/attention/attention.h"
#include "kernels/common/chunks.h"
#include "kernels/cpu_loops.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

// GPUs compute the positions of queries and keys in i32, with window sizes added.
constexpr std::int64_t kLongest = std::int64_t{1} << 29;
// Columns of a row that one workgroup computes: with more, others would still read q when it writes y in place.
constexpr std::int64_t kMaxColumnsInPlace = 256;

void check_operand(const char* name, const View& view) {
  if (view.rank() != 4) {
    throw InvalidArgument("attention: {} is {}, expected [batch, heads, length, dim]", name, to_string(view));
  }
  if (view.dtype != DType::f32 && view.dtype != DType::f16 && view.dtype != DType::bf16) {
    throw Unsupported("attention: {} is {}; f32, f16 and bf16 are supported", name, to_string(view));
  }
}

void check_size(const char* name, const View& view, int axis, const char* what, std::int64_t expected) {
  if (view.shape()[axis] == expected) return;
  throw InvalidArgument("attention: {} is {}, its axis {} ({}) must be {}", name, to_string(view), axis, what,
                        expected);
}

void check_lengths(const char* name, const std::optional<View>& view, std::int64_t batch) {
  if (!view) return;
  if (view->dtype != DType::i32 && view->dtype != DType::u32) {
    throw Unsupported("attention: the lengths of {} are {}; i32 and u32 are supported", name, to_string(*view));
  }
  if (view->shape() != Shape{batch}) {
    throw InvalidArgument("attention: the lengths of {} are {}, expected [{}], one for each of the batch", name,
                          to_string(*view), batch);
  }
}

bool same_view(const View& a, const View& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.dtype == b.dtype && a.layout == b.layout;
}

std::int64_t length_at(const std::optional<View>& lengths, std::int64_t batch, std::int64_t most) {
  if (!lengths) return most;
  const std::int64_t i = batch * lengths->strides()[0];
  const std::int64_t value = lengths->dtype == DType::i32 ? std::int64_t{data<const std::int32_t>(*lengths)[i]}
                                                          : std::int64_t{data<const std::uint32_t>(*lengths)[i]};
  return std::clamp<std::int64_t>(value, 0, most);
}

// Replaces causal by window_right, and drops windows that include all keys.
AttentionOptions plain(AttentionOptions o, std::int64_t queries, std::int64_t keys) {
  if (o.causal) o.window_right = 0;
  o.causal = false;
  for (std::int64_t* window : {&o.window_left, &o.window_right}) {
    if (*window < 0 || *window >= queries + keys) *window = -1;
  }
  return o;
}

// The keys that query i sees, not counting the mask.
AttentionCall::Keys seen_at(const AttentionOptions& options, std::int64_t i, std::int64_t q_length,
                            std::int64_t k_length) {
  if (i >= q_length) return {};
  const std::int64_t place = options.top_left ? i : i + k_length - q_length;
  AttentionCall::Keys seen{0, k_length};
  if (options.window_left >= 0) seen.first = std::clamp<std::int64_t>(place - options.window_left, 0, k_length);
  if (options.window_right >= 0) seen.end = std::clamp<std::int64_t>(place + options.window_right + 1, 0, k_length);
  seen.end = std::max(seen.end, seen.first);
  return seen;
}

// The intersection of these keys with `part`, relative to the first key of `part`.
AttentionCall::Keys within(AttentionCall::Keys seen, const AttentionRange& part) {
  for (std::int64_t* key : {&seen.first, &seen.end}) {
    *key = std::clamp<std::int64_t>(*key - part.first, 0, part.count);
  }
  return seen;
}

}  // namespace

AttentionCall::AttentionCall(const View& q, const View& k, const View& v, const std::optional<View>& mask,
                             const View& y, const AttentionOptions& options, const AttentionLengths& lengths,
                             const std::optional<View>& log_sums)
    : q(q), k(k), v(v), y(y), options(options), lengths(lengths), log_sums(log_sums) {
  check_operand("q", q);
  check_operand("k", k);
  check_operand("v", v);
  check_operand("y", y);
  batch = q.shape()[0];
  kv_heads = k.shape()[1];
  queries = all_queries = q.shape()[2];
  keys = all_keys = k.shape()[2];
  dim = q.shape()[3];
  value_dim = v.shape()[3];
  const std::int64_t heads = q.shape()[1];
  check_size("k", k, 0, "batch", batch);
  check_size("v", v, 0, "batch", batch);
  check_size("v", v, 1, "heads, as k's", kv_heads);
  check_size("v", v, 2, "keys, as k's", keys);
  check_size("k", k, 3, "dim, as q's", dim);
  if (dim == 0) throw InvalidArgument("attention: q is {}, its dim must not be 0", to_string(q));
  if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0) {
    throw InvalidArgument("attention: q has {} heads, not a multiple of the {} of k", heads, kv_heads);
  }
  if (queries > kLongest || keys > kLongest) {
    throw Unsupported("attention: {} queries and {} keys; up to {} are supported", queries, keys, kLongest);
  }
  group = kv_heads == 0 ? 1 : heads / kv_heads;
  const Shape expected{batch, heads, queries, value_dim};
  if (y.shape() != expected) {
    throw InvalidArgument("attention: y is {}, expected {}", to_string(y), weft::to_string(expected));
  }
  const Shape of_rows{batch, heads, queries};
  if (log_sums && (log_sums->shape() != of_rows || log_sums->dtype != DType::f32)) {
    throw InvalidArgument("attention: log_sums is {}, expected f32 {}", to_string(*log_sums), weft::to_string(of_rows));
  }
  if (same_view(y, k) || same_view(y, v)) {
    throw InvalidArgument("attention: y may not be the same memory as k or v, which other queries still read");
  }
  if (same_view(y, q) && value_dim > kMaxColumnsInPlace) {
    throw InvalidArgument("attention: y may be the same memory as q up to {} columns, not {}", kMaxColumnsInPlace,
                          value_dim);
  }
  check_lengths("queries", lengths.queries, batch);
  check_lengths("keys", lengths.keys, batch);
  this->options = plain(options, queries, keys);
  if (!mask) return;
  if (mask->dtype != DType::boolean && mask->dtype != DType::f32 && mask->dtype != DType::f16 &&
      mask->dtype != DType::bf16) {
    throw Unsupported("attention: mask is {}; bool, f32, f16 and bf16 are supported", to_string(*mask));
  }
  const Shape scores{batch, heads, queries, keys};
  bool fits = mask->rank() <= 4;
  for (int i = 1; fits && i <= mask->rank(); ++i) fits = mask->shape()[-i] == 1 || mask->shape()[-i] == scores[-i];
  if (!fits) {
    throw InvalidArgument("attention: mask is {}, which does not broadcast to [batch, heads, queries, keys] = {}",
                          to_string(*mask), weft::to_string(scores));
  }
  this->mask = mask->broadcast_to(scores);
  mask_as_given = mask;
}

bool AttentionCall::mask_is_per_key() const {
  if (!mask) return false;
  const Strides& s = mask->strides();
  return (queries == 1 || s[2] == 0) && (group == 1 || s[1] == 0);
}

AttentionCall::Keys AttentionCall::seen(std::int64_t batch, std::int64_t query) const {
  const std::int64_t q_length = length_at(lengths.queries, batch, all_queries);
  const std::int64_t k_length = length_at(lengths.keys, batch, all_keys);
  return within(seen_at(options, first_query + query, q_length, k_length), {first_key, keys, all_keys});
}

double attention_mean_keys(const AttentionOptions& options, const AttentionRange& queries, const AttentionRange& keys) {
  constexpr std::int64_t kSamples = 16;
  const AttentionOptions windows = plain(options, queries.all, keys.all);
  double sum = 0;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const std::int64_t query = queries.first + (2 * i + 1) * queries.count / (2 * kSamples);
    const AttentionCall::Keys seen = within(seen_at(windows, query, queries.all, keys.all), keys);
    sum += static_cast<double>(seen.end - seen.first);
  }
  return sum / kSamples;
}

Work attention_work(double queries, double mean_keys, std::int64_t dim, std::int64_t value_dim) {
  const double scores = queries * mean_keys;
  return {.flops = scores * static_cast<double>(2 * dim + 2 * value_dim + 5), .functions = scores};
}

std::int64_t AttentionCall::size(Axis axis) const {
  switch (axis) {
    case Axis::batch:
      return batch;
    case Axis::kv_heads:
      return kv_heads;
    case Axis::group:
      return group;
    case Axis::queries:
      return queries;
    case Axis::keys:
      return keys;
  }
  return 0;
}

AttentionCall AttentionCall::part(Axis axis, std::int64_t begin, std::int64_t count) const {
  AttentionCall a = *this;
  const auto cut_both = [&](int of, std::int64_t first, std::int64_t size) {
    a.q = chunk_along(a.q, of, first, size);
    a.y = chunk_along(a.y, of, first, size);
    if (a.log_sums) a.log_sums = chunk_along(*a.log_sums, of, first, size);
    if (a.mask) a.mask = chunk_along(*a.mask, of, first, size);
  };
  switch (axis) {
    case Axis::batch:
      a.batch = count;
      cut_both(0, begin, count);
      a.k = chunk_along(a.k, 0, begin, count);
      a.v = chunk_along(a.v, 0, begin, count);
      if (a.lengths.queries) a.lengths.queries = chunk_along(*a.lengths.queries, 0, begin, count);
      if (a.lengths.keys) a.lengths.keys = chunk_along(*a.lengths.keys, 0, begin, count);
      break;
    case Axis::kv_heads:
      a.kv_heads = count;
      cut_both(1, begin * group, count * group);
      a.k = chunk_along(a.k, 1, begin, count);
      a.v = chunk_along(a.v, 1, begin, count);
      break;
    case Axis::group:  // of one head of keys
      a.group = count;
      cut_both(1, begin, count);
      break;
    case Axis::queries:
      a.queries = count;
      a.first_query += begin;
      cut_both(2, begin, count);
      break;
    case Axis::keys:
      a.keys = count;
      a.first_key += begin;
      a.k = chunk_along(a.k, 2, begin, count);
      a.v = chunk_along(a.v, 2, begin, count);
      if (a.mask) a.mask = chunk_along(*a.mask, 3, begin, count);
      break;
  }
  return a;
}

}  // namespace weft::kernels
