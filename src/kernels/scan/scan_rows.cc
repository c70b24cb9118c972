// The rows of the kernel table for weft/kernels/scan.h.
#include <format>

#include "kernels/table_rows.h"
#include "kernels/scan/scan.h"

namespace weft::kernels {

std::string_view scan_name(ScanKind op) {
  constexpr std::string_view kNames[] = {"scan_sum", "scan_prod", "scan_max", "scan_min", "scan_log_sum_exp"};
  return kNames[static_cast<int>(op)];
}

void add_scan_rows(TableRows& rows) {
  using types::floats, types::integers, types::packed;
  const TypeSet whole = integers - packed;
  const struct {
    ScanKind kind;
    std::string_view what;
    std::vector<TypeSignature> signatures;
    std::vector<std::string> other_names;
  } kinds[] = {
      {ScanKind::sum, "sum", {{floats, floats}, {whole | types::boolean, whole}, {types::complex, as(0)}}, {"cumsum"}},
      {ScanKind::prod,
       "prod",
       {{floats, floats}, {whole | types::boolean, whole}, {types::complex, as(0)}},
       {"cumprod"}},
      {ScanKind::max, "max", {{floats, floats}, {whole, as(0)}}, {"cummax"}},
      {ScanKind::min, "min", {{floats, floats}, {whole, as(0)}}, {"cummin"}},
      {ScanKind::log_sum_exp, "log_sum_exp", {{floats, floats}}, {}},
  };
  for (const auto& k : kinds) {
    rows.push_back(
        row({.name = std::string(scan_name(k.kind)),
             .family = "scan",
             .summary = std::format("{} of each element with all before it along an axis", k.what),
             .inputs = {{"x"}},
             .outputs = {{"y"}},
             .signatures = k.signatures,
             .attributes = {integer("axis", -1), boolean("reverse", false), boolean("exclusive", false)},
             .other_names = k.other_names},
            [kind = k.kind](Stream& s, const Reader& r) {
              scan(s, kind, r.in(0), r.out(0), r.axis(),
                   {.reverse = r.flag("reverse"), .exclusive = r.flag("exclusive")});
            }));
  }
}

}  // namespace weft::kernels
