#include "ops/quantized.h"

#include <algorithm>

#include "core/format.h"
#include "graph/graph.h"
#include "graph/node.h"
#include "kernels/quantized/encoding.h"
#include "ops/function_row.h"
#include "ops/identity.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/product.h"
#include "ops/rules.h"
#include "weft/array.h"
#include "weft/error.h"
#include "weft/indexing.h"
#include "weft/quantization.h"
#include "weft/quantized_weights.h"

namespace weft {
namespace {

// The operands of weights that begin at `first`, as far as they are there. T: what lists have, types or views.
template <class T>
struct Parts {
  const T *values = nullptr, *scales = nullptr, *zeros = nullptr, *groups = nullptr;
};

template <class T>
Parts<T> parts_of(const QuantizedOperands& a, std::span<const T> operands, std::size_t first) {
  std::size_t next = first;
  const auto given = [&](bool there) { return there ? &operands[next++] : nullptr; };
  Parts<T> parts;
  parts.values = given(true);
  parts.scales = given(a.scales);
  parts.zeros = given(a.zeros);
  parts.groups = given(a.groups);
  return parts;
}

void check_count(std::string_view op, std::size_t given, std::size_t named) {
  if (given == named) return;
  throw InvalidArgument("{}: {} operands, its attributes name {}", op, given, named);
}

kernels::QuantizedLayout layout_of(std::string_view op, const QuantizedOperands& a, const Parts<TensorType>& w) {
  return kernels::quantized_layout(op, a.format, {*w.values, w.scales, w.zeros, w.groups});
}

kernels::QuantizedMatrix matrix_of(const QuantizedOperands& a, const Parts<View>& w) {
  const auto given = [](const View* view) { return view ? std::optional(*view) : std::nullopt; };
  return {a.format, *w.values, given(w.scales), given(w.zeros), given(w.groups)};
}

// How many axes of the values are a matrix.
int matrix_rank(const kernels::QuantizedFormat& f) { return f.scheme == QuantizedScheme::nbits ? 3 : 2; }

// The operands of weights of a batch: each with the batch as its first axis, whether it has one or not, and axes of
// size 1 behind it so that each entry has `leading` axes in front of its matrix.
std::vector<Tensor> batched_weights(const QuantizedOperands& a, std::span<const Tensor> in, std::span<const int> axes,
                                    std::int64_t size, int leading) {
  const int own = in[0].rank() - (axes[0] >= 0 ? 1 : 0) - matrix_rank(a.format);
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < in.size(); ++i) {
    Tensor x = batch_first(in[i], axes[i], size);
    Shape shape = x.shape();
    for (int d = own; d < leading; ++d) shape.insert(1, 1);
    all.push_back(reshape(x, shape));
  }
  return all;
}

std::span<const Tensor> behind_first(std::span<const Tensor> all, std::size_t count) { return all.subspan(1, count); }

}  // namespace

// ---- quantize_weights

namespace {

kernels::StoredTypes stored(const QuantizeWeightsAttributes& a, const TensorType& x) {
  return kernels::stored_types("quantize_weights", a.format, x, a.types.values, a.types.scales, a.types.zeros);
}

}  // namespace

std::vector<TensorType> QuantizeWeightsOp::infer(std::span<const TensorType> in) const {
  infer_dtype(name(), {&in[0]});
  const kernels::StoredTypes types = stored(a, in[0]);
  std::vector<TensorType> all{types.values};
  for (const auto& more : {types.scales, types.zeros}) {
    if (more) all.push_back(*more);
  }
  return all;
}

void QuantizeWeightsOp::lower(const Launch& call) const {
  const auto& out = call.outputs;
  const auto given = [&](std::size_t i) { return i < out.size() ? std::optional(out[i]) : std::nullopt; };
  const View& x = call.inputs[0];
  kernels::quantize_weights(call.stream, x, {stored(a, {x.dtype, x.shape()}).format, out[0], given(1), given(2)});
}

Derivatives QuantizeWeightsOp::vjp(const Differentiated&, std::span<const Tensor>) const {
  return std::vector<Tensor>(1);
}

std::optional<Batched> QuantizeWeightsOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  std::vector<Tensor> all = results_of(apply(shared_from_this(), {batch_first(in[0], axes[0], 0)}));
  std::vector<int> first(all.size(), 0);
  return Batched{std::move(all), std::move(first)};
}

// ---- dequantize_weights

