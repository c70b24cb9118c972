#include "functions/named_cases.h"
#include "weft/convolution.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_conv_cases(NamedCases& c) {
  using Integers = std::vector<std::int64_t>;
  const Tensor x = c.floats({2, 7, 6, 4}), w = c.floats({6, 2, 3, 2}), bias = c.floats({6});
  c.same("conv", {x, w, bias},
         {{"strides", Integers{2, 1}},
          {"dilations", Integers{1, 2}},
          {"padding", Integers{1, 0}},
          {"padding_after", Integers{0, 1}},
          {"groups", 2},
          {"channels_last", 1}},
         conv(x, w, bias,
              {.strides = {2, 1},
               .dilations = {1, 2},
               .padding = {1, 0},
               .padding_after = {0, 1},
               .groups = 2,
               .channels_last = true}));
  const Tensor image = c.floats({1, 2, 5, 5}), narrow = cast(image, DType::f16), filter = cast(w, DType::f16);
  c.same("conv", {image, w}, {{"padding", Integers{1, 1}}}, conv(image, w, {}, {.padding = {1, 1}}));
  c.same("conv", {image, w, bias}, {{"type", "f32"}}, conv(image, w, bias));
  c.same("conv", {narrow, filter, bias}, {}, conv(narrow, filter, bias));
  c.refused("conv", {image, w, image}, {}, [&] { conv(image, w, image); });
  c.refused("conv", {image, w}, {{"groups", 0}}, [&] { conv(image, w, {}, {.groups = 0}); });

  const Tensor y = c.floats({2, 4, 3, 4}), outputs = c.floats({4, 3, 3, 2});
  c.same("conv_transpose", {y, outputs, bias},
         {{"strides", Integers{2, 3}},
          {"dilations", Integers{1, 2}},
          {"padding", Integers{1, 0}},
          {"padding_after", Integers{0, 1}},
          {"output_padding", Integers{1, 0}},
          {"groups", 2},
          {"channels_last", 1}},
         conv_transpose(y, outputs, bias,
                        {{.strides = {2, 3},
                          .dilations = {1, 2},
                          .padding = {1, 0},
                          .padding_after = {0, 1},
                          .groups = 2,
                          .channels_last = true},
                         {1, 0}}));
  const Tensor channels = c.floats({2, 4, 3, 3});
  c.same("conv_transpose", {channels, outputs}, {{"output_sizes", Integers{6, 5}}, {"type", "f32"}},
         conv_transpose(channels, outputs, {}, {{}, {}, {6, 5}}));
  c.refused("conv_transpose", {channels, outputs, bias}, {}, [&] { conv_transpose(channels, outputs, bias); });
}
const bool added = named_cases(add_conv_cases);

}  // namespace
}  // namespace weft::test
