// The rows of the kernel table for the samplers of weft/kernels/random.h.
#include "kernels/table_rows.h"
#include "weft/kernels/random.h"

namespace weft::kernels {

void add_sampler_rows(TableRows& rows) {
  const TypeSet floats = {DType::f32, DType::f16, DType::bf16}, counts = {DType::i32, DType::i64, DType::f32};
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
  Schema gamma =
      drawn("random_gamma", "the density of y is y^(a - 1) · exp(-y) / Γ(a), a = concentration",
            "numbers with gamma distributions", {broadcasting("concentration")}, {DType::u32, floats, floats});
  gamma.attributes = {boolean("logarithm", "gives the numbers' logarithms, which do not underflow", false)};
  rows.push_back(row(std::move(gamma), [](Stream& s, const Reader& r) {
    random_gamma(s, r.in(0), r.in(1), r.out(0), r.flag("logarithm"));
  }));
  Schema gradient = {.name = "random_gamma_gradient",
                     .family = "random",
                     .summary = "derivatives of numbers with gamma distributions for their concentrations",
                     .formula = "y = -(dF/da)(a, x) / (dF/dx)(a, x), F = the distribution function of random_gamma",
                     .inputs = {broadcasting("concentration"), broadcasting("sample")},
                     .outputs = {one("y", "any")},
                     .signatures = {{floats, floats, as(1)}}};
  gradient.attributes = {boolean("logarithm", "the samples are logarithms, and y their derivatives", false)};
  rows.push_back(row(std::move(gradient), [](Stream& s, const Reader& r) {
    random_gamma_gradient(s, r.in(0), r.in(1), r.out(0), r.flag("logarithm"));
  }));
  rows.push_back(row(drawn("random_poisson", "the probability of y is rate^y · exp(-rate) / y!",
                           "counts with Poisson distributions", {broadcasting("rate")}, {DType::u32, floats, counts}),
                     [](Stream& s, const Reader& r) { random_poisson(s, r.in(0), r.in(1), r.out(0)); }));
  rows.push_back(
      row(drawn("random_binomial", "the probability of y is C(count, y) · p^y · (1 - p)^(count - y), p = probability",
                "how many of count trials succeed", {broadcasting("count"), broadcasting("probability")},
                {DType::u32, TypeSet{DType::i32, DType::i64}, floats, counts}),
          [](Stream& s, const Reader& r) { random_binomial(s, r.in(0), r.in(1), r.in(2), r.out(0)); }));
  rows.push_back(row(drawn("random_geometric", "the probability of y is (1 - p)^(y - 1) · p, p = probability",
                           "the number of trials up to the first that succeeds", {broadcasting("probability")},
                           {DType::u32, floats, counts}),
                     [](Stream& s, const Reader& r) { random_geometric(s, r.in(0), r.in(1), r.out(0)); }));
  Schema categorical = drawn("random_categorical", "y = the i with the greatest logits[i] + Gumbel noise",
                             "a category by the logarithms of probabilities, along an axis",
                             {ranked("logits", "[…, n, …]", 1)}, {DType::u32, floats, DType::i32});
  categorical.outputs[0].shape = "the logits' without the axis";
  categorical.attributes = {integer("axis", "the axis of the categories")};
  rows.push_back(row(std::move(categorical),
                     [](Stream& s, const Reader& r) { random_categorical(s, r.in(0), r.in(1), r.out(0), r.axis()); }));
}

}  // namespace weft::kernels
