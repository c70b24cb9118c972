// Functions of the tensor API that are no operations of docs/ops.md, or that have another form there, by their names.
#pragma once

#include <cstdint>
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

// ---- Values of JSON. What it has no words for is {"number": "Infinity"}: infinities, NaN, -0 and integers past 2^53.
// All throw InvalidArgument, which says what the value was to be.
DType dtype_named(std::string_view name);
// Also of booleans, which are 1 and 0.
Number number(const json& value, std::string_view what = "a value");
std::int64_t integer(const json& value, std::string_view what);
// That of random numbers: an integer from 0 to 2^64 - 1.
std::uint64_t seed(const json& value, std::string_view what);
std::vector<std::int64_t> integers(const json& value, std::string_view what);
Shape shape_of(const json& sizes);
AttributeValue attribute(const json& value, std::string_view what);
// An operand that is a number.
TensorLike number_operand(const json& value);
// An attribute as JavaScript and its types know it: {"name", "kind", "choices"}, of a text the last only if it has some;
// the kind is that of AttributeKind, "dtype" for the name of a data type, or "indices".
json described(std::string_view name, std::string_view kind, std::span<const std::string_view> choices = {});
json described(const AttributeSchema& attribute);

struct Function;

// What a function is called with.
class Given {
 public:
  Given(const Function& function, std::vector<TensorLike> operands, const json& attributes)
      : function_(function), operands_(std::move(operands)), attributes_(attributes) {}

  std::span<const TensorLike> operands() const { return operands_; }
  const json& attributes() const { return attributes_; }
  // Operand i, which must be no number; undefined if it is left out.
  const Tensor& operator[](std::size_t i) const;
  // Operand i, which may be a number.
  const TensorLike& like(std::size_t i) const { return operands_.at(i); }
  // The operands from i on, which are tensors.
  std::vector<Tensor> tensors(std::size_t i = 0) const;

  bool has(std::string_view name) const { return !at(name).is_null(); }
  // Attributes, which must be there if they have no other value.
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> otherwise = {}) const;
  int axis(std::string_view name = "axis", std::optional<int> otherwise = -1) const;
  double real(std::string_view name, std::optional<double> otherwise = {}) const;
  bool flag(std::string_view name, bool otherwise = false) const;
  std::string text(std::string_view name) const;
  // A text that is one of the attribute's choices: which; the first one if it is left out.
  std::size_t choice(std::string_view name) const;
  Number number(std::string_view name) const;
  std::optional<std::int64_t> optional_integer(std::string_view name) const;
  std::optional<int> optional_axis(std::string_view name = "axis") const;
  std::optional<double> optional_real(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  Axes axes(std::string_view name = "axes") const;
  Shape shape(std::string_view name = "shape") const;
  DType dtype(DType otherwise = DType::f32) const;
  std::optional<DType> optional_dtype() const;
  // The value itself; null if it is left out, unless it is needed.
  const json& at(std::string_view name) const;
  const json& need(std::string_view name) const;

 private:
  std::string described(std::string_view attribute) const;  // "softmax: axis"

  const Function& function_;
  std::vector<TensorLike> operands_;
  const json& attributes_;
};

struct Function {
  std::string_view name;
  std::string_view operands;  // "x weights?", "parts..."
  std::string_view names;     // of its attributes, in their order
  Tensor (*one)(const Given& given) = nullptr;
  std::vector<Tensor> (*several)(const Given& given) = nullptr;  // where it has a list of results

  json inputs() const;      // [["x", "one"], …]
  json attributes() const;  // described
  // Throws InvalidArgument for operands and attributes that it does not have, and what the function throws.
  std::vector<Tensor> call(const Given& given) const;
};

std::span<const Function> named_functions();
// Null if there is none of that name.
const Function* named_function(std::string_view name);

}  // namespace weft::web
