// Operations on single elements: arithmetic, comparisons, logic, functions, casts and choices.
#include <limits>

#include "webnn/message.h"
#include "webnn/op_rows.h"

namespace weft::webnn {

namespace {

struct Row {
  const char* name;
  TypeSet types;
  Map map;
};

// Throws TypeError unless the two operands broadcast bidirectionally.
void check_broadcast(const Call& c, std::string_view a, std::string_view b) {
  if (broadcast(c.shape(a), c.shape(b))) return;
  c.fail("{} is {} and {} {}, expected shapes that broadcast", a, to_string(c.shape(a)), b, to_string(c.shape(b)));
}

template <ScalarOp op>
std::vector<weft::Tensor> binary_map(const Call& c) {
  check_broadcast(c, "a", "b");
  return {binary(op, c.operand("a"), c.operand("b"))};
}
// The same with a result of 0 and 1.
template <ScalarOp op>
std::vector<weft::Tensor> relation_map(const Call& c) {
  check_broadcast(c, "a", "b");
  return {cast(binary(op, c.operand("a"), c.operand("b")), DType::u8)};
}
template <ScalarOp op>
std::vector<weft::Tensor> unary_map(const Call& c) {
  return {unary(op, c.operand("input"))};
}
template <ScalarOp op>
std::vector<weft::Tensor> test_map(const Call& c) {
  return {cast(unary(op, c.operand("a")), DType::u8)};
}

// 1 above 0, -1 below, "0 otherwise": also of NaN, which weft::sign keeps.
std::vector<weft::Tensor> sign_map(const Call& c) {
  const weft::Tensor x = c.operand("input");
  if (!is_floating(x.dtype())) return {sign(x)};
  return {select(is_nan(x), Number(0), sign(x))};
}

constexpr Row kBinary[] = {
    {"add", kDataTypes, binary_map<ScalarOp::add>}, {"sub", kDataTypes, binary_map<ScalarOp::sub>},
    {"mul", kDataTypes, binary_map<ScalarOp::mul>}, {"div", kDataTypes, binary_map<ScalarOp::div>},
    {"max", kDataTypes, binary_map<ScalarOp::max>}, {"min", kDataTypes, binary_map<ScalarOp::min>},
    {"pow", kDataTypes, binary_map<ScalarOp::pow>},
};

constexpr Row kRelations[] = {
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

constexpr Row kTests[] = {
    {"logicalNot", DType::u8, test_map<ScalarOp::logical_not>},
    {"isNaN", kFloatTypes, test_map<ScalarOp::is_nan>},
    {"isInfinite", kFloatTypes, test_map<ScalarOp::is_inf>},
};

constexpr Row kUnary[] = {
    {"abs", kSignedTypes, unary_map<ScalarOp::abs>},
    {"ceil", kFloatTypes, unary_map<ScalarOp::ceil>},
    {"cos", kFloatTypes, unary_map<ScalarOp::cos>},
    {"erf", kFloatTypes, unary_map<ScalarOp::erf>},
    {"exp", kFloatTypes, unary_map<ScalarOp::exp>},
    {"floor", kFloatTypes, unary_map<ScalarOp::floor>},
    {"identity", kDataTypes, [](const Call& c) { return std::vector{c.operand("input")}; }},
    {"log", kFloatTypes, unary_map<ScalarOp::log>},
    {"neg", kSignedTypes, unary_map<ScalarOp::neg>},
    {"reciprocal", kFloatTypes, unary_map<ScalarOp::reciprocal>},
    {"roundEven", kFloatTypes, unary_map<ScalarOp::round>},
    {"sin", kFloatTypes, unary_map<ScalarOp::sin>},
    {"sign", kSignedTypes, sign_map},
    {"sqrt", kFloatTypes, unary_map<ScalarOp::sqrt>},
    {"tan", kFloatTypes, unary_map<ScalarOp::tan>},
};

std::vector<weft::Tensor> cast_map(const Call& c) {
  const DType type = c.data_type("dataType");
  if (!kDataTypes.contains(type)) c.fail("dataType is {}, expected {}", data_type_name(type), names(kDataTypes));
  return {cast(c.operand("input"), type)};
}

// Whether a > b, of numbers that the type holds exactly.
bool greater(const Number& a, const Number& b, DType type) {
  if (is_floating(type)) return a.value() > b.value();
  if (!is_signed(type)) return a.bits(DType::u64) > b.bits(DType::u64);
  return static_cast<std::int64_t>(a.bits(DType::i64)) > static_cast<std::int64_t>(b.bits(DType::i64));
}

std::vector<weft::Tensor> clamp_map(const Call& c) {
  const weft::Tensor x = c.operand("input");
  const DType type = x.dtype();
  const auto limit = [&](std::string_view name) { return cast_number(c.number(name), type); };
  const bool has_min = c.has("minValue"), has_max = c.has("maxValue");
  if (has_min && c.number("minValue").value() == -std::numeric_limits<double>::infinity()) {
    c.fail("minValue is -Infinity, expected a number above it, or none for no minimum");
  }
  if (has_min && has_max) {
    if (greater(limit("minValue"), limit("maxValue"), type)) {
      c.fail("minValue is {} and maxValue {} as {}, expected a minimum that is not greater",
             to_string(limit("minValue")), to_string(limit("maxValue")), data_type_name(type));
    }
    return {clamp(x, limit("minValue"), limit("maxValue"))};
  }
  if (has_min) return {maximum(x, limit("minValue"))};
  if (has_max) return {minimum(x, limit("maxValue"))};
  return {x};
}

std::vector<weft::Tensor> where_map(const Call& c) {
  check_broadcast(c, "trueValue", "falseValue");
  const Sizes values = *broadcast(c.shape("trueValue"), c.shape("falseValue"));
  if (!broadcast(c.shape("condition"), values)) {
    c.fail("condition is {} and the values broadcast to {}, expected shapes that broadcast",
           to_string(c.shape("condition")), to_string(values));
  }
  return {select(cast(c.operand("condition"), DType::boolean), c.operand("trueValue"), c.operand("falseValue"))};
}

}  // namespace

void add_elementwise_rows(std::vector<Op>& rows) {
  for (const Row& row : kBinary) {
    rows.push_back({{.name = row.name,
                     .section = "#api-mlgraphbuilder-binary",
                     .arguments = {operand("a", row.types), operand_as("b", "a")},
                     .outputs = {result_as("a")}},
                    row.map});
  }
  for (const Row& row : kRelations) {
    rows.push_back({{.name = row.name,
                     .section = "#api-mlgraphbuilder-logical",
                     .arguments = {operand("a", row.types), operand_as("b", "a")},
                     .outputs = {result(DType::u8)}},
                    row.map});
  }
  for (const Row& row : kTests) {
    rows.push_back({{.name = row.name,
                     .section = "#api-mlgraphbuilder-logical",
                     .arguments = {operand("a", row.types)},
                     .outputs = {result(DType::u8)}},
                    row.map});
  }
  for (const Row& row : kUnary) {
    rows.push_back({{.name = row.name,
                     .section = "#api-mlgraphbuilder-unary",
                     .arguments = {operand("input", row.types)},
                     .outputs = {result_as("input")}},
                    row.map});
  }
  rows.push_back({{.name = "cast",
                   .section = "#api-mlgraphbuilder-cast",
                   .arguments = {operand("input", kDataTypes), required("dataType", ArgumentKind::data_type)},
                   .outputs = {result(kDataTypes)}},
                  cast_map});
  rows.push_back({{.name = "clamp",
                   .section = "#api-mlgraphbuilder-clamp",
                   .arguments = {operand("input", kDataTypes), option("minValue", ArgumentKind::number),
                                 option("maxValue", ArgumentKind::number)},
                   .outputs = {result_as("input")}},
                  clamp_map});
  rows.push_back({{.name = "where",
                   .section = "#api-mlgraphbuilder-where",
                   .arguments = {operand("condition", DType::u8), operand("trueValue", kDataTypes),
                                 operand_as("falseValue", "trueValue")},
                   .outputs = {result_as("trueValue")}},
                  where_map});
}

}  // namespace weft::webnn
