#include "support/random_function.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <memory>
#include <optional>
#include <random>

#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/convolution.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/indexing.h"
#include "weft/pooling.h"
#include "weft/recurrent.h"
#include "weft/resampling.h"
#include "weft/special.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using Values = std::vector<Tensor>;
using One = std::function<Tensor(const Tensor&)>;
using Two = std::function<Tensor(const Tensor&, const Tensor&)>;

constexpr std::int64_t kMostElements = 60;
constexpr int kMostAxes = 4;
constexpr double kLargest = 4;

Values part(const Values& v, std::size_t from, std::size_t to) {
  return Values(v.begin() + static_cast<std::ptrdiff_t>(from), v.begin() + static_cast<std::ptrdiff_t>(to));
}
Values joined(Values a, const Values& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Tensor numbers(const Shape& shape, DType type, unsigned seed, double low = -1.5, double high = 1.5) {
  std::mt19937 random(seed);
  std::vector<double> x(static_cast<std::size_t>(element_count(shape)));
  for (double& v : x) v = std::uniform_real_distribution(low, high)(random);
  return cast(tensor(shape, x, DType::f64), type);
}

// Smooth functions, and at the end some with corners and steps. Each is finite, as are all its derivatives.
const std::vector<std::pair<const char*, One>>& functions_of_one() {
  static const std::vector<std::pair<const char*, One>> all = {
      {"-x", [](const Tensor& x) { return -x; }},
      {"square", [](const Tensor& x) { return square(x); }},
      {"1.5 - 0.7 x", [](const Tensor& x) { return 1.5 - x * 0.7; }},
      {"tanh", [](const Tensor& x) { return tanh(x); }},
      {"sin", [](const Tensor& x) { return sin(x); }},
      {"cos", [](const Tensor& x) { return cos(x); }},
      {"tan", [](const Tensor& x) { return tan(tanh(x)); }},
      {"exp", [](const Tensor& x) { return exp(x * 0.3); }},
      {"exp2", [](const Tensor& x) { return exp2(x * 0.3); }},
      {"expm1", [](const Tensor& x) { return expm1(x * 0.3); }},
      {"log", [](const Tensor& x) { return log(square(x) + 0.5); }},
      {"log2", [](const Tensor& x) { return log2(square(x) + 0.5); }},
      {"log10", [](const Tensor& x) { return log10(square(x) + 0.5); }},
      {"log1p", [](const Tensor& x) { return log1p(square(x)); }},
      {"sqrt", [](const Tensor& x) { return sqrt(square(x) + 0.5); }},
      {"rsqrt", [](const Tensor& x) { return rsqrt(square(x) + 0.5); }},
      {"cbrt", [](const Tensor& x) { return cbrt(square(x) + 0.5); }},
      {"reciprocal", [](const Tensor& x) { return reciprocal(square(x) + 1); }},
      {"asin", [](const Tensor& x) { return asin(tanh(x) * 0.8); }},
      {"acos", [](const Tensor& x) { return acos(tanh(x) * 0.8); }},
      {"atan", [](const Tensor& x) { return atan(x); }},
      {"sinh", [](const Tensor& x) { return sinh(x * 0.5); }},
      {"cosh", [](const Tensor& x) { return cosh(x * 0.5); }},
      {"asinh", [](const Tensor& x) { return asinh(x); }},
      {"acosh", [](const Tensor& x) { return acosh(square(x) + 1.5); }},
      {"atanh", [](const Tensor& x) { return atanh(tanh(x) * 0.8); }},
      {"erf", [](const Tensor& x) { return erf(x); }},
      {"erfc", [](const Tensor& x) { return erfc(x); }},
      {"erfinv", [](const Tensor& x) { return erfinv(tanh(x) * 0.8); }},
      {"lgamma", [](const Tensor& x) { return lgamma(square(x) + 0.5); }},
      {"digamma", [](const Tensor& x) { return digamma(square(x) + 0.5); }},
      {"j0", [](const Tensor& x) { return j0(x); }},
      {"k1e", [](const Tensor& x) { return k1e(square(x) + 0.5); }},
      {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
      {"logsigmoid", [](const Tensor& x) { return logsigmoid(x); }},
      {"softplus", [](const Tensor& x) { return softplus(x); }},
      {"mish", [](const Tensor& x) { return mish(x); }},
      {"silu", [](const Tensor& x) { return silu(x); }},
      {"gelu", [](const Tensor& x) { return gelu(x); }},
      {"gelu_tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); }},
      {"gelu_quick", [](const Tensor& x) { return gelu(x, Gelu::quick); }},
      {"softsign", [](const Tensor& x) { return softsign(x); }},
      {"pow", [](const Tensor& x) { return pow(x, 3) * 0.2; }},
      {"number to the power x", [](const Tensor& x) { return pow(1.5, x); }},
      {"elu", [](const Tensor& x) { return elu(x, 0.7); }},
      {"celu", [](const Tensor& x) { return celu(x, 0.7); }},
      {"selu", [](const Tensor& x) { return selu(x); }},
      {"abs", [](const Tensor& x) { return abs(x); }},
      {"relu", [](const Tensor& x) { return relu(x); }},
      {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.2); }},
      {"relu6", [](const Tensor& x) { return relu6(x); }},
      {"hardtanh", [](const Tensor& x) { return hardtanh(x, -0.8, 0.9); }},
      {"hardswish", [](const Tensor& x) { return hardswish(x); }},
      {"hardsigmoid", [](const Tensor& x) { return hardsigmoid(x); }},
      {"hardshrink", [](const Tensor& x) { return elementwise("hardshrink", {x}, {0.4}); }},
      {"softshrink", [](const Tensor& x) { return elementwise("softshrink", {x}, {0.4}); }},
      {"clamp", [](const Tensor& x) { return clamp(x, -0.8, 0.9); }},
      {"maximum of a number", [](const Tensor& x) { return maximum(x, 0.1); }},
      {"fraction", [](const Tensor& x) { return (x - floor(x)) * sign(x); }},
      {"hidden NaN", [](const Tensor& x) { return where(x > 0, log(where(x > 0, x + 0.1, 1)), sin(x)); }},
      {"stop_gradient", [](const Tensor& x) { return x + stop_gradient(zeros_like(x) + 0.25); }},
  };
  return all;
}

const std::vector<std::pair<const char*, Two>>& functions_of_two() {
  using T = const Tensor&;
  static const std::vector<std::pair<const char*, Two>> all = {
      {"+", [](T a, T b) { return a + b; }},
      {"-", [](T a, T b) { return a - b; }},
      {"*", [](T a, T b) { return a * b; }},
      {"/", [](T a, T b) { return a / (square(b) + 1); }},
      {"div_rn", [](T a, T b) { return div_rn(a, square(b) + 1); }},
      {"pow", [](T a, T b) { return pow(square(a) + 0.5, b * 0.5); }},
      {"atan2", [](T a, T b) { return atan2(a, square(b) + 0.5); }},
      {"hypot", [](T a, T b) { return hypot(a, square(b) + 0.5); }},
      {"logaddexp", [](T a, T b) { return logaddexp(a, b); }},
      {"copysign", [](T a, T b) { return copysign(square(a), b); }},
      {"rem", [](T a, T b) { return rem(a, square(b) + 0.7); }},
      {"remainder", [](T a, T b) { return remainder(a, square(b) + 0.7); }},
      {"minimum", [](T a, T b) { return minimum(a, b); }},
      {"maximum", [](T a, T b) { return maximum(a, b); }},
      {"fmin", [](T a, T b) { return fmin(a, b); }},
      {"fmax", [](T a, T b) { return fmax(a, b); }},
      {"fma", [](T a, T b) { return fma(a, b, a); }},
      {"lerp", [](T a, T b) { return lerp(a, b, sigmoid(a)); }},
      {"clamp", [](T a, T b) { return clamp(a, b - 0.5, b + 0.6); }},
      {"where", [](T a, T b) { return where(a > b, sin(a), b * 2); }},
      {"hidden root", [](T a, T b) { return where(b > 0.2, a * sqrt(where(b > 0.2, b, 1)), b); }},
  };
  return all;
}

}  // namespace

