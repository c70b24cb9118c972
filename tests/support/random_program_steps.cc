#include "support/random_program_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/error.h"
#include "weft/evaluate.h"

namespace weft::test {
namespace {

// ---- Elementwise

struct Smooth {
  std::string_view name;
  Tensor (*f)(const Operand&);
  double slope;
};
constexpr Smooth kSmooth[] = {{"sin", weft::sin, 1},
                              {"cos", weft::cos, 1},
                              {"tanh", weft::tanh, 1},
                              {"atan", weft::atan, 1},
                              {"sigmoid", sigmoid, 1},
                              {"erf", weft::erf, 1.2},
                              {"softplus", softplus, 1},
                              {"silu", silu, 1.2},
                              {"asinh", weft::asinh, 1},
                              {"logsigmoid", logsigmoid, 1},
                              {"gelu", [](const Operand& x) { return gelu(x); }, 1.2}};

struct Plain {
  std::string_view name;
  Tensor (*f)(const Operand&);
};
constexpr Plain kContinuous[] = {{"neg", neg}, {"abs", weft::abs}, {"relu", relu}, {"positive", positive}};
constexpr Plain kSteps[] = {{"floor", weft::floor},
                            {"ceil", weft::ceil},
                            {"round", weft::round},
                            {"trunc", weft::trunc},
                            {"sign", sign},
                            {"is_nan", is_nan},
                            {"is_finite", is_finite},
                            {"logical_not", logical_not},
                            {"bitwise_not", bitwise_not},
                            {"popcount", popcount},
                            {"clz", clz}};

Maybe unary(ProgramState& s) {
  switch (s.up_to(3)) {
    case 0: {
      // Integers are computed as f32, in which large ones would be rounded.
      const int x = s.value([](const ProgramValue& v) { return v.top <= kExactIntegers; });
      if (x < 0) return {};
      const Smooth& f = kSmooth[s.up_to(static_cast<int>(std::size(kSmooth)) - 1)];
      return unary_step(f.name, x, f.f, f.slope * s[x].error, false);
    }
    case 1: {
      const int x = s.value(is_number);
      if (x < 0) return {};
      const Plain& f = kContinuous[s.up_to(static_cast<int>(std::size(kContinuous)) - 1)];
      return unary_step(f.name, x, f.f, s[x].error);
    }
    case 2: {
      const int x = s.value([](const ProgramValue& v) { return v.exact; });
      if (x < 0) return {};
      const Plain& f = kSteps[s.up_to(static_cast<int>(std::size(kSteps)) - 1)];
      return unary_step(f.name, x, f.f);
    }
    default: {
      const int x = s.value(is_number);
      if (x < 0) return {};
      const ProgramValue& v = s[x];
      const bool exact = fits_exactly(2 * v.grid, v.top * v.top, v.type.dtype);
      if (is_float(v) && s.chance(2)) {
        const double reach = std::exp(std::min(v.top + v.error, 10.0));
        return unary_step("exp", x, weft::exp, reach * v.error, false);
      }
      return unary_step("square", x, square, 2 * (v.top + v.error) * v.error, exact);
    }
  }
}

struct Two {
  std::string_view name;
  Tensor (*f)(const TensorLike&, const TensorLike&);
};
template <ScalarOp op>
Tensor of(const TensorLike& a, const TensorLike& b) {
  return binary(op, a, b);
}
constexpr Two kDiscrete[] = {{"equal", equal},
                             {"not_equal", not_equal},
                             {"less", less},
                             {"less_equal", less_equal},
                             {"greater", greater},
                             {"greater_equal", greater_equal},
                             {"and", bitwise_and},
                             {"or", bitwise_or},
                             {"xor", bitwise_xor},
                             {"logical_and", logical_and},
                             {"logical_or", logical_or},
                             {"logical_xor", logical_xor},
                             {"left", shift_left},
                             {"right", shift_right},
                             {"gcd", gcd},
                             {"rem", rem},
                             {"remainder", weft::remainder},
                             {"floor_divide", floor_divide},
                             {"div", of<ScalarOp::div>}};

bool broadcast_together(const ProgramValue& a, const ProgramValue& b) {
  try {
    return element_count(broadcast(a.type.shape, b.type.shape)) <= 300;
  } catch (const InvalidArgument&) {
    return false;
  }
}

Maybe binary(ProgramState& s) {
  const bool discrete = s.chance(3);
  const int a = s.value([&](const ProgramValue& v) { return !discrete || v.exact; });
  if (a < 0) return {};
  const ProgramValue& x = s[a];
  const int b = s.value(
      [&](const ProgramValue& v) { return broadcast_together(x, v) && !mixes(x, v) && (!discrete || v.exact); });
  if (b < 0) return {};
  const ProgramValue& y = s[b];
  const auto two = [&](const Two& f, double error, bool exact) {
    return step(f.name, {a, b}, [f = f.f](Tensors& o) { return Tensors{f(o[0], o[1])}; }, error, exact);
  };
  if (discrete) {
    const Two& f = kDiscrete[s.up_to(static_cast<int>(std::size(kDiscrete)) - 1)];
    // Quotients of floats are rounded, and may so step over an integer.
    const bool quotient = f.name == "div" || f.name == "remainder" || f.name == "floor_divide" || f.name == "rem";
    if (quotient && (is_float(x) || is_float(y))) return {};
    return two(f, 0, true);
  }
  const DType type = [&] {
    try {
      return result_type(x.type.dtype, y.type.dtype);
    } catch (const TypeError&) {
      return DType::boolean;  // the step will be refused
    }
  }();
  const double sum_error = x.error + y.error;
  // An operand that is converted to a narrower type is rounded by it.
  const double rounded = is_floating(type) && (!fits_exactly(x.grid, x.top, type) || !fits_exactly(y.grid, y.top, type))
                             ? std::ldexp(1 + std::max(x.top, y.top), -significand_bits(type))
                             : 0;
  const double spread = sum_error + 2 * rounded;
  const bool kept = rounded == 0;
  switch (s.up_to(6)) {
    case 0:
      return two({"add", of<ScalarOp::add>}, spread,
                 kept && fits_exactly(std::max(x.grid, y.grid), x.top + y.top, type));
    case 1:
      return two({"sub", of<ScalarOp::sub>}, spread,
                 kept && fits_exactly(std::max(x.grid, y.grid), x.top + y.top, type));
    case 2:
      return two({"mul", of<ScalarOp::mul>}, (1 + x.top + y.top + spread) * spread,
                 kept && fits_exactly(x.grid + y.grid, x.top * y.top, type));
    case 3:
      return two({"minimum", minimum}, spread, kept);
    case 4:
      return two({"maximum", maximum}, spread, kept);
    case 5: {
      const double least = std::accumulate(y.elements.begin(), y.elements.end(), 1e9,
                                           [](double m, double e) { return std::min(m, std::abs(e)); });
      if (least - y.error < 0.25) return {};
      return two({"divide", divide}, spread / (least - y.error) * (1 + x.top / least), false);
    }
    default: {
      const int chosen =
          s.value([&](const ProgramValue& v) { return v.type.dtype == DType::boolean && broadcast_together(v, x); });
      if (chosen < 0) return {};
      return step("where", {chosen, a, b}, [](Tensors& o) { return Tensors{where(o[0], o[1], o[2])}; }, spread, kept);
    }
  }
}

// A tensor and a number.
Maybe with_number(ProgramState& s) {
  const int x = s.value(is_number);
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  const bool whole = is_integer(v.type.dtype);
  if (whole && s.chance(4) && v.top <= kExactIntegers) {
    const double n = s.pick<double>({0.5, 1.5, -2.25});
    return unary_step(
        "mul", x, [n](const Tensor& t) { return t * n; }, 0, fits_exactly(2, v.top * 2.25, DType::f32),
        std::format("{}", n));
  }
  const int n = s.pick<int>({1, 2, 3, 5, 100});
  const std::string number = std::to_string(n);
  switch (s.up_to(7)) {
    case 0:
      return unary_step(
          "add", x, [n](const Tensor& t) { return t + n; }, v.error, fits_exactly(v.grid, v.top + n, v.type.dtype),
          number);
    case 1:
      return unary_step(
          "subtract from", x, [n](const Tensor& t) { return n - t; }, v.error,
          fits_exactly(v.grid, v.top + n, v.type.dtype), number);
    case 2:
      return unary_step(
          "mul", x, [n](const Tensor& t) { return t * n; }, n * v.error, fits_exactly(v.grid, v.top * n, v.type.dtype),
          number);
    case 3:
      return unary_step("maximum", x, [n](const Tensor& t) { return maximum(t, n); }, v.error, true, number);
    case 4:
      return unary_step("clamp", x, [n](const Tensor& t) { return clamp(t, 0, n); }, v.error, true, "0, " + number);
    case 5:
      if (!v.exact) return {};
      return unary_step("less", x, [n](const Tensor& t) { return t < n; }, 0, true, number);
    case 6:
      if (!whole) return {};
      return unary_step("pow", x, [n](const Tensor& t) { return weft::pow(t, n % 4); }, 0, true, std::to_string(n % 4));
    default:
      return unary_step(
          "divide", x, [n](const Tensor& t) { return divide(t, n); },
          v.error / n + (whole ? std::ldexp(v.top, -23) : 0), false, number);
  }
}

Maybe cast_step(ProgramState& s) {
  const DType to = s.pick(kProgramTypes);
  const int x = s.value([&](const ProgramValue& v) {
    if (is_float(v) && !is_floating(to))
      return v.exact && (v.top < 100) &&
             (is_signed(to) || std::ranges::all_of(v.elements, [](double e) { return e >= 0; }));
    return is_float(v) || !is_floating(to) || v.top <= kExactIntegers;
  });
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  const bool exact = !is_floating(to) || fits_exactly(v.grid, v.top, to);
  return unary_step(
      "cast", x, [to](const Tensor& t) { return t.cast(to); },
      v.error + (exact ? 0 : std::ldexp(1 + v.top, -significand_bits(to))), exact, name(to));
}

// ---- Along axes

Maybe reduction(ProgramState& s) {
  const int x = s.value([](const ProgramValue& v) { return size(v) > 0; });
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  const std::vector<int> axes = some_axes(s, rank(v));
  const bool keep = s.chance(2);
  const std::string arguments = list(axes) + (keep ? ", keep_dims" : "");
  const auto n = static_cast<double>(size(v));
  const auto over = [&](std::string_view name, auto f, double error, bool exact) {
    return Maybe(unary_step(name, x, [=](const Tensor& t) { return f(t, axes, keep); }, error, exact, arguments));
  };
  switch (s.up_to(9)) {
    case 0:
      return over(
          "sum", [](const Tensor& t, const Axes& a, bool k) { return sum(t, a, k); },
          n * v.error + n * std::ldexp(v.top, -22), fits_exactly(v.grid, n * v.top, v.type.dtype));
    case 1:
      return over(
          "mean", [](const Tensor& t, const Axes& a, bool k) { return mean(t, a, k); },
          v.error + std::ldexp(v.top, -20), false);
    case 2:
      return over("max", [](const Tensor& t, const Axes& a, bool k) { return weft::max(t, a, k); }, v.error, true);
    case 3:
      return over("min", [](const Tensor& t, const Axes& a, bool k) { return weft::min(t, a, k); }, v.error, true);
    case 4:
      if (!v.exact) return {};
      return over("any", [](const Tensor& t, const Axes& a, bool k) { return any(t, a, k); }, 0, true);
    case 5:
      if (!v.exact) return {};
      return over("all", [](const Tensor& t, const Axes& a, bool k) { return all(t, a, k); }, 0, true);
    case 6:
      if (!v.exact) return {};
      return over(
          "count_nonzero", [](const Tensor& t, const Axes& a, bool k) { return count_nonzero(t, a, k); }, 0, true);
    case 7:
      if (!v.exact) return {};
      return over("argmax", [](const Tensor& t, const Axes& a, bool k) { return argmax(t, a, k); }, 0, true);
    case 8:
      if (v.top > kExactIntegers) return {};
      return over(
          "variance", [](const Tensor& t, const Axes& a, bool k) { return variance(t, a, 0, k); },
          4 * (v.top + v.error) * v.error + std::ldexp(v.top * v.top, -18), false);
    default:
      if (is_float(v)) return {};
      return over("prod", [](const Tensor& t, const Axes& a, bool k) { return prod(t, a, k); }, 0, true);
  }
}

Maybe along_axis(ProgramState& s) {
  const int x = s.value([](const ProgramValue& v) { return rank(v) > 0; });
  if (x < 0) return {};
  const ProgramValue& v = s[x];
  const int axis = any_axis(s, rank(v));
  const auto n = static_cast<double>(v.type.shape[axis]);
  const std::string at = std::to_string(axis);
  const bool sums = fits_exactly(v.grid, n * v.top, v.type.dtype);
  switch (s.up_to(9)) {
    case 0: {
      const bool initial = s.chance(2);
      return unary_step(
          "cumulative_sum", x, [=](const Tensor& t) { return cumulative_sum(t, axis, {}, initial); },
          n * v.error + n * std::ldexp(v.top, -22), sums, at + (initial ? ", initial" : ""));
    }
    case 1: {
      const bool descending = s.chance(2);
      return unary_step(
          "sort", x, [=](const Tensor& t) { return weft::sort(t, axis, descending); }, v.error, true,
          at + (descending ? ", descending" : ""));
    }
    case 2:
      if (!v.exact) return {};
      return unary_step("argsort", x, [=](const Tensor& t) { return argsort(t, axis); }, 0, true, at);
    case 3:
      if (!is_float(v)) return {};
      return unary_step("softmax", x, [=](const Tensor& t) { return softmax(t, axis); }, 2 * v.error, false, at);
    case 4:
      return unary_step(
          "diff", x, [=](const Tensor& t) { return diff(t, axis); }, 2 * v.error,
          fits_exactly(v.grid, 2 * v.top, v.type.dtype), at);
    case 5:
      return unary_step("repeat", x, [=](const Tensor& t) { return repeat(t, 2, axis); }, v.error, true, at);
    case 6:
      return unary_step("roll", x, [=](const Tensor& t) { return roll(t, {3}, {axis}); }, v.error, true, at);
    case 7: {
      if (!v.exact || n < 2) return {};
      return step(
          "top_k", {x},
          [=](Tensors& o) {
            const TopK top = top_k(o[0], 2, axis);
            return Tensors{top.values, top.indices};
          },
          0, true, at);
    }
    case 8:
      if (n == 0) return {};
      return unary_step("unstack", x, [=](const Tensor& t) { return unstack(t, axis).back(); }, v.error, true, at);
    default: {
      std::vector<int> at_places(static_cast<std::size_t>(1 + s.up_to(3)));
      if (n == 0) return {};
      for (int& p : at_places) p = s.up_to(static_cast<int>(n) - 1) - (s.chance(2) ? static_cast<int>(n) : 0);
      return unary_step(
          "take", x, [=](const Tensor& t) { return gather(t, integers_of(at_places), axis); }, v.error, true,
          list(at_places) + ", " + at);
    }
  }
}

// ---- Several tensors as one, products

Maybe joined(ProgramState& s) {
  const int a = s.value([](const ProgramValue& v) { return rank(v) < 4; });
  if (a < 0) return {};
  const ProgramValue& x = s[a];
  const int b = s.value([&](const ProgramValue& v) { return v.type.shape == x.type.shape && !mixes(x, v); });
  if (b < 0) return {};
  const DType type = [&] {
    try {
      return result_type(x.type.dtype, s[b].type.dtype);
    } catch (const TypeError&) {
      return x.type.dtype;
    }
  }();
  const bool exact =
      !is_floating(type) || (fits_exactly(x.grid, x.top, type) && fits_exactly(s[b].grid, s[b].top, type));
  const double error =
      std::max(x.error, s[b].error) + (exact ? 0 : std::ldexp(1 + std::max(x.top, s[b].top), -significand_bits(type)));
  if (rank(x) == 0 || s.chance(2)) {
    const int axis = any_axis(s, rank(x) + 1);
    return step(
        "stack", {a, b}, [=](Tensors& o) { return Tensors{stack({o[0], o[1]}, axis)}; }, error, exact,
        std::to_string(axis));
  }
  const int axis = any_axis(s, rank(x));
  return step(
      "concat", {a, b}, [=](Tensors& o) { return Tensors{concat({o[0], o[1]}, axis)}; }, error, exact,
      std::to_string(axis));
}

Maybe product(ProgramState& s) {
  const int a = s.value([](const ProgramValue& v) { return rank(v) >= 1 && is_number(v); });
  if (a < 0) return {};
  const ProgramValue& x = s[a];
  const int b =
      s.value([&](const ProgramValue& v) { return v.type.dtype == x.type.dtype && v.type.shape == x.type.shape; });
  const ProgramValue& y = s[b];
  const auto k = static_cast<double>(size(x) + 1);
  const bool exact = fits_exactly(x.grid + y.grid, k * x.top * y.top, x.type.dtype);
  const double error = k * ((x.top + y.error) * y.error + (y.top + x.error) * x.error + std::ldexp(x.top * y.top, -21));
  const auto two = [&](std::string_view name, auto f, std::string_view arguments = {}) {
    return Maybe(step(name, {a, b}, [f](Tensors& o) { return Tensors{f(o[0], o[1])}; }, error, exact, arguments));
  };
  switch (s.up_to(4)) {
    case 0:
      if (rank(x) < 2) return {};
      return two("matmul transposed", [](const Tensor& t, const Tensor& u) { return matmul(t, u.T()); });
    case 1:
      return two(
          "einsum", [](const Tensor& t, const Tensor& u) { return einsum("...i,...i->...", {t, u}); },
          "...i,...i->...");
    case 2: {
      const std::string text = rank(x) == 1   ? "i,j->ji"
                               : rank(x) == 2 ? "ij,kj->ki"
                               : rank(x) == 3 ? "bij,bik->jk"
                                              : "abij,abkj->bik";
      return two("einsum", [text](const Tensor& t, const Tensor& u) { return einsum(text, {t, u}); }, text);
    }
    case 3:
      return two("vecdot", [](const Tensor& t, const Tensor& u) { return vecdot(t, u); });
    default: {
      const int n = rank(x);
      return two("tensordot", [n](const Tensor& t, const Tensor& u) { return tensordot(t, u, {n - 1}, {n - 1}); });
    }
  }
}

}  // namespace

Candidate step(std::string_view name, std::vector<int> operands, Run run, double error, bool exact,
               std::string_view arguments) {
  std::string text;
  for (const int i : operands) text += std::format("{}v{}", text.empty() ? "" : ", ", i);
  if (!arguments.empty()) text += std::format("{}{}", text.empty() ? "" : ", ", arguments);
  text = std::format("{}({})", name, text);
  return {.step = {std::move(text), std::move(operands), std::move(run)}, .exact = exact, .error = error};
}

int any_axis(ProgramState& s, int rank) { return s.up_to(rank - 1) - (s.chance(2) ? rank : 0); }

std::vector<int> some_axes(ProgramState& s, int rank) {
  std::vector<int> axes;
  const bool every = s.chance(3);
  for (int i = 0; i < rank; ++i) {
    if (every || s.chance(2)) axes.push_back(s.chance(3) ? i - rank : i);
  }
  return axes;
}

std::string list(std::span<const int> numbers) {
  std::string text;
  for (const int n : numbers) text += std::format("{}{}", text.empty() ? "" : " ", n);
  return "{" + text + "}";
}

Tensor integers_of(const std::vector<int>& values) {
  return tensor(DType::i32, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values)));
}

std::optional<Candidate> random_candidate(ProgramState& s) {
  using Maker = Maybe (*)(ProgramState&);
  static constexpr Maker kMakers[] = {
      unary,         unary,         binary,           binary,       with_number, cast_step,   reduction,
      along_axis,    along_axis,    joined,           product,      random_view, random_view, random_index,
      random_update, random_update, random_selection, random_image, random_image};
  return kMakers[s.up_to(static_cast<int>(std::size(kMakers)) - 1)](s);
}

}  // namespace weft::test
