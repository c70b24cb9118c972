// Every function of functions on one argument that is a pair, a tuple, an array, or what holds some: it is one
// argument, not the list of arguments, and what belongs to it has its type.
#include <gmock/gmock.h>

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/graph.h"
#include "weft/tensor_tree.h"
#include "weft/traced.h"

namespace weft::test {
namespace {

using testing::ElementsAreArray;

struct Two {
  Tensor a, b;
};
struct Nested {
  std::pair<Tensor, Tensor> both;
};

using Pair = std::pair<Tensor, Tensor>;
using Arguments =
    testing::Types<Pair, std::tuple<Tensor>, std::tuple<Tensor, Tensor>, std::tuple<Tensor, Tensor, Tensor>,
                   std::array<Tensor, 1>, std::array<Tensor, 2>, std::tuple<std::tuple<Tensor, Tensor>>,
                   std::tuple<Pair>, std::pair<Pair, std::tuple<Tensor>>, std::tuple<std::tuple<std::tuple<Tensor>>>,
                   std::array<Pair, 1>, std::tuple<std::array<Tensor, 2>, Pair>, std::optional<Pair>,
                   std::optional<std::tuple<Tensor>>, std::vector<std::tuple<Tensor, Tensor>>, std::map<int, Pair>, Two,
                   Nested, std::tuple<Nested>>;

// A value of the type with places for tensors in it.
template <class T>
T empty() {
  T value{};
  if constexpr (detail::is_a<T, std::optional>) value.emplace();
  if constexpr (detail::is_a<T, std::vector>) value.resize(1);
  if constexpr (detail::is_a<T, std::map>) value[7];
  return value;
}

template <class T>
Tensor product(const T& x) {
  Tensor y;
  for (const Tensor& t : detail::tensors_in(x)) y = y.defined() ? y * t : t;
  return y;
}

std::vector<float> numbers(const std::vector<Tensor>& tensors) {
  std::vector<float> all;
  for (const Tensor& t : tensors) all.push_back(t.item<float>());
  return all;
}

template <class T>
class LoneArgumentTest : public testing::Test {
 protected:
  LoneArgumentTest() {
    constexpr float kPrimes[] = {2, 3, 5, 7};
    const std::size_t count = detail::tensors_in(empty<T>()).size();
    std::vector<Tensor> xs, vs;
    for (std::size_t i = 0; i < count; ++i) {
      xs.push_back(tensor(kPrimes[i]));
      vs.push_back(tensor(static_cast<float>(i + 1)));
      whole *= kPrimes[i];
    }
    for (std::size_t i = 0; i < count; ++i) {
      gradient.push_back(whole / kPrimes[i]);
      tangent += gradient.back() * static_cast<float>(i + 1);
      hessian_times_v.push_back(0);
      for (std::size_t k = 0; k < count; ++k) {
        if (k != i) hessian_times_v.back() += whole / kPrimes[i] / kPrimes[k] * static_cast<float>(k + 1);
      }
    }
    x = detail::with_tensors(empty<T>(), xs);
    v = detail::with_tensors(empty<T>(), vs);
  }

  template <class Given>
  void expect(const Given& given, const std::vector<float>& values) {
    static_assert(std::is_same_v<Given, T>, "of the argument's type");
    EXPECT_THAT(numbers(detail::tensors_in(given)), ElementsAreArray(values));
  }
  // Of two of them.
  static T doubled(const T& of) {
    std::vector<Tensor> all = detail::tensors_in(of);
    for (Tensor& t : all) t = t * 2;
    return detail::with_tensors(of, all);
  }
  std::vector<float> doubled_values(float times = 2) const {
    std::vector<float> all = numbers(detail::tensors_in(x));
    for (float& n : all) n *= times;
    return all;
  }

  T x, v;
  float whole = 1, tangent = 0;
  std::vector<float> gradient, hessian_times_v;
};
TYPED_TEST_SUITE(LoneArgumentTest, Arguments);

TYPED_TEST(LoneArgumentTest, OfDerivatives) {
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

TYPED_TEST(LoneArgumentTest, OfDerivativesOfAProgramsOwn) {
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

TYPED_TEST(LoneArgumentTest, OfCompiledFunctionsAndBatches) {
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

TYPED_TEST(LoneArgumentTest, OfBranchesAndLoops) {
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
