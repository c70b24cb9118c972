// What functions of matrices have in common: checks of their operands, and conversions (weft/linalg.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "ops/function_row.h"
#include "ops/vector_norm.h"
#include "weft/array.h"
#include "weft/linalg.h"
#include "weft/tensor.h"

namespace weft {

// The operands of rows of functions: square matrices, any, and the right sides of systems.
inline constexpr FunctionOperand kSquare = {.name = "a", .min_rank = 2, .shape = "[..., n, n]"};
inline constexpr FunctionOperand kMatrix = {.name = "a", .min_rank = 2, .shape = "[..., m, n]"};
inline constexpr FunctionOperand kSides = {.name = "b", .min_rank = 1, .shape = "[..., n, m], or [n]"};
// Of results, in words.
inline constexpr std::string_view kSolution = "b's shape, with the leading dimensions of both";

inline constexpr std::string_view kMatrixNorms[] = {"fro",       "one", "inf",       "minus_one",
                                                    "minus_inf", "two", "minus_two", "nuc"};

// Checks of an operand, in the function's name: that matrices are square, and of a type in which they are decomposed.
// Throw ShapeError and TypeError.
void require_square(const Tensor& x, std::string_view function, std::string_view operand);
void require_matrices(const Tensor& x, std::string_view function, std::string_view operand);

// A product's operands in the type that they have in common.
std::vector<Tensor> same_type(std::string_view function, std::span<const Tensor> operands);
std::vector<Tensor> same_type(std::string_view function, const Tensor& a, const Tensor& b);

// Whether singular values [..., k] give the norm, and that norm of them.
bool is_spectral(MatrixNorm ord);
Tensor spectral_norm(const Tensor& s, MatrixNorm ord);

inline Tensor identity(std::int64_t n, DType type) { return eye(n, n, type); }

// f of systems with right sides [..., n, m]; b may be one of shape [n].
template <class F>
Tensor with_columns(const Tensor& b, const F& f) {
  return b.rank() == 1 ? squeeze(f(expand_dims(b, 1)), -1) : f(b);
}

}  // namespace weft
