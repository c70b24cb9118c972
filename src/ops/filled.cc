// Tensors with one value everywhere, which take no memory (weft/creation.h).
#include "ops/function_row.h"
#include "weft/creation.h"
#include "weft/graph.h"

namespace weft {
namespace {

Tensor filled(const Shape& shape, Number value, DType dtype) {
  return broadcast_to(Graph::scalar(value, dtype), shape);
}

struct FullAttributes {
  Shape shape = {};
  Number value = 0;
  DType dtype = DType::f32;
  void fields(AttributeVisitor& v) {
    v("shape", shape, "of the result");
    v("value", value, "of all elements");
    v("dtype", dtype, DType::f32, "of the result");
  }
};
struct FilledAttributes {
  Shape shape = {};
  DType dtype = DType::f32;
  void fields(AttributeVisitor& v) {
    v("shape", shape, "of the result");
    v("dtype", dtype, DType::f32, "of the result");
  }
};
constexpr FunctionResult kFilled = {"y", "shape", "dtype"};

constexpr Function kFull = {
    {.name = "full", .results = {kFilled}, .formula = "y = value", .summary = "a tensor with one value everywhere"},
    [](const FullAttributes& a) { return filled(a.shape, a.value, a.dtype); }};
constexpr Function kZeros = {
    {.name = "zeros", .results = {kFilled}, .formula = "y = 0", .summary = "a tensor of zeros"},
    [](const FilledAttributes& a) { return filled(a.shape, 0, a.dtype); }};
constexpr Function kOnes = {{.name = "ones", .results = {kFilled}, .formula = "y = 1", .summary = "a tensor of ones"},
                            [](const FilledAttributes& a) { return filled(a.shape, 1, a.dtype); }};

}  // namespace

Tensor full(const Shape& shape, Number value, DType dtype) { return kFull({shape, value, dtype}); }
Tensor zeros(const Shape& shape, DType dtype) { return kZeros({shape, dtype}); }
Tensor ones(const Shape& shape, DType dtype) { return kOnes({shape, dtype}); }

void add_filled_functions(FunctionRows& rows) { rows.add(kFull, kZeros, kOnes); }

}  // namespace weft
