// The rows of the kernel table for weft/kernels/softmax.h.
#include "kernels/table_rows.h"
#include "weft/kernels/softmax.h"

namespace weft::kernels {

void add_softmax_rows(TableRows& rows) {
  const auto along_axis = [](std::string name, std::string formula, std::string summary) {
    return Schema{.name = std::move(name),
                  .family = "softmax",
                  .summary = std::move(summary),
                  .formula = std::move(formula),
                  .inputs = {one("x", "any")},
                  .outputs = {one("y", "x's shape")},
                  .signatures = {{types::floats, types::floats}},
                  .attributes = {integer("axis", "the axis along which the results add up to 1", -1)}};
  };
  rows.push_back(row(along_axis("softmax", "y = exp(x - max(x)) / Σ exp(x - max(x))",
                                "the softmax along an axis: positive numbers that add up to 1"),
                     [](Stream& s, const Reader& r) { softmax(s, r.in(0), r.out(0), r.axis()); }));
  rows.push_back(row(along_axis("log_softmax", "y = x - max(x) - ln(Σ exp(x - max(x)))",
                                "the logarithm of the softmax along an axis, without underflow in between"),
                     [](Stream& s, const Reader& r) { log_softmax(s, r.in(0), r.out(0), r.axis()); }));
}

}  // namespace weft::kernels
