// The rows of the kernel table for weft/kernels/softmax.h.
#include "kernels/table_rows.h"
#include "weft/kernels/softmax.h"

namespace weft::kernels {

void add_softmax_rows(TableRows& rows) {
  const auto along_axis = [](std::string name, std::string summary) {
    return Schema{.name = std::move(name),
                  .family = "softmax",
                  .summary = std::move(summary),
                  .inputs = {{"x"}},
                  .outputs = {{"y"}},
                  .signatures = {{types::floats, types::floats}},
                  .attributes = {integer("axis", -1)}};
  };
  rows.push_back(row(along_axis("softmax", "softmax along an axis"),
                     [](Stream& s, const Reader& r) { softmax(s, r.in(0), r.out(0), r.axis()); }));
  rows.push_back(row(along_axis("log_softmax", "logarithm of softmax along an axis"),
                     [](Stream& s, const Reader& r) { log_softmax(s, r.in(0), r.out(0), r.axis()); }));
}

}  // namespace weft::kernels
