// What comes from outside: a graph's inputs and constants.
#pragma once

#include "core/in_quotes.h"
#include "graph/constant.h"
#include "graph/op.h"

namespace weft {

class InputOp final : public Op {
 public:
  InputOp(std::string name, TensorType type, std::string graph)
      : input_name_(std::move(name)), type_(std::move(type)), graph_(std::move(graph)) {}
  std::string_view name() const override { return "input"; }
  void attributes(Attributes& f) const override { f.add("name", in_quotes(input_name_)); }
  const InputOp* input() const override { return this; }
  std::vector<TensorType> infer(std::span<const TensorType>) const override { return {type_}; }
  const std::string& input_name() const { return input_name_; }
  const std::string& graph_name() const { return graph_; }  // for messages; empty if the graph has none

 private:
  std::string input_name_;
  TensorType type_;
  std::string graph_;
};

class ConstantOp final : public Op {
 public:
  ConstantOp(ConstantPtr constant, std::string label) : constant_(std::move(constant)), label_(std::move(label)) {}
  std::string_view name() const override { return "constant"; }
  void attributes(Attributes& f) const override;
  const ConstantOp* constant() const override { return this; }
  std::vector<TensorType> infer(std::span<const TensorType>) const override { return {constant_->type()}; }
  const ConstantPtr& data() const { return constant_; }
  const std::string& constant_name() const { return label_; }
  // The value of a constant of one element, if a double holds it exactly.
  std::optional<double> scalar() const;

 private:
  ConstantPtr constant_;
  std::string label_;
};

// A number that each run is given.
class NumberOp final : public Op {
 public:
  NumberOp(std::string name, DType dtype, std::string graph)
      : number_name_(std::move(name)), dtype_(dtype), graph_(std::move(graph)) {}
  std::string_view name() const override { return "number"; }
  void attributes(Attributes& f) const override { f.add("name", in_quotes(number_name_)); }
  const NumberOp* number() const override { return this; }
  std::vector<TensorType> infer(std::span<const TensorType>) const override { return {{dtype_, {}}}; }
  const std::string& number_name() const { return number_name_; }
  const std::string& graph_name() const { return graph_; }

 private:
  std::string number_name_;
  DType dtype_;
  std::string graph_;
};

// Data of a tensor. What it is belongs to no structure: graphs that differ only in their data are equal.
class DataOp final : public Op {
 public:
  DataOp(DataPtr data, TensorType type) : data_(std::move(data)), type_(std::move(type)) {}
  std::string_view name() const override { return "data"; }
  const DataOp* data_op() const override { return this; }
  std::vector<TensorType> infer(std::span<const TensorType>) const override { return {type_}; }
  const DataPtr& data_ptr() const { return data_; }

 private:
  DataPtr data_;
  TensorType type_;
};

}  // namespace weft
