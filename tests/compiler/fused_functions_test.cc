// Every pair of scalar functions in one kernel, F(G(x), H(y)), and functions before and after every kernel that fuses
// them, F(K(G(x)), H(z)), against the same evaluated one operation after the other on the same device: what a driver's
// compiler does with several operations at once shows in no test of single ones. Operands hold NaN, infinities, zeros
// of both signs, ties and the ends of the range.
//
// WEFT_FUSED_PAIRS sets how many H there are for each F and G, "all" for every one; without it a few random groups are
// tested. WEFT_FUSED_PART=2/16 tests the second of sixteen parts, so that processes can share the work.
// WEFT_RANDOM_SEED sets where the random choices begin.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <random>

#include "kernels/scalar_cases.h"
#include "support/on_device.h"
#include "support/problem_counts.h"
#include "support/quick.h"
#include "weft/array.h"
#include "weft/compile.h"
#include "weft/convolution.h"
#include "weft/error.h"
#include "weft/pooling.h"
#include "weft/resampling.h"
#include "weft/special.h"

namespace weft::test {
namespace {

using enum ScalarOp;

// Evaluates each operation by itself, or leaves all to one kernel.
struct Step {
  bool separate = false;
  Tensor operator()(Tensor x) const {
    if (separate) eval(x);
    return x;
  }
};

// A function of two operands of one type; one that takes a single operand ignores b.
struct Form {
  std::string name;
  int operands = 1;
  // Exact: each evaluation gives the same bits. Wild: a small change of an operand changes the result a lot.
  bool exact = true, wild = false, product = false;
  std::function<Tensor(const Tensor& a, const Tensor& b, const Step& step)> apply;
};

bool is_narrow_float(DType type) { return is_floating(type) && bits(type) < 32; }

// The result of a step in the operands' type.
Tensor back(const Tensor& y, DType type, const Step& step) { return y.dtype() == type ? y : step(weft::cast(y, type)); }

// Results that are values of a narrow type before they are rounded.
bool selects(ScalarOp op) {
  return op == neg || op == ScalarOp::abs || op == sign || op == ScalarOp::ceil || op == ScalarOp::floor ||
         op == ScalarOp::trunc || op == ScalarOp::round || op == relu || op == min || op == max ||
         op == ScalarOp::fmin || op == ScalarOp::fmax || op == clamp || op == ScalarOp::copysign || op == select ||
         op == nextafter || kernels::info(op).yields == kernels::Yields::boolean;
}

bool is_exact(ScalarOp op, DType type) {
  if (!is_floating(type)) return true;
  if (bits(type) < 32) return selects(op);
  const Tolerance t = tolerance(op, type);
  return t.ulp == 0 && t.absolute == 0 && t.relative == 0;
}

bool is_wild(ScalarOp op) {
  return op == rem || op == ScalarOp::remainder || op == floor_divide || op == ScalarOp::lgamma || op == digamma ||
         op == ScalarOp::gammainc || op == ScalarOp::gammaincc || op == ScalarOp::gammaincinv ||
         op == ScalarOp::gammainccinv || op == ScalarOp::j0 || op == ScalarOp::j1 || op == ScalarOp::y0 ||
         op == ScalarOp::y1 || op == ScalarOp::tan || op == ScalarOp::sin || op == ScalarOp::cos;
}

// A float's operation with an unexact product may be one fused multiply-add.
bool is_product(ScalarOp op) { return op == mul || op == square || op == ScalarOp::fma || op == ScalarOp::lerp; }

Form operation(ScalarOp op, DType type) {
  const int operands = arity(op);
  Form form{.name = std::string(name(op)),
            .operands = operands,
            .exact = is_exact(op, type),
            .wild = is_wild(op),
            .product = is_product(op)};
  form.apply = [op, operands, type](const Tensor& a, const Tensor& b, const Step& step) {
    return back(step(operands == 1 ? unary(op, a) : binary(op, a, b)), type, step);
  };
  return form;
}

// One operand: G, H and F. `of`: the type whose functions these are, if they are computed in another.
std::vector<Form> functions_of_one(DType of, DType type) {
  std::vector<Form> forms;
  forms.push_back({"x", 1, true, false, false, [](const Tensor& a, const Tensor&, const Step&) { return a; }});
  for (int i = static_cast<int>(neg); i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    if (arity(op) == 1 && takes(op, of) && op != angle) forms.push_back(operation(op, type));
  }
  const auto with = [&](ScalarOp op, double number, bool first = false) {
    if (!takes(op, of)) return;
    Form form = operation(op, type);
    form.name = first ? std::format("{}({}, x)", name(op), number) : std::format("{}(x, {})", name(op), number);
    form.operands = 1;
    form.apply = [=](const Tensor& a, const Tensor&, const Step& step) {
      const Number n = is_floating(type) ? Number(number) : Number(static_cast<std::int64_t>(number));
      const Tensor literal = Graph::scalar(n, type);
      return back(step(first ? binary(op, literal, a) : binary(op, a, literal)), type, step);
    };
    form.product |= op == ScalarOp::pow && number == 2;  // which is a square
    forms.push_back(std::move(form));
  };
  if (type != DType::boolean) {
    with(add, 1), with(sub, 1), with(sub, 2, true), with(mul, 3), with(ScalarOp::div, 3), with(ScalarOp::div, 1, true);
    with(min, 2), with(max, 1), with(ScalarOp::fmax, 1), with(ScalarOp::pow, 3), with(ScalarOp::pow, 2);
    with(rem, 3), with(ScalarOp::remainder, 3), with(floor_divide, 2), with(less, 1), with(greater_equal, 1);
    with(bitwise_and, 5), with(bitwise_xor, 3), with(shift_left, 1), with(shift_right, 1);
  }
  if (takes(mul, type)) {
    forms.push_back({"x * x", 1, !is_narrow_float(type), false, true,
                     [](const Tensor& a, const Tensor&, const Step& step) { return step(a * a); }});
    forms.push_back({"x > 0 ? x : 1", 1, true, false, false, [type](const Tensor& a, const Tensor&, const Step& step) {
                       return step(weft::select(step(a > 0), a, Graph::scalar(1, type)));
                     }});
  }
  forms.push_back({"flip(x)", 1, true, false, false,
                   [](const Tensor& a, const Tensor&, const Step& step) { return step(flip(a, {-1})); }});
  for (const DType other : {DType::f32, DType::f16, DType::bf16, DType::i32, DType::u8, DType::i16, DType::i64,
                            DType::u64, DType::boolean}) {
    if (other == of) continue;
    forms.push_back({std::format("cast through {}", name(other)), 1, true, false, false,
                     [=](const Tensor& a, const Tensor&, const Step& step) {
                       return step(weft::cast(step(weft::cast(a, other)), type));
                     }});
  }
  return forms;
}

std::vector<Form> functions_of_two(DType of, DType type) {
  std::vector<Form> forms;
  for (int i = static_cast<int>(neg); i < kScalarOpCount; ++i) {
    const auto op = static_cast<ScalarOp>(i);
    if (arity(op) == 2 && takes(op, of) && op != ScalarOp::complex) forms.push_back(operation(op, type));
  }
  for (const ScalarOp compare : {less, less_equal, greater, greater_equal, equal}) {
    forms.push_back({std::format("{}(a, b) ? a : b", name(compare)), 2, true, false, false,
                     [compare](const Tensor& a, const Tensor& b, const Step& step) {
                       return step(weft::select(step(binary(compare, a, b)), a, b));
                     }});
  }
  const auto three = [&](ScalarOp op, std::string text, std::function<Tensor(const Tensor&, const Tensor&)> f) {
    if (!takes(op, of)) return;
    Form form = operation(op, type);
    form.name = std::move(text);
    form.operands = 2;
    form.apply = [f = std::move(f)](const Tensor& a, const Tensor& b, const Step& step) { return step(f(a, b)); };
    forms.push_back(std::move(form));
  };
  const auto number = [type](double v) {
    return Graph::scalar(is_floating(type) ? Number(v) : Number(static_cast<std::int64_t>(v)), type);
  };
  three(clamp, "clamp(a, b, 2)", [=](auto& a, auto& b) { return ternary(clamp, a, b, number(2)); });
  three(clamp, "clamp(1, a, b)", [=](auto& a, auto& b) { return ternary(clamp, number(1), a, b); });
  three(ScalarOp::fma, "fma(a, b, 1)", [=](auto& a, auto& b) { return ternary(ScalarOp::fma, a, b, number(1)); });
  three(ScalarOp::fma, "fma(2, a, b)", [=](auto& a, auto& b) { return ternary(ScalarOp::fma, number(2), a, b); });
  three(ScalarOp::lerp, "lerp(a, b, 0.25)",
        [=](auto& a, auto& b) { return ternary(ScalarOp::lerp, a, b, number(0.25)); });
  return forms;
}

std::vector<double> interesting(DType type) {
  if (type == DType::boolean) return {0, 1};
  if (is_floating(type)) {
    return {0.0, -0.0, 1,    -1,    0.5, -0.5, 1.5,   2.5,      -2.5,      3,
            -7,  0.1,  -0.3, 100.7, 9,   1e30, -1e30, INFINITY, -INFINITY, NAN};
  }
  const double high = std::ldexp(1, bits(type) - (is_signed(type) ? 1 : 0)) - 1;
  std::vector<double> values{0, 1, 2, 3, 5, 7, 8, 31, 33, 100, std::min(high, 0x1p53), std::min(high - 1, 0x1p52)};
  if (is_signed(type)) {
    for (const double v : {-1.0, -2.0, -5.0, -7.0, -100.0, -high, -high - 1}) values.push_back(std::max(v, -0x1p63));
  }
  return values;
}

// All pairs of interesting values, as two host views of one axis.
std::pair<View, View> all_pairs(DType type) {
  const std::vector<double> v = interesting(type);
  std::vector<double> first, second;
  for (const double a : v) {
    for (const double b : v) {
      first.push_back(a);
      second.push_back(b);
    }
  }
  const Shape shape{static_cast<std::int64_t>(first.size())};
  return {host_view(type, shape, first), host_view(type, shape, second)};
}

// The host view with each finite float moved by so many representable numbers; numbers next to 0 keep their sign.
View moved(const View& v, int by) {
  View out(Buffer::host(v.buffer.size()), 0, v.dtype, v.shape());
  const std::uint64_t sign = std::uint64_t{1} << (bits(v.dtype) - 1);
  for (std::int64_t i = 0; i < v.count(); ++i) {
    std::uint64_t b = element_bits(v, i);
    const double x = value(v, i);
    if (std::isfinite(x) && x != 0) {
      const auto magnitude = static_cast<std::int64_t>(b & (sign - 1)) + (b & sign ? -by : by);
      if (magnitude > 0) b = (b & sign) | static_cast<std::uint64_t>(magnitude);
    }
    set_element_bits(out, i, b);
  }
  return out;
}

double unit_of(double x, DType type) {
  const int digits = type == DType::f32      ? 24
                     : type == DType::f16    ? 11
                     : type == DType::bf16   ? 8
                     : type == DType::f8e4m3 ? 4
                                             : 3;
  return x == 0 || !std::isfinite(x) ? 0 : std::ldexp(1, std::ilogb(x) + 1 - digits);
}

// What a fused result may be: what F gives for its operands, and for operands some units away where these are inexact.
struct Allowed {
  std::vector<View> candidates;  // of one type and shape
  double units = 0;              // F's own error
  bool only_class = false;       // NaN or not is all that can be compared
  std::vector<double> products;  // magnitudes of whose rounding a fused product may keep the error; empty: none
};

// Empty if element i is allowed, else what is wrong.
std::string wrong(const View& got, const Allowed& allowed, std::int64_t i) {
  const DType type = got.dtype;
  const std::uint64_t b = element_bits(got, i);
  if (!is_floating(type)) {
    for (const View& c : allowed.candidates) {
      if (element_bits(c, i) == b) return {};
    }
    if (allowed.only_class) return {};
    return std::format("{}, expected {}", value(got, i), value(allowed.candidates[0], i));
  }
  const double r = value(got, i);
  double low = INFINITY, high = -INFINITY;
  bool some_nan = false, negative_zero = true, positive_zero = true;
  for (const View& c : allowed.candidates) {
    const double v = value(c, i);
    if (std::isnan(v)) {
      some_nan = true;
      continue;
    }
    low = std::min(low, v);
    high = std::max(high, v);
    negative_zero &= v == 0 && std::signbit(v);
    positive_zero &= v == 0 && !std::signbit(v);
  }
  const std::string expected = std::format("expected {}", value(allowed.candidates[0], i));
  if (std::isnan(r)) return some_nan ? "" : std::format("nan, {}", expected);
  if (low > high) return std::format("{}, {}", r, expected);
  if (allowed.only_class) return {};
  // The edge of the function's domain lies between the candidates.
  if (some_nan && allowed.units > 0) return {};
  if (r == 0 && ((negative_zero && !std::signbit(r)) || (positive_zero && std::signbit(r)))) {
    return std::format("{}, {}", std::signbit(r) ? "-0" : "+0", expected);
  }
  if (r >= low && r <= high) return {};
  double slack = allowed.units * std::max(unit_of(low, type), unit_of(high, type));
  if (!allowed.products.empty()) {
    slack += allowed.products[static_cast<std::size_t>(i)] * std::ldexp(1, type == DType::f32 ? -22 : -10);
  }
  if (type == DType::f32 || type == DType::bf16) slack += 0x1p-126;
  if (r >= low - slack && r <= high + slack) return {};
  // Near the end of the range a rounding error decides whether a sum overflows.
  const double largest = std::ldexp(1, type == DType::f16 ? 16 : 128);
  const bool may_overflow = allowed.units > 0 || !allowed.products.empty();
  if (may_overflow && std::isinf(r) && std::max(std::abs(low), std::abs(high)) > largest * 0.99) return {};
  return std::format("{}, {}", r, expected);
}

// Tensors of the device from rows of host memory.
Tensor rows(const std::vector<const View*>& parts) {
  const auto n = parts[0]->count();
  const auto size = byte_size(parts[0]->dtype, static_cast<std::uint64_t>(n));
  std::vector<std::byte> bytes;
  for (const View* p : parts) bytes.insert(bytes.end(), p->buffer.data(), p->buffer.data() + size);
  return tensor(parts[0]->dtype, {static_cast<std::int64_t>(parts.size()), n}, bytes);
}

View row_of(const View& all, std::int64_t row) {
  const Shape shape{all.shape()[1]};
  const auto bytes = byte_size(all.dtype, static_cast<std::uint64_t>(shape[0]));
  const View v(Buffer::host(bytes), 0, all.dtype, shape);
  std::memcpy(v.buffer.data(), all.buffer.data() + static_cast<std::uint64_t>(row) * bytes, bytes);
  return v;
}

struct Choice {
  std::size_t f, g, h;
};

// Those of one type: of one operand, and F; and the same computed in f32.
struct Functions {
  std::vector<Form> ones, fs, wide_ones, wide_fs;

