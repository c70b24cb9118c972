#include <string>

#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

using One = std::function<Tensor(const Tensor&)>;

std::function<std::vector<Tensor>(std::span<const Tensor>)> alone(One f) {
  return [f = std::move(f)](std::span<const Tensor> x) { return std::vector{f(x[0])}; };
}

Tensor numbers_like(const Tensor& x, const std::vector<double>& values) {
  return cast(tensor(x.shape(), values), x.dtype());
}

// Zeros of a product: none, one and several in a row.
const std::vector<double> kZeros = {2, -1, 0.5, 3, 2, 0, -1.5, 1, 0, 2, 0, 3, 0, 0, 0, 0};

void add_reductions(DerivativeCases& cases) {
  const struct {
    std::string name;
    ReduceKind kind;
    double low, high, apart;
  } kinds[] = {
      {"sum", ReduceKind::sum, -2, 2, 0},           {"mean", ReduceKind::mean, -2, 2, 0},
      {"prod", ReduceKind::prod, -2, 2, 0},         {"min", ReduceKind::min, -2, 2, 0.05},
      {"max", ReduceKind::max, -2, 2, 0.05},        {"sum_squares", ReduceKind::sum_squares, -2, 2, 0},
      {"l1", ReduceKind::l1, -2, 2, 0.05},          {"l2", ReduceKind::l2, 0.5, 2, 0},
      {"log_sum", ReduceKind::log_sum, 0.5, 2, 0},  {"log_sum_exp", ReduceKind::log_sum_exp, -2, 2, 0},
      {"variance", ReduceKind::variance, -2, 2, 0}, {"deviation", ReduceKind::deviation, -2, 2, 0},
  };
  for (const auto& k : kinds) {
    const auto add = [&](std::string form, Shape shape, Axes axes, bool keep) {
      cases.push_back({.name = k.name + "_" + form,
                       .shapes = {shape},
                       // The factor makes cotangents depend on x.
                       .function = alone([kind = k.kind, axes, keep](const Tensor& x) {
                         const Tensor y = reduce(kind, x, axes, keep);
                         return y * sin(y);
                       }),
                       .low = k.low,
                       .high = k.high,
                       .apart = k.apart});
    };
    add("all", {2, 3}, {}, false);
    add("kept", {2, 3}, {1}, true);
    add("front", {3, 2}, {0}, false);
    add("two_axes", {2, 3, 2}, {0, 2}, false);
    add("two_axes_kept", {2, 3, 2}, {-1, 0}, true);
    if (k.kind == ReduceKind::variance || k.kind == ReduceKind::deviation) continue;
    // A sum over no axes is each element, one over no elements a constant.
    cases.push_back({.name = k.name + "_no_axes",
                     .shapes = {{4}},
                     .function = alone(
                         [kind = k.kind](const Tensor& x) { return sin(reduce(kind, x, std::vector<int>{}, false)); }),
                     .low = k.low,
                     .high = k.high,
                     .apart = k.apart});
    cases.push_back({.name = k.name + "_empty", .shapes = {{2, 0}}, .function = alone([kind = k.kind](const Tensor& x) {
                                                                      return reduce(kind, x, {0}, false);
                                                                    })});
  }
  for (const double correction : {1.0, 0.5}) {
    const std::string end = correction == 1 ? "_of_a_sample" : "_corrected";
    const auto add = [&](std::string name, One f) {
      cases.push_back({.name = name + end, .shapes = {{3, 4}}, .function = alone(std::move(f))});
    };
    add("variance", [=](const Tensor& x) { return square(variance(x, {1}, correction)); });
    add("deviation", [=](const Tensor& x) { return square(deviation(x, {0}, correction, true)) * x; });
  }
  cases.push_back({.name = "prod_zeros",
                   .shapes = {{4, 4}},
                   .function = alone([](const Tensor& x) { return prod(x + numbers_like(x, kZeros), {1}); }),
                   .low = 0,
                   .high = 0});
  cases.push_back({.name = "prod_zeros_two_axes",
                   .shapes = {{2, 4, 2}},
                   .function = alone([](const Tensor& x) { return prod(x + numbers_like(x, kZeros), {0, 2}, true); }),
                   .low = 0,
                   .high = 0});
  cases.push_back({.name = "arg_reduce",
                   .shapes = {{3, 4}},
                   .function = alone([](const Tensor& x) {
                     return x * cast(argmax(x, {1}, true), x.dtype()) + cast(argmin(x, {0}), x.dtype());
                   }),
                   .apart = 0.05});
  cases.push_back({.name = "any_all_count",
                   .shapes = {{3, 4}},
                   .function = alone([](const Tensor& x) {
                     const Tensor high = greater(x, 1);
                     return select(reduce(ReduceKind::any, high, {1}, true), x, 2 * x) +
                            select(reduce(ReduceKind::all, high, {0}), x, 3 * x) +
                            x * cast(reduce(ReduceKind::count, high, {0}), x.dtype());
                   }),
                   .apart = 0.05});
}

