#include "functions/named_cases.h"
#include "weft/graph.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

void add_resize_cases(NamedCases& c) {
  using Integers = std::vector<std::int64_t>;
  using Numbers = std::vector<double>;
  const Tensor x = c.floats({1, 4, 6, 8}), last = c.floats({1, 6, 8, 4});
  const Numbers scales{1, 1, 1.5, 0.5};
  c.same("resize_by", {x},
         {{"scales", scales},
          {"mode", "cubic"},
          {"coordinates", "asymmetric"},
          {"cubic_a", -0.5},
          {"antialias", 1},
          {"exclude_outside", 1}},
         resize_by(x, scales,
                   {.mode = ResizeMode::cubic,
                    .coordinates = ResizeCoordinates::asymmetric,
                    .cubic_a = -0.5,
                    .antialias = true,
                    .exclude_outside = true}));
  c.same("resize_by", {x},
         {{"scales", scales},
          {"coordinates", "crop"},
          {"rounding", "floor"},
          {"starts", Numbers{0, 0, 0.25, -0.5}},
          {"ends", Numbers{1, 1, 0.75, 1.5}},
          {"value", 3}},
         resize_by(x, scales,
                   {.coordinates = ResizeCoordinates::crop,
                    .rounding = ResizeRounding::floor,
                    .starts = {0, 0, 0.25, -0.5},
                    .ends = {1, 1, 0.75, 1.5},
                    .value = 3}));
  c.refused("resize_by", {x}, {{"scales", Numbers{1, 2}}}, [&] { resize_by(x, Numbers{1, 2}); });
  c.refused("resize_by", {x}, {{"scales", Numbers{1, 1, 1, -1}}}, [&] { resize_by(x, Numbers{1, 1, 1, -1}); });

  c.same("upsample", {last},
         {{"sizes", Integers{9, 5}}, {"mode", "linear"}, {"align_corners", 1}, {"channels_last", 1}},
         upsample(last, {9, 5}, {.mode = ResizeMode::linear, .align_corners = true, .channels_last = true}));
  c.same("upsample", {x}, {{"sizes", Integers{9, 5}}, {"mode", "cubic"}, {"antialias", 1}},
         upsample(x, {9, 5}, {.mode = ResizeMode::cubic, .antialias = true}));
  c.same("upsample", {x}, {{"sizes", Integers{9, 5}}, {"exact", 1}}, upsample(x, {9, 5}, {.exact = true}));
  c.refused("upsample", {x}, {{"sizes", 9}}, [&] { upsample(x, {9}); });
  c.refused("upsample", {x}, {{"sizes", Integers{9, 5}}, {"antialias", 1}},
            [&] { upsample(x, {9, 5}, {.antialias = true}); });

  const AttributeMap blocks = {{"block", 2}, {"order", "column_row_depth"}, {"channels_last", 1}};
  c.same("depth_to_space", {last}, blocks, depth_to_space(last, 2, BlockOrder::column_row_depth, true));
  c.same("depth_to_space", {x}, {{"block", 2}}, depth_to_space(x, 2));
  c.same("space_to_depth", {last}, blocks, space_to_depth(last, 2, BlockOrder::column_row_depth, true));
  c.same("space_to_depth", {x}, {{"block", 2}}, space_to_depth(x, 2));
  c.refused("depth_to_space", {x}, {{"block", 3}}, [&] { depth_to_space(x, 3); });
  c.refused("space_to_depth", {x}, {{"block", 0}}, [&] { space_to_depth(x, 0); });
  const AttributeMap pixels = {{"factor", 2}, {"channels_last", 1}};
  c.same("pixel_shuffle", {last}, pixels, pixel_shuffle(last, 2, true));
  c.same("pixel_unshuffle", {last}, pixels, pixel_unshuffle(last, 2, true));
  c.refused("pixel_shuffle", {x}, {{"factor", 3}}, [&] { pixel_shuffle(x, 3); });
}
const bool added = named_cases(add_resize_cases);

}  // namespace
}  // namespace weft::test
