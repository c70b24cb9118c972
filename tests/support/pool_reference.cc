// The reference of pooling: the definition, with every element of x asked for every window.
#include <cmath>

#include "kernels/common/prologue.h"
#include "kernels/cpu_loops.h"
#include "kernels/elementwise/expression_cpu.h"
#include "kernels/pool/problem.h"
#include "support/element.h"
#include "support/kernel_references.h"

namespace weft::test {
using namespace kernels;

namespace {

// Whether window i holds element j of x, by the definition.
bool holds(const PoolAxis& a, std::int64_t i, std::int64_t j) {
  if (a.adaptive) return i * a.x_size / a.y_size <= j && j < ((i + 1) * a.x_size + a.y_size - 1) / a.y_size;
  const std::int64_t k = j - (i * a.stride - a.before);
  return k >= 0 && k % a.dilation == 0 && k / a.dilation < a.window;
}

// Of an average: the positions of the window that are in x, or in x and its padding.
std::int64_t counted(const PoolAxis& a, std::int64_t i) {
  const bool padding = a.count_padding && !a.adaptive;
  std::int64_t count = 0;
  for (std::int64_t j = padding ? -a.before : 0; j < a.x_size + (padding ? a.after : 0); ++j) count += holds(a, i, j);
  return count;
}

// What is pooled, in memory of the results' type and dense.
View pooled(const PoolProblem& p) {
  if (!p.prologue) return p.inputs[0];
  const DType type = p.result_type();
  const auto count = static_cast<std::uint64_t>(element_count(p.from_shape()));
  const View x(Buffer::host(byte_size(type, count)), 0, type, p.from_shape());
  const PrologueRows rows(*p.prologue, type);
  CpuExpression::Registers registers = rows.registers();
  for (std::int64_t e = 0; e < x.count(); ++e) {
    std::vector<CpuExpression::Row> inputs;
    for (const View& v : p.inputs) {
      std::int64_t rest = e, offset = 0;
      for (int d = v.rank() - 1; d >= 0; --d) offset += rest % v.shape()[d] * v.strides()[d], rest /= v.shape()[d];
      inputs.push_back({v.buffer.data() + v.offset, offset, 1});
    }
    rows(registers, inputs, 1, x.buffer.data() + static_cast<std::size_t>(e) * byte_size(type, 1));
  }
  return x;
}

}  // namespace

void pool_reference(const PoolProblem& p, const Expression* epilogue) {
  const DType type = p.result_type();
  const View x = pooled(p);
  Expression plain;
  if (!epilogue) {
    const int result = plain.input(type);
    plain.output(p.to.dtype == type ? result : plain.cast(result, p.to.dtype));
  }
  const CpuExpression expression(epilogue ? *epilogue : plain);
  CpuExpression::Registers registers(expression);
  const int rank = p.to.rank();
  Shape from_shape;
  for (int d = PoolProblem::kSpatial; d < rank; ++d) from_shape.push_back(p.from_shape()[d]);
  for (std::int64_t e = 0; e < p.to.count(); ++e) {
    Dims at = Dims::filled(rank, 0);
    std::int64_t rest = e, own = 0;
    for (int d = rank - 1; d >= 0; --d) at[d] = rest % p.to.shape()[d], rest /= p.to.shape()[d];
    for (int d = 0; d < p.spatial(); ++d) own += at[PoolProblem::kSpatial + d] * p.index_stride(d);
    double result = p.kind == PoolKind::max && !p.backward ? p.least() : 0;
    std::int64_t place = -1, divisor = 1;
    if (!p.backward && p.kind == PoolKind::average) {
      for (int d = 0; d < p.spatial(); ++d)
        divisor *= counted(p.axes[static_cast<std::size_t>(d)], at[PoolProblem::kSpatial + d]);
      divisor = p.divisor ? p.divisor : std::max<std::int64_t>(divisor, 1);
    }
    for (std::int64_t t = 0; t < element_count(from_shape); ++t) {
      std::int64_t offset = at[0] * x.strides()[0] + at[1] * x.strides()[1], tap = t, position = 0, count = 1;
      std::int64_t indices = 0;
      if (p.indices) indices = at[0] * p.indices->strides()[0] + at[1] * p.indices->strides()[1];
      bool inside = true;
      for (int d = p.spatial() - 1; d >= 0; --d) {
        const PoolAxis& a = p.axes[static_cast<std::size_t>(d)];
        const int axis = PoolProblem::kSpatial + d;
        const std::int64_t k = tap % from_shape[d];
        tap /= from_shape[d];
        inside &= p.backward ? holds(a, k, at[axis]) : holds(a, at[axis], k);
        offset += k * x.strides()[axis];
        if (p.indices) indices += k * p.indices->strides()[axis];
        position += k * p.index_stride(d);
        if (inside && p.backward && p.counts()) count *= counted(a, k);
      }
      if (!inside) continue;
      const double v = element_as_double(x, offset);
      if (p.kind == PoolKind::lp)
        result += std::pow(std::abs(v), p.norm);
      else if (p.kind == PoolKind::average)
        result += p.backward ? v / static_cast<double>(p.divisor ? p.divisor : count) : v;
      else if (p.backward)
        result += data<const std::int32_t>(*p.indices)[indices] == own ? v : 0;
      else if (v > result || std::isnan(v) || place < 0)
        result = v, place = position;
    }
    if (p.kind == PoolKind::lp) result = std::pow(result, 1 / p.norm);
    if (p.kind == PoolKind::average) result /= static_cast<double>(divisor);
    const auto row = [&](const View& v) {
      std::int64_t offset = 0;
      for (int d = 0; d < rank; ++d) offset += at[d] * v.strides()[d];
      return CpuExpression::Row{v.buffer.data() + v.offset, offset, 1};
    };
    const auto single = static_cast<float>(result);
    const auto whole = static_cast<std::uint32_t>(is_floating(type) ? 0 : static_cast<std::int64_t>(result));
    const void* value = type == DType::f64   ? static_cast<const void*>(&result)
                        : type == DType::f32 ? static_cast<const void*>(&single)
                                             : &whole;
    std::vector<CpuExpression::Row> inputs{{static_cast<std::byte*>(const_cast<void*>(value)), 0, 1}};
    for (const View& v : p.operands) inputs.push_back(row(v));
    const CpuExpression::Row output = row(p.to);
    expression.evaluate(registers, inputs, std::span(&output, 1), 1);
    if (!p.backward && p.indices) {
      *reinterpret_cast<std::int32_t*>(row(*p.indices).data + row(*p.indices).first * 4) =
          static_cast<std::int32_t>(place);
    }
  }
}

}  // namespace weft::test
