#include "graph/op_schemas.h"

#include <algorithm>

#include "core/format.h"
#include "graph/function_row.h"
#include "graph/op_rows.h"
#include "graph/ops/elementwise.h"
#include "kernels/elementwise/scalar_ops.h"
#include "kernels/table_rows.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft {
namespace {

using kernels::kernel, kernels::one, kernels::repeated;

AttributeSchema text(std::string name, std::string meaning) {
  return {std::move(name), AttributeKind::text, {}, {}, std::move(meaning)};
}

// The type of a result that the caller chooses.
constexpr const char* kAskedType = "dtype";

// The type of positions and counts (position_type() in graph/promotion.h).
constexpr const char* kPositionType = "i32; i64 from 2^31 elements on";

Schema leaf(std::string name, std::string summary, std::string shape, std::vector<AttributeSchema> attributes) {
  return {.name = std::move(name),
          .family = "leaf",
          .summary = std::move(summary),
          .outputs = {one("y", std::move(shape))},
          .signatures = {{types::any}},
          .attributes = std::move(attributes)};
}

// Ops that no row makes: what comes from outside.
std::vector<Schema> leaves() {
  return {
      leaf("input", "a tensor that each run is given", "as declared", {text("name", "the name by which runs give it")}),
      leaf("constant", "a tensor that is part of the graph", "that of the data", {}),
      leaf("number", "a number that each run is given, in the parameters of its kernels", "[]",
           {text("name", "the name by which runs give it")}),
      leaf("data", "a tensor in a device's memory, which each run reads as it is then", "that of the data", {}),
      {.name = "custom",
       .family = "custom",
       .summary = "a kernel in the caller's WGSL (weft/custom_op.h)",
       .inputs = {repeated("inputs", "any")},
       .outputs = {repeated("outputs", "as the op says")},
       .signatures = {{types::any, types::any}}},
  };
}

Schema function(std::string name, std::string formula, std::string summary, std::string shape, std::string type) {
  return {.name = std::move(name),
          .family = "function",
          .summary = std::move(summary),
          .formula = std::move(formula),
          .outputs = {{.name = "y", .shape = std::move(shape), .type = std::move(type)}}};
}

std::vector<Schema> make_functions() {
  constexpr const char* kCommon = "the operands' common shape";
  constexpr const char* kOfOp = "as the function of that name";
  constexpr const char* kQuantizedType = "dtype; without one the zero point's, or i8";
  constexpr const char* kQuantizedResult = "that of y's zero point; without one y.dtype";
  constexpr const char* kReduced = "x's shape without the axes, or with size 1 there (keep_dims)";
  constexpr const char *kWindows = "[n, c, windows…]", *kPooled = "[n, c, sizes…]", *kOnes = "[n, c, 1…]";
  constexpr const char* kSame = "x's type";
  constexpr const char *kLine = "x's shape, with n elements along the axis",
                       *kHalfLine = "x's shape, with n / 2 + 1 elements along the axis",
                       *kLines = "x's shape, with the sizes along the axes";
  constexpr const char* kSolution = "b's shape, with the leading dimensions of both";
  constexpr const char* kCommonType = "the common type";
  constexpr const char* kNormType = "x's type; of c64, integers and bool f32";
  constexpr const char* kLoss = "[]; of LossReduction::none the labels' shape";
  constexpr const char* kElementLoss = "[]; of LossReduction::none the operands' common shape";
  return {
      function("unary", "y = op(x)", "the function that op names, of each element", "x's shape", kOfOp),
      function("binary", "y = op(a, b)", "the function that op names, of each pair of elements", kCommon, kOfOp),
      function("ternary", "y = op(a, b, c)", "the function that op names, of each triple of elements", kCommon, kOfOp),
      function("elementwise", "y = name(operands…)", "any function of weft/expressions.h, by its name", kCommon,
               "as the function of that name; nothing is promoted"),
      function("operator+", "y = x", "x itself", "x's shape", "x's type"),
      function("cast", "y = x", "x converted to another type, as the kernel copy does it", "x's shape", kAskedType),
      function("broadcast_to", "y[i…] = x[i…], with index 0 where x's size is 1",
               "axes of one element, and missing ones in front, repeated", "shape", "x's type"),
      function("expand_dims", "y[i…, 0, j…] = x[i…, j…]", "a new axis of size 1", "x's shape with 1 inserted at axis",
               "x's type"),
      function("squeeze", "y[i…, j…] = x[i…, 0, j…]", "x without an axis, whose size must be 1",
               "x's shape without axis", "x's type"),
      function("split", "[y[0], y[1], …] = x along axis", "x cut into consecutive pieces of the sizes",
               "x's shape but for axis", "x's type"),
      function("arange", "y[i] = start + i · step", "start, start + step, … before stop", "[⌈(stop - start) / step⌉]",
               "dtype; without one i32 if all numbers are integers (i64 or u64 where that is too small), else f32"),
      function("linspace", "y[i] = start + i · (stop - start) / (count - 1)",
               "numbers at equal distances from start to stop; with endpoint = false stop would be the next one",
               "[count]", kAskedType),
      function("eye", "y[r, c] = 1 if c - r = diagonal, else 0", "ones on a diagonal, zeros elsewhere",
               "[rows, columns]", kAskedType),
      function("resize_by", "y[i] = Σ_j w(i, j) · x[j], along each axis", "x resampled to its sizes times the scales",
               "x's sizes times the scales, rounded down", "x's type"),
      function("upsample", "y[i] = Σ_j w(i, j) · x[j], along each spatial axis",
               "images of other sizes, as PyTorch's interpolate makes them",
               "x's shape with sizes for its spatial axes", "x's type"),
      function("affine_grid", "y[n, i…, :] = theta[n] · (position of i…, 1)", "the grid of an affine map",
               "[n, sizes…, d]", "theta's type"),
      function("unfold", "y[n, (c, k), j] = x[n, c, j · stride + k · dilation − padding]",
               "the windows of x as columns", "[n, C · window elements, windows]", "x's type"),
      function("depth_to_space", "y[n, c, i · block + k] = x[n, k · C + c, i], or x[n, c · blocks + k, i]",
               "channels as blocks of pixels", "[n, C / block^d, sizes · block…]", "x's type"),
      function("space_to_depth", "y[n, k · C + c, i] = x[n, c, i · block + k], or y[n, c · blocks + k, i]",
               "blocks of pixels as channels", "[n, C · block^d, sizes / block…]", "x's type"),
      function("pixel_shuffle", "y[n, c, i · factor + k] = x[n, c · blocks + k, i]",
               "neighbouring channels as blocks of pixels", "[n, C / factor^d, sizes · factor…]", "x's type"),
      function("pixel_unshuffle", "y[n, c · blocks + k, i] = x[n, c, i · factor + k]",
               "blocks of pixels as neighbouring channels", "[n, C · factor^d, sizes / factor…]", "x's type"),
      function("cumsum", "y[i] = x[0] + … + x[i]", "the running sum along an axis", "x's shape", "x's type; bool: i32"),
      function("l2_pool", "y = (Σ over each window of x²)^(1/2)", "the Euclidean norm of each window, as lp_pool",
               kWindows, kSame),
      function("adaptive_average_pool", "y = the mean of each window",
               "the mean of each of as many windows as are asked for", kPooled, kSame),
      function("adaptive_max_pool", "y = the greatest of each window",
               "the greatest element of each of as many windows as are asked for", kPooled, kSame),
      function("adaptive_max_pool_with_indices", "y = the greatest of each window",
               "the greatest element of each of as many windows as are asked for, and its position", kPooled,
               "values: x's type; indices: i32"),
      function("global_average_pool", "y = the mean over the spatial axes", "a reduction over the spatial axes", kOnes,
               kSame),
      function("global_max_pool", "y = the greatest over the spatial axes", "a reduction over the spatial axes", kOnes,
               kSame),
      function("global_lp_pool", "y = (Σ over the spatial axes of |x|^p)^(1/p)", "a reduction over the spatial axes",
               kOnes, kSame),
      function("lp_pool_gradient", "y = sign(x) · |x|^(p - 1) · Σ over the windows of x of dy · norm^(1 - p)",
               "the gradient of lp_pool for x, dy being the gradient of y", "x's shape", kSame),
      function("adaptive_average_pool_gradient",
               "y[n, c, j] = Σ over the windows i that contain j of dy[n, c, i] / divisor(i)",
               "the gradient of adaptive_average_pool for x", "[n, c, sizes…]", "dy's type"),
      function("adaptive_max_pool_gradient", "y[n, c, j] = Σ dy[n, c, i] over the windows i whose index is j",
               "the gradient of adaptive_max_pool_with_indices for x", "[n, c, sizes…]", "dy's type"),
      function("max_unpool", "y[n, c, indices[n, c, i]] = x[n, c, i], else 0",
               "elements put back where max_pool_with_indices found them", "[n, c, sizes…]", kSame),
      function("scan", "y[i] = op(x[0], …, x[i])", "each element combined with all before it along an axis",
               "x's shape", "x's type; bool: i32"),
      function("lstm_cell", "c' = f · c + i · g, h' = o · output(c'), y = [h', c']",
               "one step of lstm: the state after it, of initial_h and initial_c", "h, c: [batch, hidden]", "x's type"),
      function("gru_cell", "y = (1 - z) · n + z · h", "one step of gru: the state after it, of initial_h",
               "[batch, hidden]", "x's type"),
      function("rnn_cell", "y = activation(x wᵀ + h rᵀ + bias + recurrent_bias)",
               "one step of rnn: the state after it, of initial_h", "[batch, hidden]", "x's type"),
      function("reduce", "y = op(x over axes)",
               "the elements over the axes combined to one, as the kernel reduce_… does it", kReduced,
               "x's type; of any and all bool, of count i32, from 2^31 elements on i64"),
      function("cross_entropy", "y = -log softmax(x)[label] · weights[label]",
               "the cross-entropy of softmax(x) and labels, or probabilities of the classes", kLoss, kSame),
      function("nll_loss", "y = -x[label] · weights[label]",
               "the negative of the logarithms of probabilities that labels choose", kLoss, kSame),
      function("binary_cross_entropy_with_logits", "y = (1 - target) · x + log(1 + exp(-x))",
               "the cross-entropy of sigmoid(x) and probabilities", kElementLoss, kSame),
      function("kl_div", "y = target · (log(target) - x)",
               "the divergence of a distribution from the one whose logarithm is x", kElementLoss, kSame),
      function("mse_loss", "y = (x - target)²", "the squared error", kElementLoss, kSame),
      function("l1_loss", "y = |x - target|", "the absolute error", kElementLoss, kSame),
      function("huber_loss", "y = d² / 2, or delta · (d - delta / 2) beyond delta, d = |x - target|",
               "the squared error near 0, the absolute one beyond", kElementLoss, kSame),
      function("smooth_l1_loss", "y = d² / (2 beta), or d - beta / 2 from beta on, d = |x - target|",
               "the squared error near 0, the absolute one beyond", kElementLoss, kSame),
      function("fft", "y[k] = Σ x[j] · exp(-2πi jk / n)", "the discrete Fourier transform along an axis", kLine, "c64"),
      function("ifft", "x[j] = 1/n Σ y[k] · exp(2πi jk / n)", "the inverse of fft", kLine, "c64"),
      function("rfft", "y[k] = Σ x[j] · exp(-2πi jk / n), k ≤ n / 2", "the first half of the transform of real numbers",
               kHalfLine, "c64"),
      function("irfft", "x[j] = 1/n Σ y[k] · exp(2πi jk / n), y[n - k] = conj(y[k])", "the inverse of rfft", kLine,
               "f32"),
      function("hfft", "y[k] = Σ x[j] · exp(-2πi jk / n), x[n - j] = conj(x[j])",
               "the transform of a signal of which x is the first half and its conjugate the second", kLine, "f32"),
      function("ihfft", "x[j] = 1/n Σ y[k] · exp(2πi jk / n), j ≤ n / 2", "the inverse of hfft", kHalfLine, "c64"),
      function("fftn", "y = fft(x) along each of the axes", "the Fourier transform in several dimensions", kLines,
               "c64"),
      function("ifftn", "x = ifft(y) along each of the axes", "the inverse of fftn", kLines, "c64"),
      function("rfftn", "y = fft(rfft(x))", "rfft along the last of the axes, fft along the others", kLines, "c64"),
      function("irfftn", "x = irfft(ifft(y))", "the inverse of rfftn", kLines, "f32"),
      function("fftfreq", "y = [0, 1, …, -2, -1] / (n · spacing)", "the frequencies of the results of fft", "[n]",
               "dtype"),
      function("rfftfreq", "y = [0, 1, …, n / 2] / (n · spacing)", "the frequencies of the results of rfft",
               "[n / 2 + 1]", "dtype"),
      function("fftshift", "y[(k + n / 2) mod n] = x[k]", "the frequency 0 in the middle of the axes", "x's shape",
               "x's type"),
      function("ifftshift", "x[k] = y[(k + n / 2) mod n]", "the inverse of fftshift", "x's shape", "x's type"),
      function("hann_window", "y[k] = (1 - cos(2πk / N)) / 2", "a window; N = n, or n - 1 if not periodic", "[n]",
               kAskedType),
      function("hamming_window", "y[k] = 0.54 - 0.46 cos(2πk / N)", "a window; N = n, or n - 1 if not periodic", "[n]",
               kAskedType),
      function("blackman_window", "y[k] = 0.42 - 0.5 cos(2πk / N) + 0.08 cos(4πk / N)",
               "a window; N = n, or n - 1 if not periodic", "[n]", kAskedType),
      function("blackman_harris_window",
               "y[k] = 0.35875 - 0.48829 cos(2πk / N) + 0.14128 cos(4πk / N) - 0.01168 cos(6πk / N)",
               "a window; N = n, or n - 1 if not periodic", "[n]", kAskedType),
      function("bartlett_window", "y[k] = 1 - |2k / N - 1|", "a window; N = n, or n - 1 if not periodic", "[n]",
               kAskedType),
      function("kaiser_window", "y[k] = I0(beta · sqrt(1 - (2k / N - 1)²)) / I0(beta)",
               "a window; N = n, or n - 1 if not periodic", "[n]", kAskedType),
      function("gaussian_window", "y[k] = exp(-((k - N / 2) / deviation)² / 2)",
               "a window; N = n, or n - 1 if not periodic", "[n]", kAskedType),
      function("tukey_window", "y[k] = (1 - cos(π min(1, u / alpha))) / 2, u = 1 - |2k / N - 1|",
               "a window; N = n, or n - 1 if not periodic", "[n]", kAskedType),
      function("stft", "y[…, k, t] = Σ w[j] · x[t · hop_length + j] · exp(-2πi jk / n_fft)",
               "the transforms of overlapping frames of a signal", "[…, frequencies, frames]", "c64"),
      function("istft", "y = Σ w · ifft(x[…, t]) at t · hop_length / Σ w²", "the signal whose stft comes nearest to x",
               "[…, length]", "f32; c64 if complex"),
      function("fft_convolve", "y[k] = Σ a[j] · b[k - j]", "the convolution along an axis, by Fourier transforms",
               "the operands' common shape, along the axis n + m - 1; same: n; valid: the difference + 1",
               "the operands' common type; f32 of integers"),
      function("dct", "y[k] = 2 Σ x[j] cos(π k (2j + 1) / 2n); type 3: its transpose",
               "the cosine transform along an axis", kLine, "x's type; f32 of integers"),
      function("idct", "x = y of dct(x)", "the inverse of dct", kLine, "x's type; f32 of integers"),
      function("cholesky_ex", "a = y yᴴ; upper: a = yᴴ y", "the Cholesky factor, and whether it exists",
               "l: a's shape; info: [...]", "l: a's type; info: i32"),
      function("cholesky_solve", "l lᴴ y = b; upper: lᴴ l y = b", "the solution of a system by its Cholesky factor",
               kSolution, kCommonType),
      function("cholesky_inverse", "y = (l lᴴ)⁻¹; upper: (lᴴ l)⁻¹", "the inverse by the Cholesky factor", "l's shape",
               "l's type"),
      function("solve", "a y = b", "the solution of a system", kSolution, kCommonType),
      function("solve_ex", "a y = b", "the solution of a system, and whether it exists",
               "x: b's shape, with the leading dimensions of both; info: [...]", "x: the common type; info: i32"),
      function("inv", "y = a⁻¹", "the inverse of a matrix", "a's shape", "a's type"),
      function("inv_ex", "y = a⁻¹", "the inverse of a matrix, and whether it exists", "x: a's shape; info: [...]",
               "x: a's type; info: i32"),
      function("det", "y = det(a)", "the determinant of a matrix", "[...]", "a's type"),
      function("slogdet", "det(a) = y · e^logabsdet",
               "the sign of the determinant and the logarithm of its magnitude", "sign, logabsdet: [...]",
               "sign: a's type; logabsdet: a's type, of c64 f32"),
      function("lu_factor", "a[order[i]] = (l u)[i], y = l - 1 + u", "the LU factors, as lu_solve() takes them",
               "lu: a's shape; pivots: [..., min(m, n)]; order: [..., m]; info: [...]",
               "lu: a's type; pivots, order, info: i32"),
      function("lu_solve", "a y = b; adjoint: aᴴ y = b", "the solution of a system by its LU factors", kSolution,
               "the factors' type"),
      function("lstsq", "y = argmin Σ |b - a y|²", "the least-squares solution by QR factors",
               "solution: [..., n, k]; residuals: [..., k]; info: [...]",
               "solution: the operands' common type; residuals: f32, f64 of f64; info: i32"),
      function("eigh_ex", "a y = y diag(values)",
               "the eigenvalues and eigenvectors of a Hermitian matrix, and whether they were found",
               "values: [..., n]; vectors: a's shape; info: [...]", "values: f32, f64 of f64; vectors: a's; info: i32"),
      function("eigvalsh", "a v = v diag(y)", "the eigenvalues of a Hermitian matrix in ascending order", "[..., n]",
               "f32; f64 of f64"),
      function("pinv", "y = v diag(1 / s) uᴴ, a = u diag(s) vᴴ", "the pseudo-inverse", "[..., n, m]", "a's type"),
      function("matrix_rank", "y = #{s > rtol · max(s)}", "how many singular values are not 0", "[...]", "i32"),
      function("condition_number", "y = max(s) / min(s)", "the condition of each matrix", "[...]", "a's type; of c64 f32"),
      function("vector_norm", "y = (Σ |x|^ord)^(1/ord)", "the norm over the axes", kReduced, kNormType),
      function("matrix_norm",
               "y = sqrt(Σ |x|²), the greatest or least Σ |x| of a row or column, or of singular values the greatest, "
               "least or sum",
               "the norm of each matrix", "[...], or [..., 1, 1] (keep_dims)", kNormType),
      function("inner", "y[i…, j…] = Σ_k a[i…, k] · b[j…, k]", "the products of rows",
               "a's axes but the last, then b's", kCommonType),
      function("cross", "y = [a₁ b₂ - a₂ b₁, a₂ b₀ - a₀ b₂, a₀ b₁ - a₁ b₀]", "the cross product along an axis", kCommon,
               kCommonType),
      function("kron", "y[i · m + k, j · n + l] = a[i, j] · b[k, l]", "the Kronecker product",
               "the products of the sizes", kCommonType),
      function("matrix_power", "y = x · x · … · x", "the product of n copies of each matrix", "x's shape", kSame),
      function("multi_dot", "y = a · b · … · z", "the product of several matrices in the cheapest order", "[m, n]",
               kCommonType),
      function("matrix_transpose", "y[…, i, j] = x[…, j, i]", "each matrix with its axes exchanged", "[..., n, m]",
               kSame),
      function("trace", "y = Σ_i x[…, i, i + offset]", "the sum of a diagonal", "x's shape without the last two axes",
               "as of sum()"),
      function("diag", "y[i, i + offset] = x[i], else 0", "a matrix of its diagonal, or the diagonal of a matrix",
               "[n, n], of a matrix [n]", kSame),
      function("vander", "y[…, i, j] = x[…, i]^j", "the powers of each element", "x's shape and columns behind",
               "as of prod()"),
      function("quantize", "y = saturate(round(x / scale) + zero_point)",
               "x as integers or 8-bit floats times a scale; ties go to the even integer", "x's shape", kQuantizedType),
      function("dequantize", "y = (q - zero_point) · scale", "the numbers that quantised ones stand for", "q's shape",
               "dtype; without one the scale's, of a number f32"),
      function("requantize", "y = saturate(round(x · scale) + zero_point)",
               "the i32 sums of a product of quantised numbers, quantised again", "x's shape", kQuantizedType),
      function("fake_quantize", "y = (min(max(round(x / scale) + zero_point, low), high) - zero_point) · scale",
               "what quantising leaves of x", "x's shape", "x's type"),
      function("quantized_embedding", "y[i…, :] = dequantize_weights(w)[indices[i…], :]",
               "rows of quantised weights", "indices' shape, then [columns]", "as of dequantize_weights"),
      function("dynamic_quantize", "y = quantize(x, scale, zero_point)",
               "x quantised by its own range, with the scale and the zero point", "x's shape", "dtype"),
      function("matmul_integer", "y[…, m, n] = Σ_k (a[…, m, k] - a_zero) · (b[…, k, n] - b_zero)",
               "the product of quantised matrices without their scales", "[..., m, n]", "i32"),
      function("conv_integer", "y = conv(x - x_zero, w - w_zero)",
               "the convolution of quantised tensors without their scales", "as of conv", "i32"),
      function("qlinear_matmul", "y = quantize(matmul(dequantize(a), dequantize(b)))",
               "the product of quantised matrices, quantised", "[..., m, n]", kQuantizedResult),
      function("qlinear_conv", "y = quantize(conv(dequantize(x), dequantize(w)) + bias)",
               "the convolution of quantised tensors, quantised", "as of conv", kQuantizedResult),
  };
}

}  // namespace