  explicit Functions(DType type) : Functions(type, type) {
    if (!is_narrow_float(type)) return;
    Functions wide(type, DType::f32);
    wide_ones = std::move(wide.ones);
    wide_fs = std::move(wide.fs);
  }

 private:
  Functions(DType of, DType type) : ones(functions_of_one(of, type)), fs(functions_of_two(of, type)) {
    fs.insert(fs.end(), ones.begin() + 1, ones.end());
  }
};

constexpr std::size_t kTogether = 8;   // results of one graph
constexpr std::size_t kInFlight = 64;  // graphs that compile at a time

class FusedFunctions : public OnDevice {
 protected:
  // How many values of H there are for each pair of F and G; 0: only some random groups.
  static std::size_t wanted(std::size_t all) {
    const char* text = std::getenv("WEFT_FUSED_PAIRS");
    if (!text) return 0;
    return std::string_view(text) == "all" ? all : std::min(all, static_cast<std::size_t>(std::atoi(text)));
  }
  // Whether this process tests the function of that number.
  static bool is_mine(std::size_t number) {
    const char* text = std::getenv("WEFT_FUSED_PART");
    const char* slash = text ? std::strchr(text, '/') : nullptr;
    if (!slash) return true;
    return number % static_cast<std::size_t>(std::atoi(slash + 1)) == static_cast<std::size_t>(std::atoi(text)) - 1;
  }
  static std::mt19937_64 random(DType type) {
    const char* text = std::getenv("WEFT_RANDOM_SEED");
    return std::mt19937_64((text ? static_cast<std::uint64_t>(std::atoll(text)) : 1) * 64 +
                           static_cast<unsigned>(type));
  }

