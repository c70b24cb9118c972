#include "derivatives/cases.h"
#include "graph/graph.h"
#include "ops/index.h"
#include "weft/array.h"
#include "weft/creation.h"
#include "weft/evaluate.h"
#include "weft/graph.h"
#include "weft/indexing.h"

namespace weft::test {
namespace {

using Function = std::function<Tensor(std::span<const Tensor>)>;

Tensor integers(const Shape& shape, const std::vector<std::int32_t>& values, DType type = DType::i32) {
  return tensor(shape, values, type);
}
Tensor integers(const std::vector<std::int32_t>& values, DType type = DType::i32) {
  return integers({static_cast<std::int64_t>(values.size())}, values, type);
}
Tensor mask(const Shape& shape, const std::vector<std::int32_t>& values) {
  return integers(shape, values, DType::boolean);
}

// Indices in [-1, 3] that depend on x: of a batch each entry has its own. x's numbers are 0.05 apart, none is near a
// step.
Tensor indices_of(const Tensor& x) { return cast(floor(x + 1), DType::i32); }

void add_moves(DerivativeCases& cases) {
  const auto add = [&](std::string name, Shape shape, std::function<Tensor(const Tensor&)> f) {
    cases.push_back({.name = std::move(name), .shapes = {shape}, .function = [f](std::span<const Tensor> x) {
                       return std::vector{f(x[0]) * f(x[0])};
                     }});
  };
  constexpr std::string_view kModes[] = {"constant", "edge", "reflect", "symmetric", "wrap"};
  for (int m = 0; m < 5; ++m) {
    const auto mode = static_cast<PadMode>(m);
    const std::string name = "pad_" + std::string(kModes[m]);
    const auto padded = [&](std::string_view how, Shape shape, std::vector<std::int64_t> before,
                            std::vector<std::int64_t> after) {
      add(name + std::string(how), std::move(shape),
          [=](const Tensor& x) { return pad(x, before, after, mode, mode == PadMode::constant ? 3 : 0); });
    };
    padded("", {3, 4}, {1, 2}, {2, 0});
    padded("_far", {3, 2}, {8, 1}, {5, 7});
    padded("_and_crop", {5, 4}, {-2, 3}, {4, -1});
    padded("_cropped_away", {3, 2}, {4, 0}, {-5, 1});
    padded("_of_one", {1, 3}, {2, 0}, {3, 0});
    padded("_to_nothing", {3, 2}, {2, 1}, {-5, 0});
  }
  add("pad_crop", {4, 5},
      [](const Tensor& x) { return pad(x, std::vector<std::int64_t>{-1, 0}, std::vector<std::int64_t>{-1, -2}); });
  add("tile", {2, 3}, [](const Tensor& x) { return tile(x, {3, 2}); });
  add("tile_of_one", {1, 3}, [](const Tensor& x) { return tile(x, {3, 2}); });
  add("tile_none", {2, 3}, [](const Tensor& x) { return tile(x, {2, 0}); });
  add("tile_eight_axes", {1, 2, 1, 2, 1, 1, 2, 1}, [](const Tensor& x) { return tile(x, {1, 1, 1, 3, 1, 1, 2, 1}); });
  cases.back().batches = false;  // which would have nine axes
  add("repeat", {2, 3}, [](const Tensor& x) { return repeat(x, 3, 1); });
  add("repeat_rows", {2, 3}, [](const Tensor& x) { return repeat(x, 2, 0); });
  add("repeat_by_counts", {4, 2}, [](const Tensor& x) { return repeat(x, integers({2, 0, 1, 3}), 0); });
  add("roll", {4, 3}, [](const Tensor& x) { return roll(x, {1, -4}, {0, 1}); });
  add("roll_flat", {2, 3}, [](const Tensor& x) { return roll(x, 2); });
  add("tril", {2, 3, 4}, [](const Tensor& x) { return triangle(x, Triangle::lower, 1); });
  add("triu", {3, 4}, [](const Tensor& x) { return triangle(x, Triangle::upper, -1); });
  add("compress", {4, 2}, [](const Tensor& x) { return compress(mask({4}, {1, 0, 0, 1}), x, 0); });
  add("contiguous", {3, 2}, [](const Tensor& x) { return contiguous(x.permute({1, 0})) * 2; });
  add("split", {5, 2}, [](const Tensor& x) {
    const auto parts = split(x, std::vector<std::int64_t>{2, 0, 3}, 0);
    return concat({parts[2], parts[0], parts[1]}, 0);
  });
  cases.push_back({.name = "concat", .shapes = {{2, 3}, {2, 1}, {2, 0}}, .function = [](std::span<const Tensor> x) {
                     const Tensor parts[] = {x[0], x[1], x[0] * 2, x[2]};
                     return std::vector{square(concat(parts, 1))};
                   }});
  cases.push_back({.name = "stack", .shapes = {{2, 3}, {2, 3}}, .function = [](std::span<const Tensor> x) {
                     return std::vector{square(stack({x[0], x[1], x[0]}, 1))};
                   }});
}

void add_gathers(DerivativeCases& cases) {
  const auto add = [&](std::string name, std::vector<Shape> shapes, Function f) {
    cases.push_back({.name = std::move(name),
                     .shapes = std::move(shapes),
                     .function = [f](std::span<const Tensor> x) { return std::vector{square(f(x))}; },
                     .apart = 0.05});
  };
  using X = std::span<const Tensor>;
  add("gather", {{4, 3}}, [](X x) { return gather(x[0], integers({3, 0, 3, -1, -4, 1})); });
  add("gather_outside", {{4, 3}}, [](X x) { return gather(x[0], integers({9, -9, 4, -5, 2})); });
  add("gather_columns", {{2, 4, 2}}, [](X x) { return gather(x[0], integers({2, 2}, {1, 1, 0, -1}), 1); });
  add("gather_one", {{4, 3}}, [](X x) { return gather(x[0], integers(Shape{}, {2}), 1); });
  add("gather_none", {{4, 3}}, [](X x) { return gather(x[0], integers(Shape{0}, {})); });
  for (const DType type : {DType::i8, DType::u8, DType::u32, DType::i64, DType::u64}) {
    add("gather_by_" + std::string(name(type)), {{300, 1}},
        [type](X x) { return gather(x[0], integers({100, 3, 100, 127, 0}, type)); });
  }
  add("gather_elements", {{3, 4}}, [](X x) { return gather_elements(x[0], integers({3, 2}, {0, 0, -1, 2, 9, 1}), 1); });
  add("gather_elements_broadcast", {{3, 1, 2}},
      [](X x) { return gather_elements(x[0], integers({1, 4, 1}, {0, 0, -1, 0}), 1); });
  add("gather_elements_of_part", {{3, 4}}, [](X x) {
    return apply(make_op<SelectOp>(GatherAttributes{Selecting::elements, 1}),
                 {x[0], integers({2, 3}, {0, 3, 3, 1, 1, 1})});
  });
  add("gather_nd", {{3, 4, 2}}, [](X x) { return gather_nd(x[0], integers({3, 2}, {0, 1, -1, 3, 0, 1})); });
  add("gather_nd_outside", {{3, 4}}, [](X x) { return gather_nd(x[0], integers({3, 2}, {7, 1, 2, -9, 2, 0})); });
  add("gather_nd_batch", {{2, 3, 4}}, [](X x) { return gather_nd(x[0], integers({2, 2, 1}, {0, 0, -1, 2}), 1); });
  add("dynamic_slice", {{4, 5}}, [](X x) { return dynamic_slice(x[0], integers({1, 2}), {2, 2}, {1, 0}); });
  add("dynamic_slice_clamped", {{4, 5}}, [](X x) { return dynamic_slice(x[0], integers(Shape{}, {9}), {2, 3}, {0}); });

  // Indices that each entry of a batch has of its own, with operands of its own or shared ones.
  const auto add_both = [&](const std::string& name, Shape shape, Shape indices,
                            const std::function<Tensor(const Tensor&, const Tensor&)>& f) {
    add(name, {indices, shape}, [f](X x) { return f(x[1], indices_of(x[0])); });
    add(name + "_shared", {shape, indices}, [f](X x) { return f(x[0], indices_of(x[1])); });
  };
  using T = const Tensor&;
  add_both("gather_each", {4, 3}, {2, 2}, [](T x, T i) { return gather(x, i); });
  add_both("gather_each_column", {2, 4, 3}, {2, 2}, [](T x, T i) { return gather(x, i, 1); });
  add_both("gather_each_one", {2, 4}, {}, [](T x, T i) { return gather(x, i, 1); });
  add_both("gather_elements_each", {2, 4}, {2, 3}, [](T x, T i) { return gather_elements(x, i, 1); });
  add_both("gather_nd_each", {3, 2, 2}, {3, 2}, [](T x, T i) { return gather_nd(x, i); });
  add_both("gather_nd_batch_each", {2, 3, 2}, {2, 2, 1}, [](T x, T i) { return gather_nd(x, i, 1); });
  add_both("dynamic_slice_each", {4, 5, 3}, {1}, [](T x, T i) { return dynamic_slice(x, i, {4, 2, 2}, {1}); });
  add_both("dynamic_slice_each_scalar", {4, 5}, {}, [](T x, T i) { return dynamic_slice(x, i, {2, 5}, {0}); });
  add_both("dynamic_slice_each_axes", {4, 2, 5}, {2}, [](T x, T i) { return dynamic_slice(x, i, {2, 2, 3}, {2, 0}); });
}

void add_scatters(DerivativeCases& cases) {
  using X = std::span<const Tensor>;
  const auto add = [&](std::string name, std::vector<Shape> shapes, Function f) {
    cases.push_back({.name = std::move(name),
                     .shapes = std::move(shapes),
                     .function = [f](X x) { return std::vector{square(f(x))}; },
                     .apart = 0.05});
  };
  for (int k = 0; k < 5; ++k) {
    const auto op = static_cast<ScatterKind>(k);
    const std::string of = "_" + std::string(kernels::kScatterKinds[k]);
    add("scatter" + of, {{4, 2}, {5, 2}}, [op](X x) { return scatter(op, x[0], integers({1, 3, 1, -1, 9}), x[1]); });
    add("scatter_columns" + of, {{2, 3, 2}, {2, 2, 2, 2}},
        [op](X x) { return scatter(op, x[0], integers({2, 2}, {1, 1, -1, -9}), x[1], 1); });
    add("scatter_elements" + of, {{3, 3}, {2, 4}}, [op](X x) {
      return apply(make_op<ScatterOp>(ScatterAttributes{{Selecting::elements, 1}, op}),
                   {x[0], integers({2, 4}, {0, 0, -1, 7, 2, 1, 2, 2}), x[1]});
    });
    add("scatter_elements_down" + of, {{4, 3}, {3, 3}},
        [op](X x) { return scatter_elements(op, x[0], integers({3, 3}, {0, 0, -1, 0, 7, 2, 1, 2, 2}), x[1], 0); });
    add("scatter_nd" + of, {{2, 3, 2}, {4, 2}},
        [op](X x) { return scatter_nd(op, x[0], integers({4, 2}, {0, 1, -1, 2, 0, 1, 0, 5}), x[1]); });
    add("scatter_nd_batch" + of, {{2, 3}, {2, 3}},
        [op](X x) { return scatter_nd(op, x[0], integers({2, 3, 1}, {0, 0, 2, -1, 1, -1}), x[1], 1); });
    add("scatter_none" + of, {{4, 2}, {0, 2}}, [op](X x) { return scatter(op, x[0], integers(Shape{0}, {}), x[1]); });
    // Each entry of a batch has its own indices; the last operand is shared in turn.
    add("scatter_each" + of, {{3, 4}, {3, 3}, {3}},
        [op](X x) { return scatter(op, x[0].permute({1, 0}), indices_of(x[2]), x[1].permute({1, 0}), 0); });
    add("scatter_each_column" + of, {{3}, {2, 3, 2}, {2, 4, 2}},
        [op](X x) { return scatter(op, x[2], indices_of(x[0]), x[1], 1); });
    add("scatter_elements_each" + of, {{2, 3}, {2, 4}, {2, 3}},
        [op](X x) { return scatter_elements(op, x[1], indices_of(x[0]), x[2], 1); });
    add("scatter_nd_each" + of, {{3, 2}, {3, 2, 2}, {3, 2}},
        [op](X x) { return scatter_nd(op, x[1], clamp(indices_of(x[0]), -1, 1), x[2]); });
  }
  add("dynamic_update_slice", {{4, 5}, {2, 2}},
      [](X x) { return dynamic_update_slice(x[0], x[1], integers({1, 2}), {1, 0}); });
  add("dynamic_update_slice_clamped", {{4, 5}, {2, 3}},
      [](X x) { return dynamic_update_slice(x[0], x[1], integers(Shape{}, {-3}), {0}); });
  add("dynamic_update_slice_each", {{4, 5, 3}, {4, 2, 2}, {1}},
      [](X x) { return dynamic_update_slice(x[0], x[1], indices_of(x[2]), {1}); });
  add("dynamic_update_slice_each_axes", {{2}, {2, 2, 3}, {4, 2, 5}},
      [](X x) { return dynamic_update_slice(x[2], x[1], indices_of(x[0]), {2, 0}); });
}

// x[…], and the updates of weft/indexing.h.
void add_index_expressions(DerivativeCases& cases) {
  using X = std::span<const Tensor>;
  const struct {
    const char* name;
    Shape x, chosen;
    std::function<Indices()> at;
    bool repeats = false;
  } places[] = {
      {"integers", {3, 4}, {4}, [] { return Indices{1}; }},
      {"slices", {4, 5}, {2, 4}, [] { return Indices{slice(1, 3), slice(none, -1)}; }},
      {"steps", {5, 7}, {3, 3}, [] { return Indices{slice(none, none, 2), slice(1, 6, 2)}; }},
      {"steps_back", {5, 7}, {5, 3}, [] { return Indices{slice(none, none, -1), slice(5, none, -2)}; }},
      {"one_element", {3, 4}, {}, [] { return Indices{-1, 2}; }},
      {"new_axes", {3, 4}, {3, 1, 1}, [] { return Indices{newaxis, all, 1, ellipsis, newaxis}; }},
      {"empty_slice", {3, 4}, {3, 0}, [] { return Indices{all, slice(2, 2)}; }},
      {"tensor", {4, 3}, {3, 3}, [] { return Indices{integers({3, 0, 1})}; }},
      {"tensor_repeated", {4, 3}, {5, 3}, [] { return Indices{integers({3, 0, 3, -1, 0})}; }, true},
      {"tensor_columns", {2, 4}, {2, 2, 2}, [] { return Indices{all, integers({2, 2}, {1, 1, 0, -1})}; }, true},
      {"tensors", {3, 4, 2}, {3, 2}, [] { return Indices{integers({0, -1, 0}), integers({1, 3, 1})}; }, true},
      {"tensors_apart", {3, 2, 4}, {2, 2}, [] { return Indices{integers({0, 2}), all, integers({1, 3})}; }},
      {"tensor_and_steps", {4, 7}, {3, 3}, [] { return Indices{integers({1, 1, 2}), slice(5, none, -2)}; }, true},
      {"no_indices", {4, 3}, {0, 3}, [] { return Indices{integers(Shape{0}, {})}; }},
      {"mask", {2, 3}, {3}, [] { return Indices{mask({2, 3}, {1, 0, 1, 0, 1, 0})}; }},
      {"mask_of_rows", {4, 2}, {2, 2}, [] { return Indices{mask({4}, {0, 1, 1, 0})}; }},
      {"mask_of_columns", {2, 4}, {2, 2}, [] { return Indices{all, mask({4}, {0, 1, 0, 1})}; }},
      {"mask_of_none", {4, 2}, {0, 2}, [] { return Indices{mask({4}, {0, 0, 0, 0})}; }},
  };
  for (const auto& c : places) {
    const auto add = [&](const char* function, std::vector<Shape> shapes, Function f) {
      cases.push_back({.name = std::string("index_") + c.name + function,
                       .shapes = std::move(shapes),
                       .function = [f](X x) { return std::vector{square(f(x))}; },
                       .apart = 0.05});
    };
    const auto at = c.at;
    Shape chosen = c.chosen;
    if (std::string_view(c.name) == "new_axes") chosen = {1, 3, 1};
    add("", {c.x}, [at](X x) { return x[0][at()]; });
    add("_set", {c.x, chosen}, [at](X x) { return at_set(x[0], at(), x[1]); });
    add("_add", {c.x, chosen}, [at](X x) { return at_add(x[0], at(), x[1]); });
    add("_max", {c.x, chosen}, [at](X x) { return at_max(x[0], at(), x[1]); });
    add("_min", {c.x, {}}, [at](X x) { return at_min(x[0], at(), x[1]); });
    add("_set_number", {c.x}, [at](X x) { return at_set(x[0], at(), 2); });
    add("_add_in_place", {c.x, {}}, [at](X x) {
      Tensor y = x[0] * 2;
      y.add_at(at(), x[1]);
      return y * x[0];
    });
  }
  // What is chosen depends on the values, which vmap has not.
  cases.push_back({.name = "index_positive",
                   .shapes = {{3, 4}},
                   .function = [](X x) { return std::vector{square(x[0][x[0] > 0])}; },
                   .apart = 0.05,
                   .batches = false});
  cases.push_back({.name = "compress_positive",
                   .shapes = {{5}, {5, 2}},
                   .function = [](X x) { return std::vector{square(compress(x[0] > 0, x[1], 0)), x[0]}; },
                   .apart = 0.05,
                   .batches = false});
  cases.push_back({.name = "index_negative_set",
                   .shapes = {{3, 4}, {}},
                   .function = [](X x) { return std::vector{square(at_set(x[0], x[0] < 0, x[1]))}; },
                   .apart = 0.05});
}

}  // namespace

void add_index_derivatives(DerivativeCases& cases) {
  add_moves(cases);
  add_gathers(cases);
  add_scatters(cases);
  add_index_expressions(cases);
}

}  // namespace weft::test
