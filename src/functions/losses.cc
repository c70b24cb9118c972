// Losses as compositions of other operations (weft/losses.h).
#include "weft/losses.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/format.h"
#include "ops/function_row.h"
#include "ops/range_scale.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/inspection.h"

namespace weft {
namespace {

constexpr std::string_view kReductions[] = {"none", "mean", "sum"};
constexpr std::string_view kReductionMeaning =
    "what becomes of the losses: they are the result (none), or their mean or sum";

// The losses of all elements as the result, of x's type.
Tensor reduced(const Tensor& losses, LossReduction reduction, DType type) {
  switch (reduction) {
    case LossReduction::none:
      return cast(losses, type);
    case LossReduction::mean:
      return cast(mean(losses), type);
    case LossReduction::sum:
      return cast(sum(losses), type);
  }
  throw InvalidArgument("no reduction {}", static_cast<int>(reduction));
}

// A loss of each element, f(x - target, target), of operands in the type in which sums are made.
template <class F>
Tensor elementwise_loss(const Tensor& x, const Tensor& target, LossReduction reduction, const F& loss) {
  const DType type = accumulated(x).dtype();
  return reduced(loss(cast(x, type), cast(target, type)), reduction, x.dtype());
}

// A square of d where |d| is below the bound, else what `outside` makes of |d|. The square is that of d itself: |d| has
// no second derivative at 0. Of NaN it is the square, whose derivative is NaN. A bound that d's type does not hold is
// infinity, which an infinite d alone reaches, or its least number, so that 0 is below it.
template <class Inside, class Outside>
Tensor square_within(const Tensor& d, double bound, const Inside& inside, const Outside& outside) {
  const bool wide = d.dtype() == DType::f64;
  const double least = wide ? std::numeric_limits<double>::denorm_min() : std::numeric_limits<float>::denorm_min();
  const Tensor size = abs(d);
  return select(size >= Graph::scalar(std::max(bound, least), d.dtype()), outside(size), inside(d));
}

// |d| - half of the bound, from the bound on: an infinite |d| stays that, and reaches also a bound past the type.
Tensor beyond(const Tensor& size, double bound) { return size - std::min(bound / 2, finfo(size.dtype()).max); }

constexpr std::string_view kIgnoredMeaning = "labels that take no part: their loss is 0";
constexpr std::string_view kClassesMeaning = "the classes' axis; without it axis 1, or the only one";

struct NllAttributes {
  std::int64_t ignored = -100;
  LossReduction reduction = LossReduction::mean;
  std::optional<int> axis = {};
  void fields(AttributeVisitor& v) {
    v("ignored", ignored, -100, kIgnoredMeaning);
    v("reduction", reduction, LossReduction::mean, kReductions, kReductionMeaning);
    v("axis", axis, {}, kClassesMeaning);
  }
};

// Losses by labels, along the axis of the classes.
class Labels {
 public:
  Labels(std::string_view function, const Tensor& x, const Tensor& labels, const Tensor& weights,
         const NllAttributes& attributes)
      : function_(function), x_(x), labels_(labels), attributes_(attributes) {
    if (x.rank() == 0) throw ShapeError("{}: x is {}, expected an axis of classes", function, to_string(x.type()));
    axis_ = normalize_axis(attributes.axis.value_or(x.rank() > 1 ? 1 : 0), x.rank(), function);
    classes_ = x.shape()[axis_];
    if (weights.defined()) {
      if (weights.shape() != Shape{classes_}) {
        throw ShapeError("{}: weights are {}, expected [{}], one for each class of x {}", function,
                         to_string(weights.type()), classes_, to_string(x.type()));
      }
      weights_ = cast(weights, type());
    }
  }

  int axis() const { return axis_; }
  std::int64_t classes() const { return classes_; }
  // In which losses are computed.
  DType type() const { return accumulated(x_).dtype(); }
  // The classes' weights along their axis of x, if there are some.
  Tensor weights_along() const {
    Shape shape = Shape::filled(x_.rank(), 1);
    shape[axis_] = classes_;
    return weights_.defined() ? reshape(weights_, shape) : Tensor();
  }

