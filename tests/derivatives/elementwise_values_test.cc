// Gradients and second derivatives of every function of single elements against exact ones, over [-100, 100] and
// beyond, at the tails, where terms cancel, and at the joints of functions of several pieces
// (tests/reference/elementwise_derivatives.py).
#include <cmath>
#include <map>
#include <set>

#include "kernels/elementwise/scalar_ops.h"
#include "support/on_device.h"
#include "support/quick.h"
#include "support/reference_cases.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/expressions.h"
#include "weft/graph.h"
#include "weft/losses.h"
#include "weft/special.h"

namespace weft::test {
namespace {

using One = Tensor (*)(const Tensor&);
constexpr LossReduction kNone = LossReduction::none;

Tensor with_zero(const Tensor& x) { return stack({x, zeros_like(x)}, 1); }
Tensor first(const Tensor& rows) { return squeeze(slice(rows, 1, 0, 1), 1); }

// Those that are no elementwise functions of that name.
const std::map<std::string, One>& others() {
  static const std::map<std::string, One> table = {
      {"sinc", [](const Tensor& x) { return sinc(x); }},
      {"sinc at 0", [](const Tensor& x) { return sinc(x); }},
      {"entr", [](const Tensor& x) { return entr(x); }},
      {"logit", [](const Tensor& x) { return logit(x); }},
      {"ndtr", [](const Tensor& x) { return ndtr(x); }},
      {"log_ndtr", [](const Tensor& x) { return log_ndtr(x); }},
      {"ndtri", [](const Tensor& x) { return ndtri(x); }},
      {"polygamma 1", [](const Tensor& x) { return polygamma(1, x); }},
      {"i0", [](const Tensor& x) { return i0(x); }},
      {"i1", [](const Tensor& x) { return i1(x); }},
      {"i0e", [](const Tensor& x) { return i0e(x); }},
      {"i1e", [](const Tensor& x) { return i1e(x); }},
      {"softmax of x and 0", [](const Tensor& x) { return first(softmax(with_zero(x), 1)); }},
      {"log_softmax of x and 0", [](const Tensor& x) { return first(log_softmax(with_zero(x), 1)); }},
      {"log_sum_exp of x and 0", [](const Tensor& x) { return reduce(ReduceKind::log_sum_exp, with_zero(x), {1}); }},
      {"huber_loss 1", [](const Tensor& x) { return huber_loss(x, zeros_like(x), 1, kNone); }},
      {"huber_loss 2", [](const Tensor& x) { return huber_loss(x, zeros_like(x), 2, kNone); }},
      {"smooth_l1_loss 1", [](const Tensor& x) { return smooth_l1_loss(x, zeros_like(x), 1, kNone); }},
      {"smooth_l1_loss 2", [](const Tensor& x) { return smooth_l1_loss(x, zeros_like(x), 2, kNone); }},
      {"l1_loss", [](const Tensor& x) { return l1_loss(x, zeros_like(x), kNone); }},
      {"mse_loss", [](const Tensor& x) { return mse_loss(x, zeros_like(x), kNone); }},
      {"binary_cross_entropy_with_logits 0",
       [](const Tensor& x) { return binary_cross_entropy_with_logits(x, zeros_like(x), {.reduction = kNone}); }},
      {"binary_cross_entropy_with_logits 0.25",
       [](const Tensor& x) { return binary_cross_entropy_with_logits(x, full_like(x, 0.25), {.reduction = kNone}); }},
      {"binary_cross_entropy_with_logits 1",
       [](const Tensor& x) { return binary_cross_entropy_with_logits(x, ones_like(x), {.reduction = kNone}); }},
  };
  return table;
}

// What a derivative may be off: a part of itself (of a second one also of the first, of whose size its terms are), and
// what a change of x by a part of it makes of it.
struct Bound {
  double relative, of_x;
};
// Functions that may be off by a multiple of that, and those whose derivatives are differences of terms of a size.
struct Wider {
  std::string_view function;
  double in_f32 = 1, in_f64 = 1, terms = 0;
};
constexpr Wider kWider[] = {
    // Probabilities less others: 1 - p of a p near 1.
    {"softmax of x and 0", 1, 1, 1},
    {"log_softmax of x and 0", 1, 1, 1},
    {"log_sum_exp of x and 0", 1, 1, 1},
    // exp(x) (K1 - K0).
    {"k0e", 1, 1, 1},
    {"k1e", 1, 1, 1},
    // exp(y² / 2) of a rounded y, squared: y² ulp, twice.
    {"ndtri", 4, 1000},
    // Derivatives of polynomial approximations.
    {"i0e", 1, 10},
    // The difference of two terms, of which each is up to sixteen times as large.
    {"i1e", 2, 10},
    {"digamma", 1, 10},
    {"lgamma", 1, 10},
};

class ElementwiseValues : public OnDevice {
 protected:
  void compare(DType type, const Bound& bound) {
    const ReferenceCases file("elementwise_derivatives");
    std::int64_t compared = 0;
    for (const auto& c : file.list("cases.json")) {
      if (leave_out_problem()) continue;
      const auto name = c.at("function").get<std::string>();
      const auto numbers = [&](const char* key) {
        const View v = file.operand(c.at(key));
        const auto* data = reinterpret_cast<const double*>(v.buffer.data() + v.offset);
        return std::vector<double>(data, data + v.count());
      };
      const auto parameters = c.value("parameters", std::vector<double>());
      const auto f = [&](const Tensor& x) {
        const auto it = others().find(name);
        return it != others().end() ? it->second(x) : elementwise(name, std::span(&x, 1), parameters);
      };
      const auto x = numbers("x");
      const Tensor at = cast(tensor(x, DType::f64), type);
      const auto slope = [](const auto& function, bool forward) {
        return [=](const Tensor& v) {
          return forward ? jvp(function)(v, ones_like(v)).second : vjp(function)(v).second(ones_like(v));
        };
      };
      const auto* const wider = std::ranges::find(kWider, name, &Wider::function);
      const Wider of = wider == std::end(kWider) ? Wider{} : *wider;
      const std::vector<double> d1 = numbers("d1"), d2 = numbers("d2"), d3 = numbers("d3");
      const auto check = [&](std::string_view way, const Tensor& given, bool second) {
        expect(std::format("{} {}, {}", name, c.value("parameters", nlohmann::json()).dump(), way), x, given,
               second ? d1 : std::vector<double>(), second ? d2 : d1, second ? d3 : d2, bound, of);
      };
      check("reverse", slope(f, false)(at), false);
      check("forward", slope(f, true)(at), false);
      check("reverse over reverse", slope(slope(f, false), false)(at), true);
      check("forward over reverse", slope(slope(f, false), true)(at), true);
      compared += 4 * static_cast<std::int64_t>(x.size());
    }
    if (!quick() && !device.is_gpu()) {
      EXPECT_GT(compared, 40000);
    }
  }

