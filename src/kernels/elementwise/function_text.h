// What elementwise functions compute of their operands; documentation only. weft/expression.h has the special cases.
#pragma once

#include <span>
#include <string_view>

namespace weft::kernels {

struct FunctionText {
  std::string_view name, formula, summary;
};
// What a parameter sets, of all functions or of one.
struct ParameterText {
  std::string_view function, name, meaning;
};

std::span<const FunctionText> scalar_texts();     // of each ScalarOp, beside its row (scalar_ops.cc)
std::span<const FunctionText> composite_texts();  // of functions that are made of others (expressions.cc)
std::span<const ParameterText> parameter_texts();

}  // namespace weft::kernels
