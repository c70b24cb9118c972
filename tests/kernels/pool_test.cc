// Pooling on every device against the CPU, and the CPU against the definition. PyTorch's values are in
// cpu_kernels_reference_test.cc.
#include <numeric>

#include "core/str_cat.h"
#include "cpu/executor.h"
#include "kernels/operands.h"
#include "kernels/pool/problem.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/kernel_references.h"
#include "support/throws.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using kernels::Epilogue;
using kernels::PoolKind;
using kernels::PoolOptions;
using kernels::Prologue;
using testing::HasSubstr;

enum class Function : std::uint8_t { max, max_with_indices, average, lp, max_gradient, average_gradient };
constexpr Function kFunctions[] = {
    Function::max, Function::max_with_indices, Function::average,         Function::average,
    Function::lp,  Function::max_gradient,     Function::average_gradient};
constexpr std::string_view kNames[] = {"max", "max with indices", "average", "lp", "max gradient", "average gradient"};
bool is_gradient(Function f) { return f == Function::max_gradient || f == Function::average_gradient; }

// Axes in another order in memory: channels last, or the spatial axes first.
View in_order(Rng& rng, int order, const Shape& shape, DType type, Kind kind,
              Values kind_of_values = Values::ordinary) {
  if (order == 0) return random_view(rng, shape, type, kind, kind_of_values);
  std::vector<int> axes{0};
  for (int d = 2; d < shape.rank(); ++d) axes.push_back(d);
  axes.insert(order == 1 ? axes.end() : axes.begin(), 1);
  Shape stored;
  std::vector<int> back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    stored.push_back(shape[axes[i]]);
    back[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
  }
  return random_view(rng, stored, type, kind, kind_of_values).permuted(back);
}

struct Call {
  Function function;
  PoolOptions options;
  double p = 2;
  std::shared_ptr<Expression> expression, before;

  // Inputs: x or dy, indices, the prologue's operand, the epilogue's.
  std::size_t own() const { return function == Function::max_gradient ? 2 : 1; }
  Prologue prologue(std::span<const View> in) const {
    return before ? Prologue{before.get(), in.subspan(own(), 1)} : Prologue{};
  }
  Epilogue epilogue(std::span<const View> in) const {
    return expression ? Epilogue{expression.get(), in.subspan(own() + (before ? 1 : 0))} : Epilogue{};
  }
  void run(Stream& s, std::span<const View> in, std::span<const View> out) const {
    const Epilogue e = epilogue(in);
    const Prologue b = prologue(in);
    switch (function) {
      case Function::max:
        return kernels::max_pool(s, in[0], out[0], options, {b, e});
      case Function::max_with_indices:
        return kernels::max_pool_with_indices(s, in[0], out[0], out[1], options, {.prologue = b});
      case Function::average:
        return kernels::average_pool(s, in[0], out[0], options, {b, e});
      case Function::lp:
        return kernels::lp_pool(s, in[0], out[0], p, options, {b, e});
      case Function::max_gradient:
        return kernels::max_pool_gradient(s, in[0], in[1], out[0], options, {b, e});
      case Function::average_gradient:
        return kernels::average_pool_gradient(s, in[0], out[0], options, {b, e});
    }
  }
  void reference(std::span<const View> in, std::span<const View> out) const {
    const Epilogue e = epilogue(in);
    const Prologue b = prologue(in);
    const bool indexed = function == Function::max_with_indices;
    const PoolKind kind = function == Function::lp                                                  ? PoolKind::lp
                          : function == Function::average || function == Function::average_gradient ? PoolKind::average
                                                                                                    : PoolKind::max;
    const auto problem =
        is_gradient(function)
            ? kernels::pool_gradient_problem(
                  function == Function::max_gradient ? "max_pool_gradient" : "average_pool_gradient", kind, in[0],
                  own() == 2 ? std::optional(in[1]) : std::nullopt, out[0], options, e, b)
            : kernels::pool_problem(indexed                     ? "max_pool_with_indices"
                                    : kind == PoolKind::max     ? "max_pool"
                                    : kind == PoolKind::average ? "average_pool"
                                                                : "lp_pool",
                                    kind, in[0], out[0], out.size() > 1 ? std::optional(out.back()) : std::nullopt, p,
                                    options, e, b);
    pool_reference(problem, expression.get());
  }
};

