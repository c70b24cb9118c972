// Primitives of single elements: unary, binary and ternary ones, and the expressions that MLX's compile() makes of
// them.
#include <string>
#include <unordered_map>

#include "call.h"
#include "functions.h"
#include "map_in_parts.h"
#include "mlx/backend/common/binary.h"
#include "mlx/backend/common/compiled.h"
#include "mlx/backend/common/ternary.h"
#include "mlx/backend/common/unary.h"

namespace mlx::core {
namespace webgpu {
namespace {

using weft::DType;
using weft::Expression;

// Records the expression over lists of elements of one shape, the results' behind those of the inputs.
void record(const Expression& e, const std::vector<array>& inputs, std::vector<array>& outputs,
            const std::vector<Elements>& lists) {
  std::vector<size_t> bytes;
  for (const array& in : inputs) bytes.push_back(in.itemsize());
  for (const array& out : outputs) bytes.push_back(out.itemsize());
  Call call;
  for_each_part(lists, bytes, [&](const std::vector<Elements>& parts) {
    std::vector<weft::View> in, out;
    for (size_t i = 0; i < inputs.size(); ++i) in.push_back(call.in_or_number(inputs[i], parts[i]));
    for (size_t i = 0; i < outputs.size(); ++i) out.push_back(call.out(outputs[i], parts[inputs.size() + i]));
    map_in_parts(call, e, in, out);
  });
}

// The elements of arrays that an output without gaps is computed of: as they lie in memory if each has them in the
// output's order or is one element, else by their strides.
std::vector<Elements> elements_for(const std::vector<array>& inputs, const std::vector<array>& outputs) {
  const array& out = outputs.front();
  bool flat = true;
  for (const array& in : inputs) {
    flat &= in.data_size() == 1 ||
            (in.data_size() == out.data_size() && in.flags().contiguous && in.strides() == out.strides());
  }
  std::vector<Elements> lists;
  for (const array& in : inputs) {
    if (!flat) {
      lists.push_back(Elements::of(in));
    } else if (in.data_size() == 1) {
      lists.push_back({{static_cast<int64_t>(out.data_size())}, {0}, in.offset()});
    } else {
      lists.push_back(Elements::flat(in));
    }
  }
  for (const array& result : outputs) lists.push_back(flat ? Elements::flat(result) : Elements::of(result));
  return lists;
}

Expression expression_of(const Primitive& primitive, const std::vector<array>& inputs, DType out) {
  Expression e;
  std::vector<int> args, results;
  for (const array& in : inputs) args.push_back(e.input(dtype(in.dtype())));
  append(e, primitive, args, out, results);
  for (const int result : results) e.output(result);
  return e;
}

void allocate_for(const std::vector<array>& inputs, array& out) {
  if (inputs.size() == 1) {
    set_unary_output_data(inputs[0], out);
  } else if (inputs.size() == 2) {
    set_binary_op_output_data(inputs[0], inputs[1], out, get_binary_op_type(inputs[0], inputs[1]));
  } else {
    set_ternary_op_output_data(inputs[0], inputs[1], inputs[2], out,
                               get_ternary_op_type(inputs[0], inputs[1], inputs[2]));
  }
  refuse_donation(out, inputs);
}

void elementwise(const Primitive& primitive, const std::vector<array>& inputs, array& out) {
  if (out.size() == 0) return allocate(out);
  allocate_for(inputs, out);
  std::vector<array> outputs{out};
  record(expression_of(primitive, inputs, dtype(out.dtype())), inputs, outputs, elements_for(inputs, outputs));
}

}  // namespace
}  // namespace webgpu

#define WEFT_ELEMENTWISE(Primitive) \
  void Primitive::eval_gpu(const std::vector<array>& inputs, array& out) { webgpu::elementwise(*this, inputs, out); }

WEFT_ELEMENTWISE(Abs)
WEFT_ELEMENTWISE(Add)
WEFT_ELEMENTWISE(ArcCos)
WEFT_ELEMENTWISE(ArcCosh)
WEFT_ELEMENTWISE(ArcSin)
WEFT_ELEMENTWISE(ArcSinh)
WEFT_ELEMENTWISE(ArcTan)
WEFT_ELEMENTWISE(ArcTan2)
WEFT_ELEMENTWISE(ArcTanh)
WEFT_ELEMENTWISE(BitwiseBinary)
WEFT_ELEMENTWISE(BitwiseInvert)
WEFT_ELEMENTWISE(Ceil)
WEFT_ELEMENTWISE(Conjugate)
WEFT_ELEMENTWISE(Cos)
WEFT_ELEMENTWISE(Cosh)
WEFT_ELEMENTWISE(Divide)
WEFT_ELEMENTWISE(Equal)
WEFT_ELEMENTWISE(Erf)
WEFT_ELEMENTWISE(ErfInv)
WEFT_ELEMENTWISE(Exp)
WEFT_ELEMENTWISE(Expm1)
WEFT_ELEMENTWISE(Floor)
WEFT_ELEMENTWISE(FloorDivide)
WEFT_ELEMENTWISE(Greater)
WEFT_ELEMENTWISE(GreaterEqual)
WEFT_ELEMENTWISE(Imag)
WEFT_ELEMENTWISE(Less)
WEFT_ELEMENTWISE(LessEqual)
WEFT_ELEMENTWISE(Log)
WEFT_ELEMENTWISE(Log1p)
WEFT_ELEMENTWISE(LogAddExp)
WEFT_ELEMENTWISE(LogicalAnd)
WEFT_ELEMENTWISE(LogicalNot)
WEFT_ELEMENTWISE(LogicalOr)
WEFT_ELEMENTWISE(Maximum)
WEFT_ELEMENTWISE(Minimum)
WEFT_ELEMENTWISE(Multiply)
WEFT_ELEMENTWISE(Negative)
WEFT_ELEMENTWISE(NotEqual)
WEFT_ELEMENTWISE(Power)
WEFT_ELEMENTWISE(Real)
WEFT_ELEMENTWISE(Remainder)
WEFT_ELEMENTWISE(Round)
WEFT_ELEMENTWISE(Select)
WEFT_ELEMENTWISE(Sigmoid)
WEFT_ELEMENTWISE(Sign)
WEFT_ELEMENTWISE(Sin)
WEFT_ELEMENTWISE(Sinh)
WEFT_ELEMENTWISE(Sqrt)
WEFT_ELEMENTWISE(Square)
WEFT_ELEMENTWISE(Subtract)
WEFT_ELEMENTWISE(Tan)
WEFT_ELEMENTWISE(Tanh)
#undef WEFT_ELEMENTWISE

void DivMod::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  using namespace webgpu;
  if (outputs[0].size() == 0) {
    for (array& out : outputs) allocate(out);
    return;
  }
  // Both results are written at once, so neither has the memory of an operand.
  for (array& out : outputs) allocate(out);
  record(expression_of(*this, inputs, dtype(outputs[0].dtype())), inputs, outputs, elements_for(inputs, outputs));
}

