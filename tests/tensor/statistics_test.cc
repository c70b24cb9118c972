// Statistics, segments and sets against NumPy and SciPy (tests/reference/numeric.py), what they refuse, derivatives.
#include "weft/statistics.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "support/function_cases.h"
#include "support/on_device.h"
#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/numeric.h"
#include "weft/segments.h"
#include "weft/sets.h"
#include "weft/special.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::optional<double> number_of_case(const ArrayCall& c, const char* name) {
  return c.arguments.contains(name) ? std::optional(c.arguments.at(name).get<double>()) : std::nullopt;
}

QuantileMethod method_of(const ArrayCall& c) {
  static constexpr std::array kNames{"inverted_cdf",
                                     "averaged_inverted_cdf",
                                     "closest_observation",
                                     "interpolated_inverted_cdf",
                                     "hazen",
                                     "weibull",
                                     "linear",
                                     "median_unbiased",
                                     "normal_unbiased",
                                     "lower",
                                     "higher",
                                     "midpoint",
                                     "nearest"};
  const auto it = std::ranges::find(kNames, c.arguments.at("method").get<std::string>());
  return static_cast<QuantileMethod>(it - kNames.begin());
}

const FunctionTable& statistics() {
  static const FunctionTable all = [] {
    FunctionTable table;
    const auto reduction = [&](const char* name, Tensor (*f)(const Operand&, const Axes&, bool)) {
      table[name] = [f](const ArrayCall& c) { return std::vector{f(c.tensors[0], axes_of(c), keep_dims_of(c))}; };
    };
    const auto moment = [&](const char* name, Tensor (*f)(const Operand&, const Axes&, double, bool)) {
      table[name] = [f](const ArrayCall& c) {
        return std::vector{f(c.tensors[0], axes_of(c), argument(c, "correction", 0.0), keep_dims_of(c))};
      };
    };
    const auto quantiles =
        [&](const char* name, Tensor (*f)(const Operand&, std::span<const double>, const Axes&, QuantileMethod, bool)) {
          table[name] = [f](const ArrayCall& c) {
            const auto q = c.arguments.at("q").get<std::vector<double>>();
            return std::vector{f(c.tensors[0], q, axes_of(c), method_of(c), keep_dims_of(c))};
          };
        };
    reduction("median", median);
    reduction("nanmedian", nanmedian);
    reduction("nansum", nansum);
    reduction("nanprod", nanprod);
    reduction("nanmin", nanmin);
    reduction("nanmax", nanmax);
    reduction("nanmean", nanmean);
    reduction("nanargmin", nanargmin);
    reduction("nanargmax", nanargmax);
    reduction("ptp", ptp);
    moment("nanvar", nanvar);
    moment("nanstd", nanstd);
    quantiles("quantile", quantile);
    quantiles("nanquantile", nanquantile);
    table["mode"] = [](const ArrayCall& c) {
      const Mode m = mode(c.tensors[0], axes_of(c), keep_dims_of(c));
      return std::vector{m.values, m.counts};
    };
    table["nancumsum"] = [](const ArrayCall& c) {
      return std::vector{nancumsum(c.tensors[0], argument(c, "axis", 0))};
    };
    table["nancumprod"] = [](const ArrayCall& c) {
      return std::vector{nancumprod(c.tensors[0], argument(c, "axis", 0))};
    };
    table["nan_to_num"] = [](const ArrayCall& c) {
      return std::vector{nan_to_num(c.tensors[0], argument(c, "nan", 0.0), number_of_case(c, "positive_infinity"),
                                    number_of_case(c, "negative_infinity"))};
    };
    table["average"] = [](const ArrayCall& c) {
      return std::vector{average(c.tensors[0], c.tensors[1], axes_of(c), keep_dims_of(c))};
    };
    table["cov"] = [](const ArrayCall& c) {
      return std::vector{cov(c.tensors[0], argument(c, "correction", 1.0), c.tensors[1], c.tensors[2])};
    };
    table["corrcoef"] = [](const ArrayCall& c) { return std::vector{corrcoef(c.tensors[0])}; };
    table["histogram"] = [](const ArrayCall& c) {
      HistogramOptions options{.weights = c.tensors[1], .density = argument(c, "density", false)};
      if (c.arguments.contains("range")) options.range = c.arguments.at("range").get<std::pair<double, double>>();
      const Histogram h = c.tensors[2].defined()
                              ? histogram(c.tensors[0], c.tensors[2], options)
                              : histogram(c.tensors[0], argument(c, "bins", std::int64_t{10}), options);
      return std::vector{h.counts, h.edges};
    };
    table["digitize"] = [](const ArrayCall& c) {
      return std::vector{digitize(c.tensors[0], c.tensors[1], argument(c, "right", false))};
    };
    table["bincount"] = [](const ArrayCall& c) {
      return std::vector{bincount(c.tensors[0], c.tensors[1], argument(c, "minimum_length", std::int64_t{0}))};
    };
    return table;
  }();
  return all;
}

