// Compiled functions and batches of one argument that is a pair, a tuple, or what holds some (lone_argument.h).
#include <cmath>

#include "tensor/lone_argument.h"
#include "weft/derivatives.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using namespace lone_argument;
using testing::ElementsAreArray;

template <class T>
class LoneArgumentOfCompiled : public LoneArgumentTest<T> {};
TYPED_TEST_SUITE(LoneArgumentOfCompiled, LoneArguments);

TYPED_TEST(LoneArgumentOfCompiled, OfCompiledFunctionsAndBatches) {
  using T = TypeParam;
  const T& x = this->x;
  const auto f = [](const T& t) { return product(t); };
  const auto twice = [](const T& t) { return LoneArgumentTest<T>::doubled(t); };
  EXPECT_EQ(compile(f)(x).template item<float>(), this->whole);
  this->expect(compile(twice)(x), this->doubled_values());
  this->expect(compile(grad(f))(x), this->gradient);
  this->expect(grad(compile(f))(x), this->gradient);
  EXPECT_NO_THROW(compile(twice).graph(x));

  std::vector<Tensor> all = detail::tensors_in(x);
  for (Tensor& t : all) t = stack({t, t * 2});
  const T batch = detail::with_tensors(x, all);
  const T made = vmap(twice)(batch);
  const T of_gradients = vmap(grad(f))(batch);
  const std::vector<Tensor> values = detail::tensors_in(made), gradients = detail::tensors_in(of_gradients);
  const float growth = std::ldexp(1.0f, static_cast<int>(all.size()) - 1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_THAT(values[i].template read<float>(),
                ElementsAreArray({this->doubled_values()[i], this->doubled_values(4)[i]}));
    EXPECT_THAT(gradients[i].template read<float>(), ElementsAreArray({this->gradient[i], growth * this->gradient[i]}));
  }
}

}  // namespace
}  // namespace weft::test
