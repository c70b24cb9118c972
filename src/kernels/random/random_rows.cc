// The rows of the kernel table for weft/kernels/random.h.
#include "kernels/table_rows.h"
#include "weft/kernels/random.h"

namespace weft::kernels {
void add_random_rows(TableRows& rows) {
  const TypeSet integers = types::integers - types::packed, floats = {DType::f32, DType::f16, DType::bf16};
  const auto drawn = [](std::string name, std::string formula, std::string summary, TypeSet set,
                        std::vector<AttributeSchema> attributes) {
    return Schema{.name = std::move(name),
                  .family = "random",
                  .summary = std::move(summary),
                  .formula = std::move(formula),
                  .inputs = {ranked("key", "[2]", 1, 1)},
                  .outputs = {one("y", "any")},
                  .signatures = {{DType::u32, set}},
                  .attributes = std::move(attributes)};
  };
  rows.push_back(row(drawn("random_bits", "y = the stream w[0], w[1], … of threefry2x32(key)",
                           "random bits: the same for the same key on every device", integers, {}),
                     [](Stream& s, const Reader& r) { random_bits(s, r.in(0), r.out(0)); }));
  rows.push_back(
      row(drawn("random_uniform", "y[i] = low + u[i] · (high - low), u[i] = 24 bits of w[i] as a fraction",
                "numbers distributed evenly over [low, high)", floats,
                {number("low", "the least number", 0),
                 number("high", "the bound above all numbers, which is not among them", 1)}),
          [](Stream& s, const Reader& r) { random_uniform(s, r.in(0), r.real("low"), r.real("high"), r.out(0)); }));
  rows.push_back(row(
      drawn("random_normal",
            "y[i] = mean + deviation · sqrt(-2 ln u) · cos(2πv), y[i+1] the same with sin; u, v = w[i], "
            "w[i+1] as fractions",
            "normally distributed numbers", floats,
            {number("mean", "the mean of the distribution", 0),
             number("deviation", "its standard deviation, 0 or more", 1)}),
      [](Stream& s, const Reader& r) { random_normal(s, r.in(0), r.real("mean"), r.real("deviation"), r.out(0)); }));
  rows.push_back(row(
      drawn("random_integers", "y[i] = low + ⌊v[i] · (high - low) / 2^64⌋, v[i] = 64 bits of the stream",
            "integers of which each in [low, high) is equally likely", integers,
            {number("low", "the least integer", 0),
             number("high", "the bound above all integers, which is not among them")}),
      [](Stream& s, const Reader& r) { random_integers(s, r.in(0), r.number("low"), r.number("high"), r.out(0)); }));
  rows.push_back(
      row(drawn("random_signed_uniform", "y[i] = ± the lower 31 bits of w[i] as a fraction, - if its upper bit is set",
                "numbers distributed evenly over (-1, 1), precise near 0", DType::f32, {}),
          [](Stream& s, const Reader& r) { random_signed_uniform(s, r.in(0), r.out(0)); }));
}

}  // namespace weft::kernels