  // Compares the pairs of one F.
  void compare(DType type, const Functions& all, const Form& f, std::span<const Choice> choices,
               const std::vector<View>& gs, const std::vector<View>& hs, const View& x, const View& y) {
    const std::vector<Form>& ones = all.ones;
    for (std::size_t begin = 0; begin < choices.size(); begin += kTogether * kInFlight) {
      const auto batch = choices.subspan(begin, std::min(choices.size() - begin, kTogether * kInFlight));
      std::vector<View> references = step_by_step(type, ones, f, batch, gs, hs);
      if (is_narrow_float(type)) {
        for (View& v : in_f32(type, all, batch, gs, hs, x, y)) references.push_back(std::move(v));
      }
      std::vector<std::pair<Executable, std::size_t>> executables;
      for (std::size_t k = 0; k < batch.size(); k += kTogether) {
        const auto group = batch.subspan(k, std::min(batch.size() - k, kTogether));
        Graph graph;
        const Tensor gx = graph.input("x", type, x.shape()), gy = graph.input("y", type, y.shape());
        for (std::size_t i = 0; i < group.size(); ++i) {
          const Step fused;
          graph.output(std::format("r{}", i),
                       result(f, ones[group[i].g].apply(gx, gx, fused), ones[group[i].h].apply(gy, gy, fused), fused));
        }
        executables.emplace_back(compile(graph, device), group.size());
      }
      std::size_t at = 0;
      const Tensor tx = tensor_of(x), ty = tensor_of(y);
      std::vector<std::vector<Tensor>> results;
      for (auto& [exe, count] : executables) {
        std::vector<Tensor> outputs;
        const DType made = references.empty() ? type : references[0].dtype;
        for (std::size_t i = 0; i < count; ++i) outputs.emplace_back(device, made, x.shape());
        exe.run(std::array{tx, ty}, outputs);
        results.push_back(std::move(outputs));
      }
      for (const auto& outputs : results) {
        for (const Tensor& output : outputs) {
          check(type, ones, f, batch[at], read_view(output), references, at, gs, hs, x, y);
          ++at;
        }
      }
      if (failures_ > 2000) return;
    }
  }

