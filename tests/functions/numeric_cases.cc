#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/numeric.h"

namespace weft::test {
namespace {

void add_numeric_cases(NamedCases& c) {
  const Tensor x = c.floats({7}), points = tensor({-1.0f, 0.0f, 1.5f}), values = c.floats({3});
  c.same("interp", {x, points, values}, {{"left", Number(-5)}, {"right", Number(7.5)}},
         interp(x, points, values, {.left = -5, .right = 7.5}));
  c.same("interp", {x, points, values}, {{"period", Number(3)}}, interp(x, points, values, {.period = 3}));
  c.refused("interp", {x, points, x}, {}, [&] { interp(x, points, x); });
  c.refused("interp", {x, points, values}, {{"period", Number(0)}}, [&] { interp(x, points, values, {.period = 0}); });

  const Tensor y = c.floats({4, 5}), at = tensor({0.0f, 0.5f, 2.0f, 3.0f, 4.5f});
  c.same("trapezoid", {y}, {{"distance", Number(0.5)}, {"axis", Number(0)}}, trapezoid(y, 0.5, 0));
  c.same("trapezoid", {y, at}, {}, trapezoid(y, at));
  c.same("cumulative_trapezoid", {y}, {{"distance", Number(0.5)}, {"axis", Number(0)}, {"initial", Number(1.5)}},
         cumulative_trapezoid(y, 0.5, 0, 1.5));
  c.same("cumulative_trapezoid", {y, at}, {}, cumulative_trapezoid(y, at));
  c.refused("trapezoid", {y, x}, {}, [&] { trapezoid(y, x); });
  c.refused("trapezoid", {y, cast(at, DType::c64)}, {}, [&] { trapezoid(y, cast(at, DType::c64)); });

  c.same("gradient", {y}, {{"axis", Number(0)}, {"distance", Number(0.5)}, {"edges", "second"}},
         gradient(y, 0, 0.5, EdgeOrder::second));
  c.same("gradient", {y, at}, {{"axis", Number(1)}, {"edges", "second"}}, gradient(y, 1, at, EdgeOrder::second));
  c.same("gradients", {y}, {}, gradient(y));
  c.refused("gradient", {y, y}, {{"axis", Number(1)}}, [&] { gradient(y, 1, y); });
  c.refused("gradients", {ones({1, 3})}, {}, [] { gradient(ones({1, 3})); });

  c.same("unwrap", {y}, {{"axis", Number(0)}, {"period", Number(2)}, {"discontinuity", Number(1.5)}},
         unwrap(y, 0, 2, 1.5));
  c.refused("unwrap", {y}, {{"period", Number(-1)}}, [&] { unwrap(y, -1, -1); });
  c.refused("unwrap", {cast(y, DType::i32)}, {}, [&] { unwrap(cast(y, DType::i32)); });

  c.same("convolve", {x, values}, {{"mode", "same"}}, convolve(x, values, ConvolveMode::same));
  c.same("correlate", {x, values}, {{"mode", "full"}}, correlate(x, values, ConvolveMode::full));
  c.refused("convolve", {x, y}, {}, [&] { convolve(x, y); });
  c.refused("correlate", {x, zeros({0})}, {}, [&] { correlate(x, zeros({0})); });

  const Tensor z = complex(x, x), large = c.integers({5}, DType::i64), small = c.integers({2}, DType::u8);
  c.same("convolve", {z, values}, {}, convolve(z, values));
  c.same("correlate", {large, small}, {}, correlate(large, small));
  c.refused("convolve", {cast(x, DType::i4), cast(x, DType::i4)}, {},
            [&] { convolve(cast(x, DType::i4), cast(x, DType::i4)); });

  const Tensor several = c.floats({7, 2}), weights = c.integers({7});
  const Tensor places = tensor({-2.0f, -1.5f, -0.5f, 0.0f, 0.25f, 1.0f, 2.0f});
  c.same("polyfit", {places, x}, {{"degree", Number(2)}}, polyfit(places, x, 2));
  c.same("polyfit", {places, several, weights}, {{"degree", Number(1)}, {"rcond", Number(0.01)}},
         polyfit(places, several, 1, weights, 0.01));
  c.refused("polyfit", {places, x}, {{"degree", Number(-1)}}, [&] { polyfit(places, x, -1); });
  c.refused("polyfit", {places, values}, {{"degree", Number(1)}}, [&] { polyfit(places, values, 1); });
  c.same("polyval", {values, x}, {}, polyval(values, x));
  c.refused("polyval", {y, x}, {}, [&] { polyval(y, x); });
}
const bool added = named_cases(add_numeric_cases);

}  // namespace
}  // namespace weft::test
