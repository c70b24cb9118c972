// What a row of an operator sees of a node while a graph is made of it, and the rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/format.h"
#include "onnx/proto.h"
#include "weft/dtype.h"
#include "weft/shape.h"
#include "weft/tensor.h"

namespace weft::onnx {

using Tensors = std::vector<Tensor>;
using Ints = std::vector<std::int64_t>;

struct Value;
class Tracer;

// A node with its operands. Its functions throw FormatError, which names the node, for operands and attributes that are
// missing or of another kind.
//
// Where all operands are known while the graph is made and small (constants, shapes, what is computed of them), the
// results are computed at once, on the cpu; the row does not see the difference.
class Node {
 public:
  Node(Tracer& tracer, const NodeProto& proto, std::int64_t version, std::vector<const Value*> operands)
      : tracer_(tracer), proto_(proto), version_(version), operands_(std::move(operands)) {}

  std::string_view op() const { return proto_.op_type; }
  // The version of the operator's domain that the model imports.
  std::int64_t version() const { return version_; }

  // ---- Operands
  std::size_t size() const { return operands_.size(); }  // with those that are left out
  bool has(std::size_t i) const;
  Tensor in(std::size_t i) const;
  // Undefined if it is left out.
  Tensor maybe(std::size_t i) const { return has(i) ? in(i) : Tensor(); }
  // The operands from i on, all of which must be there.
  Tensors all(std::size_t i = 0) const;
  const Value& value(std::size_t i) const;

  // ---- Elements of operands that say what the graph is like: shapes, axes, counts. They are read from the device if
  // they are not known, which ends a stage.
  Ints integers_of(std::size_t i) const;
  std::vector<double> numbers_of(std::size_t i) const;
  // The only element.
  std::int64_t integer_of(std::size_t i) const;
  double number_of(std::size_t i) const;
  // The operand as a constant.
  Tensor host(std::size_t i) const;
  // The same if it is known without a read, else undefined.
  Tensor known(std::size_t i) const;

  // ---- Attributes
  const AttributeProto* attribute(std::string_view name) const { return proto_.attribute(name); }
  std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  std::int64_t integer(std::string_view name) const;
  double number(std::string_view name, double otherwise) const;
  std::string text(std::string_view name, std::string_view otherwise = {}) const;
  Ints integers(std::string_view name, Ints otherwise = {}) const;
  std::vector<double> numbers(std::string_view name, std::vector<double> otherwise = {}) const;
  std::vector<std::string> texts(std::string_view name) const;
  // A tensor as an attribute: a constant.
  Tensor tensor(std::string_view name) const;
  // A type as an attribute, such as Cast's `to`. Throws Unsupported for those that Weft lacks.
  DType type(std::string_view name) const;
  DType type(std::string_view name, DType otherwise) const { return attribute(name) ? type(name) : otherwise; }

  // Integers that opsets before `since` have as the attribute `name`, and later ones as operand i (or not at all:
  // none).
  std::optional<Ints> integers(std::int64_t since, std::size_t i, std::string_view name) const;

  // ---- Results
  std::size_t results() const { return proto_.outputs.size(); }
  bool wants(std::size_t i) const { return i < proto_.outputs.size() && !proto_.outputs[i].empty(); }

  // ---- Errors. FormatError: "node 'x' (Conv, opset 17): …".
  template <class... Args>
  [[noreturn]] void fail(std::format_string<Args...> format, Args&&... args) const {
    fail_with(std::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void fail_with(const std::string& what) const;
  // Throws Unsupported in the same form.
  template <class... Args>
  [[noreturn]] void lacks(std::format_string<Args...> format, Args&&... args) const {
    lacks_with(std::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void lacks_with(const std::string& what) const;

  std::span<const Value* const> operands() const { return operands_; }  // null: left out
  Tracer& tracer() const { return tracer_; }
  const NodeProto& proto() const { return proto_; }

 private:
  Tracer& tracer_;
  const NodeProto& proto_;
  std::int64_t version_;
  std::vector<const Value*> operands_;  // null: left out
};

// An operator: its name, the first version of its domain in which it has this form, and what it is in Weft. Of rows
// with one name the one of the latest version that the model's reaches counts.
struct OperatorRow {
  std::string_view name;
  Tensors (*make)(const Node& node);
  std::int64_t since = 1;
  std::string_view note = {};  // for docs/onnx.md: what it lacks
  bool draws = false;          // random numbers: never computed while the graph is made
};

// Rows of a domain: "" is ai.onnx; and read backwards, those of Weft's operations that its operators say (write.h).
struct WriteRow;
struct OperatorRows {
  std::string_view domain;
  std::span<const OperatorRow> rows;
  std::span<const WriteRow> written = {};
};

// The row, or null.
const OperatorRow* find_row(std::string_view domain, std::string_view name, std::int64_t version);
std::span<const OperatorRows> all_rows();

// The rows of each file.
OperatorRows elementwise_rows();   // arithmetic, functions, logic, casts, comparisons, random numbers
OperatorRows movement_rows();      // shapes, slices, gathers, scatters, pads, sorts, constants
OperatorRows reduction_rows();     // reductions, scans, softmax, norms, losses, products of matrices
OperatorRows network_rows();       // convolutions, pools, resizing
OperatorRows region_rows();        // regions of images, and boxes
OperatorRows recurrent_rows();     // RNN, GRU, LSTM
OperatorRows attention_rows();     // Attention, RotaryEmbedding
OperatorRows signal_rows();        // windows and Fourier transforms
OperatorRows quantization_rows();  // Quantize…, QLinear…, …Integer
OperatorRows microsoft_rows();     // com.microsoft
OperatorRows control_written();    // branches and loops, read backwards; control.cc has them as they are read

// ---- Helpers that rows share

// The axis counted from the front. Throws FormatError unless it is in [-rank, rank).
int axis_of(const Node& node, std::int64_t axis, int rank);
std::vector<int> axes_of(const Node& node, std::span<const std::int64_t> axes, int rank);

}  // namespace weft::onnx
