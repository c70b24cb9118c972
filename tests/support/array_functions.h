// The functions of the array API standard by their names there, as the cases of tests/reference/arrays.py call them.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft::test {

// A case's operands, of which those that are numbers have no tensor, and its arguments.
struct ArrayCall {
  std::vector<Tensor> tensors;
  nlohmann::json inputs;
  nlohmann::json arguments;
};

using ArrayFunction = std::function<std::vector<Tensor>(const ArrayCall& call)>;
const std::map<std::string, ArrayFunction>& array_functions();

// {"number": 2.5}, {"number": 3} or {"number": true} as what is written so in a program.
TensorLike number_of(const nlohmann::json& input);

}  // namespace weft::test
