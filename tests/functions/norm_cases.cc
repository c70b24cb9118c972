#include "functions/named_cases.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_norm_cases(NamedCases& c) {
  const Tensor x = c.floats({2, 3, 4}), mean = c.floats({4}), variance = cast(c.integers({4}), DType::f32);
  const Tensor scale = c.floats({4}), bias = c.floats({4});
  c.same("batch_norm", {x, mean, variance, scale, bias}, {{"epsilon", 0.5}, {"channel_axis", -1}},
         batch_norm(x, mean, variance, scale, bias, 0.5, -1));
  c.same("batch_norm", {x, mean, variance, Tensor(), bias}, {{"channel_axis", 2}},
         batch_norm(x, mean, variance, {}, bias, 1e-5, 2));
  c.refused("batch_norm", {x, mean, variance}, {}, [&] { batch_norm(x, mean, variance, {}, {}, 1e-5); });
  c.refused("batch_norm", {x, mean, variance}, {{"epsilon", -1}, {"channel_axis", 2}},
            [&] { batch_norm(x, mean, variance, {}, {}, -1, 2); });
}
const bool added = named_cases(add_norm_cases);

}  // namespace
}  // namespace weft::test
