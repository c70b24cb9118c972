// The rows of the kernel table for weft/kernels/scan.h.
#include <format>

#include "kernels/scan/scan.h"
#include "kernels/table_rows.h"

namespace weft::kernels {

std::string_view scan_name(ScanKind op) {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const std::string_view kind : kScanKinds) all.push_back(std::format("scan_{}", kind));
    return all;
  }();
  return names[static_cast<std::size_t>(op)];
}

void add_scan_rows(TableRows& rows) {
  using types::floats, types::integers, types::packed;
  const TypeSet whole = integers - packed;
  const struct {
    ScanKind kind;
    std::string_view formula, what;
    std::vector<TypeSignature> signatures;
    std::vector<std::string> other_names;
  } kinds[] = {
      {ScanKind::sum,
       "y[i] = x[0] + … + x[i]",
       "the running sum",
       {{floats, floats}, {whole | types::boolean, whole}, {types::complex, as(0)}},
       {"cumsum"}},
      {ScanKind::prod,
       "y[i] = x[0] · … · x[i]",
       "the running product",
       {{floats, floats}, {whole | types::boolean, whole}, {types::complex, as(0)}},
       {"cumprod"}},
      {ScanKind::max,
       "y[i] = max(x[0], …, x[i])",
       "the greatest element so far",
       {{floats, floats}, {whole, as(0)}},
       {"cummax"}},
      {ScanKind::min,
       "y[i] = min(x[0], …, x[i])",
       "the least element so far",
       {{floats, floats}, {whole, as(0)}},
       {"cummin"}},
      {ScanKind::log_sum_exp,
       "y[i] = ln(exp(x[0]) + … + exp(x[i]))",
       "the logarithm of the running sum of exponentials, without overflow in between",
       {{floats, floats}},
       {}},
  };
  for (const auto& k : kinds) {
    rows.push_back(
        row({.name = std::string(scan_name(k.kind)),
             .family = "scan",
             .summary = std::format("{}, along an axis", k.what),
             .formula = std::string(k.formula),
             .inputs = {one("x", "any")},
             .outputs = {one("y", "x's shape")},
             .signatures = k.signatures,
             .attributes = with(integer("axis", "the axis along which elements are combined", -1), ScanOptions()),
             .other_names = k.other_names},
            [kind = k.kind](Stream& s, const Reader& r) {
              scan(s, kind, r.in(0), r.out(0), r.axis(), r.options<ScanOptions>());
            }));
  }
}

}  // namespace weft::kernels
