#include "functions/named_cases.h"
#include "weft/graph.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

void add_grid_sample_cases(NamedCases& c) {
  using Integers = std::vector<std::int64_t>;
  const Tensor x = c.floats({2, 6, 5, 3}), grid = c.floats({2, 3, 4, 2}) * 0.5, dy = c.floats({2, 3, 4, 3});
  GridSampleOptions options{
      .mode = SampleMode::cubic, .padding = SamplePadding::border, .align_corners = true, .channels_last = true};
  const AttributeMap named = {{"mode", "cubic"}, {"padding", "border"}, {"align_corners", 1}, {"channels_last", 1}};
  AttributeMap sized = named;
  sized["sizes"] = Integers{6, 5};
  sized["mode"] = "nearest";  // whose sums are exact in any order
  c.same("grid_sample", {x, grid}, named, grid_sample(x, grid, options));
  c.same("grid_sample_grid_gradient", {dy, x, grid}, named, grid_sample_grid_gradient(dy, x, grid, options));
  options.mode = SampleMode::nearest;
  c.same("grid_sample_gradient", {dy, grid}, sized, grid_sample_gradient(dy, grid, {6, 5}, options));
  const Tensor other = c.floats({3, 3, 4, 2});
  c.refused("grid_sample", {x, other}, {}, [&] { grid_sample(x, other); });
  c.refused("grid_sample_gradient", {dy, grid}, {{"sizes", 6}}, [&] { grid_sample_gradient(dy, grid, {6}); });

  const Tensor theta = c.floats({2, 2, 3});
  c.same("affine_grid", {theta}, {{"sizes", Integers{3, 4}}, {"align_corners", 1}}, affine_grid(theta, {3, 4}, true));
  c.refused("affine_grid", {theta}, {{"sizes", 3}}, [&] { affine_grid(theta, {3}); });
}
const bool added = named_cases(add_grid_sample_cases);

}  // namespace
}  // namespace weft::test
