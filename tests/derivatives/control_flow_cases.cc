// Derivatives of branches and loops.
#include "derivatives/cases.h"
#include "weft/array.h"
#include "weft/control_flow.h"
#include "weft/creation.h"
#include "weft/derivatives.h"
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
  // No turns, one turn, a carry that stays as it is, results that nobody uses.
  add({.name = "few_turns", .shapes = {{3}, {3}}, .function = [=](Operands x) {
         const auto step = [&](const Tensor& s) { return std::pair(sin(s) * x[1], std::pair(s + x[1], s)); };
         const auto none = scan(step, x[0], 0), one = scan(step, x[0], 1);
         using Two = std::pair<Tensor, Tensor>;
         const Two still = fori_loop(
             0, 3, [](const Tensor&, const Two& s) { return Two(s.first * s.second, s.second); }, Two(x[0], x[1]));
         return list(none.first, one.first, one.second.first, still.first, still.second);
       }});

  // ---- Checkpoints in branches and loops, and the other way round
  const auto wave = [](const Tensor& s, const Tensor& w) { return tanh(matmul(w, sin(s))); };
  add({.name = "checkpoint_in_scan", .shapes = {{3}, {2, 3}, {3, 3}}, .function = [=](Operands x) {
         // One operand of the checkpoint is an argument, one is captured from outside of the loop.
         const auto step = checkpoint([=, w = x[2]](const Tensor& s, const Tensor& u) { return wave(s, w) * u; });
         const auto [last, all] = scan(
             [&](const Tensor& s, const Tensor& u) {
               const Tensor next = step(s, u);
               return std::pair(next, next * s);
             },
             x[0], x[1]);
         return list(last, all);
       }});
  add({.name = "checkpoint_in_cond", .shapes = {{3}, {3, 3}}, .function = [=](Operands x) {
         const auto f = checkpoint([=, w = x[1]](const Tensor& t) { return wave(wave(t, w), w); });
         return list(
             cond(sum(x[0]) > -9, [&](const Tensor& t) { return f(t) * t; }, [](const Tensor& t) { return t; }, x[0]));
       }});
  add({.name = "loops_in_checkpoint", .shapes = {{3}, {2, 3}, {3, 3}}, .function = [=](Operands x) {
         const auto block = checkpoint([=, w = x[2]](const Tensor& s, const Tensor& us) {
           const Tensor begin = cond(sum(s) > -9, [&] { return wave(s, w); }, [&] { return s; });
           const Tensor more = fori_loop(0, 2, [&](const Tensor&, const Tensor& v) { return wave(v, w) + s; }, begin);
           return scan([&](const Tensor& v, const Tensor& u) { return std::pair(wave(v, w) * u, v); }, more, us);
         });
         const auto [last, all] = block(x[0], x[1]);
         return list(last, all);
       }});
  add({.name = "checkpoint_in_loop_in_checkpoint", .shapes = {{3}, {3, 3}}, .function = [=](Operands x) {
         const auto outer = checkpoint([=, w = x[1]](const Tensor& s) {
           const auto inner = checkpoint([=](const Tensor& v) { return wave(v, w) + s; });
           return fori_loop(0, 3, [&](const Tensor&, const Tensor& v) { return inner(v); }, s * 2);
         });
         return list(outer(x[0]));
       }});

  // ---- Derivatives inside of loops
  // Each turn follows the gradient of another scan, which takes the carry and what is captured by both.
  add({.name = "gradient_of_scan_in_scan", .shapes = {{2}, {3, 2}, {2, 2}}, .function = [=](Operands x) {
         const auto energy = [&](const Tensor& t) {
           const auto [last, all] = scan(
               [&](const Tensor& s, const Tensor& u) {
                 const Tensor next = wave(s, x[2]) + u;
                 return std::pair(next, next * t);
               },
               t, x[1]);
           return sum(last * last) + sum(sin(all));
         };
         const auto [last, all] = scan(
             [&](const Tensor& s, const Tensor& u) {
               const auto [e, g] = value_and_grad(energy)(s);
               const Tensor next = s - 0.2 * g * u;
               return std::pair(next, e);
             },
             x[0], x[1]);
         return list(last, all);
       }});
  add({.name = "tangent_of_cond_in_fori_loop", .shapes = {{3}, {3}}, .function = [=](Operands x) {
         const auto f = [&](const Tensor& t) {
           return cond(sum(t) > -90, [&] { return sin(t) * x[1]; }, [&] { return t; });
         };
         return list(
             fori_loop(0, 3, [&](const Tensor&, const Tensor& s) { return tanh(jvp(f)(s, x[1]).second) + s; }, x[0]));
       }});
  add({.name = "batches_in_scan", .shapes = {{2, 3}, {4, 3}, {3, 3}}, .function = [=](Operands x) {
         const auto [last, all] = scan(
             [&](const Tensor& s, const Tensor& u) {
               const Tensor next = vmap([&](const Tensor& row) { return wave(row, x[2]) * u; })(s);
               return std::pair(next, sum(next, {0}));
             },
             x[0], x[1]);
         return list(last, all);
       }});
}

}  // namespace weft::test
