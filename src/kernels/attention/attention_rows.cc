// The rows of the kernel table for weft/kernels/attention.h.
#include "kernels/table_rows.h"
#include "weft/kernels/attention.h"

namespace weft::kernels {

void add_attention_rows(TableRows& rows) {
  const TypeSet floats{DType::f32, DType::f16, DType::bf16}, lengths{DType::i32, DType::u32}, f32{DType::f32};
  const OperandSchema q = ranked("q", "[batch, heads, queries, dim]", 4, 4),
                      k = ranked("k", "[batch, kv_heads, keys, dim]", 4, 4),
                      v = ranked("v", "[batch, kv_heads, keys, value_dim]", 4, 4),
                      mask = optional("mask", "broadcasts to [batch, heads, queries, keys]"),
                      query_lengths = optional("query_lengths", "[batch]"),
                      key_lengths = optional("key_lengths", "[batch]"),
                      log_sums = ranked("log_sums", "[batch, heads, queries]", 3, 3);
  const auto of_values = [](const char* name) { return ranked(name, "[batch, heads, queries, value_dim]", 4, 4); };
  const TypeSet masks = floats | types::boolean;
  rows.push_back(row({.name = "attention",
                      .family = "attention",
                      .summary = "scaled dot-product attention, without a matrix of scores in memory; a mask of bool "
                                 "hides keys where it is false, one of floats is added to the scores; heads is a "
                                 "multiple of kv_heads",
                      .formula = "y = softmax(scale · q kᵀ + mask) v",
                      .inputs = {q, k, v, mask, query_lengths, key_lengths},
                      .outputs = {of_values("y")},
                      .signatures = {{floats, floats, floats, masks, lengths, lengths, floats}},
                      .attributes = schemas_of<AttentionOptions>()},
                     [](Stream& s, const Reader& r) {
                       const auto options = r.options<AttentionOptions>();
                       attention(s, r.in(0), r.in(1), r.in(2), r.maybe_in(3), r.out(0), options,
                                 {r.maybe_in(4), r.maybe_in(5)});
                     }));
  rows.push_back(row({.name = "attention_with_log_sums",
                      .family = "attention",
                      .summary = "attention, and the logarithm of each query's sum of weights before these are divided "
                                 "by it, -inf if it sees no key",
                      .formula = "s = scale · q kᵀ + mask; y = softmax(s) v, log_sums = log(Σ exp(s))",
                      .inputs = {q, k, v, mask, query_lengths, key_lengths},
                      .outputs = {of_values("y"), log_sums},
                      .signatures = {{floats, floats, floats, masks, lengths, lengths, floats, f32}},
                      .attributes = schemas_of<AttentionOptions>()},
                     [](Stream& s, const Reader& r) {
                       const auto options = r.options<AttentionOptions>();
                       attention(s, r.in(0), r.in(1), r.in(2), r.maybe_in(3), r.out(0), options,
                                 {r.maybe_in(4), r.maybe_in(5)}, r.out(1));
                     }));
  rows.push_back(row(
      {.name = "attention_gradient",
       .family = "attention",
       .summary =
           "the gradients of attention_with_log_sums, without a matrix of scores in memory, of the gradient g of "
           "y, the log_sums, and of each query delta, the sum of g times y less the gradient of its log sum",
       .formula = "w = exp(scale · q kᵀ + mask - log_sums); s = scale · w ∘ (g vᵀ - delta); dq = s k, dk = sᵀ q, "
                  "dv = wᵀ g",
       .inputs = {q, k, v, of_values("g"), log_sums, ranked("delta", "[batch, heads, queries]", 3, 3), mask,
                  query_lengths, key_lengths},
       .outputs = {ranked("dq", "q's shape", 4, 4), ranked("dk", "k's shape", 4, 4), ranked("dv", "v's shape", 4, 4)},
       .signatures = {{floats, floats, floats, floats, f32, f32, masks, lengths, lengths, as(0), as(1), as(2)}},
       .attributes = schemas_of<AttentionOptions>()},
      [](Stream& s, const Reader& r) {
        const auto options = r.options<AttentionOptions>();
        attention_gradient(s, r.in(0), r.in(1), r.in(2), r.in(3), r.in(4), r.in(5), r.maybe_in(6), r.out(0), r.out(1),
                           r.out(2), options, {r.maybe_in(7), r.maybe_in(8)});
      }));
}

}  // namespace weft::kernels
