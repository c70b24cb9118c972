// Losses as compositions of other operations (weft/losses.h).
#include "weft/losses.h"

#include <cmath>
#include <limits>

#include "core/error_context.h"
#include "core/format.h"
#include "graph/rules.h"
#include "weft/array.h"
#include "weft/error.h"

namespace weft {
namespace {

void require(const Tensor& x, std::string_view function, std::string_view operand) {
  if (!x.defined()) throw InvalidArgument("{}: {} is an undefined Tensor", function, operand);
}

void require_floats(const Tensor& x, std::string_view function, std::string_view operand) {
  require(x, function, operand);
  if (is_floating(x.dtype())) return;
  throw TypeError("{}: {} is {}, expected a floating type", function, operand, to_string(x.type()));
}

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
Tensor elementwise_loss(std::string_view function, const Tensor& x, const Tensor& target, LossReduction reduction,
                        const F& loss) try {
  require_floats(x, function, "x");
  require_floats(target, function, "the target");
  const DType type = accumulated(x).dtype();
  return reduced(loss(cast(x, type), cast(target, type)), reduction, x.dtype());
} catch (const Error& e) {
  throw_in_function(e, function);
}

// factor · d² where |d| is below the bound, else of |d|. The square is that of d itself: |d| has no second derivative
// at 0.
template <class F>
Tensor square_within(const Tensor& d, double bound, double factor, const F& outside) {
  const Tensor size = abs(d);
  return select(size < bound, square(d) * factor, outside(size));
}

// Losses by labels, along the axis of the classes.
class Labels {
 public:
  Labels(std::string_view function, const Tensor& x, const Tensor& labels, const NllOptions& options)
      : function_(function), x_(x), labels_(labels), options_(options) {
    require_floats(x, function, "x");
    require(labels, function, "labels");
    if (x.rank() == 0) throw ShapeError("{}: x is {}, expected an axis of classes", function, to_string(x.type()));
    axis_ = normalize_axis(options.axis.value_or(x.rank() > 1 ? 1 : 0), x.rank(), function);
    classes_ = x.shape()[axis_];
    if (options.weights.defined()) {
      require_floats(options.weights, function, "weights");
      if (options.weights.shape() != Shape{classes_}) {
        throw ShapeError("{}: weights are {}, expected [{}], one for each class of x {}", function,
                         to_string(options.weights.type()), classes_, to_string(x.type()));
      }
      weights_ = cast(options.weights, type());
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
  Tensor ignored() const { return labels_ == options_.ignored; }
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
    if (options_.reduction != LossReduction::mean) return reduced(kept, options_.reduction, x_.dtype());
    return cast(sum(kept) / sum(factors), x_.dtype());
  }

 private:
  std::string_view function_;
  const Tensor &x_, &labels_;
  const NllOptions options_;
  Tensor weights_;
  int axis_ = 0;
  std::int64_t classes_ = 0;
};

}  // namespace

Tensor cross_entropy(const Operand& x, const Operand& labels, const CrossEntropyOptions& options) try {
  constexpr std::string_view kName = "cross_entropy";
  const Labels rows(kName, x, labels, {options.weights, options.ignored, options.reduction, options.axis});
  const double smoothing = options.label_smoothing, share = smoothing / static_cast<double>(rows.classes());
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw InvalidArgument("{}: label_smoothing is {}, expected a number from 0 to 1", kName, smoothing);
  }
  const Tensor logits = cast(x, rows.type()), weights = rows.weights_along();
  const std::vector<int> along{rows.axis()};
  if (is_floating(labels.dtype())) {
    if (labels.shape() != x.shape()) {
      throw ShapeError("{}: probabilities are {}, expected the shape of x {}", kName, to_string(labels.type()),
                       to_string(x.type()));
    }
    Tensor targets = cast(labels, rows.type());
    if (smoothing > 0) targets = targets * (1 - smoothing) + share;
    if (weights.defined()) targets = targets * weights;
    const Tensor losses = sum(targets * (reduce(ReduceKind::log_sum_exp, logits, along, true) - logits), along);
    return reduced(losses, options.reduction, x.dtype());
  }
  rows.check_labels();
  const Tensor total = reduce(ReduceKind::log_sum_exp, logits, along);
  const Tensor factors = rows.factors(is_finite(total));
  Tensor losses = factors * (total - rows.chosen(logits));
  if (smoothing > 0) {
    const Tensor of_all = weights.defined() ? sum(weights) : Graph::scalar(rows.classes(), rows.type());
    const Tensor all = of_all * total - sum(weights.defined() ? logits * weights : logits, along);
    losses = losses * (1 - smoothing) + all * share;
  }
  return rows.result(losses, factors);
} catch (const Error& e) {
  throw_in_function(e, "cross_entropy");
}

Tensor nll_loss(const Operand& x, const Operand& labels, const NllOptions& options) try {
  const Labels rows("nll_loss", x, labels, options);
  rows.check_labels();
  const Tensor factors = rows.factors();
  return rows.result(-factors * rows.chosen(cast(x, rows.type())), factors);
} catch (const Error& e) {
  throw_in_function(e, "nll_loss");
}

Tensor binary_cross_entropy_with_logits(const Operand& x, const Operand& target,
                                        const BinaryCrossEntropyOptions& options) {
  constexpr std::string_view kName = "binary_cross_entropy_with_logits";
  return elementwise_loss(kName, x, target, options.reduction, [&](const Tensor& a, const Tensor& b) {
    const auto weight = [&](const Tensor& w, std::string_view operand) {
      require_floats(w, kName, operand);
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
    if (options.positive_weights.defined()) positive = positive * weight(options.positive_weights, "positive_weights");
    const Tensor losses = (1 - b) * softplus(a) + positive;
    return options.weights.defined() ? losses * weight(options.weights, "weights") : losses;
  });
}

Tensor kl_div(const Operand& x, const Operand& target, LossReduction reduction, bool log_target) {
  return elementwise_loss("kl_div", x, target, reduction, [&](const Tensor& a, const Tensor& b) {
    if (log_target) return exp(b) * (b - a);
    const Tensor zero = b == 0;
    return select(zero, Graph::scalar(0, b.dtype()), b * log(select(zero, Graph::scalar(1, b.dtype()), b))) - b * a;
  });
}

Tensor mse_loss(const Operand& x, const Operand& target, LossReduction reduction) {
  return elementwise_loss("mse_loss", x, target, reduction,
                          [](const Tensor& a, const Tensor& b) { return square(a - b); });
}

Tensor l1_loss(const Operand& x, const Operand& target, LossReduction reduction) {
  return elementwise_loss("l1_loss", x, target, reduction, [](const Tensor& a, const Tensor& b) { return abs(a - b); });
}

Tensor huber_loss(const Operand& x, const Operand& target, double delta, LossReduction reduction) {
  if (!(delta > 0 && std::isfinite(delta))) {
    throw InvalidArgument("huber_loss: delta is {}, expected a finite number greater than 0", delta);
  }
  return elementwise_loss("huber_loss", x, target, reduction, [&](const Tensor& a, const Tensor& b) {
    return square_within(a - b, delta, 0.5, [&](const Tensor& d) { return (d - delta / 2) * delta; });
  });
}

Tensor smooth_l1_loss(const Operand& x, const Operand& target, double beta, LossReduction reduction) {
  if (!(beta >= 0 && std::isfinite(beta))) {
    throw InvalidArgument("smooth_l1_loss: beta is {}, expected a finite number of 0 or more", beta);
  }
  if (beta == 0) return in_function("smooth_l1_loss", [&] { return l1_loss(x, target, reduction); });
  return elementwise_loss("smooth_l1_loss", x, target, reduction, [&](const Tensor& a, const Tensor& b) {
    return square_within(a - b, beta, 0.5 / beta, [&](const Tensor& d) { return d - beta / 2; });
  });
}

}  // namespace weft
