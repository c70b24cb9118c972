// The schemas of the graph's ops (weft/schema.h), and what ops infer from them.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/schema.h"

namespace weft {

// By the op's name. Throws InternalError for an op that has none.
const Schema& op_schema(std::string_view name);

// The data types of an op's results for these inputs, of which optional ones that are not given are null. `asked`: the
// type of the first result, where it is chosen. Throws InvalidArgument for what the schema does not allow.
std::vector<DType> infer_dtypes(std::string_view op, std::span<const TensorType* const> inputs,
                                std::optional<DType> asked = {});
// Of the first result.
DType infer_dtype(std::string_view op, std::initializer_list<const TensorType*> inputs,
                  std::optional<DType> asked = {});

}  // namespace weft
