// The rows of the kernel table for weft/kernels/random.h.
#include "kernels/table_rows.h"
#include "weft/kernels/random.h"

namespace weft::kernels {

void add_random_rows(TableRows& rows) {
  const TypeSet integers = types::integers - types::packed, floats = {DType::f32, DType::f16, DType::bf16};
  const auto drawn = [](std::string name, std::string summary, TypeSet set, std::vector<AttributeSchema> attributes) {
    return Schema{.name = std::move(name),
                  .family = "random",
                  .summary = std::move(summary),
                  .inputs = {ranked("key", 1, 1)},
                  .outputs = {{"y"}},
                  .signatures = {{DType::u32, set}},
                  .attributes = std::move(attributes)};
  };
  rows.push_back(row(drawn("random_bits", "the bits of a key's stream", integers, {}),
                     [](Stream& s, const Reader& r) { random_bits(s, r.in(0), r.out(0)); }));
  rows.push_back(row(drawn("random_uniform", "numbers uniform in [low, high)", floats,
                           {number("low", 0), number("high", 1)}),
                     [](Stream& s, const Reader& r) {
                       random_uniform(s, r.in(0), r.single("low"), r.single("high"), r.out(0));
                     }));
  rows.push_back(row(drawn("random_normal", "normal numbers", floats, {number("mean", 0), number("deviation", 1)}),
                     [](Stream& s, const Reader& r) {
                       random_normal(s, r.in(0), r.single("mean"), r.single("deviation"), r.out(0));
                     }));
  rows.push_back(row(drawn("random_integers", "integers uniform in [low, high)", integers,
                           {number("low", 0), number("high")}),
                     [](Stream& s, const Reader& r) {
                       random_integers(s, r.in(0), r.number("low"), r.number("high"), r.out(0));
                     }));
}

}  // namespace weft::kernels
