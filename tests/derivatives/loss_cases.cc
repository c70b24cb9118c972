#include "derivatives/cases.h"
#include "weft/creation.h"
#include "weft/graph.h"
#include "weft/losses.h"

namespace weft::test {

void add_loss_derivatives(DerivativeCases& cases) {
  using Operands = std::span<const Tensor>;
  const auto add = [&](std::string name, std::vector<Shape> shapes, std::function<Tensor(Operands)> f,
                       double apart = 0) {
    cases.push_back({.name = std::move(name),
                     .shapes = std::move(shapes),
                     .function = [f](Operands x) { return std::vector{f(x)}; },
                     .apart = apart});
  };
  const auto labels = [](const Shape& shape, std::vector<std::int32_t> values) { return tensor(shape, values); };
  constexpr LossReduction kNone = LossReduction::none, kSum = LossReduction::sum;
  add("cross_entropy", {{4, 5}}, [=](Operands x) { return cross_entropy(x[0], labels({4}, {1, 4, -100, 0})); });
  add("cross_entropy_weighted", {{4, 5}, {5}}, [=](Operands x) {
    return cross_entropy(x[0], labels({4}, {1, 4, 2, 0}), {.weights = square(x[1]) + 0.5, .ignored = 2});
  });
  add("cross_entropy_smoothed", {{2, 4, 3}, {4}}, [=](Operands x) {
    return cross_entropy(x[0], labels({2, 3}, {1, 3, 2, 0, 0, 1}),
                         {.weights = square(x[1]) + 0.5, .label_smoothing = 0.2, .reduction = kNone});
  });
  add("cross_entropy_last", {{2, 3, 4}}, [=](Operands x) {
    return cross_entropy(x[0], labels({2, 3}, {1, 3, 2, 0, 0, 1}),
                         {.label_smoothing = 0.1, .reduction = kSum, .axis = -1});
  });
  // Labels that depend on x: of a batch each entry has its own.
  add(
      "cross_entropy_own_labels", {{3, 4}, {3}},
      [=](Operands x) { return cross_entropy(x[0], cast(floor(x[1] + 2), DType::i32), {.reduction = kNone}); }, 0.05);
  add("cross_entropy_probabilities", {{2, 4, 3}, {2, 4, 3}},
      [=](Operands x) { return cross_entropy(x[0], softmax(x[1], 1), {.label_smoothing = 0.1}); });
  add("nll_loss", {{4, 5}}, [=](Operands x) { return nll_loss(log_softmax(x[0]), labels({4}, {1, 4, -100, 0})); });
  add("binary_cross_entropy_with_logits", {{3, 4}, {3, 4}, {4}}, [=](Operands x) {
    return binary_cross_entropy_with_logits(x[0], sigmoid(x[1]), {.positive_weights = square(x[2])});
  });
  add("kl_div", {{3, 4}, {3, 4}}, [=](Operands x) { return kl_div(x[0], softmax(x[1]), kSum); });
  add("kl_div_log", {{3, 4}, {3, 4}}, [=](Operands x) { return kl_div(x[0], x[1], kNone, true); });
  add("mse_loss", {{3, 4}, {4}}, [=](Operands x) { return mse_loss(x[0], x[1]); });
  add("l1_loss", {{5}, {5}}, [=](Operands x) { return l1_loss(x[0], x[1], kNone); }, 0.05);
  add("huber_loss", {{6}}, [=](Operands x) { return huber_loss(x[0], zeros({6}, x[0].dtype()), 1.0, kNone); }, 0.05);
  add("smooth_l1_loss", {{6}}, [=](Operands x) { return smooth_l1_loss(x[0], zeros({6}, x[0].dtype()), 0.5); }, 0.05);
}

}  // namespace weft::test