// 2 a + b as `to`, which is rounded once, so that it is the same on every device; of integers a + b.
Expression doubled_sum(DType a, DType b, DType to) {
  Expression e;
  const DType wide = is_floating(to) ? DType::f32 : to;
  const auto as = [&](int v, DType from) { return from == wide ? v : e.cast(v, wide); };
  const int first = as(e.input(a), a), second = as(e.input(b), b);
  const int twice = is_floating(to) ? e.apply(ScalarOp::mul, {first, e.constant(2, wide)}) : first;
  const int sum = e.apply(ScalarOp::add, {twice, second});
  e.output(to == wide ? sum : e.cast(sum, to));
  return e;
}

Problem random_pool(Rng& rng) {
  constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};
  constexpr DType kIntegers[] = {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32};
  Call call{.function = pick(rng, kFunctions), .options = {}, .p = 2, .expression = {}, .before = {}};
  const Function f = call.function;
  const bool of_max = f == Function::max || f == Function::max_with_indices;
  const int spatial = random_int(rng, 1, 3), order = random_int(rng, 0, 2);
  const bool real = !of_max || rng() % 4 != 0;
  PoolOptions& o = call.options;
  o.adaptive = rng() % 4 == 0;
  o.count_padding = rng() % 2;
  if (rng() % 4 == 0) o.divisor = random_int(rng.details(), 1, 9);
  const double norms[] = {1, 2, 3, 1.5};
  call.p = pick(rng, norms);
  // Whether options differ from their defaults chooses the shader.
  const bool dilates = rng() % 3 == 0, pads = rng() % 2, fours = rng() % 2, rows = rng() % 2;
  const bool empty = rng() % 16 == 0;
  Rng& details = rng.details();
  const std::int64_t n = random_int(details, empty ? 0 : 1, 3);
  Shape x{n, fours ? 4 * random_int(details, 1, 4) : random_int(details, 1, 7)}, y = x;
  for (int d = 0; d < spatial; ++d) {
    // Rows of whole fours are loaded so, and small windows have loops of their own: windows choose the shader, too.
    const bool row = rows && d == spatial - 1;
    const std::int64_t size = row ? 4 * random_int(details, 1, 5) : random_int(details, 1, spatial == 3 ? 6 : 13);
    const std::int64_t window = random_int(rng, 1, 4), stride = random_int(rng, 1, 4);
    const std::int64_t dilation = dilates ? random_int(rng, 1, 4) : 1, before = pads ? random_int(rng, 0, 3) : 0;
    x.push_back(size);
    if (o.adaptive) {
      y.push_back(random_int(details, 1, 9));
      continue;
    }
    const std::int64_t reach = size + before - (window - 1) * dilation - 1;
    // Windows that begin at x's end or past it have no elements.
    y.push_back(std::max<std::int64_t>(1, (reach >= 0 ? reach / stride + 1 : 0) + random_int(details, 0, 2)));
    if (row) y[-1] = (y[-1] + 3) / 4 * 4;
    o.window.push_back(window), o.strides.push_back(stride), o.dilations.push_back(dilation);
    o.before.push_back(before), o.after.push_back(random_int(details, 0, 2));
  }
  const DType from = real ? pick(rng, kFloats) : pick(rng, kIntegers);
  const DType to = real && rng() % 2 ? pick(rng, kFloats) : from;
  const Kind from_kind = random_input_kind(rng), to_kind = random_output_kind(rng);
  const bool special = of_max && rng() % 3 == 0, made = rng() % 2;
  constexpr DType kStored[] = {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i8, DType::i64};
  const DType stored = made && real ? pick(rng, kStored) : from;
  Problem p;
  p.inputs = {in_order(rng, order, is_gradient(f) ? y : x, stored, from_kind,
                       special && !made ? Values::special : Values::ordinary)};
  p.outputs = {in_order(rng, rng() % 3 ? order : random_int(rng, 0, 2), is_gradient(f) ? x : y, to, to_kind)};
  if (f == Function::max_with_indices) p.outputs.push_back(in_order(rng, order, y, DType::i32, to_kind));
  if (f == Function::max_gradient) {
    // Mostly positions in windows, some outside of them, some that are none.
    const View indices = in_order(rng, order, y, DType::i32, random_output_kind(rng));
    std::int64_t positions = 1;
    for (int d = 0; d < spatial; ++d) positions *= x[2 + d];
    set_values(indices,
               [&](std::int64_t) { return static_cast<double>(random_int(details, -1, static_cast<int>(positions))); });
    p.inputs.push_back(indices);
  }
  if (made) {
    // An operand of x's shape in the same order of axes or another, or one that broadcasts.
    const DType beside = real ? pick(rng, kFloats) : from;
    const Shape shape = p.inputs[0].shape();
    p.inputs.push_back(rng() % 2 ? in_order(rng, rng() % 2 ? order : 0, shape, beside, random_input_kind(rng))
                                 : random_view(rng, random_broadcast(rng, shape), beside));
    call.before = std::make_shared<Expression>(doubled_sum(stored, beside, from));
  }
  const bool fused = real && f != Function::max_with_indices && rng() % 2;
  if (fused) {
    const DType bias = pick(rng, kFloats);
    p.inputs.push_back(random_view(rng, random_broadcast(rng, p.outputs[0].shape()), bias));
    call.expression = std::make_shared<Expression>();
    Expression& e = *call.expression;
    const int v = e.input(DType::f32), added = e.input(bias);
    const int relu =
        e.apply(ScalarOp::relu, {e.apply(ScalarOp::add, {v, bias == DType::f32 ? added : e.cast(added, DType::f32)})});
    e.output(to == DType::f32 ? relu : e.cast(relu, to));
  }
  p.what =
      std::format("{}{} of {} to {}, window {}, strides {}, dilations {}, before {}, after {}{}{}{}, divisor {}, p {}",
                  o.adaptive ? "adaptive " : "", kNames[static_cast<int>(f)], to_string(p.inputs[0]),
                  to_string(p.outputs[0]), to_string(o.window), to_string(o.strides), to_string(o.dilations),
                  to_string(o.before), to_string(o.after), o.count_padding ? "" : ", inside", fused ? ", bias" : "",
                  made ? str_cat(", prologue ", call.before->to_string(), " of ", to_string(p.inputs[call.own()])) : "",
                  o.divisor, call.p);
  p.call = [=](Stream& s, auto in, auto out) { call.run(s, in, out); };
  p.reference = [=](Stream&, auto in, auto out) { call.reference(in, out); };
  double taps = 1;
  for (int d = 0; d < spatial; ++d) taps *= static_cast<double>(is_gradient(f) ? y[2 + d] : x[2 + d]);
  const bool rounded = to != DType::f32;
  if (real && (!of_max || fused)) {
    p.tolerance = {.ulp = rounded ? 1.0 : 0.0, .absolute = 1e-6 + 1e-6 * std::sqrt(taps), .relative = 1e-5};
  }
  return p;
}