std::vector<TensorType> DequantizeWeightsOp::infer(std::span<const TensorType> in) const {
  check_count(name(), in.size(), a.weights.count());
  const Parts<TensorType> w = parts_of(a.weights, in, 0);
  layout_of(name(), a.weights, w);
  const DType type = infer_dtype(name(), {w.values, w.scales, w.zeros, w.groups}, a.type);
  return {{type, kernels::quantized_shape(a.weights.format, in[0].dtype, in[0].shape)}};
}

void DequantizeWeightsOp::lower(const Launch& call) const {
  kernels::dequantize_weights(call.stream, matrix_of(a.weights, parts_of(a.weights, call.inputs, 0)), call.outputs[0]);
}

OpPtr DequantizeWeightsOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                                      std::span<const DType> results) const {
  // Scales and zeros stay what they are.
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i].dtype != to[i].dtype) return nullptr;
  }
  return make_op<DequantizeWeightsOp>(DequantizeWeightsAttributes{a.weights, results[0]});
}

Derivatives DequantizeWeightsOp::vjp(const Differentiated& node, std::span<const Tensor>) const {
  return std::vector<Tensor>(node.inputs.size());  // weights are constant
}

std::optional<Batched> DequantizeWeightsOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const int leading = in[0].rank() - (axes[0] >= 0 ? 1 : 0) - matrix_rank(a.weights.format);
  return batched(apply(shared_from_this(), batched_weights(a.weights, in, axes, batch_size(in, axes), leading)));
}

// ---- quantized_matmul

std::vector<TensorType> QuantizedMatmulOp::infer(std::span<const TensorType> in) const {
  check_count(name(), in.size(), 1 + a.weights.count() + std::size_t{a.chosen});
  const Parts<TensorType> w = parts_of(a.weights, in, 1);
  const TensorType* chosen = a.chosen ? &in.back() : nullptr;
  layout_of(name(), a.weights, w);
  const DType type = infer_dtype(name(), {&in[0], w.values, w.scales, w.zeros, w.groups, chosen}, a.type);
  const Shape weights = kernels::quantized_shape(a.weights.format, in[1].dtype, in[1].shape);
  const Shape& x = in[0].shape;
  const auto fail = [&](std::string_view why) {
    throw ShapeError("{}: x {}, weights {}{}: {}", name(), weft::to_string(x), weft::to_string(weights),
                     a.transposed ? ", transposed" : "", why);
  };
  if (x.rank() < 2) fail("x has fewer than two axes");
  const std::int64_t k = weights[a.transposed ? -1 : -2];
  if (x[-1] != k) fail(std::format("inner sizes {} and {} differ", x[-1], k));
  Shape shape;
  const auto leading = [](const Shape& s) { return Shape(std::span(s.begin(), s.end() - 2)); };
  try {
    if (chosen && weights.rank() != 3) fail("matrices to choose from are [matrices, rows, columns]");
    shape = broadcast(leading(x), chosen ? chosen->shape : leading(weights));
  } catch (const ShapeError&) {
    throw;
  } catch (const InvalidArgument& e) {
    fail(std::format("leading dimensions: {}", e.what()));
  }
  if (chosen && weights[0] == 0 && element_count(shape) != 0) fail("there is no matrix to choose");
  shape.push_back(x[-2]);
  shape.push_back(weights[a.transposed ? -2 : -1]);
  return {{type, shape}};
}

FusionSpec QuantizedMatmulOp::fusion_spec(const gpu::Capabilities*, std::span<const TensorType> in,
                                          std::span<const TensorType> out) const {
  return {.epilogue_outputs = 1,
          .epilogue_input = in[0].dtype == DType::f64 ? DType::f64 : DType::f32,
          .bindings = kernels::has_grid(a.weights.format.scheme) ? 1 : 0,
          .work = static_cast<double>(element_count(out[0].shape)) * static_cast<double>(in[0].shape[-1])};
}

OpPtr QuantizedMatmulOp::with_types(std::span<const TensorType> from, std::span<const TensorType> to,
                                    std::span<const DType> results) const {
  for (std::size_t i = 1; i < from.size(); ++i) {
    if (from[i].dtype != to[i].dtype) return nullptr;
  }
  QuantizedMatmulAttributes other = a;
  other.type = results[0] == to[0].dtype ? std::nullopt : std::optional(results[0]);
  return make_op<QuantizedMatmulOp>(other);
}