class FunctionMaker {
 public:
  explicit FunctionMaker(unsigned seed) : random_(seed) {}

  RandomFunction whole() {
    forward_only_ = chance(8);
    std::vector<Tensor> arguments;
    const int count = 1 + up_to(3);
    for (int i = 0; i < count; ++i) {
      Shape shape;
      const int rank = up_to(4);
      for (int k = 0; k < rank; ++k) shape.push_back(chance(16) ? 0 : 1 + up_to(4));
      arguments.push_back(numbers(shape, DType::f64, static_cast<unsigned>(random_())));
    }
    return made(std::move(arguments), 3 + up_to(9), 0);
  }

 private:
  using Run = std::function<Values(const Values&)>;
  using Step = RandomFunction::Step;

  int up_to(std::int64_t n) {  // in [0, n)
    return static_cast<int>(std::uniform_int_distribution<std::int64_t>(0, n - 1)(random_));
  }
  bool chance(int one_in) { return up_to(one_in) == 0; }
  unsigned seed() { return static_cast<unsigned>(random_()); }

  // A function of tensors such as these, which have values.
  RandomFunction made(Values arguments, int length, int depth) {
    const Values before = std::exchange(values_, {});
    RandomFunction f;
    f.forward_only_ = forward_only_;
    for (const Tensor& x : arguments) f.shapes_.push_back(x.shape());
    values_ = std::move(arguments);
    for (int attempt = 0; static_cast<int>(f.steps_.size()) < length && attempt < 200; ++attempt) {
      if (auto step = proposed(depth)) accept(f, *std::move(step));
    }
    f.results_.push_back(static_cast<int>(values_.size()) - 1);
    for (int more = up_to(3); more > 0; --more) f.results_.push_back(up_to(static_cast<std::int64_t>(values_.size())));
    values_ = before;
    return f;
  }

  void accept(RandomFunction& f, Step step) {
    Values operands, results;
    for (const int i : step.operands) operands.push_back(values_[static_cast<std::size_t>(i)]);
    try {
      results = step.run(operands);
    } catch (const InvalidArgument&) {
      return;  // shapes that do not fit
    }
    double top = 0;
    try {
      for (const Tensor& x : results) {
        if (!x.defined() || x.size() > kMostElements || x.rank() > kMostAxes) return;
        for (const double v : x.to_vector<double>()) top = std::isfinite(v) ? std::max(top, std::abs(v)) : INFINITY;
      }
    } catch (const Error& e) {
      std::string shapes;
      for (const Tensor& x : operands) shapes += " " + weft::to_string(x.shape());
      throw InternalError(std::format("{}\nof{}: {}", step.text, shapes, e.what()));
    }
    if (!std::isfinite(top)) return;
    if (top > kLargest) {
      const double factor = kLargest / top;
      step.text += std::format(", times {:.3g}", factor);
      step.run = [run = std::move(step.run), factor](const Values& x) {
        Values all = run(x);
        for (Tensor& t : all) t = t * factor;
        return all;
      };
      for (Tensor& t : results) t = t * factor;
    }
    std::string what;
    for (std::size_t i = 0; i < results.size(); ++i) {
      what += std::format("{}v{} {}", i ? ", " : "", values_.size() + i, weft::to_string(results[i].shape()));
    }
    what += " = " + step.text + " of";
    for (const int i : step.operands) what += std::format(" v{}", i);
    step.text = std::move(what);
    eval(results);
    values_.insert(values_.end(), results.begin(), results.end());
    f.steps_.push_back(std::move(step));
  }

  // A value, rather a late one.
  int any() {
    const auto n = static_cast<std::int64_t>(values_.size());
    return chance(2) ? up_to(n) : static_cast<int>(n) - 1 - up_to(std::min<std::int64_t>(n, 3));
  }
  const Shape& shape(int value) const { return values_[static_cast<std::size_t>(value)].shape(); }

