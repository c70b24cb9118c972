// Losses: how far predictions are from their targets, as PyTorch's functions of these names compute it.
//
//   auto loss = [&](const Net& net) { return cross_entropy(net(x), labels); };
//   auto [value, g] = value_and_grad(loss)(net);
//
// They are made of other operations, so that they have derivatives of any order. cross_entropy() reads its logits once
// (with label smoothing twice, unless its derivative is computed with it), and its derivative once, when it writes
// their cotangents; there are no one-hot targets in memory.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/tensor.h"

namespace weft {

// What becomes of the losses of all elements, or of all labels.
enum class LossReduction : std::uint8_t {
  none,  // they are the result
  mean,  // their mean
  sum,   // their sum
};

struct CrossEntropyOptions {
  Operand weights = {};         // [classes], floats: factors of the losses of labels of each class; default 1
  std::int64_t ignored = -100;  // labels that take no part: their loss is 0
  double label_smoothing = 0;   // in [0, 1]: what part of each target is spread evenly over all classes
  LossReduction reduction = LossReduction::mean;  // the mean is that by weights, and NaN if all labels are ignored
  std::optional<int> axis = {};                   // of the classes; default: 1, of a tensor of rank 1: 0
};
// The same without label smoothing.
struct NllOptions {
  Operand weights = {};
  std::int64_t ignored = -100;
  LossReduction reduction = LossReduction::mean;
  std::optional<int> axis = {};
};

struct BinaryCrossEntropyOptions {
  Operand weights = {};           // factors of the losses, which broadcast to x; default 1
  Operand positive_weights = {};  // factors of the targets' part that is positive, which broadcast to x; default 1
  LossReduction reduction = LossReduction::mean;
};

// ---- Losses. All operands but labels are floats, and the result has x's type; sums are computed in f32, of f64 in f64
// (on the cpu alone). Throw InvalidArgument (an undefined Tensor, an option out of range), ShapeError and TypeError.

// The cross-entropy of softmax(x) along the axis of the classes and the targets: -log softmax(x)[label], times the
// weight of the label's class. `labels` are integers in [0, classes) in x's shape without that axis; or floats in x's
// shape, the probabilities of the classes, whose losses are added and of which none are ignored (their mean is that
// over all rows). With label smoothing s it is 1 - s times that plus s / classes times the sum over all classes. A
// label outside of the range that is not ignored makes the loss NaN, as does a row of x that holds NaN, infinity, or
// nothing but -infinity. PyTorch's cross_entropy.
Tensor cross_entropy(const Operand& x, const Operand& labels, const CrossEntropyOptions& options = {});
// The same of x that are logarithms of probabilities: -x[label], times the weight of the label's class, for labels
// alone. PyTorch's nll_loss.
Tensor nll_loss(const Operand& x, const Operand& labels, const NllOptions& options = {});
// The cross-entropy of sigmoid(x) and the probabilities in `target`, each element by itself: (1 - target) · x +
// (1 + (positive weight - 1) · target) · log(1 + exp(-x)), without overflow in between. PyTorch's function of that
// name.
Tensor binary_cross_entropy_with_logits(const Operand& x, const Operand& target,
                                        const BinaryCrossEntropyOptions& options = {});
// target · (log(target) - x), x being the logarithm of probabilities; 0 where the target is 0. With `log_target` the
// target is a logarithm, too. The sum divided by the batch's size is PyTorch's batchmean. PyTorch's kl_div.
Tensor kl_div(const Operand& x, const Operand& target, LossReduction reduction = LossReduction::mean,
              bool log_target = false);
// (x - target)². x and the target broadcast, here and below. PyTorch's mse_loss.
Tensor mse_loss(const Operand& x, const Operand& target, LossReduction reduction = LossReduction::mean);
// |x - target|. PyTorch's l1_loss.
Tensor l1_loss(const Operand& x, const Operand& target, LossReduction reduction = LossReduction::mean);
// With d = |x - target|: d² / 2 up to d = delta, beyond it delta · (d - delta / 2); delta is greater than 0. PyTorch's
// huber_loss. Source: Huber, "Robust Estimation of a Location Parameter", 1964.
Tensor huber_loss(const Operand& x, const Operand& target, double delta = 1,
                  LossReduction reduction = LossReduction::mean);
// With d = |x - target|: d² / (2 beta) below beta, from there d - beta / 2; of beta = 0 l1_loss(). PyTorch's
// smooth_l1_loss. Source: Girshick, "Fast R-CNN", 2015.
Tensor smooth_l1_loss(const Operand& x, const Operand& target, double beta = 1,
                      LossReduction reduction = LossReduction::mean);

}  // namespace weft
