#include "graph/ops/scan.h"

#include "graph/graph.h"
#include "kernels/common/element_work.h"
#include "weft/error.h"
#include "weft/kernels/scan.h"

namespace weft {

std::string_view ScanOp::name() const {
  constexpr std::string_view kNames[] = {"scan_sum", "scan_prod", "scan_max", "scan_min", "scan_log_sum_exp"};
  return kNames[static_cast<int>(op_)];
}

std::vector<TensorType> ScanOp::infer(std::span<const TensorType> in) const {
  const TensorType& x = in[0];
  const bool adds = op_ == kernels::ScanKind::sum || op_ == kernels::ScanKind::prod;
  const bool fits = is_floating(x.dtype) || (adds && x.dtype == DType::c64) ||
                    (op_ != kernels::ScanKind::log_sum_exp && is_integer(x.dtype) && bits(x.dtype) >= 8);
  if (!fits) {
    throw InvalidArgument("{}: x is {}, expected {}", name(), weft::to_string(x),
                          op_ == kernels::ScanKind::log_sum_exp ? "a float type" : "numbers of 8 bits or more");
  }
  return {x};
}

void ScanOp::lower(const Launch& call) const {
  kernels::scan(call.stream, op_, call.inputs[0], call.outputs[0], axis_, options_);
}

Work ScanOp::work(const Launch& call) const {
  const auto elements = static_cast<double>(call.outputs[0].count());
  return with_bytes(call, kernels::work_of(kernels::scan_work(op_), elements, nullptr, 0, nullptr));
}

Value scan(kernels::ScanKind op, Value x, int axis, const kernels::ScanOptions& options) {
  if (!x) throw InvalidArgument("scan: the operand is an empty Value");
  return apply(make_op<ScanOp>(op, normalize_axis(axis, x.rank(), "scan"), options), {x});
}

}  // namespace weft
