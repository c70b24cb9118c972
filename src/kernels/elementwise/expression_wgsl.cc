#include "kernels/elementwise/expression_wgsl.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/format.h"
#include "kernels/call.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/library.h"
#include "weft/error.h"
#include "weft/small_float.h"

namespace weft::kernels {
namespace {

[[noreturn]] void refuse_f64(std::string_view what) {
  throw Unsupported("{}: f64 cannot compute on a GPU: WGSL has no 64-bit floats; cast to f32, or use the cpu", what);
}

// The family in which a type computes: 'f' f32, 'i' i32, 'u' u32, 'l' i64 and 'm' u64 as vec2<u32>, 'c' complex as
// vec2<f32>.
char family(DType type) {
  if (type == DType::f64) refuse_f64("an operand");
  if (type == DType::i64) return 'l';
  if (type == DType::u64) return 'm';
  switch (type_set(type)) {
    case kFloat:
      return 'f';
    case kSigned:
      return 'i';
    case kComplex:
      return 'c';
    default:
      return 'u';
  }
}

// Converts `value`, of the type's family, to the type: integers wrap, floats round.
std::string wrap(DType type, const std::string& value) {
  const int b = bits(type);
  switch (type) {
    case DType::f16:
      return std::format("unpack2x16float(narrow_f16({})).x", value);
    case DType::bf16:
      return std::format("bitcast<f32>(narrow_bf16({}) << 16u)", value);
    case DType::f8e4m3:
      return std::format("widen_bits(narrow_bits({}, 4u, 3u, true), 4u, 3u, true)", value);
    case DType::f8e5m2:
      return std::format("widen_bits(narrow_bits({}, 5u, 2u, false), 5u, 2u, false)", value);
    case DType::boolean:
      return value;
    default:
      break;
  }
  if (b >= 32) return value;
  if (family(type) == 'i') return std::format("(({} << {}u) >> {}u)", value, 32 - b, 32 - b);
  return std::format("({} & {}u)", value, (1u << b) - 1);
}

std::string f32_text(float f) {
  // The shortest decimal of the largest number denotes a greater one, which Tint rejects.
  const bool plain = std::isnormal(f) && std::abs(f) < std::numeric_limits<float>::max();
  if (plain || std::bit_cast<std::uint32_t>(f) == 0) return std::format("{}f", f);
  return std::format("f32_from_bits(0x{:x}u)", std::bit_cast<std::uint32_t>(f));
}

// The value of a constant of a float type.
float constant_f32(const Expression::Node& node) {
  const std::uint64_t b = node.bits;
  switch (node.type) {
    case DType::f16:
      return float16::from_bits(static_cast<std::uint16_t>(b));
    case DType::bf16:
      return bfloat16::from_bits(static_cast<std::uint16_t>(b));
    case DType::f8e4m3:
      return float8_e4m3::from_bits(static_cast<std::uint8_t>(b));
    case DType::f8e5m2:
      return float8_e5m2::from_bits(static_cast<std::uint8_t>(b));
    default:
      return std::bit_cast<float>(static_cast<std::uint32_t>(b));
  }
}

std::string constant_text(const Expression::Node& node) {
  const std::uint64_t b = node.bits;
  const int width = bits(node.type);
  switch (node.type) {
    case DType::f32:
    case DType::f16:
    case DType::bf16:
    case DType::f8e4m3:
    case DType::f8e5m2:
      return f32_text(constant_f32(node));
    case DType::c64:
      return std::format("vec2<f32>({}, {})", f32_text(std::bit_cast<float>(static_cast<std::uint32_t>(b))),
                         f32_text(std::bit_cast<float>(static_cast<std::uint32_t>(b >> 32))));
    default:
      break;
  }
  switch (family(node.type)) {
    case 'i': {
      const auto value = static_cast<std::int64_t>(b << (64 - width)) >> (64 - width);
      return std::format("i32({})", value);
    }
    case 'u':
      return std::format("{}u", b);
    default:
      return std::format("vec2<u32>({}u, {}u)", static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(b >> 32));
  }
}

std::string cast_text(DType from, DType to, const std::string& x);

// f64 is two words, which only casts support.
std::string cast_from_f64(DType to, const std::string& x) {
  if (to == DType::boolean) return std::format("u32((({0}.y & 0x7fffffffu) | {0}.x) != 0u)", x);
  const int b = bits(to);
  switch (family(to)) {
    case 'c':
      return std::format("vec2<f32>(f32_from_f64({}, false), 0.0)", x);
    case 'f':
      return wrap(to, std::format("f32_from_f64({}, {})", x, b < 32));
    case 'l':
      return std::format("i64_from_f64({})", x);
    case 'm':
      return std::format("u64_from_f64({})", x);
    case 'i':
      return std::format("clamp(i32_from_f64({}), {}, {})", x, -(1ll << (b - 1)), (1ll << (b - 1)) - 1);
    default:
      return std::format("min(u32_from_f64({}), {}u)", x, (1ull << b) - 1);
  }
}
std::string cast_to_f64(DType from, const std::string& x) {
  switch (family(from)) {
    case 'f':
      return std::format("f64_from_f32({})", x);
    case 'l':
      return std::format("f64_from_i64({})", x);
    case 'm':
      return std::format("f64_from_u64({})", x);
    case 'i':
      return std::format("f64_from_i64({})", cast_text(from, DType::i64, x));
    default:
      return std::format("f64_from_u64({})", cast_text(from, DType::u64, x));
  }
}

// An integer as an f32, to be rounded to the float type `to` if that is narrower.
std::string integer_as_f32(DType from, const std::string& x, DType to) {
  const char sign = is_signed(from) ? 'i' : 'u';
  if (!casts_by_f32(from, to)) return std::format("odd_f32_from_{}{}({})", sign, bits(from), x);
  return bits(from) == 64 ? std::format("f32_from_{}64({})", sign, x) : std::format("f32({})", x);
}

std::string cast_text(DType from, DType to, const std::string& x) {
  if (from == DType::f64) return cast_from_f64(to, x);
  if (to == DType::f64 && from != DType::c64) return cast_to_f64(from, x);
  const char f = family(from);
  if (f == 'c') {
    if (to == DType::boolean)
      return std::format("u32(is_not_zero_f32({0}.x, p.opaque_zero) || is_not_zero_f32({0}.y, p.opaque_zero))", x);
    return cast_text(DType::f32, to, x + ".x");
  }
  const char t = family(to);
  if (t == 'c') return std::format("vec2<f32>({}, 0.0)", from == DType::f32 ? x : cast_text(from, DType::f32, x));
  if (to == DType::boolean) {
    if (f == 'f') return std::format("u32(is_not_zero_f32({}, p.opaque_zero))", x);
    return f == 'l' || f == 'm' ? std::format("u32(any({} != vec2<u32>(0u)))", x) : std::format("u32({} != 0)", x);
  }
  const int b = bits(to);
  if (f == 'f') {
    switch (t) {
      case 'f':
        return wrap(to, x);
      case 'i':
        if (b == 32) return std::format("i32_from_f32({})", x);
        return std::format("clamp(i32_from_f32({}), {}, {})", x, -(1 << (b - 1)), (1 << (b - 1)) - 1);
      case 'u':
        if (b == 32) return std::format("u32_from_f32({})", x);
        return std::format("min(u32_from_f32({}), {}u)", x, (1u << b) - 1);
      case 'l':
        return std::format("i64_from_f32({})", x);
      default:
        return std::format("u64_from_f32({})", x);
    }
  }
  if (t == 'f') return wrap(to, integer_as_f32(from, x, to));
  const bool from_64 = f == 'l' || f == 'm';
  if (t == 'l' || t == 'm') {
    if (from_64) return x;
    return f == 'i' ? std::format("vec2<u32>(bitcast<u32>({0}), bitcast<u32>({0} >> 31u))", x)
                    : std::format("vec2<u32>({}, 0u)", x);
  }
  const std::string low = from_64 ? x + ".x" : x;
  return wrap(to, std::format("{}({})", t == 'i' ? "i32" : "u32", low));
}

std::string_view op_text(const ScalarOpInfo& row, char family) {
  switch (family) {
    case 'c':
      return row.c64;
    case 'f':
      return row.f32;
    case 'i':
      return row.i32.empty() ? row.f32 : row.i32;
    case 'u':
      return !row.u32.empty() ? row.u32 : op_text(row, 'i');
    case 'l':
      return row.i64;
    default:
      return row.u64.empty() ? row.i64 : row.u64;
  }
}

// True for operations whose results stay within a narrow integer type.
bool stays(const ScalarOpInfo& row) {
  using enum ScalarOp;
  return row.yields == Yields::boolean || row.op == min || row.op == max || row.op == clamp || row.op == select ||
         row.op == relu || row.op == sign || row.op == bitwise_and || row.op == bitwise_or || row.op == bitwise_xor ||
         row.op == shift_right || row.op == ScalarOp::fmin || row.op == ScalarOp::fmax;
}

// The text of nextafter, the one operation whose result depends on the width of the float.
std::string_view nextafter_text(DType type) {
  switch (type) {
    case DType::f16:
      return "nextafter_f16($0, $1)";
    case DType::bf16:
      return "nextafter_bf16($0, $1)";
    case DType::f8e4m3:
      return "nextafter_narrow($0, $1, 4u, 3u, true)";
    case DType::f8e5m2:
      return "nextafter_narrow($0, $1, 5u, 2u, false)";
    default:
      return info(ScalarOp::nextafter).f32;
  }
}

// The float type for which each node's function is computed: its operands' type, or, if these are f32, the narrow type
// to which the result is rounded on all of its paths, if there are only selections and constant factors on them, so
// that the relative error of the short form is that of the end result. The factors are limited: large ones might
// magnify what the short form flushes to 0.
std::vector<DType> computed_for(const Expression& e) {
  using enum ScalarOp;
  const auto& nodes = e.nodes();
  const auto is_narrow = [](DType type) { return is_floating(type) && bits(type) < 32; };
  std::vector<std::optional<DType>> ends(nodes.size());  // for f32; f32 itself if it is not rounded
  for (const int o : e.outputs()) ends[static_cast<std::size_t>(o)] = DType::f32;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    const Expression::Node& node = nodes[i];
    for (std::size_t k = 0; k < node.args.size() && node.args[k] >= 0; ++k) {
      const auto is_factor = [&](int n) {
        const float c = nodes[n].op == constant ? std::abs(constant_f32(nodes[n])) : 0;
        return c >= 0x1p-20f && c <= 0x1p20f;
      };
      const bool passes =
          node.op == neg || (node.op == select && k > 0) || (node.op == mul && is_factor(node.args[k == 0 ? 1 : 0]));
      const DType end = node.op == cast && is_narrow(node.type) ? node.type : passes && ends[i] ? *ends[i] : DType::f32;
      std::optional<DType>& of = ends[static_cast<std::size_t>(node.args[k])];
      of = !of || *of == end ? end : DType::f32;
    }
  }
  std::vector<DType> types(nodes.size(), DType::f32);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Expression::Node& node = nodes[i];
    if (node.op == input || node.op == constant || node.op == cast) continue;
    types[i] = nodes[static_cast<std::size_t>(node.args[info(node.op).arity - 1])].type;
    if (types[i] == DType::f32 && node.type == DType::f32 && !info(node.op).narrow.empty()) {
      types[i] = ends[i].value_or(DType::f32);
    }
  }
  return types;
}

