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

  const Tensor rows_scale = c.floats({3, 4}), rows_bias = c.floats({3, 4});
  c.same("layer_norm", {x, scale, bias}, {{"epsilon", 0.5}}, layer_norm(x, scale, bias, 0.5));
  c.same("layer_norm", {x, rows_scale, rows_bias}, {}, layer_norm(x, rows_scale, rows_bias, 1e-5));
  c.same("layer_norm", {x}, {{"first_axis", -2}}, layer_norm(x, {}, {}, 1e-5, 1));
  c.same("layer_norm", {x, Tensor(), bias}, {{"type", "f16"}},
         std::vector{call("layer_norm", {x, Tensor(), bias}, {{"type", "f16"}, {"first_axis", 2}})[0]});
  c.refused("layer_norm", {x}, {{"first_axis", 3}}, [&] { layer_norm(x, {}, {}, 1e-5, 3); });
  c.refused("layer_norm", {x, mean, rows_bias}, {}, [&] { layer_norm(x, mean, rows_bias, 1e-5); });
  c.same("rms_norm", {x, rows_scale}, {{"epsilon", 0.5}}, rms_norm(x, rows_scale, 0.5));
  c.same("rms_norm", {x}, {{"first_axis", 2}, {"type", "f32"}}, rms_norm(x, {}, 1e-5));
  c.refused("rms_norm", {scale, x}, {}, [&] { rms_norm(scale, x, 1e-5); });
  const Tensor image = c.floats({2, 4, 3, 3});
  c.same("group_norm", {image, scale, bias}, {{"groups", 2}, {"epsilon", 0.5}}, group_norm(image, scale, bias, 2, 0.5));
  c.same("group_norm", {x, Tensor(), bias}, {{"groups", 4}, {"channel_axis", -1}},
         group_norm(x, {}, bias, 4, 1e-5, -1));
  c.refused("group_norm", {image}, {{"groups", 0}}, [&] { group_norm(image, {}, {}, 0, 1e-5); });
  c.same("instance_norm", {x, scale, bias}, {{"epsilon", 0.5}, {"channel_axis", 2}},
         instance_norm(x, scale, bias, 0.5, 2));
  c.refused("instance_norm", {image, mean, rows_bias}, {}, [&] { instance_norm(image, mean, rows_bias, 1e-5); });
}
const bool added = named_cases(add_norm_cases);

}  // namespace
}  // namespace weft::test
