// Losses: shapes, types and errors; values and gradients on every device against PyTorch's (tests/reference/losses.py).
#include "weft/losses.h"

#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "support/on_device.h"
#include "support/reference_cases.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/inspection.h"

namespace weft::test {
namespace {

using nlohmann::json;
using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::IsNan;
using testing::Not;

LossReduction reduction_of(const json& options) {
  static const std::map<std::string, LossReduction> kNames{
      {"none", LossReduction::none}, {"mean", LossReduction::mean}, {"sum", LossReduction::sum}};
  return kNames.at(options.at("reduction"));
}

std::optional<int> axis_of(const json& options) {
  return options.contains("axis") ? std::optional(options.at("axis").get<int>()) : std::nullopt;
}

using Loss = Tensor (*)(const Tensor& x, const Tensor& target, std::span<const Tensor> in, const json& options);
const std::map<std::string, Loss>& losses() {
  static const std::map<std::string, Loss> all{
      {"cross_entropy",
       [](const Tensor& x, const Tensor& labels, std::span<const Tensor> in, const json& o) {
         return cross_entropy(x, labels,
                              {.weights = in[2],
                               .ignored = o.value("ignored", std::int64_t{-100}),
                               .label_smoothing = o.value("label_smoothing", 0.0),
                               .reduction = reduction_of(o),
                               .axis = axis_of(o)});
       }},
      {"nll_loss",
       [](const Tensor& x, const Tensor& labels, std::span<const Tensor> in, const json& o) {
         return nll_loss(x, labels,
                         {.weights = in[2],
                          .ignored = o.value("ignored", std::int64_t{-100}),
                          .reduction = reduction_of(o),
                          .axis = axis_of(o)});
       }},
      {"binary_cross_entropy_with_logits",
       [](const Tensor& x, const Tensor& target, std::span<const Tensor> in, const json& o) {
         return binary_cross_entropy_with_logits(
             x, target, {.weights = in[2], .positive_weights = in[3], .reduction = reduction_of(o)});
       }},
      {"kl_div", [](const Tensor& x, const Tensor& target, std::span<const Tensor>,
                    const json& o) { return kl_div(x, target, reduction_of(o), o.value("log_target", false)); }},
      {"mse_loss", [](const Tensor& x, const Tensor& target, std::span<const Tensor>,
                      const json& o) { return mse_loss(x, target, reduction_of(o)); }},
      {"l1_loss", [](const Tensor& x, const Tensor& target, std::span<const Tensor>,
                     const json& o) { return l1_loss(x, target, reduction_of(o)); }},
      {"huber_loss", [](const Tensor& x, const Tensor& target, std::span<const Tensor>,
                        const json& o) { return huber_loss(x, target, o.at("size").get<double>(), reduction_of(o)); }},
      {"smooth_l1_loss", [](const Tensor& x, const Tensor& target, std::span<const Tensor>, const json& o) {
         return smooth_l1_loss(x, target, o.at("size").get<double>(), reduction_of(o));
       }}};
  return all;
}

class LossesTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, LossesTest, testing::ValuesIn(all_devices()), [](const auto& i) { return i.param; });

TEST_P(LossesTest, ValuesAndGradientsArePyTorchs) {
  const ReferenceCases cases("losses");
  for (const json& c : cases.list("cases.json")) {
    const auto inputs = cases.operands(c, "inputs"), outputs = cases.operands(c, "outputs");
    const bool in_f64 = std::ranges::any_of(inputs, [](const View& v) { return v.buffer && v.dtype == DType::f64; });
    if (in_f64 && device.is_gpu()) continue;
    std::vector<Tensor> in;
    for (const View& v : inputs) in.push_back(v.buffer ? tensor_of(v) : Tensor());
    const Loss loss = losses().at(c.at("kernel"));
    const json options = c.at("attributes");
    using Values = std::vector<Tensor>;
    const bool floats = outputs.size() == 3;
    const auto f = [&](const Values& at) { return Values{loss(at[0], floats ? at[1] : in[1], in, options)}; };
    auto [value, pull_back] = vjp(f)(floats ? Values{in[0], in[1]} : Values{in[0]});
    Values got = pull_back(Values{in[4]});
    got.insert(got.begin(), value[0]);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      ASSERT_EQ(got[k].type(), (TensorType{outputs[k].dtype, outputs[k].shape()})) << c.dump();
      expect_close(read_view(contiguous(got[k])), outputs[k], ReferenceCases::tolerance(c),
                   std::format("{} output {}", c.dump(), k));
    }
  }
}

