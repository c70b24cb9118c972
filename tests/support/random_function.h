// Random differentiable functions of tensors, small and reproducible from a seed: elementwise work, broadcasts, views,
// indexing and updates, reductions, scans, products, norms, convolutions, values that are used several times or never,
// axes without elements, branches and loops, and functions that capture values and are themselves checkpointed,
// compiled, batched, differentiated or given derivatives of their own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft::test {

class RandomFunction {
 public:
  explicit RandomFunction(unsigned seed);

  // The same for each float type and device.
  std::vector<Tensor> operator()(const std::vector<Tensor>& arguments) const;
  // Random numbers.
  std::vector<Tensor> arguments(DType type, unsigned seed) const;
  std::string to_string(int indent = 0) const;
  // It may have a while_loop(), which has no reverse mode.
  bool forward_only() const { return forward_only_; }

  struct Step {
    std::string text;
    std::vector<int> operands;  // values: first the arguments, then each step's results
    std::function<std::vector<Tensor>(const std::vector<Tensor>& operands)> run;
  };

 private:
  friend class FunctionMaker;
  RandomFunction() = default;
  std::vector<Shape> shapes_;
  std::vector<Step> steps_;
  std::vector<int> results_;
  bool forward_only_ = false;
};

}  // namespace weft::test