  static Step one(std::string text, int x, One f) {
    return {std::move(text), {x}, [f = std::move(f)](const Values& v) { return Values{f(v[0])}; }};
  }
  static Step two(std::string text, int x, int y, Two f) {
    return {std::move(text), {x, y}, [f = std::move(f)](const Values& v) { return Values{f(v[0], v[1])}; }};
  }

  std::optional<Step> proposed(int depth) {
    const int x = any(), y = any();
    switch (up_to(depth < 2 ? 23 : 17)) {
      case 0:
      case 1:
      case 2: {
        const auto& all = functions_of_one();
        const auto& [name, f] = all[static_cast<std::size_t>(up_to(static_cast<std::int64_t>(all.size())))];
        return one(name, x, f);
      }
      case 3:
      case 4:
      case 5: {
        const auto& all = functions_of_two();
        const auto& [name, f] = all[static_cast<std::size_t>(up_to(static_cast<std::int64_t>(all.size())))];
        return two(name, x, y, f);
      }
      case 6:
        return view(x);
      case 7:
        return moved(x, y);
      case 8:
        return indexed(x);
      case 9:
        return updated(x, y);
      case 10:
      case 11:
        return reduced(x);
      case 12:
        return scanned(x);
      case 13:
        return product(x, y);
      case 14:
        return normed(x, y);
      case 15:
        return network(x);
      case 16:
        return leaf();
      case 17:
      case 18:
      case 19:
        return controlled(depth);
      default:
        return nested(depth);
    }
  }

  // ---- Each kind of step; none: the value has no such axes

  std::optional<int> axis_of(int x) {
    if (shape(x).rank() == 0) return std::nullopt;
    return up_to(shape(x).rank());
  }

  std::optional<Step> view(int x) {
    const Shape& s = shape(x);
    const int rank = s.rank();
    const auto axis = axis_of(x);
    switch (up_to(7)) {
      case 0: {  // the sizes in another order, or merged
        Shape other;
        for (int i = 0; i < rank; ++i) other.push_back(s[i]);
        std::shuffle(other.begin(), other.end(), random_);
        if (chance(2)) other = {element_count(s)};
        if (chance(3)) other.push_back(1);
        return one("reshape", x, [other](const Tensor& t) { return reshape(t, other); });
      }
      case 1: {
        std::vector<int> order(static_cast<std::size_t>(rank));
        for (int i = 0; i < rank; ++i) order[static_cast<std::size_t>(i)] = i;
        std::shuffle(order.begin(), order.end(), random_);
        return one("permute", x, [order](const Tensor& t) { return permute(t, order); });
      }
      case 2: {
        if (!axis) return std::nullopt;
        const int begin = up_to(s[*axis] + 1), step = 1 + up_to(2);
        const bool back = chance(3);
        return one(std::format("slice from {} step {} along {}", begin, back ? -step : step, *axis), x,
                   [=, axis = *axis](const Tensor& t) {
                     std::vector<Index> at(static_cast<std::size_t>(axis), Index(all));
                     at.emplace_back(back ? slice(none, begin, -step) : slice(begin, none, step));
                     return t[Indices(at)];
                   });
      }
      case 3:
        if (!axis) return std::nullopt;
        return one(std::format("flip along {}", *axis), x, [axis = *axis](const Tensor& t) { return flip(t, {axis}); });
      case 4: {
        const std::int64_t n = 1 + up_to(3);
        return one(std::format("broadcast to {} in front", n), x, [n](const Tensor& t) {
          Shape wide{n};
          for (int i = 0; i < t.rank(); ++i) wide.push_back(t.shape()[i]);
          return broadcast_to(t, wide);
        });
      }
      case 5:
        if (!axis || s[*axis] == 0) return std::nullopt;
        return one("an element along the first axis", x, [](const Tensor& t) { return t[{-1}]; });
      default:
        if (rank < 2) return std::nullopt;
        return one("diagonal", x, [](const Tensor& t) { return diagonal(t); });
    }
  }

  std::optional<Step> moved(int x, int y) {
    const Shape& s = shape(x);
    const auto axis = axis_of(x);
    if (!axis) return two("stack", x, y, [](const Tensor& a, const Tensor& b) { return stack({a, b}); });
    const auto along = [axis = *axis](const Tensor& t, std::int64_t value) {
      std::vector<std::int64_t> all(static_cast<std::size_t>(t.rank()), 0);
      all[static_cast<std::size_t>(axis)] = value;
      return all;
    };
    switch (up_to(9)) {
      case 0: {
        const auto mode = static_cast<PadMode>(up_to(5));
        const std::int64_t before = up_to(3), after = up_to(4) - 1;
        return one(std::format("pad {} {} in mode {} along {}", before, after, static_cast<int>(mode), *axis), x,
                   [=](const Tensor& t) {
                     return pad(t, along(t, before), along(t, after), mode, mode == PadMode{} ? 1 : 0);
                   });
      }
      case 1: {
        const std::int64_t by = up_to(5) - 2;
        return one("roll", x, [=](const Tensor& t) { return roll(t, along(t, by)); });
      }
      case 2:
        return one("repeat", x, [axis = *axis](const Tensor& t) { return repeat(t, 2, axis); });
      case 3:
        return one("tile", x, [=](const Tensor& t) {
          std::vector<std::int64_t> counts(static_cast<std::size_t>(t.rank()), 1);
          counts[static_cast<std::size_t>(*axis)] = 2;
          return tile(t, counts);
        });
      case 4:
        if (s.rank() < 2) return std::nullopt;
        return one("tril", x, [upper = chance(2)](const Tensor& t) { return upper ? triu(t, 0) : tril(t, -1); });
      case 5:
        return one("diff", x, [axis = *axis](const Tensor& t) { return diff(t, axis); });
      case 6:
        return one("joined with itself", x,
                   [axis = *axis](const Tensor& t) { return concat({t, sin(t), t * 0.5}, axis); });
      case 7:
        return two("concat", x, y, [axis = *axis](const Tensor& a, const Tensor& b) { return concat({a, b}, axis); });
      default:
        return two("stack", x, y, [](const Tensor& a, const Tensor& b) { return stack({a, b}, -1); });
    }
  }

