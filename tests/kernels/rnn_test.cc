// Recurrent networks on every device against the CPU, and the CPU against plain loops. PyTorch's values are in
// cpu_kernels_reference_test.cc.
#include "weft/kernels/rnn.h"

#include <gmock/gmock.h>

#include "cpu/executor.h"
#include "kernels/rnn/recurrence.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/kernel_references.h"
#include "support/throws.h"
#include "weft/error.h"
#include "weft/kernels/plan.h"
#include "weft/number.h"

namespace weft::test {
namespace {

using kernels::GruGates;
using kernels::GruOptions;
using kernels::LstmGates;
using kernels::LstmOptions;
using kernels::Recurrence;
using kernels::RnnActivation;
using kernels::RnnDirection;
using kernels::RnnFunction;
using kernels::RnnInputs;
using kernels::RnnKind;
using kernels::RnnOptions;
using kernels::RnnOutputs;
using kernels::StepForm;
using testing::HasSubstr;

constexpr RnnDirection kDirections[] = {RnnDirection::forward, RnnDirection::reverse, RnnDirection::bidirectional};

// Which optional operands there are, in the order of RnnInputs.
struct Given {
  bool bias = false, recurrent_bias = false, initial_h = false, initial_c = false, peephole = false, lengths = false;
  bool y = true, c = false;
};

// x, w and r, then those that are given.
RnnInputs inputs_of(const Given& g, std::span<const View> views) {
  RnnInputs in{.x = views[0], .w = views[1], .r = views[2]};
  std::size_t next = 3;
  const auto take = [&](bool there, std::optional<View>& to) {
    if (there) to = views[next++];
  };
  take(g.bias, in.bias);
  take(g.recurrent_bias, in.recurrent_bias);
  take(g.initial_h, in.initial_h);
  take(g.initial_c, in.initial_c);
  take(g.peephole, in.peephole);
  take(g.lengths, in.lengths);
  return in;
}

RnnOutputs outputs_of(const Given& g, std::span<const View> views) {
  RnnOutputs out{.h = views[0]};
  if (g.y) out.y = views[1];
  if (g.c) out.c = views[g.y ? 2 : 1];
  return out;
}

RnnActivation random_activation(Rng& rng, RnnFunction usual) {
  if (rng() % 2) return usual;
  const RnnActivation a(static_cast<RnnFunction>(rng() % 11));
  if (rng() % 2) return a;
  return {a.function, 0.75, 0.5};
}

Recurrence random_recurrence(Rng& rng, RnnKind kind) {
  const RnnDirection direction = pick(rng, kDirections);
  const std::optional<double> clip = rng() % 3 ? std::nullopt : std::optional(0.8);
  if (kind == RnnKind::lstm) {
    LstmOptions o{.direction = direction, .gates = rng() % 2 ? LstmGates::ifgo : LstmGates::iofg, .clip = clip};
    o.gate_activation = random_activation(rng, RnnFunction::sigmoid);
    o.cell_activation = random_activation(rng, RnnFunction::tanh);
    o.output_activation = random_activation(rng, RnnFunction::tanh);
    o.coupled = rng() % 4 == 0;
    o.output_peephole_after = rng() % 4 != 0;
    o.clip_output = rng() % 2;
    return Recurrence(o);
  }
  if (kind == RnnKind::gru) {
    GruOptions o{.direction = direction, .gates = rng() % 2 ? GruGates::rzn : GruGates::zrn, .clip = clip};
    o.gate_activation = random_activation(rng, RnnFunction::sigmoid);
    o.candidate_activation = random_activation(rng, RnnFunction::tanh);
    o.reset_after = rng() % 2;
    return Recurrence(o);
  }
  return Recurrence(
      RnnOptions{.direction = direction, .activation = random_activation(rng, RnnFunction::tanh), .clip = clip});
}

// Numbers of about the size of trained weights, in place of the view's own.
void scale(const View& view, double factor) {
  for (std::int64_t i = 0; i < view.count(); ++i) {
    const double v = value(view, i) * factor;
    set_element_bits(view, i, Number(v).bits(view.dtype));
  }
}

Problem random_network(Rng& rng, RnnKind kind) {
  constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};
  constexpr DType kLengths[] = {DType::i32, DType::u32};
  const Recurrence r = random_recurrence(rng, kind);
  const bool cell = kind == RnnKind::lstm;
  const auto half = [&] { return rng() % 2 != 0; };
  const Given g{half(), half(), half(), cell && half(), cell && half(), half(), half(), cell && half()};
  const DType type = pick(rng, kFloats), weights = half() ? type : pick(rng, kFloats), state = pick(rng, kFloats);
  Rng& details = rng.details();
  const std::int64_t batch = random_int(details, rng() % 16 == 0 ? 0 : 1, 9), inputs = random_int(details, 0, 9);
  const std::int64_t hidden = half() ? 4 * random_int(details, 1, 4) : random_int(details, 1, 9);
  const std::int64_t steps = random_int(details, 0, 4), d = r.directions(), rows = r.gates() * hidden;
  const auto view = [&](const Shape& shape, DType t) { return random_view(rng, shape, t, random_input_kind(rng)); };
  Problem p;
  p.inputs = {view({steps, batch, inputs}, type), view({d, rows, inputs}, weights), view({d, rows, hidden}, weights)};
  if (g.bias) p.inputs.push_back(view({d, rows}, pick(rng, kFloats)));
  if (g.recurrent_bias) p.inputs.push_back(view({d, rows}, pick(rng, kFloats)));
  if (g.initial_h) p.inputs.push_back(view({d, batch, hidden}, pick(rng, kFloats)));
  if (g.initial_c) p.inputs.push_back(view({d, batch, hidden}, pick(rng, kFloats)));
  if (g.peephole) p.inputs.push_back(view({d, 3 * hidden}, pick(rng, kFloats)));
  for (std::size_t i = 1; i < p.inputs.size(); ++i) scale(p.inputs[i], 0.25);
  if (g.lengths) {
    p.inputs.push_back(view({batch}, pick(rng, kLengths)));
    for (std::int64_t i = 0; i < batch; ++i) {
      set_element_bits(p.inputs.back(), i, static_cast<std::uint64_t>(random_int(details, 0, 5)));
    }
  }
  const auto result = [&](const Shape& shape) { return random_view(rng, shape, state, random_output_kind(rng)); };
  p.outputs = {result({d, batch, hidden})};
  if (g.y) p.outputs.push_back(result({steps, d, batch, hidden}));
  if (g.c) p.outputs.push_back(result({d, batch, hidden}));
  p.what = std::format("{} {} clip {}{}{}", r.name(), kernels::kRnnDirections[static_cast<int>(r.direction)],
                       r.clip.value_or(0),
                       r.coupled                 ? ", coupled"
                       : r.output_peephole_after ? ""
                                                 : ", output peephole before",
                       r.reset_after ? "" : ", reset before");
  for (const RnnActivation& a : r.activations) p.what += " " + to_string(a);
  for (const View& v : p.inputs) p.what += ", " + to_string(v);
  p.what += " to " + to_string(p.outputs[0]);
  p.call = [=](Stream& s, auto in, auto out) { recur(s, r, inputs_of(g, in), outputs_of(g, out)); };
  // Each form of a step, whichever one a GPU would choose.
  const StepForm form = half() ? StepForm::fused : StepForm::split;
  p.form = [=](Stream& s, auto in, auto out) { recur(s, r, inputs_of(g, in), outputs_of(g, out), form); };
  p.reference = [=](Stream&, auto in, auto out) { recur_reference(r, inputs_of(g, in), outputs_of(g, out)); };
  // A state that is rounded the other way has successors that differ by as much.
  const double unit = state == DType::f32      ? 0x1p-23
                      : state == DType::f16    ? 0x1p-10
                      : state == DType::bf16   ? 0x1p-7
                      : state == DType::f8e4m3 ? 0x1p-3
                                               : 0x1p-2;
  p.tolerance = {.ulp = state == DType::f32 ? 0.0 : 1.0, .absolute = 3e-5 + 2 * unit, .relative = 3e-5 + 2 * unit};
  return p;
}

const bool registered[] = {
    differential(
        "lstm", [](Rng& rng) { return random_network(rng, RnnKind::lstm); }, 2, 4),
    differential(
        "gru", [](Rng& rng) { return random_network(rng, RnnKind::gru); }, 2, 4),
    differential(
        "rnn", [](Rng& rng) { return random_network(rng, RnnKind::rnn); }, 2, 4),
};

class Recurrent : public testing::Test {
 protected:
  View f32(const Shape& shape) { return random_view(rng, shape, DType::f32); }
  // An LSTM of 5 steps, batch 3, 4 inputs and 6 hidden units, and its result, changed by `change`.
  std::string refused(const std::function<void(RnnInputs&, RnnOutputs&)>& change, const LstmOptions& o = {}) {
    RnnInputs in{.x = f32({5, 3, 4}), .w = f32({1, 24, 4}), .r = f32({1, 24, 6})};
    RnnOutputs out{.h = f32({1, 3, 6}), .y = f32({5, 1, 3, 6}), .c = f32({1, 3, 6})};
    change(in, out);
    return thrown_by([&] { kernels::lstm(cpu, in, out, o); });
  }
  cpu::Executor cpu;
  Rng rng{5};
};

TEST_F(Recurrent, SaysWhatDoesNotFit) {
  EXPECT_EQ(refused([](auto&, auto&) {}), "nothing");
  EXPECT_THAT(refused([&](RnnInputs& in, auto&) { in.w = f32({1, 18, 4}); }),
              HasSubstr("InvalidArgument: lstm: w is f32 [1, 18, 4], expected [1, 24, 4] ([directions, 4 · hidden, "
                        "inputs]) for x f32 [5, 3, 4]"));
  EXPECT_THAT(refused([&](RnnInputs& in, auto&) { in.r = f32({1, 24, 5}); }),
              HasSubstr("r is f32 [1, 24, 5], expected"));
  EXPECT_THAT(refused([&](RnnInputs& in, auto&) { in.bias = f32({1, 6}); }),
              HasSubstr("bias is f32 [1, 6], expected [1, 24] ([directions, 4 · hidden])"));
  EXPECT_THAT(refused([&](RnnInputs& in, auto&) { in.recurrent_bias = f32({2, 24}); }),
              HasSubstr("recurrent_bias is f32 [2, 24], expected [1, 24]"));
  EXPECT_THAT(refused([&](RnnInputs& in, auto&) { in.peephole = f32({1, 6}); }),
              HasSubstr("peephole is f32 [1, 6], expected [1, 18] ([directions, 3 · hidden])"));
  EXPECT_THAT(refused([&](RnnInputs& in, auto&) { in.initial_h = f32({3, 1, 6}); }),
              HasSubstr("initial_h is f32 [3, 1, 6], expected [1, 3, 6] ([directions, batch, hidden])"));
  EXPECT_THAT(refused([&](RnnInputs& in, auto&) { in.lengths = random_view(rng, {4}, DType::i32); }),
              HasSubstr("lengths are i32 [4], expected [3] ([batch])"));
  EXPECT_THAT(refused([&](RnnInputs& in, auto&) { in.lengths = f32({3}); }),
              HasSubstr("lengths are f32 [3]; expected"));
  EXPECT_THAT(refused([&](auto&, RnnOutputs& out) { out.y = f32({5, 3, 6}); }),
              HasSubstr("y is f32 [5, 3, 6]; expected"));
  EXPECT_THAT(refused([&](auto&, RnnOutputs& out) { out.y = f32({5, 2, 3, 6}); }),
              HasSubstr("y is f32 [5, 2, 3, 6], expected [5, 1, 3, 6] ([steps, directions, batch, hidden])"));
  EXPECT_THAT(refused([&](auto&, RnnOutputs& out) { out.c = random_view(rng, {1, 3, 6}, DType::f16); }),
              HasSubstr("c is f16 [1, 3, 6]"));
  EXPECT_THAT(refused([&](auto&, auto&) {}, {.direction = RnnDirection::bidirectional}),
              HasSubstr("r is f32 [1, 24, 6], expected [2, 24, 6]"));
  EXPECT_THAT(refused([&](auto&, auto&) {}, {.clip = -1}), HasSubstr("lstm: clip is -1, expected a positive number"));
  EXPECT_THAT(refused([&](RnnInputs& in, RnnOutputs& out) { in.initial_h = out.h; }), HasSubstr("shares memory"));
  const RnnInputs in{.x = f32({5, 3, 4}), .w = f32({1, 6, 4}), .r = f32({1, 6, 6}), .initial_c = f32({1, 3, 6})};
  EXPECT_EQ(thrown_by([&] { kernels::rnn(cpu, in, {.h = f32({1, 3, 6})}); }),
            "InvalidArgument: rnn: initial_c is given, which only an lstm has");
}

TEST_F(Recurrent, NoDoubleOnGpus) {
  for (const std::string& name : device_names()) {
    gpu::Device& device = test::device(name);
    gpu::Encoder encoder(device);
    const auto on_device = [&](const Shape& shape) { return to_device(device, random_view(rng, shape, DType::f64)); };
    EXPECT_THAT(thrown_by([&] {
                  kernels::rnn(encoder,
                               {.x = on_device({2, 1, 1}), .w = on_device({1, 1, 1}), .r = on_device({1, 1, 1})},
                               {.h = on_device({1, 1, 1})});
                }),
                HasSubstr("Unsupported: rnn: f64 [2, 1, 1] on a GPU, which has no f64"));
  }
}

// Sums are f64 if x, w or r is, also those of products whose operands are both f32: 1 + 2^-30 · n is lost in f32.
TEST_F(Recurrent, SumsInDoubleIfAnOperandIs) {
  const std::vector<double> state{1, 0x1p-30, 0x1p-30, 0x1p-30, -1}, ones(25, 1);
  // h' = 2^40 (x w + Σ h), whose sum is 3 · 2^-30.
  const kernels::RnnOptions scaled{.activation = {RnnFunction::affine, 0x1p40, 0}};
  for (int wide = 0; wide < 3; ++wide) {
    const auto type = [&](int operand) { return operand == wide ? DType::f64 : DType::f32; };
    const RnnInputs in{.x = host_view(type(0), {1, 1, 5}, state),
                       .w = host_view(type(1), {1, 5, 5}, ones),
                       .r = host_view(type(2), {1, 5, 5}, ones),
                       .initial_h = host_view(DType::f32, {1, 1, 5}, state)};
    const View h = f32({1, 1, 5});
    kernels::rnn(cpu, in, {.h = h}, scaled);
    for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(value(h, i), 6 * 0x1p10) << "operand " << wide << " is f64";
  }
  // A GRU whose biases give r = 1 and z = 0: h' is the candidate, of the sum of r ∘ h.
  for (const bool reset_after : {false, true}) {
    const kernels::GruOptions o{.gates = GruGates::rzn,
                                .gate_activation = {RnnFunction::affine, 1, 0},
                                .candidate_activation = {RnnFunction::affine, 0x1p40, 0},
                                .reset_after = reset_after};
    std::vector<double> bias(15), weights(75);
    std::fill_n(bias.begin(), 5, 1);
    std::fill_n(weights.begin() + 50, 25, 1);
    const RnnInputs in{.x = host_view(DType::f64, {1, 1, 5}, std::vector<double>(5)),
                       .w = host_view(DType::f32, {1, 15, 5}, std::vector<double>(75)),
                       .r = host_view(DType::f32, {1, 15, 5}, weights),
                       .bias = host_view(DType::f32, {1, 15}, bias),
                       .initial_h = host_view(DType::f32, {1, 1, 5}, state)};
    const View h = f32({1, 1, 5});
    kernels::gru(cpu, in, {.h = h}, o);
    for (std::int64_t i = 0; i < 5; ++i) EXPECT_EQ(value(h, i), 3 * 0x1p10) << "reset after " << reset_after;
  }
}

// What is not finite stays where the formulas take it: in its sequence, from its step on.
TEST_F(Recurrent, NaNStaysInItsSequence) {
  const View x = f32({4, 2, 3}), y = f32({4, 1, 2, 5}), h = f32({1, 2, 5});
  set_element_bits(x, (2 * 2 + 1) * 3, 0x7fc00000);  // step 2 of sequence 1
  kernels::gru(cpu, {.x = x, .w = f32({1, 15, 3}), .r = f32({1, 15, 5})}, {.h = h, .y = y});
  for (std::int64_t i = 0; i < y.count(); ++i) {
    const std::int64_t step = i / 10, sequence = i / 5 % 2;
    EXPECT_EQ(std::isnan(value(y, i)), sequence == 1 && step >= 2) << i;
  }
  for (std::int64_t i = 0; i < h.count(); ++i) EXPECT_EQ(std::isnan(value(h, i)), i >= 5) << i;
}

TEST_F(Recurrent, ActivationsAsText) {
  EXPECT_EQ(to_string(RnnActivation(RnnFunction::tanh)), "tanh");
  EXPECT_EQ(to_string(RnnActivation(RnnFunction::leaky_relu)), "leaky_relu(0.01)");
  EXPECT_EQ(to_string(RnnActivation(RnnFunction::hard_sigmoid)), "hard_sigmoid(0.2, 0.5)");
  EXPECT_EQ(to_string(RnnActivation(RnnFunction::affine, 2, 1)), "affine(2, 1)");
}

// With all that a network may have: a step has as many operands as the smallest device has bindings.
TEST_F(Recurrent, EveryOperandOnEveryDevice) {
  for (const RnnKind kind : {RnnKind::lstm, RnnKind::gru}) {
    for (const bool reset_after : {false, true}) {
      const bool cell = kind == RnnKind::lstm;
      const Recurrence r = cell
                               ? Recurrence(LstmOptions{.direction = RnnDirection::bidirectional})
                               : Recurrence(GruOptions{.direction = RnnDirection::reverse, .reset_after = reset_after});
      const std::int64_t d = r.directions(), rows = r.gates() * 4;
      const Given all{true, true, true, cell, cell, true, true, cell};
      std::vector<View> in{f32({3, 2, 5}), f32({d, rows, 5}), f32({d, rows, 4}),
                           f32({d, rows}), f32({d, rows}),    f32({d, 2, 4})};
      if (cell) in.insert(in.end(), {f32({d, 2, 4}), f32({d, 12})});
      for (const View& v : in) scale(v, 0.5);
      in.push_back(host_view(DType::u32, {2}, std::vector<double>{1, 3}));
      std::vector<View> out{f32({d, 2, 4}), f32({3, d, 2, 4})};
      if (cell) out.push_back(f32({d, 2, 4}));
      for (const StepForm form : {StepForm::fused, StepForm::split}) {
        const KernelCall call = [&](Stream& s, auto from, auto to) {
          recur(s, r, inputs_of(all, from), outputs_of(all, to), form);
        };
        for (const std::string& name : device_names()) run_both(test::device(name), in, out, call, {.absolute = 1e-5});
      }
    }
  }
}

// Numbers of hidden units and of sequences that tiles do and do not divide.
TEST_F(Recurrent, FusedStepsOfAnySize) {
  struct Size {
    std::int64_t hidden, batch;
    DType weights, state;
  };
  constexpr Size kSizes[] = {
      {1, 1, DType::f32, DType::f32},    // less than a tile
      {37, 6, DType::f16, DType::f32},   // rows that begin at odd elements
      {130, 2, DType::f32, DType::f32},  // a last workgroup that is not whole
      {72, 33, DType::f16, DType::f16},  // eight weights at a time
      {132, 9, DType::bf16, DType::f32}, {64, 70, DType::f8e4m3, DType::f32},
  };
  const Recurrence networks[] = {
      Recurrence(LstmOptions{}), Recurrence(RnnOptions{.direction = RnnDirection::bidirectional}),
      Recurrence(GruOptions{}), Recurrence(GruOptions{.gates = GruGates::zrn, .reset_after = false})};
  for (const auto& [hidden, batch, weights, state] : kSizes) {
    for (const Recurrence& r : networks) {
      const std::int64_t d = r.directions(), rows = r.gates() * hidden, steps = 3;
      const Given given{.recurrent_bias = true, .initial_h = true};
      const std::vector<View> in{f32({steps, batch, 3}), f32({d, rows, 3}),
                                 random_view(rng, {d, rows, hidden}, weights), f32({d, rows}), f32({d, batch, hidden})};
      scale(in[2], 0.1);
      const std::vector<View> out{random_view(rng, {d, batch, hidden}, state),
                                  random_view(rng, {steps, d, batch, hidden}, state)};
      const KernelCall call = [&](Stream& s, auto from, auto to) {
        recur(s, r, inputs_of(given, from), outputs_of(given, to), StepForm::fused);
      };
      const double unit = state == DType::f32 ? 0 : 0x1p-10;
      for (const std::string& name : device_names()) {
        run_both(test::device(name), in, out, call, {.absolute = 5e-5 + 2 * unit},
                 std::format("{} {} [{}, {}]", name, r.name(), batch, hidden));
      }
    }
  }
}

// A sequence is one plan: all that it dispatches is known beforehand, in one scratch.
TEST_F(Recurrent, OnePlan) {
  for (const std::string& name : device_names()) {
    const auto operand = [](const Shape& shape) { return kernels::operand(DType::f32, Layout::dense(shape)); };
    const View x = operand({20, 3, 8}), w = operand({1, 32, 8}), r = operand({1, 32, 8}), h = operand({1, 3, 8});
    const View y = operand({20, 1, 3, 8});
    const auto planned = [&](StepForm form) {
      return kernels::plan(test::device(name), {x, w, r, h, y}, [=](Stream& s, auto v) {
        recur(s, Recurrence(LstmOptions{}), {.x = v[0], .w = v[1], .r = v[2]}, {.h = v[3], .y = v[4]}, form);
      });
    };
    const kernels::Plan split = planned(StepForm::split), fused = planned(StepForm::fused);
    // Zeros in h and c; the inputs' product; for each step a product and what follows.
    EXPECT_EQ(split.dispatches().size(), 2u + 1 + 2 * 20) << name;
    EXPECT_LT(split.scratch(), 20u * 3 * 32 * 4 + 8192) << name;
    // One kernel for each step, and a copy of the last state.
    EXPECT_EQ(fused.dispatches().size(), 2u + 1 + 20 + 1) << name;
    EXPECT_LT(fused.scratch(), 20u * 3 * 32 * 4 + 8192) << name;
    EXPECT_THAT(fused.dispatches()[3].variant, testing::StartsWith("fused_4x")) << name;
    const bool software = test::device(name).capabilities().software;
    EXPECT_EQ(planned(StepForm::automatic).dispatches().size(), (software ? split : fused).dispatches().size()) << name;
  }
}

using RnnChunks = ChunksTest;

// The inputs' sums of all steps, x and y exceed a binding; so do weights.
TEST_F(RnnChunks, EveryOperand) {
  const auto f32 = [&](const Shape& shape) {
    const View v = random_view(rng, shape, DType::f32);
    scale(v, 0.1);
    return v;
  };
  for (const RnnKind kind : {RnnKind::lstm, RnnKind::gru, RnnKind::rnn}) {
    for (const RnnDirection direction : {RnnDirection::forward, RnnDirection::bidirectional}) {
      const Recurrence recurrence = kind == RnnKind::lstm  ? Recurrence(LstmOptions{.direction = direction})
                                    : kind == RnnKind::gru ? Recurrence(GruOptions{.direction = direction})
                                                           : Recurrence(RnnOptions{.direction = direction});
      const std::int64_t d = recurrence.directions(), g = recurrence.gates();
      const Given given{.bias = true, .lengths = true};
      const KernelCall call = [=](Stream& s, auto in, auto out) {
        recur(s, recurrence, inputs_of(given, in), outputs_of(given, out));
      };
      for (const auto& [steps, batch, inputs, hidden] :
           {std::array<std::int64_t, 4>{60, 8, 40, 40}, {3, 4, 700, 30}, {3, 4, 8, 140}}) {
        std::vector<double> lengths(static_cast<std::size_t>(batch), static_cast<double>(steps));
        lengths[1] = 2;
        both({f32({steps, batch, inputs}), f32({d, g * hidden, inputs}), f32({d, g * hidden, hidden}),
              f32({d, g * hidden}), host_view(DType::i32, {batch}, lengths)},
             {f32({d, batch, hidden}), f32({steps, d, batch, hidden})}, call, {.absolute = 1e-4});
      }
    }
  }
}

TEST_F(RnnChunks, FusedStepNeedsTheWeightsInOneBinding) {
  const auto on_device = [&](const Shape& shape) { return to_device(*device, random_view(rng, shape, DType::f32)); };
  gpu::Encoder encoder(*device);
  EXPECT_THAT(
      thrown_by([&] {
        recur(encoder, Recurrence(RnnOptions{}),
              {.x = on_device({2, 1, 1}), .w = on_device({1, 140, 1}), .r = on_device({1, 140, 140})},
              {.h = on_device({1, 1, 140})}, StepForm::fused);
      }),
      HasSubstr("Unsupported: rnn: a step of f32 [2, 1, 1] with r f32 [1, 140, 140] exceeds what one dispatch"));
}

}  // namespace
}  // namespace weft::test