// The prefix of the names of the node's function if it has a short form for narrow floats; else empty. `type`, here and
// below: the type for which it is computed.
std::string_view narrow_function(const Expression::Node& node, DType type) {
  if (node.op == ScalarOp::input || node.op == ScalarOp::constant || node.op == ScalarOp::cast) return {};
  const std::string_view text = info(node.op).narrow;
  if (text.empty() || !is_floating(type) || bits(type) >= 32) return {};
  const std::size_t begin = text.find_first_not_of('-');
  return text.substr(begin, text.find("_narrow") - begin);
}

// The library's function of the node, and a device-specific form of it that reports the arguments that need the slow
// path; nothing if the device has none.
struct Reporting {
  std::string function, form;
};

std::optional<Reporting> reporting_form(const Expression::Node& node, DType type, const DeviceForms& device_forms) {
  if (node.op == ScalarOp::input || node.op == ScalarOp::constant || node.op == ScalarOp::cast) return {};
  if (!is_floating(node.type)) return {};
  const std::string_view text = info(node.op).f32;
  const std::string name(text.substr(0, text.find("_f32("))), narrow(narrow_function(node, type));
  const Reporting r = narrow.empty() ? Reporting{name + "_f32", name + "_fast"}
                                     : Reporting{narrow + "_narrow", narrow + "_narrow_fast"};
  if (!has_device_form(r.form) || !device_forms(r.form)) return {};
  return r;
}

