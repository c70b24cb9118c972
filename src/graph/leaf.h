// What comes from outside: a graph's inputs and constants.
#pragma once

#include "graph/constant.h"
#include "graph/op.h"

namespace weft {

// Of what each run is given.
struct InputAttributes {
  std::string name;

  void fields(AttributeVisitor& v) { v("name", name, "the name by which runs give it"); }
};

class InputOp final : public OpOf<InputAttributes> {
 public:
  InputOp(std::string name, TensorType type, std::string graph)
      : OpOf({std::move(name)}, LeafKind::input), type_(std::move(type)), graph_(std::move(graph)) {}
  std::string_view name() const override { return "input"; }
  std::vector<TensorType> infer(std::span<const TensorType>) const override { return {type_}; }
  const std::string& input_name() const { return a.name; }
  const std::string& graph_name() const { return graph_; }  // for messages; empty if the graph has none

 private:
  TensorType type_;
  std::string graph_;
};

class ConstantOp final : public Op {
 public:
  ConstantOp(ConstantPtr constant, std::string label)
      : Op(LeafKind::constant), constant_(std::move(constant)), label_(std::move(label)) {}
  std::string_view name() const override { return "constant"; }
  // The name is documentation only: constants of equal content are equal whatever their names.
  void visit(AttributeVisitor& v) const override;
  std::string hidden_identity() const override;
  std::vector<TensorType> infer(std::span<const TensorType>) const override { return {constant_->type()}; }
  const ConstantPtr& data() const { return constant_; }
  const std::string& constant_name() const { return label_; }
  // The value of a constant of one element, if a double holds it exactly.
  std::optional<double> scalar() const;

 private:
  ConstantPtr constant_;
  std::string label_;
};

// A constant of one element. `bits`: its bytes, the low end first.
Tensor number_constant(DType dtype, std::uint64_t bits);

// A number that each run is given.
class NumberOp final : public OpOf<InputAttributes> {
 public:
  NumberOp(std::string name, DType dtype, std::string graph)
      : OpOf({std::move(name)}, LeafKind::number), dtype_(dtype), graph_(std::move(graph)) {}
  std::string_view name() const override { return "number"; }
  std::vector<TensorType> infer(std::span<const TensorType>) const override { return {{dtype_, {}}}; }
  const std::string& number_name() const { return a.name; }
  const std::string& graph_name() const { return graph_; }

 private:
  DType dtype_;
  std::string graph_;
};

// Data of a tensor. What it is belongs to no structure: graphs that differ only in their data are equal.
class DataOp final : public Op {
 public:
  DataOp(DataPtr data, TensorType type) : Op(LeafKind::data), data_(std::move(data)), type_(std::move(type)) {}
  std::string_view name() const override { return "data"; }
  std::vector<TensorType> infer(std::span<const TensorType>) const override { return {type_}; }
  const DataPtr& data_ptr() const { return data_; }

 private:
  DataPtr data_;
  TensorType type_;
};

}  // namespace weft