// Unlike PyTorch, which has an error on the CPU and asserts on a GPU, labels from data cannot be refused.
TEST_P(LossesTest, LabelsOutsideGiveNan) {
  const Tensor x = tensor({4, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}),
               labels = tensor(std::vector<std::int32_t>{1, -1, 3, -100});
  const auto f = [&](const Tensor& t) { return cross_entropy(t, labels, {.reduction = LossReduction::none}); };
  // log(1 + e + e⁻¹)
  EXPECT_THAT(f(x).to_vector<float>(), ElementsAre(FloatNear(1.4076059f, 1e-5f), IsNan(), IsNan(), 0));
  const auto of_row = [&](const Tensor& t, int row) { return slice(t, 0, row, row + 1).to_vector<float>(); };
  const Tensor g = grad([&](const Tensor& t) { return sum(f(t)); })(x);
  EXPECT_THAT(of_row(g, 0), Each(Not(IsNan())));
  EXPECT_THAT(of_row(g, 1), Each(IsNan()));
  EXPECT_THAT(of_row(g, 2), Each(IsNan()));
  EXPECT_THAT(of_row(g, 3), Each(0));
  EXPECT_THAT(nll_loss(x, labels, {.reduction = LossReduction::none}).to_vector<float>(),
              ElementsAre(-2, IsNan(), IsNan(), 0));
  EXPECT_TRUE(std::isnan(cross_entropy(x, labels).item<float>()));
  // Numbers that would be in range as i32, or as a position.
  const Tensor far =
      tensor(std::vector<std::int64_t>{1, (std::int64_t{1} << 32) + 1, std::numeric_limits<std::int64_t>::min(), 0});
  EXPECT_THAT(nll_loss(x, far, {.reduction = LossReduction::none}).to_vector<float>(),
              ElementsAre(-2, IsNan(), IsNan(), -1));
}

TEST_P(LossesTest, TargetsOfZeroTakeNoPartInADivergence) {
  // 0.5 (log 0.5 + 1) twice.
  const Tensor x = tensor({1, 3}, {-1, -2, -1}), p = tensor({1, 3}, {0.5, 0, 0.5});
  EXPECT_NEAR(kl_div(x, p, LossReduction::sum).item<float>(), std::log(0.5) + 1, 1e-6);
}

