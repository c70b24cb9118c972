// Recurrent networks: checks, and the calls that a sequence is made of.
//
// The inputs' products are computed for as many steps at once as scratch can hold. A step is then one kernel on a GPU,
// if there are few sequences, and else the product of the states with r, to which its epilogue adds the inputs' sums,
// and one elementwise kernel. Both directions are one batch: views whose stride along the directions leads from a step
// of the first to the step that the second is at.
#include <algorithm>
#include <numeric>

#include "core/format.h"
#include "core/is_or_are.h"
#include "cpu/executor.h"
#include "cpu/packed_weight_cache.h"
#include "kernels/call.h"
#include "kernels/check.h"
#include "kernels/common/chunks.h"
#include "kernels/common/memory.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/plan_cache.h"
#include "kernels/rnn/fused_step.h"
#include "kernels/rnn/step.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/generate.h"
#include "weft/kernels/matmul.h"

namespace weft::kernels {
namespace {

// Scratch of a call on either kind of device.
class Memory {
 public:
  explicit Memory(Stream& stream) {
    if (stream.gpu()) scratch_.emplace(*stream.gpu());
  }
  View take(DType type, const Shape& shape) {
    const std::uint64_t bytes = byte_size(type, static_cast<std::uint64_t>(element_count(shape)));
    if (!scratch_) return View(Buffer::host(bytes), 0, type, shape);
    const View memory = scratch_->take(bytes);
    return View(memory.buffer, memory.offset, type, shape);
  }

 private:
  std::optional<GpuScratch> scratch_;
};

// The rows of weights from `begin` on, of each direction.
View rows_of(const View& v, std::int64_t begin, std::int64_t count) { return chunk_along(v, 1, begin, count); }

// [n, …] without its first axis, at index i.
View entry(const View& v, std::int64_t i) {
  View part = chunk_along(v, 0, i, 1);
  part.layout.shape.erase(0);
  part.layout.strides.erase(0);
  return part;
}

View permuted(const View& v, std::initializer_list<int> order) {
  return v.permuted(std::span(order.begin(), order.size()));
}

// [a, b, …] as [a, 1, b, …].
View with_batch(const View& v) {
  View wide = v;
  wide.layout.shape.insert(1, 1);
  wide.layout.strides.insert(1, 0);
  return wide;
}

class Sequence {
 public:
  Sequence(Stream& stream, const Recurrence& recurrence, const RnnInputs& in, const RnnOutputs& out, StepForm form)
      : stream_(stream), recurrence_(recurrence), in_(in), out_(out), memory_(stream), fused_(fuses(form)) {}

  void run();

 private:
  DType sum_type() const {
    const bool wide =
        std::ranges::any_of(std::array{in_.x.dtype, in_.w.dtype, in_.r.dtype}, [](DType t) { return t == DType::f64; });
    return wide ? DType::f64 : DType::f32;
  }
  // True if a step is one kernel. Throws Unsupported if the form is forced and the device cannot.
  bool fuses(StepForm form) const;
  bool resets_before() const { return recurrence_.kind == RnnKind::gru && !recurrence_.reset_after; }
  // Allocates the states and other scratch, and gives the states their initial values. Returns the scratch's size.
  std::uint64_t begin();
  std::int64_t steps_at_once(std::uint64_t held) const;
  // [steps, D, …] at a step: [D, …], where a reverse direction is that many steps from its end.
  View at_step(const View& v, std::int64_t step) const;
  // The sums of the inputs of `count` steps from `first` on: [count, D, batch, G · hidden].
  View input_sums(Memory& memory, std::int64_t first, std::int64_t count) const;
  // y = a rᵀ + addends, for the gates from `first` on.
  void state_product(const View& a, std::int64_t first, std::int64_t count, const View& y,
                     std::span<const View> addends) const;
  // The rows of a gate in [D, batch, G · hidden].
  View gate(const View& all, int index) const {
    return chunk_along(all, 2, recurrence_.places[static_cast<std::size_t>(index)] * hidden_, hidden_);
  }
  // An operand of a step's expression, as [D, batch, hidden]; of those in memory but gates.
  View operand(const StepOperand& what, const View& h, std::int64_t t) const;
  void map_step(const StepExpression& step, const View& gates, std::int64_t t, std::span<const View> outputs) const;
  void take_step(const View& inputs, std::int64_t t) const;
  // One kernel: `count` gates from `first` on are products of the state; `inputs` are added to them.
  void fuse(const StepExpression& step, const View& state, std::int64_t first, std::int64_t count, const View& inputs,
            std::int64_t t, std::span<const View> outputs) const;
  void take_fused_step(const View& inputs, std::int64_t t) const;

