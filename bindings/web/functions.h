// Functions of the tensor API that are no operations of docs/ops.md, or that have another name there, by their names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exports.h"
#include "weft/axes.h"
#include "weft/dtype.h"
#include "weft/number.h"
#include "weft/schema.h"
#include "weft/tensor.h"

namespace weft::web {

// Values of JSON. Throw InvalidArgument, or what nlohmann's library throws.
DType dtype_named(std::string_view name);
Shape shape_of(const json& sizes);
Number number(const json& value);
AttributeValue attribute(const json& value);

struct Function;

// What a function is called with.
struct Given {
  const Function* function;
  std::vector<Tensor> operands;
  const json& attributes;

  // Operand i; undefined if it is left out.
  const Tensor& operator[](std::size_t i) const;
  // An attribute; null if it is left out.
  const json& at(std::string_view name) const;
  // The same, which must be there.
  const json& need(std::string_view name) const;
  template <class T>
  T get(std::string_view name, T otherwise) const {
    const json& value = at(name);
    return value.is_null() ? otherwise : value.get<T>();
  }
  template <class T>
  std::optional<T> optional(std::string_view name) const {
    const json& value = at(name);
    return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
  }
  Axes axes(std::string_view name = "axes") const;
  DType dtype(DType otherwise = DType::f32) const;
  std::optional<DType> optional_dtype() const;
  Shape shape() const { return shape_of(need("shape")); }
};

struct Function {
  std::string_view name;
  std::string_view operands;  // "x weights?", "parts..."
  std::string_view names;     // of its attributes, in their order
  Tensor (*function)(const Given& given);

  json inputs() const;      // [["x", "one"], …]
  json attributes() const;  // their names
  // Throws InvalidArgument for operands and attributes that it does not have, and what the function throws.
  std::vector<Tensor> call(const Given& given) const;
};

std::span<const Function> named_functions();
// Null if there is none of that name.
const Function* named_function(std::string_view name);

}  // namespace weft::web
