// The rows of the kernel table for weft/kernels/pad.h.
#include "kernels/table_rows.h"
#include "weft/kernels/pad.h"

namespace weft::kernels {

namespace {
constexpr std::string_view kModes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};
}  // namespace

void add_pad_rows(TableRows& rows) {
  const auto moves = [](std::string name, std::string summary, std::vector<AttributeSchema> attributes = {}) {
    return Schema{.name = std::move(name),
                  .family = "pad",
                  .summary = std::move(summary),
                  .inputs = {{"x"}},
                  .outputs = {{"y"}},
                  .signatures = {{types::any, as(0)}},
                  .attributes = std::move(attributes)};
  };
  rows.push_back(row(moves("pad", "x with borders as the mode says",
                           {integers("before"), choice("mode", kModes), number("value", 0)}),
                     [](Stream& s, const Reader& r) {
                       pad(s, r.in(0), r.out(0), r.integers("before"), r.choice<PadMode>("mode", kModes),
                           r.number("value"));
                     }));
  rows.push_back(row(moves("tile", "x repeated as a whole along each axis"),
                     [](Stream& s, const Reader& r) { tile(s, r.in(0), r.out(0)); }));
  rows.push_back(row(moves("repeat", "each element of x repeated along each axis"),
                     [](Stream& s, const Reader& r) { repeat(s, r.in(0), r.out(0)); }));
  rows.push_back(row(moves("roll", "x shifted along its axes; what leaves at one end enters at the other",
                           {integers("shifts")}),
                     [](Stream& s, const Reader& r) { roll(s, r.in(0), r.out(0), r.integers("shifts")); }));
}

}  // namespace weft::kernels
