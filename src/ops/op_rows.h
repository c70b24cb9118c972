// Rows of the table of ops: each file of ops/ and transform/ adds those of its own.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "graph/op.h"
#include "weft/attributes.h"
#include "weft/schema.h"

namespace weft {

struct OpRow {
  Schema schema;
  // The op with the attributes of these names, whose kinds are the schema's, for operands of these types; attributes
  // that are not named have their defaults.
  std::function<OpPtr(const AttributeMap&, std::span<const TensorType>)> make;
  // Instead, of an op that owns graphs (Op::subgraphs): with these. Throws InvalidArgument for another number of them.
  std::function<OpPtr(const AttributeMap&, std::vector<std::shared_ptr<const Graph>>)> make_of_graphs = {};
  // Sets the attributes that say which of the schema's inputs are there; none: the op asks none of that.
  std::function<void(AttributeMap&, const std::vector<bool>& present)> given = {};
  // What the function of the op's name records, where that is more than the op: promotion, other ops for some types.
  std::function<std::vector<Tensor>(std::span<const Tensor>, const AttributeMap&)> call = {};
};
using OpRows = std::vector<OpRow>;

// A row of ops of class O. `attributes` holds what their name says, such as the kind of a reduction; its fields are the
// schema's attributes. A struct with normalise(name, input types) turns axes that count from the end, and the like,
// into the op's form, and throws for those that do not fit.
template <class O>
OpRow op_row(Schema schema, typename O::AttributesType attributes = {}) {
  schema.attributes = schemas_of(attributes);
  OpRow row;
  using A = typename O::AttributesType;
  if constexpr (requires(A a, const std::vector<bool>& present) { a.given(present); }) {
    row.given = [name = schema.name, attributes](AttributeMap& map, const std::vector<bool>& present) {
      A a = from_map(name, map, attributes);
      a.given(present);
      map = to_map(a);
    };
  }
  row.make = [name = schema.name, attributes = std::move(attributes)](const AttributeMap& given,
                                                                      std::span<const TensorType> inputs) {
    auto a = from_map(name, given, attributes);
    if constexpr (requires { a.normalise(name, inputs); }) a.normalise(name, inputs);
    return make_op<O>(std::move(a));
  };
  row.schema = std::move(schema);
  return row;
}

// The schema of the kernel that computes an op of that name. `shape`, `type`: of its first result, where a graph's is
// not said as the kernel's is.
Schema schema_of_kernel(std::string_view name, std::string shape = {}, std::string type = {});

std::span<const OpRow> op_rows();
// By the op's name; null if no row makes it.
const OpRow* find_op_row(std::string_view name);

// Every void add_<family>_ops(OpRows&) of the files in ops/ and transform/, which the build collects.
std::span<void (*const)(OpRows&)> collected_ops();

}  // namespace weft