// True if the function's arguments may have all of f32's range: bf16 values, unrounded results of the kernel, and those
// that become bf16, which has that range.
bool has_wide_arguments(const Expression& expression, const Expression::Node& node, DType type) {
  using enum ScalarOp;
  if (type == DType::bf16) return true;
  return std::ranges::any_of(node.args, [&](int a) {
    if (a < 0) return false;
    const Expression::Node* x = &expression.nodes()[a];
    if (x->type == DType::f32 && x->op == cast) x = &expression.nodes()[x->args[0]];
    const bool fewer = is_floating(x->type) && bits(x->type) < 32 && x->type != DType::bf16;
    return !fewer || (x->op != input && x->op != cast && x->op != constant);
  });
}

// A function's form for narrow floats that leaves the slow path of some arguments to the caller.
struct FastPathForm {
  std::string suffix;  // of the function's name
  std::string far;     // the test of x for the slow path; $ stands for x
};

// Nothing if the function has no short form on the device, or one without exceptions.
std::optional<FastPathForm> fast_path_form(const Expression& expression, const Expression::Node& node, DType type,
                                           const DeviceForms& device_forms) {
  const std::string f(narrow_function(node, type));
  if (f.empty()) return {};
  const bool bf16 = type == DType::bf16;
  if (device_forms(f + "_narrow")) {
    if (bf16 && has_device_form(f + "_brief")) return FastPathForm{"_brief", f + "_brief_far($)"};
    if (has_wide_arguments(expression, node, type) && has_device_form(f + "_wide_far")) {
      return FastPathForm{"_narrow", f + "_wide_far($)"};
    }
    if (has_device_form(f + "_narrow")) return {};
  }
  if (!has_common_form(f + "_fast")) return {};
  return FastPathForm{"_fast", std::format("is_beyond_f32($, {}_reach)", f)};
}

