#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/losses.h"

namespace weft::test {
namespace {

void add_losses_cases(NamedCases& c) {
  const Tensor x = c.floats({4, 3}), labels = tensor({0, 2, 1, 0}), weights = tensor({0.5f, 2.0f, 1.25f});
  AttributeMap some = {{"ignored", Number(1)}, {"reduction", "sum"}, {"axis", Number(-1)}};
  c.same("nll_loss", {x, labels, weights}, some,
         nll_loss(x, labels, {.weights = weights, .ignored = 1, .reduction = LossReduction::sum, .axis = -1}));
  some["label_smoothing"] = Number(0.25);
  c.same("cross_entropy", {x, labels, weights}, some,
         cross_entropy(
             x, labels,
             {.weights = weights, .ignored = 1, .label_smoothing = 0.25, .reduction = LossReduction::sum, .axis = -1}));
  const Tensor shares = abs(c.floats({4, 3})) / 2;
  c.same("cross_entropy", {x, shares}, {}, cross_entropy(x, shares));
  c.refused("cross_entropy", {x, labels, x}, {}, [&] { cross_entropy(x, labels, {.weights = x}); });
  c.refused("cross_entropy", {x, labels}, {{"label_smoothing", Number(2)}},
            [&] { cross_entropy(x, labels, {.label_smoothing = 2}); });
  c.refused("nll_loss", {x, shares}, {}, [&] { nll_loss(x, shares); });

  const AttributeMap none = {{"reduction", "none"}};
  constexpr LossReduction kNone = LossReduction::none;
  const Tensor factors = tensor({1.5f, 0.25f, 3.0f});
  c.same("binary_cross_entropy_with_logits", {x, shares, weights, factors}, none,
         binary_cross_entropy_with_logits(x, shares,
                                          {.weights = weights, .positive_weights = factors, .reduction = kNone}));
  c.refused("binary_cross_entropy_with_logits", {x, weights}, {},
            [&] { binary_cross_entropy_with_logits(x, weights); });
  const Tensor target = c.floats({3});
  c.same("kl_div", {x, target}, {{"reduction", "none"}, {"log_target", Number(1)}}, kl_div(x, target, kNone, true));
  c.same("mse_loss", {x, target}, none, mse_loss(x, target, kNone));
  c.same("mse_loss", {x, target}, {}, mse_loss(x, target));
  c.same("l1_loss", {x, target}, none, l1_loss(x, target, kNone));
  c.same("huber_loss", {x, target}, {{"delta", Number(0.5)}, {"reduction", "none"}}, huber_loss(x, target, 0.5, kNone));
  c.same("smooth_l1_loss", {x, target}, {{"beta", Number(0.5)}, {"reduction", "none"}},
         smooth_l1_loss(x, target, 0.5, kNone));
  c.same("smooth_l1_loss", {x, target}, {{"beta", Number(0)}}, smooth_l1_loss(x, target, 0));
  c.refused("l1_loss", {labels, target}, {}, [&] { l1_loss(labels, target); });
  c.refused("huber_loss", {x, target}, {{"delta", Number(0)}}, [&] { huber_loss(x, target, 0); });
  c.refused("smooth_l1_loss", {x, target}, {{"beta", Number(-1)}}, [&] { smooth_l1_loss(x, target, -1); });
}
const bool added = named_cases(add_losses_cases);

}  // namespace
}  // namespace weft::test