  Stream& stream_;
  const Recurrence& recurrence_;
  const RnnInputs& in_;
  const RnnOutputs& out_;
  Memory memory_;
  std::int64_t steps_ = in_.x.shape()[0], batch_ = in_.x.shape()[1], hidden_ = in_.r.shape()[2];
  std::int64_t directions_ = recurrence_.directions(), rows_ = recurrence_.gates() * hidden_;
  StepTypes types_{sum_type(), out_.h.dtype, in_.peephole ? std::optional(in_.peephole->dtype) : std::nullopt,
                   in_.lengths ? std::optional(in_.lengths->dtype) : std::nullopt};
  StepExpression step_ = step_expression(recurrence_, types_, out_.y.has_value()), reset_;
  View w_ = in_.w, r_ = in_.r;  // in f64 where the sums are, which products of narrower operands would not be
  bool fused_;
  // Of fused steps: h before and after a step, in turn, since workgroups read all of it while others write. In the type
  // of the sums, though rounded to the state's, so that all scratch is read and written 16 bytes at a time.
  View h_[2];
  View sums_;   // [D, batch, G · hidden]: of a step
  View c_;      // [D, batch, hidden]
  View kept_;   // r h of a GRU that resets before the product
  View times_;  // [steps]
  // On the CPU r is packed once, not for each step: from 24 rows on that pays (matmul_cpu.cc).
  PackedWeightCache packed_;
  std::shared_ptr<const void> packed_owner_ = std::make_shared<int>();
  std::unique_ptr<cpu::Executor> packing_;
};

bool Sequence::fuses(StepForm form) const {
  if (!stream_.gpu() || form == StepForm::split) return false;
  const gpu::Capabilities& can = stream_.gpu()->device().capabilities();
  std::vector<View> views{in_.r};
  if (out_.y && steps_ > 0) views.push_back(at_step(*out_.y, 0));
  for (const auto* v : {&in_.peephole, &in_.recurrent_bias, &in_.lengths}) {
    if (*v) views.push_back(**v);
  }
  const auto exceeds = [&](const View& v) { return span_bytes(v) > chunk_limit(can); };
  // States, and sums of one step.
  const std::int64_t scratch = directions_ * batch_ * (4 * hidden_ + 2 * rows_) * 4 + 4096;
  const double flops = 2.0 * static_cast<double>(directions_ * batch_ * rows_) * static_cast<double>(hidden_);
  const bool possible = std::ranges::none_of(views, exceeds) && flops < can.max_dispatch_work &&
                        static_cast<std::uint64_t>(scratch) <= chunk_limit(can) &&
                        std::max(batch_, ceil_div(hidden_, 4)) <= can.max_workgroups;
  if (form == StepForm::fused && !possible) {
    throw Unsupported("{}: a step of {} with r {} exceeds what one dispatch can do on this device", recurrence_.name(),
                      to_string(in_.x), to_string(in_.r));
  }
  // Larger products gain more by matmul's tiles than a dispatch costs (about 4 µs on an H100, where fused steps of 32
  // sequences, 512 hidden units and four gates take 11.5 µs in f32 and 9.5 in f16 instead of 15.8 and 13.9, and of 64
  // sequences 21 and 16 instead of 22 and 13). On software devices barriers cost more than dispatches.
  constexpr std::int64_t kFewProducts = std::int64_t{48} << 20;
  return form == StepForm::fused || (possible && !can.software && batch_ * rows_ * hidden_ <= kFewProducts &&
                                     (in_.r.strides()[-1] == 1 || hidden_ == 1));
}

std::int64_t Sequence::steps_at_once(std::uint64_t held) const {
  const std::uint64_t step = byte_size(types_.sums, static_cast<std::uint64_t>(directions_ * batch_ * rows_));
  // Enough for products at a device's full rate, and little beside its memory.
  std::uint64_t most = 256 << 20;
  if (gpu::Commands* commands = stream_.gpu()) {
    // All scratch of a step should fit one binding.
    const std::uint64_t limit = chunk_limit(commands->device().capabilities());
    most = std::min(most, limit > held ? limit - held : 0);
  }
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(most / std::max<std::uint64_t>(step, 1)), 1, steps_);
}

View Sequence::at_step(const View& v, std::int64_t step) const {
  const std::int64_t steps = v.shape()[0], along = v.strides()[0];
  const std::int64_t first = recurrence_.reverse(0) ? steps - 1 - step : step;
  View at = entry(v, first);
  if (directions_ == 2) at.layout.strides[0] += along * (steps - 1 - 2 * step);
  return at;
}

View Sequence::input_sums(Memory& memory, std::int64_t first, std::int64_t count) const {
  // Rows follow each other as they do in x, so that steps and batch are one axis of the product.
  const bool batch_first = std::abs(in_.x.strides()[0]) < std::abs(in_.x.strides()[1]) && batch_ > 1;
  View sums = batch_first ? permuted(memory.take(types_.sums, {directions_, batch_, count, rows_}), {2, 0, 1, 3})
                          : permuted(memory.take(types_.sums, {directions_, count, batch_, rows_}), {1, 0, 2, 3});
  for (std::int64_t d = 0; d < directions_; ++d) {
    Expression add;
    int sum = add.cast(add.input(product_type(in_.x.dtype, w_.dtype)), types_.sums);
    std::vector<View> addends;
    const auto biased = [&](const std::optional<View>& bias) {
      if (!bias) return;
      sum = add.apply(ScalarOp::add, {sum, add.cast(add.input(bias->dtype), types_.sums)});
      addends.push_back(entry(*bias, d));
    };
    biased(in_.bias);
    if (recurrence_.kind != RnnKind::gru || !recurrence_.reset_after) biased(in_.recurrent_bias);
    add.output(sum);
    View x = chunk_along(in_.x, 0, recurrence_.reverse(d) ? steps_ - first - count : first, count);
    View y = entry(permuted(sums, {1, 0, 2, 3}), d);
    if (batch_first) x = permuted(x, {1, 0, 2}), y = permuted(y, {1, 0, 2});
    matmul(stream_, x, permuted(entry(w_, d), {1, 0}), y, {addends.empty() ? nullptr : &add, addends});
  }
  return sums;
}

void Sequence::state_product(const View& a, std::int64_t first, std::int64_t count, const View& y,
                             std::span<const View> addends) const {
  Expression add;
  int sum = add.cast(add.input(product_type(a.dtype, r_.dtype)), types_.sums);
  for (const View& v : addends) sum = add.apply(ScalarOp::add, {sum, add.cast(add.input(v.dtype), types_.sums)});
  add.output(sum);
  const View r = permuted(rows_of(r_, first * hidden_, count * hidden_), {0, 2, 1});
  matmul(packing_ ? *packing_ : stream_, a, r, y, {addends.empty() ? nullptr : &add, addends});
}

View Sequence::operand(const StepOperand& what, const View& h, std::int64_t t) const {
  const auto broadcast = [&](const View& v, std::int64_t by_direction, std::int64_t by_batch) {
    return v.with_layout({{directions_, batch_, hidden_}, {by_direction, by_batch, 0}});
  };
  switch (what.what) {
    case StepInput::c:
      return c_;
    case StepInput::peephole:
      return with_batch(rows_of(*in_.peephole, what.index * hidden_, hidden_));
    case StepInput::time: {
      const std::int64_t first = recurrence_.reverse(0) ? steps_ - 1 - t : t;
      return broadcast(entry(times_, first), directions_ == 2 ? steps_ - 1 - 2 * t : 0, 0);
    }
    case StepInput::length:
      return broadcast(*in_.lengths, 0, in_.lengths->strides()[0]);
    default:
      return h;
  }
}

void Sequence::map_step(const StepExpression& step, const View& gates, std::int64_t t,
                        std::span<const View> outputs) const {
  std::vector<View> inputs;
  for (const StepOperand& o : step.inputs) {
    inputs.push_back(o.what == StepInput::gate        ? gate(gates, o.index)
                     : o.what == StepInput::recurrent ? gate(sums_, o.index)
                                                      : operand(o, out_.h, t));
  }
  map(stream_, recurrence_.name(), step.expression, inputs, outputs);
}

void Sequence::take_step(const View& inputs, std::int64_t t) const {
  std::vector<View> outputs{out_.h};
  if (recurrence_.kind == RnnKind::lstm) outputs.push_back(c_);
  if (out_.y) outputs.push_back(at_step(*out_.y, t));
  if (recurrence_.kind == RnnKind::gru && recurrence_.reset_after) {
    std::vector<View> bias;
    if (in_.recurrent_bias) bias.push_back(with_batch(*in_.recurrent_bias));
    state_product(out_.h, 0, 3, sums_, bias);
    return map_step(step_, inputs, t, outputs);
  }
  // To the products of those gates the inputs' sums are added.
  const auto gates = [&](const View& state, std::int64_t first, std::int64_t count) {
    const auto part = [&](const View& v) { return chunk_along(v, 2, first * hidden_, count * hidden_); };
    const View addend = part(inputs);
    state_product(state, first, count, part(sums_), std::span(&addend, 1));
  };
  if (resets_before()) {
    gates(out_.h, 0, 2);
    map_step(reset_, sums_, t, std::span(&kept_, 1));
    gates(kept_, 2, 1);
  } else {
    gates(out_.h, 0, recurrence_.gates());
  }
  map_step(step_, sums_, t, outputs);
}

void Sequence::fuse(const StepExpression& step, const View& state, std::int64_t first, std::int64_t count,
                    const View& inputs, std::int64_t t, std::span<const View> outputs) const {
  const std::int64_t last = steps_ - 1 - t;
  FusedStep fused{.name = recurrence_.name(),
                  .state = state,
                  .r = rows_of(in_.r, first * hidden_, count * hidden_),
                  .products = count,
                  .expression = step.expression,
                  .outputs = outputs,
                  .times = {recurrence_.reverse(0) ? last : t, last}};
  for (const StepOperand& o : step.inputs) {
    const int product = recurrence_.places[static_cast<std::size_t>(o.index)] - static_cast<int>(first);
    const bool is_product = product >= 0 && product < count;
    if (o.what == StepInput::time) {
      fused.terms.push_back({.time = true});
    } else if (o.what == StepInput::recurrent) {
      fused.terms.push_back({.product = product});
      if (in_.recurrent_bias) fused.terms.back().operand = gate(with_batch(*in_.recurrent_bias), o.index);
    } else if (o.what == StepInput::gate && recurrence_.kind == RnnKind::gru && recurrence_.reset_after) {
      fused.terms.push_back({.operand = gate(inputs, o.index)});
    } else if (o.what == StepInput::gate) {
      fused.terms.push_back({is_product ? product : -1, gate(is_product ? inputs : sums_, o.index)});
    } else {
      fused.terms.push_back({.operand = operand(o, h_[t % 2], t)});
    }
  }
  fused_step(*stream_.gpu(), fused);
}

void Sequence::take_fused_step(const View& inputs, std::int64_t t) const {
  const View& h = h_[t % 2];
  std::vector<View> outputs{h_[(t + 1) % 2]};
  if (recurrence_.kind == RnnKind::lstm) outputs.push_back(c_);
  if (out_.y) outputs.push_back(at_step(*out_.y, t));
  if (!resets_before()) return fuse(step_, h, 0, recurrence_.gates(), inputs, t, outputs);
  fuse(reset_, h, 0, 2, inputs, t, std::array{kept_, gate(sums_, 1)});
  fuse(step_, kept_, 2, 1, inputs, t, outputs);
}

std::uint64_t Sequence::begin() {
  const Shape states{directions_, batch_, hidden_};
  std::uint64_t held = 4096;  // what begins at multiples of 256
  const auto take = [&](DType type, const Shape& shape) {
    held += byte_size(type, static_cast<std::uint64_t>(element_count(shape)));
    return memory_.take(type, shape);
  };
  const auto set = [&](const std::optional<View>& initial, const View& state) {
    if (initial)
      copy(stream_, *initial, state);
    else
      fill(stream_, 0, state);
  };
  if (fused_) {
    for (View& h : h_) h = take(types_.sums, states);
    if (in_.initial_h) {
      Expression round;
      round.output(round.cast(round.cast(round.input(in_.initial_h->dtype), types_.state), types_.sums));
      map(stream_, recurrence_.name(), round, std::span(&*in_.initial_h, 1), std::span(h_, 1));
    } else {
      fill(stream_, 0, h_[0]);
    }
  } else {
    set(in_.initial_h, out_.h);
  }
  if (recurrence_.kind == RnnKind::lstm) {
    c_ = take(types_.sums, states);
    set(in_.initial_c, c_);
  }
  if (steps_ == 0) return held;
  if (types_.sums == DType::f64) {
    for (View* v : {&w_, &r_}) {
      if (v->dtype == DType::f64) continue;
      const View wide = take(DType::f64, v->shape());
      copy(stream_, *v, wide);
      *v = wide;
    }
  }
  if (!fused_ || resets_before()) sums_ = take(types_.sums, {directions_, batch_, rows_});
  if (in_.lengths && !fused_) {
    times_ = take(in_.lengths->dtype, {steps_});
    arange(stream_, 0, 1, times_);
  }
  if (resets_before()) {
    const bool as_sums = fused_ || types_.sums == DType::f64;
    kept_ = take(as_sums ? types_.sums : types_.state, states);
    reset_ = reset_expression(recurrence_, types_, fused_);
  }
  return held;
}

void Sequence::run() {
  if (batch_ == 0 || hidden_ == 0) return;
  const std::uint64_t held = begin();
  if (stream_.cpu() && steps_ > 1 && steps_ * batch_ >= 24) {
    packed_.add(r_.buffer, {packed_owner_});
    packing_ = std::make_unique<cpu::Executor>(stream_.cpu()->threads());
    packing_->use_packed_weights(&packed_);
  }
  const std::int64_t at_once = steps_ > 0 ? steps_at_once(held) : 1;
  for (std::int64_t first = 0; first < steps_; first += at_once) {
    const std::int64_t count = std::min(at_once, steps_ - first);
    Memory memory(stream_);
    const View inputs = input_sums(memory, first, count);
    for (std::int64_t t = 0; t < count; ++t) {
      const View sums = at_step(inputs, t);
      fused_ ? take_fused_step(sums, first + t) : take_step(sums, first + t);
    }
  }
  if (fused_) copy(stream_, h_[steps_ % 2], out_.h);
  if (out_.c) copy(stream_, c_, *out_.c);
}

void expect_shape(std::string_view kernel, std::string_view operand, const View& v, const Shape& shape, const View& x,
                  std::string_view meaning) {
  if (v.shape() == shape) return;
  throw InvalidArgument("{}: {} {} {}, expected {} ({}) for x {}", kernel, operand, is_or_are(operand), to_string(v),
                        to_string(shape), meaning, to_string(x));
}

void check(Stream& stream, const Recurrence& recurrence, const RnnInputs& in, const RnnOutputs& out) {
  const std::string_view kernel = recurrence.name();
  const bool cell = recurrence.kind == RnnKind::lstm;
  if (!cell && (in.initial_c || in.peephole || out.c)) {
    throw InvalidArgument("{}: {} is given, which only an lstm has", kernel,
                          in.initial_c  ? "initial_c"
                          : in.peephole ? "peephole"
                                        : "c");
  }
  const auto given = [](const std::optional<View>& v) { return v ? &*v : nullptr; };
  const View *const bias = given(in.bias), *const recurrent_bias = given(in.recurrent_bias);
  const View *const initial_h = given(in.initial_h), *const initial_c = given(in.initial_c);
  const View *const peephole = given(in.peephole), *const lengths = given(in.lengths);
  const View *const y = given(out.y), *const c = given(out.c);
  if (cell) {
    check_views(kernel, {&in.x, &in.w, &in.r, bias, recurrent_bias, initial_h, initial_c, peephole, lengths},
                {&out.h, y, c});
  } else {
    check_views(kernel, {&in.x, &in.w, &in.r, bias, recurrent_bias, initial_h, lengths}, {&out.h, y});
  }
  const std::int64_t d = recurrence.directions(), steps = in.x.shape()[0], batch = in.x.shape()[1];
  const std::int64_t hidden = in.r.shape()[2], rows = recurrence.gates() * hidden;
  const auto expect = [&](std::string_view operand, const std::optional<View>& v, const Shape& shape,
                          std::string_view meaning) {
    if (v) expect_shape(kernel, operand, *v, shape, in.x, meaning);
  };
  const std::string gates = recurrence.gates() == 1 ? "hidden" : std::format("{} · hidden", recurrence.gates());
  expect("r", in.r, {d, rows, hidden}, std::format("[directions, {}, hidden]", gates));
  expect("w", in.w, {d, rows, in.x.shape()[2]}, std::format("[directions, {}, inputs]", gates));
  expect("bias", in.bias, {d, rows}, std::format("[directions, {}]", gates));
  expect("recurrent_bias", in.recurrent_bias, {d, rows}, std::format("[directions, {}]", gates));
  expect("peephole", in.peephole, {d, 3 * hidden}, "[directions, 3 · hidden]");
  expect("lengths", in.lengths, {batch}, "[batch]");
  expect("initial_h", in.initial_h, {d, batch, hidden}, "[directions, batch, hidden]");
  expect("initial_c", in.initial_c, {d, batch, hidden}, "[directions, batch, hidden]");
  expect("h", out.h, {d, batch, hidden}, "[directions, batch, hidden]");
  expect("y", out.y, {steps, d, batch, hidden}, "[steps, directions, batch, hidden]");
  expect("c", out.c, {d, batch, hidden}, "[directions, batch, hidden]");
  check_memory(stream, kernel,
               {{"x", in.x},
                {"w", in.w},
                {"r", in.r},
                {"bias", in.bias},
                {"recurrent_bias", in.recurrent_bias},
                {"initial_h", in.initial_h},
                {"initial_c", in.initial_c},
                {"peephole", in.peephole},
                {"lengths", in.lengths}},
               {{"h", out.h}, {"y", out.y}, {"c", out.c}}, Sharing::none);
  if (!stream.gpu()) return;
  for (const View* v : {&in.x, &in.w, &in.r, bias, recurrent_bias, initial_h, initial_c, peephole, &out.h}) {
    if (v && v->dtype == DType::f64) throw Unsupported("{}: {} on a GPU, which has no f64", kernel, to_string(*v));
  }
}

CallKey key_of(const Recurrence& r, std::uint32_t given, StepForm form) {
  CallKey key(r.name(), r.direction, r.order, r.clip, r.coupled, r.output_peephole_after, r.clip_output, r.reset_after,
              given, form);
  for (const RnnActivation& a : r.activations) key.add(a.function).add(a.alpha).add(a.beta);
  return key;
}

}  // namespace

