#include "compiler/largest_value.h"

#include <cmath>
#include <format>

#include "cpu/executor.h"
#include "weft/kernels/copy.h"

namespace weft::compiler {

std::string largest_value(const View& view) {
  if (view.count() == 0) return "none";
  if (view.dtype == DType::c64) return "-";
  const View values(Buffer::host(static_cast<std::uint64_t>(view.count()) * sizeof(double)), 0, DType::f64,
                    view.shape());
  cpu::Executor executor;
  kernels::copy(executor, view, values);
  const auto* first = reinterpret_cast<const double*>(values.buffer.data());
  double largest = 0;
  for (std::int64_t i = 0; i < view.count(); ++i) {
    if (std::isnan(first[i])) return "NaN";
    largest = std::max(largest, std::abs(first[i]));
  }
  return std::format("{:.6g}", largest);
}

}  // namespace weft::compiler
