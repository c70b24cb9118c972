#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
#include "weft/indexing.h"

namespace weft::test {
namespace {

using Integers = std::vector<std::int64_t>;

void add_array_cases(NamedCases& c) {
  const Tensor x = c.floats({3, 4, 5}), v = c.floats({4}), matrix = c.floats({3, 4}), numbers = c.integers({3, 4});
  const Tensor truth = c.bools({3, 4}), u64 = c.integers({3, 4}, DType::u64), i64 = c.integers({3, 4}, DType::i64);
  const AttributeMap rows = {{"axes", Integers{0, -1}}, {"keep_dims", Number(1)}};
  const Axes over = {0, -1};

  c.same("full_like", {x}, {{"value", Number(2.5)}, {"dtype", std::string("f16")}}, full_like(x, 2.5, DType::f16));
  c.same("full_like", {numbers}, {{"value", Number(2.5)}}, full_like(numbers, 2.5));
  c.same("zeros_like", {x}, {{"dtype", std::string("i32")}}, zeros_like(x, DType::i32));
  c.same("ones_like", {x}, {{"dtype", std::string("i32")}}, ones_like(x, DType::i32));
  c.same("meshgrid", {v, numbers[{0}]}, {{"order", std::string("ij")}}, meshgrid({v, numbers[{0}]}, GridOrder::ij));
  c.same("meshgrid", {v, numbers[{0}]}, {}, meshgrid({v, numbers[{0}]}));
  c.refused("meshgrid", {v, matrix}, {}, [&] { meshgrid({v, matrix}); });
  c.same("tril", {x}, {{"diagonal", Number(1)}}, tril(x, 1));
  c.same("triu", {x}, {{"diagonal", Number(-1)}}, triu(x, -1));
  c.refused("tril", {v}, {}, [&] { tril(v); });

  c.same("where", {truth, numbers, TensorLike(2.5)}, {}, where(truth, numbers, 2.5));
  const AttributeMap near = {{"rtol", Number(0.25)}, {"atol", Number(0.5)}, {"equal_nan", Number(1)}};
  c.same("isclose", {matrix, v}, near, isclose(matrix, v, 0.25, 0.5, true));
  c.same("isclose", {numbers, TensorLike(2.5)}, {}, isclose(numbers, 2.5));
  c.same("allclose", {matrix, v}, near, allclose(matrix, v, 0.25, 0.5, true));
  c.same("allclose", {TensorLike(3), numbers}, {}, allclose(3, numbers));
  c.refused("isclose", {matrix, x}, {}, [&] { isclose(matrix, x); });
  c.refused("allclose", {matrix, v}, {{"rtol", Number(-1)}}, [&] { allclose(matrix, v, -1); });
  c.same("divide", {numbers, TensorLike(3)}, {}, divide(numbers, 3));
  c.same("divide", {numbers, v}, {}, divide(numbers, v));
  c.refused("divide", {u64, i64}, {}, [&] { divide(u64, i64); });
  c.same("positive", {x}, {}, positive(x));

  AttributeMap in_type = rows;
  in_type["dtype"] = "f16";
  c.same("sum", {x}, in_type, sum(x, over, true, DType::f16));
  c.same("sum", {truth}, {}, sum(truth));
  c.same("prod", {x}, in_type, prod(x, over, true, DType::f16));
  c.same("mean", {x}, rows, mean(x, over, true));
  c.same("mean", {numbers}, {}, mean(numbers));
  c.same("max", {x}, rows, max(x, over, true));
  c.same("min", {x}, rows, min(x, over, true));
  c.same("any", {x}, rows, any(x, over, true));
  c.same("all", {x}, rows, all(x, over, true));
  c.same("count_nonzero", {x}, rows, count_nonzero(x, over, true));
  const AttributeMap running = {{"axis", Number(1)}, {"dtype", std::string("i64")}, {"include_initial", Number(1)}};
  c.same("cumulative_sum", {numbers}, running, cumulative_sum(numbers, 1, DType::i64, true));
  c.same("cumulative_prod", {numbers}, running, cumulative_prod(numbers, 1, DType::i64, true));
  c.same("cumulative_sum", {v}, {}, cumulative_sum(v));
  const Tensor first = c.floats({1, 4}), last = c.integers({2, 4});
  c.same("diff", {matrix, first, last}, {{"axis", Number(0)}, {"n", Number(2)}}, diff(matrix, 0, 2, first, last));
  c.same("diff", {truth}, {}, diff(truth));
  c.refused("sum", {x}, {{"axes", Number(3)}}, [&] { sum(x, 3); });
  c.refused("max", {truth}, {}, [&] { max(truth); });
  c.refused("cumulative_sum", {x}, {}, [&] { cumulative_sum(x); });
  c.refused("diff", {x}, {{"n", Number(-1)}}, [&] { diff(x, -1, -1); });

  c.same("broadcast_arrays", {matrix, v}, {}, broadcast_arrays(std::vector{matrix, v}));
  c.same("expand_dims", {matrix}, {{"axes", Integers{0, -1}}}, expand_dims(matrix, {0, -1}));
  const Tensor wide = expand_dims(matrix, {0, -1});
  c.same("squeeze", {wide}, {{"axes", Integers{0, -1}}}, squeeze(wide, {0, -1}));
  c.same("concat", {matrix, numbers}, {{"axis", Number(1)}}, concat({matrix, numbers}, 1));
  c.same("concat", {matrix, first}, {}, concat({matrix, first}));
  c.same("concat_flattened", {matrix, v}, {}, concat({matrix, v}, std::nullopt));
  c.same("stack", {matrix, numbers}, {{"axis", Number(-1)}}, stack({matrix, numbers}, -1));
  c.same("unstack", {x}, {{"axis", Number(1)}}, unstack(x, 1));
  c.same("flip", {x}, {{"axes", Integers{0, 2}}}, flip(x, {0, 2}));
  c.same("flip", {x}, {}, flip(x));
  c.same("flatten_axes", {x}, {{"first", Number(1)}}, flatten_axes(x, 1));
  c.same("flatten_axes", {x}, {{"first", Number(0)}, {"last", Number(-2)}}, flatten_axes(x, 0, 1));
  c.refused("flatten_axes", {x}, {{"first", Number(2)}, {"last", Number(0)}}, [&] { flatten_axes(x, 2, 0); });
  c.same("unflatten", {x}, {{"axis", Number(1)}, {"sizes", Integers{2, -1}}}, unflatten(x, 1, {2, -1}));
  c.same("unflatten", {x}, {{"axis", Number(-1)}, {"sizes", Integers{5, 1}}}, unflatten(x, 2, {5, 1}));
  c.refused("unflatten", {x}, {{"axis", Number(1)}, {"sizes", Integers{3, -1}}}, [&] { unflatten(x, 1, {3, -1}); });
  c.same("moveaxis", {x}, {{"from", Integers{0, 1}}, {"to", Integers{-1, 0}}}, moveaxis(x, {0, 1}, {-1, 0}));
  c.same("flatten", {x}, {}, flatten(x));
  c.same("roll", {x}, {{"shifts", Integers{1, -2}}, {"axes", Integers{2, 0}}}, roll(x, {1, -2}, {2, 0}));
  c.same("roll", {x}, {{"shifts", Integers{1, 2, 3}}}, roll(x, Integers{1, 2, 3}));
  c.same("roll_flattened", {x}, {{"shift", Number(7)}}, roll(x, 7));
  c.same("tile", {matrix}, {{"counts", Integers{2, 1, 3}}}, tile(matrix, {2, 1, 3}));
  c.same("repeat_flattened", {matrix}, {{"count", Number(3)}}, repeat(matrix, 3));
  c.same("diagonal", {x}, {{"offset", Number(1)}}, diagonal(x, 1));
  c.refused("squeeze", {x}, {{"axes", Number(1)}}, [&] { squeeze(x, Axes(1)); });
  c.refused("concat", {matrix, last}, {{"axis", Number(1)}}, [&] { concat({matrix, last}, 1); });
  c.refused("concat_flattened", {u64, i64}, {}, [&] { concat({u64, i64}, std::nullopt); });
  c.refused("stack", {matrix, v}, {}, [&] { stack({matrix, v}); });
  c.refused("moveaxis", {x}, {{"from", Integers{0, 1}}, {"to", Number(2)}}, [&] { moveaxis(x, {0, 1}, 2); });
  c.refused("roll", {x}, {{"shifts", Integers{1, 2}}, {"axes", Number(0)}}, [&] { roll(x, {1, 2}, 0); });
  c.refused("tile", {x}, {{"counts", Integers{1, -1}}}, [&] { tile(x, {1, -1}); });
  c.refused("repeat_flattened", {x}, {{"count", Number(-1)}}, [&] { repeat(x, -1); });
  c.refused("diagonal", {v}, {}, [&] { diagonal(v); });

  const Tensor sorted = tensor({-1.0f, 0.0f, 0.0f, 0.5f});
  c.same("searchsorted", {sorted, x}, {{"side", std::string("right")}}, searchsorted(sorted, x, Side::right));
  c.same("searchsorted", {sorted, numbers}, {}, searchsorted(sorted, numbers));
  c.refused("searchsorted", {matrix, x}, {}, [&] { searchsorted(matrix, x); });
}
const bool added = named_cases(add_array_cases);

}  // namespace
}  // namespace weft::test
