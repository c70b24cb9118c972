// The rows of the kernel table for weft/kernels/attention.h.
#include "kernels/table_rows.h"
#include "weft/kernels/attention.h"

namespace weft::kernels {

void add_attention_rows(TableRows& rows) {
  const TypeSet floats{DType::f32, DType::f16, DType::bf16}, lengths{DType::i32, DType::u32};
  rows.push_back(row({.name = "attention",
                      .family = "attention",
                      .summary = "softmax(scale q k^T + mask) v without a score matrix",
                      .inputs = {ranked("q", 4, 4), ranked("k", 4, 4), ranked("v", 4, 4), optional("mask"),
                                 optional("query_lengths"), optional("key_lengths")},
                      .outputs = {ranked("y", 4, 4)},
                      .signatures = {{floats, floats, floats, floats | types::boolean, lengths, lengths, floats}},
                      .attributes = {number("scale", 1), boolean("causal", false), integer("window_left", -1),
                                     integer("window_right", -1), boolean("top_left", false),
                                     boolean("empty_is_nan", false)}},
                     [](Stream& s, const Reader& r) {
                       const AttentionOptions options{.scale = r.single("scale"),
                                                      .causal = r.flag("causal"),
                                                      .window_left = r.integer("window_left"),
                                                      .window_right = r.integer("window_right"),
                                                      .top_left = r.flag("top_left"),
                                                      .empty_is_nan = r.flag("empty_is_nan")};
                       attention(s, r.in(0), r.in(1), r.in(2), r.maybe_in(3), r.out(0), options,
                                 {r.maybe_in(4), r.maybe_in(5)});
                     }));
}

}  // namespace weft::kernels