  void finish() {
    std::string text;
    for (const auto& [what, list] : failed_) text += std::format("{} ({} times): {}\n", what, list.second, list.first);
    EXPECT_EQ(failures_, 0u) << text;
    test::count_problem("fused pairs", failures_ ? std::format("WEFT_FUSED_PAIRS on {}", device.name()) : "");
    failures_ = 0;
    failed_.clear();
  }

  void fail(const std::string& what, const std::string& why) {
    ++failures_;
    auto& entry = failed_[what];
    if (++entry.second == 1) entry.first = why;
  }

  std::size_t failures_ = 0;
  std::map<std::string, std::pair<std::string, int>> failed_;

 private:
  // A unary F takes G alone.
  static Tensor result(const Form& f, const Tensor& a, const Tensor& b, const Step& step) {
    return f.apply(a, f.operands == 1 ? a : b, step);
  }

  static int spread(const Form& form, DType type) {
    if (form.exact || !is_floating(type)) return 0;
    return bits(type) < 32 ? 1 : 4;
  }

  // F of all batch's operands, moved by -spread, 0 and spread where any is inexact: the nine combinations.
  std::vector<View> step_by_step(DType type, const std::vector<Form>& ones, const Form& f,
                                 std::span<const Choice> batch, const std::vector<View>& gs,
                                 const std::vector<View>& hs) {
    const bool inexact = is_floating(type) && std::ranges::any_of(batch, [&](const Choice& c) {
                           return spread(ones[c.g], type) || spread(ones[c.h], type);
                         });
    const Step separate{true};
    std::vector<View> references;
    for (const int i : {0, -1, 1}) {
      for (const int j : {0, -1, 1}) {
        if (!inexact && (i || j)) continue;
        std::vector<View> kept;
        kept.reserve(batch.size() * 2);
        std::vector<const View*> a, b;
        for (const Choice& c : batch) {
          const int by_a = i * spread(ones[c.g], type), by_b = j * spread(ones[c.h], type);
          a.push_back(by_a ? &kept.emplace_back(moved(gs[c.g], by_a)) : &gs[c.g]);
          b.push_back(by_b ? &kept.emplace_back(moved(hs[c.h], by_b)) : &hs[c.h]);
        }
        references.push_back(read_view(result(f, rows(a), rows(b), separate)));
      }
    }
    return references;
  }

