#include "kernels/matmul/matmul.h"
#include "kernels/twin.h"

namespace weft::kernels {

void matmul_reference(const MatmulProblem& p, const Expression*) {
  const auto load = [](const View& view, std::int64_t offset) {
    return with_type(view.dtype, [&]<class T>() -> double {
      if constexpr (std::is_same_v<T, std::complex<float>>) return 0;
      else return static_cast<double>(data<const T>(view)[offset]);
    });
  };
  for_each_offset<3>(p.batch, {batch_strides(p.a), batch_strides(p.b), batch_strides(p.y)}, [&](std::int64_t a0, std::int64_t b0, std::int64_t y0) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          sum += load(p.a, a0 + i * p.a.strides()[-2] + k * p.a.strides()[-1]) *
                 load(p.b, b0 + k * p.b.strides()[-2] + j * p.b.strides()[-1]);
        }
        data<float>(p.y)[y0 + i * p.y.strides()[-2] + j * p.y.strides()[-1]] = static_cast<float>(sum);
      }
    }
  });
}

void matmul_cpu(cpu::Executor&, const MatmulProblem& problem, const Expression* epilogue) {
  matmul_reference(problem, epilogue);
}

}  // namespace weft::kernels
