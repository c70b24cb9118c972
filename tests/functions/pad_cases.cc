#include "functions/named_cases.h"
#include "weft/graph.h"

namespace weft::test {
namespace {

void add_pad_cases(NamedCases& c) {
  const Tensor i = c.integers({2, 3});
  c.same("one_hot", {i}, {{"classes", 5}, {"dtype", "f16"}, {"axis", 1}, {"on", 2}, {"off", -0.5}},
         one_hot(i, 5, DType::f16, 1, 2, -0.5));
  c.same("one_hot", {i}, {{"classes", 7}}, one_hot(i, 7));
  c.refused("one_hot", {i}, {{"classes", -1}}, [&] { one_hot(i, -1); });
  c.refused("one_hot", {i}, {{"classes", 2}, {"axis", 3}}, [&] { one_hot(i, 2, DType::f32, 3); });

  c.same("arange", {}, {{"start", 1}, {"stop", 2.5}, {"step", 0.25}, {"dtype", "f16"}},
         arange(1, 2.5, 0.25, DType::f16));
  c.same("arange", {}, {{"start", 5}, {"stop", -5}, {"step", -3}}, arange(5, -5, -3));
  c.same("arange", {}, {{"start", 5}}, arange(0, 5));
  c.refused("arange", {}, {{"start", 0}, {"stop", 1}, {"step", 0}}, [] { arange(0, 1, 0); });

  c.same("linspace", {}, {{"start", 1}, {"stop", -2}, {"count", 7}, {"dtype", "f16"}, {"endpoint", 0}},
         linspace(1, -2, 7, DType::f16, false));
  c.same("linspace", {}, {{"start", 1}, {"stop", 2}, {"count", 3}}, linspace(1, 2, 3));
  c.refused("linspace", {}, {{"start", 0}, {"stop", 1}, {"count", -1}}, [] { linspace(0, 1, -1); });
  c.refused("linspace", {}, {{"start", 0}, {"stop", 1}, {"count", 2}, {"dtype", "i32"}},
            [] { linspace(0, 1, 2, DType::i32); });

  const Tensor matrix = c.floats({2, 3});
  c.same("repeat", {matrix}, {{"count", 2}, {"axis", -1}}, repeat(matrix, 2, -1));
  c.refused("repeat", {matrix}, {{"count", -1}, {"axis", 0}}, [&] { repeat(matrix, -1, 0); });
  c.refused("repeat", {matrix}, {{"count", 1}, {"axis", 2}}, [&] { repeat(matrix, 1, 2); });

  c.same("eye", {}, {{"rows", 3}, {"columns", 4}, {"dtype", "i32"}, {"diagonal", 1}}, eye(3, 4, DType::i32, 1));
  c.same("eye", {}, {{"rows", 3}}, eye(3, 3));
  c.refused("eye", {}, {{"rows", -1}}, [] { eye(-1, -1); });
  c.same("triangle_matrix", {}, {{"rows", 3}, {"columns", 4}, {"dtype", "f16"}, {"part", "upper"}, {"diagonal", -1}},
         triangle(3, 4, DType::f16, Triangle::upper, -1));
  c.same("triangle_matrix", {}, {{"rows", 3}, {"columns", 2}, {"dtype", "bool"}},
         triangle(3, 2, DType::boolean, Triangle::lower));
  c.refused("triangle_matrix", {}, {{"rows", 2}, {"columns", -2}, {"dtype", "f32"}},
            [] { triangle(2, -2, DType::f32, Triangle::lower); });
}
const bool added = named_cases(add_pad_cases);

}  // namespace
}  // namespace weft::test
