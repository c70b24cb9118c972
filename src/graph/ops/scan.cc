#include "graph/ops/scan.h"

#include "core/error_context.h"
#include "graph/graph.h"
#include "graph/op_rows.h"
#include "graph/op_schemas.h"
#include "kernels/common/element_work.h"
#include "kernels/scan/scan.h"
#include "weft/error.h"
#include "weft/kernels/scan.h"

namespace weft {

std::string_view ScanOp::name() const { return kernels::scan_name(a.kind); }

std::vector<TensorType> ScanOp::infer(std::span<const TensorType> in) const {
  // A sum of booleans is no boolean; of what its kernel can store it is i32, as all sums of small integers are.
  const bool counts = in[0].dtype == DType::boolean;
  return {{infer_dtype(name(), {&in[0]}, counts ? std::optional(DType::i32) : std::nullopt), in[0].shape}};
}

void ScanOp::lower(const Launch& call) const {
  kernels::scan(call.stream, a.kind, call.inputs[0], call.outputs[0], a.axis, a.options);
}

Work ScanOp::work(const Launch& call) const {
  const auto elements = static_cast<double>(call.outputs[0].count());
  return with_bytes(call, kernels::work_of(kernels::scan_work(a.kind), elements, nullptr, 0, nullptr));
}

Tensor scan(kernels::ScanKind op, const Operand& x, int axis, const kernels::ScanOptions& options) {
  if (!x.defined()) throw InvalidArgument("scan: the operand is an undefined Tensor");
  return apply(make_op<ScanOp>(ScanAttributes{op, normalize_axis(axis, x.rank(), "scan"), options}), {x});
}

void add_scan_ops(OpRows& rows) {
  using kernels::ScanKind;
  for (const ScanKind kind : {ScanKind::sum, ScanKind::prod, ScanKind::max, ScanKind::min, ScanKind::log_sum_exp}) {
    rows.push_back(op_row<ScanOp>(schema_of_kernel(kernels::scan_name(kind)), {.kind = kind}));
  }
}

Tensor cumsum(const Operand& x, int axis) {
  return in_function("cumsum", [&] { return scan(kernels::ScanKind::sum, x, axis); });
}

}  // namespace weft