namespace webgpu {
namespace {

// What a tape computes, and rounds to the type that MLX gives each operation.
Expression expression_of(const std::vector<array>& inputs, const std::vector<array>& tape,
                         const std::vector<array>& outputs) {
  Expression e;
  std::unordered_map<uintptr_t, int> nodes;
  for (const array& in : inputs) nodes[in.id()] = e.input(dtype(in.dtype()));
  for (const array& a : tape) {
    std::vector<int> args, results;
    for (const array& in : a.inputs()) args.push_back(nodes.at(in.id()));
    if (typeid(a.primitive()) == typeid(Broadcast)) args.resize(1);
    if (!append(e, a.primitive(), args, dtype(a.dtype()), results)) {
      throw std::runtime_error(std::string("[Compiled::eval_gpu] ") + a.primitive().name() + " is not supported.");
    }
    const auto all = a.outputs();
    for (size_t i = 0; i < all.size(); ++i) nodes[all[i].id()] = e.round(results[i]);
  }
  for (const array& out : outputs) e.output(nodes.at(out.id()));
  return e;
}

}  // namespace
}  // namespace webgpu

void Compiled::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  using namespace webgpu;
  // Made once of each name, which MLX makes of operations, types and constants' values, with the types of all inputs,
  // which constants are. The lock guards the map.
  constexpr size_t kMost = 1024;
  std::string key = kernel_lib_;
  for (const array& in : inputs_) key += static_cast<char>('a' + static_cast<int>(in.dtype().val()));
  const auto lock = recorder().lock();
  static auto* made = new std::unordered_map<std::string, weft::Expression>;
  auto place = made->find(key);
  if (place == made->end()) {
    if (made->size() >= kMost) made->clear();
    place = made->emplace(key, expression_of(inputs_, tape_, outputs_)).first;
  }
  for (array& out : outputs) allocate(out);
  if (outputs[0].size() == 0) return;
  std::vector<Elements> lists;
  for (const array& in : inputs) {
    // Scalars and smaller arrays broadcast to the outputs.
    Strides strides(outputs[0].ndim(), 0);
    const int missing = outputs[0].ndim() - in.ndim();
    for (int i = 0; i < in.ndim(); ++i) strides[missing + i] = in.shape(i) == 1 ? 0 : in.strides()[i];
    lists.push_back(Elements::of(outputs[0].shape(), strides, in.offset()));
  }
  for (const array& out : outputs) lists.push_back(Elements::of(out));
  record(place->second, inputs, outputs, lists);
}

}  // namespace mlx::core
