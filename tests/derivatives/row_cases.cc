#include "derivatives/cases.h"
#include "weft/call.h"
#include "weft/creation.h"
#include "weft/graph.h"

namespace weft::test {

void add_row_derivatives(DerivativeCases& cases) {
  using Operands = std::span<const Tensor>;
  const auto add = [&](std::string name, std::vector<Shape> shapes, std::function<Tensor(Operands)> f) {
    cases.push_back({.name = std::move(name), .shapes = std::move(shapes), .function = [f](Operands x) {
                       return std::vector{f(x)};
                     }});
  };
  add("softmax", {{2, 5}}, [](Operands x) { return softmax(x[0], -1); });
  add("softmax_first_axis", {{4, 3}}, [](Operands x) { return softmax(x[0], 0); });
  add("softmax_middle_axis", {{2, 4, 3}}, [](Operands x) { return softmax(x[0], 1); });
  add("softmax_of_one", {{3, 1}}, [](Operands x) { return softmax(x[0], 1); });
  add("softmax_fused", {{2, 5}, {5}}, [](Operands x) { return square(softmax(x[0] * 2 + x[1], -1)) * x[0]; });
  add("log_softmax", {{2, 5}}, [](Operands x) { return log_softmax(x[0], -1); });
  add("log_softmax_first_axis", {{4, 3}}, [](Operands x) { return log_softmax(x[0], 0); });
  add("log_softmax_empty", {{0, 3}}, [](Operands x) { return log_softmax(x[0], -1); });
  add("layer_norm", {{3, 5}, {5}, {5}}, [](Operands x) { return layer_norm(x[0], x[1], x[2], 1e-5); });
  add("layer_norm_plain", {{3, 5}}, [](Operands x) { return layer_norm(x[0], {}, {}, 0.1); });
  add("layer_norm_biased", {{3, 5}, {5}}, [](Operands x) { return layer_norm(x[0], {}, x[1], 0.1); });
  add("layer_norm_two_axes", {{2, 3, 4}, {3, 4}}, [](Operands x) { return layer_norm(x[0], x[1], {}, 1e-3); });
  add("layer_norm_empty", {{0, 4}, {4}}, [](Operands x) { return layer_norm(x[0], x[1], {}, 1e-3); });
  add("rms_norm", {{3, 5}, {5}}, [](Operands x) { return rms_norm(x[0], x[1], 1e-5); });
  add("rms_norm_plain", {{2, 5}}, [](Operands x) { return rms_norm(x[0], {}, 0.1); });
  add("group_norm", {{2, 4, 3}, {4}, {4}}, [](Operands x) { return group_norm(x[0], x[1], x[2], 2, 1e-3); });
  add("group_norm_last", {{2, 3, 4}, {4}}, [](Operands x) { return group_norm(x[0], x[1], {}, 2, 1e-3, -1); });
  add("group_norm_channels", {{2, 3, 4}, {3}}, [](Operands x) { return group_norm(x[0], {}, x[1], 3, 1e-3); });
  add("instance_norm", {{2, 3, 4}, {3}, {3}}, [](Operands x) { return instance_norm(x[0], x[1], x[2], 1e-3); });
  add("instance_norm_last", {{2, 4, 3}, {3}}, [](Operands x) { return instance_norm(x[0], x[1], {}, 1e-3, 2); });
  add("batch_norm", {{2, 3, 4}, {3}, {3}, {3}},
      [](Operands x) { return batch_norm(x[0], x[1], square(x[2]) + 0.5, x[2], x[3], 1e-3); });
  // Where not all gradients are wanted, or weights are of one tensor; channels of enough pixels for kernels of all.
  add("layer_norm_scale_alone", {{3, 5}, {5}}, [](Operands x) { return layer_norm(square(x[0]), x[1], x[1], 1e-3); });
  add("layer_norm_of_constant_bias", {{3, 5}, {5}},
      [](Operands x) { return layer_norm(x[0], x[1], full({5}, 0.5, x[1].dtype()), 1e-3); });
  add("layer_norm_of_constant_scale", {{3, 5}, {5}},
      [](Operands x) { return layer_norm(x[0], full({5}, 0.5, x[1].dtype()), x[1], 1e-3); });
  add("layer_norm_of_constant_x", {{5}, {5}},
      [](Operands x) { return layer_norm(reshape(arange(0, 15, 1, x[0].dtype()), {3, 5}), x[0], x[1], 1e-3); });
  add("rms_norm_two_axes", {{2, 3, 4}, {3, 4}}, [](Operands x) { return rms_norm(x[0], x[1], 1e-3); });
  add("group_norm_pixels", {{2, 4, 64}, {4}, {4}}, [](Operands x) { return group_norm(x[0], x[1], x[2], 2, 1e-3); });
  add("instance_norm_pixels", {{2, 2, 8, 8}, {2}, {2}},
      [](Operands x) { return instance_norm(x[0], x[1], x[2], 1e-3); });
  // The gradients as operations of their own, by name.
  add("softmax_gradient", {{2, 5}, {2, 5}}, [](Operands x) { return call("softmax_gradient", x)[0]; });
  add("log_softmax_gradient", {{2, 5}, {2, 5}}, [](Operands x) { return call("log_softmax_gradient", x)[0]; });
  add("layer_norm_gradient", {{3, 5}, {3, 5}, {5}}, [](Operands x) { return call("layer_norm_gradient", x)[0]; });
  add("rms_norm_gradient", {{3, 5}, {3, 5}, {5}}, [](Operands x) { return call("rms_norm_gradient", x)[0]; });
  add("group_norm_gradient", {{2, 4, 3}, {2, 4, 3}, {4}},
      [](Operands x) { return call("group_norm_gradient", x, {{"groups", Number(2)}})[0]; });
  add("instance_norm_gradient", {{2, 3, 4}, {2, 3, 4}, {3}},
      [](Operands x) { return call("instance_norm_gradient", x)[0]; });
  const auto add_all = [&](std::string name, std::vector<Shape> shapes, AttributeMap attributes) {
    cases.push_back({.name = name, .shapes = std::move(shapes), .function = [name, attributes](Operands x) {
                       return call(name, x, attributes);
                     }});
  };
  add_all("layer_norm_gradients", {{3, 5}, {3, 5}, {5}}, {});
  add_all("rms_norm_gradients", {{3, 5}, {3, 5}, {5}}, {});
  add_all("group_norm_gradients", {{2, 4, 3}, {2, 4, 3}, {4}}, {{"groups", Number(2)}});
  add_all("instance_norm_gradients", {{2, 3, 4}, {2, 3, 4}, {3}}, {});
}

}  // namespace weft::test
