// The table of scalar operations: name, arity, operand types, result type, WGSL text, derivatives, and the facts by
// which kernels and compiler treat them. CONTRIBUTING.md lists what a new one takes.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "weft/expression.h"

namespace weft::kernels {

// Sets of operand types, by kind.
enum : unsigned {
  kFloat = 1,
  kSigned = 2,
  kUnsigned = 4,
  kBool = 8,
  kInteger = kSigned | kUnsigned,
  kNumber = kFloat | kInteger,
  kBits = kInteger | kBool,
  kAny = kNumber | kBool,
  kComplex = 16,
};

// real: f32 for complex numbers, else the same type.
enum class Yields : std::uint8_t { same, boolean, real, complex };

// A comparison's relation of its first operand to its second.
enum class Relation : std::uint8_t { none, less, less_equal, greater, greater_equal, equal, not_equal };

// The bound of a result's magnitude that follows from bounds of the operands'.
enum class Bound : std::uint8_t {
  unknown,
  operand,          // |x|
  operand_and_one,  // |x| + 1
  one,
  two,
  larger,           // of the operands but a condition
  limits,           // of operands 1 and 2
  sum,              // |a| + |b|
  product,          // |a| |b|
  product_and_sum,  // |a| |b| + |c|
  quotient,         // |a| / |b|
};

// How far results of f32 may be from the exact ones on a GPU: within one of these. Of narrower floats one ULP, if not
// 0.
struct ErrorBound {
  double ulp = 4, absolute = 0, relative = 0;
};

// WGSL of an operation that depends on a narrow float's type.
struct NarrowTexts {
  std::string_view f16, bf16, f8e4m3, f8e5m2;
};

// What is known of an operation besides its types and texts. A row says what differs from these defaults, which are
// right for a function like erfinv.
struct ScalarFacts {
  // Laws by which graphs are simplified; they hold for NaN, infinities and -0 too. Where no pass needs one it may be
  // left out.
  bool commutative = false;       // f(a, b) = f(b, a)
  bool idempotent = false;        // f(f(x)) = f(x); of two operands, f(x, x) = x
  bool involution = false;        // f(f(x)) = x
  std::optional<double> neutral;  // f(x, neutral) = x, and if f commutes f(neutral, x) = x; integers take -0 as 0

  // What drivers assume that take floats for real numbers; opaque_nodes.h says what is hidden from them.
  bool arithmetic = false;      // sums, products, and what is made of them
  bool compound = false;        // cheap, but with arithmetic of its own in its text; costly ones are (is_compound)
  bool cancels_itself = false;  // f(x, x) is a constant, which is wrong for infinities
  bool divides = false;         // by operand 1
  bool changes_sign = false;    // of a number: the magnitude, or the negation
  bool orders = false;          // the smaller or larger of the operands
  std::array<ScalarOp, 4> undoes = {};  // the operations that f inverts; `input` stands for none

  // Values.
  bool exact = false;  // the result of floats is a value of their type: an operand, its sign, an integer part
  bool rounds_to_integer = false;  // an integer part; integers stay what they are
  bool discontinuous = false;      // a small change of an operand, or digits that its type lacks, may change f a lot
  bool keeps_width = false;        // the result of narrow integers is within their type
  bool bitwise = false;            // each bit of the result comes of the operands' bits at its place
  Bound bound = Bound::unknown;    // of floats; truths have `one`
  Relation relation = Relation::none;
  ErrorBound error = {};  // of results that are not `exact`
  // The derivative for operand 0 if the others are numbers; empty: that of `derivatives`.
  std::string_view derivative_by_numbers = {};

  // Operands.
  bool condition = false;                         // the first operand is a bool, whatever the others are
  std::array<std::string_view, 3> operands = {};  // their names in schemas; x; a and b; a, b and c if not given

  // Groups of 16 bytes that a GPU's thread takes, so that some are loaded while others are computed: of a function
  // without a short form 2 (elementwise.cc has measurements).
  int groups = 2;

