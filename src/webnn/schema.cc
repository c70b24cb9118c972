#include "weft/webnn/schema.h"

#include <algorithm>
#include <array>

#include "webnn/op_rows.h"

namespace weft::webnn {

namespace {

struct DataTypeName {
  DType type;
  std::string_view name;
};
constexpr std::array kDataTypeNames = {
    DataTypeName{DType::f32, "float32"}, DataTypeName{DType::f16, "float16"}, DataTypeName{DType::i32, "int32"},
    DataTypeName{DType::u32, "uint32"},  DataTypeName{DType::i64, "int64"},   DataTypeName{DType::u64, "uint64"},
    DataTypeName{DType::i8, "int8"},     DataTypeName{DType::u8, "uint8"},    DataTypeName{DType::i4, "int4"},
    DataTypeName{DType::u4, "uint4"},
};

}  // namespace

std::string_view data_type_name(DType type) {
  for (const DataTypeName& row : kDataTypeNames) {
    if (row.type == type) return row.name;
  }
  return weft::name(type);  // of no operand; for messages
}

std::optional<DType> data_type_from_name(std::string_view name) {
  for (const DataTypeName& row : kDataTypeNames) {
    if (row.name == name) return row.type;
  }
  return {};
}

std::string_view name(ArgumentKind kind) {
  static constexpr std::array<std::string_view, 13> kNames = {"an operand",
                                                              "a list of operands",
                                                              "a boolean",
                                                              "an unsigned long",
                                                              "a long",
                                                              "a list of unsigned longs",
                                                              "an unsigned long or a list of them",
                                                              "a number",
                                                              "a finite number",
                                                              "a list of finite numbers",
                                                              "a value of an enumeration",
                                                              "a list of values of an enumeration",
                                                              "a data type"};
  return kNames[static_cast<std::size_t>(kind)];
}

const ArgumentSchema* OpSchema::argument(std::string_view wanted) const {
  for (const auto* list : {&arguments, &outputs}) {
    for (const ArgumentSchema& a : *list) {
      if (a.name == wanted) return &a;
    }
  }
  return nullptr;
}

TypeSet OpSchema::types_of(const ArgumentSchema& operand) const {
  if (operand.same_as.empty()) return operand.types;
  return types_of(*argument(operand.same_as));
}

const std::vector<Op>& op_rows() {
  static const std::vector<Op> rows = [] {
    std::vector<Op> all;
    add_elementwise_rows(all);
    add_activation_rows(all);
    add_reduction_rows(all);
    add_normalization_rows(all);
    add_quantization_rows(all);
    add_movement_rows(all);
    add_network_rows(all);
    add_recurrent_rows(all);
    std::ranges::sort(all, {}, [](const Op& op) { return op.schema.name; });
    return all;
  }();
  return rows;
}

const Op* find_op_row(std::string_view name) {
  const auto& rows = op_rows();
  const auto it =
      std::ranges::lower_bound(rows, name, {}, [](const Op& op) { return std::string_view(op.schema.name); });
  return it != rows.end() && it->schema.name == name ? &*it : nullptr;
}

std::span<const OpSchema> ops() {
  static const std::vector<OpSchema> schemas = [] {
    std::vector<OpSchema> all;
    for (const Op& op : op_rows()) all.push_back(op.schema);
    return all;
  }();
  return schemas;
}

const OpSchema* find_op(std::string_view name) {
  const Op* op = find_op_row(name);
  return op ? &op->schema : nullptr;
}

}  // namespace weft::webnn