  // The same with operands that keep f32, or one of them: what a fused kernel makes of narrow floats.
  std::vector<View> in_f32(DType type, const Functions& all, std::span<const Choice> batch, const std::vector<View>& gs,
                           const std::vector<View>& hs, const View& x, const View& y) {
    const Step separate{true};
    const Form& f = all.wide_fs[batch[0].f];
    const auto wide = [&](const std::function<Tensor(const Choice&)>& of) {
      std::vector<Tensor> parts;
      for (const Choice& c : batch) parts.push_back(separate(expand_dims(of(c), 0)));
      return separate(concat(parts, 0));
    };
    const Tensor tx = separate(weft::cast(tensor_of(x), DType::f32)),
                 ty = separate(weft::cast(tensor_of(y), DType::f32));
    const auto rounded = [&](const View& v) { return separate(weft::cast(tensor_of(v), DType::f32)); };
    const Tensor a[] = {wide([&](const Choice& c) { return all.wide_ones[c.g].apply(tx, tx, separate); }),
                        wide([&](const Choice& c) { return rounded(gs[c.g]); })};
    const Tensor b[] = {wide([&](const Choice& c) { return all.wide_ones[c.h].apply(ty, ty, separate); }),
                        wide([&](const Choice& c) { return rounded(hs[c.h]); })};
    std::vector<View> references;
    for (const auto& [i, j] : {std::pair(0, 0), {0, 1}, {1, 0}}) {
      const Tensor y32 = result(f, a[i], b[j], separate);
      references.push_back(read_view(y32.dtype() == DType::f32 ? separate(weft::cast(y32, type)) : y32));
    }
    return references;
  }

