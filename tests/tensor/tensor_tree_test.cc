// Trees of tensors (weft/tensor_tree.h): maps, lists and names of what they hold.
#include "weft/tensor_tree.h"

#include <gmock/gmock.h>

#include "support/throws.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
#include "weft/error.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Linear {
  Tensor weight, bias;
  static constexpr std::string_view member_names[] = {"weight", "bias"};
};
struct Mlp {
  std::vector<Linear> layers;
  double slope = 0.1;
  std::map<std::string, Tensor> more;
  static constexpr std::string_view member_names[] = {"layers", "slope", "more"};
};

Mlp some() {
  return {.layers = {{full({2}, 1), full({1}, 2)}, {full({3}, 3), full({1}, 4)}},
          .slope = 0.5,
          .more = {{"scale", full({}, 5)}, {"shift", full({}, 6)}}};
}
std::vector<float> firsts(const std::vector<Tensor>& tensors) {
  std::vector<float> values;
  for (const Tensor& t : tensors) values.push_back(t.defined() ? t.to_vector<float>()[0] : -1);
  return values;
}
std::vector<std::string> paths(const auto& tree) {
  std::vector<std::string> all;
  for (const auto& [path, t] : named_tensors(tree)) all.push_back(path);
  return all;
}

TEST(TensorTree, MapsKeepTheFormAndWhatIsNoTensor) {
  const Mlp net = some(), twice = map_tensors(net, [](const Tensor& t) { return t * 2; });
  EXPECT_THAT(firsts(flatten_tensors(twice)), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_EQ(twice.slope, 0.5);
  EXPECT_THAT(firsts(flatten_tensors(net)), ElementsAre(1, 2, 3, 4, 5, 6));
  // Of several trees, also of another type.
  const Mlp sum = map_tensors(
      net, [](const Tensor& a, const Tensor& b, const Tensor& c) { return a + b * c; }, twice, flatten_tensors(net));
  EXPECT_THAT(firsts(flatten_tensors(sum)), ElementsAre(3, 10, 21, 36, 55, 78));
  EXPECT_THAT(refused_by([&] { map_tensors(net, [](Tensor a, Tensor) { return a; }, net.layers); }),
              HasSubstr("map_tensors: 4 tensors, expected 6"));
}

TEST(TensorTree, EachTensorInPlace) {
  Mlp net = some();
  for_each_tensor(net, [](Tensor& t) { t = t + 1; });
  EXPECT_THAT(firsts(flatten_tensors(net)), ElementsAre(2, 3, 4, 5, 6, 7));
  int count = 0;
  const Mlp& constant = net;
  for_each_tensor(constant, [&](const Tensor&) { ++count; });
  EXPECT_EQ(count, 6);
}

TEST(TensorTree, ListsAndBack) {
  const Mlp net = some();
  std::vector<Tensor> flat = flatten_tensors(net);
  std::swap(flat[0], flat[5]);
  const Mlp other = unflatten_like(net, flat);
  EXPECT_THAT(firsts(flatten_tensors(other)), ElementsAre(6, 2, 3, 4, 5, 1));
  flat.pop_back();
  EXPECT_THAT(refused_by([&] { unflatten_like(net, flat); }), HasSubstr("unflatten_like: 5 tensors, expected 6"));
  EXPECT_TRUE(flatten_tensors(3.5).empty());
  EXPECT_TRUE(flatten_tensors(std::vector<Tensor>()).empty());
}

TEST(TensorTree, PathsAreNames) {
  EXPECT_THAT(paths(some()), ElementsAre("layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias",
                                         "more.scale", "more.shift"));
  struct Plain {
    Tensor a;
    std::pair<Tensor, std::optional<Tensor>> b;
    std::map<int, std::array<Tensor, 2>> c;
  };
  const Tensor t = zeros({1});
  EXPECT_THAT(paths(Plain{t, {t, t}, {{-7, {t, t}}}}), ElementsAre("0", "1.0", "1.1", "2.-7.0", "2.-7.1"));
  EXPECT_THAT(paths(t), ElementsAre(""));
  EXPECT_THAT(paths(std::tuple(t, 3, t)), ElementsAre("0", "2"));
}

// Integers have no derivatives: their places stay as they are.
TEST(TensorTree, StepsOfAnOptimiser) {
  struct Model {
    Tensor weight, step;
  };
  const Model model{full({2}, 3), full({}, 7, DType::i32)};
  const auto loss = [](const Model& m) { return sum(square(m.weight)); };
  const Model g = grad(loss)(model);
  EXPECT_FALSE(g.step.defined());
  const Model next =
      map_tensors(model, [](const Tensor& p, const Tensor& d) { return d.defined() ? p - 0.5 * d : p; }, g);
  EXPECT_THAT(firsts(flatten_tensors(next)), ElementsAre(0, 7));
  EXPECT_THAT(firsts(flatten_tensors(map_tensors(g, [](const Tensor& d) { return -d; }))), ElementsAre(-6, -1));
}

}  // namespace
}  // namespace weft::test