std::vector<bool> live_nodes(const Expression& e) {
  std::vector<bool> live(e.nodes().size(), false);
  for (int o : e.outputs()) live[o] = true;
  for (int i = static_cast<int>(live.size()) - 1; i >= 0; --i) {
    if (!live[i]) continue;
    for (int a : e.nodes()[i].args) {
      if (a >= 0) live[a] = true;
    }
  }
  return live;
}

bool is_zero(const Expression::Node& node) {
  if (node.op != ScalarOp::constant) return false;
  if (node.type == DType::c64) return (node.bits & 0x7fffffff) == 0 || (node.bits >> 32 & 0x7fffffff) == 0;
  if (is_floating(node.type)) return node.bits << (65 - bits(node.type)) == 0;
  return node.bits == 0;
}

// Sums, products and operations made of them, in which drivers assume the algebra of real numbers.
bool is_arithmetic(ScalarOp op) {
  using enum ScalarOp;
  return op == add || op == sub || op == mul || op == ScalarOp::div || op == div_rn || op == ScalarOp::fma ||
         op == ScalarOp::lerp || op == square || op == ScalarOp::complex || op == floor_divide || op == remainder ||
         op == ScalarOp::rem;
}

// Operations that invert others, for real numbers and without overflow.
bool undoes(ScalarOp op, ScalarOp of) {
  using enum ScalarOp;
  constexpr std::pair<ScalarOp, ScalarOp> kPairs[] = {
      {neg, neg},
      {ScalarOp::sqrt, mul},
      {ScalarOp::sqrt, square},
      {mul, ScalarOp::sqrt},
      {square, ScalarOp::sqrt},
      {mul, rsqrt},
      {square, rsqrt},
      {mul, reciprocal},
      {ScalarOp::div, reciprocal},
      {reciprocal, reciprocal},
      {reciprocal, ScalarOp::div},
      {reciprocal, ScalarOp::sqrt},
      {reciprocal, rsqrt},
      {ScalarOp::exp, ScalarOp::log},
      {ScalarOp::log, ScalarOp::exp},
      {ScalarOp::exp2, ScalarOp::log2},
      {ScalarOp::log2, ScalarOp::exp2},
  };
  return std::ranges::find(kPairs, std::pair(op, of)) != std::end(kPairs);
}

bool computes_operands(ExpressionRole role) {
  return role == ExpressionRole::epilogue || role == ExpressionRole::inner;
}
bool feeds_compute(ExpressionRole role) { return role == ExpressionRole::prologue || role == ExpressionRole::inner; }

bool is_leaf(ScalarOp op) { return op == ScalarOp::input || op == ScalarOp::constant; }

// Operations whose text has arithmetic of its own, into which compilers may move that of their operands:
// exp(x · 3) becomes 2^(x · (3 · log2(e))), 1 / sqrt(1 / x) becomes sqrt(x).
bool is_compound(ScalarOp op) {
  if (is_leaf(op) || op == ScalarOp::cast) return false;
  return op == ScalarOp::reciprocal || op == ScalarOp::lerp || info(op).cost >= 0.2f;
}

// The smaller or larger of values.
bool selects_by_order(ScalarOp op) {
  using enum ScalarOp;
  return op == min || op == max || op == ScalarOp::fmin || op == ScalarOp::fmax || op == clamp;
}

// Integers of up to 32 bits with a sign, whose magnitude or negation NVIDIA's compiler loses in what is smaller or
// larger.
bool is_signed_word(DType type) { return is_integer(type) && is_signed(type) && bits(type) <= 32; }
bool changes_sign(ScalarOp op) { return op == ScalarOp::abs || op == ScalarOp::neg; }

