#include "kernels/matmul/epilogue.h"

#include "core/format.h"
#include "core/str_cat.h"
#include "kernels/matmul/variants.h"
#include "weft/error.h"

namespace weft::kernels {

void check_epilogue(std::string_view kernel, const Epilogue& epilogue, DType product, const View& y) {
  if (const Expression* e = epilogue.expression) {
    const auto count = static_cast<int>(epilogue.operands.size());
    if (e->outputs().size() != 1 || e->input_count() != count + 1) {
      throw InvalidArgument(
          "{}: the epilogue {} has {} inputs and {} outputs, expected {} (the product and {} operands) "
          "and 1",
          kernel, e->to_string(), e->input_count(), e->outputs().size(), count + 1, count);
    }
    for (const Expression::Node& node : e->nodes()) {
      if (node.op != ScalarOp::input) continue;
      const DType got = node.input == 0 ? product : epilogue.operands[node.input - 1].dtype;
      if (node.type != got) {
        throw InvalidArgument("{}: input {} of the epilogue {} is {}, given {}", kernel, node.input, e->to_string(),
                              name(node.type), name(got));
      }
    }
    if (e->output_type(0) != y.dtype) {
      throw InvalidArgument("{}: the epilogue {} gives {}, y is {}", kernel, e->to_string(), name(e->output_type(0)),
                            to_string(y));
    }
  } else {
    if (!epilogue.operands.empty()) throw InvalidArgument("{}: epilogue operands without an expression", kernel);
  }
}

int add_outputs(Call& call, const MatmulProblem& problem, const Expression* expression, StoreUnit unit) {
  bool by_four = unit == StoreUnit::row_of_four && rows_vectorise(problem.y);
  for (const View& v : problem.operands) by_four &= bits(v.dtype) <= 32;
  const int width = by_four ? 4 : 1;
  std::string modes;
  call.write("y", problem.y, width).strides("y", batch_strides(problem.y));
  call.index_param("y_m", problem.y.strides()[-2]).index_param("y_n", problem.y.strides()[-1]);
  for (std::size_t i = 0; i < problem.operands.size(); ++i) {
    const View& v = problem.operands[i];
    const std::string name = str_cat("e", i);
    const bool row = by_four && rows_vectorise(v);
    modes += str_cat(i ? "," : "", row ? "row" : v.strides()[-1] == 0 ? "column" : "any");
    call.read(name, v, row ? 4 : 1).strides(name, batch_strides(v));
    call.index_param(name + "_m", v.strides()[-2]).index_param(name + "_n", v.strides()[-1]);
  }
  if (expression) call.expression(*expression, ExpressionRole::epilogue, width);
  call.include("matmul_store").set("y_width", width).set("operands", modes).set("fused", expression != nullptr);
  return width;
}

void add_partial_outputs(Call& call, const MatmulProblem& problem, const View& sums, StoreUnit unit) {
  Shape shape = problem.batch;
  shape.push_back(problem.m);
  shape.push_back(problem.n);
  const Strides strides = dense_strides(shape);
  Strides batch;
  for (int d = 0; d < problem.batch.rank(); ++d) batch.push_back(strides[d]);
  const int width = unit == StoreUnit::row_of_four && problem.n % 4 == 0 && can_vectorise(sums) ? 4 : 1;
  call.write("y", sums, width).strides("y", batch);
  call.index_param("y_m", problem.n).index_param("y_n", 1).index_param("slice_stride", element_count(shape));
  call.include("matmul_store").set("y_width", width).set("operands", "").set("fused", false);
}

}  // namespace weft::kernels
