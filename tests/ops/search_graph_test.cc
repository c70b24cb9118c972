// searchsorted() of tensors on every device: types, shapes, errors, batches of values and of lists.
#include <gmock/gmock.h>

#include <optional>

#include "graph/node.h"
#include "support/on_device.h"
#include "support/throws.h"
#include "weft/weft.h"

namespace weft::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(SearchInfer, TypesAndShapes) {
  Graph g;
  const Tensor list = g.input("list", DType::f16, {9}), values = g.input("values", DType::f16, {2, 5});
  const Tensor found = searchsorted(list, values, Side::right);
  EXPECT_EQ(found.type(), (TensorType{DType::i32, {2, 5}}));
  EXPECT_EQ(found.node()->op().to_string(), "searchsorted{side=right}");
  EXPECT_THAT(refused_by([&] { searchsorted(values, list); }), HasSubstr("searchsorted: f16 [2, 5] is not of rank 1"));
  EXPECT_THAT(refused_by([&] { searchsorted(g.input("z", DType::c64, {3}), list); }), HasSubstr("searchsorted: "));
  EXPECT_THAT(refused_by([&] { searchsorted({}, values); }), HasSubstr("undefined Tensor"));
}

class SearchOnDevice : public OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, SearchOnDevice, testing::ValuesIn(all_devices()),
                         [](const auto& i) { return i.param; });

TEST_P(SearchOnDevice, BatchesOfValuesAndOfLists) {
  const Tensor lists = tensor({{1, 3, 5, 7}, {2, 2, 4, 9}}, DType::f32);
  const Tensor values = tensor({{0, 3, 8}, {2, 4, 10}}, DType::f32);
  const BatchAxes both{{0, 0}}, of_values{{std::nullopt, 0}}, of_lists{{0, std::nullopt}};
  const auto search = [](const Tensor& a, const Tensor& v) { return searchsorted(a, v, Side::right); };
  EXPECT_THAT(vmap(search, both)(lists, values).read<std::int32_t>(), ElementsAre(0, 2, 4, 2, 3, 4));
  EXPECT_THAT(vmap(search, of_values)(lists[0], values).read<std::int32_t>(), ElementsAre(0, 2, 4, 1, 2, 4));
  EXPECT_THAT(vmap(search, of_lists)(lists, values[0]).read<std::int32_t>(), ElementsAre(0, 2, 4, 0, 2, 3));
  // Positions have no derivative.
  EXPECT_THAT(
      grad([&](const Tensor& v) { return sum(v * cast(search(lists[0], v), DType::f32)); })(values[0]).read<float>(),
      ElementsAre(0, 2, 4));
  EXPECT_THAT(call("searchsorted", {lists[1], cast(values[0], DType::i32)}).at(0).read<std::int32_t>(),
              ElementsAre(0, 2, 3));
}

}  // namespace
}  // namespace weft::test
