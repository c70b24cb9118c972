#include "kernels/matmul/epilogue.h"

#include "core/str_cat.h"
#include "kernels/matmul/variants.h"

namespace weft::kernels {

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
  if (expression) call.expression(*expression, width);
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
