// Operations by name, on tensors and on values of graphs alike: for bindings, files, and programs that choose at run
// time.
//
//   Tensor y = call("softmax", {x}, {{"axis", Number(-1)}})[0];
//
// docs/ops.md and `weft ops` list the operations, their operands, and their attributes with kinds and defaults; in a
// program, op_schemas() and function_schemas() do (weft/schema.h).
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "weft/schema.h"
#include "weft/tensor.h"

namespace weft {

// The results of the operation or function, which are those of the C++ function of that name: operands are promoted as
// there, and numbers may be operands where they may be there. Operands
// come in the schema's order; optional ones that are not given are undefined Tensors, or left out at the end.
// Attributes that are not given have their defaults. Throws InvalidArgument for a name that is none (naming the nearest
// one), for attributes that are unknown, missing or of another kind, and for operands that are too few or too many;
// else what the function throws.
std::vector<Tensor> call(std::string_view name, std::span<const TensorLike> operands,
                         const AttributeMap& attributes = {});
std::vector<Tensor> call(std::string_view name, std::span<const Tensor> operands, const AttributeMap& attributes = {});
std::vector<Tensor> call(std::string_view name, std::initializer_list<TensorLike> operands,
                         const AttributeMap& attributes = {});

}  // namespace weft