const bool registered = differential("pool", random_pool);

class Pool : public testing::Test {
 protected:
  View f32(const Shape& shape) { return random_view(rng, shape, DType::f32); }
  cpu::Executor cpu;
  Rng rng{5};
};

TEST_F(Pool, SaysWhatDoesNotFit) {
  const auto refused = [&](const Shape& x, const Shape& y, const PoolOptions& o) {
    return thrown_by([&] { kernels::max_pool(cpu, f32(x), f32(y), o); });
  };
  EXPECT_THAT(refused({1, 3, 8, 8}, {1, 4, 4, 4}, {.window = {2, 2}}),
              HasSubstr("max_pool: x is [1, 3, 8, 8] and y is [1, 4, 4, 4]; expected one rank, batch and "
                        "number of channels"));
  EXPECT_THAT(refused({1, 3, 8, 8}, {1, 3, 4}, {.window = {2, 2}}), HasSubstr("expected one rank"));
  EXPECT_THAT(refused({1, 3}, {1, 3}, {.window = {2}}), HasSubstr("max_pool: x is f32 [1, 3]; expected rank 3 to 5"));
  EXPECT_THAT(refused({1, 3, 8, 8}, {1, 3, 4, 4}, {.window = {2}}),
              HasSubstr("1 numbers of window, expected one for each of 2 spatial axes"));
  EXPECT_THAT(refused({1, 3, 8, 8}, {1, 3, 4, 4}, {}), HasSubstr("the window has no sizes"));
  EXPECT_THAT(refused({1, 3, 8, 8}, {1, 3, 4, 4}, {.window = {2, 0}}),
              HasSubstr("window is [2, 0], expected numbers from 1"));
  EXPECT_THAT(refused({1, 3, 8, 8}, {1, 3, 4, 4}, {.window = {2, 2}, .strides = {0, 1}}),
              HasSubstr("strides are [0, 1]"));
  EXPECT_THAT(refused({1, 3, 8, 8}, {1, 3, 4, 4}, {.window = {2, 2}, .dilations = {1, -1}}),
              HasSubstr("dilations are [1, -1]"));
  EXPECT_THAT(refused({1, 3, 8, 8}, {1, 3, 4, 4}, {.window = {2, 2}, .before = {-1, 0}}),
              HasSubstr("before is [-1, 0], expected numbers from 0"));
  EXPECT_THAT(refused({1, 3, 8, 8}, {1, 3, 4, 4}, {.window = {2, 2}, .adaptive = true}),
              HasSubstr("adaptive windows follow from the sizes; [2, 2] was given besides"));
  const View x = f32({1, 3, 8}), y = f32({1, 3, 4});
  EXPECT_THAT(thrown_by([&] { kernels::max_pool(cpu, x, random_view(rng, {1, 3, 4}, DType::i32), {.window = {2}}); }),
              HasSubstr("max_pool: x is f32 [1, 3, 8], y is i32 [1, 3, 4]"));
  EXPECT_THAT(thrown_by([&] {
                kernels::average_pool(cpu, random_view(rng, {1, 3, 8}, DType::i32),
                                      random_view(rng, {1, 3, 4}, DType::i32), {.window = {2}});
              }),
              HasSubstr("average_pool: x is i32 [1, 3, 8]"));
  EXPECT_THAT(thrown_by([&] { kernels::average_pool(cpu, x, y, {.window = {2}, .divisor = -1}); }),
              HasSubstr("the divisor is -1, expected 0 or more"));
  for (const double p : {0.0, -1.0, std::nan(""), static_cast<double>(INFINITY)}) {
    EXPECT_THAT(thrown_by([&] { kernels::lp_pool(cpu, x, y, p, {.window = {2}}); }),
                HasSubstr("expected a positive number"));
  }
  EXPECT_THAT(thrown_by([&] {
                kernels::max_pool_with_indices(cpu, x, y, random_view(rng, {1, 3, 5}, DType::i32), {.window = {2}});
              }),
              HasSubstr("the indices are [1, 3, 5], expected [1, 3, 4]"));
  EXPECT_THAT(thrown_by([&] {
                kernels::max_pool_gradient(cpu, y, random_view(rng, {1, 3, 5}, DType::i32), x, {.window = {2}});
              }),
              HasSubstr("max_pool_gradient: the indices are [1, 3, 5], expected [1, 3, 4]"));
  EXPECT_THAT(thrown_by([&] { kernels::max_pool(cpu, x, x, {.window = {1}}); }), HasSubstr("shares memory"));
  Expression two;
  two.output(two.apply(ScalarOp::add, {two.input(DType::f32), two.input(DType::f32)}));
  EXPECT_THAT(thrown_by([&] { kernels::max_pool(cpu, x, y, {.window = {2}}, {.epilogue = {&two, {}}}); }),
              HasSubstr("max_pool: the epilogue"));
  EXPECT_THAT(thrown_by([&] { kernels::max_pool(cpu, x, y, {.window = {2}}, {.prologue = {&two, {}}}); }),
              HasSubstr("max_pool: the prologue (x0:f32, x1:f32) add(x0, x1) has 2 inputs and 1 outputs, expected 1 (x "
                        "and 0 operands) and 1"));
  EXPECT_THAT(
      thrown_by([&] { kernels::max_pool(cpu, x, y, {.window = {2}}, {.prologue = {nullptr, std::span(&x, 1)}}); }),
      HasSubstr("max_pool: prologue operands without an expression"));
  const View half[] = {random_view(rng, {1, 3, 8}, DType::f16)};
  EXPECT_THAT(thrown_by([&] { kernels::max_pool(cpu, x, y, {.window = {2}}, {.prologue = {&two, half}}); }),
              HasSubstr("input 1 of the prologue (x0:f32, x1:f32) add(x0, x1) is f32, given f16 [1, 3, 8]"));
  const View wide[] = {f32({1, 3, 5})};
  EXPECT_THAT(thrown_by([&] { kernels::max_pool(cpu, x, y, {.window = {2}}, {.prologue = {&two, wide}}); }),
              HasSubstr("max_pool: prologue operand f32 [1, 3, 5] does not broadcast to x, f32 [1, 3, 8]"));
  EXPECT_THAT(thrown_by([&] { kernels::max_pool(cpu, x, y, {.window = {2}}, {.epilogue = {&two, wide}}); }),
              HasSubstr("does not broadcast to the result"));
}