std::span<const Schema> function_schemas() {
  static const std::vector<Schema> all = [] {
    std::vector<Schema> schemas = make_functions();
    for (const FunctionRow& row : function_rows()) schemas.push_back(row.schema);
    std::ranges::sort(schemas, {}, &Schema::name);
    return schemas;
  }();
  return all;
}

std::vector<const Schema*> callable_schemas() {
  std::vector<const Schema*> all;
  for (const FunctionRow& row : function_rows()) all.push_back(&row.schema);
  for (const OpRow& row : op_rows()) {
    const bool callable = (row.call || row.make) && !row.make_of_graphs;
    if (callable && !find_function_row(row.schema.name)) all.push_back(&row.schema);
  }
  return all;
}

// The kernel's attributes are not the op's, whose struct lists its own.
Schema schema_of_kernel(std::string_view name, std::string shape, std::string type) {
  Schema s = kernel(name);
  if (!shape.empty()) s.outputs[0].shape = std::move(shape);
  s.outputs[0].type = std::move(type);
  for (OperandSchema& o : s.outputs) {
    if (o.name == "indices") o.type = kPositionType;
  }
  return s;
}

std::span<const OpRow> op_rows() {
  static const OpRows all = [] {
    OpRows rows;
    for (const auto add : collected_ops()) add(rows);
    return rows;
  }();
  return all;
}