void add_scans(DerivativeCases& cases) {
  using kernels::ScanKind;
  const struct {
    std::string name;
    ScanKind kind;
    double apart;
  } kinds[] = {{"scan_sum", ScanKind::sum, 0},
               {"scan_prod", ScanKind::prod, 0},
               {"scan_max", ScanKind::max, 0.05},
               {"scan_min", ScanKind::min, 0.05},
               {"scan_log_sum_exp", ScanKind::log_sum_exp, 0}};
  for (const auto& k : kinds) {
    for (const bool reverse : {false, true}) {
      for (const bool exclusive : {false, true}) {
        // The first of an exclusive scan is a constant, infinite for some.
        const auto f = [=, kind = k.kind](const Tensor& x, int axis) {
          const Tensor y = scan(kind, x, axis, {.reverse = reverse, .exclusive = exclusive});
          const std::int64_t n = x.shape()[axis];
          if (!exclusive) return sin(y);
          return sin(reverse ? slice(y, axis, 0, n - 1) : slice(y, axis, 1, n));
        };
        const std::string name = k.name + (reverse ? "_reverse" : "") + (exclusive ? "_exclusive" : "");
        cases.push_back({.name = name,
                         .shapes = {{2, 5}},
                         .function = alone([f](const Tensor& x) { return f(x, 1); }),
                         .apart = k.apart});
        cases.push_back({.name = name + "_front",
                         .shapes = {{4, 2}},
                         .function = alone([f](const Tensor& x) { return f(x, 0); }),
                         .apart = k.apart});
        if (k.kind != ScanKind::prod) continue;
        cases.push_back({.name = name + "_zeros",
                         .shapes = {{4, 4}},
                         .function = alone([f](const Tensor& x) { return f(x + numbers_like(x, kZeros), 1); }),
                         .low = 0,
                         .high = 0});
      }
    }
    cases.push_back({.name = k.name + "_empty", .shapes = {{2, 0}}, .function = alone([kind = k.kind](const Tensor& x) {
                                                                      return scan(kind, x, 1);
                                                                    })});
    cases.push_back({.name = k.name + "_one", .shapes = {{2, 1}}, .function = alone([kind = k.kind](const Tensor& x) {
                                                                    return sin(scan(kind, x, 1));
                                                                  })});
  }
}

void add_sorts(DerivativeCases& cases) {
  const auto add = [&](std::string name, Shape shape, One f) {
    cases.push_back({.name = std::move(name), .shapes = {shape}, .function = alone(std::move(f)), .apart = 0.05});
  };
  add("sort", {3, 4}, [](const Tensor& x) { return sort(x, 1) * x * sort(x, 1); });
  add("sort_descending", {4, 3}, [](const Tensor& x) { return sin(sort(x, 0, true)) * x; });
  add("sort_empty", {2, 0}, [](const Tensor& x) { return sin(sort(x, 1)); });
  add("argsort", {5}, [](const Tensor& x) { return square(x) * cast(argsort(x, 0), x.dtype()); });
  add("top_k", {2, 5}, [](const Tensor& x) {
    const TopK best = top_k(x, 3, 1);
    return sin(best.values) * cast(best.indices, x.dtype());
  });
  add("top_k_least", {5, 2}, [](const Tensor& x) { return square(top_k(x, 2, 0, false).values); });
}

}  // namespace

void add_reduce_derivatives(DerivativeCases& cases) {
  add_reductions(cases);
  add_scans(cases);
  add_sorts(cases);
}

}  // namespace weft::test