  // Indices of an axis: some negative, some more than once.
  std::vector<std::int32_t> indices(std::int64_t size, std::int64_t count) {
    std::vector<std::int32_t> at;
    for (std::int64_t i = 0; i < count; ++i) at.push_back(up_to(2 * size) - static_cast<std::int32_t>(size));
    return at;
  }

  std::optional<Step> indexed(int x) {
    const auto axis = axis_of(x);
    if (!axis || element_count(shape(x)) == 0) return std::nullopt;
    const Shape& s = shape(x);
    const auto at = indices(s[*axis], up_to(5));
    switch (up_to(5)) {
      case 0:
        return one("gather", x, [at, axis = *axis](const Tensor& t) { return gather(t, tensor(at), axis); });
      case 1:
        return one("x[…, indices]", x, [at, axis = *axis](const Tensor& t) {
          std::vector<Index> index(static_cast<std::size_t>(axis), Index(all));
          index.emplace_back(tensor(at));
          return t[Indices(index)];
        });
      case 2: {
        if (s.rank() < 2) return std::nullopt;
        const auto rows = indices(s[0], 3), columns = indices(s[1], 3);
        return one("x[rows, columns]", x, [=](const Tensor& t) { return t[Indices{tensor(rows), tensor(columns)}]; });
      }
      case 3: {
        Shape of_indices;
        for (int i = 0; i < s.rank(); ++i) of_indices.push_back(i == *axis ? 3 : s[i]);
        const auto each = indices(s[*axis], element_count(of_indices));
        return one("gather_elements", x,
                   [=, axis = *axis](const Tensor& t) { return gather_elements(t, tensor(of_indices, each), axis); });
      }
      default: {
        const std::int32_t begin = up_to(s[*axis]);
        return one("dynamic_slice", x, [=, axis = *axis](const Tensor& t) {
          Shape sizes = t.shape();
          sizes[axis] = 1;
          return dynamic_slice(t, tensor({begin}), sizes, {axis});
        });
      }
    }
  }

  std::optional<Step> updated(int x, int y) {
    const auto axis = axis_of(x);
    if (!axis || element_count(shape(x)) == 0) return std::nullopt;
    const Shape& s = shape(x);
    const auto at = indices(s[*axis], 1 + up_to(3));
    const auto place = [at, axis = *axis, sliced = chance(2)] {
      std::vector<Index> index(static_cast<std::size_t>(axis), Index(all));
      if (sliced)
        index.emplace_back(slice(none, none, 2));
      else
        index.emplace_back(tensor(at));
      return Indices(index);
    };
    switch (up_to(6)) {
      case 0:
        return two("at_set of a mean", x, y,
                   [place](const Tensor& t, const Tensor& u) { return at_set(t, place(), sum(u) * 0.1); });
      case 1:
        return two("at_add", x, y,
                   [place](const Tensor& t, const Tensor& u) { return at_add(t, place(), t[place()] * cos(sum(u))); });
      case 2:
        return two("at_max", x, y, [place, least = chance(2)](const Tensor& t, const Tensor& u) {
          const Tensor v = sin(t[place()] + sum(u));
          return least ? at_min(t, place(), v) : at_max(t, place(), v);
        });
      case 3:
        return two("set in place", x, y, [place](const Tensor& t, const Tensor& u) {
          Tensor z = t * 1.5;
          z.set(place(), tanh(sum(u)));
          Tensor before = z * t;
          z.add_at(place(), sin(t[place()]));
          return z * before;
        });
      case 4: {
        Shape of_updates;
        for (int i = 0; i < s.rank(); ++i) of_updates.push_back(i == *axis ? 2 : s[i]);
        const auto each = indices(s[*axis], element_count(of_updates));
        const auto kind = static_cast<ScatterKind>(up_to(5));
        const unsigned of_numbers = seed();
        return two(std::format("scatter {} elements", static_cast<int>(kind)), x, y,
                   [=, axis = *axis](const Tensor& t, const Tensor& u) {
                     const Tensor updates = numbers(of_updates, t.dtype(), of_numbers) * cos(sum(u));
                     return scatter_elements(kind, t, tensor(of_updates, each), updates, axis);
                   });
      }
      default: {
        const std::int32_t begin = up_to(s[*axis] + 1);
        return two("dynamic_update_slice", x, y, [=, axis = *axis](const Tensor& t, const Tensor& u) {
          return dynamic_update_slice(t, slice(sin(t), axis, 0, 1) * sum(u), tensor({begin}), {axis});
        });
      }
    }
  }

  std::optional<Step> reduced(int x) {
    std::vector<int> axes;
    for (int i = 0; i < shape(x).rank(); ++i) {
      if (chance(2)) axes.push_back(i);
    }
    const bool keep = chance(2);
    const auto of = [&](const char* name, One before, ReduceKind kind) {
      return one(std::format("{} over {} axes", name, axes.size()), x,
                 [=](const Tensor& t) { return reduce(kind, before ? before(t) : t, axes, keep); });
    };
    const One positive = [](const Tensor& t) { return square(t) + 0.3; };
    switch (up_to(12)) {
      case 0:
      case 1:
        return of("sum", {}, ReduceKind::sum);
      case 2:
        return of("mean", {}, ReduceKind::mean);
      case 3:
        return of("prod", {}, ReduceKind::prod);
      case 4:
        return of("max", {}, ReduceKind::max);
      case 5:
        return of("min", {}, ReduceKind::min);
      case 6:
        return of("sum_squares", {}, ReduceKind::sum_squares);
      case 7:
        return of("l1", {}, ReduceKind::l1);
      case 8:
        return of("l2", positive, ReduceKind::l2);
      case 9:
        return of("log_sum", positive, ReduceKind::log_sum);
      case 10:
        return of("log_sum_exp", {}, ReduceKind::log_sum_exp);
      default:
        return one("deviation", x, [=](const Tensor& t) { return sqrt(variance(t, axes, 0, keep) + 0.3); });
    }
  }

