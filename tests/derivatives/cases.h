// Functions whose derivatives are tested: each family of operations adds its own (NAME_cases.cc), and all of them go
// through the same checks (derivative_cases_test.cc).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft::test {

struct DerivativeCase {
  std::string name;           // letters, digits and underscores
  std::vector<Shape> shapes;  // of the operands that are differentiated, random numbers
  std::function<std::vector<Tensor>(std::span<const Tensor>)> function;  // the same for every float type
  double low = -2, high = 2;                                             // of the random numbers
  // Functions with steps or corners: operands are so drawn that all numbers are this far from each other and from 0, so
  // that finite differences and rounding do not cross one.
  double apart = 0;
  bool on_f64 = true;    // the cpu computes it in f64; else finite differences are of f32, and coarse
  bool second = true;    // the gradient is differentiated, too
  bool batches = true;   // vmap is tested
  double tolerance = 1;  // a factor of what is allowed, with the reason beside it
};

using DerivativeCases = std::vector<DerivativeCase>;

void add_elementwise_derivatives(DerivativeCases& cases);
void add_view_derivatives(DerivativeCases& cases);
void add_reduce_derivatives(DerivativeCases& cases);
void add_index_derivatives(DerivativeCases& cases);
void add_network_derivatives(DerivativeCases& cases);
void add_row_derivatives(DerivativeCases& cases);
void add_attention_derivatives(DerivativeCases& cases);
void add_control_flow_derivatives(DerivativeCases& cases);
void add_loss_derivatives(DerivativeCases& cases);
void add_fft_derivatives(DerivativeCases& cases);
void add_numeric_derivatives(DerivativeCases& cases);
void add_linalg_derivatives(DerivativeCases& cases);
void add_qr_derivatives(DerivativeCases& cases);
void add_eig_derivatives(DerivativeCases& cases);
void add_eigh_derivatives(DerivativeCases& cases);
void add_svd_derivatives(DerivativeCases& cases);

const DerivativeCases& derivative_cases();

}  // namespace weft::test
