// Internal entry points of products with quantised weights.
#pragma once

#include <memory>
#include <optional>

#include "kernels/matmul/problem.h"
#include "kernels/matmul/variants.h"
#include "kernels/quantized/formats.h"

namespace weft::kernels {

// A product whose operand b (or a: problem.reader_is_b) is read from quantised weights. Not copied: parts refer to each
// other.
struct QuantizedProblem {
  QuantizedProblem(const View& x, const QuantizedMatrix& w, const std::optional<View>& chosen, const View& y,
                   const QuantizedMatmulOptions& options, const Epilogue& epilogue);
  QuantizedProblem(const QuantizedProblem&) = delete;
  QuantizedProblem& operator=(const QuantizedProblem&) = delete;

  QuantizedMatrix weights;
  QuantizedLayout layout;
  std::shared_ptr<const ReadOperand> reader;
  MatmulProblem problem;
};

// Records the product by a given variant, which the device must be able to run.
void quantized_matmul_by(gpu::Commands& commands, const QuantizedProblem& problem, const Expression* epilogue,
                         const MatmulVariant& variant);

}  // namespace weft::kernels
