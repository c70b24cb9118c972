// The rows of the kernel table for weft/kernels/reduce.h.
#include <format>

#include "kernels/reduce/reduction.h"
#include "kernels/table_rows.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {

namespace {
constexpr const char* kAxes = "the axes over which elements are combined; none: each element by itself";
constexpr const char* kReduced = "x's shape without the axes, or with size 1 there";
}  // namespace

std::string_view reduce_name(ReduceKind op) {
  constexpr std::string_view kNames[] = {"reduce_sum",     "reduce_mean",        "reduce_prod", "reduce_min",
                                         "reduce_max",     "reduce_sum_squares", "reduce_l1",   "reduce_l2",
                                         "reduce_log_sum", "reduce_log_sum_exp", "reduce_any",  "reduce_all",
                                         "reduce_count",   "variance",           "deviation"};
  return kNames[static_cast<int>(op)];
}

void add_reduce_rows(TableRows& rows) {
  using types::floats, types::any;
  const TypeSignature of_floats{floats, floats}, of_complex{types::complex, as(0)}, to_boolean{any, types::boolean},
      to_count{any, types::positions};
  // Integers keep their type, or widen or narrow to the 32-bit one of their kind.
  const TypeSignature of_integers{types::integers, as(0)}, of_signed{types::signed_integers, DType::i32},
      of_unsigned{types::unsigned_integers, DType::u32};
  const std::vector<TypeSignature> real{of_floats, of_integers, of_signed, of_unsigned},
      any_number{of_floats, of_integers, of_signed, of_unsigned, of_complex};
  const struct {
    ReduceKind kind;
    std::string_view formula, what;
    std::vector<TypeSignature> signatures;
    std::vector<std::string> other_names;
  } kinds[] = {
      {ReduceKind::sum, "Σ x", "the sum", any_number, {"sum"}},
      {ReduceKind::mean, "Σ x / n", "the mean of the n elements", {of_floats, of_complex}, {"mean"}},
      {ReduceKind::prod, "Π x", "the product", any_number, {"prod"}},
      {ReduceKind::min, "min x", "the least element, NaN if one is NaN", real, {"amin"}},
      {ReduceKind::max, "max x", "the greatest element, NaN if one is NaN", real, {"amax"}},
      {ReduceKind::sum_squares, "Σ x²", "the sum of squares", real, {}},
      {ReduceKind::l1, "Σ |x|", "the sum of magnitudes", real, {}},
      {ReduceKind::l2, "sqrt(Σ x²)", "the Euclidean norm", {of_floats}, {}},
      {ReduceKind::log_sum, "ln(Σ x)", "the natural logarithm of the sum", {of_floats}, {}},
      {ReduceKind::log_sum_exp,
       "ln(Σ exp(x))",
       "the logarithm of the sum of exponentials, without overflow in between",
       {of_floats},
       {"logsumexp"}},
      {ReduceKind::any, "∃ x ≠ 0", "whether some element is not zero", {to_boolean}, {"any"}},
      {ReduceKind::all, "∀ x ≠ 0", "whether no element is zero", {to_boolean}, {"all"}},
      {ReduceKind::count, "Σ (x ≠ 0)", "how many elements are not zero", {to_count}, {"count"}},
      {ReduceKind::variance,
       "Σ (x - mean(x))² / (n - correction)",
       "the variance of the n elements",
       {of_floats},
       {"var", "reduce_variance"}},
      {ReduceKind::deviation,
       "sqrt(Σ (x - mean(x))² / (n - correction))",
       "the standard deviation of the n elements",
       {of_floats},
       {"std", "reduce_deviation"}},
  };
  for (const auto& k : kinds) {
    const bool moment = k.kind == ReduceKind::variance || k.kind == ReduceKind::deviation;
    std::vector<AttributeSchema> attributes{integers("axes", kAxes)};
    if (moment) {
      attributes.push_back(
          number("correction", "subtracted from n in the divisor: 0 for a population, 1 for a sample", 0));
    }
    rows.push_back(row({.name = std::string(reduce_name(k.kind)),
                        .family = "reduce",
                        .summary = std::format("{}, over axes", k.what),
                        .formula = std::format("y = {}", k.formula),
                        .inputs = {one("x", "any")},
                        .outputs = {one("y", kReduced)},
                        .signatures = k.signatures,
                        .attributes = std::move(attributes),
                        .other_names = k.other_names},
                       [kind = k.kind, moment](Stream& s, const Reader& r) {
                         if (moment)
                           reduce(s, kind, r.in(0), r.out(0), r.axes(), r.real("correction"));
                         else
                           reduce(s, kind, r.in(0), r.out(0), r.axes());
                       }));
  }
  for (const ArgKind kind : {ArgKind::min, ArgKind::max}) {
    const std::string name = kind == ArgKind::min ? "argmin" : "argmax";
    rows.push_back(
        row({.name = name,
             .family = "reduce",
             .summary = std::format("the index of the {} element, the first of equal ones; over several axes "
                                    "it counts in row-major order",
                                    kind == ArgKind::min ? "least" : "greatest"),
             .formula = std::format("y = arg{} x", kind == ArgKind::min ? "min" : "max"),
             .inputs = {one("x", "any")},
             .outputs = {one("y", kReduced)},
             .signatures = {{types::numbers | types::boolean, types::positions}},
             .attributes = {integers("axes", kAxes)},
             .other_names = {"reduce_" + name}},
            [kind](Stream& s, const Reader& r) { arg_reduce(s, kind, r.in(0), r.out(0), r.axes()); }));
  }
}

}  // namespace weft::kernels
