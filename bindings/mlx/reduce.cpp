// Reductions, scans, sorting, softmax.
#include "call.h"
#include "mlx/primitives.h"

namespace mlx::core {

using namespace webgpu;
using weft::DType;

namespace {

// The same elements converted to another type.
weft::View converted(Call& call, const weft::View& x, DType type) {
  const weft::View y = call.temporary(type, x.shape());
  weft::kernels::copy(call.stream(), x, y);
  return y;
}

void sort(const array& in, array& out, int axis, bool indices) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const weft::View y = call.out(out);
  const std::optional<weft::View> none;
  weft::kernels::sort(call.stream(), call.in(in), indices ? none : y, indices ? y : none, {.axis = axis});
}

}  // namespace

void Reduce::eval_gpu(const std::vector<array>& inputs, array& out) {
  using enum weft::kernels::ReduceKind;
  constexpr weft::kernels::ReduceKind kKinds[] = {all, any, sum, prod, min, max};  // ReduceType
  // Of booleans the least is whether all are true; a sum counts.
  constexpr weft::kernels::ReduceKind kBooleanKinds[] = {all, any, count, prod, all, any};
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  weft::View x = call.in(inputs[0]);
  auto kind = (inputs[0].dtype() == bool_ ? kBooleanKinds : kKinds)[reduce_type_];
  if (x.dtype == DType::boolean && kind == prod) x = converted(call, x, dtype(out.dtype()));
  weft::kernels::reduce(call.stream(), kind, x, call.out(out), axes_);
}

void ArgReduce::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const int axes[] = {axis_};
  weft::kernels::arg_reduce(call.stream(),
                            reduce_type_ == ArgMin ? weft::kernels::ArgKind::min : weft::kernels::ArgKind::max,
                            call.in(inputs[0]), call.out(out), axes);
}

void Scan::eval_gpu(const std::vector<array>& inputs, array& out) {
  using enum weft::kernels::ScanKind;
  constexpr weft::kernels::ScanKind kKinds[] = {max, min, sum, prod, log_sum_exp};  // ReduceType
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  weft::kernels::scan(call.stream(), kKinds[reduce_type_], call.in(inputs[0]), call.out(out), axis_,
                      {.reverse = reverse_, .exclusive = !inclusive_});
}

void Sort::eval_gpu(const std::vector<array>& inputs, array& out) { sort(inputs[0], out, axis_, false); }
void ArgSort::eval_gpu(const std::vector<array>& inputs, array& out) { sort(inputs[0], out, axis_, true); }
// What is sorted is partitioned.
void Partition::eval_gpu(const std::vector<array>& inputs, array& out) { sort(inputs[0], out, axis_, false); }
void ArgPartition::eval_gpu(const std::vector<array>& inputs, array& out) { sort(inputs[0], out, axis_, true); }

void Softmax::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  weft::kernels::softmax(call.stream(), call.in(inputs[0]), call.out(out), -1);
}

void LogSumExp::eval_gpu(const std::vector<array>& inputs, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  const int axes[] = {-1};
  weft::kernels::reduce(call.stream(), weft::kernels::ReduceKind::log_sum_exp, call.in(inputs[0]), call.out(out), axes);
}

void Arange::eval_gpu(const std::vector<array>&, array& out) {
  allocate(out);
  if (out.size() == 0) return;
  Call call;
  weft::Number start = start_, step = step_;
  if (issubdtype(out.dtype(), integer)) {
    // The step is the difference of the first two elements, as integers.
    const auto first = static_cast<int64_t>(start_);
    start = first;
    step = static_cast<int64_t>(start_ + step_) - first;
  }
  weft::kernels::arange(call.stream(), start, step, call.out(out));
}

}  // namespace mlx::core