// Rows of weights that are stored by rows, each with scales of its own.
std::vector<int> QuantizedMatmulOp::joined_axes(std::span<const TensorType> in) const {
  const kernels::QuantizedFormat& f = a.weights.format;
  const bool by_rows = !kernels::groups_rows(f.scheme) && f.group_rows == 1;
  if (!a.transposed || a.chosen || !by_rows || in[1].shape.rank() != matrix_rank(f)) return {};
  return std::vector<int>(a.weights.count(), 0);
}

bool QuantizedMatmulOp::takes_strides_of(std::size_t operand) const { return operand == 0; }

void QuantizedMatmulOp::lower(const Launch& call) const {
  const auto& in = call.inputs;
  const kernels::QuantizedMatrix w = matrix_of(a.weights, parts_of(a.weights, in, 1));
  kernels::quantized_matmul(call.stream, in[0], w, a.chosen ? std::optional(in.back()) : std::nullopt, call.outputs[0],
                            {a.transposed}, call.fusion.epilogue);
}

std::optional<OwnWork> QuantizedMatmulOp::own_work(std::span<const View> in, std::span<const View> out) const {
  return product_work(in, out, static_cast<double>(in[0].shape()[-1]));
}

std::vector<Tensor> QuantizedMatmulOp::decomposed(std::span<const Tensor> in) const {
  const std::size_t count = a.weights.count();
  const DType type = in[0].dtype() == DType::f64 ? DType::f64 : DType::f32;
  Tensor w = apply(make_op<DequantizeWeightsOp>(DequantizeWeightsAttributes{a.weights, type}),
                   std::vector<Tensor>(in.begin() + 1, in.begin() + 1 + static_cast<std::ptrdiff_t>(count)));
  if (a.chosen) w = gather(w, clamp(in.back(), 0, w.shape()[0] - 1), 0);
  if (a.transposed) w = w.T();
  return {matmul(in[0], w, a.type.value_or(in[0].dtype()))};
}

namespace {

// The op's linear map of another x.
Tensor product_of(const QuantizedMatmulAttributes& a, const Tensor& x, std::span<const Tensor> in) {
  std::vector<Tensor> operands{x};
  operands.insert(operands.end(), in.begin() + 1, in.end());
  return apply(make_op<QuantizedMatmulOp>(a), std::move(operands));
}

}  // namespace

Derivatives QuantizedMatmulOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  std::vector<Tensor> all(node.inputs.size());
  if (!node.wanted[0]) return all;
  const Tensor& x = node.inputs[0];
  QuantizedMatmulAttributes back = a;
  back.transposed = !a.transposed;
  back.type = x.dtype();
  all[0] = summed_to(product_of(back, g[0], node.inputs), x.shape());
  return all;
}

Derivatives QuantizedMatmulOp::jvp(const Differentiated& node, std::span<const Tensor> tangents) const {
  if (!tangents[0].defined()) return std::vector<Tensor>(1);
  QuantizedMatmulAttributes same = a;
  same.type = node.outputs[0].dtype();
  return std::vector{product_of(same, tangents[0], node.inputs)};
}

std::optional<Batched> QuantizedMatmulOp::vmap(std::span<const Tensor> in, std::span<const int> axes) const {
  const std::size_t count = a.weights.count();
  const std::span<const int> of_weights = axes.subspan(1, count);
  const bool weights_have = std::ranges::any_of(of_weights, [](int axis) { return axis >= 0; });
  if (weights_have && a.chosen) return std::nullopt;  // each entry would choose among matrices of its own
  const std::int64_t size = batch_size(in, axes);
  // Axes in front of the matrices, in an entry.
  int leading = entry_rank(in[0], axes[0]) - 2;
  leading = std::max(leading, a.chosen ? entry_rank(in.back(), axes.back())
                                       : entry_rank(in[1], axes[1]) - matrix_rank(a.weights.format));
  std::vector<Tensor> operands{batch_broadcast(in[0], axes[0], leading + 2)};
  if (weights_have) {
    for (const Tensor& x : batched_weights(a.weights, behind_first(in, count), of_weights, size, leading)) {
      operands.push_back(x);
    }
  } else {
    operands.insert(operands.end(), in.begin() + 1, in.begin() + 1 + static_cast<std::ptrdiff_t>(count));
  }
  if (a.chosen) operands.push_back(batch_broadcast(in.back(), axes.back(), leading));
  return batched(apply(shared_from_this(), std::move(operands)));
}

// ---- Functions