const FunctionTable& sets() {
  static const FunctionTable all = [] {
    FunctionTable table;
    const auto segment = [&](const char* name, Tensor (*f)(const Operand&, const Operand&, std::int64_t)) {
      table[name] = [f](const ArrayCall& c) {
        return std::vector{f(c.tensors[0], c.tensors[1], argument(c, "segments", std::int64_t{0}))};
      };
    };
    const auto running = [&](const char* name, RunningExtreme (*f)(const Operand&, int)) {
      table[name] = [f](const ArrayCall& c) {
        const RunningExtreme r = f(c.tensors[0], argument(c, "axis", 0));
        return std::vector{r.values, r.indices};
      };
    };
    const auto parted = [&](const char* name, Tensor (*f)(const Operand&, std::int64_t, int)) {
      table[name] = [f](const ArrayCall& c) {
        return std::vector{f(c.tensors[0], argument(c, "k", std::int64_t{0}), argument(c, "axis", -1))};
      };
    };
    const auto set = [&](const char* name, Tensor (*f)(const Operand&, const Operand&)) {
      table[name] = [f](const ArrayCall& c) { return std::vector{f(c.tensors[0], c.tensors[1])}; };
    };
    segment("segment_sum", segment_sum);
    segment("segment_prod", segment_prod);
    segment("segment_mean", segment_mean);
    segment("segment_max", segment_max);
    segment("segment_min", segment_min);
    segment("segment_softmax", segment_softmax);
    running("cummax", cummax);
    running("cummin", cummin);
    parted("partition", partition);
    parted("argpartition", argpartition);
    table["lexsort"] = [](const ArrayCall& c) { return std::vector{lexsort(c.tensors, argument(c, "axis", -1))}; };
    table["isin"] = [](const ArrayCall& c) {
      return std::vector{isin(c.tensors[0], c.tensors[1], argument(c, "inverted", false))};
    };
    set("intersect1d", intersect1d);
    set("union1d", union1d);
    set("setdiff1d", setdiff1d);
    set("setxor1d", setxor1d);
    return table;
  }();
  return all;
}