void recur(Stream& stream, const Recurrence& recurrence, const RnnInputs& in, const RnnOutputs& out, StepForm form) {
  std::vector<View> inputs, outputs;
  std::uint32_t given = 0, bit = 1;
  const auto list = [&](const std::optional<View>& v, std::vector<View>& to) {
    if (v) to.push_back(*v), given |= bit;
    bit <<= 1;
  };
  for (const auto& v : {std::optional(in.x), std::optional(in.w), std::optional(in.r), in.bias, in.recurrent_bias,
                        in.initial_h, in.initial_c, in.peephole, in.lengths}) {
    list(v, inputs);
  }
  for (const auto& v : {std::optional(out.h), out.y, out.c}) list(v, outputs);
  call(stream, key_of(recurrence, given, form), {inputs, outputs}, [&](Stream& s) {
    check(s, recurrence, in, out);
    Sequence(s, recurrence, in, out, form).run();
  });
}

void lstm(Stream& stream, const RnnInputs& inputs, const RnnOutputs& outputs, const LstmOptions& options) {
  recur(stream, Recurrence(options), inputs, outputs);
}

void gru(Stream& stream, const RnnInputs& inputs, const RnnOutputs& outputs, const GruOptions& options) {
  recur(stream, Recurrence(options), inputs, outputs);
}

void rnn(Stream& stream, const RnnInputs& inputs, const RnnOutputs& outputs, const RnnOptions& options) {
  recur(stream, Recurrence(options), inputs, outputs);
}

}  // namespace weft::kernels
