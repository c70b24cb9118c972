// The rows of WebNN's operations, a file for each group, and how they are written.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/format.h"
#include "webnn/call.h"

namespace weft::webnn {

using Tensors = std::vector<weft::Tensor>;

struct Op {
  OpSchema schema;
  // One tensor for each result of a call, of whose arguments the values fit the schema, in its order.
  std::function<Tensors(const Call&, std::span<const Value>)> map;
};

// Appended by each group.
void add_elementwise_rows(std::vector<Op>& rows);
void add_activation_rows(std::vector<Op>& rows);
void add_reduction_rows(std::vector<Op>& rows);
void add_normalization_rows(std::vector<Op>& rows);
void add_quantization_rows(std::vector<Op>& rows);
void add_movement_rows(std::vector<Op>& rows);
void add_network_rows(std::vector<Op>& rows);
void add_recurrent_rows(std::vector<Op>& rows);

// In alphabetical order.
const std::vector<Op>& op_rows();
const Op* find_op_row(std::string_view name);

// ---- How rows are written.
inline constexpr TypeSet kFloatTypes = {DType::f32, DType::f16};
inline constexpr TypeSet kSignedTypes = {DType::f32, DType::f16, DType::i32, DType::i64, DType::i8};

inline ArgumentSchema operand(std::string name, TypeSet types, int min_rank = 0, int max_rank = kMaxRank) {
  return {.name = std::move(name), .required = true, .types = types, .min_rank = min_rank, .max_rank = max_rank};
}
inline ArgumentSchema operand_as(std::string name, std::string other, int min_rank = 0, int max_rank = kMaxRank) {
  return {.name = std::move(name),
          .required = true,
          .same_as = std::move(other),
          .min_rank = min_rank,
          .max_rank = max_rank};
}
inline ArgumentSchema result(TypeSet types, int min_rank = 0, int max_rank = kMaxRank, std::string name = "output") {
  return operand(std::move(name), types, min_rank, max_rank);
}
inline ArgumentSchema result_as(std::string other, int min_rank = 0, int max_rank = kMaxRank,
                                std::string name = "output") {
  return operand_as(std::move(name), std::move(other), min_rank, max_rank);
}
// A required argument that is no operand.
inline ArgumentSchema argument(std::string name) { return {.name = std::move(name), .required = true}; }

// A size, or a list of sizes.
using Splits = std::variant<std::int64_t, Sizes>;

// The kind of argument that a parameter of a row's function takes, and the parameter's value.
template <class Parameter>
constexpr ArgumentKind kind_of() {
  if constexpr (std::is_same_v<Parameter, Operand>) return ArgumentKind::operand;
  if constexpr (std::is_same_v<Parameter, std::vector<Operand>>) return ArgumentKind::operands;
  if constexpr (std::is_same_v<Parameter, std::int64_t>) return ArgumentKind::size;
  if constexpr (std::is_same_v<Parameter, Sizes>) return ArgumentKind::sizes;
  if constexpr (std::is_same_v<Parameter, Splits>) return ArgumentKind::splits;
  if constexpr (std::is_same_v<Parameter, DType>) return ArgumentKind::data_type;
}
template <class Parameter>
Parameter value_of(const Value& value) {
  if constexpr (std::is_same_v<Parameter, Splits>) {
    if (const auto* sizes = std::get_if<Sizes>(&value)) return *sizes;
    return value_of<std::int64_t>(value);
  } else if constexpr (std::is_same_v<Parameter, std::int64_t>) {
    return static_cast<std::int64_t>(std::get<Number>(value).value());
  } else {
    return std::get<Parameter>(value);
  }
}

// A row of `schema`, which has the required arguments. `map` takes their values in that order, and the options, a
// struct (weft/webnn/options.h) whose members follow in the schema. It checks what the schema cannot say, by
// Call::fail; an error of the functions that it calls is told as a TypeError of the call.
template <class... Parameters>
Op op_row(OpSchema schema, Tensors (*map)(const Call&, Parameters...)) {
  using Types = std::tuple<std::remove_cvref_t<Parameters>...>;
  constexpr std::size_t count = sizeof...(Parameters) - 1;
  using Options = std::tuple_element_t<count, Types>;
  if (schema.arguments.size() != count) {
    throw InternalError("webnn: {} has {} required arguments, its function takes {}", schema.name,
                        schema.arguments.size(), count);
  }
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    ((schema.arguments[i].kind = kind_of<std::tuple_element_t<i, Types>>()), ...);
    append_schemas<Options>(schema.arguments);
    return Op{std::move(schema), [map](const Call& call, std::span<const Value> values) {
                return map(call, value_of<std::tuple_element_t<i, Types>>(values[i])...,
                           options_of<Options>(values.subspan(count)));
              }};
  }(std::make_index_sequence<count>());
}

// Appends rows of one result: add(name, what follows "#api-mlgraphbuilder-" in the specification's address, …).
struct RowAdder {
  std::vector<Op>& rows;

  template <class Map>
  void operator()(std::string name, std::string_view section, std::vector<ArgumentSchema> arguments,
                  ArgumentSchema output, Map map) const {
    rows.push_back(op_row({.name = std::move(name),
                           .section = std::format("#api-mlgraphbuilder-{}", section),
                           .arguments = std::move(arguments),
                           .outputs = {std::move(output)}},
                          map));
  }
};

// The same rank rules, broadcasting as the specification has it, on sizes. Empty optional: they do not fit.
std::optional<Sizes> broadcast(const Sizes& a, const Sizes& b);  // bidirectionally
bool broadcasts_to(const Sizes& from, const Sizes& to);          // unidirectionally
Shape to_shape(const Sizes& sizes);
Sizes to_sizes(const Shape& shape);

}  // namespace weft::webnn
