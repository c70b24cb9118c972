// The rows of the kernel table for weft/kernels/attention.h.
#include "kernels/table_rows.h"
#include "weft/kernels/attention.h"

namespace weft::kernels {

void add_attention_rows(TableRows& rows) {
  const TypeSet floats{DType::f32, DType::f16, DType::bf16}, lengths{DType::i32, DType::u32};
  rows.push_back(row(
      {.name = "attention",
       .family = "attention",
       .summary = "scaled dot-product attention, without a matrix of scores in memory; a mask of bool "
                  "hides keys where it is false, one of floats is added to the scores; heads is a "
                  "multiple of kv_heads",
       .formula = "y = softmax(scale · q kᵀ + mask) v",
       .inputs = {ranked("q", "[batch, heads, queries, dim]", 4, 4), ranked("k", "[batch, kv_heads, keys, dim]", 4, 4),
                  ranked("v", "[batch, kv_heads, keys, value_dim]", 4, 4),
                  optional("mask", "broadcasts to [batch, heads, queries, keys]"), optional("query_lengths", "[batch]"),
                  optional("key_lengths", "[batch]")},
       .outputs = {ranked("y", "[batch, heads, queries, value_dim]", 4, 4)},
       .signatures = {{floats, floats, floats, floats | types::boolean, lengths, lengths, floats}},
       .attributes = schemas_of<AttentionOptions>()},
      [](Stream& s, const Reader& r) {
        const auto options = r.options<AttentionOptions>();
        attention(s, r.in(0), r.in(1), r.in(2), r.maybe_in(3), r.out(0), options, {r.maybe_in(4), r.maybe_in(5)});
      }));
}

}  // namespace weft::kernels
