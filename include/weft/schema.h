// What an operation takes and gives, as data: operands with their data types and ranks, attributes with their defaults,
// results. Kernels are checked against their schemas and called by name through them (weft/kernels/table.h), ops of a
// graph infer their results' types from them; `weft kernels --json` and docs/ are generated from them.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/dtype.h"
#include "weft/number.h"
#include "weft/shape.h"
#include "weft/tensor_type.h"

namespace weft {

// A set of data types.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(DType type) : bits_(1u << static_cast<unsigned>(type)) {}  // NOLINT: implicit
  constexpr TypeSet(std::initializer_list<DType> types) {
    for (const DType t : types) *this = *this | TypeSet(t);
  }

  // True if the type is in the set.
  constexpr bool contains(DType type) const { return bits_ & TypeSet(type).bits_; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr int size() const { return std::popcount(bits_); }
  constexpr DType first() const { return static_cast<DType>(std::countr_zero(bits_)); }  // of a set that is not empty

  friend constexpr TypeSet operator|(TypeSet a, TypeSet b) { return of(a.bits_ | b.bits_); }
  friend constexpr TypeSet operator&(TypeSet a, TypeSet b) { return of(a.bits_ & b.bits_); }
  friend constexpr TypeSet operator-(TypeSet a, TypeSet b) { return of(a.bits_ & ~b.bits_); }
  constexpr bool operator==(const TypeSet&) const = default;

 private:
  static constexpr TypeSet of(std::uint32_t bits) {
    TypeSet s;
    s.bits_ = bits;
    return s;
  }
  std::uint32_t bits_ = 0;
};

// In as few words as possible: "floats, i32", "integers but i4 u4 i2 u2".
std::string to_string(TypeSet types);

namespace types {
inline constexpr TypeSet packed = {DType::i4, DType::u4, DType::i2, DType::u2};  // below a byte
inline constexpr TypeSet floats = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::f8e4m3, DType::f8e5m2};
inline constexpr TypeSet signed_integers = {DType::i8, DType::i16, DType::i32, DType::i64, DType::i4, DType::i2};
inline constexpr TypeSet unsigned_integers = {DType::u8, DType::u16, DType::u32, DType::u64, DType::u4, DType::u2};
inline constexpr TypeSet integers = signed_integers | unsigned_integers;
inline constexpr TypeSet numbers = floats | integers;
inline constexpr TypeSet boolean = DType::boolean;
inline constexpr TypeSet complex = DType::c64;
inline constexpr TypeSet real = numbers | boolean;
inline constexpr TypeSet any = real | complex;
inline constexpr TypeSet indices = integers - packed;                                   // what may choose elements
inline constexpr TypeSet positions = {DType::i32, DType::i64, DType::u32, DType::u64};  // what counts elements
}  // namespace types

enum class Arity : std::uint8_t { one, optional, repeated };  // repeated: one or more of one type; the last of its list

struct OperandSchema {
  std::string name = {};
  Arity arity = Arity::one;
  int min_rank = 0, max_rank = kMaxRank;
  std::string shape = {};     // documentation only: "[..., m, k]", "x's shape"; empty: any
  std::string type = {};      // documentation only, of an op's result: which of the types that signatures allow
  bool takes_number = false;  // of a function: a number may stand in its place (TensorLike)
};

// The data types that one operand may have: any of a set, or that of another operand. Inputs are counted first, then
// outputs.
struct OperandTypes {
  TypeSet set;
  int same_as = -1;

  constexpr OperandTypes(TypeSet types) : set(types) {}  // NOLINT: implicit
  constexpr OperandTypes(DType type) : set(type) {}      // NOLINT
  // The type of another operand, by its index; outputs are counted after the inputs.
  static constexpr OperandTypes as(int operand) {
    OperandTypes t{TypeSet()};
    t.same_as = operand;
    return t;
  }
};

// Data types that go together: one entry for each input, then for each output.
using TypeSignature = std::vector<OperandTypes>;

enum class AttributeKind : std::uint8_t { boolean, integer, number, text, integers, numbers };
// The kind's name, as `weft kernels --json` has it: "integers".
std::string_view name(AttributeKind kind);

// The value of an attribute. Booleans are 1 and 0; a single number also stands for a list of one, and a list of
// integers for one of numbers.
using AttributeValue = std::variant<Number, std::string, std::vector<std::int64_t>, std::vector<double>>;
using AttributeMap = std::map<std::string, AttributeValue, std::less<>>;
// The value as texts of graphs have it: "[1, 2]".
std::string to_string(const AttributeValue& value);

struct AttributeSchema {
  std::string name = {};
  AttributeKind kind = AttributeKind::integer;
  std::optional<AttributeValue> default_value = {};  // none: it must be given
  std::vector<std::string> choices = {};             // of a text
  std::string meaning = {};                          // documentation only: what it sets
  bool optional = false;                             // without a default it may be left out
};
std::string to_string(const AttributeSchema& attribute);  // "axis: integer = -1"

struct Schema {
  std::string name = {};     // "softmax"
  std::string family = {};   // "softmax"
  std::string summary = {};  // a sentence, without its first capital and its full stop
  std::string formula = {};  // "y[i, j] = sum_k a[i, k] b[k, j]", in the names of operands and attributes
  std::vector<OperandSchema> inputs = {}, outputs = {};
  std::vector<TypeSignature> signatures = {};  // the first that fits counts
  std::vector<AttributeSchema> attributes = {};
  std::vector<std::string> other_names = {};  // NumPy's, PyTorch's, ONNX's

  // "x scale? bias?", "parts..."
  std::string inputs_text() const;
  std::string outputs_text() const;
  // "x: floats; y: as x"; several signatures are separated by " or ".
  std::string types_text() const;
  // All types that operand i may have in some signature.
  TypeSet types_of(std::size_t operand) const;
  // The attribute of that name; null if there is none.
  const AttributeSchema* attribute(std::string_view name) const;
};

// Throws InvalidArgument, with `name` for the operation, unless the operands are as many as the schema says, of its
// ranks, and of types that go together. Missing optional operands are null, or left out at the end. Returns the
// signature that fits.
const TypeSignature& check_operands(const Schema& schema, std::string_view name,
                                    std::span<const TensorType* const> inputs,
                                    std::span<const TensorType* const> outputs);
// The same for inputs alone, and for the type of the first output if that is given.
const TypeSignature& check_inputs(const Schema& schema, std::string_view name,
                                  std::span<const TensorType* const> inputs, std::optional<DType> result = {});

// The type of output k for inputs of the signature, where no other is asked for: the only one that there is, that of
// input 0 if it is among them, else the first of the set.
DType result_type(const Schema& schema, const TypeSignature& signature, std::span<const TensorType* const> inputs,
                  std::size_t k = 0);

// The ops of a graph, and one of them by its name; null if there is none. Most are computed by the kernel of their
// name; attributes that say shapes are an op's own.
std::span<const Schema> op_schemas();
// The op of that name; null if there is none.
const Schema* find_op_schema(std::string_view name);
// Functions of tensors that are no op of a graph but made of such, by their names in ascending order.
std::span<const Schema> function_schemas();
// What call() of weft/call.h takes: functions, then ops that have no function of their name, but for those that only
// graphs have or functions of C++ make.
std::vector<const Schema*> callable_schemas();

// The attributes with defaults filled in. Throws InvalidArgument for one that is unknown, missing or of another kind.
AttributeMap complete_attributes(const Schema& schema, const AttributeMap& given);

}  // namespace weft
