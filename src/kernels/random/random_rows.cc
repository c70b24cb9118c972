// The rows of the kernel table for weft/kernels/random.h.
#include "kernels/table_rows.h"
#include "weft/kernels/random.h"

namespace weft::kernels {
namespace {

void add_sampler_rows(TableRows& rows) {
  const TypeSet floats = {DType::f32, DType::f16, DType::bf16};
  const auto drawn = [](std::string name, std::string formula, std::string summary, std::vector<OperandSchema> inputs,
                        TypeSignature types) {
    inputs.insert(inputs.begin(), ranked("key", "[2]", 1, 1));
    return Schema{.name = std::move(name),
                  .family = "random",
                  .summary = std::move(summary),
                  .formula = std::move(formula),
                  .inputs = std::move(inputs),
                  .outputs = {one("y", "any")},
                  .signatures = {std::move(types)}};
  };
  const auto broadcasting = [](std::string name) { return one(std::move(name), "broadcasts to y"); };
  Schema gamma = drawn("random_gamma", "the density of y is y^(a - 1) · exp(-y) / Γ(a), a = concentration",
                       "numbers with gamma distributions", {broadcasting("concentration")}, {DType::u32, floats, floats});
  gamma.attributes = {boolean("logarithm", "gives the numbers' logarithms, which do not underflow", false)};
  rows.push_back(row(std::move(gamma), [](Stream& s, const Reader& r) {
    random_gamma(s, r.in(0), r.in(1), r.out(0), r.flag("logarithm"));
  }));
  rows.push_back(row(drawn("random_poisson", "the probability of y is rate^y · exp(-rate) / y!",
                           "counts with Poisson distributions", {broadcasting("rate")}, {DType::u32, floats, DType::i32}),
                     [](Stream& s, const Reader& r) { random_poisson(s, r.in(0), r.in(1), r.out(0)); }));
  rows.push_back(
      row(drawn("random_binomial", "the probability of y is C(count, y) · p^y · (1 - p)^(count - y), p = probability",
                "how many of count trials succeed", {broadcasting("count"), broadcasting("probability")},
                {DType::u32, DType::i32, floats, DType::i32}),
          [](Stream& s, const Reader& r) { random_binomial(s, r.in(0), r.in(1), r.in(2), r.out(0)); }));
  rows.push_back(row(drawn("random_geometric", "the probability of y is (1 - p)^(y - 1) · p, p = probability",
                           "the number of trials up to the first that succeeds", {broadcasting("probability")},
                           {DType::u32, floats, DType::i32}),
                     [](Stream& s, const Reader& r) { random_geometric(s, r.in(0), r.in(1), r.out(0)); }));
  Schema categorical = drawn("random_categorical", "y = the i with the greatest logits[i] + Gumbel noise",
                             "a category by the logarithms of probabilities, along an axis",
                             {ranked("logits", "[…, n, …]", 1)}, {DType::u32, floats, DType::i32});
  categorical.outputs[0].shape = "the logits' without the axis";
  categorical.attributes = {integer("axis", "the axis of the categories")};
  rows.push_back(row(std::move(categorical), [](Stream& s, const Reader& r) {
    random_categorical(s, r.in(0), r.in(1), r.out(0), r.axis());
  }));
}

}  // namespace

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
          [](Stream& s, const Reader& r) { random_uniform(s, r.in(0), r.single("low"), r.single("high"), r.out(0)); }));
  rows.push_back(row(drawn("random_normal",
                           "y[i] = mean + deviation · sqrt(-2 ln u) · cos(2πv), y[i+1] the same with sin; u, v = w[i], "
                           "w[i+1] as fractions",
                           "normally distributed numbers", floats,
                           {number("mean", "the mean of the distribution", 0),
                            number("deviation", "its standard deviation, 0 or more", 1)}),
                     [](Stream& s, const Reader& r) {
                       random_normal(s, r.in(0), r.single("mean"), r.single("deviation"), r.out(0));
                     }));
  rows.push_back(row(
      drawn("random_integers", "y[i] = low + ⌊v[i] · (high - low) / 2^64⌋, v[i] = 64 bits of the stream",
            "integers of which each in [low, high) is equally likely", integers,
            {number("low", "the least integer", 0),
             number("high", "the bound above all integers, which is not among them")}),
      [](Stream& s, const Reader& r) { random_integers(s, r.in(0), r.number("low"), r.number("high"), r.out(0)); }));
  rows.push_back(row(drawn("random_signed_uniform", "y[i] = ± the lower 31 bits of w[i] as a fraction, - if its upper bit is set",
                           "numbers distributed evenly over (-1, 1), precise near 0", DType::f32, {}),
                     [](Stream& s, const Reader& r) { random_signed_uniform(s, r.in(0), r.out(0)); }));
  add_sampler_rows(rows);
}

}  // namespace weft::kernels
