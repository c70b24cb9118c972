// Functions and operations by their names, as JavaScript calls them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exports.h"
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
// ---- Functions and operations of docs/ops.md, and what only JavaScript has: at() and with_at().

// Of each its name, operands and attributes, and how many results it has (0: a list):
// [{"name", "inputs": [["x", "one"], …], "outputs", "attributes": [{"name", "kind", "choices"}, …]}, …]. Choices stand
// only where a text has some; the kind is that of AttributeKind, or "indices".
json described_functions();
// The results of the one of that name; attributes are an object of JSON. Throws what weft::call() throws.
std::vector<Tensor> call_function(std::string_view name, const std::vector<TensorLike>& operands,
                                  const json& attributes);

}  // namespace weft::web