  // Texts of some types.
  const NarrowTexts* narrow_texts = nullptr;  // of narrow floats, if they differ; else f32's or the short form
  std::string_view bool_text = {};            // of bool, if it differs from that of unsigned integers
};

struct ScalarOpInfo {
  ScalarOp op;
  std::string_view name;
  int arity;
  unsigned types;
  Yields yields;
  float cost;  // time in f32 in units of an exponential: measured on a CPU, where all are vector code
  // $0, $1, $2 stand for the operands, $w for the type's width. An empty text means that of the type before it in this
  // order.
  std::string_view f32;  // floats
  std::string_view i32;  // signed integers of up to 32 bits
  std::string_view u32;  // unsigned ones, and booleans (0 or 1)
  std::string_view i64;  // vec2<u32>, low word first; empty does not mean the texts before
  std::string_view u64;
  std::string_view c64;     // vec2<f32>
  std::string_view narrow;  // floats below 32 bits, if less precision costs less
  // Of a result that is a float: what the cotangent $g of the result gives for each operand, a formula of numbers, the
  // operands, the result $r and functions by name; "0" if that is 0 wherever it is defined. Formulas are linear in $g,
  // and so tangents go the same way; a complex cotangent goes through them as its conjugate. At points without a
  // derivative they give what PyTorch does: 0 at the steps of floor and its kin, for relu and abs at 0; half to each of
  // two equal operands of min and max; clamp at its bounds is inside.
  std::array<std::string_view, 3> derivatives = {};
  ScalarFacts facts = {};

  // The row with these facts.
  constexpr ScalarOpInfo with(const ScalarFacts& of) const {
    ScalarOpInfo row = *this;
    row.facts = of;
    return row;
  }

  bool function() const { return cost >= 0.5f; }  // dozens of instructions, not a few
  bool leaf() const { return op == ScalarOp::input || op == ScalarOp::constant; }
  // Neither a leaf nor a cast: a function of its operands alone.
  bool computes() const { return !leaf() && op != ScalarOp::cast; }
  // True if the text has arithmetic of its own, into which compilers may move that of the operands: exp(x · 3) becomes
  // 2^(x · (3 · log2(e))), 1 / sqrt(1 / x) becomes sqrt(x).
  bool is_compound() const { return facts.compound || (computes() && cost >= 0.2f); }
  bool undoes(ScalarOp of) const {
    return of != ScalarOp::input && std::ranges::find(facts.undoes, of) != facts.undoes.end();
  }
  // True if results of narrow integers need not be wrapped.
  bool keeps_width() const { return facts.keeps_width || yields == Yields::boolean; }
  ErrorBound error() const { return facts.exact ? ErrorBound{.ulp = 0} : facts.error; }
  Bound bound() const { return yields == Yields::boolean || types == kBool ? Bound::one : facts.bound; }
  int first_value() const { return facts.condition ? 1 : 0; }  // the first operand that is no condition
  // The names, without their suffixes, of the library's functions of f32 and of narrow floats.
  std::string_view f32_name() const { return f32.substr(0, f32.find("_f32(")); }
  std::string_view narrow_name() const {
    const std::size_t begin = std::min(narrow.find_first_not_of('-'), narrow.size());
    return narrow.substr(begin, narrow.find("_narrow(") - begin);
  }
};

const ScalarOpInfo& info(ScalarOp op);
// The formula of a derivative where the operand is complex; ScalarOpInfo has that of floats.
std::string_view complex_derivative(ScalarOp op, std::size_t operand);
// Their other names: NumPy's, PyTorch's, C's, ONNX's.
std::span<const std::pair<std::string_view, ScalarOp>> other_names();

// The set that a type belongs to.
unsigned type_set(DType type);
// "float or signed integer", for messages.
std::string type_names(unsigned set);
// True if a cast to a narrow float may go through the nearest f32. Integers that exceed f32's precision are in range
// only for bf16; in the other types they overflow either way.
inline bool casts_by_f32(DType from, DType to) {
  return is_integer(from) ? bits(from) < 32 || to != DType::bf16 : from != DType::f64;
}

}  // namespace weft::kernels
