// Arguments of functions that are a pair, a tuple, an array, or what holds some, for tests of what takes functions: it
// is one argument, not the list of arguments, and what belongs to it has its type. The tests are several sources, since
// each is compiled for every type.
#pragma once

#include <gmock/gmock.h>

#include <array>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "weft/array.h"
#include "weft/creation.h"
#include "weft/graph.h"
#include "weft/tensor_tree.h"

namespace weft::test::lone_argument {

struct Two {
  Tensor a, b;
};
struct Nested {
  std::pair<Tensor, Tensor> both;
};

using TensorPair = std::pair<Tensor, Tensor>;
using LoneArguments = testing::Types<
    TensorPair, std::tuple<Tensor>, std::tuple<Tensor, Tensor>, std::tuple<Tensor, Tensor, Tensor>,
    std::array<Tensor, 1>, std::array<Tensor, 2>, std::tuple<std::tuple<Tensor, Tensor>>, std::tuple<TensorPair>,
    std::pair<TensorPair, std::tuple<Tensor>>, std::tuple<std::tuple<std::tuple<Tensor>>>, std::array<TensorPair, 1>,
    std::tuple<std::array<Tensor, 2>, TensorPair>, std::optional<TensorPair>, std::optional<std::tuple<Tensor>>,
    std::vector<std::tuple<Tensor, Tensor>>, std::map<int, TensorPair>, Two, Nested, std::tuple<Nested>>;

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

inline std::vector<float> numbers(const std::vector<Tensor>& tensors) {
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
    EXPECT_THAT(numbers(detail::tensors_in(given)), testing::ElementsAreArray(values));
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

}  // namespace weft::test::lone_argument
