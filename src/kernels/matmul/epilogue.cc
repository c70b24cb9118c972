#include "kernels/matmul/epilogue.h"

#include "kernels/matmul/variants.h"

namespace weft::kernels {
namespace {

Strides batch_strides(const View& view) {
  Strides s;
  for (int d = 0; d + 2 < view.rank(); ++d) s.push_back(view.strides()[d]);
  return s;
}

}  // namespace

void add_outputs(Call& call, const MatmulProblem& problem, const Expression* expression) {
  const int width = rows_vectorise(problem.y) ? 4 : 1;
  call.write("y", problem.y, width).strides("y", batch_strides(problem.y));
  call.index_param("y_m", problem.y.strides()[-2]).index_param("y_n", problem.y.strides()[-1]);
  std::string fields, starts, arguments, arguments4[4];
  (void)expression;
  std::string text = std::format(
      "struct Out {{ y: u32{} }}\n"
      "fn outputs(c: Coords, slice: u32) -> Out {{ return Out(at_y(c){}); }}\n", fields, starts);
  text += "fn finish(out: Out, row: u32, col: u32, v: f32) -> y_t { return y_t(v); }\n";
  if (width == 4) {
    text += "fn finish4(out: Out, row: u32, col: u32, v: vec4<f32>) -> vec4<y_t> { return vec4<y_t>(v); }\n";
  }
  call.include("matmul_store").set("epilogue", text).set("y_width", width);
}

void add_partial_outputs(Call& call, const MatmulProblem& problem, const View& workspace) {
  Shape shape = problem.batch;
  shape.push_back(problem.m);
  shape.push_back(problem.n);
  const Strides strides = dense_strides(shape);
  const int width = problem.n % 4 == 0 && can_vectorise(workspace) ? 4 : 1;
  Strides batch;
  for (int d = 0; d < problem.batch.rank(); ++d) batch.push_back(strides[d]);
  call.write("y", workspace, width).strides("y", batch);
  call.index_param("y_m", problem.n).index_param("y_n", 1).index_param("slice_stride", element_count(shape));
  call.include("matmul_store").set("y_width", width).set("epilogue",
      "struct Out { y: u32 }\n"
      "fn outputs(c: Coords, slice: u32) -> Out { return Out(at_y(c) + slice * p.slice_stride); }\n"
      "fn finish(out: Out, row: u32, col: u32, v: f32) -> f32 { return v; }\n"
      "fn finish4(out: Out, row: u32, col: u32, v: vec4<f32>) -> vec4<f32> { return v; }\n");
}

}  // namespace weft::kernels
