#include "functions/named_cases.h"
#include "weft/graph.h"
#include "weft/pooling.h"

namespace weft::test {
namespace {

void add_pool_cases(NamedCases& c) {
  using Integers = std::vector<std::int64_t>;
  const Tensor x = c.floats({2, 7, 6, 3}), image = c.floats({2, 3, 7, 6});  // the channels last, and second
  const PoolOptions last{.window = {3, 2},
                         .strides = {2, 1},
                         .dilations = {1, 2},
                         .padding = {1, 0},
                         .padding_after = {0, 1},
                         .ceil_mode = true,
                         .channels_last = true};
  const AttributeMap options = {
      {"window", Integers{3, 2}},  {"strides", Integers{2, 1}},       {"dilations", Integers{1, 2}},
      {"padding", Integers{1, 0}}, {"padding_after", Integers{0, 1}}, {"ceil_mode", 1},
      {"channels_last", 1}};
  const PoolOptions some{.window = {2, 2}, .output_sizes = {2, 4}};
  AttributeMap counted = {{"window", Integers{2, 2}}, {"output_sizes", Integers{2, 4}}};
  c.same("l2_pool", {x}, options, l2_pool(x, last));
  c.same("l2_pool", {image}, counted, l2_pool(image, some));
  c.refused("l2_pool", {image}, {{"window", 2}}, [&] { l2_pool(image, {.window = {2}}); });

  const AttributeMap sizes = {{"sizes", Integers{3, 4}}, {"channels_last", 1}};
  c.same("adaptive_average_pool", {x}, sizes, adaptive_average_pool(x, {3, 4}, true));
  c.same("adaptive_average_pool", {image}, {{"sizes", Integers{1, 1}}}, adaptive_average_pool(image, {1, 1}));
  c.same("adaptive_max_pool", {x}, sizes, adaptive_max_pool(x, {3, 4}, true));
  const PooledMax pooled = adaptive_max_pool_with_indices(x, {3, 4}, true);
  c.same("adaptive_max_pool_with_indices", {x}, sizes, pooled);
  c.refused("adaptive_max_pool", {x}, {{"sizes", 2}}, [&] { adaptive_max_pool(x, {2}); });

  c.same("global_average_pool", {x}, {{"channels_last", 1}}, global_average_pool(x, true));
  c.same("global_max_pool", {x}, {{"channels_last", 1}}, global_max_pool(x, true));
  for (const double p : {1.0, 2.0, 3.0}) {
    c.same("global_lp_pool", {x}, {{"p", p}, {"channels_last", 1}}, global_lp_pool(x, p, true));
  }
  c.refused("global_lp_pool", {x}, {{"p", 0}}, [&] { global_lp_pool(x, 0); });
  const Tensor bytes = cast(image, DType::u8);
  c.refused("global_average_pool", {bytes}, {}, [&] { global_average_pool(bytes); });

  AttributeMap cubes = options;
  cubes["p"] = counted["p"] = 3;
  const Tensor y = lp_pool(x, 3, last), dy = c.floats(y.shape());
  c.same("lp_pool_gradient", {dy, x, y}, cubes, lp_pool_gradient(dy, x, y, 3, last));
  const Tensor norms = lp_pool(image, 3, some);
  c.same("lp_pool_gradient", {norms, image, norms}, counted, lp_pool_gradient(norms, image, norms, 3, some));
  c.refused("lp_pool_gradient", {dy, x, x}, options, [&] { lp_pool_gradient(dy, x, x, 2, last); });

  const AttributeMap of_x = {{"sizes", Integers{7, 6}}, {"channels_last", 1}};
  const Tensor g = c.floats({2, 3, 4, 3});
  c.same("adaptive_average_pool_gradient", {g}, of_x, adaptive_average_pool_gradient(g, {7, 6}, true));
  c.same("adaptive_max_pool_gradient", {g, pooled.indices}, of_x,
         adaptive_max_pool_gradient(g, pooled.indices, {7, 6}, true));
  c.refused("adaptive_max_pool_gradient", {g, x}, of_x, [&] { adaptive_max_pool_gradient(g, x, {7, 6}, true); });

  const PooledMax apart = max_pool_with_indices(x, {.window = {2, 2}, .channels_last = true});
  c.same("max_unpool", {apart.values, apart.indices}, of_x, max_unpool(apart.values, apart.indices, {7, 6}, true));
  c.refused("max_unpool", {apart.values, pooled.indices}, of_x,
            [&] { max_unpool(apart.values, pooled.indices, {7, 6}, true); });
}
const bool added = named_cases(add_pool_cases);

}  // namespace
}  // namespace weft::test
