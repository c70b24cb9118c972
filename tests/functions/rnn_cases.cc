#include "functions/named_cases.h"
#include "weft/recurrent.h"

namespace weft::test {
namespace {

void add_rnn_cases(NamedCases& c) {
  const Tensor x = c.floats({2, 3}), h = c.floats({2, 4}), cell = c.floats({2, 4});
  const auto w = [&](std::int64_t gates) { return c.floats({gates * 4, 3}); };
  const auto r = [&](std::int64_t gates) { return c.floats({gates * 4, 4}); };
  const auto bias = [&](std::int64_t gates) { return c.floats({gates * 4}); };

  const Tensor w4 = w(4), r4 = r(4), b4 = bias(4), rb4 = bias(4), peephole = bias(3);
  c.same(
      "lstm_cell", {x, w4, r4, b4, rb4, h, cell, peephole},
      {{"gates", "iofg"},
       {"gate_activation", "hard_sigmoid(0.25, 0.5)"},
       {"cell_activation", "softsign"},
       {"output_activation", "relu"},
       {"clip", 1.5},
       {"coupled", 1},
       {"output_peephole_after", 0}},
      lstm_cell(x, w4, r4, {.bias = b4, .recurrent_bias = rb4, .initial_h = h, .initial_c = cell, .peephole = peephole},
                {.gates = LstmGates::iofg,
                 .gate_activation = {RnnFunction::hard_sigmoid, 0.25, 0.5},
                 .cell_activation = RnnFunction::softsign,
                 .output_activation = RnnFunction::relu,
                 .clip = 1.5,
                 .coupled = true,
                 .output_peephole_after = false}));
  c.same("lstm_cell", {x, w4, r4, Tensor(), Tensor(), h}, {}, lstm_cell(x, w4, r4, {.initial_h = h}));
  c.refused("lstm_cell", {x, r4, w4}, {}, [&] { lstm_cell(x, r4, w4); });

  const Tensor w3 = w(3), r3 = r(3), b3 = bias(3), rb3 = bias(3);
  c.same("gru_cell", {x, w3, r3, b3, rb3, h},
         {{"gates", "zrn"},
          {"gate_activation", "hard_sigmoid(0.25, 0.5)"},
          {"candidate_activation", "softsign"},
          {"clip", 1.5},
          {"reset_after", 0}},
         gru_cell(x, w3, r3, {.bias = b3, .recurrent_bias = rb3, .initial_h = h},
                  {.gates = GruGates::zrn,
                   .gate_activation = {RnnFunction::hard_sigmoid, 0.25, 0.5},
                   .candidate_activation = RnnFunction::softsign,
                   .clip = 1.5,
                   .reset_after = false}));
  c.refused("gru_cell", {h, w3, r3}, {}, [&] { gru_cell(h, w3, r3); });

  const Tensor w1 = w(1), r1 = r(1), b1 = bias(1), rb1 = bias(1);
  c.same("rnn_cell", {x, w1, r1, b1, rb1, h}, {{"activation", "relu"}, {"clip", 1.5}},
         rnn_cell(x, w1, r1, {.bias = b1, .recurrent_bias = rb1, .initial_h = h},
                  {.activation = RnnFunction::relu, .clip = 1.5}));
  const Tensor steps = c.floats({5, 2, 3});
  c.refused("rnn_cell", {steps, w1, r1}, {}, [&] { rnn_cell(steps, w1, r1); });
}
const bool added = named_cases(add_rnn_cases);

}  // namespace
}  // namespace weft::test
