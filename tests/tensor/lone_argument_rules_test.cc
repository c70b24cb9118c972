// Derivatives of a program's own, of functions of one argument that is a pair, a tuple, or what holds some
// (lone_argument.h).
#include "tensor/lone_argument.h"
#include "weft/derivatives.h"

namespace weft::test {
namespace {

using namespace lone_argument;

template <class T>
class LoneArgumentOfRules : public LoneArgumentTest<T> {};
TYPED_TEST_SUITE(LoneArgumentOfRules, LoneArguments);

TYPED_TEST(LoneArgumentOfRules, OfDerivativesOfAProgramsOwn) {
  using T = TypeParam;
  const T &x = this->x, &v = this->v;
  const auto f = [](const T& t) { return product(t); };
  const auto gradient_of = [](const T& t, const Tensor& y, const Tensor& g) {
    std::vector<Tensor> all = detail::tensors_in(t);
    for (Tensor& each : all) each = g * y / each;
    return detail::with_tensors(t, all);
  };
  // The rule gives the cotangent of the one argument, or a tuple of it.
  const auto lone = custom_vjp(
      f, [=](const std::tuple<T>& t, const Tensor& y, const Tensor& g) { return gradient_of(std::get<0>(t), y, g); });
  const auto listed = custom_vjp(f, [=](const std::tuple<T>& t, const Tensor& y, const Tensor& g) {
    return std::tuple<T>(gradient_of(std::get<0>(t), y, g));
  });
  this->expect(grad(lone)(x), this->gradient);
  this->expect(grad(listed)(x), this->gradient);
  // (Quotients are within some ULP on GPUs.)
  EXPECT_FLOAT_EQ(jvp(lone)(x, v).second.template item<float>(), this->tangent);
  const auto forward = custom_jvp(f, [=](const std::tuple<T>& t, const Tensor& y, const std::tuple<T>& tangents) {
    const std::vector<Tensor> at = detail::tensors_in(t), along = detail::tensors_in(tangents);
    Tensor sum = y * 0;
    for (std::size_t i = 0; i < at.size(); ++i) sum = sum + y / at[i] * along[i];
    return sum;
  });
  EXPECT_EQ(jvp(forward)(x, v).second.template item<float>(), this->tangent);
  this->expect(grad(forward)(x), this->gradient);
  this->expect(grad(checkpoint(f))(x), this->gradient);
  this->expect(checkpoint([](const T& t) { return LoneArgumentTest<T>::doubled(t); })(x), this->doubled_values());
  this->expect(stop_gradient(x), this->doubled_values(1));
}

}  // namespace
}  // namespace weft::test
