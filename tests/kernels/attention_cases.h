// Shared by the tests of attention: problems, and running them against the reference.
#pragma once

#include <cmath>

#include "kernels/attention/attention.h"
#include "support/kernel_test.h"

namespace weft::kernels {

using test::Kind;
using test::random_view;
using test::Rng;
using test::Tolerance;

// The axes that the mask depends on; the others are broadcast.
enum class Mask { none, keys, rows, heads, everything };

struct AttentionCase {
  std::int64_t batch = 1, heads = 2, kv_heads = 2, queries = 16, keys = 16, dim = 32, value_dim = 32;
  Mask mask = Mask::none;
  DType mask_type = DType::boolean;
  bool causal = false;
  DType type = DType::f32;
  Kind q_kind = Kind::dense, k_kind = Kind::dense, v_kind = Kind::dense, y_kind = Kind::dense;
  std::int64_t window_left = -1, window_right = -1;
  bool top_left = false;
  bool query_lengths = false, key_lengths = false;
  DType length_type = DType::i32;
  bool empty_is_nan = false;

  AttentionOptions options() const {
    return {.scale = 1 / std::sqrt(static_cast<float>(dim)),
            .causal = causal,
            .window_left = window_left,
            .window_right = window_right,
            .top_left = top_left,
            .empty_is_nan = empty_is_nan};
  }
};

inline std::string text(const AttentionCase& c) {
  return std::format(
      "batch {} heads {}/{} queries {} keys {} dim {}/{} mask {} of {} causal {} window {} {} {} lengths {} {} {}{} {} "
      "{} {} {} {}",
      c.batch, c.heads, c.kv_heads, c.queries, c.keys, c.dim, c.value_dim, static_cast<int>(c.mask), name(c.mask_type),
      c.causal, c.window_left, c.window_right, c.top_left ? "top left" : "", c.query_lengths, c.key_lengths,
      name(c.length_type), c.empty_is_nan ? " empty is NaN" : "", name(c.type), to_string(c.q_kind),
      to_string(c.k_kind), to_string(c.v_kind), to_string(c.y_kind));
}

struct AttentionOperands {
  std::vector<View> inputs;  // q, k, v, and those of mask, query_lengths and key_lengths that there are
  View y;
  bool mask = false, query_lengths = false, key_lengths = false;

  // The call on the given inputs, which are these or copies of them.
  AttentionCall call(std::span<const View> in, const View& out, const AttentionOptions& options,
                     const std::optional<View>& log_sums = {}) const {
    std::size_t next = 3;
    std::optional<View> m;
    AttentionLengths lengths;
    if (mask) m = in[next++];
    if (query_lengths) lengths.queries = in[next++];
    if (key_lengths) lengths.keys = in[next++];
    return AttentionCall(in[0], in[1], in[2], m, out, options, lengths, log_sums);
  }
};

// q, k, v and perhaps a mask.
inline AttentionOperands plain_operands(std::vector<View> inputs, const View& y) {
  const bool mask = inputs.size() > 3;
  return {std::move(inputs), y, mask};
}

inline AttentionOperands operands(Rng& rng, const AttentionCase& c) {
  AttentionOperands o;
  o.inputs = {random_view(rng, {c.batch, c.heads, c.queries, c.dim}, c.type, c.q_kind),
              random_view(rng, {c.batch, c.kv_heads, c.keys, c.dim}, c.type, c.k_kind),
              random_view(rng, {c.batch, c.kv_heads, c.keys, c.value_dim}, c.type, c.v_kind)};
  o.mask = c.mask != Mask::none;
  if (c.mask == Mask::keys) o.inputs.push_back(random_view(rng, {c.batch, 1, 1, c.keys}, c.mask_type));
  if (c.mask == Mask::rows) o.inputs.push_back(random_view(rng, {c.queries, c.keys}, c.mask_type));
  if (c.mask == Mask::heads) o.inputs.push_back(random_view(rng, {c.heads, 1, c.keys}, c.mask_type));
  if (c.mask == Mask::everything) {
    o.inputs.push_back(random_view(rng, {c.batch, c.heads, c.queries, c.keys}, c.mask_type, Kind::transposed));
  }
  // Some of them are negative or too large, which the kernel clamps.
  const auto lengths = [&](std::int64_t most) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < c.batch; ++i) {
      const auto value = static_cast<double>(rng.details()() % static_cast<std::uint64_t>(most + 3));
      values.push_back(c.length_type == DType::i32 ? value - 1 : value);
    }
    o.inputs.push_back(test::host_view(c.length_type, {c.batch}, values));
  };
  o.query_lengths = c.query_lengths;
  if (c.query_lengths) lengths(c.queries);
  o.key_lengths = c.key_lengths;
  if (c.key_lengths) lengths(c.keys);
  o.y = random_view(rng, {c.batch, c.heads, c.queries, c.value_dim}, c.type, c.y_kind);
  return o;
}