class StatisticsTest : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, StatisticsTest, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(StatisticsTest, ValuesAreNumPys) { expect_reference_values("numeric", "statistics.json", statistics()); }
TEST_P(StatisticsTest, HistogramsOfPairsAreNumPys) {
  const auto range = [](const ArrayCall& c, const char* name) {
    std::optional<std::pair<double, double>> own;
    if (c.arguments.contains(name))
      own = {c.arguments.at(name)[0].get<double>(), c.arguments.at(name)[1].get<double>()};
    return own;
  };
  FunctionTable table;
  table["histogram2d"] = [=](const ArrayCall& c) {
    const Histogram2dOptions options{.x_range = range(c, "x_range"),
                                     .y_range = range(c, "y_range"),
                                     .weights = c.tensors[4],
                                     .density = argument(c, "density", false)};
    const Histogram2d h = c.tensors[2].defined()
                              ? histogram2d(c.tensors[0], c.tensors[1], c.tensors[2], c.tensors[3], options)
                              : histogram2d(c.tensors[0], c.tensors[1], argument(c, "x_bins", std::int64_t{10}),
                                            argument(c, "y_bins", std::int64_t{10}), options);
    return std::vector{h.counts, h.x_edges, h.y_edges};
  };
  expect_reference_values("numeric", "grids.json", table);
}
TEST_P(StatisticsTest, SetsAndSegmentsAreNumPys) { expect_reference_values("numeric", "sets.json", sets()); }

// Bins that are out of order: an error where the host has them, else marked.
TEST_P(StatisticsTest, BinsOutOfOrder) {
  const Tensor x = tensor({1, 5, 9}, DType::f32);
  const auto constant = [](std::vector<float> v) {
    return Graph::constant(TensorData::of({static_cast<std::int64_t>(v.size())}, std::span<const float>(v)));
  };
  const auto message = [](const auto& call) { return message_of([&] { (void)call(); }); };
  EXPECT_EQ(message([&] { return digitize(x, constant({0, 4, 2})); }),
            "digitize: bins are f32 [3], whose elements do not ascend, nor descend");
  EXPECT_EQ(message([&] { return histogram(x, constant({4, 2})); }),
            "histogram: edges are f32 [2], whose elements do not ascend");
  EXPECT_THROW(digitize(x, constant({0, kNan, 2})), InvalidArgument);
  EXPECT_THAT(digitize(x, constant({0, 4, 4, kNan})).to_vector<int>(), ElementsAre(1, 3, 3));
  EXPECT_THAT(digitize(x, constant({8, 4, 4, 0})).to_vector<int>(), ElementsAre(3, 1, 0));
  EXPECT_THAT(digitize(x, constant({3, 3})).to_vector<int>(), ElementsAre(0, 2, 2));
  // What a device has is not waited for.
  const Tensor bins = tensor({0, 4, 2}, DType::f32);
  if (device.is_gpu()) {
    EXPECT_THAT(digitize(x, bins).to_vector<int>(), ElementsAre(-1, -1, -1));
    EXPECT_THAT(histogram(x, bins).counts.to_vector<int>(), ElementsAre(-1, -1));
    EXPECT_THAT(histogram(x, bins, {.density = true}).counts.to_vector<float>(),
                testing::Each(testing::NanSensitiveFloatEq(kNan)));
  }
  bins.to_vector<float>();
  EXPECT_THROW(digitize(x, bins), InvalidArgument);
  EXPECT_THROW(histogram(x, bins), InvalidArgument);
  // Nor is what is still to be computed.
  const Tensor rising = sort(bins) + 0.5F, falling = sort(bins, 0, true) + 0.5F;
  EXPECT_THAT(digitize(x, bins * 2).to_vector<int>(), ElementsAre(-1, -1, -1));
  EXPECT_THAT(histogram(x, bins * 2, {.weights = x}).counts.to_vector<double>(),
              testing::Each(testing::NanSensitiveDoubleEq(kNan)));
  EXPECT_THAT(digitize(x, rising).to_vector<int>(), ElementsAre(1, 3, 3));
  EXPECT_THAT(digitize(x, falling).to_vector<int>(), ElementsAre(2, 0, 0));
  EXPECT_THAT(histogram(x, rising).counts.to_vector<int>(), ElementsAre(1, 0));
  const auto traced = compile([](const Tensor& t, const Tensor& b) { return digitize(t, b); });
  EXPECT_THAT(traced(x, bins).to_vector<int>(), ElementsAre(-1, -1, -1));
  EXPECT_THAT(traced(x, tensor({0, 2, 4}, DType::f32)).to_vector<int>(), ElementsAre(1, 3, 3));
  const std::int64_t integers[] = {3, 4, 1};
  EXPECT_THROW(digitize(x, Graph::constant(TensorData::of({3}, std::span<const std::int64_t>(integers)))),
               InvalidArgument);
}

