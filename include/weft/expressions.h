// Elementwise functions by name: the operations of weft/expression.h, and activations made of several of them.
#pragma once

#include <span>
#include <string_view>

#include "weft/expression.h"

namespace weft {

// A number that a function takes in addition to its operands, such as the slope of leaky_relu.
struct FunctionParameter {
  std::string_view name;
  double default_value;
};

struct FunctionInfo {
  std::string_view name;
  int operands;
  std::span<const FunctionParameter> parameters;
};

// All named functions, operations first.
std::span<const FunctionInfo> functions();
// By its name or an alias of an operation (scalar_op); null if there is none.
const FunctionInfo* find_function(std::string_view name);

// The function as an expression: input i has types[i] (one for each operand); parameters are in the order of its table,
// and missing ones at the end take their defaults. Throws InvalidArgument: no such name, wrong counts, types that it
// does not take.
Expression function_expression(std::string_view name, std::span<const DType> types,
                               std::span<const double> parameters = {});

// Each adds its nodes to `e` and returns the node of the result. x is a float; those narrower than f32 are widened
// first, so that parameters keep their digits, and rounded once at the end.
//
// On every device alike NaN gives NaN, threshold and hardshrink included (as in PyTorch). softsign of -infinity and
// infinity is -1 and 1, the limits. hardswish is -0 below -3, at -infinity too. At -infinity elu and celu are -alpha,
// selu is -1.7580993 and hardsigmoid 0; leaky_relu, softshrink and hardshrink keep infinities.
namespace expressions {

int relu6(Expression& e, int x);                                       // min(max(x, 0), 6)
int hardtanh(Expression& e, int x, double low = -1, double high = 1);  // min(max(x, low), high)
int leaky_relu(Expression& e, int x, double alpha = 0.01);             // x < 0 ? alpha x : x
int elu(Expression& e, int x, double alpha = 1);                       // x < 0 ? alpha (e^x - 1) : x
int selu(Expression& e, int x);                                        // scale elu(x, alpha), Klambauer et al. 2017
int celu(Expression& e, int x, double alpha = 1);                      // x < 0 ? alpha (e^(x/alpha) - 1) : x
int hardsigmoid(Expression& e, int x, double alpha = 1.0 / 6, double beta = 0.5);  // min(max(alpha x + beta, 0), 1)
int hardswish(Expression& e, int x);                                               // x hardsigmoid(x)
int softsign(Expression& e, int x);                                                // x / (1 + |x|)
int hardshrink(Expression& e, int x, double lambda = 0.5);                         // |x| <= lambda ? 0 : x
int softshrink(Expression& e, int x, double lambda = 0.5);                         // x - lambda, x + lambda or 0
int threshold(Expression& e, int x, double limit = 0, double value = 0);           // x <= limit ? value : x

}  // namespace expressions
}  // namespace weft