// Nodes whose value, or computation, must be hidden from compilers. Some drivers (Mesa's) treat floats as real numbers:
// they simplify x · 0 and 0 / x to 0 and x + 0 to x for any x, (x + c) - c and (x - y) + y to x, x · a · b to
// x · (a · b), sqrt(x)² to |x|. NVIDIA's (580.159) takes results of arithmetic for numbers, so that a maximum or
// minimum of them is never NaN; makes (x + a) · b one fma(x, b, a · b), -(a - b) b - a and a - (b - c) a + (c - b); and
// drops abs and neg of 32-bit integers in maxima, minima and selections.
std::vector<bool> opaque_nodes(const Expression& e, bool reassociates_fp, ExpressionRole role) {
  using enum ScalarOp;
  const auto& nodes = e.nodes();
  const auto is_float = [&](int n) { return is_floating(nodes[n].type) || nodes[n].type == DType::c64; };
  std::vector<bool> known(nodes.size(), false);  // computed from constants only
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    known[i] = nodes[i].op != input &&
               std::ranges::all_of(nodes[i].args, [&](int a) { return a < 0 || known[static_cast<std::size_t>(a)]; });
  }
  const auto is_known = [&](int n) { return known[static_cast<std::size_t>(n)]; };
  // Booleans, and numbers that were made of them.
  const auto is_truth = [&](int n) {
    while (nodes[n].op == cast && nodes[n].type != DType::boolean) n = nodes[n].args[0];
    return nodes[n].type == DType::boolean;
  };
  // Values from which compilers conclude products and quotients: converted integers are neither NaN nor -0, and the
  // product with a truth becomes a selection.
  const auto decides = [&](int n) {
    const Expression::Node& x = nodes[n];
    if (x.op == ScalarOp::select) return is_known(x.args[1]) || is_known(x.args[2]);
    if (x.op != cast) return x.op == constant ? is_zero(x) : is_known(n);
    return x.type == DType::c64 || is_known(n) || is_truth(n);
  };
  const auto shares = [&](const Expression::Node& x, int n) {
    return std::ranges::any_of(nodes[n].args,
                               [&](int a) { return a >= 0 && std::ranges::find(x.args, a) != x.args.end(); });
  };
  const auto has_known = [&](const Expression::Node& x) {
    return std::ranges::any_of(x.args, [&](int a) { return a >= 0 && is_known(a); });
  };
  const auto is_computed = [&](int n) { return !is_leaf(nodes[n].op) && nodes[n].op != cast; };
  // By more than a selection or a change of sign.
  const auto by_arithmetic = [&](int n) {
    return is_computed(n) && (is_arithmetic(nodes[n].op) || is_compound(nodes[n].op) || nodes[n].op == neg);
  };
  std::vector<bool> opaque(nodes.size(), false);
  for (const Expression::Node& node : nodes) {
    for (const int a : node.args) {
      if (a < 0) continue;
      if (is_signed_word(nodes[a].type) && changes_sign(nodes[a].op) &&
          (selects_by_order(node.op) || node.op == ScalarOp::select || info(node.op).yields == Yields::boolean)) {
        opaque[static_cast<std::size_t>(a)] = true;
      }
      if (!is_float(a)) continue;
      const ScalarOp made = nodes[a].op;
      const bool sum = node.op == add || node.op == sub, of_sum = made == add || made == sub || made == neg;
      const bool alike = (sum && of_sum) || (node.op == mul && (made == mul || made == ScalarOp::div || made == neg));
      if ((is_arithmetic(node.op) && decides(a)) || undoes(node.op, made) ||
          (alike && (reassociates_fp || (has_known(node) && has_known(nodes[a])))) ||
          ((alike || (sum && made == mul)) && shares(node, a)) || (selects_by_order(node.op) && is_computed(a)) ||
          ((is_compound(node.op) || node.op == neg) && by_arithmetic(a)) ||
          (node.op == sub && node.args[1] == a && by_arithmetic(a)) ||
          (node.op == mul && of_sum && has_known(node) && has_known(nodes[a]))) {
        opaque[static_cast<std::size_t>(a)] = true;
      }
    }
    // NVIDIA's compiler (580) combines known divisors with the factors that correct a quotient, which then correct
    // nothing: multiples of 7 divided by 7 were no integers.
    if ((node.op == ScalarOp::div || node.op == div_rn) && is_float(node.args[1]) && is_known(node.args[1])) {
      opaque[static_cast<std::size_t>(node.args[1])] = true;
    }
    // Two products with a common factor.
    if ((node.op == add || node.op == sub) && is_float(node.args[0])) {
      const int x = node.args[0], y = node.args[1];
      if (nodes[x].op == mul && nodes[y].op == mul && shares(nodes[x], y)) opaque[static_cast<std::size_t>(y)] = true;
    }
  }
  for (std::size_t i = 0; i < nodes.size() && computes_operands(role); ++i) {
    const bool computed = nodes[i].op == input && (nodes[i].input == 0 || role == ExpressionRole::inner);
    if (computed && (is_float(static_cast<int>(i)) || is_signed_word(nodes[i].type))) opaque[i] = true;
  }
  if (feeds_compute(role)) {
    for (const int o : e.outputs()) {
      const bool changed = is_signed_word(nodes[o].type) && changes_sign(nodes[o].op);
      if ((is_float(o) && is_computed(o)) || changed) opaque[static_cast<std::size_t>(o)] = true;
    }
  }
  return opaque;
}

// True for x - x, x / x and the like, which compilers take for constants although x may be infinite or NaN.
bool meets_itself(const Expression& e, const Expression::Node& node) {
  const bool takes_away = node.op == ScalarOp::sub || node.op == ScalarOp::div || node.op == ScalarOp::floor_divide ||
                          node.op == ScalarOp::remainder || node.op == ScalarOp::rem;
  return takes_away && node.args[0] == node.args[1] &&
         (is_floating(e.nodes()[node.args[0]].type) || e.nodes()[node.args[0]].type == DType::c64);
}