  std::optional<Step> scanned(int x) {
    const auto axis = axis_of(x);
    if (!axis) return std::nullopt;
    switch (up_to(4)) {
      case 0: {
        const bool descending = chance(2);
        return one("sort", x, [=, axis = *axis](const Tensor& t) { return sort(t, axis, descending); });
      }
      case 1: {
        const std::int64_t k = up_to(shape(x)[*axis] + 1);
        return one("top_k", x, [=, axis = *axis](const Tensor& t) {
          const TopK best = top_k(t, k, axis);
          return best.values + cast(best.indices, t.dtype()) * 0.1;
        });
      }
      default: {
        const auto kind = static_cast<ScanKind>(up_to(5));
        const bool reverse = chance(2), exclusive = chance(4);
        return one(std::format("scan {}{}{} along {}", static_cast<int>(kind), reverse ? " reverse" : "",
                               exclusive ? " exclusive" : "", *axis),
                   x, [=, axis = *axis](const Tensor& t) {
                     return scan(kind, t, axis, {.reverse = reverse, .exclusive = exclusive});
                   });
      }
    }
  }

  std::optional<Step> product(int x, int y) {
    const Shape& s = shape(x);
    const int rank = s.rank();
    const unsigned of_numbers = seed();
    switch (up_to(7)) {
      case 0: {
        if (rank == 0) return std::nullopt;
        const std::int64_t n = 1 + up_to(3);
        return one("matmul with a constant", x, [=](const Tensor& t) {
          return matmul(t, numbers({t.shape()[t.rank() - 1], n}, t.dtype(), of_numbers));
        });
      }
      case 1:
        if (rank < 2) return std::nullopt;
        return one("matmul with its transpose", x, [](const Tensor& t) { return matmul(t, swapped(t)); });
      case 2:
        return two("matmul", x, y, [](const Tensor& a, const Tensor& b) { return matmul(a, b); });
      case 3:
        return two("matmul with a transpose", x, y,
                   [](const Tensor& a, const Tensor& b) { return matmul(swapped(a), b); });
      case 4:
        return two("outer", x, y, [](const Tensor& a, const Tensor& b) { return outer(a, b); });
      case 5:
        if (rank == 0 || shape(y) != s) return std::nullopt;
        return two("einsum", x, y, [](const Tensor& a, const Tensor& b) { return einsum("...i,...i->...", {a, b}); });
      default:
        if (rank < 2) return std::nullopt;
        return two("tensordot", x, y, [](const Tensor& a, const Tensor& b) { return tensordot(a, b, 1); });
    }
  }
  static Tensor swapped(const Tensor& t) {
    if (t.rank() < 2) return t;
    return moveaxis(t, {-1}, {-2});
  }

  std::optional<Step> normed(int x, int y) {
    const auto axis = axis_of(x);
    if (!axis) return std::nullopt;
    const Shape& s = shape(x);
    const bool scaled = shape(y) == Shape{s[s.rank() - 1]};
    switch (up_to(6)) {
      case 0:
        return one("softmax", x, [axis = *axis](const Tensor& t) { return softmax(t, axis); });
      case 1:
        return one("log_softmax", x, [axis = *axis](const Tensor& t) { return log_softmax(t, axis); });
      case 2:
        return two("layer_norm", x, y, [scaled](const Tensor& t, const Tensor& u) {
          return layer_norm(t, scaled ? u : Tensor(), scaled ? cos(u) : Tensor(), 0.25);
        });
      case 3:
        return two("rms_norm", x, y,
                   [scaled](const Tensor& t, const Tensor& u) { return rms_norm(t, scaled ? u : Tensor(), 0.25); });
      case 4:
        if (s.rank() < 3) return std::nullopt;
        return one("instance_norm", x, [](const Tensor& t) { return instance_norm(t, {}, {}, 0.25); });
      default:
        return one("cross entropy", x,
                   [](const Tensor& t) { return -mean(slice(log_softmax(t, -1), t.rank() - 1, 0, 1)); });
    }
  }

  std::optional<Step> network(int x) {
    const Shape& s = shape(x);
    if (element_count(s) < 4) return std::nullopt;
    const std::int64_t channels = s.rank() > 1 && s[0] > 0 ? s[0] : 1, n = element_count(s) / channels;
    const unsigned of_numbers = seed();
    const auto line = [=](const Tensor& t) { return reshape(t, {1, channels, n}); };
    switch (up_to(7)) {
      case 6: {
        const Shape weights{3, channels}, recurrent{3, 1};
        return one("gru", x, [=](const Tensor& t) {
          const Tensor steps = reshape(t, {n, 1, channels});
          return gru(steps, numbers(weights, t.dtype(), of_numbers), numbers(recurrent, t.dtype(), of_numbers + 1)).y;
        });
      }
      case 0:
        return one("conv", x, [=](const Tensor& t) {
          return conv(line(t), numbers({2, channels, 2}, t.dtype(), of_numbers), {}, {.strides = {2}, .padding = {1}});
        });
      case 1:
        return one("conv with itself", x, [=](const Tensor& t) {
          return conv(line(t), slice(line(sin(t)), 2, 0, std::min<std::int64_t>(2, n)));
        });
      case 2:
        return one("max_pool", x,
                   [=](const Tensor& t) { return max_pool(line(t), {.window = {2}, .strides = {1}, .padding = {1}}); });
      case 3:
        return one("average_pool", x,
                   [=](const Tensor& t) { return average_pool(line(t), {.window = {2}, .ceil_mode = true}); });
      case 4:
        return one("upsample", x,
                   [=](const Tensor& t) { return upsample(line(t), {n + 1}, {.mode = ResizeMode::linear}); });
      default:
        return one("unfold", x, [=](const Tensor& t) { return unfold(line(t), {2}, {.padding = {1}}); });
    }
  }