  // `lower`: the derivative of which `want` is one, of whose size its terms are; `next`: the derivative of `want`.
  void expect(const std::string& what, const std::vector<double>& x, const Tensor& given,
              const std::vector<double>& lower, const std::vector<double>& want, const std::vector<double>& next,
              const Bound& bound, const Wider& of) {
    const std::vector<double> got = given.to_vector<double>();
    const bool f32 = given.dtype() == DType::f32;
    const double least = f32 ? 0x1p-126 : 1e-150, most = f32 ? 0x1p127 : 0x1p1022;
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      // (Past the type's range; and denormal numbers, or products with them, are none on a GPU.)
      if (std::abs(want[i]) > most) continue;
      const double size = std::abs(want[i]) + (lower.empty() ? 0 : std::abs(lower[i])) + of.terms;
      const double allowed =
          (f32 ? of.in_f32 : of.in_f64) * (bound.relative * size + bound.of_x * std::abs(x[i] * next[i])) + 8 * least;
      const double off = std::isnan(got[i]) ? INFINITY : std::abs(got[i] - want[i]) / allowed;
      if (off > worst) worst = off, at = i;
    }
    EXPECT_LE(worst, 1) << what << " at " << x[at] << ": " << got[at] << ", exactly " << want[at];
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, ElementwiseValues, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(ElementwiseValues, InF32) { compare(DType::f32, {2e-6, 5e-7}); }

TEST_P(ElementwiseValues, InF64) {
  if (GetParam() != "cpu") GTEST_SKIP() << "f64 is computed on the cpu";
  compare(DType::f64, {1e-14, 1e-15});
}

// Functions of one operand without values here: their derivative is 0, or 1, or no number.
constexpr std::string_view kPlain[] = {"neg", "sign", "ceil", "floor", "trunc", "round"};

TEST(ElementwiseValuesCoverage, EveryFunctionOfOneElementIsThere) {
  std::set<std::string> seen;
  for (const auto& c : ReferenceCases("elementwise_derivatives").list("cases.json"))
    seen.insert(c.at("function").get<std::string>());
  for (const FunctionInfo& f : functions()) {
    const auto op = scalar_op(f.name);
    if (f.operands != 1 || f.name == "cast" || std::ranges::find(kPlain, f.name) != std::end(kPlain)) continue;
    if (op &&
        (!(kernels::info(*op).types & kernels::kFloat) || kernels::info(*op).yields == kernels::Yields::boolean)) {
      continue;
    }
    EXPECT_TRUE(seen.contains(std::string(f.name))) << f.name;
  }
}

}  // namespace
}  // namespace weft::test