// The value, made opaque to compilers.
std::string opaque_text(DType type, const std::string& value) {
  if (family(type) == 'i') return std::format("bitcast<i32>(bitcast<u32>({}) ^ p.opaque_zero)", value);
  if (type != DType::c64) return std::format("f32_from_bits(bitcast<u32>({}) ^ p.opaque_zero)", value);
  return std::format("bitcast<vec2<f32>>(bitcast<vec2<u32>>({}) ^ vec2<u32>(p.opaque_zero))", value);
}

// The text of a comparison with a constant float that holds for an interval of one sign up to infinity: by its bits,
// which excludes NaN in fewer operations. (NVIDIA's comparisons, 580.159, are right about NaN by themselves, but not as
// conditions of a selection: x <= c ? a : x.) Else empty.
std::string comparison_text(const Expression& e, const Expression::Node& node) {
  using enum ScalarOp;
  if (node.op != less && node.op != less_equal && node.op != greater && node.op != greater_equal) return {};
  if (family(e.nodes()[node.args[0]].type) != 'f') return {};
  const int known = e.nodes()[node.args[1]].op == constant ? 1 : 0;
  const Expression::Node& limit = e.nodes()[node.args[known]];
  if (limit.op != constant) return {};
  const float c = constant_f32(limit);
  const bool below = (node.op == less || node.op == less_equal) == (known == 1);
  const bool itself = node.op == less_equal || node.op == greater_equal;
  const bool outwards = below ? c < 0 : c > 0;  // away from zero
  if (!std::isfinite(c) || !(outwards || (c == 0 && !itself))) return {};
  const std::uint32_t zero = below ? 0x80000000u : 0u;
  const std::uint32_t first = (std::bit_cast<std::uint32_t>(std::abs(c)) | zero) + (itself ? 0 : 1);
  return std::format("u32(is_among_f32(${}, 0x{:x}u, 0x{:x}u))", 1 - known, first, (zero | 0x7f800000u) - first + 1);
}

std::string node_text(const Expression& expression, const Expression::Node& node, DType computed) {
  using enum ScalarOp;
  auto type_of = [&](int k) { return expression.nodes()[node.args[k]].type; };
  auto variable = [&](int k) {
    const std::string name = std::format("v{}", node.args[k]);
    return k == 0 && meets_itself(expression, node) ? opaque_text(type_of(0), name) : name;
  };
  if (node.op == input) return std::format("x{}", node.input);
  if (node.op == constant) return constant_text(node);
  if (node.op == cast) return cast_text(type_of(0), node.type, variable(0));

  const ScalarOpInfo& row = info(node.op);
  const DType type = type_of(row.arity - 1);
  const char computes_as = family(type);
  // Booleans are negated by flipping their one bit.
  if (node.op == bitwise_not && type == DType::boolean) return std::format("(1u - {})", variable(0));
  std::string text;
  const std::string function(narrow_function(node, computed));
  const std::string shorter = comparison_text(expression, node);
  const std::string_view pattern = node.op == ScalarOp::nextafter ? nextafter_text(type)
                                   : !shorter.empty()             ? std::string_view(shorter)
                                   : !function.empty()            ? row.narrow
                                                                  : op_text(row, computes_as);
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '$')
      text += pattern[i];
    else if (pattern[++i] == 'w')
      text += std::to_string(bits(type));
    else
      text += variable(pattern[i] - '0');
  }
  if (!function.empty()) {
    const char* form = has_wide_arguments(expression, node, computed) && has_common_form(function + "_wide") ? "_wide("
                       : computed == DType::bf16 && has_common_form(function + "_bf16")                      ? "_bf16("
                                                                                        : "_narrow(";
    text.replace(text.find("_narrow("), 8, form);
  }
  const bool narrow_integer = is_integer(type) && bits(type) < 32;
  return narrow_integer && !stays(row) ? wrap(type, "(" + text + ")") : text;
}

