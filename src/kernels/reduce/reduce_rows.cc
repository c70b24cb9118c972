// The rows of the kernel table for weft/kernels/reduce.h.
#include <format>

#include "kernels/reduce/reduction.h"
#include "kernels/table_rows.h"
#include "weft/kernels/reduce.h"

namespace weft::kernels {

std::string_view reduce_name(ReduceKind op) {
  constexpr std::string_view kNames[] = {"reduce_sum",         "reduce_mean",   "reduce_prod", "reduce_min",
                                         "reduce_max",         "reduce_sum_squares", "reduce_l1", "reduce_l2",
                                         "reduce_log_sum",     "reduce_log_sum_exp", "reduce_any", "reduce_all",
                                         "reduce_count",       "variance",      "deviation"};
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
    std::string_view what;
    std::vector<TypeSignature> signatures;
    std::vector<std::string> other_names;
  } kinds[] = {
      {ReduceKind::sum, "sum", any_number, {"sum"}},
      {ReduceKind::mean, "mean", {of_floats, of_complex}, {"mean"}},
      {ReduceKind::prod, "product", any_number, {"prod"}},
      {ReduceKind::min, "least element", real, {"amin"}},
      {ReduceKind::max, "greatest element", real, {"amax"}},
      {ReduceKind::sum_squares, "sum of squares", real, {}},
      {ReduceKind::l1, "sum of magnitudes", real, {}},
      {ReduceKind::l2, "square root of the sum of squares", {of_floats}, {}},
      {ReduceKind::log_sum, "logarithm of the sum", {of_floats}, {}},
      {ReduceKind::log_sum_exp, "log(sum(exp(x)))", {of_floats}, {"logsumexp"}},
      {ReduceKind::any, "whether an element is not zero", {to_boolean}, {"any"}},
      {ReduceKind::all, "whether no element is zero", {to_boolean}, {"all"}},
      {ReduceKind::count, "number of elements that are not zero", {to_count}, {"count"}},
      {ReduceKind::variance, "variance", {of_floats}, {"var", "reduce_variance"}},
      {ReduceKind::deviation, "standard deviation", {of_floats}, {"std", "reduce_deviation"}},
  };
  for (const auto& k : kinds) {
    const bool moment = k.kind == ReduceKind::variance || k.kind == ReduceKind::deviation;
    std::vector<AttributeSchema> attributes{integers("axes")};
    if (moment) attributes.push_back(number("correction", 0));
    rows.push_back(row({.name = std::string(reduce_name(k.kind)),
                        .family = "reduce",
                        .summary = std::format("{} over axes", k.what),
                        .inputs = {{"x"}},
                        .outputs = {{"y"}},
                        .signatures = k.signatures,
                        .attributes = std::move(attributes),
                        .other_names = k.other_names},
                       [kind = k.kind, moment](Stream& s, const Reader& r) {
                         if (moment) reduce(s, kind, r.in(0), r.out(0), r.axes(), r.real("correction"));
                         else reduce(s, kind, r.in(0), r.out(0), r.axes());
                       }));
  }
  for (const ArgKind kind : {ArgKind::min, ArgKind::max}) {
    const std::string name = kind == ArgKind::min ? "argmin" : "argmax";
    rows.push_back(row({.name = name,
                        .family = "reduce",
                        .summary = std::format("index over axes of the {} element",
                                               kind == ArgKind::min ? "least" : "greatest"),
                        .inputs = {{"x"}},
                        .outputs = {{"y"}},
                        .signatures = {{types::numbers | types::boolean, types::positions}},
                        .attributes = {integers("axes")},
                        .other_names = {"reduce_" + name}},
                       [kind](Stream& s, const Reader& r) { arg_reduce(s, kind, r.in(0), r.out(0), r.axes()); }));
  }
}

}  // namespace weft::kernels