// Windows in the padding alone: -inf and no index, the least integer, averages and norms of 0.
TEST_F(Pool, WindowsWithoutElements) {
  const PoolOptions o{.window = {2}, .strides = {1}, .before = {2}, .count_padding = false};
  const auto expect_on_every_device = [&](const View& x, std::vector<View> y, const KernelCall& call, double first,
                                          const Tolerance& tolerance = {}) {
    call(cpu, std::span(&x, 1), y);
    EXPECT_EQ(value(y[0], 0), first);
    for (const std::string& name : device_names()) run_both(test::device(name), std::span(&x, 1), y, call, tolerance);
  };
  const View x = f32({1, 1, 3}), y = f32({1, 1, 7}), indices = random_view(rng, {1, 1, 7}, DType::i32);
  expect_on_every_device(
      x, {y, indices},
      [&](Stream& s, auto in, auto out) { kernels::max_pool_with_indices(s, in[0], out[0], out[1], o); }, -INFINITY);
  EXPECT_EQ(value(indices, 0), -1);
  EXPECT_EQ(value(indices, 6), -1);
  const auto max = [&](Stream& s, auto in, auto out) { kernels::max_pool(s, in[0], out[0], o); };
  expect_on_every_device(x, {y}, max, -INFINITY);
  expect_on_every_device(x, {y}, [&](Stream& s, auto in, auto out) { kernels::average_pool(s, in[0], out[0], o); }, 0);
  expect_on_every_device(x, {y}, [&](Stream& s, auto in, auto out) { kernels::lp_pool(s, in[0], out[0], 3, o); }, 0,
                         {.relative = 1e-6});  // of two powers and a root, which a GPU rounds
  for (const auto& [type, least] : {std::pair(DType::i32, -0x1p31),
                                    {DType::u32, 0.0},
                                    {DType::i16, -32768.0},
                                    {DType::u16, 0.0},
                                    {DType::i8, -128.0},
                                    {DType::u8, 0.0}}) {
    const View small = random_view(rng, {1, 1, 3}, type), result = random_view(rng, {1, 1, 7}, type);
    expect_on_every_device(small, {result}, max, least);
    expect_on_every_device(
        small, {result, indices},
        [&](Stream& s, auto in, auto out) { kernels::max_pool_with_indices(s, in[0], out[0], out[1], o); }, least);
    // An epilogue takes it as an i32 or u32, and a prologue says what the type is.
    Expression widened, narrowed;
    const DType wide = type == DType::u32 ? DType::u32 : DType::i32;
    widened.output(widened.cast(widened.input(wide), DType::f32));
    const int v = narrowed.input(DType::f32);
    narrowed.output(narrowed.cast(v, type));
    expect_on_every_device(
        small, {random_view(rng, {1, 1, 7}, DType::f32)},
        [&](Stream& s, auto in, auto out) { kernels::max_pool(s, in[0], out[0], o, {.epilogue = {&widened, {}}}); },
        least);
    expect_on_every_device(
        f32({1, 1, 3}), {result},
        [&](Stream& s, auto in, auto out) { kernels::max_pool(s, in[0], out[0], o, {.prologue = {&narrowed, {}}}); },
        least);
  }
}

