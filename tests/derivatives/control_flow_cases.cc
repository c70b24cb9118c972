// Derivatives of branches and loops.
#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/creation.h"
#include "weft/graph.h"

namespace weft::test {

void add_control_flow_derivatives(DerivativeCases& cases) {
  using Operands = std::span<const Tensor>;
  const auto add = [&](DerivativeCase c) { cases.push_back(std::move(c)); };
  const auto list = [](const auto&... t) { return std::vector<Tensor>{t...}; };

  add({.name = "cond",
       .shapes = {{3, 4}, {4}, {3}},
       .function =
           [=](Operands x) {
             const auto [a, b] = cond(
                 sum(x[2]) > 0, [&](const Tensor& t) { return std::pair(t * x[1], sin(t)); },
                 [&](const Tensor& t) { return std::pair(t + exp(x[1]), t * t); }, x[0]);
             return list(a, sum(b, {0}));
           },
       .apart = 0.01});
  // A condition for each entry of a batch.
  add({.name = "cond_of_an_operand",
       .shapes = {{2}, {2}},
       .function =
           [=](Operands x) {
             return list(cond(sum(x[0]) > sum(x[1]), [&] { return x[0] * x[1]; }, [&] { return sin(x[1]) - x[0]; }));
           },
       .apart = 0.1});
  add({.name = "fori_loop", .shapes = {{3}, {3, 3}}, .function = [=](Operands x) {
         return list(fori_loop(
             2, 6,
             [&](const Tensor& i, const Tensor& v) { return tanh(matmul(x[1], v)) * (0.3f * cast(i, v.dtype())); },
             x[0]));
       }});
  add({.name = "scan", .shapes = {{2}, {4, 2}, {2}}, .function = [=](Operands x) {
         const auto [last, all] = scan(
             [&](const Tensor& s, const Tensor& u) {
               const Tensor next = sin(s) * x[2] + u;
               return std::pair(next, std::pair(next * u, sum(s)));
             },
             x[0], x[1]);
         return list(last, all.first, all.second);
       }});
  add({.name = "scan_reverse", .shapes = {{2}, {4, 2}}, .function = [=](Operands x) {
         const auto [last, all] =
             scan([](const Tensor& s, const Tensor& u) { return std::pair(s * u, s + u); }, x[0], x[1], true);
         return list(last, all);
       }});
  // Carries of integers, a branch and a loop in a loop.
  add({.name = "nested_loops",
       .shapes = {{2}, {2}},
       .function =
           [=](Operands x) {
             using State = std::pair<Tensor, Tensor>;
             const State s = fori_loop(
                 0, 3,
                 [&](const Tensor& i, const State& t) {
                   const Tensor inner = fori_loop(
                       0, 2, [&](const Tensor& j, const Tensor& v) { return v * x[1] + cast(i + j, v.dtype()); },
                       t.first);
                   return State(
                       cond(t.second % 2 == 0, [&] { return sin(inner); }, [&] { return inner * x[0]; }), t.second + 1);
                 },
                 State(x[0], zeros({}, DType::i32)));
             return list(s.first);
           },
       .tolerance = 4});  // numbers grow to some ten
}

}  // namespace weft::test
