#include "functions/named_cases.h"
#include "weft/array.h"
#include "weft/graph.h"
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
       {"output_peephole_after", 0},
       {"clip_output", 0}},
      lstm_cell(x, w4, r4, {.bias = b4, .recurrent_bias = rb4, .initial_h = h, .initial_c = cell, .peephole = peephole},
                {.gates = LstmGates::iofg,
                 .gate_activation = {RnnFunction::hard_sigmoid, 0.25, 0.5},
                 .cell_activation = RnnFunction::softsign,
                 .output_activation = RnnFunction::relu,
                 .clip = 1.5,
                 .coupled = true,
                 .output_peephole_after = false,
                 .clip_output = false}));
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

  // Sequences of both directions, with all operands: 5 of 2 steps.
  const auto both = [](const Tensor& t) { return stack({t, t * 0.5F}); };
  const Tensor lengths = minimum(c.integers({5}), 2), h5 = c.floats({2, 5, 4}), c5 = c.floats({2, 5, 4});
  const auto shared = [&](const Tensor& b, const Tensor& rb, const Tensor& cells, const Tensor& peepholes) {
    return RecurrentOperands{.bias = both(b),
                             .recurrent_bias = both(rb),
                             .initial_h = h5,
                             .initial_c = cells,
                             .peephole = peepholes,
                             .lengths = lengths,
                             .batch_first = true};
  };
  c.same("lstm", {steps, both(w4), both(r4), both(b4), both(rb4), h5, c5, both(peephole), lengths},
         {{"direction", "bidirectional"},
          {"gates", "iofg"},
          {"gate_activation", "hard_sigmoid(0.25, 0.5)"},
          {"cell_activation", "softsign"},
          {"output_activation", "relu"},
          {"clip", 1.5},
          {"coupled", 1},
          {"output_peephole_after", 0},
          {"clip_output", 0},
          {"batch_first", 1}},
         lstm(steps, both(w4), both(r4), shared(b4, rb4, c5, both(peephole)),
              {.direction = RnnDirection::bidirectional,
               .gates = LstmGates::iofg,
               .gate_activation = {RnnFunction::hard_sigmoid, 0.25, 0.5},
               .cell_activation = RnnFunction::softsign,
               .output_activation = RnnFunction::relu,
               .clip = 1.5,
               .coupled = true,
               .output_peephole_after = false,
               .clip_output = false}));
  c.same("lstm", {steps, w4, r4}, {}, lstm(steps, w4, r4));
  c.refused("lstm", {x, w4, r4}, {}, [&] { lstm(x, w4, r4); });
  c.same("gru", {steps, both(w3), both(r3), both(b3), both(rb3), h5, lengths},
         {{"direction", "bidirectional"},
          {"gates", "zrn"},
          {"gate_activation", "hard_sigmoid(0.25, 0.5)"},
          {"candidate_activation", "softsign"},
          {"clip", 1.5},
          {"reset_after", 0},
          {"batch_first", 1}},
         gru(steps, both(w3), both(r3), shared(b3, rb3, {}, {}),
             {.direction = RnnDirection::bidirectional,
              .gates = GruGates::zrn,
              .gate_activation = {RnnFunction::hard_sigmoid, 0.25, 0.5},
              .candidate_activation = RnnFunction::softsign,
              .clip = 1.5,
              .reset_after = false}));
  c.refused("gru", {x, w3, r3}, {}, [&] { gru(x, w3, r3); });
  c.same("rnn", {steps, both(w1), both(r1), both(b1), both(rb1), h5, lengths},
         {{"direction", "bidirectional"}, {"activation", "relu"}, {"clip", 1.5}, {"batch_first", 1}},
         rnn(steps, both(w1), both(r1), shared(b1, rb1, {}, {}),
             {.direction = RnnDirection::bidirectional, .activation = RnnFunction::relu, .clip = 1.5}));
  c.refused("rnn", {steps, w3, r1}, {}, [&] { rnn(steps, w3, r1); });
}
const bool added = named_cases(add_rnn_cases);

}  // namespace
}  // namespace weft::test
