// Branches and loops of one argument that is a pair, a tuple, or what holds some (lone_argument.h).
#include <cmath>

#include "tensor/lone_argument.h"
#include "weft/control_flow.h"
#include "weft/derivatives.h"

namespace weft::test {
namespace {

using namespace lone_argument;

template <class T>
class LoneArgumentOfLoops : public LoneArgumentTest<T> {};
TYPED_TEST_SUITE(LoneArgumentOfLoops, LoneArguments);

TYPED_TEST(LoneArgumentOfLoops, OfBranchesAndLoops) {
  using T = TypeParam;
  const T& x = this->x;
  const auto twice = [](const T& t) { return LoneArgumentTest<T>::doubled(t); };
  const auto same = [](const T& t) { return t; };
  const Tensor yes = tensor(1.0f) > 0;
  this->expect(cond(yes, twice, same, x), this->doubled_values());
  this->expect(fori_loop(0, 3, [&](const Tensor&, const T& t) { return twice(t); }, x), this->doubled_values(8));
  this->expect(while_loop([](const T& t) { return product(t) < 1000; }, twice, x), [&] {
    float times = 1, value = this->whole;
    while (value < 1000) times *= 2, value *= std::ldexp(1.0f, static_cast<int>(this->gradient.size()));
    return this->doubled_values(times);
  }());
  // As carry, as slices, and as result.
  std::vector<Tensor> all = detail::tensors_in(x);
  for (Tensor& t : all) t = stack({t, t});
  const T slices = detail::with_tensors(x, all);
  const auto [last, made] =
      scan([&](const T& carry, const T& slice) { return std::pair(twice(carry), twice(slice)); }, x, slices);
  this->expect(last, this->doubled_values(4));
  static_assert(std::is_same_v<std::decay_t<decltype(made)>, T>);
  for (const Tensor& t : detail::tensors_in(made)) EXPECT_EQ(t.shape(), Shape{2});
  const auto [end, path] = scan([&](const T& carry) { return std::pair(twice(carry), carry); }, x, 2);
  this->expect(end, this->doubled_values(4));
  static_assert(std::is_same_v<std::decay_t<decltype(path)>, T>);
  // Their derivatives.
  const auto through = [&](const T& t) {
    const T branch = cond(yes, twice, same, t);
    return product(fori_loop(0, 1, [&](const Tensor&, const T& at) { return twice(at); }, branch));
  };
  std::vector<float> scaled = this->gradient;
  for (float& n : scaled) n *= std::pow(4.0f, static_cast<float>(scaled.size()));
  this->expect(grad(through)(x), scaled);
}

}  // namespace
}  // namespace weft::test