  void check(DType type, const std::vector<Form>& ones, const Form& f, const Choice& c, const View& got,
             const std::vector<View>& references, std::size_t row, const std::vector<View>& gs,
             const std::vector<View>& hs, const View& x, const View& y) {
    Allowed allowed;
    for (const View& r : references) allowed.candidates.push_back(row_of(r, static_cast<std::int64_t>(row)));
    const bool exact = !spread(ones[c.g], type) && (f.operands == 1 || !spread(ones[c.h], type));
    allowed.only_class = f.wild && !exact;
    allowed.units = f.exact ? 0 : bits(type) < 32 ? 1 : 8;
    if (!exact && is_floating(type)) allowed.units += 1;
    if (is_floating(type) && (ones[c.g].product || ones[c.h].product || f.product)) {
      for (std::int64_t i = 0; i < got.count(); ++i) {
        const double p = std::abs(value(gs[c.g], i)), q = f.operands == 1 ? 0 : std::abs(value(hs[c.h], i));
        const double largest = std::max({p, q, f.product ? p * q : 0});
        allowed.products.push_back(std::isfinite(largest) ? largest : 0);
      }
    }
    for (std::int64_t i = 0; i < got.count(); ++i) {
      // The sign of NaN means nothing.
      const bool nan = std::isnan(value(f.operands == 1 ? gs[c.g] : hs[c.h], i));
      if (nan && (f.name == "copysign" || f.name == "signbit")) continue;
      // A fused product does not overflow before the sum.
      const bool overflowed = (std::isinf(value(gs[c.g], i)) && std::isfinite(value(x, i))) ||
                              (std::isinf(value(hs[c.h], i)) && std::isfinite(value(y, i)));
      if (overflowed && !allowed.products.empty()) continue;
      const std::string why = wrong(got, allowed, i);
      if (why.empty()) continue;
      const std::string what =
          f.operands == 1 ? std::format("{} {} of {}", name(type), f.name, ones[c.g].name)
                          : std::format("{} {} of {} and {}", name(type), f.name, ones[c.g].name, ones[c.h].name);
      fail(what, std::format("G = {}, H = {}: {}", value(gs[c.g], i), value(hs[c.h], i), why));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, FusedFunctions, testing::ValuesIn(all_devices()),
                         [](const auto& info) { return info.param; });

TEST_P(FusedFunctions, PairsComputeWhatSingleOperationsDo) {
  constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2,
                              DType::i32, DType::u32, DType::i8,   DType::u8,     DType::i16,
                              DType::u16, DType::i64, DType::u64,  DType::boolean};
  for (const DType type : kTypes) {
    if (leave_out_problem()) continue;
    const Functions all(type);
    const std::vector<Form>&ones = all.ones, &fs = all.fs;
    const auto [x, y] = all_pairs(type);
    std::vector<View> gs, hs;
    const Step separate{true};
    for (const Form& g : ones) {
      gs.push_back(read_view(g.apply(tensor_of(x), tensor_of(x), separate)));
      hs.push_back(read_view(g.apply(tensor_of(y), tensor_of(y), separate)));
    }
    std::mt19937_64 engine = random(type);
    const std::size_t every = wanted(ones.size());
    for (std::size_t f = 0; f < fs.size(); ++f) {
      // Choices in a row have different G and different H, so that no result shares more than operands with another.
      std::vector<Choice> choices;
      const std::size_t shifts = fs[f].operands == 1 ? 1 : std::max<std::size_t>(every, 1);
      const std::size_t start = engine();
      if (!is_mine(f)) continue;
      for (std::size_t s = 0; s < shifts; ++s) {
        for (std::size_t g = 0; g < ones.size(); ++g) choices.push_back({f, g, (g + start + s) % ones.size()});
      }
      if (every == 0) {
        if (engine() % 24 != 0) continue;
        std::ranges::rotate(choices, choices.begin() + static_cast<std::ptrdiff_t>(engine() % choices.size()));
        choices.resize(std::min(choices.size(), kTogether));
      }
      compare(type, all, fs[f], choices, gs, hs, x, y);
    }
    finish();
    if (HasFailure() && every == 0) return;
  }
}

// Powers that f32 can represent are exact: odd numbers to integers while they are below 2^24, such numbers times powers
// of two, and powers of two, with negative exponents too.
TEST_P(FusedFunctions, ExactPowersAreExact) {
  std::vector<float> base, exponent, expected;
  const auto add = [&](double x, double y) {
    const double power = std::pow(x, y);
    if (!std::isnormal(static_cast<float>(power)) || static_cast<float>(power) != power) return;
    base.push_back(static_cast<float>(x));
    exponent.push_back(static_cast<float>(y));
    expected.push_back(static_cast<float>(power));
  };
  for (int n = 2; n <= 15; ++n) {
    for (int odd = 3; std::pow(odd, n) < 0x1p24; odd += 2) {
      for (const double scale : {1.0, -1.0, 0.5, -8.0, 0x1p-7, 0x1p11}) add(odd * scale, n);
    }
  }
  for (int k = -30; k <= 30; ++k) {
    for (int n = -130; n <= 130; ++n) add(std::ldexp(n % 3 ? 1 : -1, k), n);
  }
  for (const double n : {16777216.0, 16777215.0, -16777215.0, 4194305.0, 0.0, 1.0}) {
    add(1, n);
    add(-1, n);
  }
  for (const double x : {3.0, 1.5, 0.1}) add(x, 1), add(x, 0);
  const Tensor got = weft::pow(tensor(base), tensor(exponent));
  EXPECT_EQ(got.read<float>(), expected);
  EXPECT_EQ(weft::floor(weft::pow(tensor(base), tensor(exponent)) + 0.0).read<float>(),
            weft::floor(tensor(expected)).read<float>());
  // Exponents that are numbers, and a square of a square.
  const Tensor whole = tensor(std::vector<float>{1, 2, 3, 5, 7, 24, 9, -11});
  EXPECT_EQ(weft::pow(whole, 3).read<float>(), (std::vector<float>{1, 8, 27, 125, 343, 13824, 729, -1331}));
  EXPECT_EQ(weft::pow(weft::pow(whole, 2), 2).read<float>(),
            (std::vector<float>{1, 16, 81, 625, 2401, 331776, 6561, 14641}));
}

// Divisors that compilers know: multiples divide to integers, and div_rn rounds as IEEE 754 says.
TEST_P(FusedFunctions, KnownDivisors) {
  for (const float c : {3.0f, 5.0f, 7.0f, 10.0f, 15.0f, 49.0f, -11.0f, 0.1f}) {
    SCOPED_TRACE(c);
    std::vector<float> multiples, whole, others, quotients, rests;
    for (int i = -2000; i <= 2000; ++i) {
      if (c != 0.1f) multiples.push_back(c * static_cast<float>(i)), whole.push_back(static_cast<float>(i));
      others.push_back(static_cast<float>(i) * 0.37f);
      quotients.push_back(others.back() / c);
      const float rest = std::fmod(others.back(), c);
      rests.push_back(rest != 0 && (rest < 0) != (c < 0) ? rest + c : rest);
    }
    // Devices that were not tested divide within WGSL's bounds, which are wider.
    const bool exact = !default_device().is_gpu() || !default_device().gpu().capabilities().minimum;
    if (!multiples.empty() && exact) {
      EXPECT_EQ(weft::floor(tensor(multiples) / c).read<float>(), whole);
      EXPECT_EQ(weft::floor((tensor(multiples) + 0.0) / c).read<float>(), whole);
    }
    if (!multiples.empty()) {
      EXPECT_EQ(weft::floor_divide(tensor(multiples), c).read<float>(), whole);
    }
    EXPECT_EQ(weft::div_rn(tensor(others), c).read<float>(), quotients);
    EXPECT_EQ(weft::remainder(tensor(others), c).read<float>(), rests);
  }
}

// A kernel computes again what gave NaN, and rounds there as it did before: 65536 is infinite in f16, and an infinite
// shape with an infinite argument has no value.
TEST_P(FusedFunctions, RoundsAlsoWhereResultsAreNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor a = full({64}, infinity, DType::bf16), x = full({64}, 65536, DType::bf16);
  const auto through_f16 = [](const Tensor& v) { return v.cast(DType::f16).cast(DType::bf16); };
  EXPECT_EQ(weft::is_nan(weft::gammainc(a + x, through_f16(x + 0.0f))).to_vector<bool>(), std::vector<bool>(64, true));
  EXPECT_EQ(weft::is_nan(weft::gammaincc(cumsum(a, 0), through_f16(x + 0.0f))).to_vector<bool>(),
            std::vector<bool>(64, true));
  EXPECT_EQ(weft::gammainc(a, x).to_vector<float>(), std::vector<float>(64, 0));
}

// Squares have exact roots, also that of a number that all elements share.
TEST_P(FusedFunctions, RootsOfSquares) {
  if (default_device().is_gpu() && default_device().gpu().capabilities().minimum) {
    GTEST_SKIP() << "devices that were not tested take roots within WGSL's bounds, which are wider";
  }
  std::vector<float> roots, squares;
  for (int i = 0; i <= 4096; ++i) {
    roots.push_back(static_cast<float>(i) / 16);
    squares.push_back(roots.back() * roots.back());
  }
  EXPECT_EQ(weft::sqrt(tensor(squares)).read<float>(), roots);
  EXPECT_EQ(weft::sqrt(tensor(roots) * tensor(roots)).read<float>(), roots);
  for (const float root : {3.0f, 7.0f, 11.5f}) {
    EXPECT_EQ(weft::sqrt(full({2, 2}, root * root)).read<float>(), std::vector<float>(4, root));
  }
}

// A value that several nodes read is rounded once for all: the largest of values is among them.
TEST_P(FusedFunctions, NarrowValuesAreTheSameForAllTheirReaders) {
  std::mt19937 engine(3);
  std::normal_distribution<float> normal;
  std::vector<float> numbers(64 * 200);
  for (float& v : numbers) v = normal(engine);
  for (const DType type : {DType::f16, DType::bf16, DType::f8e5m2}) {
    const Tensor x = tensor({64, 200}, numbers).cast(type);
    const Tensor y = x * 1.1f + 0.3f;
    EXPECT_EQ((y >= weft::max(y, {1}, true)).any({1}).all().to_vector<bool>(), std::vector{true}) << name(type);
    const Tensor z = weft::sin(x) * 1.7f;
    EXPECT_EQ((z == reshape(weft::min(z, {0}), {1, 200})).any({0}).all().to_vector<bool>(), std::vector{true})
        << name(type);
    const Tensor parts = x * 0.7f;
    EXPECT_EQ((parts.T() == parts.T().cast(DType::f32).cast(type)).all().to_vector<bool>(), std::vector{true});
    // An integer part is that of the rounded value.
    const Tensor near_two = full({8}, 1.9999, DType::f32).cast(type);
    EXPECT_EQ(weft::floor(near_two * 0.99999f).to_vector<float>(),
              weft::floor((near_two * 0.99999f).cast(DType::f32)).to_vector<float>());
  }
}

// A kernel that takes elementwise work before or after it, on x [6, 4, 8, 8].
struct Kernel {
  std::string name;
  bool exact;       // computes no sums
  bool any_number;  // of integers too
  std::function<Tensor(const Tensor& x)> apply;
};

std::vector<Kernel> kernels_around() {
  std::vector<Kernel> list;
  const auto add = [&](std::string name, bool exact, bool any_number, std::function<Tensor(const Tensor&)> f) {
    list.push_back({std::move(name), exact, any_number, std::move(f)});
  };
  struct Reduction {
    const char* name;
    ReduceKind kind;
    bool exact, integers;
  };
  constexpr Reduction kReductions[] = {{"sum", ReduceKind::sum, false, true},
                                       {"mean", ReduceKind::mean, false, false},
                                       {"max", ReduceKind::max, true, true},
                                       {"min", ReduceKind::min, true, true},
                                       {"prod", ReduceKind::prod, false, true},
                                       {"sum_squares", ReduceKind::sum_squares, false, false},
                                       {"l1", ReduceKind::l1, false, false},
                                       {"l2", ReduceKind::l2, false, false},
                                       {"log_sum_exp", ReduceKind::log_sum_exp, false, false}};
  for (const Reduction& r : kReductions) {
    for (const std::vector<int>& axes : {std::vector{3}, std::vector{0}, std::vector{1, 2}}) {
      add(std::format("{} over axis {}", r.name, axes[0]), r.exact, r.integers,
          [=](const Tensor& x) { return reduce(r.kind, x, axes); });
    }
  }
  add("variance", false, false, [](const Tensor& x) { return variance(x, {3}); });
  add("softmax", false, false, [](const Tensor& x) { return softmax(x, -1); });
  add("softmax over axis 1", false, false, [](const Tensor& x) { return softmax(x, 1); });
  add("log_softmax", false, false, [](const Tensor& x) { return log_softmax(x, -1); });
  const auto ones_of = [](const Tensor& x, const Shape& shape) {
    return broadcast_to(Graph::scalar(1, x.dtype()), shape);
  };
  add("layer_norm", false, false,
      [=](const Tensor& x) { return layer_norm(x, ones_of(x, {8}), ones_of(x, {8}), 1e-5); });
  add("rms_norm", false, false, [=](const Tensor& x) { return rms_norm(x, ones_of(x, {8}), 1e-5); });
  add("group_norm", false, false,
      [=](const Tensor& x) { return group_norm(x, ones_of(x, {4}), ones_of(x, {4}), 2, 1e-5); });
  add("matmul", false, false, [=](const Tensor& x) { return matmul(x, ones_of(x, {8, 8})); });
  add("matmul of one row", false, false,
      [=](const Tensor& x) { return matmul(reshape(x, {1, 6 * 4 * 8 * 8}), ones_of(x, {6 * 4 * 8 * 8, 4})); });
  add("conv", false, false,
      [=](const Tensor& x) { return conv(x, ones_of(x, {4, 4, 3, 3}), {}, {.padding = {1, 1}}); });
  add("depthwise conv", false, false,
      [=](const Tensor& x) { return conv(x, ones_of(x, {4, 1, 3, 3}), {}, {.padding = {1, 1}, .groups = 4}); });
  add("max_pool", true, false, [](const Tensor& x) { return max_pool(x, {.window = {3, 3}, .padding = {1, 1}}); });
  add("average_pool", false, false, [](const Tensor& x) { return average_pool(x, {.window = {3, 3}}); });
  add("resize", false, false, [](const Tensor& x) { return upsample(x, {16, 16}, {.mode = ResizeMode::linear}); });
  add("cumsum", false, false, [](const Tensor& x) { return cumsum(x, 3); });
  return list;
}

TEST_P(FusedFunctions, WorkAroundKernelsComputesWhatSingleOperationsDo) {
  const Shape shape{6, 4, 8, 8};
  for (const DType type : {DType::i32, DType::i8, DType::u8, DType::i64, DType::f32, DType::f16, DType::bf16}) {
    if (leave_out_problem()) continue;
    std::mt19937_64 engine = random(type);
    const Functions functions(type);
    const std::vector<Form>&ones = functions.ones, &fs = functions.fs;
    // Entries along axis 0 have no special values, NaN, infinity, infinities of both signs, -0 alone, and large ones.
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
      const std::int64_t entry = i / 256, at = i % 64;
      double v = static_cast<double>(engine() % 9) - (is_signed(type) || is_floating(type) ? 4 : 0);
      if (is_floating(type)) {
        v *= 0.25;
        if (entry == 1 && at % 9 == 4) v = NAN;
        if (entry == 2 && at % 9 == 3) v = INFINITY;
        if (entry == 3 && at % 5 == 0) v = at % 2 ? INFINITY : -INFINITY;
        if (entry == 4) v = -0.0;
      }
      numbers.push_back(v);
    }
    const View x = host_view(type, shape, numbers);
    const std::vector<double> edges = interesting(type);
    std::vector<double> cycled;
    for (std::int64_t i = 0; i < 6 * 4 * 16 * 16; ++i)
      cycled.push_back(edges[static_cast<std::size_t>(i) % edges.size()]);
    const View z = host_view(type, {6 * 4 * 16 * 16}, cycled);
    const Step separate{true}, fused;
    const bool all = wanted(1) > 0;
    for (const Kernel& kernel : kernels_around()) {
      if (!is_floating(type) && !kernel.any_number) continue;
      struct Trial {
        std::size_t f, g, h;
        View reference[3], kernel;
        Executable exe;
        DType made;
        Shape result;
      };
      std::vector<Trial> trials;
      const std::size_t start = engine();
      for (std::size_t f = 0; f < std::max(fs.size(), ones.size()); ++f) {
        if ((!all && engine() % 160 != 0) || !is_mine(f)) continue;
        Trial trial{.f = f % fs.size(), .g = (f + start) % ones.size()};
        do trial.h = engine() % ones.size();
        while (!ones[trial.h].exact);
        const Form& form = fs[trial.f];
        // The operand of F beside the kernel's result, of its shape.
        const auto beside = [&](const Tensor& values, const Shape& like) {
          return reshape(slice(values, 0, 0, element_count(like)), like);
        };
        const auto finish_with = [&](const Tensor& k, const Tensor& values, const Step& step) {
          const Tensor y = back(k, type, step);
          if (form.operands == 1) return form.apply(y, y, step);
          return form.apply(y, ones[trial.h].apply(beside(values, y.shape()), {}, step), step);
        };
        const Tensor k = separate(kernel.apply(separate(ones[trial.g].apply(tensor_of(x), {}, separate))));
        const bool exact = kernel.exact && (ones[trial.g].exact || !is_floating(type));
        const View host = read_view(back(k, type, separate));
        trial.kernel = host;
        for (const int by : {0, -1, 1}) {
          const int units = !is_floating(type) || exact ? 0 : bits(type) < 32 ? (ones[trial.g].exact ? 2 : 16) : 256;
          if (by != 0 && units == 0) continue;
          const View other = by == 0 ? host : moved(host, by * units);
          trial.reference[by + 1] = read_view(finish_with(tensor_of(other), tensor_of(z), separate));
        }
        Graph graph;
        const Tensor gx = graph.input("x", type, shape), gz = graph.input("z", type, z.shape());
        const Tensor y = finish_with(kernel.apply(ones[trial.g].apply(gx, {}, fused)), gz, fused);
        graph.output("y", y);
        trial.made = y.dtype();
        trial.result = y.shape();
        trial.exe = compile(graph, device);
        trials.push_back(std::move(trial));
      }
      const Tensor tx = tensor_of(x), tz = tensor_of(z);
      for (Trial& trial : trials) {
        const Form& form = fs[trial.f];
        const Tensor output(device, trial.made, trial.result);
        trial.exe.run(std::array{tx, tz}, std::array{output});
        const View got = read_view(output);
        const bool exact = !trial.reference[0].buffer;
        Allowed allowed;
        for (const View& r : {trial.reference[1], trial.reference[0], trial.reference[2]}) {
          if (r.buffer) allowed.candidates.push_back(r);
        }
        // Equality is not monotonic: it may hold for a value and for neither of its neighbours.
        const bool sameness = form.name == "equal" || form.name == "not_equal";
        allowed.only_class = !exact && (form.wild || sameness || !is_floating(trial.made));
        allowed.units = exact && form.exact ? 0 : bits(type) < 32 ? 4 : 64;
        if (!exact || form.product) {
          for (std::int64_t i = 0; i < got.count(); ++i) {
            const double v = std::abs(value(allowed.candidates[0], i));
            allowed.products.push_back(std::isfinite(v) ? 64 * std::max(v, 4.0) : 0);
          }
        }
        for (std::int64_t i = 0; i < got.count(); ++i) {
          // A fused product does not overflow before the sum.
          if (form.operands == 2 && ones[trial.h].product && std::abs(value(z, i)) > 1e10 && std::isfinite(value(z, i)))
            continue;
          // Sums that cancel have no digits to compare. A neighbour of a pole may be the pole.
          const double at = value(trial.kernel, i);
          if (!exact && std::abs(at) < 0.0625) continue;
          if (!exact && at < 0 && std::abs(at - std::round(at)) < -at / 8 &&
              (form.name == "digamma" || form.name == "lgamma")) {
            continue;
          }
          const std::string why = wrong(got, allowed, i);
          if (why.empty()) continue;
          fail(std::format("{} {} around {} of {}", name(type), form.name, kernel.name, ones[trial.g].name),
               std::format("element {}, H = {}: {}", i, ones[trial.h].name, why));
        }
      }
    }
    finish();
    if (HasFailure() && !all) return;
  }
}

}  // namespace
}  // namespace weft::test
