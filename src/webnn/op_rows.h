// The rows of WebNN's operations, a file for each group, and how they are written.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "webnn/call.h"

namespace weft::webnn {

// Maps a checked call onto tensors: one for each result. It checks what the schema cannot say, by Call::fail. An error
// of the functions below is told as a TypeError of the call.
using Map = std::vector<weft::Tensor> (*)(const Call& call);

struct Op {
  OpSchema schema;
  Map map;
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

// ---- How rows are written: required arguments, then options.
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
inline ArgumentSchema optional(ArgumentSchema argument) {
  argument.required = false;
  return argument;
}
// Required ones.
inline ArgumentSchema required(std::string name, ArgumentKind kind) {
  return {.name = std::move(name), .kind = kind, .required = true};
}
// Options: with a default as the documentation shows it, or "" if there is none.
inline ArgumentSchema option(std::string name, ArgumentKind kind, std::string default_text = {}) {
  return {.name = std::move(name), .kind = kind, .default_text = std::move(default_text)};
}
inline ArgumentSchema option(std::string name, std::vector<std::string> choices) {
  std::string first = choices.front();
  return {.name = std::move(name),
          .kind = ArgumentKind::choice,
          .default_text = std::move(first),
          .choices = std::move(choices)};
}
inline ArgumentSchema result(TypeSet types, int min_rank = 0, int max_rank = kMaxRank, std::string name = "output") {
  return operand(std::move(name), types, min_rank, max_rank);
}
inline ArgumentSchema result_as(std::string other, int min_rank = 0, int max_rank = kMaxRank,
                                std::string name = "output") {
  return operand_as(std::move(name), std::move(other), min_rank, max_rank);
}

// The same rank rules, broadcasting as the specification has it, on sizes. Empty optional: they do not fit.
std::optional<Sizes> broadcast(const Sizes& a, const Sizes& b);  // bidirectionally
bool broadcasts_to(const Sizes& from, const Sizes& to);          // unidirectionally
Shape to_shape(const Sizes& sizes);
Sizes to_sizes(const Shape& shape);

}  // namespace weft::webnn