std::span<const Schema> op_schemas() {
  static const std::vector<Schema> all = [] {
    std::vector<Schema> schemas = leaves();
    for (const OpRow& row : op_rows()) schemas.push_back(row.schema);
    return schemas;
  }();
  return all;
}

const Schema* find_op_schema(std::string_view name) {
  static const auto by_name = [] {
    std::map<std::string_view, const Schema*> names;
    for (const Schema& s : op_schemas()) names.emplace(s.name, &s);
    return names;
  }();
  const auto found = by_name.find(name);
  return found == by_name.end() ? nullptr : found->second;
}

const Schema& op_schema(std::string_view name) {
  if (const Schema* s = find_op_schema(name)) return *s;
  throw InternalError("op {} has no schema", name);
}

std::vector<DType> infer_dtypes(std::string_view op, std::span<const TensorType* const> inputs,
                                std::optional<DType> asked) {
  const Schema& schema = op_schema(op);
  const TypeSignature& fits = check_inputs(schema, op, inputs, asked);
  std::vector<DType> all;
  for (std::size_t k = 0; k < schema.outputs.size(); ++k) {
    all.push_back(k == 0 && asked ? *asked : result_type(schema, fits, inputs, k));
  }
  return all;
}

DType infer_dtype(std::string_view op, std::initializer_list<const TensorType*> inputs, std::optional<DType> asked) {
  return infer_dtypes(op, std::span(inputs.begin(), inputs.size()), asked)[0];
}

}  // namespace weft
