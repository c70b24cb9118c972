#include "ops/sort.h"

#include "core/format.h"
#include "graph/graph.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "ops/index.h"
#include "ops/op_rows.h"
#include "ops/op_schemas.h"
#include "ops/promotion.h"
#include "ops/rules.h"
#include "weft/error.h"
#include "weft/kernels/sort.h"

namespace weft {

namespace {

constexpr std::string_view kNames[] = {"sort", "argsort", "top_k"};

}  // namespace

std::string_view SortOp::name() const { return kNames[static_cast<int>(a.function)]; }

std::vector<TensorType> SortOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  const TensorType* inputs[] = {&x};
  const bool first = a.function == SortFunction::top_k;
  const DType type = infer_dtypes(first ? "top_k" : "sort", inputs)[0];
  Shape shape = x.shape;
  if (first && a.k > shape[a.axis]) {
    throw ShapeError("{}: k is {}, more than axis {} of x {} has", name(), a.k, a.axis, weft::to_string(x));
  }
  if (first) shape[a.axis] = a.k;
  std::vector<TensorType> results;
  if (a.function != SortFunction::argsort) results.push_back({type, shape});
  if (a.function != SortFunction::sort) results.push_back({position_type(x.shape[a.axis]), shape});
  return results;
}

OpPtr SortOp::along(int axis) const { return make_op<SortOp>(SortAttributes{a.function, axis, a.k, a.descending}); }

void SortOp::lower(const Launch& call) const {
  const View &x = call.inputs[0], &y = call.outputs[0];
  switch (a.function) {
    case SortFunction::sort:
      return kernels::sort(call.stream, x, y, {}, {a.axis, a.descending});
    case SortFunction::argsort:
      return kernels::sort(call.stream, x, {}, y, {a.axis, a.descending});
    case SortFunction::top_k:
      return kernels::top_k(call.stream, x, y, call.outputs[1], {a.axis, a.descending});
  }
}

// ---- Derivatives and batching

namespace {

// Where the results are in x.
Tensor positions(const SortAttributes& a, const Differentiated& node) {
  return a.function == SortFunction::top_k ? node.outputs[1] : argsort(node.inputs[0], a.axis, a.descending);
}

}  // namespace

Derivatives SortOp::vjp(const Differentiated& node, std::span<const Tensor> g) const {
  if (a.function == SortFunction::argsort) return std::nullopt;
  return std::vector{scatter_different_elements(zeros_of(node.inputs[0].type()), positions(a, node), g[0], a.axis)};
}

Derivatives SortOp::jvp(const Differentiated& node, std::span<const Tensor> t) const {
  if (a.function == SortFunction::argsort) return std::nullopt;
  std::vector<Tensor> tangents(node.outputs.size());
  tangents[0] = gather_elements(t[0], positions(a, node), a.axis);
  return tangents;
}

namespace {

Tensor sorted(SortFunction function, const Tensor& x, int axis, bool descending, std::int64_t k = 0) {
  const std::string_view name = kNames[static_cast<int>(function)];
  return apply(make_op<SortOp>(SortAttributes{function, normalize_axis(axis, x.rank(), name), k, descending}), {x});
}

struct OrderAttributes {
  int axis = -1;
  bool descending = false;
  void fields(AttributeVisitor& v) {
    v("axis", axis, -1, "the axis along which elements are compared");
    v("descending", descending, false, "the greatest element first");
  }
};
struct TopKAttributes {
  std::int64_t k = 0;
  int axis = -1;
  bool largest = true;
  void fields(AttributeVisitor& v) {
    v("k", k, "how many elements are wanted");
    v("axis", axis, -1, "the axis along which elements are compared");
    v("largest", largest, true, "the greatest elements, descending; else the least, ascending");
  }
};

// (The kernel of all three has two results, of which each is optional.)
constexpr Function kSort = {
    {.name = "sort",
     .operands = {{"x"}},
     .results = {{"y", "x's shape", "x's type"}},
     .formula = "y[i] ≤ y[i + 1]",
     .summary = "x in order along an axis, stable in both directions, NaN last"},
    [](const Tensor& x, const OrderAttributes& a) { return sorted(SortFunction::sort, x, a.axis, a.descending); }};
constexpr Function kArgsort = {
    {.name = "argsort",
     .operands = {{"x"}},
     .results = {{"y", "x's shape", kPositionType}},
     .formula = "x[y[i]] ≤ x[y[i + 1]]",
     .summary = "where the elements of x in order were, stable in both directions, NaN last"},
    [](const Tensor& x, const OrderAttributes& a) { return sorted(SortFunction::argsort, x, a.axis, a.descending); }};
constexpr Function kTopK = {{.name = "top_k",
                             .operands = {{"x"}},
                             .results = {{"values", "x's shape with k along axis", "x's type"},
                                         {"indices", "x's shape with k along axis", kPositionType}},
                             .formula = "values[i] = x[indices[i]], the k greatest or least of x",
                             .summary = "the first elements that sorting along an axis gives, and where they were"},
                            [](const Tensor& x, const TopKAttributes& a) -> TopK {
                              if (a.k < 0) throw InvalidArgument("top_k: k is {}, expected 0 or more", a.k);
                              const Tensor values = sorted(SortFunction::top_k, x, a.axis, a.largest, a.k);
                              return {values, values.node()->value(1)};
                            }};

}  // namespace

void add_sort_functions(FunctionRows& rows) { rows.add(kSort, kArgsort, kTopK); }

Tensor sort(const Operand& x, int axis, bool descending) { return kSort(x, {axis, descending}); }
Tensor argsort(const Operand& x, int axis, bool descending) { return kArgsort(x, {axis, descending}); }
TopK top_k(const Operand& x, std::int64_t k, int axis, bool largest) { return kTopK(x, {k, axis, largest}); }

void add_sort_ops(OpRows& rows) {
  rows.push_back(op_row<SortOp>(schema_of_kernel("sort")));
  rows.push_back(op_row<SortOp>(schema_of_kernel("argsort"), {.function = SortFunction::argsort}));
  rows.push_back(op_row<SortOp>(schema_of_kernel("top_k", "x's shape with k along axis"),
                                {.function = SortFunction::top_k, .descending = true}));
}

}  // namespace weft
