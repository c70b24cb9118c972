// Random numbers from a key.
#pragma once

#include "graph/op.h"

namespace weft {

class RandomOp final : public Op {
 public:
  enum class Form : std::uint8_t { bits, uniform, normal, integers };
  // The two numbers of the kernel of that form: low and high, or mean and deviation.
  RandomOp(Form form, TensorType type, double first, double second, std::int64_t low, std::int64_t high)
      : form_(form), type_(std::move(type)), first_(first), second_(second), low_(low), high_(high) {}
  std::string_view name() const override;
  double cost() const override { return form_ == Form::normal ? 8 : 3; }
  void attributes(Attributes& f) const override;
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;

 private:
  Form form_;
  TensorType type_;
  double first_, second_;
  std::int64_t low_, high_;
};

}  // namespace weft