// The text of each live node; empty for the others.
//
// Casts to narrow floats that are only stored are left to the store, which rounds. A cast to f16 packs and unpacks the
// value, which NVIDIA's compiler (580.159) removes: where the value is used, an opaque zero preserves the rounding.
std::vector<std::string> node_texts(const Expression& e, ExpressionRole role, bool reassociates_fp) {
  const auto& nodes = e.nodes();
  const std::vector<bool> live = live_nodes(e);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto is_f64 = [&](int a) { return a >= 0 && nodes[static_cast<std::size_t>(a)].type == DType::f64; };
    if (live[i] && nodes[i].op != ScalarOp::cast && std::ranges::any_of(nodes[i].args, is_f64)) {
      refuse_f64(weft::name(nodes[i].op));
    }
  }
  std::vector<bool> rounds(nodes.size(), feeds_compute(role));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!live[i]) continue;
    for (int a : nodes[i].args) {
      if (a >= 0) rounds[a] = true;
    }
  }
  const std::vector<bool> opaque = opaque_nodes(e, reassociates_fp, role);
  const std::vector<DType> types = computed_for(e);
  std::vector<std::string> texts(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!live[i]) continue;
    const Expression::Node& node = nodes[i];
    const bool half = node.type == DType::f16;
    const bool narrows = node.op == ScalarOp::cast && is_floating(node.type) && bits(node.type) < 32;
    if (narrows && !half && !rounds[i] && casts_by_f32(nodes[node.args[0]].type, node.type)) {
      texts[i] = cast_text(nodes[node.args[0]].type, DType::f32, std::format("v{}", node.args[0]));
      continue;
    }
    texts[i] = node_text(e, node, types[i]);
    if (node.op == ScalarOp::cast && half && rounds[i]) texts[i].insert(texts[i].rfind(')'), " + p.opaque_zero");
    if (opaque[i]) texts[i] = opaque_text(node.type, texts[i]);
  }
  return texts;
}

// The struct of several outputs, or the single output's type.
std::string result_type(const Expression& e, int width, const std::string& struct_name, std::string& declarations) {
  auto type = [&](DType t) {
    return width == 4 ? std::format("vec4<{}>", compute_type(t)) : std::string(compute_type(t));
  };
  if (e.outputs().size() == 1) return type(e.output_type(0));
  declarations += std::format("struct {} {{\n", struct_name);
  for (std::size_t k = 0; k < e.outputs().size(); ++k) {
    declarations += std::format("  y{}: {},\n", k, type(e.output_type(static_cast<int>(k))));
  }
  declarations += "}\n";
  return struct_name;
}

}  // namespace

bool names_opaque_zero(const Expression& e, bool reassociates_fp, ExpressionRole role) {
  const std::vector<bool> opaque = opaque_nodes(e, reassociates_fp, role);
  return std::ranges::find(opaque, true) != opaque.end() || std::ranges::any_of(e.nodes(), [&](const auto& node) {
           return (node.op == ScalarOp::cast && (node.type == DType::f16 || node.type == DType::boolean)) ||
                  meets_itself(e, node) || (node.op == ScalarOp::reciprocal && node.type == DType::c64);
         });
}

std::string expression_wgsl(const Expression& e, int width, bool reassociates_fp, std::string_view name,
                            ExpressionRole role) {
  if (e.outputs().empty()) throw InvalidArgument("expression: no output is marked");
  const auto& nodes = e.nodes();
  const std::vector<std::string> texts = node_texts(e, role, reassociates_fp);
  std::vector<std::string> types(e.input_count());
  for (const auto& node : nodes) {
    if (node.op == ScalarOp::input) types[node.input] = compute_type(node.type);
  }
  auto signature = [&](std::string_view function, bool vectors, const std::string& result) {
    std::string s = std::format("fn {}(", function);
    for (std::size_t k = 0; k < types.size(); ++k) {
      s += std::format("{}x{}: {}", k ? ", " : "", k, vectors ? std::format("vec4<{}>", types[k]) : types[k]);
    }
    return s + ") -> " + result + " {\n";
  };

  std::string s;
  const bool vectors = width == 4;
  const std::string scalar = vectors ? std::format("{}_1", name) : std::string(name);
  const std::string result = result_type(e, 1, scalar + "_results", s);
  s += signature(scalar, false, result);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!texts[i].empty()) s += std::format("  let v{} = {};\n", i, texts[i]);
  }
  if (e.outputs().size() == 1) {
    s += std::format("  return v{};\n}}\n", e.outputs()[0]);
  } else {
    s += std::format("  return {}(", result);
    for (std::size_t k = 0; k < e.outputs().size(); ++k) s += std::format("{}v{}", k ? ", " : "", e.outputs()[k]);
    s += ");\n}\n";
  }
  if (!vectors) return s;

  // GPUs compute each lane separately anyway: four calls.
  const std::string result4 = result_type(e, 4, std::format("{}_results", name), s);
  s += signature(name, true, result4);
  for (int lane = 0; lane < 4; ++lane) {
    s += std::format("  let r{} = {}(", lane, scalar);
    for (std::size_t k = 0; k < types.size(); ++k) s += std::format("{}x{}[{}]", k ? ", " : "", k, lane);
    s += ");\n";
  }
  auto gather = [&](DType type, std::string_view member) {
    return std::format("vec4<{0}>(r0{1}, r1{1}, r2{1}, r3{1})", compute_type(type), member);
  };
  if (e.outputs().size() == 1) {
    s += std::format("  return {};\n}}\n", gather(e.output_type(0), ""));
  } else {
    s += std::format("  return {}(", result4);
    for (std::size_t k = 0; k < e.outputs().size(); ++k) {
      s += (k ? ", " : "") + gather(e.output_type(static_cast<int>(k)), std::format(".y{}", k));
    }
    s += ");\n}\n";
  }
  return s;
}