namespace {

std::vector<Tensor> operands_of(std::string_view function, const QuantizedWeights& w) {
  if (!w.values.defined()) throw InvalidArgument("{}: the values are an undefined Tensor", function);
  std::vector<Tensor> all{w.values};
  for (const Tensor& more : {w.scales, w.zeros, w.groups}) {
    if (more.defined()) all.push_back(more);
  }
  return all;
}

QuantizedOperands attributes_of(const QuantizedWeights& w) {
  return {w.format, w.scales.defined(), w.zeros.defined(), w.groups.defined()};
}

}  // namespace

Shape QuantizedWeights::shape() const {
  const std::vector<Tensor> operands = operands_of("quantised weights", *this);
  std::vector<TensorType> types;
  for (const Tensor& x : operands) types.push_back(x.type());
  return DequantizeWeightsOp(DequantizeWeightsAttributes{attributes_of(*this)}).infer(types)[0].shape;
}

std::uint64_t QuantizedWeights::bytes() const {
  std::uint64_t bytes = 0;
  for (const Tensor& x : operands_of("quantised weights", *this)) bytes += byte_size(x.type());
  return bytes;
}

QuantizedWeights quantize_weights(const Operand& x, const QuantizedFormat& format,
                                  const QuantizeWeightsOptions& options) {
  if (!x.defined()) throw InvalidArgument("quantize_weights: x is an undefined Tensor");
  const QuantizeWeightsAttributes a{format, options};
  const std::vector<Tensor> results = results_of(apply(make_op<QuantizeWeightsOp>(a), {x}));
  const auto given = [&](std::size_t i) { return i < results.size() ? results[i] : Tensor(); };
  return {stored(a, x.type()).format, results[0], given(1), given(2)};
}

namespace {

constexpr FunctionOperand kValues = {.name = "values", .shape = "as the scheme stores them"};
constexpr FunctionOperand kScales = {.name = "scales", .arity = Arity::optional, .shape = "as the scheme stores them"};
constexpr FunctionOperand kZeros = {.name = "zeros", .arity = Arity::optional, .shape = "as the scheme stores them"};
constexpr FunctionOperand kGroups = {.name = "groups", .arity = Arity::optional, .shape = "[rows]"};

struct WeightsAttributes {
  QuantizedFormat format = {};
  std::optional<DType> dtype = {};
  void fields(AttributeVisitor& v) {
    format.fields(v);
    v("dtype", dtype, {}, "the type of the result; without one the scales' if that is a float, else f32");
  }
};
constexpr std::string_view kWeightsType = "dtype; without one the scales' if that is a float, else f32";
constexpr Function kDequantizeWeights = {
    {.name = "dequantize_weights",
     .operands = {kValues, kScales, kZeros, kGroups},
     .results = {{"y", "[..., rows, columns]", kWeightsType}},
     .formula = "y = (values - zeros) · scales, of affine weights values · scales + zeros",
     .summary = "weights of a few bits in groups that share a scale, as floats"},
    [](const Tensor& values, const Tensor& scales, const Tensor& zeros, const Tensor& groups,
       const WeightsAttributes& o) -> Tensor {
      const QuantizedWeights w{o.format, values, scales, zeros, groups};
      const bool floats = w.scales.defined() && w.scales.dtype() != DType::u8 && w.scales.dtype() != DType::f8e4m3;
      const DType type = o.dtype.value_or(floats ? w.scales.dtype() : DType::f32);
      return apply(make_op<DequantizeWeightsOp>(DequantizeWeightsAttributes{attributes_of(w), type}),
                   operands_of("dequantize_weights", w));
    }};

struct ProductAttributes {
  QuantizedFormat format = {};
  bool transposed = true;
  std::optional<DType> dtype = {}, activations = {};
  void fields(AttributeVisitor& v) {
    format.fields(v);
    v("transposed", transposed, true, "multiplies by the weights' transpose");
    v("dtype", dtype, {}, "the type of the result, instead of x's");
    v("activations", activations, {}, "i8: x is quantised too, by rows");
  }
};

// The derivatives of a product whose activations were rounded are those of x as it was.
class AsIfNotRounded final : public CustomDerivative {
 public:
  explicit AsIfNotRounded(QuantizedMatmulAttributes attributes)
      : op_(make_op<QuantizedMatmulOp>(std::move(attributes))) {
    results = 1;
  }
  Derivatives vjp(const Differentiated& call, std::span<const Tensor> cotangents) const override {
    return op_->derivatives().vjp(call, cotangents);
  }
  Derivatives jvp(const Differentiated& call, std::span<const Tensor> tangents) const override {
    return op_->derivatives().jvp(call, tangents);
  }