  void check_labels() const {
    Shape rows = x_.shape();
    rows.erase(axis_);
    if (!is_integer(labels_.dtype()) || bits(labels_.dtype()) < 8) {
      throw TypeError("{}: labels are {}, expected integers", function_, to_string(labels_.type()));
    }
    if (labels_.shape() == rows) return;
    throw ShapeError("{}: labels are {}, expected the shape {} of x {} without its axis {}", function_,
                     to_string(labels_.type()), to_string(rows), to_string(x_.type()), axis_);
  }
  // The elements of `of` that the labels choose; of those outside, some.
  Tensor chosen(const Tensor& of) const {
    return squeeze(gather_elements(of, expand_dims(labels_, axis_), axis_), axis_);
  }
  Tensor ignored() const { return labels_ == attributes_.ignored; }
  // The factors of the labels' losses: 0 of those ignored, NaN of those outside and where a row is not `right`.
  Tensor factors(const Tensor& right = {}) const {
    Tensor inside = logical_and(labels_ >= 0, labels_ < classes_);
    if (right.defined()) inside = logical_and(inside, right);
    const auto number = [&](double v) { return Graph::scalar(v, type()); };
    const Tensor factor = weights_.defined() ? gather(weights_, labels_, 0) : number(1);
    return select(ignored(), number(0), select(inside, factor, number(std::numeric_limits<double>::quiet_NaN())));
  }
  // The result of each label's loss, those ignored being 0.
  Tensor result(const Tensor& losses, const Tensor& factors) const {
    const Tensor kept = select(ignored(), Graph::scalar(0, type()), losses);
    if (attributes_.reduction != LossReduction::mean) return reduced(kept, attributes_.reduction, x_.dtype());
    return cast(sum(kept) / sum(factors), x_.dtype());
  }