bool has_fast_path(const Expression& e, const DeviceForms& device_forms) {
  if (e.outputs().size() != 1) return false;
  const std::vector<DType> types = computed_for(e);
  for (std::size_t i = 0; i < types.size(); ++i) {
    const Expression::Node& node = e.nodes()[i];
    if (reporting_form(node, types[i], device_forms) || fast_path_form(e, node, types[i], device_forms)) return true;
  }
  return false;
}

bool ends_without_ties(const Expression& e) {
  if (e.outputs().size() != 1) return false;
  const Expression::Node& last = e.nodes()[e.outputs()[0]];
  // Roots of sums may be exactly halfway.
  return !narrow_function(last, last.type).empty() && info(last.op).arity == 1;
}

// True if the result is a value of its type before it is rounded: selected from other such values, or an integer part.
bool needs_no_rounding(const Expression& e) {
  using enum ScalarOp;
  if (e.outputs().size() != 1) return false;
  const DType type = e.output_type(0);
  const auto& nodes = e.nodes();
  std::vector<bool> is_of(nodes.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Expression::Node& node = nodes[i];
    const auto all_from = [&](std::size_t first) {
      return std::all_of(node.args.begin() + static_cast<std::ptrdiff_t>(first), node.args.end(),
                         [&](int a) { return a < 0 || is_of[static_cast<std::size_t>(a)]; });
    };
    switch (node.op) {
      case constant:
        is_of[i] = node.type == type || (node.type == DType::f32 && type == DType::bf16 && node.bits << 48 == 0);
        break;
      case input:
        is_of[i] = node.type == type;
        break;
      case cast:
        is_of[i] = (node.type == type || node.type == DType::f32) && all_from(0);
        break;
      case select:
        is_of[i] = all_from(1);
        break;
      case neg:
      case ScalarOp::abs:
      case sign:
      case ScalarOp::ceil:
      case ScalarOp::floor:
      case ScalarOp::trunc:
      case ScalarOp::round:
      case relu:
      case ScalarOp::copysign:
      case min:
      case max:
      case ScalarOp::fmin:
      case ScalarOp::fmax:
      case clamp:
        is_of[i] = all_from(0);
        break;
      default:
        break;
    }
  }
  return is_of[static_cast<std::size_t>(e.outputs()[0])];
}

std::string expression_fast_wgsl(const Expression& e, const DeviceForms& device_forms, bool reassociates_fp) {
  const auto& nodes = e.nodes();
  const std::vector<std::string> texts = node_texts(e, ExpressionRole::map, reassociates_fp);
  const std::vector<DType> types = computed_for(e);
  std::string body;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string text = texts[i];
    if (text.empty()) continue;
    if (const std::optional<FastPathForm> form = fast_path_form(e, nodes[i], types[i], device_forms)) {
      const std::string_view f = narrow_function(nodes[i], types[i]);
      const std::size_t suffix = text.find('_', text.find(f) + f.size());
      text.replace(suffix, text.find('(', suffix) - suffix, form->suffix);
      std::string far = form->far;
      far.replace(far.find('$'), 1, std::format("v{}", nodes[i].args[0]));
      body += std::format("  *far = *far | {};\n", far);
    }
    if (const std::optional<Reporting> r = reporting_form(nodes[i], types[i], device_forms)) {
      const std::size_t call = text.find(r->function + "(");
      text.replace(call, r->function.size(), r->form);
      std::size_t end = call + r->form.size();  // to the closing parenthesis of the call
      for (int depth = 0; depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0, depth > 0;) ++end;
      text.insert(end, ", far");
    }
    body += std::format("  let v{} = {};\n", i, text);
  }
  std::string one = "fn fast_1(", four = "fn expression_fast(", calls;
  for (int k = 0; k < e.input_count(); ++k) {
    DType type = DType::f32;
    for (const auto& node : nodes) {
      if (node.op == ScalarOp::input && node.input == k) type = node.type;
    }
    one += std::format("x{}: {}, ", k, compute_type(type));
    four += std::format("x{}: vec4<{}>, ", k, compute_type(type));
  }
  const std::string_view result = compute_type(e.output_type(0));
  for (int lane = 0; lane < 4; ++lane) {
    calls += std::format("  let r{} = fast_1(", lane);
    for (int k = 0; k < e.input_count(); ++k) calls += std::format("x{}[{}], ", k, lane);
    calls += "far);\n";
  }
  return std::format(
      "{}far: ptr<function, bool>) -> {} {{\n{}  return v{};\n}}\n"
      "{}far: ptr<function, bool>) -> vec4<{}> {{\n{}  return vec4<{}>(r0, r1, r2, r3);\n}}\n",
      one, result, body, e.outputs()[0], four, result, calls, result);
}

}  // namespace weft::kernels
