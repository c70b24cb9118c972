// The reference of the matrix product.
#include "kernels/matmul/row_store.h"
#include "support/element.h"
#include "support/kernel_references.h"

namespace weft::test {
using namespace kernels;

void matmul_reference(const MatmulProblem& p, const Expression* expression) {
  const RowStore store(p, expression);
  const DType product = p.sum_type();
  const bool real = is_floating(product);
  std::vector<float> reals(static_cast<std::size_t>(p.n));
  std::vector<double> doubles(static_cast<std::size_t>(p.n));
  std::vector<std::uint32_t> integers(static_cast<std::size_t>(p.n));
  for (std::int64_t batch = 0; batch < p.batches(); ++batch) {
    const std::int64_t a0 = batch_offset(p.a, p.batch, batch), b0 = batch_offset(p.b, p.batch, batch);
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        std::uint32_t wrapped = 0;
        for (std::int64_t k = 0; k < p.k; ++k) {
          const double x = element_as_double(p.a, a0 + i * p.a.strides()[-2] + k * p.a.strides()[-1]);
          const double w = element_as_double(p.b, b0 + k * p.b.strides()[-2] + j * p.b.strides()[-1]);
          if (real)
            sum += x * w;
          else {
            wrapped += static_cast<std::uint32_t>(static_cast<std::int64_t>(x)) *
                       static_cast<std::uint32_t>(static_cast<std::int64_t>(w));
          }
        }
        reals[j] = static_cast<float>(sum);
        doubles[j] = sum;
        integers[j] = wrapped;
      }
      const void* row = product == DType::f64 ? static_cast<const void*>(doubles.data())
                        : real                ? static_cast<const void*>(reals.data())
                                              : integers.data();
      store.rows(row, p.n, batch, i, 1, 0, p.n);
    }
  }
}

}  // namespace weft::test