 private:
  std::string_view function_;
  const Tensor &x_, &labels_;
  const NllAttributes& attributes_;
  Tensor weights_;
  int axis_ = 0;
  std::int64_t classes_ = 0;
};

struct CrossEntropyAttributes : NllAttributes {
  double label_smoothing = 0;
  void fields(AttributeVisitor& v) {
    v("ignored", ignored, -100, kIgnoredMeaning);
    v("label_smoothing", label_smoothing, 0, "what part of each target is spread evenly over all classes, from 0 to 1");
    v("reduction", reduction, LossReduction::mean, kReductions, kReductionMeaning);
    v("axis", axis, {}, kClassesMeaning);
  }
};
struct LossAttributes {
  LossReduction reduction = LossReduction::mean;
  void fields(AttributeVisitor& v) { v("reduction", reduction, LossReduction::mean, kReductions, kReductionMeaning); }
};

constexpr FunctionOperand kX = {"x", types::floats}, kTarget = {"target", types::floats};
constexpr FunctionOperand kWeights = {
    .name = "weights", .types = types::floats, .arity = Arity::optional, .shape = "[classes]"};
constexpr FunctionResult kLoss = {"y", "[]; of reduction none the labels' shape", "x's type"};
constexpr FunctionResult kElementLoss = {"y", "[]; of reduction none the operands' common shape", "x's type"};

// ---- Losses by labels

constexpr Function kCrossEntropy = {
    {.name = "cross_entropy",
     .operands = {kX, {.name = "labels", .shape = "x's shape without the classes' axis; probabilities: x's"}, kWeights},
     .results = {kLoss},
     .formula = "y = -log softmax(x)[label] · weights[label]",
     .summary = "the cross-entropy of softmax(x) and labels, or probabilities of the classes"},
    [](const Tensor& x, const Tensor& labels, const Tensor& weights, const CrossEntropyAttributes& a) {
      constexpr std::string_view kName = "cross_entropy";
      const Labels rows(kName, x, labels, weights, a);
      const double smoothing = a.label_smoothing, share = smoothing / static_cast<double>(rows.classes());
      if (!(smoothing >= 0 && smoothing <= 1)) {
        throw InvalidArgument("{}: label_smoothing is {}, expected a number from 0 to 1", kName, smoothing);
      }
      const Tensor logits = cast(x, rows.type()), by_class = rows.weights_along();
      const std::vector<int> along{rows.axis()};
      if (is_floating(labels.dtype())) {
        if (labels.shape() != x.shape()) {
          throw ShapeError("{}: probabilities are {}, expected the shape of x {}", kName, to_string(labels.type()),
                           to_string(x.type()));
        }
        Tensor targets = cast(labels, rows.type());
        if (smoothing > 0) targets = targets * (1 - smoothing) + share;
        if (by_class.defined()) targets = targets * by_class;
        const Tensor losses = sum(targets * (reduce(ReduceKind::log_sum_exp, logits, along, true) - logits), along);
        return reduced(losses, a.reduction, x.dtype());
      }
      rows.check_labels();
      const Tensor total = reduce(ReduceKind::log_sum_exp, logits, along);
      const Tensor factors = rows.factors(is_finite(total));
      Tensor losses = factors * (total - rows.chosen(logits));
      if (smoothing > 0) {
        const Tensor of_all = by_class.defined() ? sum(by_class) : Graph::scalar(rows.classes(), rows.type());
        const Tensor all = of_all * total - sum(by_class.defined() ? logits * by_class : logits, along);
        losses = losses * (1 - smoothing) + all * share;
      }
      return rows.result(losses, factors);
    }};
constexpr Function kNllLoss = {
    {.name = "nll_loss",
     .operands = {kX, {.name = "labels", .shape = "x's shape without the classes' axis"}, kWeights},
     .results = {kLoss},
     .formula = "y = -x[label] · weights[label]",
     .summary = "the negative of the logarithms of probabilities that labels choose"},
    [](const Tensor& x, const Tensor& labels, const Tensor& weights, const NllAttributes& a) {
      const Labels rows("nll_loss", x, labels, weights, a);
      rows.check_labels();
      const Tensor factors = rows.factors();
      return rows.result(-factors * rows.chosen(cast(x, rows.type())), factors);
    }};

// ---- Losses of elements

constexpr Function kBinaryCrossEntropyWithLogits = {
    {.name = "binary_cross_entropy_with_logits",
     .operands = {kX,
                  kTarget,
                  {.name = "weights",
                   .types = types::floats,
                   .arity = Arity::optional,
                   .shape = "what broadcasts to x's shape"},
                  {.name = "positive_weights",
                   .types = types::floats,
                   .arity = Arity::optional,
                   .shape = "what broadcasts to x's shape"}},
     .results = {{"y", "[]; of reduction none x's shape", "x's type"}},
     .formula = "y = (1 - target) · x + log(1 + exp(-x))",
     .summary = "the cross-entropy of sigmoid(x) and probabilities"},
    [](const Tensor& x, const Tensor& target, const Tensor& weights, const Tensor& positive_weights,
       const LossAttributes& attributes) {
      constexpr std::string_view kName = "binary_cross_entropy_with_logits";
      return elementwise_loss(x, target, attributes.reduction, [&](const Tensor& a, const Tensor& b) {
        const auto weight = [&](const Tensor& w, std::string_view operand) {
          if (!broadcasts_to(w.shape(), a.shape())) {
            throw ShapeError("{}: {} are {}, which do not broadcast to x {}", kName, operand, to_string(w.type()),
                             to_string(x.type()));
          }
          return cast(w, a.dtype());
        };
        if (b.shape() != a.shape()) {
          throw ShapeError("{}: the target is {}, expected the shape of x {}", kName, to_string(target.type()),
                           to_string(x.type()));
        }
        // (Each as its own logarithm: nothing cancels, nor in the derivative.)
        Tensor positive = b * softplus(-a);
        if (positive_weights.defined()) positive = positive * weight(positive_weights, "positive_weights");
        const Tensor losses = (1 - b) * softplus(a) + positive;
        return weights.defined() ? losses * weight(weights, "weights") : losses;
      });
    }};

struct KlDivAttributes : LossAttributes {
  bool log_target = false;
  void fields(AttributeVisitor& v) {
    LossAttributes::fields(v);
    v("log_target", log_target, false, "the target is a logarithm, too");
  }
};
constexpr Function kKlDiv = {
    {.name = "kl_div",
     .operands = {kX, kTarget},
     .results = {kElementLoss},
     .formula = "y = target · (log(target) - x)",
     .summary = "the divergence of a distribution from the one whose logarithm is x"},
    [](const Tensor& x, const Tensor& target, const KlDivAttributes& attributes) {
      const bool log_target = attributes.log_target;
      return elementwise_loss(x, target, attributes.reduction, [&](const Tensor& a, const Tensor& b) {
        if (log_target) return exp(b) * (b - a);
        const Tensor zero = b == 0;
        return select(zero, Graph::scalar(0, b.dtype()), b * log(select(zero, Graph::scalar(1, b.dtype()), b))) - b * a;
      });
    }};
constexpr Function kMseLoss = {{.name = "mse_loss",
                                .operands = {kX, kTarget},
                                .results = {kElementLoss},
                                .formula = "y = (x - target)²",
                                .summary = "the squared error"},
                               [](const Tensor& x, const Tensor& target, const LossAttributes& attributes) {
                                 return elementwise_loss(
                                     x, target, attributes.reduction,
                                     [](const Tensor& a, const Tensor& b) { return square(a - b); });
                               }};
constexpr Function kL1Loss = {{.name = "l1_loss",
                               .operands = {kX, kTarget},
                               .results = {kElementLoss},
                               .formula = "y = |x - target|",
                               .summary = "the absolute error"},
                              [](const Tensor& x, const Tensor& target, const LossAttributes& attributes) {
                                return elementwise_loss(x, target, attributes.reduction,
                                                        [](const Tensor& a, const Tensor& b) { return abs(a - b); });
                              }};

struct HuberAttributes : LossAttributes {
  double delta = 1;
  void fields(AttributeVisitor& v) {
    v("delta", delta, 1, "up to where the error is squared; greater than 0");
    LossAttributes::fields(v);
  }
};
constexpr Function kHuberLoss = {
    {.name = "huber_loss",
     .operands = {kX, kTarget},
     .results = {kElementLoss},
     .formula = "y = d² / 2, or delta · (d - delta / 2) beyond delta, d = |x - target|",
     .summary = "the squared error near 0, the absolute one beyond"},
    [](const Tensor& x, const Tensor& target, const HuberAttributes& attributes) {
      const double delta = attributes.delta;
      if (!(delta > 0 && std::isfinite(delta))) {
        throw InvalidArgument("huber_loss: delta is {}, expected a finite number greater than 0", delta);
      }
      return elementwise_loss(x, target, attributes.reduction, [&](const Tensor& a, const Tensor& b) {
        // (Half of a square may be in range where the square is not.)
        const bool large = delta > 0x1p60;
        return square_within(
            a - b, delta, [&](const Tensor& d) { return large ? d * (d * 0.5) : square(d) * 0.5; },
            [&](const Tensor& size) { return multiplied_by(beyond(size, delta), delta); });
      });
    }};

struct SmoothL1Attributes : LossAttributes {
  double beta = 1;
  void fields(AttributeVisitor& v) {
    v("beta", beta, 1, "up to where the error is squared; 0 or more");
    LossAttributes::fields(v);
  }
};
constexpr Function kSmoothL1Loss = {
    {.name = "smooth_l1_loss",
     .operands = {kX, kTarget},
     .results = {kElementLoss},
     .formula = "y = d² / (2 beta), or d - beta / 2 from beta on, d = |x - target|",
     .summary = "the squared error near 0, the absolute one beyond"},
    [](const Tensor& x, const Tensor& target, const SmoothL1Attributes& attributes) {
      const double beta = attributes.beta;
      if (!(beta >= 0 && std::isfinite(beta))) {
        throw InvalidArgument("smooth_l1_loss: beta is {}, expected a finite number of 0 or more", beta);
      }
      if (beta == 0) return kL1Loss(x, target, {attributes.reduction});
      return elementwise_loss(x, target, attributes.reduction, [&](const Tensor& a, const Tensor& b) {
        const auto inside = [&](const Tensor& d) {
          // Over a power of two near the root of beta, so that neither the quotient nor its square leaves the range
          // where the loss does not. (Below a very small beta f32 has 0 alone.)
          const double least = d.dtype() == DType::f64 ? beta : std::max(beta, 0x1p-200);
          const double root = std::exp2(std::round(std::log2(least) / 2));
          return square(multiplied_by(d, 1 / root)) * (0.5 * root / least * root);
        };
        return square_within(a - b, beta, inside, [&](const Tensor& size) { return beyond(size, beta); });
      });
    }};

}  // namespace

void add_losses_functions(FunctionRows& rows) {
  rows.add(kCrossEntropy, kNllLoss, kBinaryCrossEntropyWithLogits, kKlDiv, kMseLoss, kL1Loss, kHuberLoss,
           kSmoothL1Loss);
}

// ---- The functions

Tensor cross_entropy(const Operand& x, const Operand& labels, const CrossEntropyOptions& options) {
  return kCrossEntropy(x, labels, options.weights,
                       {{options.ignored, options.reduction, options.axis}, options.label_smoothing});
}
Tensor nll_loss(const Operand& x, const Operand& labels, const NllOptions& options) {
  return kNllLoss(x, labels, options.weights, {options.ignored, options.reduction, options.axis});
}

Tensor binary_cross_entropy_with_logits(const Operand& x, const Operand& target,
                                        const BinaryCrossEntropyOptions& options) {
  return kBinaryCrossEntropyWithLogits(x, target, options.weights, options.positive_weights, {options.reduction});
}
Tensor kl_div(const Operand& x, const Operand& target, LossReduction reduction, bool log_target) {
  return kKlDiv(x, target, {{reduction}, log_target});
}
Tensor mse_loss(const Operand& x, const Operand& target, LossReduction reduction) {
  return kMseLoss(x, target, {reduction});
}
Tensor l1_loss(const Operand& x, const Operand& target, LossReduction reduction) {
  return kL1Loss(x, target, {reduction});
}
Tensor huber_loss(const Operand& x, const Operand& target, double delta, LossReduction reduction) {
  return kHuberLoss(x, target, {{reduction}, delta});
}
Tensor smooth_l1_loss(const Operand& x, const Operand& target, double beta, LossReduction reduction) {
  return kSmoothL1Loss(x, target, {{reduction}, beta});
}

}  // namespace weft
