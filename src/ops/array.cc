// The array API's functions as compositions of others (weft/array.h).
#include "weft/array.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "core/error_context.h"
#include "core/format.h"
#include "core/system.h"
#include "ops/axes.h"
#include "ops/composition.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/promotion.h"
#include "ops/view.h"
#include "weft/error.h"
#include "weft/indexing.h"

namespace weft {
namespace {

// All as their common type.
std::vector<Tensor> promoted(std::string_view function, std::span<const Tensor> tensors) {
  if (tensors.empty()) throw InvalidArgument("{}: no tensor was given", function);
  const DType type = result_type_for(function, tensors);
  std::vector<Tensor> same;
  for (const Tensor& t : tensors) same.push_back(cast(t, type));
  return same;
}

// The shape to which these broadcast.
Shape common_shape(const char* function, std::span<const Shape> shapes) try {
  Shape all;
  for (const Shape& shape : shapes) {
    if (std::ranges::any_of(shape, [](std::int64_t n) { return n < 0; })) {
      throw ShapeError("{}: shape {} has a negative size", function, to_string(shape));
    }
    all = broadcast(all, shape);
  }
  return all;
} catch (const Error& e) {
  throw_in_function(e, function);
}

Tensor transposed(const Operand& x) try {
  require_defined(x, "T");
  if (x.rank() < 2) throw ShapeError("T: a tensor of shape {} has no two axes to exchange", to_string(x.shape()));
  std::vector<int> order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return permute(x, order);
} catch (const Error& e) {
  throw_in_function(e, "T");
}

constexpr std::string_view kSameShape = "x's shape", kSameType = "x's type", kCommonType = "the common type";

// ---- Creation

struct TypeAttributes {
  std::optional<DType> dtype = {};
  void fields(AttributeVisitor& v) { v("dtype", dtype, {}, "the type of the result; without one x's"); }
};
struct FullLikeAttributes {
  Number value = {};
  std::optional<DType> dtype = {};
  void fields(AttributeVisitor& v) {
    v("value", value, "every element of the result");
    v("dtype", dtype, {}, "the type of the result; without one x's");
  }
};
constexpr std::string_view kGivenType = "dtype; without one x's";

constexpr Function kFullLike = {{.name = "full_like",
                                 .operands = {{"x"}},
                                 .results = {{"y", kSameShape, kGivenType}},
                                 .formula = "y[i…] = value",
                                 .summary = "one value everywhere, in the shape of x"},
                                [](const Tensor& x, const FullLikeAttributes& a) {
                                  return broadcast_to(Graph::scalar(a.value, a.dtype.value_or(x.dtype())), x.shape());
                                }};
constexpr Function kZerosLike = {{.name = "zeros_like",
                                  .operands = {{"x"}},
                                  .results = {{"y", kSameShape, kGivenType}},
                                  .formula = "y[i…] = 0",
                                  .summary = "zeros in the shape of x"},
                                 [](const Tensor& x, const TypeAttributes& a) { return full_like(x, 0, a.dtype); }};
constexpr Function kOnesLike = {{.name = "ones_like",
                                 .operands = {{"x"}},
                                 .results = {{"y", kSameShape, kGivenType}},
                                 .formula = "y[i…] = 1",
                                 .summary = "ones in the shape of x"},
                                [](const Tensor& x, const TypeAttributes& a) { return full_like(x, 1, a.dtype); }};

constexpr std::string_view kOrders[] = {"xy", "ij"};
struct MeshgridAttributes {
  GridOrder order = GridOrder::xy;
  void fields(AttributeVisitor& v) {
    v("order", order, GridOrder::xy, kOrders, "xy: with the first two axes exchanged; ij: as the vectors are given");
  }
};
constexpr Function kMeshgrid = {{.name = "meshgrid",
                                 .operands = {{.name = "vectors", .arity = Arity::repeated, .max_rank = 1}},
                                 .results = {{"y", "the vectors' sizes", "that of its vector", Arity::repeated}},
                                 .formula = "y[k][i…] = vectors[k][i_k]",
                                 .summary = "the coordinates of the points of a grid, one tensor for each of its axes"},
                                [](std::span<const Tensor> axes, const MeshgridAttributes& a) {
                                  const int rank = static_cast<int>(axes.size());
                                  if (rank > kMaxRank)
                                    throw ShapeError("meshgrid: {} axes, at most {} are possible", rank, kMaxRank);
                                  Shape grid;
                                  for (const Tensor& t : axes) grid.push_back(t.size());
                                  std::vector<Tensor> coordinates;
                                  for (int i = 0; i < rank; ++i) {
                                    Shape along = Shape::filled(rank, 1);
                                    along[i] = grid[i];
                                    Tensor c = broadcast_to(reshape(axes[static_cast<std::size_t>(i)], along), grid);
                                    if (a.order == GridOrder::xy && rank > 1) c = moveaxis(c, {0, 1}, {1, 0});
                                    coordinates.push_back(std::move(c));
                                  }
                                  return coordinates;
                                }};

struct DiagonalAttributes {
  std::int64_t diagonal = 0;
  void fields(AttributeVisitor& v) {
    v("diagonal", diagonal, 0, "0 for the main diagonal, k for the one k above it, -k for the one k below");
  }
};
constexpr Function kTril = {
    {.name = "tril",
     .operands = {{.name = "x", .min_rank = 2, .shape = "[..., rows, columns]"}},
     .results = {{"y", kSameShape, kSameType}},
     .formula = "y[…, r, c] = x[…, r, c] if c - r ≤ diagonal, else 0",
     .summary = "the elements on and below a diagonal, zeros above it"},
    [](const Tensor& x, const DiagonalAttributes& a) { return triangle(x, Triangle::lower, a.diagonal); }};
constexpr Function kTriu = {
    {.name = "triu",
     .operands = {{.name = "x", .min_rank = 2, .shape = "[..., rows, columns]"}},
     .results = {{"y", kSameShape, kSameType}},
     .formula = "y[…, r, c] = x[…, r, c] if c - r ≥ diagonal, else 0",
     .summary = "the elements on and above a diagonal, zeros below it"},
    [](const Tensor& x, const DiagonalAttributes& a) { return triangle(x, Triangle::upper, a.diagonal); }};

// ---- Elementwise

constexpr std::string_view kCommonShape = "the operands' common shape";

constexpr Function kWhere = {
    {.name = "where",
     .operands = {{"condition"}, {"a"}, {"b"}},
     .results = {{"y", kCommonShape, "the common type of a and b"}},
     .formula = "y = a if condition, else b",
     .summary = "elements of a where the condition, which is bool, is true, else those of b"},
    [](const Tensor& condition, const TensorLike& a, const TensorLike& b) { return select(condition, a, b); }};
constexpr Function kDivide = {{.name = "divide",
                               .operands = {{"a"}, {"b"}},
                               .results = {{"y", kCommonShape, "the common type; of integers and bool f32"}},
                               .formula = "y = a / b",
                               .summary = "the quotient, with the fraction also of integers"},
                              [](const TensorLike& a, const TensorLike& b) {
                                const std::array operands{&a, &b};
                                const DType type = averaged(result_type_for("divide", operands));
                                return binary(ScalarOp::div, as_tensor("divide", a, type),
                                              as_tensor("divide", b, type));
                              }};
constexpr Function kPositive = {{.name = "positive",
                                 .operands = {{"x"}},
                                 .results = {{"y", kSameShape, kSameType}},
                                 .formula = "y = x",
                                 .summary = "x itself"},
                                [](const Tensor& x) { return x; }};

// ---- Statistics

struct SumAttributes : ReductionAttributes {
  std::optional<DType> dtype = {};
  void fields(AttributeVisitor& v) {
    ReductionAttributes::fields(v);
    v("dtype", dtype, {}, "what x is converted to first");
  }
};
constexpr std::string_view kSummedType =
    "dtype; without one x's, of bool and integers below 32 bits i32, of such unsigned ones u32";

constexpr Function kSum = {{.name = "sum",
                            .operands = {{"x"}},
                            .results = {{"y", kReducedShape, kSummedType}},
                            .formula = "y = Σ x",
                            .summary = "the sum over the axes; in bool whether some element is true"},
                           [](const Tensor& x, const SumAttributes& a) {
                             const DType type = a.dtype.value_or(summed(x.dtype()));
                             const ReduceKind kind = type == DType::boolean ? ReduceKind::any : ReduceKind::sum;
                             return reduce(kind, cast(x, type), a.axes, a.keep_dims);
                           }};
constexpr Function kProd = {{.name = "prod",
                             .operands = {{"x"}},
                             .results = {{"y", kReducedShape, kSummedType}},
                             .formula = "y = Π x",
                             .summary = "the product over the axes; in bool whether all elements are true"},
                            [](const Tensor& x, const SumAttributes& a) {
                              const DType type = a.dtype.value_or(summed(x.dtype()));
                              const ReduceKind kind = type == DType::boolean ? ReduceKind::all : ReduceKind::prod;
                              return reduce(kind, cast(x, type), a.axes, a.keep_dims);
                            }};
constexpr Function kMean = {{.name = "mean",
                             .operands = {{"x"}},
                             .results = {{"y", kReducedShape, "x's type; of integers and bool f32"}},
                             .formula = "y = Σ x / #x",
                             .summary = "the mean over the axes"},
                            [](const Tensor& x, const ReductionAttributes& a) {
                              return reduce(ReduceKind::mean, cast(x, averaged(x.dtype())), a.axes, a.keep_dims);
                            }};
constexpr Function kMax = {
    {.name = "max",
     .operands = {{"x", types::numbers}},
     .results = {{"y", kReducedShape, kSameType}},
     .formula = "y = max x",
     .summary = "the greatest element over the axes, NaN if there is one"},
    [](const Tensor& x, const ReductionAttributes& a) { return reduce(ReduceKind::max, x, a.axes, a.keep_dims); }};
constexpr Function kMin = {
    {.name = "min",
     .operands = {{"x", types::numbers}},
     .results = {{"y", kReducedShape, kSameType}},
     .formula = "y = min x",
     .summary = "the least element over the axes, NaN if there is one"},
    [](const Tensor& x, const ReductionAttributes& a) { return reduce(ReduceKind::min, x, a.axes, a.keep_dims); }};
constexpr Function kAny = {
    {.name = "any",
     .operands = {{"x"}},
     .results = {{"y", kReducedShape, "bool"}},
     .formula = "y = some x ≠ 0",
     .summary = "whether some element over the axes is not 0"},
    [](const Tensor& x, const ReductionAttributes& a) { return reduce(ReduceKind::any, x, a.axes, a.keep_dims); }};
constexpr Function kAll = {
    {.name = "all",
     .operands = {{"x"}},
     .results = {{"y", kReducedShape, "bool"}},
     .formula = "y = every x ≠ 0",
     .summary = "whether no element over the axes is 0"},
    [](const Tensor& x, const ReductionAttributes& a) { return reduce(ReduceKind::all, x, a.axes, a.keep_dims); }};
constexpr Function kCountNonzero = {
    {.name = "count_nonzero",
     .operands = {{"x"}},
     .results = {{"y", kReducedShape, kPositionType}},
     .formula = "y = #{x ≠ 0}",
     .summary = "how many elements over the axes are not 0"},
    [](const Tensor& x, const ReductionAttributes& a) { return reduce(ReduceKind::count, x, a.axes, a.keep_dims); }};

struct CumulativeAttributes : OptionalAxisAttributes {
  std::optional<DType> dtype = {};
  bool include_initial = false;
  void fields(AttributeVisitor& v) {
    OptionalAxisAttributes::fields(v);
    v("dtype", dtype, {}, "what x is converted to first");
    v("include_initial", include_initial, false, "begin with the result of no elements");
  }
};

Tensor cumulative(ScanKind op, std::string_view name, const Tensor& x, const CumulativeAttributes& a) {
  if (!a.axis && x.rank() != 1) throw ShapeError("{}: x is {}; an axis is needed", name, to_string(x.type()));
  const int along = normalize_axis(a.axis.value_or(0), x.rank(), name);
  const DType type = a.dtype.value_or(summed(x.dtype()));
  Tensor y = cast(x, type);
  if (type == DType::boolean) {
    // In arithmetic of bool a sum is "or", and a product "and".
    y = cast(scan(op == ScanKind::sum ? ScanKind::max : ScanKind::min, cast(y, DType::u8), along), DType::boolean);
  } else {
    y = scan(op, y, along);
  }
  if (!a.include_initial) return y;
  Shape first = x.shape();
  first[along] = 1;
  return concat({broadcast_to(Graph::scalar(op == ScanKind::sum ? 0 : 1, y.dtype()), first), y}, along);
}

constexpr std::string_view kCumulativeShape = "x's shape, along the axis one more with include_initial";

constexpr Function kCumulativeSum = {
    {.name = "cumulative_sum",
     .operands = {{"x"}},
     .results = {{"y", kCumulativeShape, kSummedType}},
     .formula = "y[i] = x[0] + … + x[i]",
     .summary = "the running sum along an axis"},
    [](const Tensor& x, const CumulativeAttributes& a) { return cumulative(ScanKind::sum, "cumulative_sum", x, a); }};
constexpr Function kCumulativeProd = {
    {.name = "cumulative_prod",
     .operands = {{"x"}},
     .results = {{"y", kCumulativeShape, kSummedType}},
     .formula = "y[i] = x[0] · … · x[i]",
     .summary = "the running product along an axis"},
    [](const Tensor& x, const CumulativeAttributes& a) { return cumulative(ScanKind::prod, "cumulative_prod", x, a); }};

struct DiffAttributes : AxisAttributes {
  int n = 1;
  void fields(AttributeVisitor& v) {
    AxisAttributes::fields(v);
    v("n", n, 1, "how often differences are taken");
  }
};
constexpr Function kDiff = {
    {.name = "diff",
     .operands = {{"x"},
                  {.name = "prepend", .arity = Arity::optional, .shape = "x's shape but for the axis"},
                  {.name = "append", .arity = Arity::optional, .shape = "x's shape but for the axis"}},
     .results = {{"y", "the shape of all three joined, along the axis n less", kCommonType}},
     .formula = "y[i] = x[i + 1] - x[i]",
     .summary = "the differences of neighbours along an axis; of bool whether they differ"},
    [](const Tensor& x, const Tensor& prepend, const Tensor& append, const DiffAttributes& a) {
      if (a.n < 0) throw InvalidArgument("diff: {} times", a.n);
      const int along = normalize_axis(a.axis, x.rank(), "diff");
      std::vector<Tensor> parts;
      for (const Tensor* part : {&prepend, &x, &append}) {
        if (part->defined()) parts.push_back(*part);
      }
      Tensor y = parts.size() == 1 ? x : concat(promoted("diff", parts), along);
      const DType type = y.dtype();
      y = in_bytes(y);
      // (More differences than elements leave none.)
      const int n = static_cast<int>(std::min<std::int64_t>(a.n, y.shape()[along]));
      for (int i = 0; i < n; ++i) {
        const Tensor later = slice(y, SliceAttributes{.axis = along, .begin = 1, .end_from_end = true});
        const Tensor earlier = slice(y, SliceAttributes{.axis = along, .end = -1, .end_from_end = true});
        y = y.dtype() == DType::boolean ? later != earlier : later - earlier;
      }
      return cast(y, type);
    }};

// ---- Manipulation

constexpr Function kBroadcastArrays = {
    {.name = "broadcast_arrays",
     .operands = {{.name = "tensors", .arity = Arity::repeated}},
     .results = {{"y", "the tensors' common shape", "that of its tensor", Arity::repeated}},
     .formula = "y[k][i…] = tensors[k][i…], with index 0 where its size is 1",
     .summary = "each of the tensors in the shape to which they broadcast"},
    [](std::span<const Tensor> tensors) {
      std::vector<Shape> shapes;
      for (const Tensor& t : tensors) shapes.push_back(t.shape());
      const Shape shape = common_shape("broadcast_arrays", shapes);
      std::vector<Tensor> all;
      for (const Tensor& t : tensors) all.push_back(broadcast_to(t, shape));
      return all;
    }};

struct ExpandAttributes {
  Axes axes = {};
  void fields(AttributeVisitor& v) { v("axes", axes, "where the new axes are in the result"); }
};
constexpr Function kExpandDims = {{.name = "expand_dims",
                                   .operands = {{"x"}},
                                   .results = {{"y", "x's shape with 1 inserted at the axes", kSameType}},
                                   .formula = "y[i…, 0, j…] = x[i…, j…]",
                                   .summary = "new axes of size 1"},
                                  [](const Tensor& x, const ExpandAttributes& a) {
                                    const std::vector<int> given = a.axes.of(0);
                                    std::vector<int> places = normalized_axes(
                                        given, x.rank() + static_cast<int>(given.size()), "expand_dims");
                                    std::ranges::sort(places);
                                    Tensor y = x;
                                    for (const int place : places) y = expand_dims(y, place);
                                    return y;
                                  }};

struct SqueezeAttributes {
  Axes axes = {};
  void fields(AttributeVisitor& v) { v("axes", axes, {}, "the axes that go, each of size 1; without them all"); }
};
constexpr Function kSqueeze = {{.name = "squeeze",
                                .operands = {{"x"}},
                                .results = {{"y", "x's shape without the axes", kSameType}},
                                .formula = "y[i…, j…] = x[i…, 0, j…]",
                                .summary = "x without axes whose size is 1"},
                               [](const Tensor& x, const SqueezeAttributes& a) {
                                 std::vector<int> gone = normalized_axes(a.axes, x.rank(), "squeeze");
                                 std::ranges::sort(gone, std::greater());
                                 Tensor y = x;
                                 for (const int axis : gone) y = squeeze(y, axis);
                                 return y;
                               }};

struct JoinAttributes {
  int axis = 0;
  void fields(AttributeVisitor& v) { v("axis", axis, 0, "the axis along which the parts lie"); }
};
constexpr Function kConcat = {{.name = "concat",
                               .operands = {{.name = "parts", .arity = Arity::repeated}},
                               .results = {{"y", "the parts' shape, along the axis their sizes together", kCommonType}},
                               .formula = "y = [parts[0], parts[1], …] along axis",
                               .summary = "the parts one after the other along an axis"},
                              [](std::span<const Tensor> parts, const JoinAttributes& a) {
                                std::vector<Tensor> all = promoted("concat", parts);
                                const Tensor& first = parts[0];
                                for (const Tensor& t : parts) {
                                  Shape to = first.shape(), from = t.shape();
                                  // (Else the operation speaks of the parts themselves.)
                                  if (t.dtype() == first.dtype()) continue;
                                  const int along = normalize_axis(a.axis, to.rank(), "concat");
                                  if (to.rank() == from.rank()) to[along] = from[along];
                                  if (to == from) continue;
                                  throw ShapeError("concat: {} does not continue {} along axis {}", to_string(t.type()),
                                                   to_string(first.type()), a.axis);
                                }
                                return concat(all, a.axis);
                              }};
constexpr Function kConcatFlattened = {{.name = "concat_flattened",
                                        .operands = {{.name = "parts", .arity = Arity::repeated}},
                                        .results = {{"y", "[the parts' elements]", kCommonType}},
                                        .formula = "y = [parts[0], parts[1], …]",
                                        .summary = "the elements of the parts one after the other, in row-major order",
                                        .form_of = "concat"},
                                       [](std::span<const Tensor> parts) {
                                         std::vector<Tensor> all = promoted("concat", parts);
                                         std::ranges::transform(all, all.begin(), flatten);
                                         return concat(all, 0);
                                       }};

struct StackAttributes {
  int axis = 0;
  void fields(AttributeVisitor& v) { v("axis", axis, 0, "the new axis of the result"); }
};
constexpr Function kStack = {{.name = "stack",
                              .operands = {{.name = "parts", .arity = Arity::repeated, .shape = "one shape"}},
                              .results = {{"y", "the parts' shape with their number inserted at axis", kCommonType}},
                              .formula = "y[i…, k, j…] = parts[k][i…, j…]",
                              .summary = "the parts side by side along a new axis"},
                             [](std::span<const Tensor> parts, const StackAttributes& a) {
                               std::vector<Tensor> all = promoted("stack", parts);
                               const int along = normalize_axis(a.axis, all[0].rank() + 1, "stack");
                               for (Tensor& t : all) {
                                 const Tensor& part = parts[static_cast<std::size_t>(&t - all.data())];
                                 if (t.shape() != all[0].shape()) {
                                   throw ShapeError("stack: parts are {} and {}, expected equal shapes",
                                                    to_string(parts[0].type()), to_string(part.type()));
                                 }
                               }
                               for (Tensor& t : all) t = expand_dims(t, along);
                               return concat(all, along);
                             }};

struct UnstackAttributes {
  int axis = 0;
  void fields(AttributeVisitor& v) { v("axis", axis, 0, "the axis along which x is taken apart"); }
};
constexpr Function kUnstack = {
    {.name = "unstack",
     .operands = {{"x"}},
     .results = {{"y", "x's shape without axis", kSameType, Arity::repeated}},
     .formula = "y[k][i…, j…] = x[i…, k, j…]",
     .summary = "the slices along an axis, without that axis"},
    [](const Tensor& x, const UnstackAttributes& a) {
      const int along = normalize_axis(a.axis, x.rank(), "unstack");
      constexpr std::uint64_t kLeast = 512;  // bytes of a part's nodes
      if (static_cast<std::uint64_t>(x.shape()[along]) > physical_memory() / kLeast) {
        throw OutOfMemory("unstack: {} has {} parts along axis {}, more tensors than the host has memory for",
                          to_string(x.type()), x.shape()[along], along);
      }
      std::vector<Tensor> parts;
      for (std::int64_t i = 0; i < x.shape()[along]; ++i) parts.push_back(squeeze(slice(x, along, i, i + 1), along));
      return parts;
    }};

struct FlipAttributes {
  Axes axes = {};
  void fields(AttributeVisitor& v) { v("axes", axes, {}, "what is reversed; without them all axes"); }
};
constexpr Function kFlip = {
    {.name = "flip",
     .operands = {{"x"}},
     .results = {{"y", kSameShape, kSameType}},
     .formula = "y[i] = x[n - 1 - i]",
     .summary = "the elements in reverse order along the axes"},
    [](const Tensor& x, const FlipAttributes& a) {
      Tensor y = x;
      for (const int axis : normalized_axes(a.axes, x.rank(), "flip")) {
        y = slice(y, SliceAttributes{.axis = axis, .begin = -1, .end = -1, .step = -1, .begin_from_end = true});
      }
      return y;
    }};

struct MoveaxisAttributes {
  Axes from = {}, to = {};
  void fields(AttributeVisitor& v) {
    v("from", from, "the axes that are moved");
    v("to", to, "their places in the result");
  }
};
constexpr Function kMoveaxis = {{.name = "moveaxis",
                                 .operands = {{"x"}},
                                 .results = {{"y", "x's sizes in that order", kSameType}},
                                 .formula = "y's axis to[i] = x's axis from[i]",
                                 .summary = "some axes in other places, the others in their order"},
                                [](const Tensor& x, const MoveaxisAttributes& a) {
                                  const std::vector<int> source = normalized_axes(a.from, x.rank(), "moveaxis");
                                  const std::vector<int> target = normalized_axes(a.to, x.rank(), "moveaxis");
                                  if (source.size() != target.size()) {
                                    throw ShapeError("moveaxis: {} axes are to be moved to {} places", source.size(),
                                                     target.size());
                                  }
                                  std::vector<int> order(static_cast<std::size_t>(x.rank()), -1);
                                  for (std::size_t i = 0; i < source.size(); ++i)
                                    order[static_cast<std::size_t>(target[i])] = source[i];
                                  int next = 0;
                                  for (int& place : order) {
                                    if (place >= 0) continue;
                                    while (std::ranges::count(source, next)) ++next;
                                    place = next++;
                                  }
                                  return permute(x, order);
                                }};

constexpr Function kFlatten = {{.name = "flatten",
                                .operands = {{"x"}},
                                .results = {{"y", "[x's elements]", kSameType}},
                                .formula = "y's elements = x's, both in row-major order",
                                .summary = "the elements as a tensor of rank 1"},
                               [](const Tensor& x) { return x.rank() == 1 ? x : reshape(x, {-1}); }};

struct FlattenAxesAttributes {
  int first = 0, last = -1;
  void fields(AttributeVisitor& v) {
    v("first", first, "the first of the axes");
    v("last", last, -1, "the last of them");
  }
};
constexpr Function kFlattenAxes = {
    {.name = "flatten_axes",
     .operands = {{.name = "x", .min_rank = 1}},
     .results = {{"y", "x's sizes, with one in place of the axes first to last: their product", kSameType}},
     .formula = "y's elements = x's, both in row-major order",
     .summary = "neighbouring axes as one"},
    [](const Tensor& x, const FlattenAxesAttributes& a) {
      const int first = normalize_axis(a.first, x.rank(), "flatten_axes");
      const int last = normalize_axis(a.last, x.rank(), "flatten_axes");
      if (first > last)
        throw ShapeError("flatten_axes: axis {} is behind axis {} of {}", first, last, to_string(x.type()));
      if (first == last) return x;
      ReshapeAttributes rule;
      for (int d = 0; d < x.rank(); ++d) {
        if (d > first && d <= last) continue;
        rule.shape.push_back(-1);
        rule.kept.push_back(d == first ? -1 : d);
      }
      return reshape(x, std::move(rule));
    }};

struct UnflattenAttributes {
  int axis = 0;
  Shape sizes = {};
  void fields(AttributeVisitor& v) {
    v("axis", axis, "the axis that becomes several");
    v("sizes", sizes, "their sizes; one may be -1, which follows from the others");
  }
};
constexpr Function kUnflatten = {{.name = "unflatten",
                                  .operands = {{.name = "x", .min_rank = 1}},
                                  .results = {{"y", "x's sizes, with sizes in place of the axis", kSameType}},
                                  .formula = "y's elements = x's, both in row-major order",
                                  .summary = "an axis as several"},
                                 [](const Tensor& x, const UnflattenAttributes& a) {
                                   const int axis = normalize_axis(a.axis, x.rank(), "unflatten");
                                   ReshapeAttributes rule;
                                   for (int d = 0; d < x.rank(); ++d) {
                                     if (d != axis) {
                                       rule.shape.push_back(-1);
                                       rule.kept.push_back(d);
                                       continue;
                                     }
                                     for (const std::int64_t size : a.sizes) {
                                       rule.shape.push_back(size);
                                       rule.kept.push_back(-1);
                                     }
                                   }
                                   return in_function("unflatten", [&] { return reshape(x, std::move(rule)); });
                                 }};

struct RollAlongAttributes {
  std::vector<std::int64_t> shifts = {};
  Axes axes = {};
  void fields(AttributeVisitor& v) {
    v("shifts", shifts, "how far along each of the axes, towards higher indices; one is for all of them");
    v("axes", axes, {}, "the axes of the shifts; without them all");
  }
};
constexpr Function kRoll = {
    {.name = "roll",
     .operands = {{"x"}},
     .results = {{"y", kSameShape, kSameType}},
     .formula = "y[(i + shift) mod n] = x[i], along each axis",
     .summary = "the elements moved along the axes; those that leave the end come in at the beginning"},
    [](const Tensor& x, const RollAlongAttributes& a) {
      std::vector<int> along;  // an axis may be named twice: shifts add up
      for (const int axis : a.axes.of(x.rank())) along.push_back(normalize_axis(axis, x.rank(), "roll"));
      if (a.shifts.size() != along.size() && a.shifts.size() != 1) {
        throw ShapeError("roll: {} shifts for {} axes", a.shifts.size(), along.size());
      }
      std::vector<std::int64_t> all(static_cast<std::size_t>(x.rank()), 0);
      for (std::size_t i = 0; i < along.size(); ++i) {
        const std::int64_t n = std::max<std::int64_t>(x.shape()[along[i]], 1);
        all[static_cast<std::size_t>(along[i])] += a.shifts[a.shifts.size() == 1 ? 0 : i] % n;
      }
      return roll(x, all);
    }};
struct RollFlattenedAttributes {
  std::int64_t shift = 0;
  void fields(AttributeVisitor& v) { v("shift", shift, "how far, towards higher indices"); }
};
constexpr Function kRollFlattened = {
    {.name = "roll_flattened",
     .operands = {{"x"}},
     .results = {{"y", kSameShape, kSameType}},
     .formula = "y[(i + shift) mod n] = x[i], of the elements in row-major order",
     .summary = "the elements moved in row-major order; those that leave the end come in at the beginning",
     .form_of = "roll"},
    [](const Tensor& x, const RollFlattenedAttributes& a) {
      const std::array<std::int64_t, 1> by{a.shift};
      return reshape(roll(flatten(x), std::span<const std::int64_t>(by)), x.shape());
    }};

struct TileAsWholeAttributes {
  std::vector<std::int64_t> counts = {};
  void fields(AttributeVisitor& v) {
    v("counts", counts, "how many times x stands along each of its last axes; more counts give new axes in front");
  }
};
constexpr Function kTile = {{.name = "tile",
                             .operands = {{"x"}},
                             .results = {{"y", "x's sizes times the counts", kSameType}},
                             .formula = "y[i…] = x[i mod n…]",
                             .summary = "x repeated as a whole along its last axes"},
                            [](const Tensor& x, const TileAsWholeAttributes& a) {
                              const int rank = std::max(x.rank(), static_cast<int>(a.counts.size()));
                              Shape shape = Shape::filled(rank, 1);
                              for (int i = 0; i < x.rank(); ++i) shape[rank - x.rank() + i] = x.shape()[i];
                              std::vector<std::int64_t> all(static_cast<std::size_t>(rank), 1);
                              std::ranges::copy(a.counts, all.end() - static_cast<std::ptrdiff_t>(a.counts.size()));
                              return tile(reshape(x, shape), std::span<const std::int64_t>(all));
                            }};

struct RepeatFlattenedAttributes {
  std::int64_t count = 1;
  void fields(AttributeVisitor& v) { v("count", count, "how many times each element stands"); }
};
constexpr Function kRepeatFlattened = {
    {.name = "repeat_flattened",
     .operands = {{"x"}},
     .results = {{"y", "[x's elements · count]", kSameType}},
     .formula = "y[i] = x[⌊i / count⌋], of the elements in row-major order",
     .summary = "each element of the flattened tensor several times in a row",
     .form_of = "repeat"},
    [](const Tensor& x, const RepeatFlattenedAttributes& a) { return repeat(flatten(x), a.count, 0); }};

struct OffsetAttributes {
  std::int64_t offset = 0;
  void fields(AttributeVisitor& v) {
    v("offset", offset, 0, "0 for the main diagonal, k for the one k above it, -k for the one k below");
  }
};
constexpr Function kDiagonal = {
    {.name = "diagonal",
     .operands = {{.name = "x", .min_rank = 2, .shape = "[..., rows, columns]"}},
     .results = {{"y", "[..., elements of the diagonal]", kSameType}},
     .formula = "y[…, i] = x[…, i, i + offset], or x[…, i - offset, i] of a negative offset",
     .summary = "the diagonal of each matrix, a view"},
    [](const Tensor& x, const OffsetAttributes& a) {
      const std::int64_t rows = x.shape()[-2], columns = x.shape()[-1], offset = std::clamp(a.offset, -rows, columns);
      const std::int64_t first_row = std::max<std::int64_t>(-offset, 0),
                         first_column = std::max<std::int64_t>(offset, 0);
      const std::int64_t size = std::max<std::int64_t>(std::min(rows - first_row, columns - first_column), 0);
      // Its elements are columns + 1 apart in the flattened matrix.
      Shape flat = x.shape();
      flat.pop_back();
      flat[-1] = rows * columns;
      const Tensor elements = reshape(x, flat);
      const int last = x.rank() - 2;
      if (size == 0) return slice(elements, last, 0, 0);
      const std::int64_t begin = first_row * columns + first_column;
      return slice(elements, last, begin, begin + (size - 1) * (columns + 1) + 1, columns + 1);
    }};

}  // namespace

void add_array_functions(FunctionRows& rows) {
  rows.add(kFullLike, kZerosLike, kOnesLike, kMeshgrid, kTril, kTriu);
  rows.add(kWhere, kDivide, kPositive);
  rows.add(kSum, kProd, kMean, kMax, kMin, kAny, kAll, kCountNonzero, kCumulativeSum, kCumulativeProd, kDiff);
  rows.add(kBroadcastArrays, kExpandDims, kSqueeze, kConcat, kConcatFlattened, kStack, kUnstack, kFlip, kMoveaxis,
           kFlatten, kFlattenAxes, kUnflatten, kRoll, kRollFlattened, kTile, kRepeatFlattened, kDiagonal);
}

// ---- Members that are functions

namespace {
Tensor all_over(const Operand& x, const Axes& axes, bool keep_dims) { return kAll(x, {axes, keep_dims}); }
}  // namespace

// Each member twice: of a tensor, and of what a function returned.
#define WEFT_MEMBER_OF(name, function, parameters, ...)                                        \
  Tensor Tensor::name parameters const& { return function(*this __VA_OPT__(, ) __VA_ARGS__); } \
  Tensor Tensor::name parameters&& { return function(std::move(*this) __VA_OPT__(, ) __VA_ARGS__); }
#define WEFT_MEMBER(name, parameters, ...) WEFT_MEMBER_OF(name, weft::name, parameters __VA_OPT__(, ) __VA_ARGS__)
#define WEFT_REDUCTION(name) WEFT_MEMBER(name, (const Axes& axes, bool keep_dims), axes, keep_dims)
#define WEFT_MOMENT(name) \
  WEFT_MEMBER(name, (const Axes& axes, double correction, bool keep_dims), axes, correction, keep_dims)
WEFT_REDUCTION(sum)
WEFT_REDUCTION(mean)
WEFT_REDUCTION(prod)
WEFT_REDUCTION(any)
WEFT_MEMBER_OF(all, all_over, (const Axes& axes, bool keep_dims), axes, keep_dims)
WEFT_REDUCTION(max)
WEFT_REDUCTION(min)
WEFT_REDUCTION(argmax)
WEFT_REDUCTION(argmin)
WEFT_REDUCTION(count_nonzero)
WEFT_MOMENT(variance)
WEFT_MOMENT(deviation)
WEFT_MEMBER(cumsum, (int axis), axis)
WEFT_MEMBER(sort, (int axis, bool descending), axis, descending)
WEFT_MEMBER(argsort, (int axis, bool descending), axis, descending)
WEFT_MEMBER(softmax, (int axis), axis)
WEFT_MEMBER(log_softmax, (int axis), axis)
WEFT_MEMBER_OF(T, transposed, ())
WEFT_MEMBER(reshape, (const Shape& shape), shape)
WEFT_MEMBER(flatten, ())
WEFT_MEMBER(permute, (std::initializer_list<int> order), order)
WEFT_MEMBER(permute, (std::span<const int> order), order)
WEFT_MEMBER(moveaxis, (const Axes& from, const Axes& to), from, to)
WEFT_MEMBER(broadcast_to, (const Shape& shape), shape)
WEFT_MEMBER(expand_dims, (int axis), axis)
WEFT_MEMBER(squeeze, (int axis), axis)
WEFT_MEMBER(flip, (const Axes& axes), axes)
WEFT_MEMBER(roll, (std::int64_t shift), shift)
WEFT_MEMBER(roll, (std::initializer_list<std::int64_t> shifts, const Axes& axes), shifts, axes)
WEFT_MEMBER(tile, (std::initializer_list<std::int64_t> counts), counts)
WEFT_MEMBER(repeat, (std::int64_t count), count)
WEFT_MEMBER(repeat, (std::int64_t count, int axis), count, axis)
WEFT_MEMBER(diagonal, (std::int64_t offset), offset)
WEFT_MEMBER(tril, (std::int64_t diagonal), diagonal)
WEFT_MEMBER(triu, (std::int64_t diagonal), diagonal)
WEFT_MEMBER(cast, (DType dtype), dtype)
WEFT_MEMBER(matmul, (const Operand& b), b)
WEFT_MEMBER(pow, (const TensorLike& exponent), exponent)
WEFT_MEMBER(clamp, (const TensorLike& low, const TensorLike& high), low, high)
WEFT_MEMBER(abs, ())
WEFT_MEMBER(sign, ())
WEFT_MEMBER(square, ())
WEFT_MEMBER(sqrt, ())
WEFT_MEMBER(rsqrt, ())
WEFT_MEMBER(reciprocal, ())
WEFT_MEMBER(exp, ())
WEFT_MEMBER(log, ())
WEFT_MEMBER(sin, ())
WEFT_MEMBER(cos, ())
WEFT_MEMBER(tan, ())
WEFT_MEMBER(tanh, ())
WEFT_MEMBER(sigmoid, ())
WEFT_MEMBER(relu, ())
WEFT_MEMBER(floor, ())
WEFT_MEMBER(ceil, ())
WEFT_MEMBER(trunc, ())
WEFT_MEMBER(round, ())
WEFT_MEMBER(conj, ())
#undef WEFT_MOMENT
#undef WEFT_REDUCTION
#undef WEFT_MEMBER
#undef WEFT_MEMBER_OF

namespace {

// The result of x op= b as what x is. NumPy's casting of the same kind: from bool to integers to floats to complex
// numbers, and to narrower ones, but not back, and no signed integers to unsigned ones.
bool same_kind(DType from, DType to) {
  const auto rank = [](DType t) {
    switch (info(t).kind) {
      case DTypeKind::boolean:
        return 0;
      case DTypeKind::unsigned_integer:
        return 1;
      case DTypeKind::signed_integer:
        return 2;
      case DTypeKind::floating:
        return 3;
      case DTypeKind::complex:
        return 4;
    }
    return 4;
  };
  return rank(from) <= rank(to);
}

Tensor updated(std::string_view op, const Tensor& x, const TensorLike& b, const Tensor& result) {
  const std::string other = b.tensor() ? to_string(b.tensor()->type()) : to_string(b.number());
  if (!same_kind(result.dtype(), x.dtype())) {
    throw TypeError("{}: {} {} {} is {}, which {} does not hold; x = x {} {} changes the handle's type", op,
                    to_string(x.type()), op, other, name(result.dtype()), name(x.dtype()), op.substr(0, 1), other);
  }
  if (result.shape() != x.shape()) {
    throw ShapeError("{}: {} {} {} is {}, larger than x, which the update keeps; x = x {} … changes the handle's shape",
                     op, to_string(x.type()), op, other, to_string(result.type()), op.substr(0, 1));
  }
  return cast(result, x.dtype());
}

}  // namespace

#define WEFT_UPDATE(symbol)                                        \
  Tensor& Tensor::operator symbol## = (const TensorLike& b) & {    \
    return *this = updated(#symbol "=", *this, b, *this symbol b); \
  }
WEFT_UPDATE(+)
WEFT_UPDATE(-)
WEFT_UPDATE(*)
WEFT_UPDATE(/)
#undef WEFT_UPDATE

// ---- The functions

Tensor full_like(const Operand& x, Number value, std::optional<DType> dtype) { return kFullLike(x, {value, dtype}); }
Tensor zeros_like(const Operand& x, std::optional<DType> dtype) { return kZerosLike(x, {dtype}); }
Tensor ones_like(const Operand& x, std::optional<DType> dtype) { return kOnesLike(x, {dtype}); }
std::vector<Tensor> meshgrid(std::span<const Tensor> axes, GridOrder order) { return kMeshgrid(axes, {order}); }
std::vector<Tensor> meshgrid(std::initializer_list<Tensor> axes, GridOrder order) {
  return meshgrid(std::span(axes.begin(), axes.size()), order);
}
Tensor tril(const Operand& x, std::int64_t diagonal) { return kTril(x, {diagonal}); }
Tensor triu(const Operand& x, std::int64_t diagonal) { return kTriu(x, {diagonal}); }

Tensor divide(const TensorLike& a, const TensorLike& b) { return kDivide(a, b); }

Tensor sum(const Operand& x, const Axes& axes, bool keep_dims, std::optional<DType> dtype) {
  return kSum(x, {{axes, keep_dims}, dtype});
}
Tensor prod(const Operand& x, const Axes& axes, bool keep_dims, std::optional<DType> dtype) {
  return kProd(x, {{axes, keep_dims}, dtype});
}
Tensor mean(const Operand& x, const Axes& axes, bool keep_dims) { return kMean(x, {axes, keep_dims}); }
Tensor max(const Operand& x, const Axes& axes, bool keep_dims) { return kMax(x, {axes, keep_dims}); }
Tensor min(const Operand& x, const Axes& axes, bool keep_dims) { return kMin(x, {axes, keep_dims}); }
Tensor any(const Operand& x, const Axes& axes, bool keep_dims) { return kAny(x, {axes, keep_dims}); }
Tensor count_nonzero(const Operand& x, const Axes& axes, bool keep_dims) { return kCountNonzero(x, {axes, keep_dims}); }
Tensor cumulative_sum(const Operand& x, std::optional<int> axis, std::optional<DType> dtype, bool include_initial) {
  return kCumulativeSum(x, {{axis}, dtype, include_initial});
}
Tensor cumulative_prod(const Operand& x, std::optional<int> axis, std::optional<DType> dtype, bool include_initial) {
  return kCumulativeProd(x, {{axis}, dtype, include_initial});
}
Tensor diff(const Operand& x, int axis, int n, const Operand& prepend, const Operand& append) {
  return kDiff(x, prepend, append, {{axis}, n});
}

std::vector<Tensor> broadcast_arrays(std::span<const Tensor> tensors) { return kBroadcastArrays(tensors); }
Shape broadcast_shapes(std::span<const Shape> shapes) { return common_shape("broadcast_shapes", shapes); }
Shape broadcast_shapes(std::initializer_list<Shape> shapes) {
  return broadcast_shapes(std::span(shapes.begin(), shapes.size()));
}
Tensor expand_dims(const Operand& x, const Axes& axes) { return kExpandDims(x, {axes}); }
Tensor squeeze(const Operand& x, const Axes& axes) { return kSqueeze(x, {axes}); }
Tensor concat(std::initializer_list<Tensor> parts, std::optional<int> axis) {
  const std::span all(parts.begin(), parts.size());
  return axis ? kConcat(all, {*axis}) : kConcatFlattened(all);
}
Tensor stack(std::span<const Tensor> parts, int axis) { return kStack(parts, {axis}); }
Tensor stack(std::initializer_list<Tensor> parts, int axis) {
  return stack(std::span(parts.begin(), parts.size()), axis);
}
std::vector<Tensor> unstack(const Operand& x, int axis) { return kUnstack(x, {axis}); }
Tensor flip(const Operand& x, const Axes& axes) { return kFlip(x, {axes}); }
Tensor moveaxis(const Operand& x, const Axes& from, const Axes& to) { return kMoveaxis(x, {from, to}); }
Tensor flatten(const Operand& x) { return kFlatten(x); }
Tensor flatten_axes(const Operand& x, int first, int last) { return kFlattenAxes(x, {first, last}); }
Tensor unflatten(const Operand& x, int axis, const Shape& sizes) { return kUnflatten(x, {axis, sizes}); }
Tensor roll(const Operand& x, std::int64_t shift) { return kRollFlattened(x, {shift}); }
Tensor roll(const Operand& x, std::initializer_list<std::int64_t> shifts, const Axes& axes) {
  return kRoll(x, {shifts, axes});
}
Tensor tile(const Operand& x, std::initializer_list<std::int64_t> counts) { return kTile(x, {counts}); }
Tensor repeat(const Operand& x, std::int64_t count) { return kRepeatFlattened(x, {count}); }
Tensor diagonal(const Operand& x, std::int64_t offset) { return kDiagonal(x, {offset}); }

}  // namespace weft