// Of bounds that f32 does not hold, or whose square or reciprocal it does not, by the definitions.
TEST_P(LossesTest, BoundsOfAnySize) {
  using Function = std::function<Tensor(const Tensor&)>;
  const auto forward = [](const Function& f) {
    return Function([f](const Tensor& x) { return jvp(f)(x, ones_like(x)).second; });
  };
  const auto reverse = [](const Function& f) {
    return Function([f](const Tensor& x) { return vjp(f)(x).second(ones_like(x)); });
  };
  const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const DType type : {DType::f32, DType::f64}) {
    const bool wide = type == DType::f64;
    if (wide && device.is_gpu()) continue;
    const double greatest = finfo(type).max, least = wide ? 1e-290 : 2e-37;
    std::vector<double> bounds{1e-300, 1e-50, 1e-40, 1e-36, 1e-25, 1e-12, 0.7, 1e12, 1e25, 3e38, 1e40, 1e50, 1e300};
    for (const double bound : bounds) {
      std::vector<double> x{0.0,  -0.0,  1.0,  -2.0, 1e-36,    -1e-20,    1e-8,
                            1e10, -2e19, 1e25, 3e38, infinity, -infinity, nan};
      for (const double part : {0.25, -0.75, 3.0, -100.0}) {
        const double d = bound * part;
        if (std::abs(d) >= (wide ? 1e-290 : 1e-36) && std::abs(d) <= greatest) x.push_back(d);
      }
      if (!wide) {
        for (double& v : x) v = static_cast<float>(v);
      }
      // (A bound is rounded as x is.)
      std::erase_if(x, [&](double v) { return std::abs(std::abs(v) - bound) < 1e-6 * bound; });
      for (const bool huber : {true, false}) {
        const Function loss = [=](const Tensor& t) {
          return huber ? huber_loss(t, zeros_like(t), bound, LossReduction::none)
                       : smooth_l1_loss(t, zeros_like(t), bound, LossReduction::none);
        };
        // Of orders 0, 1, 2; the loss over the bound is that of x over the bound, times a power of the bound.
        const auto expected = [&](double v, int order) -> double {
          if (std::isnan(v) && order < 2) return nan;
          const bool inside = std::isnan(v) || std::abs(v) < bound;
          const long double b = bound, size = std::abs(v), unit = huber ? b : 1;
          if (order == 2) return inside ? static_cast<double>(unit / b) : 0;
          if (order == 1) return static_cast<double>(inside ? v * (unit / b) : unit * std::copysign(1, v));
          return static_cast<double>(inside ? unit * (size / b) * size / 2 : unit * (size - b / 2));
        };
        const std::pair<int, Function> all[] = {{0, loss},
                                                {1, forward(loss)},
                                                {1, reverse(loss)},
                                                {2, forward(forward(loss))},
                                                {2, forward(reverse(loss))},
                                                {2, reverse(forward(loss))},
                                                {2, reverse(reverse(loss))}};
        for (const auto& [order, f] : all) {
          const auto found = f(tensor(Shape{static_cast<std::int64_t>(x.size())}, x, type)).to_vector<double>();
          for (std::size_t i = 0; i < x.size(); ++i) {
            double want = expected(x[i], order);
            if (std::abs(want) > greatest) want = std::copysign(infinity, want);
            const bool same = std::isfinite(want)
                                  ? std::abs(found[i] - want) <= std::abs(want) * (wide ? 1e-14 : 1e-6) + least
                              : std::isnan(want) ? std::isnan(found[i])
                                                 : found[i] == want;
            EXPECT_TRUE(same) << (huber ? "huber_loss" : "smooth_l1_loss") << " of " << name(type) << ", bound "
                              << bound << ", order " << order << " at " << x[i] << ": " << found[i] << ", expected "
                              << want;
          }
        }
      }
    }
  }
}

// The logits are read by one kernel on the way there, and by one on the way back, which writes their cotangents.
TEST_P(LossesTest, LogitsAreReadOnceInEachDirection) {
  for (const DType type : {DType::f32, DType::f16}) {
    Graph g;
    const Tensor x = g.input("x", type, {256, 512}), labels = g.input("labels", DType::i32, {256});
    auto [value, dx] = value_and_grad([&](const Tensor& t) { return cross_entropy(t, labels); })(x);
    g.output("loss", value);
    g.output("dx", dx);
    const CompileReport report = compile(g, device).report();
    int large = 0;
    std::string steps;
    for (const ScheduleStep& s : report.steps) {
      steps += s.label + "\n";
      large += s.label.find("[256, 512]") != std::string::npos ? 1 : 0;
    }
    EXPECT_LT(report.planned_bytes, 256u * 512u) << steps;
    EXPECT_EQ(large, 1) << steps;
  }
}

class LossTypes : public testing::Test {
 protected:
  Graph g;
  const Tensor none, x = g.input("x", DType::f16, {4, 3, 2}), labels = g.input("l", DType::i64, {4, 2}),
                     f = g.input("f", DType::f32, {4, 3, 2}), v = g.input("v", DType::f32, {3}),
                     i = g.input("i", DType::i32, {4, 3, 2}), row = g.input("r", DType::i32, {4, 3});
};