 private:
  OpPtr op_;
};

// The product of bytes, of x quantised by rows.
Tensor integer_matmul(const Tensor& x, const QuantizedWeights& w, const Tensor& chosen,
                      const ProductAttributes& options) {
  constexpr std::string_view kName = "quantized_matmul";
  if (*options.activations != DType::i8) {
    throw TypeError("{}: activations are {}, expected i8", kName, name(*options.activations));
  }
  const Shape shape = w.shape();
  const DType values = w.values.dtype();
  const int along = options.transposed ? -1 : -2;
  if (w.format.scheme != QuantizedScheme::integers || (values != DType::i8 && values != DType::u8) ||
      w.scales.shape()[along] != 1) {
    throw InvalidArgument(
        "{}: activations of i8 take integers of 8 bits with one scale along the sums, the weights are {} {} with "
        "scales {}",
        kName, kernels::kQuantizedSchemes[static_cast<std::size_t>(w.format.scheme)], to_string(w.values.type()),
        w.scales.defined() ? to_string(w.scales.type()) : "of their own");
  }
  if (chosen.defined()) throw InvalidArgument("{}: activations of i8 take no chosen matrices", kName);
  // One of each for each output.
  const auto of_outputs = [&](const Tensor& v) {
    if (!v.defined()) return v;
    const int across = options.transposed ? -2 : -1;
    const std::int64_t count = v.shape()[across], outputs = shape[across];
    const Tensor each =
        count == 1 || count == outputs
            ? v
            : slice(repeat(v, options.transposed ? w.format.group_rows : w.format.group, v.rank() + across),
                    v.rank() + across, 0, outputs);
    return options.transposed ? each.T() : each;
  };
  // Sums of products of codes of up to 127, and of 128, or 255 with a zero point, that are integers of 32 bits.
  const std::int64_t most = INT32_MAX / (127 * (w.zeros.defined() || values == DType::u8 ? 255 : 128));
  if (shape[along] > most) {
    throw InvalidArgument("{}: activations of i8: sums of {} products may exceed i32, at most {} are possible", kName,
                          shape[along], most);
  }
  const Quantized q = dynamic_quantize(x, {.dtype = DType::i8, .axes = -1, .symmetric = true});
  const Tensor sums = matmul_integer(q.values, options.transposed ? w.values.T() : w.values, {}, of_outputs(w.zeros));
  const Tensor scale = q.scale * cast(of_outputs(w.scales), DType::f32);
  const Tensor y = cast(cast(sums, DType::f32) * scale, options.dtype.value_or(x.dtype()));
  std::vector<Tensor> operands{x};
  for (const Tensor& part : operands_of(kName, w)) operands.push_back(part);
  QuantizedMatmulAttributes a{attributes_of(w), options.transposed, false, {}};
  if (y.dtype() != x.dtype()) a.type = y.dtype();
  return with_derivative(std::make_shared<const AsIfNotRounded>(a), std::vector{y}, operands)[0];
}

constexpr Function kQuantizedMatmul = {
    {.name = "quantized_matmul",
     .operands = {{.name = "x", .shape = "[..., m, k], or [k]"},
                  kValues,
                  kScales,
                  kZeros,
                  kGroups,
                  {.name = "chosen", .arity = Arity::optional, .shape = "broadcasts to y's leading axes"}},
     .results = {{"y", "[..., m, n], or [..., n]", "dtype; without one x's"}},
     .formula = "y[…, m, n] = Σ_k x[…, m, k] · dequantize_weights(w)[…, n, k]",
     .summary = "the product with weights that are dequantised as they are read; with chosen, each entry takes one of "
                "several matrices, as a mixture of experts does"},
    [](const Tensor& x, const Tensor& values, const Tensor& scales, const Tensor& zeros, const Tensor& groups,
       const Tensor& chosen, const ProductAttributes& o) -> Tensor {
      const QuantizedWeights w{o.format, values, scales, zeros, groups};
      if (x.rank() == 1) {
        const Tensor row = expand_dims(x, 0);
        return squeeze(quantized_matmul(row, w, {o.transposed, chosen, o.dtype, o.activations}), -2);
      }
      // Without elements there is nothing to measure.
      if (o.activations && x.size() > 0) return integer_matmul(x, w, chosen, o);
      std::vector<Tensor> operands{x};
      for (const Tensor& part : operands_of("quantized_matmul", w)) operands.push_back(part);
      if (chosen.defined()) operands.push_back(chosen);
      QuantizedMatmulAttributes a{attributes_of(w), o.transposed, chosen.defined(), {}};
      if (o.dtype && *o.dtype != x.dtype()) a.type = o.dtype;
      return apply(make_op<QuantizedMatmulOp>(a), std::move(operands));
    }};

constexpr Function kQuantizedEmbedding = {
    {.name = "quantized_embedding",
     .operands = {kValues, kScales, kZeros, kGroups, {"indices"}},
     .results = {{"y", "indices' shape, then [columns]", "as of dequantize_weights"}},
     .formula = "y[i…, :] = dequantize_weights(w)[indices[i…], :]",
     .summary = "rows of quantised weights"},
    [](const Tensor& values, const Tensor& scales, const Tensor& zeros, const Tensor& groups, const Tensor& indices,
       const WeightsAttributes& o) {
      constexpr std::string_view kName = "quantized_embedding";
      const QuantizedWeights w{o.format, values, scales, zeros, groups};
      const Shape shape = w.shape();
      if (shape.rank() != 2) {
        throw ShapeError("{}: the weights are {}, expected [rows, columns]", kName, to_string(shape));
      }
      const bool awq = w.format.scheme == QuantizedScheme::awq;
      if (kernels::groups_rows(w.format.scheme) && !awq) {
        throw Unsupported("{}: rows of {} lie across words; choose rows of dequantize_weights()", kName,
                          kernels::kQuantizedSchemes[static_cast<std::size_t>(w.format.scheme)]);
      }
      // Rows of what is stored, and their scales, as a matrix of their own.
      const Tensor ids = reshape(indices, {-1});
      QuantizedWeights rows = w;
      rows.values = gather(w.values, ids, 0);
      if (!awq && w.format.group_rows == 1) {
        if (w.scales.defined()) rows.scales = gather(w.scales, ids, 0);
        if (w.zeros.defined()) rows.zeros = gather(w.zeros, ids, 0);
      } else {
        // Several rows share a scale, which each row then has for itself.
        const std::int64_t group = awq                        ? kernels::complete(w.format).group
                                   : w.format.group_rows == 0 ? shape[0]
                                                              : w.format.group_rows;
        const Tensor group_of = gather(floor_divide(arange(shape[0]), group), ids, 0);
        rows.scales = gather(w.scales, group_of, 0);
        if (w.zeros.defined()) rows.zeros = gather(w.zeros, group_of, 0);
        if (awq)
          rows.format.group = 1;
        else
          rows.format.group_rows = 1;
      }
      Shape result = indices.shape();
      result.push_back(shape[1]);
      return reshape(dequantize_weights(rows, o.dtype), result);
    }};

}  // namespace

