// Attention: prefill, encoders' layers, and decoding over a long cache.
#include <algorithm>
#include <cmath>
#include <format>

#include "../bench.h"

namespace weft::bench {
namespace {

struct Shapes {
  std::int64_t batch, heads, kv_heads, queries, keys, dim;
  bool causal = false;
  std::int64_t window = -1;  // keys before a query
  // Of a mask that hides nothing.
  std::optional<DType> mask = {};
  std::int64_t mask_rows = 1;
};

std::optional<View> open_mask(KernelBench& b, const Shapes& s) {
  if (!s.mask) return std::nullopt;
  const View zeros = b.random({s.mask_rows, s.keys}, DType::f16, 0, 0);
  if (*s.mask != DType::boolean) return zeros;
  const View mask = b.poisoned(zeros.shape(), DType::boolean);
  b.run([&](Stream& stream) { kernels::binary(stream, ScalarOp::equal, zeros, zeros, mask); });
  return mask;
}

std::string mask_name(const Shapes& s) {
  return s.mask ? std::format(" mask {} [{}, {}]", weft::name(*s.mask), s.mask_rows, s.keys) : "";
}

void attend(KernelBench& b, DType type, const Shapes& s) {
  const double seen = s.window >= 0 ? static_cast<double>(std::min(s.window + 1, s.keys))
                      : s.causal    ? 0.5 * static_cast<double>(s.keys)
                                    : static_cast<double>(s.keys);
  const double flop = 4.0 * static_cast<double>(s.batch * s.heads * s.queries * s.dim) * seen;
  // Software devices and CPUs would take minutes for the work of a minute on a GPU.
  if (b.bytes() < 256 << 20 && flop > 2e10) return;
  const View q = b.random({s.batch, s.heads, s.queries, s.dim}, type),
             k = b.random({s.batch, s.kv_heads, s.keys, s.dim}, type);
  const View v = b.random({s.batch, s.kv_heads, s.keys, s.dim}, type),
             y = b.poisoned({s.batch, s.heads, s.queries, s.dim}, type);
  const kernels::AttentionOptions options{
      .scale = 1 / std::sqrt(static_cast<float>(s.dim)), .causal = s.causal, .window_left = s.window};
  const bool decode = s.queries == 1;
  const double bytes = static_cast<double>(k.count() + v.count()) * bits(type) / 8;
  const std::string name =
      std::format("attention {} [{}, {}, {}, {}]{}{}{}{}", weft::name(type), s.batch, s.heads, s.queries, s.dim,
                  s.keys != s.queries ? std::format(" x [{}, {}]", s.kv_heads, s.keys) : "", s.causal ? " causal" : "",
                  s.window >= 0 ? std::format(" window {}", s.window) : "", mask_name(s));
  if (!b.asked(name)) return;
  const std::optional<View> mask = open_mask(b, s);
  b.measure(
      name, decode ? Unit::bytes : Unit::flop, decode ? bytes : flop,
      [&](Stream& stream) { kernels::attention(stream, q, k, v, mask, y, options); },
      [&] {
        // The last query of the last head.
        const std::int64_t row = s.batch * s.heads * s.queries - 1, kv = s.batch * s.kv_heads - 1;
        const auto query = b.read(q, row * s.dim, s.dim), keys = b.read(k, kv * s.keys * s.dim, s.keys * s.dim);
        const auto values = b.read(v, kv * s.keys * s.dim, s.keys * s.dim);
        double sum = 0, average = 0;
        for (std::int64_t j = s.window >= 0 ? std::max<std::int64_t>(0, s.keys - 1 - s.window) : 0; j < s.keys; ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < s.dim; ++d) {
            score += query[static_cast<std::size_t>(d)] * keys[static_cast<std::size_t>(j * s.dim + d)];
          }
          const double weight = std::exp(score * options.scale);
          sum += weight;
          average += weight * values[static_cast<std::size_t>(j * s.dim + 3)];
        }
        return close(b.read(y, row * s.dim + 3, 1)[0], average / sum, type == DType::f32 ? 1e-5 : 2e-3);
      },
      {.bytes = static_cast<std::uint64_t>(bytes),
       .flops = flop,
       .functions = static_cast<double>(s.batch * s.heads * s.queries) * seen});
}

// The gradient, whose floating-point operations are those of five products of the scores' size.
void attend_backwards(KernelBench& b, DType type, const Shapes& s) {
  const double seen = (s.causal ? 0.5 : 1.0) * static_cast<double>(s.keys);
  const double flop = 10.0 * static_cast<double>(s.batch * s.heads * s.queries * s.dim) * seen;
  if (b.bytes() < 256 << 20 && flop > 2e10) return;
  const std::string name = std::format("attention_gradient {} [{}, {}, {}, {}]{}{}", weft::name(type), s.batch, s.heads,
                                       s.queries, s.dim, s.causal ? " causal" : "", mask_name(s));
  if (!b.asked(name)) return;
  const std::optional<View> mask = open_mask(b, s);
  const Shape of_queries{s.batch, s.heads, s.queries, s.dim}, of_keys{s.batch, s.kv_heads, s.keys, s.dim};
  const Shape rows{s.batch, s.heads, s.queries};
  const View q = b.random(of_queries, type), k = b.random(of_keys, type), v = b.random(of_keys, type);
  const View g = b.random(of_queries, type), delta = b.random(rows), log_sums = b.poisoned(rows);
  const View dq = b.poisoned(of_queries, type), dk = b.poisoned(of_keys, type), dv = b.poisoned(of_keys, type);
  const kernels::AttentionOptions options{.scale = 1 / std::sqrt(static_cast<float>(s.dim)), .causal = s.causal};
  b.run([&](Stream& stream) { kernels::attention(stream, q, k, v, mask, dq, options, {}, log_sums); });
  b.poison(dq);
  b.measure(
      name, Unit::flop, flop,
      [&](Stream& stream) {
        kernels::attention_gradient(stream, q, k, v, g, log_sums, delta, mask, dq, dk, dv, options);
      },
      [&] {
        // Column 3 of the last query and key of the last head.
        const std::int64_t head = s.batch * s.heads - 1, kv = s.batch * s.kv_heads - 1,
                           row = (head + 1) * s.queries - 1;
        const auto all_q = b.read(q, head * s.queries * s.dim, s.queries * s.dim);
        const auto all_g = b.read(g, head * s.queries * s.dim, s.queries * s.dim);
        const auto all_k = b.read(k, kv * s.keys * s.dim, s.keys * s.dim);
        const auto all_v = b.read(v, kv * s.keys * s.dim, s.keys * s.dim);
        const auto sums = b.read(log_sums, head * s.queries, s.queries),
                   deltas = b.read(delta, head * s.queries, s.queries);
        const auto dot = [&](const std::vector<double>& x, std::int64_t i, const std::vector<double>& y,
                             std::int64_t j) {
          double sum = 0;
          for (std::int64_t d = 0; d < s.dim; ++d) {
            sum += x[static_cast<std::size_t>(i * s.dim + d)] * y[static_cast<std::size_t>(j * s.dim + d)];
          }
          return sum;
        };
        const auto weight = [&](std::int64_t i, std::int64_t j) {
          return std::exp(dot(all_q, i, all_k, j) * options.scale - sums[static_cast<std::size_t>(i)]);
        };
        const auto third = [&](const std::vector<double>& x, std::int64_t i) {
          return x[static_cast<std::size_t>(i * s.dim + 3)];
        };
        double of_query = 0, of_key = 0, of_value = 0;
        for (std::int64_t j = 0; j < s.keys; ++j) {
          const double slope = dot(all_g, s.queries - 1, all_v, j) - deltas.back();
          of_query += options.scale * weight(s.queries - 1, j) * slope * third(all_k, j);
        }
        for (std::int64_t i = s.causal ? s.queries - 1 : 0; i < s.queries; ++i) {
          if (s.kv_heads != s.heads) break;
          const double w = weight(i, s.keys - 1);
          const double slope = dot(all_g, i, all_v, s.keys - 1) - deltas[static_cast<std::size_t>(i)];
          of_value += w * third(all_g, i);
          of_key += options.scale * w * slope * third(all_q, i);
        }
        const double allowed = type == DType::f32 ? 2e-5 : 2e-3;
        const std::int64_t key = (kv + 1) * s.keys - 1;
        return close(b.read(dq, row * s.dim + 3, 1)[0], of_query, allowed) &&
               close(b.read(dk, key * s.dim + 3, 1)[0], of_key, allowed) &&
               close(b.read(dv, key * s.dim + 3, 1)[0], of_value, allowed);
      },
      {.bytes = static_cast<std::uint64_t>((4 * q.count() + 4 * k.count()) * bits(type) / 8),
       .flops = flop,
       .functions = static_cast<double>(s.batch * s.heads * s.queries) * seen});
}

void cases(KernelBench& b) {
  for (const DType type : {DType::f32, DType::f16}) {
    attend(b, type, {32, 12, 12, 128, 128, 32});
    attend(b, type, {256, 12, 12, 128, 128, 32});
    attend(b, type, {32, 12, 12, 128, 128, 64});
    attend(b, type, {1, 32, 32, 4096, 4096, 128});
    attend(b, type, {1, 32, 32, 4096, 4096, 128, true});
    attend(b, type, {1, 32, 32, 4096, 4096, 128, true, 512});
    attend(b, type, {1, 32, 32, 4096, 4096, 128, false, -1, DType::boolean, 4096});
    attend(b, type, {32, 12, 12, 128, 128, 64, false, -1, DType::boolean});
    attend(b, type, {32, 12, 12, 128, 128, 64, false, -1, DType::f16, 128});
    attend(b, type, {1, 32, 8, 1, 32768, 128});
    attend(b, type, {8, 32, 8, 1, 4096, 128});
    attend_backwards(b, type, {1, 32, 32, 4096, 4096, 128});
    attend_backwards(b, type, {1, 32, 32, 4096, 4096, 128, true});
    attend_backwards(b, type, {1, 32, 32, 4096, 4096, 128, false, -1, DType::boolean, 4096});
    attend_backwards(b, type, {32, 12, 12, 128, 128, 64});
  }
}

const bool registered = register_cases("attention", cases);

}  // namespace
}  // namespace weft::bench