// Four neighbours of a row of dx at a time: windows of every distance that divides 4, with and without padding, that
// overlap, touch and leave gaps.
TEST_F(Pool, GradientsOfRows) {
  struct Case {
    std::int64_t window, stride, before;
  };
  for (const auto& [window, stride, before] : {Case{3, 1, 1}, {2, 2, 0}, {3, 2, 1}, {5, 2, 4}, {2, 4, 1}, {5, 4, 2}}) {
    const std::int64_t windows = (16 + 2 * before - window) / stride + 1;
    const DType type = window == 3 ? DType::f16 : DType::f32;
    const View dx = random_view(rng, {2, 3, 5, 16}, type), dy = random_view(rng, {2, 3, 5, windows}, type),
               x = random_view(rng, {2, 3, 5, 16}, type), y = random_view(rng, {2, 3, 5, windows}, type),
               indices = random_view(rng, {2, 3, 5, windows}, DType::i32);
    PoolOptions o{.window = {1, window}, .strides = {1, stride}, .before = {0, before}};
    o.count_padding = stride == 4;
    kernels::max_pool_with_indices(cpu, x, y, indices, o);
    const View in[] = {dy, indices};
    const Tolerance near{.ulp = 1, .absolute = 1e-5};
    for (const std::string& name : device_names()) {
      SCOPED_TRACE(std::format("{}: window {}, stride {}, before {}", name, window, stride, before));
      run_both(
          test::device(name), in, std::span(&dx, 1),
          [&](Stream& s, auto v, auto out) { kernels::max_pool_gradient(s, v[0], v[1], out[0], o); }, near);
      run_both(
          test::device(name), std::span(in, 1), std::span(&dx, 1),
          [&](Stream& s, auto v, auto out) { kernels::average_pool_gradient(s, v[0], out[0], o); }, near);
    }
  }
}

