// Geometric sequences (weft/creation.h).
#include <cmath>

#include "core/format.h"
#include "functions/host_sequence.h"
#include "ops/function_attributes.h"
#include "ops/function_row.h"
#include "weft/creation.h"
#include "weft/error.h"

namespace weft {
namespace {

// The steps from start to stop.
double steps(const LinspaceAttributes& a) { return static_cast<double>(a.endpoint ? a.count - 1 : a.count); }

constexpr Function kGeomspace = {
    {.name = "geomspace",
     .results = {{"y", "[count]", "dtype"}},
     .formula = "y[i] = start · (stop / start)^(i / (count - 1))",
     .summary = "numbers of which each is the same multiple of the one before, from start to stop"},
    [](const LinspaceAttributes& a) {
      const auto fits = [](double x) { return std::isfinite(x) && x != 0; };
      if (!fits(a.start) || !fits(a.stop) || std::signbit(a.start) != std::signbit(a.stop)) {
        throw InvalidArgument("geomspace: from {} to {}; expected finite numbers of one sign, which are not 0", a.start,
                              a.stop);
      }
      const double sign = std::copysign(1.0, a.start), first = std::abs(a.start), last = std::abs(a.stop);
      return host_sequence("geomspace", "count", a.count, a.dtype, [&](std::int64_t i) {
        const double share = i == 0 ? 0 : static_cast<double>(i) / steps(a);
        return sign * std::pow(first, 1 - share) * std::pow(last, share);
      });
    }};

struct LogspaceAttributes : LinspaceAttributes {
  double base = 10;
  void fields(AttributeVisitor& v) {
    v("start", start, "the exponent of the first number");
    v("stop", stop, "the exponent of the last number");
    v("count", count, "how many numbers there are");
    v("base", base, 10, "of what they are powers");
    v("dtype", dtype, DType::f32, "the type of the result");
    v("endpoint", endpoint, true, "the last number is among them; else it would be the next one");
  }
};
constexpr Function kLogspace = {
    {.name = "logspace",
     .results = {{"y", "[count]", "dtype"}},
     .formula = "y[i] = base^(start + i · (stop - start) / (count - 1))",
     .summary = "powers whose exponents are at equal distances from start to stop"},
    [](const LogspaceAttributes& a) {
      const double step = (a.stop - a.start) / steps(a);
      return host_sequence("logspace", "count", a.count, a.dtype, [&](std::int64_t i) {
        const auto place = static_cast<double>(i);
        const bool last = a.endpoint && i > 0 && i == a.count - 1;
        return std::pow(a.base, a.count == 1 ? a.start : last ? a.stop : a.start + place * step);
      });
    }};

}  // namespace

void add_sequences_functions(FunctionRows& rows) { rows.add(kGeomspace, kLogspace); }

Tensor logspace(double start, double stop, std::int64_t count, double base, DType dtype, bool endpoint) {
  return kLogspace({{start, stop, count, dtype, endpoint}, base});
}
Tensor geomspace(double start, double stop, std::int64_t count, DType dtype, bool endpoint) {
  return kGeomspace({start, stop, count, dtype, endpoint});
}

}  // namespace weft