// The number in the middle has the derivative, or the two there a half each.
TEST_P(StatisticsTest, GradientsOfQuantiles) {
  const auto of = [](const Tensor& x, const auto& f) { return grad(f)(x).template to_vector<float>(); };
  const Tensor x = tensor({4, 1, 3, 2}, DType::f32), odd = tensor({5, kNan, 1, 3}, DType::f32);
  EXPECT_THAT(of(x, [](const Tensor& t) { return median(t); }), ElementsAre(0, 0, 0.5f, 0.5f));
  EXPECT_THAT(of(x, [](const Tensor& t) { return quantile(t, 0.25); }),
              ElementsAre(0, FloatNear(0.25f, 1e-6f), 0, FloatNear(0.75f, 1e-6f)));
  EXPECT_THAT(of(odd, [](const Tensor& t) { return nanmedian(t); }), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(of(odd, [](const Tensor& t) { return nanmean(t); }),
              ElementsAre(FloatNear(1.f / 3, 1e-6f), 0, FloatNear(1.f / 3, 1e-6f), FloatNear(1.f / 3, 1e-6f)));
  EXPECT_THAT(of(odd, [](const Tensor& t) { return nanmax(t); }), ElementsAre(1, 0, 0, 0));
}

// y = softmax of each segment: dy[i] / dx[j] = y[i] ((i = j) - y[j]) within it.
TEST_P(StatisticsTest, GradientOfSegmentSoftmax) {
  const Tensor x = tensor({1, 3, 2, 1, 5}, DType::f32), ids = tensor({0, 1, 0, 1, 7}),
               w = tensor({1, 2, 3, 4, 5}, DType::f32);
  const auto y = segment_softmax(x, ids, 2).to_vector<float>();
  const auto g = grad([&](const Tensor& t) { return sum(segment_softmax(t, ids, 2) * w); })(x).to_vector<float>();
  const float first = y[0] * 1 + y[2] * 3, second = y[1] * 2 + y[3] * 4;
  EXPECT_THAT(g, ElementsAre(FloatNear(y[0] * (1 - first), 1e-6f), FloatNear(y[1] * (2 - second), 1e-6f),
                             FloatNear(y[2] * (3 - first), 1e-6f), FloatNear(y[3] * (4 - second), 1e-6f), 0));
}

// Of numbers of every magnitude, whose sum depends on the order.
TEST_P(StatisticsTest, SegmentSumsRepeatToTheBit) {
  std::vector<float> values;
  std::vector<std::int32_t> ids;
  std::uint32_t state = 1;
  for (int i = 0; i < 5000; ++i) {
    state = state * 1664525u + 1013904223u;
    values.push_back(static_cast<float>(static_cast<std::int32_t>(state)) * (i % 7 == 0 ? 1e-6f : 1.f));
    ids.push_back(static_cast<std::int32_t>(state >> 8) % 3);
  }
  const Tensor x = tensor(values), at = tensor(ids);
  const auto once = segment_sum(x, at, 3).to_vector<float>();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(segment_sum(x + 0, at, 3).to_vector<float>(), once);
}

// NumPy throws.
TEST_P(StatisticsTest, HistogramOfNan) {
  const Histogram h = histogram(tensor({1, kNan, 3}, DType::f32), 2);
  EXPECT_THAT(h.counts.to_vector<int>(), ElementsAre(0, 0));
  EXPECT_THAT(h.edges.to_vector<float>(), testing::Each(testing::IsNan()));
}

TEST_P(StatisticsTest, HistogramOfInfinities) {
  for (const float infinite : {INFINITY, -INFINITY}) {
    const Histogram h = histogram(tensor({1.0f, infinite, 2.0f}), 2);
    EXPECT_THAT(h.counts.to_vector<int>(), ElementsAre(0, 0));
    EXPECT_THAT(h.edges.to_vector<float>(), testing::Each(testing::IsNan()));
  }
}

// f32 has three numbers from 1e7 to 1e7 + 2.
TEST_P(StatisticsTest, BinsWithoutWidth) {
  const std::pair range(1e7, 1e7 + 2);
  const Tensor inside = tensor({1e7f, 1e7f, 1e7f + 1}), end = tensor({1e7f, 1e7f + 2});
  const Histogram counts = histogram(inside, 7, {.range = range});
  const auto edges = counts.edges.to_vector<double>(), of = counts.counts.to_vector<double>();
  const auto dense = histogram(inside, 7, {.range = range, .density = true}).counts.to_vector<double>();
  double integral = 0;
  for (std::size_t i = 0; i < dense.size(); ++i) {
    const double width = edges[i + 1] - edges[i];
    EXPECT_EQ(dense[i] == 0, of[i] == 0) << i;
    EXPECT_TRUE(width > 0 || dense[i] == 0) << i;
    integral += dense[i] * width;
  }
  EXPECT_NEAR(integral, 1, 1e-6);
  EXPECT_EQ(histogram(end, 7, {.range = range, .density = true}).counts.to_vector<float>().back(), INFINITY);
}

TEST_P(StatisticsTest, CompiledAndBatched) {
  const auto f = [](const Tensor& x) { return quantile(x, {0.25, 0.75}, -1); };
  const Tensor x = tensor({{3, 1, 2, 5, 4}, {1, 9, 5, 7, 3}}, DType::f32);
  EXPECT_THAT(compile(f)(x).to_vector<float>(), ElementsAre(2, 3, 4, 7));
  EXPECT_THAT(vmap(f)(x).to_vector<float>(), ElementsAre(2, 4, 3, 7));
}

TEST(Statistics, RefuseWhatDoesNotFit) {
  const Tensor x = tensor({1, 2, 3}, DType::f32), ids = tensor({0, 1, 0}), c = cast(x, DType::c64);
  EXPECT_THROW(quantile(x, 1.5), InvalidArgument);
  EXPECT_THROW(nanquantile(x, std::numeric_limits<double>::quiet_NaN()), InvalidArgument);
  EXPECT_THROW(median({}), InvalidArgument);
  EXPECT_THROW(median(x, 1), ShapeError);
  EXPECT_THROW(median(c), TypeError);
  EXPECT_THROW(nansum(c), TypeError) << "NaN of complex numbers";
  EXPECT_THROW(mode(zeros({0})), ShapeError);
  EXPECT_THROW(average(x, tensor({1, 2}, DType::f32)), ShapeError);
  EXPECT_THROW(cov(zeros({2, 2, 2})), ShapeError);
  EXPECT_THROW(cov(x, 1, tensor({1, 2})), ShapeError);
  EXPECT_THROW(histogram(x, 0), InvalidArgument);
  EXPECT_THROW(histogram(x, std::numeric_limits<std::int64_t>::max()), OutOfMemory);
  EXPECT_THROW(bincount(tensor({std::int64_t{1} << 60}, DType::i64)), OutOfMemory);
  EXPECT_THROW(bincount(full({1}, std::numeric_limits<std::uint64_t>::max(), DType::u64)), OutOfMemory);
  EXPECT_THROW(histogram(x, 3, {.range = {{2, 1}}}), InvalidArgument);
  EXPECT_THROW(histogram(x, 3, {.range = {{0, 1e300}}}), InvalidArgument) << "f32 has no 1e300";
  EXPECT_THROW(histogram(x, 3, {.range = {{-1e39, 0}}}), InvalidArgument);
  EXPECT_THROW(histogram(cast(x, DType::f16), 3, {.range = {{0, 1e5}}}), InvalidArgument);
  EXPECT_EQ(histogram(cast(x, DType::f64), 1, {.range = {{0, 1e300}}}).edges.dtype(), DType::f64);
  const Tensor large = full({1}, (std::uint64_t{1} << 63) + 5, DType::u64);
  EXPECT_THAT([&] { bincount(large); }, testing::ThrowsMessage<OutOfMemory>(testing::HasSubstr("9223372036854775813")));
  EXPECT_THROW(histogram(x, tensor({1}, DType::f32)), ShapeError);
  EXPECT_THROW(histogram(x, 3, {.weights = ids.reshape({3, 1})}), ShapeError);
  EXPECT_THROW(histogram2d(x, x.reshape({1, 3})), ShapeError);
  EXPECT_THROW(histogram2d(x, {}), InvalidArgument);
  EXPECT_THROW(histogram2d(x, x, 0), InvalidArgument);
  EXPECT_THROW(histogram2d(x, x, 3, -1), InvalidArgument);
  EXPECT_THROW(histogram2d(x, x, std::int64_t{1} << 30, std::int64_t{1} << 30), OutOfMemory);
  EXPECT_THROW(histogram2d(x, x, 3, 3, {.y_range = {{2, 1}}}), InvalidArgument);
  EXPECT_THROW(histogram2d(x, x, x, {}), InvalidArgument);
  EXPECT_THROW(histogram2d(x, x, tensor({1}, DType::f32), x), ShapeError);
  EXPECT_THROW(histogram2d(x, x, 3, 3, {.weights = x.reshape({3, 1})}), ShapeError);
  EXPECT_THROW(histogram2d(c, x), TypeError);
  EXPECT_THROW(digitize(x, zeros({2, 2})), ShapeError);
  EXPECT_THROW(bincount(x), TypeError);
  EXPECT_THROW(bincount(tensor({1, -1})), InvalidArgument);
  EXPECT_THROW(bincount(ids, x.reshape({1, 3})), ShapeError);
  EXPECT_THROW(segment_sum(x, x, 2), TypeError);
  EXPECT_THROW(segment_sum(x, tensor({0, 1}), 2), ShapeError);
  EXPECT_THROW(segment_mean(x, ids, -1), InvalidArgument);
  EXPECT_THROW(segment_max(c, ids, 2), TypeError);
  EXPECT_THROW(segment_softmax(ids, ids, 2), TypeError);
  EXPECT_THROW(cummax(x == 1, 0), TypeError);
  EXPECT_THROW(partition(x, 3), IndexError);
  EXPECT_THROW(lexsort({x, zeros({2})}), ShapeError);
  EXPECT_THROW(lexsort(std::initializer_list<Tensor>{}), InvalidArgument);
  EXPECT_THROW(isin(c, x), TypeError);
  EXPECT_THROW(union1d(x, {}), InvalidArgument);
  EXPECT_THAT(refused_by([&] { segment_mean(x, tensor({0, 1}), 2); }), HasSubstr("segment_mean: ids are i32 [2]"));
  EXPECT_THAT(refused_by([&] { nanmedian(x, 3); }), HasSubstr("nanmedian: "));
}

// Not of those that they are made of.
TEST(Statistics, ErrorsNameTheFunction) {
  const Tensor none, c = zeros({3}, DType::c64), f = zeros({3}), i = zeros({3}, DType::i32);
  const std::vector<std::pair<std::string, std::function<void()>>> calls{
      {"median", [=] { median(none); }},
      {"median", [=] { median(c); }},
      {"quantile", [=] { quantile(f, {0.5, -1.0}); }},
      {"nanmedian", [=] { nanmedian(f, {0, 0}); }},
      {"nanquantile", [=] { nanquantile(c, 0.5); }},
      {"mode", [=] { mode(c); }},
      {"nansum", [=] { nansum(f, 1); }},
      {"nanprod", [=] { nanprod(none); }},
      {"nanmin", [=] { nanmin(f, 1); }},
      {"nanmax", [=] { nanmax(c); }},
      {"nanmean", [=] { nanmean(f, 1); }},
      {"nanvar", [=] { nanvar(f, 0, -1); }},
      {"nanstd", [=] { nanstd(f, 1); }},
      {"nanstd", [=] { nanstd(f, 0, -1); }},
      {"nanargmin", [=] { nanargmin(zeros({0})); }},
      {"nanargmax", [=] { nanargmax(f, 1); }},
      {"nancumsum", [=] { nancumsum(f, 1); }},
      {"nancumprod", [=] { nancumprod(zeros({2, 2})); }},
      {"nan_to_num", [=] { nan_to_num(c); }},
      {"ptp", [=] { ptp(f, 1); }},
      {"average", [=] { average(f, none); }},
      {"average", [=] { average(f, f, 1); }},
      {"cov", [=] { cov(c); }},
      {"corrcoef", [=] { corrcoef(zeros({})); }},
      {"histogram", [=] { histogram(c); }},
      {"histogram", [=] { histogram(f, none); }},
      {"digitize", [=] { digitize(c, f); }},
      {"bincount", [=] { bincount(i, {}, -1); }},
      {"segment_sum", [=] { segment_sum(zeros({}), i, 2); }},
      {"segment_prod", [=] { segment_prod(none, i, 2); }},
      {"segment_mean", [=] { segment_mean(f, none, 2); }},
      {"segment_max", [=] { segment_max(c, i, 2); }},
      {"segment_min", [=] { segment_min(f, f, 2); }},
      {"segment_softmax", [=] { segment_softmax(f, i, -2); }},
      {"cummax", [=] { cummax(c, 0); }},
      {"cummin", [=] { cummin(f, 1); }},
      {"partition", [=] { partition(c, 0); }},
      {"argpartition", [=] { argpartition(f, -4); }},
      {"lexsort", [=] { lexsort({c}); }},
      {"lexsort", [=] { lexsort({f, none}); }},
      {"isin", [=] { isin(f, none); }},
      {"intersect1d", [=] { intersect1d(c, f); }},
      {"union1d", [=] { union1d(c, c); }},
      {"setdiff1d", [=] { setdiff1d(zeros({1}, DType::u64), zeros({1}, DType::i64)); }},
      {"setxor1d", [=] { setxor1d(f, none); }},
      {"interp", [=] { interp(f, f, none); }},
      {"trapezoid", [=] { trapezoid(f, 1, 1); }},
      {"cumulative_trapezoid", [=] { cumulative_trapezoid(f, c); }},
      {"gradient", [=] { gradient(f, 1); }},
      {"gradient", [=] { gradient(none); }},
      {"unwrap", [=] { unwrap(f, 1); }},
      {"convolve", [=] { convolve(c, none); }},
      {"correlate", [=] { correlate(f, none); }},
      {"polyval", [=] { polyval(f, none); }},
      {"sinc", [=] { sinc(none); }},
      {"xlogy", [=] { xlogy(none, f); }},
      {"xlog1py", [=] { xlog1py(zeros({2}), f); }},
      {"entr", [=] { entr(c); }},
      {"logit", [=] { logit(c); }},
      {"ndtr", [=] { ndtr(c); }},
      {"log_ndtr", [=] { log_ndtr(c); }},
      {"ndtri", [=] { ndtri(c); }},
      {"polygamma", [=] { polygamma(0, c); }},
      {"i0", [=] { i0(c); }},
      {"i0e", [=] { i0e(c); }},
      {"i1", [=] { i1(c); }},
      {"i1e", [=] { i1e(none); }},
  };
  for (const auto& [name, call] : calls) EXPECT_THAT(refused_by(call), testing::StartsWith(name + ": "));
}

}  // namespace
}  // namespace weft::test
