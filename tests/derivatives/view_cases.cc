#include "derivatives/cases.h"
#include "ops/identity.h"
#include "ops/view.h"
#include "weft/array.h"
#include "weft/derivatives.h"
#include "weft/graph.h"
#include "weft/indexing.h"

namespace weft::test {

void add_view_derivatives(DerivativeCases& cases) {
  const auto add = [&](std::string name, Shape shape, std::function<Tensor(const Tensor&)> f) {
    cases.push_back({.name = std::move(name), .shapes = {shape}, .function = [f](std::span<const Tensor> x) {
                       return std::vector{f(x[0])};
                     }});
  };
  add("reshape", {2, 3}, [](const Tensor& x) { return x.reshape({3, 2}) * 2; });
  add("permute", {2, 3, 2}, [](const Tensor& x) { return square(x.permute({2, 0, 1})); });
  add("broadcast", {2, 1}, [](const Tensor& x) { return square(x.broadcast_to({3, 2, 2})); });
  add("broadcast_scalar", {}, [](const Tensor& x) { return sin(x.broadcast_to({3})); });
  add("slice", {5}, [](const Tensor& x) { return square(slice(x, 0, 1, 4)); });
  add("slice_steps", {7, 2}, [](const Tensor& x) { return square(slice(x, 0, 1, 6, 2)); });
  add("slice_backwards", {7}, [](const Tensor& x) { return square(slice(x, 0, 5, -1, -3)); });
  add("slice_one", {7}, [](const Tensor& x) { return square(slice(x, 0, 2, 3, 4)); });
  add("flip", {2, 3}, [](const Tensor& x) { return square(flip(x, 1)) * x; });
  add("diagonal", {3, 4}, [](const Tensor& x) { return square(diagonal(x, 1)); });
  add("windows", {2, 11, 2}, [](const Tensor& x) { return square(windows(x, {1, 3, 2, 3})); });
  add("windows_of_one", {5}, [](const Tensor& x) { return square(windows(x, {0, 1, 4, 9})); });
  cases.push_back({.name = "windows_complex",
                   .shapes = {{9}, {9}},
                   .function =
                       [](std::span<const Tensor> x) {
                         const Tensor y = windows(complex(x[0], x[1]), {0, 4, 3, 1});
                         return std::vector{real(y) * imag(y)};
                       },
                   .on_f64 = false});
  add("overlapping", {4}, [](const Tensor& x) { return slice(x, 0, 0, 3) * slice(x, 0, 1, 4) + x[{2}]; });
  add("barrier", {3}, [](const Tensor& x) { return square(identity(x, IdentityKind::barrier)) * identity(x); });
  // What is taken off and added again has no derivative.
  add("stop_gradient", {4}, [](const Tensor& x) {
    const Tensor top = stop_gradient(max(x));
    return log(sum(exp(x - top))) + top;
  });
  add("empty", {0, 3}, [](const Tensor& x) { return square(x); });
}

}  // namespace weft::test
