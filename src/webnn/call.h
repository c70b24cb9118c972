// One call of an operation, for what maps it onto tensors.
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
  // `prefix` begins messages: "conv2d [stem]: ".
  explicit Call(std::string prefix) : prefix_(std::move(prefix)) {}

  // A result for arguments that the specification's steps let pass, though nothing can be computed of them: the
  // operation succeeds, and build() fails with this text for graphs that need the result.
  weft::Tensor unbuildable(const TensorType& type, const std::string& text) const;
  // The results made so, with build()'s messages.
  const std::vector<std::pair<weft::Tensor, std::string>>& all_unbuildable() const { return unbuildable_; }

  // Throws TypeError with the prefix.
  template <class... Args>
  [[noreturn]] void fail(std::format_string<Args...> format, Args&&... args) const {
    refuse(std::format(format, std::forward<Args>(args)...));
  }

 private:
  [[noreturn]] void refuse(const std::string& text) const;

  std::string prefix_;
  mutable std::vector<std::pair<weft::Tensor, std::string>> unbuildable_;
};

// An operand's; undefined if it is an option that is absent.
weft::Tensor tensor_of(const Operand& operand);

// The bits of a number cast to a type as the specification casts options: to nearest even, saturated, NaN to 0 for
// integers. As a Number that the type holds exactly.
Number cast_number(const Number& number, DType type);

}  // namespace weft::webnn
