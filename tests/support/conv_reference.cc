// The reference of convolutions.
#include "kernels/conv/problem.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/expression_cpu.h"
#include "support/element.h"
#include "support/kernel_references.h"

namespace weft::test {
using namespace kernels;

void conv_reference(const ConvProblem& p, const Expression* epilogue) {
  const DType product = p.sum_type();
  Expression plain;
  if (!epilogue) {
    const int sum = plain.input(product);
    plain.output(p.y.dtype == product ? sum : plain.cast(sum, p.y.dtype));
  }
  const CpuExpression expression(epilogue ? *epilogue : plain);
  CpuExpression::Registers registers(expression);
  Shape window;
  for (int d = 0; d < p.spatial(); ++d) window.push_back(p.w.shape()[ConvProblem::kSpatial + d]);
  const std::int64_t taps = element_count(window);
  for (std::int64_t e = 0; e < p.y.count(); ++e) {
    Dims at = Dims::filled(p.y.rank(), 0);
    std::int64_t rest = e;
    for (int d = p.y.rank() - 1; d >= 0; --d) at[d] = rest % p.y.shape()[d], rest /= p.y.shape()[d];
    double sum = 0;
    std::uint32_t wrapped = 0;
    for (std::int64_t t = 0; t < taps; ++t) {
      std::int64_t x = at[0] * p.x.strides()[0] + at[1] * p.x.strides()[1];
      std::int64_t w = at[0] * p.w.strides()[0] + at[2] * p.w.strides()[1];
      bool inside = true;
      std::int64_t tap = t;
      for (int d = p.spatial() - 1; d >= 0; --d) {
        const int axis = ConvProblem::kSpatial + d;
        const std::int64_t k = tap % window[d], i = p.position(d, at[axis], k);
        tap /= window[d];
        inside &= i >= 0 && i < p.x.shape()[axis];
        x += i * p.x.strides()[axis];
        w += k * p.w.strides()[axis];
      }
      if (!inside) continue;
      for (std::int64_t c = 0; c < p.channels(); ++c) {
        const double a = element_as_double(p.x, x + c * p.x.strides()[2]),
                     b = element_as_double(p.w, w + c * p.w.strides()[2]);
        sum += a * b;
        if (!is_floating(product)) {
          wrapped += static_cast<std::uint32_t>(static_cast<std::int64_t>(a)) *
                     static_cast<std::uint32_t>(static_cast<std::int64_t>(b));
        }
      }
    }
    const auto single = static_cast<float>(sum);
    const void* value = product == DType::f64   ? static_cast<const void*>(&sum)
                        : product == DType::f32 ? static_cast<const void*>(&single)
                                                : &wrapped;
    const auto row = [&](const View& v) {
      std::int64_t offset = 0;
      for (int d = 0; d < v.rank(); ++d) offset += at[d] * v.strides()[d];
      return CpuExpression::Row{v.buffer.data() + v.offset, offset, 1};
    };
    std::vector<CpuExpression::Row> inputs{{static_cast<std::byte*>(const_cast<void*>(value)), 0, 1}};
    for (const View& v : p.operands) inputs.push_back(row(v));
    const CpuExpression::Row output = row(p.y);
    expression.evaluate(registers, inputs, std::span(&output, 1), 1);
  }
}

}  // namespace weft::test
