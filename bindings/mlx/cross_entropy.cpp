#include "call.h"
#include "mlx/fast_primitives.h"

namespace mlx::core::fast {

using namespace webgpu;
using weft::DType;

namespace {

// What belongs to rows, with an axis of size 1 at its end.
weft::View of_rows(weft::View x) {
  x.layout.shape.push_back(1);
  x.layout.strides.push_back(0);
  return x;
}

// The logits' rows, and the arrays that have a number for each of them.
struct Rows {
  explicit Rows(const array& logits) : grouped(Grouped::rows(logits)) {}

  weft::View in(Call& call, const array& a) const {
    return of_rows(grouped.ends.empty() ? call.in(a) : call.in_dense(a, {static_cast<std::int64_t>(a.size())}));
  }
  weft::View out(Call& call, array& a) const {
    return of_rows(grouped.ends.empty() ? call.out(a) : call.out(a, Elements::flat(a)));
  }

  const Grouped grouped;
};

}  // namespace

bool CrossEntropy::use_fallback(Stream s) { return s.device == Device::cpu; }

// log Σ exp(x - max x) + (max x - x[target]), in f32: what logits have in common costs no digits. Where the largest is
// infinite, so is the sum, and the second term is all there is.
void CrossEntropy::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  using enum weft::ScalarOp;
  Call call;
  const Rows rows(inputs[0]);
  const weft::View x = call.in(inputs[0], rows.grouped), target = rows.in(call, inputs[1]);
  const weft::View loss = rows.out(call, outputs[0]);
  const weft::View largest = call.temporary(DType::f32, loss.shape()), sum = call.temporary(DType::f32, loss.shape());
  const weft::View score = call.temporary(x.dtype, loss.shape());
  const int axes[] = {-1};
  weft::kernels::reduce(call.stream(), weft::kernels::ReduceKind::max, x, largest, axes);
  weft::Expression weight;
  const int logit = weight.cast(weight.input(x.dtype), DType::f32);
  weight.output(weight.apply(weft::ScalarOp::exp, {weight.apply(sub, {logit, weight.input(DType::f32)})}));
  const weft::View maxima[] = {largest};
  weft::kernels::reduce(call.stream(), weft::kernels::ReduceKind::sum, x, sum, axes, 0,
                        {.prologue = {&weight, maxima}});
  weft::kernels::gather_elements(call.stream(), x, target, score, -1);
  weft::Expression e;
  const int logarithm = e.apply(weft::ScalarOp::log, {e.input(DType::f32)}), top = e.input(DType::f32);
  const int gap = e.apply(sub, {top, e.cast(e.input(x.dtype), DType::f32)});
  e.output(e.apply(select, {e.apply(is_inf, {top}), gap, e.apply(add, {logarithm, gap})}));
  const weft::View operands[] = {sum, largest, score}, results[] = {loss};
  weft::kernels::map(call.stream(), e, operands, results);
}

// g · (exp(x - x[target] - loss) - 1 at the target). Negative targets count from the end.
void CrossEntropyVJP::eval_gpu(const std::vector<array>& inputs, std::vector<array>& outputs) {
  allocate(outputs[0]);
  if (outputs[0].size() == 0) return;
  using enum weft::ScalarOp;
  Call call;
  const Rows rows(inputs[0]);
  const weft::View x = call.in(inputs[0], rows.grouped), target = rows.in(call, inputs[1]);
  const weft::View loss = rows.in(call, inputs[2]), g = rows.in(call, inputs[3]);
  const weft::View score = call.temporary(x.dtype, loss.shape());
  weft::kernels::gather_elements(call.stream(), x, target, score, -1);
  const weft::View classes = call.temporary(DType::i32, {x.shape()[-1]}), dx = call.out(outputs[0], rows.grouped);
  weft::kernels::arange(call.stream(), 0, 1, classes);
  weft::Expression e;
  const int logit = e.cast(e.input(x.dtype), DType::f32), result = e.input(DType::f32);
  const int at_target = e.cast(e.input(x.dtype), DType::f32), cotangent = e.cast(e.input(g.dtype), DType::f32);
  const int column = e.input(DType::i32), given = e.input(target.dtype);
  const int from_end = e.apply(add, {given, e.constant(x.shape()[-1], target.dtype)});
  const int negative = e.apply(less, {given, e.constant(0, target.dtype)});
  const int chosen = e.apply(equal, {column, e.apply(select, {negative, from_end, given})});
  const int p = e.apply(weft::ScalarOp::exp, {e.apply(sub, {e.apply(sub, {logit, at_target}), result})});
  const int less_one = e.apply(sub, {p, e.constant(1, DType::f32)});
  e.output(e.cast(e.apply(mul, {cotangent, e.apply(select, {chosen, less_one, p})}), dx.dtype));
  const weft::View operands[] = {x, loss, score, g, classes, target}, results[] = {dx};
  weft::kernels::map(call.stream(), e, operands, results);
}

}  // namespace mlx::core::fast
