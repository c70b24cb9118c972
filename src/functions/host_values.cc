#include "functions/host_values.h"

#include <algorithm>

#include "cpu/executor.h"
#include "graph/constant.h"
#include "graph/leaf.h"
#include "graph/node.h"
#include "graph/op.h"
#include "weft/kernels/copy.h"
#include "weft/view.h"

namespace weft {
namespace {

std::vector<double> doubles_of(const TensorData& data) {
  std::vector<double> values(static_cast<std::size_t>(element_count(data.shape)));
  if (values.empty()) return values;
  // (Its bytes may be at any address.)
  const Buffer from = Buffer::host(data.bytes.size()), to = Buffer::host(values.size() * sizeof(double));
  std::ranges::copy(data.bytes, from.data());
  cpu::Executor executor(1);
  kernels::copy(executor, View(from, 0, data.dtype, data.shape), View(to, 0, DType::f64, data.shape));
  std::copy_n(to.data(), values.size() * sizeof(double), std::as_writable_bytes(std::span(values)).data());
  return values;
}

}  // namespace

std::optional<std::vector<double>> host_values(const Tensor& x) {
  const Op& op = x.node()->op();
  if (const ConstantOp* constant = op.constant()) return doubles_of(constant->data()->data());
  if (op.is_view() || !x.on_host()) return {};
  return x.to_vector<double>();
}

}  // namespace weft
