#include "functions/named_cases.h"
#include "weft/graph.h"
#include "weft/resampling.h"

namespace weft::test {
namespace {

void add_fold_cases(NamedCases& c) {
  using Integers = std::vector<std::int64_t>;
  const Tensor x = c.floats({2, 3, 6, 5});
  const WindowOptions options{.strides = {2, 1}, .dilations = {1, 2}, .padding = {1, 0}, .padding_after = {0, 1}};
  AttributeMap named = {{"window", Integers{3, 2}},
                        {"strides", Integers{2, 1}},
                        {"dilations", Integers{1, 2}},
                        {"padding", Integers{1, 0}},
                        {"padding_after", Integers{0, 1}}};
  const Tensor columns = unfold(x, {3, 2}, options);
  c.same("unfold", {x}, named, columns);
  c.same("unfold", {x}, {{"window", Integers{2, 2}}}, unfold(x, {2, 2}));
  c.refused("unfold", {x}, {{"window", 2}}, [&] { unfold(x, {2}); });
  named["sizes"] = Integers{6, 5};
  c.same("fold_columns", {columns}, named, fold(columns, {6, 5}, {3, 2}, options));
  c.refused("fold_columns", {x}, named, [&] { fold(x, {6, 5}, {3, 2}, options); });
}
const bool added = named_cases(add_fold_cases);

}  // namespace
}  // namespace weft::test
