// Random numbers from a key.
#pragma once

#include "graph/op.h"

namespace weft {

enum class RandomForm : std::uint8_t { bits, uniform, normal, integers, signed_uniform };

struct RandomAttributes {
  RandomForm form = RandomForm::bits;
  Shape shape = {};
  DType dtype = DType::f32;
  double low = 0, high = 1;        // of uniform
  double mean = 0, deviation = 1;  // of normal
  Number least = 0, end = 0;       // of integers: low and high

  void fields(AttributeVisitor& v) {
    v("shape", shape, "the shape of the result");
    if (form == RandomForm::signed_uniform) return;
    v("dtype", dtype, "the type of the result");
    if (form == RandomForm::uniform) {
      v("low", low, 0, "the least number");
      v("high", high, 1, "the bound above all numbers, which is not among them");
    } else if (form == RandomForm::normal) {
      v("mean", mean, 0, "the mean of the distribution");
      v("deviation", deviation, 1, "its standard deviation, 0 or more");
    } else if (form == RandomForm::integers) {
      v("low", least, 0, "the least integer");
      v("high", end, "the bound above all integers, which is not among them");
    }
  }
};

class RandomOp final : public OpOf<RandomAttributes, BatchingInterface> {
 public:
  using OpOf::OpOf;
  std::string_view name() const override;
  double cost() const override { return a.form == RandomForm::normal ? 8 : 3; }
  std::vector<TensorType> infer(std::span<const TensorType> inputs) const override;
  void lower(const Launch& call) const override;
  std::optional<Batched> vmap(std::span<const Tensor> inputs, std::span<const int> axes) const override;
};

// Shared by ops of keys. Throws ShapeError for another shape of the key.
void check_key(std::string_view name, const TensorType& key);
// The batch of an op that takes one key, entry by entry.
Batched batched_by_entry(const OpPtr& op, std::span<const Tensor> inputs, std::span<const int> axes);

}  // namespace weft
