// The checked arguments of one call of an operation, for what maps it onto tensors.
#pragma once

#include <format>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/graph.h"
#include "weft/webnn/builder.h"

namespace weft::webnn {

class Call {
 public:
  // `prefix` begins messages: "conv2d [stem]: ". Values are of the kinds of the schema, operands of their types and
  // ranks; they are in the order of schema.arguments.
  Call(const OpSchema& schema, std::string prefix, std::vector<Value> values)
      : schema_(schema), prefix_(std::move(prefix)), values_(std::move(values)) {}

  std::string_view op() const { return schema_.name; }

  // ---- By the argument's name. What an absent option has is its default.
  // Undefined if it is an option that is absent.
  weft::Tensor operand(std::string_view name) const;
  std::vector<weft::Tensor> operands(std::string_view name) const;
  const Sizes& shape(std::string_view name) const;  // of an operand that is there
  DType data_type(std::string_view name) const;     // an operand's, or the value of an argument of that kind
  bool boolean(std::string_view name) const;
  std::int64_t size(std::string_view name) const;   // also of an integer
  bool is_size(std::string_view name) const;        // of splits: whether it is a size, not a list of them
  bool has(std::string_view name) const;            // whether it was given
  const Sizes& sizes(std::string_view name) const;  // that was given
  // The list that was given, or that many times `otherwise`. Throws TypeError unless it has that many elements.
  Sizes sizes(std::string_view name, std::size_t count, std::int64_t otherwise) const;
  const std::vector<double>& reals(std::string_view name) const;  // that were given
  Number number(std::string_view name) const;
  double real(std::string_view name) const;
  std::string_view choice(std::string_view name) const;
  // The list that was given, or `otherwise`.
  std::vector<std::string> choices(std::string_view name, std::vector<std::string> otherwise) const;

  // Throws TypeError unless the axis is below the rank, or unless the axes are, and differ.
  int axis(std::string_view name, int rank) const;
  std::vector<int> axes(std::string_view name, int rank) const;  // that were given

  // A result of the first operand's type for arguments that the specification's steps let pass, though nothing can be
  // computed of them: the operation succeeds, and build() fails with this text for graphs that need the result.
  weft::Tensor unbuildable(const Shape& shape, const std::string& text) const;
  // The results made so, with build()'s messages.
  const std::vector<std::pair<weft::Tensor, std::string>>& all_unbuildable() const { return unbuildable_; }

  // Throws TypeError with the prefix.
  template <class... Args>
  [[noreturn]] void fail(std::format_string<Args...> format, Args&&... args) const {
    refuse(std::format(format, std::forward<Args>(args)...));
  }
  const std::string& prefix() const { return prefix_; }

 private:
  [[noreturn]] void refuse(const std::string& text) const;
  const Value& value(std::string_view name) const;
  const ArgumentSchema& argument(std::string_view name) const;
  std::size_t place(std::string_view name) const;

  const OpSchema& schema_;
  std::string prefix_;
  std::vector<Value> values_;
  mutable std::vector<std::pair<weft::Tensor, std::string>> unbuildable_;
};

// The bits of a number cast to a type as the specification casts options: to nearest even, saturated, NaN to 0 for
// integers. As a Number that the type holds exactly.
Number cast_number(const Number& number, DType type);

}  // namespace weft::webnn
