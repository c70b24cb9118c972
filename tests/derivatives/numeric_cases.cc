#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/indexing.h"
#include "weft/numeric.h"
#include "weft/segments.h"
#include "weft/signal.h"
#include "weft/special.h"
#include "weft/statistics.h"

namespace weft::test {

// Statistics, segments, numerical and special functions.
void add_numeric_derivatives(DerivativeCases& cases) {
  using Operands = std::span<const Tensor>;
  const auto add = [&](std::string name, std::vector<Shape> shapes, std::function<Tensor(Operands)> f,
                       double apart = 0) {
    cases.push_back({.name = std::move(name),
                     .shapes = std::move(shapes),
                     .function = [f](Operands x) { return std::vector{f(x)}; },
                     .apart = apart});
  };
  const auto ids = [] { return tensor({1, 0, 2, 1, -1, 0}); };
  // Some elements as NaN, the same of every type.
  const auto with_nan = [](const Tensor& x) {
    const Tensor n = reshape(arange(0, x.size()), x.shape());
    return select(n % 4 == 1, Graph::scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype()), x);
  };
  add("median", {{3, 4}}, [](Operands x) { return median(square(x[0]), 1); }, 0.1);
  add("quantile", {{2, 5}}, [](Operands x) { return quantile(x[0], {0.3, 0.8}, Axes(), QuantileMethod::hazen); }, 0.1);
  add("nanquantile", {{2, 5}}, [=](Operands x) { return nanquantile(with_nan(x[0]), 0.3, 1); }, 0.1);
  add("nanmean", {{2, 5}}, [=](Operands x) { return square(nanmean(with_nan(x[0]), 1)); });
  add("nanvar", {{2, 5}}, [=](Operands x) { return nanvar(with_nan(x[0]), 1, 1); });
  add("nanstd", {{2, 5}}, [=](Operands x) { return nanstd(with_nan(x[0]), 1); });
  add("nanmax", {{2, 5}}, [=](Operands x) { return square(nanmax(with_nan(x[0]), 1)); }, 0.1);
  add("nancumprod", {{5}}, [=](Operands x) { return nancumprod(with_nan(x[0])); });
  add("ptp", {{3, 4}}, [](Operands x) { return square(ptp(x[0], 1)); }, 0.1);
  add("average", {{3, 4}, {4}}, [](Operands x) { return average(x[0], square(x[1]) + 0.5, 1); });
  add("cov", {{3, 5}, {5}}, [](Operands x) { return cov(x[0], 1, {}, square(x[1]) + 0.5); });
  add("corrcoef", {{3, 6}}, [](Operands x) { return corrcoef(x[0]); });
  add("segment_sum", {{6, 2}}, [=](Operands x) { return square(segment_sum(x[0], ids(), 4)); });
  add("segment_mean", {{6}}, [=](Operands x) { return square(segment_mean(x[0], ids(), 3)); });
  add("segment_prod", {{6}}, [=](Operands x) { return segment_prod(x[0], ids(), 3); });
  add("segment_max", {{6, 2}}, [=](Operands x) { return square(segment_max(x[0], ids(), 3)); }, 0.1);
  add("segment_softmax", {{6, 2}}, [=](Operands x) { return segment_softmax(x[0], ids(), 3); });
  add("cummax", {{2, 5}}, [](Operands x) { return square(cummax(x[0], 1).values); }, 0.1);
  add("interp", {{7}, {4}}, [](Operands x) { return interp(x[0], tensor({-1.55f, -0.35f, 0.2f, 1.6f}), x[1]); }, 0.1);
  add(
      "interp_points", {{4}, {4}},
      [](Operands x) { return interp(tensor({-0.5f, 0.25f, 1.5f}), cumsum(square(x[0]) + 0.5, 0) - 1.f, x[1]); }, 0.1);
  add("trapezoid", {{3, 4}, {4}}, [](Operands x) { return trapezoid(x[0], x[1]); });
  add("cumulative_trapezoid", {{3, 4}, {4}}, [](Operands x) { return cumulative_trapezoid(x[0], x[1], 1, 0.5); });
  add("gradient", {{2, 5}, {5}},
      [](Operands x) { return gradient(x[0], 1, cumsum(square(x[1]) + 0.5, 0), EdgeOrder::second); });
  add("gradient_even", {{5, 2}}, [](Operands x) { return square(gradient(x[0], 0, 0.5)); });
  add("convolve", {{6}, {3}}, [](Operands x) { return convolve(x[0], x[1], ConvolveMode::same); });
  add("correlate", {{3}, {5}}, [](Operands x) { return correlate(x[0], x[1], ConvolveMode::full); });
  const auto real_pair = [](const Tensor& x) { return complex(x[{0}], x[{1}]); };
  add("convolve_complex", {{2, 6}, {2, 3}}, [=](Operands x) {
    const Tensor y = convolve(real_pair(x[0]), real_pair(x[1]), ConvolveMode::same);
    return square(real(y)) + imag(y);
  });
  cases.back().on_f64 = false;  // c64 is of f32
  add("polyfit", {{6}, {6}},
      [](Operands x) { return polyfit(tensor({-2.f, -1.f, 0.f, 0.5f, 1.f, 3.f}), x[0], 2, square(x[1]) + 0.5); });
  add("polyfit_places", {{5}, {5, 2}}, [](Operands x) { return polyfit(cumsum(square(x[0]) + 0.5, 0), x[1], 1); });
  // Blocks of 256 elements, and their states, are in the tests of tests/functions/filters_test.cc.
  add("lfilter", {{2}, {2}, {2, 9}},
      [](Operands x) { return lfilter(x[0], concat({ones({1}), Tensor(0.3 * x[1])}, 0), x[2]); });
  add("lfilter_state", {{3}, {2}, {5, 2}, {2, 2}}, [](Operands x) {
    const auto [y, state] = lfilter(x[0], concat({ones({1}), Tensor(0.3 * x[1])}, 0), x[2], x[3], 0);
    return concat({y, state}, 0);
  });
  add("sosfilt", {{2, 5}, {9}}, [](Operands x) {
    const Tensor sections = concat({slice(x[0], 1, 0, 3), ones({2, 1}), Tensor(0.3 * slice(x[0], 1, 3, 5))}, 1);
    return sosfilt(sections, x[1]);
  });
  add("polyval", {{4}, {3}}, [](Operands x) { return polyval(x[0], x[1]); });
  add("sinc", {{6}}, [](Operands x) { return sinc(x[0]); }, 0.1);
  add("xlogy", {{4}, {4}}, [](Operands x) { return xlogy(x[0], square(x[1]) + 0.5); });
  add("xlog1py", {{4}, {4}}, [](Operands x) { return xlog1py(x[0], square(x[1])); });
  add("entr", {{6}}, [](Operands x) { return entr(square(x[0]) + 0.25); });
  add("logit", {{6}}, [](Operands x) { return logit(sigmoid(2 * x[0])); }, 0.1);
  add("ndtr", {{6}}, [](Operands x) { return ndtr(x[0]); });
  add("log_ndtr", {{6}}, [](Operands x) { return log_ndtr(3 * x[0]); }, 0.1);
  add("ndtri", {{6}}, [](Operands x) { return ndtri(sigmoid(2 * x[0])); }, 0.1);
  add("polygamma", {{5}}, [](Operands x) { return polygamma(2, square(x[0]) + 1); });
  add("gammainc", {{6}},
      [](Operands x) { return gammainc(tensor({0.25f, 1.f, 2.5f, 1.f, 9.f, 40.f}), square(x[0]) + 0.5); });
  add("gammaincc", {{4}}, [](Operands x) { return gammaincc(3.5, square(x[0]) + 0.5); });
  add("betainc", {{6}},
      [](Operands x) { return betainc(tensor({0.25f, 1.f, 2.5f, 1.f, 9.f, 40.f}), 2.5, sigmoid(x[0])); });
  add("gammaincinv", {{6}},
      [](Operands x) { return gammaincinv(tensor({0.25f, 1.f, 2.5f, 1.f, 9.f, 40.f}), sigmoid(x[0])); });
  add("gammainccinv", {{4}}, [](Operands x) { return gammainccinv(3.5, sigmoid(x[0])); });
  add("betaincinv", {{6}},
      [](Operands x) { return betaincinv(tensor({0.25f, 1.f, 2.5f, 1.f, 9.f, 40.f}), 2.5, sigmoid(x[0])); });
  add(
      "interp_period", {{7}, {4}},
      [](Operands x) { return interp(x[0], tensor({-1.55f, -0.35f, 0.2f, 1.6f}), x[1], {.period = 3.7}); }, 0.1);
  add("i0e", {{6}}, [](Operands x) { return i0e(5 * x[0]); }, 0.1);
  add("i1", {{6}}, [](Operands x) { return i1(x[0]); });
  add("einsum_chain", {{2, 3}, {3, 4}, {4, 2}}, [](Operands x) { return einsum("ij,jk,kl->li", {x[0], x[1], x[2]}); });
}

}  // namespace weft::test