  std::optional<Step> leaf() {
    if (chance(2)) return std::nullopt;
    Shape shape;
    for (int k = up_to(3); k > 0; --k) shape.push_back(chance(8) ? 0 : 1 + up_to(3));
    const unsigned of_numbers = seed();
    // Of a value's type, which counts for nothing.
    return one("constant", any(), [=](const Tensor& t) { return numbers(shape, t.dtype(), of_numbers); });
  }

  // A function of several values, called in some way.
  std::optional<Step> nested(int depth) {
    std::vector<int> chosen{any()};
    for (int more = up_to(3); more > 0; --more) chosen.push_back(any());
    const int forward_ways[] = {0, 2, 3, 4, 6, 9};
    const int way = forward_only_ ? forward_ways[up_to(6)] : up_to(12);
    // Ways on entries of a batch: along the first or the last axis, of all values or of the first one.
    const bool batched = way < 3, shares = chance(2);
    const int axis = chance(2) ? 0 : -1, result_axis = chance(2) ? 0 : -1;
    Values arguments;
    for (const int i : chosen) {
      const Tensor& v = values_[static_cast<std::size_t>(i)];
      if (!batched || (shares && !arguments.empty())) {
        arguments.push_back(v);
        continue;
      }
      const auto size = [&](const Tensor& t) { return t.shape()[axis == 0 ? 0 : t.rank() - 1]; };
      if (v.rank() == 0 || size(v) == 0) return std::nullopt;
      if (shape(chosen[0]).rank() == 0 || size(v) != size(values_[static_cast<std::size_t>(chosen[0])]))
        return std::nullopt;
      arguments.push_back(contiguous(moveaxis(v, axis, 0)[{0}]));
    }
    const RandomFunction f = made(std::move(arguments), 1 + up_to(4), depth + 1);
    // Some values are no arguments: the function captures them, and is constant in them for its own derivative.
    const bool captures = chance(3);
    const std::size_t own = captures ? 1 + static_cast<std::size_t>(up_to(std::ssize(chosen))) : chosen.size();
    const auto of_own = [=](const Values& v) {
      return [f, captured = part(v, own, v.size())](const Values& x) { return f(joined(x, captured)); };
    };
    const auto total_of = [](const auto& g) {
      return [g](const Values& v) {
        Tensor all;
        for (const Tensor& t : g(v)) all = all.defined() ? all + sum(sin(t)) : sum(sin(t));
        return all;
      };
    };
    const auto total = total_of(f);
    const auto in_batches = [=](const auto& g) -> Run {
      const std::optional<int> others = shares ? std::nullopt : std::optional(axis);
      return [=](const Values& v) {
        const Values first{v[0]}, rest = part(v, 1, v.size());
        if (shares && captures) {
          const auto of_first = [&](const Values& x) { return g(joined(x, rest)); };
          return vmap(of_first, {.arguments = {axis}, .result = result_axis})(first);
        }
        const auto of_entry = [&](const Values& x, const Values& more) { return g(joined(x, more)); };
        return vmap(of_entry, {.arguments = {axis, others}, .result = result_axis})(first, rest);
      };
    };
    const auto gradient_again = [](const auto& g) {
      return
          [g](const std::tuple<Values>& x, const Values&, const Values& c) { return vjp(g)(std::get<0>(x)).second(c); };
    };
    Run run;
    const char* name = "";
    switch (way) {
      case 0:
        name = "vmap";
        run = in_batches(f);
        break;
      case 1:
        name = "vmap of grad";
        run = in_batches(grad(total));
        break;
      case 2:
        name = "compile of vmap";
        run = [g = in_batches(f)](const Values& v) { return compile(g)(v); };
        break;
      case 3:
        name = "compile";
        run = [f](const Values& v) { return compile(f)(v); };
        break;
      case 4:
        name = "checkpoint";
        run = [=](const Values& v) { return checkpoint(of_own(v))(part(v, 0, own)); };
        break;
      case 5:
        name = "vjp";
        run = [=](const Values& v) {
          const auto [y, pull] = vjp(of_own(v))(part(v, 0, own));
          return pull(y);
        };
        break;
      case 6:
        name = "jvp";
        run = [=](const Values& v) {
          const Values x = part(v, 0, own);
          return jvp(of_own(v))(x, x).second;
        };
        break;
      case 7:
        name = "grad";
        run = [=](const Values& v) { return grad(total_of(of_own(v)))(part(v, 0, own)); };
        break;
      case 8:
        name = "custom_vjp";
        run = [f, gradient_again](const Values& v) { return custom_vjp(f, gradient_again(f))(v); };
        break;
      case 9:
        name = "custom_jvp";
        run = [f](const Values& v) {
          const auto rule = [f](const std::tuple<Values>& x, const Values&, const std::tuple<Values>& t) {
            return jvp(f)(std::get<0>(x), std::get<0>(t)).second;
          };
          return custom_jvp(f, rule)(v);
        };
        break;
      case 10:
        name = "checkpoint of compile of grad";
        run = [total](const Values& v) { return checkpoint(compile(grad(total)))(v); };
        break;
      default: {
        // The rule has the derivative of a second result, which nothing else needs.
        name = "custom_vjp that keeps something";
        const auto kept = [f](const Values& v) {
          Values y = f(v);
          const Tensor scale = sigmoid(sum(v[0]) * 0.1);
          for (Tensor& t : y) t = t * scale;
          y.push_back(scale);
          return y;
        };
        run = [kept, f](const Values& v) {
          const auto rule = [f](const std::tuple<Values>& x, const Values& y, const Values& g) {
            const auto [own, pull] = vjp(f)(std::get<0>(x));
            const Tensor& scale = y.back();
            Values scaled;
            Tensor of_scale = g.back();
            for (std::size_t i = 0; i < own.size(); ++i) {
              scaled.push_back(g[i] * scale);
              of_scale = of_scale + sum(g[i] * own[i]);
            }
            Values made = pull(scaled);
            made[0] = made[0] + of_scale * scale * (1 - scale) * 0.1;
            return made;
          };
          Values y = custom_vjp(kept, rule)(v);
          y.pop_back();
          return y;
        };
      }
    }
    std::string text = std::format("{}{} [\n{}]", name, captures ? std::format(", {} not captured", own) : "",
                                   f.to_string(2 * depth + 4));
    return Step{std::move(text), std::move(chosen), std::move(run)};
  }