// On the cpu maxima with their places, gradients through the windows, in both orders of memory: against
// the definition.
TEST_F(Pool, FormsOfTheCpu) {
  struct Case {
    Shape x, y;
    PoolOptions options;
  };
  const Case cases[] = {
      {{2, 19, 13, 14}, {2, 19, 7, 7}, {.window = {3, 3}, .strides = {2, 2}, .before = {1, 1}}},
      {{1, 5, 12, 11}, {1, 5, 4, 5}, {.window = {2, 3}, .strides = {3, 2}}},  // with gaps
      {{2, 4, 15, 10}, {2, 4, 6, 8}, {.window = {3, 2}, .strides = {2, 1}, .dilations = {2, 2}}},
      {{1, 1, 701}, {1, 1, 351}, {.window = {3}, .strides = {2}, .before = {1}}},
      {{2, 6, 17}, {2, 6, 5}, {.adaptive = true}},
      {{1, 7, 4, 5, 6}, {1, 7, 3, 4, 3}, {.window = {2, 2, 3}, .strides = {1, 1, 2}, .before = {0, 0, 1}}},
      {{2, 18, 6, 9}, {2, 18, 6, 9}, {.window = {3, 3}, .strides = {1, 1}, .before = {1, 1}, .count_padding = false}},
      {{1, 600, 3, 21}, {1, 600, 2, 11}, {.window = {2, 2}, .strides = {2, 2}, .before = {1, 1}}},  // cut lines
      {{2, 5, 9, 8}, {2, 5, 4, 5}, {.window = {3, 9}, .strides = {2, 2}, .before = {0, 4}}},        // wider than x
      {{1, 4, 7, 23}, {1, 4, 5, 7}, {.window = {3, 4}, .strides = {1, 3}, .dilations = {1, 2}, .before = {0, 2}}},
      {{3, 4, 6, 6}, {3, 4, 3, 3}, {.adaptive = true}},
  };
  for (const DType type : {DType::f32, DType::f64, DType::f16}) {
    for (const Case& c : cases) {
      for (const bool last : {false, true}) {
        const auto view = [&](const Shape& shape, DType t) {
          if (!last) return random_view(rng, shape, t);
          Shape stored{shape[0]};
          std::vector<int> order{0, static_cast<int>(shape.rank()) - 1};
          for (int d = 2; d < shape.rank(); ++d) stored.push_back(shape[d]), order.push_back(d - 1);
          stored.push_back(shape[1]);
          return random_view(rng, stored, t).permuted(order);
        };
        SCOPED_TRACE(std::format("{} {} to {}{}", name(type), to_string(c.x), to_string(c.y), last ? ", last" : ""));
        const Tolerance near{.ulp = 1, .absolute = 1e-5};
        const View x = view(c.x, type), y = view(c.y, type), own_y = view(c.y, type), indices = view(c.y, DType::i32),
                   own_indices = view(c.y, DType::i32), dx = view(c.x, type), own_dx = view(c.x, type);
        kernels::average_pool(cpu, x, y, c.options);
        pool_reference(kernels::pool_problem("average_pool", PoolKind::average, x, own_y, {}, 1, c.options, {}),
                       nullptr);
        expect_close(y, own_y, near);
        for (const double p : {1., 2., 3.}) {
          kernels::lp_pool(cpu, x, y, p, c.options);
          pool_reference(kernels::pool_problem("lp_pool", PoolKind::lp, x, own_y, {}, p, c.options, {}), nullptr);
          expect_close(y, own_y, near);
        }
        if (type == DType::f32) {  // also of windows with NaN, of several, and of infinities alone
          auto* const elements = reinterpret_cast<float*>(x.buffer.data() + x.offset);
          for (const std::int64_t i : {3, 4, 11}) elements[i] = NAN;
          std::fill_n(elements + x.count() / 2, x.count() / 3, -INFINITY);
        }
        kernels::max_pool_with_indices(cpu, x, y, indices, c.options);
        pool_reference(
            kernels::pool_problem("max_pool_with_indices", PoolKind::max, x, own_y, own_indices, 1, c.options, {}),
            nullptr);
        expect_close(y, own_y, {});
        expect_close(indices, own_indices, {});
        kernels::max_pool(cpu, x, y, c.options);
        expect_close(y, own_y, {});
        // Also of places that are not of their windows, or of no element.
        for (const bool wrong : {false, true}) {
          auto* const places = reinterpret_cast<std::int32_t*>(own_indices.buffer.data() + own_indices.offset);
          for (std::int64_t i = 0; wrong && i < own_indices.count(); i += 5)
            places[i] = static_cast<std::int32_t>(i) - 4;
          kernels::max_pool_gradient(cpu, y, own_indices, dx, c.options);
          pool_reference(
              kernels::pool_gradient_problem("max_pool_gradient", PoolKind::max, y, own_indices, own_dx, c.options, {}),
              nullptr);
          expect_close(dx, own_dx, near);
        }
        kernels::average_pool_gradient(cpu, y, dx, c.options);
        pool_reference(
            kernels::pool_gradient_problem("average_pool_gradient", PoolKind::average, y, {}, own_dx, c.options, {}),
            nullptr);
        expect_close(dx, own_dx, near);
      }
    }
  }
}