void add_quantized_functions(FunctionRows& rows) {
  rows.add(kDequantizeWeights, kQuantizedMatmul, kQuantizedEmbedding);
}

Tensor dequantize_weights(const QuantizedWeights& w, std::optional<DType> dtype) {
  return kDequantizeWeights(w.values, w.scales, w.zeros, w.groups, {w.format, dtype});
}
Tensor quantized_matmul(const Operand& x, const QuantizedWeights& w, const QuantizedProduct& o) {
  return kQuantizedMatmul(x, w.values, w.scales, w.zeros, w.groups, o.chosen,
                          {w.format, o.transposed, o.dtype, o.activations});
}
Tensor quantized_embedding(const QuantizedWeights& w, const Operand& indices, std::optional<DType> dtype) {
  return kQuantizedEmbedding(w.values, w.scales, w.zeros, w.groups, indices, {w.format, dtype});
}

void add_quantized_ops(OpRows& rows) {
  rows.push_back(
      op_row<QuantizeWeightsOp>(schema_of_kernel("quantize_weights", "as the scheme stores them",
                                                 "values; without one i8 of integers, else what the scheme has")));
  rows.push_back(op_row<DequantizeWeightsOp>(
      schema_of_kernel("dequantize_weights", {}, "dtype; without one the scales' if that is a float, else f32")));
  rows.push_back(op_row<QuantizedMatmulOp>(
      schema_of_kernel("quantized_matmul", {}, "the one that is asked for, without one x's")));
}

}  // namespace weft