  // ---- Branches and loops, whose branches and bodies are random functions

  // What a function made, in the shapes of a loop's carries, which it is given as well; `form` says how.
  static Values fitted(const Values& made, const Values& like, int form) {
    Values all;
    for (std::size_t k = 0; k < like.size(); ++k) {
      const Tensor &x = like[k], &r = made[(k + static_cast<std::size_t>(form)) % made.size()];
      const Tensor y = r.shape() == x.shape() ? r
                       : r.size() == x.size() ? reshape(r, x.shape())
                                              : broadcast_to(sum(sin(r)), x.shape());
      const Tensor& beside = like[(k + 1) % like.size()];
      switch ((form + static_cast<int>(k)) % 5) {
        case 0:
          all.push_back(sin(y));
          break;
        case 3:  // as it is, or what is beside it
          all.push_back(beside.shape() == x.shape() ? beside : x);
          break;
        case 1:
          all.push_back(tanh(y + x * 0.5));
          break;
        case 2:
          all.push_back(y * 0.5);
          break;
        default:
          all.push_back(x * 0.7 + y * 0.3);
      }
    }
    return all;
  }

  // Whether a value has something. Where it may change between two points that differences are taken of is left out by
  // who takes them.
  std::pair<std::string, One> predicate() {
    const double bound = up_to(5) * 0.25 - 0.5;
    switch (up_to(8)) {
      case 0:
        return {"even", [](const Tensor& x) { return sum(cast(floor(x * 2), DType::i32)) % 2 == 0; }};
      case 1:
        return {"small", [](const Tensor& x) {
                  return max(concat({reshape(abs(x), {x.size()}), zeros({1}, x.dtype())}, 0)) < 100;
                }};
      case 2:
        return {"anything", [yes = chance(2)](const Tensor&) { return full({}, yes, DType::boolean); }};
      case 3:
        return {std::format("stopped, above {}", bound),
                [bound](const Tensor& x) { return stop_gradient(sum(cos(x))) > bound; }};
      default:
        return {std::format("above {}", bound), [bound](const Tensor& x) { return sum(sin(x)) > bound; }};
    }
  }

  // A branch, or the body of a loop: now and then a checkpoint.
  std::pair<std::string, Run> body_of(const RandomFunction& f) {
    if (chance(6)) return {", checkpoint", [f](const Values& v) { return checkpoint(f)(v); }};
    return {"", f};
  }

