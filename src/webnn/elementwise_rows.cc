// Operations on single elements: arithmetic, comparisons, logic, functions, casts and choices.
#include <limits>

#include "webnn/message.h"
#include "webnn/op_rows.h"

namespace weft::webnn {

namespace {

// Throws TypeError unless the two operands broadcast bidirectionally.
void check_broadcast(const Call& c, std::string_view a_name, const Operand& a, std::string_view b_name,
                     const Operand& b) {
  if (broadcast(a.shape(), b.shape())) return;
  c.fail("{} is {} and {} {}, expected shapes that broadcast", a_name, to_string(a.shape()), b_name,
         to_string(b.shape()));
}

template <ScalarOp op>
Tensors binary_map(const Call& c, const Operand& a, const Operand& b, const OperatorOptions&) {
  check_broadcast(c, "a", a, "b", b);
  return {binary(op, tensor_of(a), tensor_of(b))};
}
// The same with a result of 0 and 1.
template <ScalarOp op>
Tensors relation_map(const Call& c, const Operand& a, const Operand& b, const OperatorOptions&) {
  check_broadcast(c, "a", a, "b", b);
  return {cast(binary(op, tensor_of(a), tensor_of(b)), DType::u8)};
}
template <ScalarOp op>
Tensors unary_map(const Call&, const Operand& input, const OperatorOptions&) {
  return {unary(op, tensor_of(input))};
}
template <ScalarOp op>
Tensors test_map(const Call&, const Operand& a, const OperatorOptions&) {
  return {cast(unary(op, tensor_of(a)), DType::u8)};
}

Tensors identity_map(const Call&, const Operand& input, const OperatorOptions&) { return {tensor_of(input)}; }

// 1 above 0, -1 below, "0 otherwise": also of NaN, which weft::sign keeps.
Tensors sign_map(const Call&, const Operand& input, const OperatorOptions&) {
  const weft::Tensor x = tensor_of(input);
  if (!is_floating(x.dtype())) return {sign(x)};
  return {select(is_nan(x), Number(0), sign(x))};
}

struct UnaryRow {
  const char* name;
  TypeSet types;
  Tensors (*map)(const Call&, const Operand&, const OperatorOptions&);
};
struct BinaryRow {
  const char* name;
  TypeSet types;
  Tensors (*map)(const Call&, const Operand&, const Operand&, const OperatorOptions&);
};

constexpr BinaryRow kBinary[] = {
    {"add", kDataTypes, binary_map<ScalarOp::add>}, {"sub", kDataTypes, binary_map<ScalarOp::sub>},
    {"mul", kDataTypes, binary_map<ScalarOp::mul>}, {"div", kDataTypes, binary_map<ScalarOp::div>},
    {"max", kDataTypes, binary_map<ScalarOp::max>}, {"min", kDataTypes, binary_map<ScalarOp::min>},
    {"pow", kDataTypes, binary_map<ScalarOp::pow>},
};

constexpr BinaryRow kRelations[] = {
    {"equal", kDataTypes, relation_map<ScalarOp::equal>},
    {"notEqual", kDataTypes, relation_map<ScalarOp::not_equal>},
    {"greater", kDataTypes, relation_map<ScalarOp::greater>},
    {"greaterOrEqual", kDataTypes, relation_map<ScalarOp::greater_equal>},
    {"lesser", kDataTypes, relation_map<ScalarOp::less>},
    {"lesserOrEqual", kDataTypes, relation_map<ScalarOp::less_equal>},
    {"logicalAnd", DType::u8, relation_map<ScalarOp::logical_and>},
    {"logicalOr", DType::u8, relation_map<ScalarOp::logical_or>},
    {"logicalXor", DType::u8, relation_map<ScalarOp::logical_xor>},
};

constexpr UnaryRow kTests[] = {
    {"logicalNot", DType::u8, test_map<ScalarOp::logical_not>},
    {"isNaN", kFloatTypes, test_map<ScalarOp::is_nan>},
    {"isInfinite", kFloatTypes, test_map<ScalarOp::is_inf>},
};

constexpr UnaryRow kUnary[] = {
    {"abs", kSignedTypes, unary_map<ScalarOp::abs>},
    {"ceil", kFloatTypes, unary_map<ScalarOp::ceil>},
    {"cos", kFloatTypes, unary_map<ScalarOp::cos>},
    {"erf", kFloatTypes, unary_map<ScalarOp::erf>},
    {"exp", kFloatTypes, unary_map<ScalarOp::exp>},
    {"floor", kFloatTypes, unary_map<ScalarOp::floor>},
    {"identity", kDataTypes, identity_map},
    {"log", kFloatTypes, unary_map<ScalarOp::log>},
    {"neg", kSignedTypes, unary_map<ScalarOp::neg>},
    {"reciprocal", kFloatTypes, unary_map<ScalarOp::reciprocal>},
    {"roundEven", kFloatTypes, unary_map<ScalarOp::round>},
    {"sin", kFloatTypes, unary_map<ScalarOp::sin>},
    {"sign", kSignedTypes, sign_map},
    {"sqrt", kFloatTypes, unary_map<ScalarOp::sqrt>},
    {"tan", kFloatTypes, unary_map<ScalarOp::tan>},
};

Tensors cast_map(const Call& c, const Operand& input, DType type, const OperatorOptions&) {
  if (!kDataTypes.contains(type)) c.fail("dataType is {}, expected {}", data_type_name(type), names(kDataTypes));
  return {cast(tensor_of(input), type)};
}

// Whether a > b, of numbers that the type holds exactly.
bool greater(const Number& a, const Number& b, DType type) {
  if (is_floating(type)) return a.value() > b.value();
  if (!is_signed(type)) return a.bits(DType::u64) > b.bits(DType::u64);
  return static_cast<std::int64_t>(a.bits(DType::i64)) > static_cast<std::int64_t>(b.bits(DType::i64));
}

Tensors clamp_map(const Call& c, const Operand& input, const ClampOptions& o) {
  const weft::Tensor x = tensor_of(input);
  const DType type = x.dtype();
  if (o.min_value && o.min_value->value() == -std::numeric_limits<double>::infinity()) {
    c.fail("minValue is -Infinity, expected a number above it, or none for no minimum");
  }
  std::optional<Number> least, most;
  if (o.min_value) least = cast_number(*o.min_value, type);
  if (o.max_value) most = cast_number(*o.max_value, type);
  if (least && most) {
    if (greater(*least, *most, type)) {
      c.fail("minValue is {} and maxValue {} as {}, expected a minimum that is not greater", to_string(*least),
             to_string(*most), data_type_name(type));
    }
    return {clamp(x, *least, *most)};
  }
  if (least) return {maximum(x, *least)};
  if (most) return {minimum(x, *most)};
  return {x};
}

Tensors where_map(const Call& c, const Operand& condition, const Operand& true_value, const Operand& false_value,
                  const OperatorOptions&) {
  check_broadcast(c, "trueValue", true_value, "falseValue", false_value);
  const Sizes values = *broadcast(true_value.shape(), false_value.shape());
  if (!broadcast(condition.shape(), values)) {
    c.fail("condition is {} and the values broadcast to {}, expected shapes that broadcast",
           to_string(condition.shape()), to_string(values));
  }
  return {select(cast(tensor_of(condition), DType::boolean), tensor_of(true_value), tensor_of(false_value))};
}

}  // namespace

void add_elementwise_rows(std::vector<Op>& rows) {
  const auto binary = [&](const BinaryRow& row, const char* section, ArgumentSchema output) {
    rows.push_back(op_row({.name = row.name,
                           .section = section,
                           .arguments = {operand("a", row.types), operand_as("b", "a")},
                           .outputs = {std::move(output)}},
                          row.map));
  };
  for (const BinaryRow& row : kBinary) binary(row, "#api-mlgraphbuilder-binary", result_as("a"));
  for (const BinaryRow& row : kRelations) binary(row, "#api-mlgraphbuilder-logical", result(DType::u8));
  for (const UnaryRow& row : kTests) {
    rows.push_back(op_row({.name = row.name,
                           .section = "#api-mlgraphbuilder-logical",
                           .arguments = {operand("a", row.types)},
                           .outputs = {result(DType::u8)}},
                          row.map));
  }
  for (const UnaryRow& row : kUnary) {
    rows.push_back(op_row({.name = row.name,
                           .section = "#api-mlgraphbuilder-unary",
                           .arguments = {operand("input", row.types)},
                           .outputs = {result_as("input")}},
                          row.map));
  }
  rows.push_back(op_row({.name = "cast",
                         .section = "#api-mlgraphbuilder-cast",
                         .arguments = {operand("input", kDataTypes), argument("dataType")},
                         .outputs = {result(kDataTypes)}},
                        cast_map));
  rows.push_back(op_row({.name = "clamp",
                         .section = "#api-mlgraphbuilder-clamp",
                         .arguments = {operand("input", kDataTypes)},
                         .outputs = {result_as("input")}},
                        clamp_map));
  rows.push_back(op_row({.name = "where",
                         .section = "#api-mlgraphbuilder-where",
                         .arguments = {operand("condition", DType::u8), operand("trueValue", kDataTypes),
                                       operand_as("falseValue", "trueValue")},
                         .outputs = {result_as("trueValue")}},
                        where_map));
}

}  // namespace weft::webnn