// Rows that are cut on the cpu: by a plain loop over the windows.
TEST_F(Pool, LongRowsOnTheCpu) {
  constexpr std::int64_t kSize = 20001, kWindows = 10001;
  for (const bool padding : {true, false}) {
    const PoolOptions o{.window = {3}, .strides = {2}, .before = {1}, .count_padding = padding, .after = {0}};
    const View x = f32({1, 1, kSize}), y = f32({1, 1, kWindows}), dy = f32({1, 1, kWindows}), dx = f32({1, 1, kSize}),
               top = f32({1, 1, kWindows}), dtop = f32({1, 1, kSize}),
               indices = random_view(rng, {1, 1, kWindows}, DType::i32);
    kernels::average_pool(cpu, x, y, o);
    kernels::average_pool_gradient(cpu, dy, dx, o);
    kernels::max_pool_with_indices(cpu, x, top, indices, o);
    kernels::max_pool_gradient(cpu, dy, indices, dtop, o);
    const std::vector<double> from = values(x), gradient = values(dy);
    std::vector<double> sums(kWindows), tops(kWindows, -INFINITY), spread(kSize), chosen(kSize);
    for (std::size_t i = 0; i < kWindows; ++i) {
      const auto first = static_cast<std::int64_t>(2 * i) - 1;
      const double count = 3 - (first < 0 && !padding) - (first + 2 >= kSize);
      std::int64_t top_place = -1;
      for (std::int64_t j = std::max<std::int64_t>(first, 0); j < std::min(first + 3, kSize); ++j) {
        const auto at = static_cast<std::size_t>(j);
        sums[i] += from[at] / count, spread[at] += gradient[i] / count;
        if (from[at] > tops[i]) tops[i] = from[at], top_place = j;
      }
      chosen[static_cast<std::size_t>(top_place)] += gradient[i];
    }
    const auto near = [](const View& got, const std::vector<double>& expected, const char* what) {
      const std::vector<double> v = values(got);
      for (std::size_t i = 0; i < v.size(); ++i) ASSERT_NEAR(v[i], expected[i], 1e-5) << what << ", element " << i;
    };
    near(y, sums, "average"), near(dx, spread, "its gradient"), near(top, tops, "maximum"),
        near(dtop, chosen, "its gradient");
  }
}

// On the cpu lines of channels into views whose lines do not follow each other, with operands of such views, and lines
// that a prologue makes.
TEST_F(Pool, LinesOfChannelsOnTheCpu) {
  const auto part = [&](std::int64_t h, std::int64_t w, std::int64_t c, DType type) {  // of a larger image
    View v = random_view(rng, {2, h, w + 1, c + 3}, type);
    v.layout.shape[2] = w, v.layout.shape[3] = c;
    return v.permuted(std::array{0, 3, 1, 2});
  };
  for (const Function f : {Function::max, Function::average, Function::average_gradient, Function::max_gradient}) {
    for (const bool padding : {true, false}) {
      for (const bool before : {false, true}) {
        Call call{.function = f, .options = {.window = {3, 3}, .strides = {2, 2}, .before = {1, 1}}};
        call.options.count_padding = padding;
        const View x = part(9, 13, 21, DType::f32), y = part(5, 7, 21, DType::f16);
        const View &from = is_gradient(f) ? y : x, &to = is_gradient(f) ? x : y;
        std::vector<View> in;
        in.reserve(4);
        in.push_back(from);
        if (f == Function::max_gradient) {
          in.push_back(part(5, 7, 21, DType::i32));
          kernels::max_pool_with_indices(cpu, part(9, 13, 21, DType::f32), part(5, 7, 21, DType::f32), in[1],
                                         call.options);
        }
        if (before) {
          in.push_back(is_gradient(f) ? part(5, 7, 21, DType::f32) : part(9, 13, 21, DType::f32));
          call.before = std::make_shared<Expression>(doubled_sum(from.dtype, DType::f32, from.dtype));
        }
        in.push_back(is_gradient(f) ? part(9, 13, 21, DType::f16) : part(5, 7, 21, DType::f16));
        call.expression = std::make_shared<Expression>(doubled_sum(DType::f32, DType::f16, to.dtype));
        const View expected = random_view(rng, to.shape(), to.dtype);
        call.run(cpu, in, std::span(&to, 1));
        call.reference(in, std::span(&expected, 1));
        expect_close(to, expected, {.ulp = 1, .absolute = 1e-4},
                     std::format("{}{}{}", kNames[static_cast<std::size_t>(f)], padding ? ", padding" : "",
                                 before ? ", prologue" : ""));
      }
    }
  }
}