// Averages of values of about 1 with weights from scores of a few units. A score's rounding error is about 2^-24 ·
// |score| · √dim ≤ 5e-6; a weight's relative error is that plus a few units in the last place of exp; an average's
// error is a weight's times |v| ≤ 5. Measured errors are below 1e-5. Narrow outputs are rounded once more: half a unit,
// and a whole unit when the two sides round differently.
inline Tolerance attention_tolerance(DType type) { return {.ulp = type == DType::f32 ? 0.0 : 1.0, .absolute = 2e-5}; }

// With cooperative matrices weights are rounded to f16: an average errs by half a unit in the last place of the values
// it averages, at most 2^-11 · 5.
inline Tolerance attention_tolerance(const AttentionCase& c) {
  if (c.type != DType::f16 || c.dim % 8 != 0 || c.value_dim % 8 != 0) return attention_tolerance(c.type);
  return {.ulp = 1, .absolute = 2e-3};
}

// A random variant of the kernel; not every device and call supports it.
inline AttentionVariant test_variant(Rng& rng, const gpu::Capabilities& capabilities) {
  const auto one_of = [&](std::initializer_list<int> values) { return values.begin()[rng() % values.size()]; };
  AttentionVariant v;
  // A software device compiles matrices into long loops: rarely, and in small tiles.
  if (rng() % (capabilities.software ? 8 : 3) == 0) {
    const int unit = static_cast<int>(capabilities.matrix_shapes.empty() ? 8 : capabilities.matrix_shapes[0].m);
    const auto matrices =
        attention_subgroup_matrix(capabilities, one_of({1, 2, 4}), one_of({1, 1, 2}), unit * one_of({1, 2}),
                                  capabilities.software ? 16 : one_of({16, 32, 64}), one_of({0, 1, 2}));
    if (matrices) {
      AttentionVariant v = *matrices;
      v.kv_splits = one_of({1, 1, 3});
      return v;
    }
  }
  v.kv_splits = one_of({1, 1, 1, 2, 3, 7});
  v.threads = one_of({8, 32, 64, 128});
  if (rng() % 3 == 0 && capabilities.subgroups) {
    v.kind = AttentionKind::decode;
    v.rows = one_of({1, 2, 3, 4, 8});
    v.lanes_per_key = one_of({2, 4, 8, 16});
    v.chunk = one_of({1, 2, 4});
    return v;
  }
  if (rng() % 3 == 0) {
    v.kind = AttentionKind::tiled;
    v.rows = one_of({1, 2, 4});
    return v;
  }
  v.rows = one_of({1, 1, 2});
  v.chunk = one_of({1, 2, 4, 8});
  v.staged = rng() % 2;
  if (!v.staged) return v;
  v.splits = one_of({1, 1, 2, 4, 8});
  v.tile = v.splits * v.chunk * one_of({1, 2, 4});
  return v;
}

// Runs a call on a stream: on the CPU the reference, on a GPU that variant (if it can run) or the chosen one.
inline void run_attention(Stream& stream, const AttentionCall& call, const AttentionVariant* variant) {
  if (!stream.gpu()) return attention_plain(call);
  gpu::Commands& commands = *stream.gpu();
  const gpu::Capabilities& capabilities = commands.device().capabilities();
  if (variant && !attention_can_run(*variant, call, capabilities)) variant = nullptr;
  if (variant) return attention_gpu(commands, call, *variant);
  attention(stream, call.q, call.k, call.v, call.mask, call.y, call.options, call.lengths, call.log_sums);
}

// Compares the call on the GPU with the reference.
inline void check_attention(gpu::Device& device, const AttentionOperands& o, const AttentionOptions& options,
                            const std::string& what, const AttentionVariant* variant = nullptr,
                            std::optional<Tolerance> allowed = {}) {
  const std::vector<View> outputs{o.y};
  run_both(
      device, o.inputs, outputs,
      [&](Stream& stream, std::span<const View> in, std::span<const View> out) {
        const AttentionCall call = o.call(in, out[0], options);
        if (call.y.count()) run_attention(stream, call, variant);
      },
      allowed.value_or(attention_tolerance(o.y.dtype)), what + (variant ? "; " + to_string(*variant) : ""));
}

inline void check_attention(gpu::Device& device, const AttentionCase& c, const AttentionVariant* variant = nullptr) {
  SCOPED_TRACE(text(c));
  Rng rng(7);
  check_attention(device, operands(rng, c), c.options(), text(c), variant, attention_tolerance(c));
}

// Compares the vectorised CPU form with the reference.
inline void check_attention_cpu(const AttentionOperands& o, const AttentionOptions& options, const std::string& what,
                                std::optional<Tolerance> allowed = {}) {
  View expected = o.y;
  expected.buffer = Buffer::host(o.y.buffer.size());
  attention_plain(o.call(o.inputs, expected, options));
  cpu::Executor executor;
  if (o.y.count() == 0) return;
  attention_cpu(executor, o.call(o.inputs, o.y, options));
  test::expect_close(o.y, expected, allowed.value_or(attention_tolerance(o.y.dtype)), what);
}

}  // namespace weft::kernels
