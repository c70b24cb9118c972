// What a row of an operation of Weft sees of a node of a graph that is written as ONNX, and the rows.
//
// They are the rows of operators read backwards, and stand beside them in the files of these. What ONNX has an operator
// for becomes that one. Other operations become functions of the model, whose bodies are made of ONNX's operators, and
// which say in their metadata what they are in Weft: other programs compute the body, Weft the operation itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/format.h"
#include "onnx/wire_writer.h"
#include "weft/attributes.h"
#include "weft/dtype.h"
#include "weft/tensor.h"
#include "weft/tensor_data.h"
#include "weft/tensor_type.h"

namespace weft {
class Node;
class Op;
}  // namespace weft

namespace weft::onnx {

using ValueNames = std::vector<std::string>;

// The domain of the functions, and in their metadata the keys of the operation and of its attributes:
// "weft.operation", "weft.attribute.axis". (Others have "op" among their attributes.)
inline constexpr std::string_view kWeftDomain = "weft", kOpKey = "weft.operation", kAttributePrefix = "weft.attribute.";

// The operation that a function's metadata name, for operands of these types; null: none that this version has.
struct FunctionProto;
std::shared_ptr<const Op> op_of_function(const FunctionProto& function, std::span<const TensorType> inputs);

class GraphWriter;
struct WrittenGraph;  // of an attribute

struct WrittenAttribute {
  using Value = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                             std::vector<std::string>, TensorData, std::shared_ptr<const WrittenGraph>>;
  std::string name;
  Value value;
};
using WrittenAttributes = std::vector<WrittenAttribute>;

// An operation with its operands, whose values have names. Functions that add nodes return the names of the results.
class Written {
 public:
  Written(GraphWriter& writer, std::string_view op, const AttributeMap& attributes, std::vector<TensorType> types,
          std::vector<TensorType> results, ValueNames names, const weft::Node* node = nullptr)
      : writer_(writer),
        op_(op),
        attributes_(attributes),
        types_(std::move(types)),
        results_(std::move(results)),
        names_(std::move(names)),
        node_(node) {}

  std::string_view op() const { return op_; }
  // Null where the operation is one of single elements, in an expression.
  const weft::Node* node() const { return node_; }

  // ---- Operands and results
  std::size_t size() const { return names_.size(); }
  const std::string& in(std::size_t i = 0) const { return names_.at(i); }
  const ValueNames& all() const { return names_; }
  const TensorType& type(std::size_t i = 0) const { return types_.at(i); }
  DType dtype(std::size_t i = 0) const { return type(i).dtype; }
  const Shape& shape(std::size_t i = 0) const { return type(i).shape; }
  int rank(std::size_t i = 0) const { return shape(i).rank(); }
  const TensorType& result(std::size_t i = 0) const { return results_.at(i); }
  std::size_t results() const { return results_.size(); }
  // The elements of an operand that is a constant; none: it is not, or has more than 65,536 elements.
  std::optional<TensorData> constant_operand(std::size_t i) const;

  // ---- Attributes, which the op lists. Those that it does not list are false, 0 or empty.
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name) const;
  bool flag(std::string_view name) const { return integer(name) != 0; }
  std::string text(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  bool has(std::string_view name) const { return attributes_.contains(name); }
  const AttributeValue* attribute(std::string_view name) const {  // null: it does not list it
    const auto it = attributes_.find(name);
    return it == attributes_.end() ? nullptr : &it->second;
  }

  // ---- Nodes
  ValueNames nodes(std::string_view op, std::span<const std::string> inputs, std::size_t results,
                   WrittenAttributes attributes = {}) const;
  std::string node(std::string_view op, std::initializer_list<std::string> inputs,
                   WrittenAttributes attributes = {}) const {
    return nodes(op, std::span(inputs.begin(), inputs.size()), 1, std::move(attributes))[0];
  }
  std::string constant(const TensorData& data) const;
  std::string constant(std::span<const std::int64_t> values) const;  // i64 [n]
  std::string constant(std::initializer_list<std::int64_t> values) const {
    return constant(std::span(values.begin(), values.size()));
  }
  std::string scalar(Number value, DType dtype) const;
  std::string cast(const std::string& x, DType from, DType to) const;
  std::string reshape(const std::string& x, const Shape& shape) const;
  std::string transpose(const std::string& x, std::span<const std::int64_t> order) const;
  std::string slice(const std::string& x, std::int64_t axis, std::int64_t begin, std::int64_t end,
                    std::int64_t step = 1) const;
  std::string concat(std::span<const std::string> parts, std::int64_t axis) const;

  // What `write` makes, as the body of a function of the operation's name.
  ValueNames function(ValueNames (*write)(const Written& w)) const;

  // ---- What the model needs: at least this version of ai.onnx.
  void need(std::int64_t opset) const;

  // Throws Unsupported: the operation cannot be said; for a list of all such ones.
  template <class... Args>
  [[noreturn]] void lacks(std::format_string<Args...> format, Args&&... args) const {
    lacks_with(std::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void lacks_with(const std::string& why) const;

  GraphWriter& writer() const { return writer_; }
  // The same operation, whose operands have these names.
  void rename(ValueNames names) { names_ = std::move(names); }

 private:
  GraphWriter& writer_;
  std::string_view op_;
  const AttributeMap& attributes_;
  std::vector<TensorType> types_, results_;
  ValueNames names_;
  const weft::Node* node_;
};

// An operation of Weft, or one of single elements, by its name. `as`: it is the operator of that name, from version
// `since` on, with the same operands; else `write` says it. A function: what `write` makes is not the same to the bit,
// and becomes the body of a function.
struct WriteRow {
  std::string_view op;
  std::string_view as = {};
  ValueNames (*write)(const Written& w) = nullptr;
  bool function = false;
  std::int64_t since = 1;
};

// The row, or null.
const WriteRow* find_write_row(std::string_view op);

// Rows of one result.
template <std::string (*f)(const Written&)>
ValueNames written(const Written& w) {
  return {f(w)};
}
constexpr WriteRow same_as(std::string_view op, std::string_view as, std::int64_t since = 1) {
  return {.op = op, .as = as, .since = since};
}
constexpr WriteRow by(std::string_view op, ValueNames (*write)(const Written&), std::int64_t since = 1) {
  return {.op = op, .write = write, .since = since};
}
constexpr WriteRow as_function(std::string_view op, ValueNames (*write)(const Written&), std::int64_t since = 1) {
  return {.op = op, .write = write, .function = true, .since = since};
}

}  // namespace weft::onnx