using PoolChunks = ChunksTest;

// Operands that exceed a binding are cut along the batch, the channels and the image.
TEST_F(PoolChunks, EveryAxis) {
  const auto f32 = [&](const Shape& shape) { return random_view(rng, shape, DType::f32); };
  const auto i32 = [&](const Shape& shape) { return random_view(rng, shape, DType::i32); };
  const auto last = [](const View& v) { return v.permuted(std::vector<int>{0, 3, 1, 2}); };
  const Tolerance near{.absolute = 1e-5};
  const PoolOptions three{.window = {3, 3}, .strides = {2, 2}, .before = {1, 1}, .count_padding = false};
  const auto max = [&](const PoolOptions& o) -> KernelCall {
    return [o](Stream& s, auto in, auto out) { kernels::max_pool_with_indices(s, in[0], out[0], out[1], o); };
  };
  const auto average = [&](const PoolOptions& o) -> KernelCall {
    return [o](Stream& s, auto in, auto out) { kernels::average_pool(s, in[0], out[0], o); };
  };
  const auto gradient = [&](const PoolOptions& o) -> KernelCall {
    return [o](Stream& s, auto in, auto out) { kernels::average_pool_gradient(s, in[0], out[0], o); };
  };
  both({f32({40, 3, 20, 20})}, {f32({40, 3, 10, 10}), i32({40, 3, 10, 10})}, max(three), {});
  both({f32({1, 1, 300, 200})}, {f32({1, 1, 150, 100}), i32({1, 1, 150, 100})}, max(three), {});
  both({last(f32({1, 200, 30, 20}))}, {last(f32({1, 100, 15, 20})), last(i32({1, 100, 15, 20}))}, max(three), {});
  both({f32({1, 1, 300, 200})}, {f32({1, 1, 150, 100})}, average(three), near);
  both({f32({1, 1, 300, 200})}, {f32({1, 1, 30, 40})}, average({.adaptive = true}), near);
  both({f32({1, 2, 20000})}, {f32({1, 2, 30000})}, average({.adaptive = true}), near);
  both({f32({1, 1, 150, 100})}, {f32({1, 1, 300, 200})}, gradient(three), near);
  both({f32({1, 1, 70, 90})}, {f32({1, 1, 300, 200})}, gradient({.adaptive = true}), near);
  PoolOptions apart{.window = {4}, .strides = {3}, .dilations = {5}, .before = {2}};
  both({f32({1, 1, 60000})}, {f32({1, 1, 19996})}, average(apart), near);
  both({f32({1, 1, 19996})}, {f32({1, 1, 60000})}, gradient(apart), near);
  const View dy = f32({1, 1, 150, 100}), found = i32({1, 1, 150, 100}), x = f32({1, 1, 300, 200});
  kernels::max_pool_with_indices(*std::make_unique<cpu::Executor>(), x, dy, found, three);
  both(
      {dy, found}, {f32({1, 1, 300, 200})},
      [&](Stream& s, auto in, auto out) { kernels::max_pool_gradient(s, in[0], in[1], out[0], three); }, near);
  // With elementwise work before, whose operand broadcasts or is as large.
  const Expression before = doubled_sum(DType::f32, DType::f32, DType::f32);
  const KernelCall made = [&](Stream& s, auto in, auto out) {
    kernels::max_pool(s, in[0], out[0], three, {.prologue = {&before, in.subspan(1)}});
  };
  both({f32({1, 1, 300, 200}), f32({1, 1, 300, 200})}, {f32({1, 1, 150, 100})}, made, {});
  both({f32({40, 3, 20, 20}), f32({3, 1, 1})}, {f32({40, 3, 10, 10})}, made, {});
  // One window over more than a binding.
  gpu::Encoder encoder(*device);
  const View far(device->allocate(80000), 0, DType::f32, {1, 1, 20000}),
      one(device->allocate(4), 0, DType::f32, {1, 1, 1});
  EXPECT_THAT(thrown_by([&] { kernels::max_pool(encoder, far, one, {.window = {20000}}); }),
              HasSubstr("Unsupported: max_pool: the windows of one result span 80000 bytes of f32 [1, 1, 20000]"));
}

}  // namespace
}  // namespace weft::test
