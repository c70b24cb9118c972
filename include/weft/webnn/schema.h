// WebNN's operations as data: what each takes, with data types, ranks, options and defaults. Calls are checked by these
// rows, Context::op_support_limits() and the tables of docs/webnn.md are made from them, and GraphBuilder::call() calls
// an operation by its name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/schema.h"

namespace weft::webnn {

enum class ArgumentKind : std::uint8_t {
  operand,   // MLOperand
  operands,  // sequence<MLOperand>
  boolean,
  size,       // [EnforceRange] unsigned long
  integer,    // [EnforceRange] long
  sizes,      // sequence<[EnforceRange] unsigned long>
  splits,     // a size, or a list of them
  number,     // MLNumber: a double, NaN and infinities among them, or an integer of 64 bits
  real,       // double: a finite one
  reals,      // sequence<float>: finite ones
  choice,     // one of an enumeration
  choices,    // sequence of an enumeration
  data_type,  // MLOperandDataType
};
// The kind as messages call it: "a list of unsigned longs".
std::string_view name(ArgumentKind kind);

// What a call is given, and what it gives.
struct ArgumentSchema {
  std::string name;  // "filter", as the specification spells it
  ArgumentKind kind = ArgumentKind::operand;
  bool required = false;  // else it is a member of the options
  // Of operands: the types, or the name of the operand whose type it has, and the ranks.
  TypeSet types = {};
  std::string same_as = {};
  int min_rank = 0, max_rank = kMaxRank;
  // Of others: the default as the documentation shows it (empty: none, absence means something of its own), and the
  // values of an enumeration, the default first.
  std::string default_text = {};
  std::vector<std::string> choices = {};
};

struct OpSchema {
  std::string name;                       // "conv2d"
  std::string section;                    // of the specification: "#api-mlgraphbuilder-conv2d"
  std::vector<ArgumentSchema> arguments;  // the required ones in the order of the call, then the options
  std::vector<ArgumentSchema> outputs;    // kind operand, or operands where there are several of a kind

  // The argument of that name; null if there is none.
  const ArgumentSchema* argument(std::string_view name) const;
  // All types that this operand, or output, may have.
  TypeSet types_of(const ArgumentSchema& operand) const;
};

// All operations, in alphabetical order; one of them by its name, null if there is none.
std::span<const OpSchema> ops();
// The operation of that name; null if there is none.
const OpSchema* find_op(std::string_view name);

// WebNN's name of a data type, "float32", and the type of a name. int4 and uint4 are extensions.
std::string_view data_type_name(DType type);
// The type of that name; nothing if WebNN has none.
std::optional<DType> data_type_from_name(std::string_view name);
// The eight types of the specification, and with int4 and uint4.
inline constexpr TypeSet kDataTypes = {DType::f32, DType::f16, DType::i32, DType::u32,
                                       DType::i64, DType::u64, DType::i8,  DType::u8};
inline constexpr TypeSet kPackedDataTypes = {DType::i4, DType::u4};

}  // namespace weft::webnn
