#include <cmath>

#include "derivatives/cases.h"
#include "kernels/elementwise/scalar_ops.h"
#include "weft/expressions.h"
#include "weft/graph.h"

namespace weft::test {

// All functions by name, where they are smooth.
void add_elementwise_derivatives(DerivativeCases& cases) {
  for (const FunctionInfo& f : functions()) {
    const auto op = scalar_op(f.name);
    if (op && !(kernels::info(*op).types & kernels::kFloat)) continue;
    if (op && (kernels::info(*op).yields != kernels::Yields::same && *op != ScalarOp::abs)) continue;
    if (f.name == "select" || f.name == "cast" || f.operands == 0) continue;
    // Functions without a derivative for a parameter are in numeric_cases.cc.
    if (f.name.starts_with("gammainc") || f.name.starts_with("betainc")) continue;
    DerivativeCase c{.name = std::string(f.name), .apart = 0.05};
    for (int i = 0; i < f.operands; ++i) c.shapes.push_back(i == 1 ? Shape{3} : Shape{2, 3});
    const std::string name(f.name);
    c.function = [name](std::span<const Tensor> x) { return std::vector{elementwise(name, x)}; };
    const auto range = [&](double low, double high) { c.low = low, c.high = high; };
    if (name == "acosh") range(1.2, 3);
    for (const std::string_view positive :
         {"sqrt",      "rsqrt",        "log",        "log2", "log10",  "log1p", "lgamma", "digamma",
          "pow",       "cbrt",         "reciprocal", "div",  "div_rn", "hypot", "atan2",  "rem",
          "remainder", "floor_divide", "y0",         "y1",   "k0",     "k1",    "k0e",    "k1e"}) {
      if (name == positive) range(0.3, 3);
    }
    for (const std::string_view small : {"asin", "acos", "atanh", "erfinv"}) {
      if (name == small) range(-0.8, 0.8);
    }
    if (name == "clamp") {
      c.function = [](std::span<const Tensor> x) { return std::vector{clamp(x[0], x[1] - 1, x[2] + 1)}; };
    }
    cases.push_back(std::move(c));
  }
  cases.push_back(
      {.name = "select",
       .shapes = {{4}, {2, 4}},
       .function = [](std::span<const Tensor> x) { return std::vector{select(greater(x[0], 0), x[0] * x[1], x[1])}; },
       .apart = 0.05});
  cases.push_back({.name = "digamma_negative",
                   .shapes = {{4}},
                   .function = [](std::span<const Tensor> x) { return std::vector{digamma(x[0] - 3.5)}; },
                   .low = -0.3,
                   .high = 0.3});
  cases.push_back({.name = "numbers", .shapes = {{4}}, .function = [](std::span<const Tensor> x) {
                     return std::vector{3 - x[0] * 2 / (1 + square(x[0])), pow(2, x[0])};
                   }});
  cases.push_back({.name = "shared", .shapes = {{4}}, .function = [](std::span<const Tensor> x) {
                     Tensor y = x[0];
                     for (int i = 0; i < 20; ++i) y = y * 0.5 + y * y * 0.1;  // 2^20 paths
                     return std::vector{y};
                   }});
}

}  // namespace weft::test