TEST_F(LossTypes, AreInferred) {
  EXPECT_EQ(cross_entropy(x, labels).type(), (TensorType{DType::f16, {}}));
  EXPECT_EQ(cross_entropy(x, labels, {.weights = v, .reduction = LossReduction::none}).type(),
            (TensorType{DType::f16, {4, 2}}));
  EXPECT_EQ(cross_entropy(x, row, {.reduction = LossReduction::none, .axis = -1}).shape(), (Shape{4, 3}));
  EXPECT_EQ(cross_entropy(x, f, {.reduction = LossReduction::none}).shape(), (Shape{4, 2}));
  EXPECT_EQ(cross_entropy(f, x).dtype(), DType::f32);
  EXPECT_EQ(nll_loss(f, labels, {.reduction = LossReduction::sum}).shape(), Shape{});
  EXPECT_EQ(mse_loss(x, f, LossReduction::none).type(), (TensorType{DType::f16, {4, 3, 2}}));
  EXPECT_EQ(l1_loss(f, expand_dims(v, 1), LossReduction::none).shape(), (Shape{4, 3, 2}));
}

TEST_F(LossTypes, SaysWhatDoesNotFit) {
  const auto refused = [](auto&& call) { return thrown_by(call); };
  EXPECT_THAT(refused([&] { cross_entropy(none, labels); }), HasSubstr("cross_entropy: x is an undefined Tensor"));
  EXPECT_THAT(refused([&] { cross_entropy(x, none); }), HasSubstr("cross_entropy: labels is an undefined Tensor"));
  EXPECT_THAT(refused([&] { cross_entropy(i, labels); }), HasSubstr("cross_entropy: x is i32 [4, 3, 2]"));
  EXPECT_THAT(refused([&] { cross_entropy(x, row); }),
              HasSubstr("cross_entropy: labels are i32 [4, 3], expected the shape [4, 2] of x f16 [4, 3, 2] without"));
  EXPECT_THAT(refused([&] { cross_entropy(x, v); }), HasSubstr("cross_entropy: probabilities are f32 [3]"));
  EXPECT_THAT(refused([&] { cross_entropy(x, labels, {.weights = f}); }),
              HasSubstr("cross_entropy: weights are f32 [4, 3, 2], expected [3]"));
  EXPECT_THAT(refused([&] { cross_entropy(x, labels, {.label_smoothing = 1.5}); }),
              HasSubstr("label_smoothing is 1.5"));
  EXPECT_THAT(refused([&] { cross_entropy(x, labels, {.axis = 3}); }), HasSubstr("cross_entropy: "));
  EXPECT_THAT(refused([&] { cross_entropy(sum(x), labels); }), HasSubstr("expected an axis of classes"));
  EXPECT_THAT(refused([&] { nll_loss(x, f); }), HasSubstr("nll_loss: labels are f32 [4, 3, 2], expected integers"));
  EXPECT_THAT(refused([&] { mse_loss(f, g.input("o", DType::f32, {5})); }), HasSubstr("mse_loss: "));
  EXPECT_THAT(refused([&] { l1_loss(i, f); }), HasSubstr("l1_loss: x is i32 [4, 3, 2], expected a floating type"));
  EXPECT_THAT(refused([&] { huber_loss(f, f, 0); }), HasSubstr("huber_loss: delta is 0"));
  EXPECT_THAT(refused([&] { smooth_l1_loss(f, f, std::nan("")); }), HasSubstr("smooth_l1_loss: beta is nan"));
  EXPECT_THAT(refused([&] { binary_cross_entropy_with_logits(f, v); }), HasSubstr("the target is f32 [3]"));
  EXPECT_THAT(refused([&] { binary_cross_entropy_with_logits(f, f, {.weights = row}); }),
              HasSubstr("binary_cross_entropy_with_logits: weights are i32"));
  EXPECT_THAT(refused([&] { kl_div(f, none); }), HasSubstr("kl_div: target is an undefined Tensor"));
}

}  // namespace
}  // namespace weft::test
