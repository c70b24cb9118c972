#include "kernels/common/prologue.h"

#include "core/format.h"
#include "weft/error.h"

namespace weft::kernels {
namespace {

std::vector<View> broadcast_all(std::string_view kernel, std::string_view what, std::span<const View> operands,
                                std::string_view to_what, const View& to) {
  std::vector<View> all;
  for (const View& operand : operands) {
    if (!broadcasts_to(operand.shape(), to.shape())) {
      throw InvalidArgument("{}: {} operand {} does not broadcast to {}, {}", kernel, what, to_string(operand), to_what,
                            to_string(to));
    }
    all.push_back(operand.broadcast_to(to.shape()));
  }
  return all;
}

Expression with_wide_output(Expression e, DType type) {
  e.output(e.cast(e.outputs()[0], type));
  return e;
}

}  // namespace

DType prologue_type(const View& x, const Prologue& prologue) {
  return prologue.expression ? prologue.expression->output_type(0) : x.dtype;
}

std::vector<View> prologue_inputs(std::string_view kernel, const View& x, const Prologue& prologue) {
  const Expression* e = prologue.expression;
  if (!e) {
    if (!prologue.operands.empty()) throw InvalidArgument("{}: prologue operands without an expression", kernel);
    return {x};
  }
  if (!prologue.outputs.empty()) throw InvalidArgument("{}: its prologue has no further results", kernel);
  const auto count = static_cast<int>(prologue.operands.size());
  if (e->outputs().size() != 1 || e->input_count() != count + 1) {
    throw InvalidArgument("{}: the prologue {} has {} inputs and {} outputs, expected {} (x and {} operands) and 1",
                          kernel, e->to_string(), e->input_count(), e->outputs().size(), count + 1, count);
  }
  std::vector<View> all = broadcast_all(kernel, "prologue", prologue.operands, "x", x);
  all.insert(all.begin(), x);
  for (const Expression::Node& node : e->nodes()) {
    if (node.op != ScalarOp::input || node.type == all[static_cast<std::size_t>(node.input)].dtype) continue;
    throw InvalidArgument("{}: input {} of the prologue {} is {}, given {}", kernel, node.input, e->to_string(),
                          name(node.type), to_string(all[static_cast<std::size_t>(node.input)]));
  }
  return all;
}

std::vector<View> epilogue_operands(std::string_view kernel, const Epilogue& epilogue, const View& y) {
  if (!epilogue.outputs.empty()) throw InvalidArgument("{}: its epilogue has one result", kernel);
  return broadcast_all(kernel, "epilogue", epilogue.operands, "the result", y);
}

View with_type(View view, DType type) {
  view.dtype = type;
  return view;
}

View sliced(View view, int axis, std::int64_t begin, std::int64_t size) {
  view.layout.shape[axis] = size;
  if (size == 0) return view;
  const std::int64_t past = begin * view.strides()[axis] * bits(view.dtype);
  if (past % 8 != 0) {
    throw Unsupported("{} is more than one binding holds, and cannot be cut between two elements of a byte",
                      to_string(view));
  }
  view.offset = static_cast<std::uint64_t>(static_cast<std::int64_t>(view.offset) + past / 8);
  return view;
}

std::string_view lane_mode(const View& operand, int lanes, std::int64_t stride_of_lanes, bool vectorises) {
  if (lanes == 1) return "one";
  if (stride_of_lanes == 0) return "same";
  return stride_of_lanes == 1 && vectorises && !operand.buffer.is_number() ? "four" : "each";
}

PrologueRows::PrologueRows(const Expression& prologue, DType type) : expression_(with_wide_output(prologue, type)) {}

void PrologueRows::operator()(CpuExpression::Registers& registers, std::span<const CpuExpression::Row> inputs,
                              std::int64_t n, void* x) const {
  // The last output is x as it was computed, not rounded to a narrower type.
  const CpuExpression::Row outputs[] = {{}, {static_cast<std::byte*>(x), 0, 1}};
  expression_.evaluate(registers, inputs, outputs, n);
}

}  // namespace weft::kernels
