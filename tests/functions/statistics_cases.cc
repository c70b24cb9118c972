#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/statistics.h"

namespace weft::test {
namespace {

void add_statistics_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 4, 5}), flat = c.floats({20}), some = select(c.bools({3, 4, 5}), x, NAN);
  const Tensor numbers = c.integers({3, 4});
  const AttributeMap rows = {{"axes", std::vector<std::int64_t>{0, -1}}, {"keep_dims", Number(1)}};
  const Axes over = {0, -1};
  c.same("median", {x}, rows, median(x, over, true));
  c.same("nanmedian", {some}, rows, nanmedian(some, over, true));
  c.same("mode", {numbers}, {{"axes", Number(1)}, {"keep_dims", Number(1)}}, mode(numbers, 1, true));
  AttributeMap share = rows, shares = rows;
  share["q"] = Number(0.3);
  share["method"] = shares["method"] = "hazen";
  shares["q"] = std::vector<double>{0.25, 0.5};
  constexpr QuantileMethod kHazen = QuantileMethod::hazen;
  c.same("quantile", {x}, share, quantile(x, 0.3, over, kHazen, true));
  c.same("nanquantile", {some}, share, nanquantile(some, 0.3, over, kHazen, true));
  c.same("quantiles", {x}, shares, quantile(x, {0.25, 0.5}, over, kHazen, true));
  c.same("nanquantiles", {some}, shares, nanquantile(some, {0.25, 0.5}, over, kHazen, true));
  c.refused("quantile", {x}, {{"q", Number(2)}}, [&] { quantile(x, 2); });

  c.same("nansum", {some}, rows, nansum(some, over, true));
  c.same("nanprod", {some}, rows, nanprod(some, over, true));
  c.same("nanmin", {some}, rows, nanmin(some, over, true));
  c.same("nanmax", {some}, rows, nanmax(some, over, true));
  c.same("nanmean", {some}, rows, nanmean(some, over, true));
  c.same("nanmean", {some}, {}, nanmean(some));
  AttributeMap sample = rows;
  sample["correction"] = Number(1);
  c.same("nanvar", {some}, sample, nanvar(some, over, 1, true));
  c.same("nanstd", {some}, sample, nanstd(some, over, 1, true));
  c.same("nanargmin", {some}, rows, nanargmin(some, over, true));
  c.same("nanargmax", {some}, rows, nanargmax(some, over, true));
  c.same("nancumsum", {some}, {{"axis", Number(1)}}, nancumsum(some, 1));
  c.same("nancumprod", {some}, {{"axis", Number(1)}}, nancumprod(some, 1));
  c.same("nan_to_num", {some / 0.0},
         {{"nan", Number(1.5)}, {"positive_infinity", Number(2.5)}, {"negative_infinity", Number(3.5)}},
         nan_to_num(some / 0.0, 1.5, 2.5, 3.5));
  c.refused("nansum", {Tensor(cast(x, DType::c64))}, {}, [&] { nansum(cast(x, DType::c64)); });
  c.refused("nanvar", {x}, {{"correction", Number(-1)}}, [&] { nanvar(x, {}, -1); });

  c.same("ptp", {x}, rows, ptp(x, over, true));
  const Tensor weights = c.integers({3, 4, 5});
  c.same("average", {x, weights}, rows, average(x, weights, over, true));
  const Tensor observed = c.floats({3, 8}), frequencies = c.integers({8}), importance = c.integers({8});
  c.same("cov", {observed, frequencies, importance}, {{"correction", Number(0)}},
         cov(observed, 0, frequencies, importance));
  c.same("cov", {observed, Tensor(), importance}, {}, cov(observed, 1, {}, importance));
  c.same("corrcoef", {observed}, {}, corrcoef(observed));
  c.refused("cov", {x}, {}, [&] { cov(x); });
  c.refused("cov", {observed}, {{"correction", Number(-1)}}, [&] { cov(observed, -1); });

  c.same("histogram", {flat}, {{"bins", Number(4)}, {"range", std::vector<double>{-1, 1}}, {"density", Number(1)}},
         histogram(flat, 4, {.range = std::pair(-1.0, 1.0), .density = true}));
  const Tensor edges = tensor({-1.0f, 0.0f, 0.5f}), counted = c.integers({20});
  c.same("histogram", {flat, edges, counted}, {}, histogram(flat, edges, {.weights = counted}));
  c.refused("histogram", {flat, edges}, {{"range", std::vector<double>{0, 1}}},
            [&] { histogram(flat, edges, {.range = std::pair(0.0, 1.0)}); });
  const Tensor other = c.floats({20});
  c.same("histogram2d", {flat, other},
         {{"x_bins", Number(4)},
          {"y_bins", Number(3)},
          {"x_range", std::vector<double>{-1, 1}},
          {"y_range", std::vector<double>{0, 2}},
          {"density", Number(1)}},
         histogram2d(flat, other, 4, 3,
                     {.x_range = std::pair(-1.0, 1.0), .y_range = std::pair(0.0, 2.0), .density = true}));
  c.same("histogram2d", {flat, other, edges, edges, counted}, {},
         histogram2d(flat, other, edges, edges, {.weights = counted}));
  c.refused("histogram2d", {flat, edges}, {}, [&] { histogram2d(flat, edges); });
  c.refused("histogram2d", {flat, other}, {{"y_bins", Number(0)}}, [&] { histogram2d(flat, other, 10, 0); });
  c.same("digitize", {flat, edges}, {{"right", Number(1)}}, digitize(flat, edges, true));
}
const bool added = named_cases(add_statistics_cases);

}  // namespace
}  // namespace weft::test
