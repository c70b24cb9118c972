// The kernel library: tensor kernels on caller's memory, usable alone. A call takes a stream and views; on a GPU
// stream it records dispatches, on a CPU stream it computes at once, with the same result up to rounding.
//
// Kernels allocate nothing and read nothing back. Scratch that one needs is named beforehand by its …_workspace
// function and handed in. All of them throw InvalidArgument (shapes, types and axes that do not fit; the message names
// the kernel, the operand, expected and got) and Unsupported (a type or size that this device cannot do).
// Views may have any strides, zero (broadcast) and negative ones included, unless a kernel says otherwise; outputs may
// not overlap themselves, and may share memory with an input only if both are the very same view.
#pragma once

#include <optional>
#include <span>

#include "weft/expression.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// ---- Elementwise (src/kernels/elementwise)

// outputs[k][i] = expression(inputs[0][i], inputs[1][i], …)[k]. All outputs have one shape; inputs broadcast to it.
// View types are those of the expression's inputs and outputs.
void map(Stream& stream, const Expression& expression, std::span<const View> inputs, std::span<const View> outputs);

void unary(Stream& stream, ScalarOp op, const View& x, const View& y);
// a and b broadcast to y and have one type.
void binary(Stream& stream, ScalarOp op, const View& a, const View& b, const View& y);
// y = condition ? a : b, elementwise; condition is boolean.
void select(Stream& stream, const View& condition, const View& a, const View& b, const View& y);

// ---- Copy (src/kernels/copy)

// y = x, converted to y's type: to a narrower float rounding to nearest even; float to integer towards zero, saturating,
// NaN to 0; integers wrap; to boolean: x != 0. x broadcasts to y.
void copy(Stream& stream, const View& x, const View& y);
// y = value converted to y's type.
void fill(Stream& stream, double value, const View& y);

// ---- Indexing (src/kernels/index)

// y[i…, j…, k…] = x[i…, indices[j…], k…], indices standing at `axis` of x. Negative indices count from the end; those
// outside are clamped to the valid range. indices: any integer type. y: x.shape with `axis` replaced by indices.shape.
void gather(Stream& stream, const View& x, const View& indices, const View& y, int axis);

// ---- Reductions (src/kernels/reduce)

enum class ReduceOp : std::uint8_t { sum, mean, prod, min, max, sum_squares, l1, l2, log_sum, log_sum_exp, any, all };

// y = x reduced over `axes`; y has x's shape with those sizes 1, or without them. No axes: each element by itself.
//   sum, prod, min, max, sum_squares, l1   x integer or floating
//   mean, l2, log_sum, log_sum_exp         x floating
//   any, all                               x of any type (true: not zero, so NaN too), y boolean
// Floating x: y is floating. Integer x: y has x's type, or the 32-bit type of its kind.
// Sums accumulate at least in f32 in a fixed order, so that a device repeats its results to the bit; each addend takes
// part in at most 80 + n / (256·team) additions (team: the threads of a row, 8 to 1024; n its elements), which times
// 2^-24 bounds the relative error of a sum of positive numbers. Integers accumulate wrapping.
// Over no elements: sum, sum_squares, l1, l2 are 0, prod is 1, min +inf, max -inf (integers: the type's largest and
// least), mean NaN, log_sum and log_sum_exp -inf, any false, all true. NaN wins min and max.
// On a GPU f64 is Unsupported, and so are prod, sum_squares and l1 of 64-bit integers.
void reduce(Stream& stream, ReduceOp op, const View& x, const View& y, std::span<const int> axes,
            const std::optional<View>& workspace = {});
// Bytes of scratch (at a multiple of 16 bytes) with which this reduction of few long rows is fastest on that stream (0:
// none). A call without runs all the same.
std::uint64_t reduce_workspace(Stream& stream, ReduceOp op, const View& x, const View& y, std::span<const int> axes);

// ---- Rows (src/kernels/norm, src/kernels/softmax)

// y = exp(x - max(x)) / sum(exp(x - max(x))) along `axis`, of floating types, computed in f32. A row that holds a NaN
// or +inf, or nothing but -inf, gives NaN.
void softmax(Stream& stream, const View& x, const View& y, int axis);

// y = (x - mean) / sqrt(variance + epsilon) · scale + bias over the axes from `first_axis` on; scale and bias (optional)
// have the shape of those axes. Floating types, each operand its own; computed in f32, with a mean that is large beside
// the deviation costing no digits beyond those that x itself lost.
void layer_norm(Stream& stream, const View& x, const std::optional<View>& scale, const std::optional<View>& bias,
                const View& y, int first_axis, float epsilon);

// ---- Matrix product (src/kernels/matmul)

// What happens to each element of a product before it is stored: expression input 0 is the product's element (f32), the
// others are `operands`, broadcast to y's shape. No expression: the element is stored as it is.
struct Epilogue {
  const Expression* expression = nullptr;
  std::span<const View> operands;
};

// y[…, m, n] = epilogue(Σ_k a[…, m, k] · b[…, k, n]); leading dimensions broadcast; transposed operands are strides.
// f32 accumulation. a and b are of any floating type, y too unless an expression gives it another. y may be an epilogue
// operand's very view, but shares no memory with a or b.
void matmul(Stream& stream, const View& a, const View& b, const View& y, const Epilogue& epilogue = {},
            const std::optional<View>& workspace = {});
// Bytes of scratch with which this product is fastest on that stream (0: none). A call without runs all the same.
std::uint64_t matmul_workspace(Stream& stream, const View& a, const View& b, const View& y);

// ---- Attention (src/kernels/attention)

struct AttentionOptions {
  float scale = 1;       // of q·k
  bool causal = false;   // query i sees keys up to i + (keys - queries)
};

// y = softmax(scale · q·kᵀ + mask) · v with online softmax: no score matrix in memory.
// q [batch, heads, queries, dim], k [batch, kv_heads, keys, dim], v [batch, kv_heads, keys, value_dim],
// y [batch, heads, queries, value_dim]; heads is a multiple of kv_heads. mask broadcasts to
// [batch, heads, queries, keys]: boolean (false hides) or a float that is added. A query that sees no key gives zeros.
// f32, f16 and bf16 in any mixture, arithmetic in f32; any strides, dim and value_dim (up to 64: one pass in registers).
// A score of -inf, however it came about, hides its key; a NaN or +inf among a query's scores makes its row NaN. A hidden
// key's weight is zero, so only NaN or infinity in its v can reach the result. y may be q itself, not k or v.
// Source: Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022.
void attention(Stream& stream, const View& q, const View& k, const View& v, const std::optional<View>& mask, const View& y,
               const AttentionOptions& options);

}  // namespace weft::kernels
