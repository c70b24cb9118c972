// Derivatives of functions of one argument that is a pair, a tuple, or what holds some (lone_argument.h).
#include <cmath>

#include "tensor/lone_argument.h"
#include "weft/derivatives.h"

namespace weft::test {
namespace {

using namespace lone_argument;

template <class T>
class LoneArgumentOfDerivatives : public LoneArgumentTest<T> {};
TYPED_TEST_SUITE(LoneArgumentOfDerivatives, LoneArguments);

TYPED_TEST(LoneArgumentOfDerivatives, OfDerivatives) {
  using T = TypeParam;
  const T &x = this->x, &v = this->v;
  const auto f = [](const T& t) { return product(t); };
  this->expect(grad(f)(x), this->gradient);
  const auto [value, g] = value_and_grad(f)(x);
  EXPECT_EQ(value.template item<float>(), this->whole);
  this->expect(g, this->gradient);
  const auto [y, pull_back] = vjp(f)(x);
  this->expect(pull_back(tensor(1.0f)), this->gradient);
  const auto [y2, t2] = jvp(f)(x, v);
  EXPECT_EQ(t2.template item<float>(), this->tangent);
  const auto [y3, map] = linearize(f)(x);
  EXPECT_EQ(map(v).template item<float>(), this->tangent);
  this->expect(hvp(f)(x, v), this->hessian_times_v);
  // Results of the type, and their cotangents.
  const auto [z, pull] = vjp([](const T& t) { return LoneArgumentTest<T>::doubled(t); })(x);
  this->expect(z, this->doubled_values());
  this->expect(pull(x), this->doubled_values());
  // One of several arguments, and two.
  const auto h = [](const Tensor& scale, const T& a, const T& b) { return scale * product(a) * product(b); };
  this->expect(grad<1>(h)(tensor(1.0f), x, this->doubled(x)), [&] {
    std::vector<float> all = this->gradient;
    for (float& n : all) n *= product(this->doubled(x)).template item<float>();
    return all;
  }());
  const auto both = grad<2, 1>(h)(tensor(1.0f), x, x);
  static_assert(std::is_same_v<std::decay_t<decltype(both)>, std::tuple<T, T>>);
  std::vector<float> scaled = this->gradient;
  for (float& n : scaled) n *= this->whole;
  this->expect(std::get<0>(both), scaled);
  this->expect(std::get<1>(both), scaled);
}

}  // namespace
}  // namespace weft::test