  std::optional<Step> controlled(int depth) {
    std::vector<int> chosen{any()};
    for (int more = up_to(3); more > 0; --more) chosen.push_back(any());
    Values given;
    for (const int i : chosen) given.push_back(values_[static_cast<std::size_t>(i)]);
    const auto step = [&](std::string text, const RandomFunction& f, Run run) {
      text += std::format(" [\n{}]", f.to_string(2 * depth + 4));
      return Step{std::move(text), std::move(chosen), std::move(run)};
    };
    const std::size_t count = chosen.size(), carries = 1 + static_cast<std::size_t>(up_to(std::ssize(chosen)));
    const int way = up_to(forward_only_ ? 5 : 4), form = up_to(5), turns = up_to(4);
    switch (way) {
      case 0: {
        // Some of the operands are arguments of the branches, the others are captured.
        const RandomFunction whole = made(given, 1 + up_to(4), depth + 1), g = made(given, 1 + up_to(4), depth + 1);
        const auto [kept, f] = body_of(whole);
        const auto [kind, chooses] = predicate();
        const bool swapped = chance(2);
        const auto own = static_cast<std::size_t>(up_to(std::ssize(chosen) + 1));
        const std::string other = std::format("cond of v{} {}, of {}, else [\n{}], then{}", chosen[0], kind, own,
                                              g.to_string(2 * depth + 4), kept);
        return step(other, whole, [=](const Values& v) {
          const Values captured = part(v, own, count);
          const auto then = [&](const Values& x) { return f(joined(x, captured)); };
          const auto otherwise = [&](const Values& x) {
            const Values all = joined(x, captured);
            return fitted(g(all), f(all), form);
          };
          const Tensor predicate = chooses(v[0]);
          const Values x = part(v, 0, own);
          return swapped ? cond(predicate, otherwise, then, x) : cond(predicate, then, otherwise, x);
        });
      }
      case 1: {
        // The body sees the carries, what it captures, and a number of the turn, which is the index or a carry of
        // integers. The first of what it captures may be read, the first carry written at that place.
        using State = std::pair<Tensor, Values>;
        const std::int64_t first = up_to(5) - 2;
        const auto has_rows = [&](std::size_t i) { return given[i].rank() > 0 && given[i].size() > 0; };
        const bool reads = carries < count && has_rows(carries) && chance(2), writes = has_rows(0) && chance(3);
        const bool counts = chance(2);
        const auto seen = [=](const Tensor& number, const Values& s, const Values& v) {
          Values x = joined(s, part(v, carries, count));
          if (reads) x[carries] = gather(x[carries], remainder(number, v[carries].shape()[0]), 0);
          x.push_back(cast(number, v[0].dtype()) * 0.3);
          return x;
        };
        const Tensor at_first = tensor(static_cast<std::int32_t>(first));
        const RandomFunction whole = made(seen(at_first, part(given, 0, carries), given), 1 + up_to(4), depth + 1);
        const auto [kept, f] = body_of(whole);
        const std::string text =
            std::format("fori_loop from {}, {} turns, {} carries, form {}{}{}{}{}", first, turns, carries, form,
                        reads ? ", reads" : "", writes ? ", writes" : "", counts ? ", counts" : "", kept);
        return step(text, whole, [=](const Values& v) {
          const auto body = [&](const Tensor& index, const State& s) {
            const Tensor number = counts ? s.first : index;
            Values next = fitted(f(seen(number, s.second, v)), s.second, form);
            if (writes) {
              const Tensor row = remainder(number, v[0].shape()[0]);
              next[0] = dynamic_update_slice(s.second[0], slice(next[0], 0, 0, 1), reshape(row, {1}), {0});
            }
            return State((s.first * 3 + index) % 5, next);
          };
          const State last = fori_loop(first, first + turns, body, State(tensor(std::int32_t{1}), part(v, 0, carries)));
          return joined(last.second, {cast(last.first, v[0].dtype()) * 0.2});
        });
      }
      case 2: {
        // Slices of the first operands of one size, carries, and what the body captures.
        if (given[0].rank() == 0) return std::nullopt;
        std::size_t slices = 1;
        while (slices < count && given[slices].rank() > 0 && given[slices].shape()[0] == given[0].shape()[0]) ++slices;
        const std::size_t behind =
            slices + static_cast<std::size_t>(up_to(static_cast<std::int64_t>(count - slices) + 1));
        Values x;
        for (std::size_t i = 0; i < count; ++i) {
          Shape of_slice = given[i].shape();
          if (i >= slices) {
            x.push_back(given[i]);
          } else if (of_slice[0] > 0) {
            x.push_back(contiguous(given[i][{0}]));
          } else {
            of_slice.erase(0);
            x.push_back(zeros(of_slice, DType::f64));
          }
        }
        const RandomFunction whole = made(x, 1 + up_to(4), depth + 1);
        const auto [kept, f] = body_of(whole);
        const bool reverse = chance(2), last_alone = chance(4) && behind > slices;
        const std::string text =
            std::format("scan of {} slices, {} carries, form {}{}{}{}", slices, behind - slices, form,
                        reverse ? ", reverse" : "", last_alone ? ", the last carries" : "", kept);
        return step(text, whole, [=](const Values& v) {
          const Values captured = part(v, behind, count);
          const auto body = [&](const Values& s, const Values& u) {
            const Values y = f(joined(joined(u, s), captured));
            return std::pair(fitted(y, s, form), last_alone ? Values() : y);
          };
          const auto [last, all] = scan(body, part(v, slices, behind), part(v, 0, slices), reverse);
          return joined(last, all);
        });
      }
      case 3: {
        // The turns may alternate: every other one leaves the carries as they are.
        using State = std::pair<Tensor, Values>;
        const RandomFunction whole = made(given, 1 + up_to(4), depth + 1);
        const auto [kept, f] = body_of(whole);
        const bool alternates = chance(3);
        const std::string text = std::format("scan of {} turns, {} carries, form {}{}{}", turns, carries, form,
                                             alternates ? ", alternates" : "", kept);
        return step(text, whole, [=](const Values& v) {
          const auto body = [&](const State& s) {
            const Values y = f(joined(s.second, part(v, carries, count)));
            const auto moved = [&] { return fitted(y, s.second, form); };
            return std::pair(
                State(logical_not(s.first), alternates ? cond(s.first, moved, [&] { return s.second; }) : moved()), y);
          };
          const auto [last, all] = scan(body, State(full({}, true, DType::boolean), part(v, 0, carries)), turns);
          return joined(last.second, all);
        });
      }
      default: {
        // As often as a carry says, and at most so many turns.
        const RandomFunction f = made(given, 1 + up_to(4), depth + 1);
        const bool counts_alone = chance(3);
        const double bound = up_to(5) * 0.25 - 0.5;
        const std::string text = std::format("while_loop of at most {} turns{}, {} carries, form {}", turns,
                                             counts_alone ? "" : std::format(" above {}", bound), carries, form);
        return step(text, f, [=](const Values& v) {
          using State = std::pair<Tensor, Values>;
          const auto condition = [&](const State& s) {
            const Tensor left = s.first < turns;
            return counts_alone ? left : logical_and(left, sum(sin(s.second[0])) > bound);
          };
          const auto body = [&](const State& s) {
            return State(s.first + 1, fitted(f(joined(s.second, part(v, carries, count))), s.second, form));
          };
          return while_loop(condition, body, State(zeros({}, DType::i32), part(v, 0, carries))).second;
        });
      }
    }
  }

  std::mt19937 random_;
  bool forward_only_ = false;
  Values values_;  // of the function that is being made, for its arguments
};

RandomFunction::RandomFunction(unsigned seed) {
  const struct OnCpu {
    Device before = default_device();
    OnCpu() { set_default_device(Device::cpu()); }
    ~OnCpu() { set_default_device(before); }
  } on_cpu;
  *this = FunctionMaker(seed).whole();
}

std::vector<Tensor> RandomFunction::operator()(const std::vector<Tensor>& arguments) const {
  Values values = arguments;
  for (const Step& step : steps_) {
    Values operands;
    for (const int i : step.operands) operands.push_back(values[static_cast<std::size_t>(i)]);
    for (Tensor& t : step.run(operands)) values.push_back(std::move(t));
  }
  Values results;
  for (const int i : results_) results.push_back(values[static_cast<std::size_t>(i)]);
  return results;
}

std::vector<Tensor> RandomFunction::arguments(DType type, unsigned seed) const {
  std::mt19937 random(seed);
  Values x;
  for (const Shape& s : shapes_) {
    const auto of_numbers = static_cast<unsigned>(random());
    // Some are not data but an expression of indices.
    const double start = std::uniform_real_distribution(-1.5, 0.5)(random);
    x.push_back(random() % 4 == 0 ? reshape(cast(arange(element_count(s)), type) * 0.23 + start, s)
                                  : numbers(s, type, of_numbers));
  }
  return x;
}

std::string RandomFunction::to_string(int indent) const {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string text = margin + "of";
  for (const Shape& s : shapes_) text += " " + weft::to_string(s);
  text += "\n";
  for (const Step& step : steps_) text += margin + step.text + "\n";
  text += margin + "gives";
  for (const int i : results_) text += std::format(" v{}", i);
  return text + "\n";
}

}  // namespace weft::test
