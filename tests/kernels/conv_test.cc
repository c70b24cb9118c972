// Convolutions on every device against the CPU, and the CPU against a plain loop. PyTorch's values are in
// cpu_kernels_reference_test.cc.
#include "kernels/conv/problem.h"

#include "cpu/executor.h"
#include "kernels/matmul/matmul.h"
#include "kernels/operands.h"
#include "kernels/plan_cache.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/kernel_references.h"
#include "support/quick.h"
#include "support/throws.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using kernels::ConvOptions;
using kernels::ConvProblem;
using kernels::Epilogue;
using testing::HasSubstr;

enum class Function : std::uint8_t { conv, transpose, filter_gradient };
constexpr Function kFunctions[] = {Function::conv, Function::conv, Function::transpose, Function::filter_gradient};

// Axes in another order in memory: channels last, or the spatial axes first.
View in_some_order(Rng& rng, const Shape& shape, DType type, Kind kind) {
  const int order = random_int(rng, 0, 2);
  if (order == 0) return random_view(rng, shape, type, kind);
  std::vector<int> axes{0};
  for (int d = 2; d < shape.rank(); ++d) axes.push_back(d);
  axes.insert(order == 1 ? axes.end() : axes.begin(), 1);
  Shape stored;
  std::vector<int> back(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) {
    stored.push_back(shape[axes[i]]);
    back[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
  }
  return random_view(rng, stored, type, kind).permuted(back);
}

void run(Stream& s, Function f, std::span<const View> in, const View& out, const ConvOptions& o, const Expression* e) {
  const Epilogue epilogue = e ? Epilogue{e, in.subspan(2)} : Epilogue{};
  switch (f) {
    case Function::conv:
      return kernels::conv(s, in[0], in[1], out, o, epilogue);
    case Function::transpose:
      return kernels::conv_transpose(s, in[0], in[1], out, o, epilogue);
    case Function::filter_gradient:
      return kernels::conv_filter_gradient(s, in[0], in[1], out, o);
  }
}

std::vector<ConvProblem> problems_of(Function f, std::span<const View> in, const View& out, const ConvOptions& o,
                                     const Expression* e) {
  const Epilogue epilogue = e ? Epilogue{e, in.subspan(2)} : Epilogue{};
  switch (f) {
    case Function::conv:
      return {kernels::conv_problem(in[0], in[1], out, o, epilogue)};
    case Function::transpose:
      return kernels::conv_transpose_problems(in[0], in[1], out, o, epilogue);
    case Function::filter_gradient:
      return {kernels::conv_filter_gradient_problem(in[0], in[1], out, o)};
  }
  return {};
}

void run_reference(Function f, std::span<const View> in, const View& out, const ConvOptions& o, const Expression* e) {
  for (const ConvProblem& p : problems_of(f, in, out, o, e)) conv_reference(p, e);
}

// Whether the device and these layouts allow the call.
bool plans(gpu::Device& device, std::span<const View> in, const View& out, const KernelCall& call) {
  std::vector<View> views;
  for (const View& v : in) views.push_back(kernels::operand(v.dtype, v.layout));
  views.push_back(kernels::operand(out.dtype, out.layout));
  std::vector<const View*> pointers;
  for (const View& v : views) pointers.push_back(&v);
  kernels::Planner planner(device, pointers, kernels::PlanFor::inspection);
  try {
    call(planner, std::span(views).first(in.size()), std::span(views).last(1));
  } catch (const Unsupported&) {
    return false;
  }
  return true;
}

Problem random_conv(Rng& rng) {
  constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};
  constexpr DType kIntegers[] = {DType::i8, DType::u8, DType::i16, DType::u16, DType::i32, DType::u32};
  constexpr DType kSums[] = {DType::i32, DType::u32};
  const Function f = pick(rng, kFunctions);
  const int spatial = random_int(rng, 1, 3);
  const bool real = rng() % 3 != 0;
  Rng& details = rng.details();
  ConvOptions o;
  const int grouped = random_int(rng, 0, 3);  // one, some, depthwise
  o.groups = grouped < 2 ? 1 : random_int(details, 2, 5);
  if (grouped == 3 && rng() % 2) o.groups = 4 * random_int(details, 1, 3);
  const std::int64_t c = grouped == 3 ? 1 : rng() % 2 ? 4 * random_int(details, 1, 4) : random_int(details, 1, 9);
  const std::int64_t out = grouped == 3 && rng() % 2 ? 1 : random_int(details, 1, 9);
  const std::int64_t n = random_int(details, rng() % 16 == 0 ? 0 : 1, 3);
  Shape x{n, c * o.groups}, w{out * o.groups, c}, y{n, out * o.groups};
  for (int d = 0; d < spatial; ++d) {
    const std::int64_t window = random_int(details, 1, 4), stride = rng() % 2 ? 1 : random_int(details, 1, 3);
    const std::int64_t dilation = rng() % 3 ? 1 : random_int(details, 1, 3);
    const std::int64_t before = rng() % 2 ? 0 : random_int(details, -1, 3);
    const std::int64_t size = random_int(details, 1, spatial == 3 ? 6 : 14);
    // Positions that a window reaches, and some more on either side.
    const std::int64_t reach = size + before - (window - 1) * dilation - 1;
    x.push_back(size), w.push_back(window);
    y.push_back(std::max<std::int64_t>(1, (reach >= 0 ? reach / stride + 1 : 0) + random_int(details, 0, 1)));
    o.strides.push_back(stride), o.dilations.push_back(dilation), o.before.push_back(before);
  }
  const DType a = real ? pick(rng, kFloats) : pick(rng, kIntegers);
  const DType b = rng() % 2 ? a : real ? pick(rng, kFloats) : pick(rng, kIntegers);
  const DType sums = real ? pick(rng, kFloats) : pick(rng, kSums);
  const Shape shapes[3][3] = {{x, w, y}, {y, w, x}, {x, y, w}};
  const auto& [first, second, result] = shapes[static_cast<int>(f)];
  Problem p;
  p.inputs = {in_some_order(rng, first, a, random_input_kind(rng)),
              in_some_order(rng, second, b, random_input_kind(rng))};
  p.outputs = {in_some_order(rng, result, sums, random_output_kind(rng))};
  if (real && rng() % 4 == 0) {
    // Elements that are no numbers, also where windows meet the padding.
    for (const View& v : p.inputs) {
      constexpr double kOthers[] = {INFINITY, -INFINITY, NAN};
      const View number = host_view(v.dtype, {1}, std::array{pick(details, kOthers)});
      if (v.count())
        set_element_bits(v, static_cast<std::int64_t>(details() % static_cast<std::uint64_t>(v.count())),
                         element_bits(number, 0));
    }
  }
  auto e = std::make_shared<Expression>();
  const bool fused = f != Function::filter_gradient && real && rng() % 2;
  if (fused) {
    const DType bias = pick(rng, kFloats);
    p.inputs.push_back(random_view(rng, random_broadcast(rng, result), bias));
    const int v = e->input(DType::f32), added = e->input(bias);
    const int sum = e->apply(ScalarOp::add, {v, bias == DType::f32 ? added : e->cast(added, DType::f32)});
    const int relu = e->apply(ScalarOp::relu, {sum});
    e->output(sums == DType::f32 ? relu : e->cast(relu, sums));
  }
  p.what = std::format("{} of {} and {} to {}, strides {}, dilations {}, before {}, groups {}{}",
                       f == Function::conv        ? "conv"
                       : f == Function::transpose ? "transpose"
                                                  : "filter gradient",
                       to_string(p.inputs[0]), to_string(p.inputs[1]), to_string(p.outputs[0]), to_string(o.strides),
                       to_string(o.dilations), to_string(o.before), o.groups, fused ? ", bias" : "");
  // On a GPU in one of its forms, even if it would not be chosen there.
  std::vector<kernels::MatmulVariant> tiles;
  for (const kernels::MatmulVariant& v : kernels::matmul_variants()) {
    if (v.kind == kernels::MatmulKind::tile) tiles.push_back(v);
  }
  const auto form = static_cast<std::size_t>(random_int(rng, 0, static_cast<int>(tiles.size()) + 1));
  if (form < tiles.size() && y.rank() > 0) {
    p.form = [=, variant = tiles[form]](Stream& s, auto in, auto to) {
      const std::vector<ConvProblem> problems = problems_of(f, in, to[0], o, fused ? e.get() : nullptr);
      kernels::call_once(s, {in, to}, [&](Stream& planner) {
        for (const ConvProblem& q : problems) {
          if (q.y.count() == 0) continue;
          const Expression* epilogue = fused ? e.get() : nullptr;
          const std::uint32_t threads = planner.gpu()->device().capabilities().max_workgroup_size;
          if (q.depth() > 0 && static_cast<std::uint32_t>(variant.threads) <= threads &&
              static_cast<std::uint32_t>(variant.workgroup_memory()) <=
                  planner.gpu()->device().capabilities().max_workgroup_memory) {
            kernels::conv_product(*planner.gpu(), q, epilogue, &variant);
          } else {
            kernels::conv_direct(*planner.gpu(), q, epilogue);
          }
        }
      });
    };
  }
  p.call = [=](Stream& s, auto in, auto to) { run(s, f, in, to[0], o, fused ? e.get() : nullptr); };
  p.reference = [=](Stream&, auto in, auto to) { run_reference(f, in, to[0], o, fused ? e.get() : nullptr); };
  // As of matmul: two sums of at most `depth` products of normal numbers.
  double depth = 1;
  for (int d = 0; d < spatial; ++d) depth *= static_cast<double>(f == Function::filter_gradient ? y[2 + d] : w[2 + d]);
  depth *= static_cast<double>(f == Function::filter_gradient ? n : f == Function::conv ? c : out);
  if (real) p.tolerance = {.ulp = sums == DType::f32 ? 0.0 : 1.0, .absolute = 4e-7 * depth * std::sqrt(depth) + 1e-6};
  return p;
}

const bool registered = differential("conv", random_conv, 1, 6);

class Conv : public testing::Test {
 protected:
  View f32(const Shape& shape) { return random_view(rng, shape, DType::f32); }
  cpu::Executor cpu;
  Rng rng{5};
};

TEST_F(Conv, SaysWhatDoesNotFit) {
  const auto refused = [&](const Shape& x, const Shape& w, const Shape& y, const ConvOptions& o = {}) {
    return thrown_by([&] { kernels::conv(cpu, f32(x), f32(w), f32(y), o); });
  };
  EXPECT_THAT(
      refused({1, 3, 8, 8}, {16, 4, 3, 3}, {1, 16, 6, 6}),
      HasSubstr("InvalidArgument: conv: filter [16, 4, 3, 3] has 4 channels for each group, x has 3 (groups 1)"));
  EXPECT_THAT(refused({1, 4, 8, 8}, {16, 4, 3, 3}, {1, 15, 6, 6}),
              HasSubstr("conv: y has 15 channels, the filter [16, 4, 3, 3] has 16 for them (groups 1)"));
  EXPECT_THAT(refused({1, 4, 8, 8}, {16, 4, 3, 3}, {2, 16, 6, 6}), HasSubstr("have batches of 1 and 2"));
  EXPECT_THAT(refused({1, 4, 8, 8}, {16, 4, 3}, {1, 16, 6, 6}), HasSubstr("expected one rank"));
  EXPECT_THAT(refused({1, 4}, {16, 4}, {1, 16}), HasSubstr("conv: x is f32 [1, 4]; expected rank 3 to 5"));
  EXPECT_THAT(refused({1, 4, 8, 8}, {16, 4, 3, 3}, {1, 16, 6, 6}, {.strides = {1}}),
              HasSubstr("1 numbers of strides, expected one for each of 2 spatial axes"));
  EXPECT_THAT(refused({1, 4, 8, 8}, {16, 4, 3, 3}, {1, 16, 6, 6}, {.dilations = {1, 0}}),
              HasSubstr("dilations are [1, 0], expected numbers from 1"));
  EXPECT_THAT(refused({1, 4, 8, 8}, {16, 4, 3, 3}, {1, 16, 6, 6}, {.groups = 0}), HasSubstr("0 groups"));
  EXPECT_THAT(refused({1, 4, 8, 8}, {16, 1, 3, 3}, {1, 16, 6, 6}, {.groups = 3}), HasSubstr("(groups 3)"));
  EXPECT_THAT(
      thrown_by([&] { kernels::conv(cpu, f32({1, 4, 8}), random_view(rng, {2, 4, 3}, DType::i32), f32({1, 2, 6})); }),
      HasSubstr("conv: x is f32 [1, 4, 8], w is i32 [2, 4, 3], y is f32 [1, 2, 6]; expected x, w, y: floats or"));
  const View same = f32({1, 4, 8});
  EXPECT_THAT(thrown_by([&] { kernels::conv(cpu, same, f32({4, 4, 1}), same); }), HasSubstr("shares memory"));
}

// Nothing is added up: y is the epilogue's value for zero, also without a batch.
TEST_F(Conv, EmptySums) {
  Expression plus_one;
  plus_one.output(plus_one.apply(ScalarOp::add, {plus_one.input(DType::f32), plus_one.constant(1, DType::f32)}));
  for (const auto& [x, w, y] : {std::tuple(Shape{2, 0, 5}, Shape{3, 0, 2}, Shape{2, 3, 4}),
                                {Shape{2, 4, 0}, Shape{3, 4, 2}, Shape{2, 3, 4}},
                                {Shape{2, 4, 5}, Shape{3, 4, 0}, Shape{2, 3, 4}},
                                {Shape{0, 4, 5}, Shape{3, 4, 2}, Shape{0, 3, 4}}}) {
    const View to = f32(y), in[] = {f32(x), f32(w)};
    const KernelCall call = [&](Stream& s, auto from, auto out) {
      kernels::conv(s, from[0], from[1], out[0], {}, {&plus_one, {}});
    };
    call(cpu, in, std::span(&to, 1));
    for (const double v : values(to)) EXPECT_EQ(v, 1);
    for (const std::string& name : device_names()) run_both(test::device(name), in, std::span(&to, 1), call, {});
  }
}

// Padding takes no part in a sum, whatever form computes it: infinities of the filter at padding leave no NaN.
TEST_F(Conv, PaddingTakesNoPartInAnyForm) {
  const auto ones = [](const Shape& shape) {
    return host_view(DType::f32, shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), 1));
  };
  // w = inf, 1, 1, 1 for each of four outputs; y has an element more than x reaches.
  std::vector<double> filter(16, 1);
  for (std::size_t o = 0; o < 4; ++o) filter[o * 4] = INFINITY;
  const View w = host_view(DType::f32, {1, 4, 4}, filter), transposed = f32({1, 4, 9});
  kernels::conv_transpose(cpu, ones({1, 1, 4}), w, transposed, {});
  for (std::int64_t o = 0; o < 4; ++o) {
    const double expected[] = {INFINITY, INFINITY, INFINITY, INFINITY, 3, 2, 1, 0, 0};
    for (std::int64_t i = 0; i < 9; ++i) EXPECT_EQ(value(transposed, o * 9 + i), expected[i]) << o << ", " << i;
  }
  // Of few outputs (rows), of many (panels), and of other types: what a plain loop gives.
  for (const std::int64_t outputs : {1, 3, 4, 24}) {
    for (const DType type : {DType::f32, DType::f16, DType::f64}) {
      for (const Function f : kFunctions) {
        const View x = random_view(rng, {2, 3, 7, 6}, type), kernel = random_view(rng, {outputs, 3, 3, 3}, type),
                   y = random_view(rng, {2, outputs, 7, 6}, type);
        const ConvOptions o{.before = {1, 1}};
        const View& second = f == Function::filter_gradient ? y : kernel;
        kernels::with_type(type, [&]<class T>() {
          if constexpr (std::is_convertible_v<float, T>) {
            T* elements = kernels::data<T>(second);
            for (std::int64_t i = 0; i < second.count(); i += 5) elements[i] = T(i % 2 ? INFINITY : -INFINITY);
          }
        });
        const View &first = f == Function::transpose ? y : x, &result = f == Function::conv        ? y
                                                                        : f == Function::transpose ? x
                                                                                                   : kernel;
        const View in[] = {first, second};
        const View expected = random_view(rng, result.shape(), type);
        run_reference(f, in, expected, o, nullptr);
        run(cpu, f, in, result, o, nullptr);
        expect_close(result, expected, {.ulp = 4, .absolute = 1e-2},
                     std::format("{} outputs of {}, function {}", outputs, name(type), static_cast<int>(f)));
      }
    }
  }
}

// Depthwise convolutions take four places at a time: not of rows that four does not divide, even if the whole image is
// one run of memory whose length it divides.
TEST_F(Conv, DepthwiseOfShortRows) {
  for (const auto& [x, w, y] : {std::tuple(Shape{2, 1, 2}, Shape{1, 1, 1}, Shape{2, 1, 2}),
                                {Shape{1, 1, 6, 3}, Shape{1, 1, 2, 2}, Shape{1, 1, 5, 2}},
                                {Shape{2, 2, 7}, Shape{2, 1, 2}, Shape{2, 2, 6}},
                                {Shape{4, 6, 5}, Shape{6, 1, 2}, Shape{4, 6, 4}},
                                {Shape{2, 2, 4, 3}, Shape{2, 1, 1, 1}, Shape{2, 2, 4, 3}}}) {
    const View from = f32(x), filter = f32(w), to = f32(y);
    const View in[] = {from, filter};
    const KernelCall call = [groups = x[1]](Stream& s, auto operands, auto out) {
      kernels::conv(s, operands[0], operands[1], out[0], {.groups = groups});
    };
    for (const std::string& name : device_names()) {
      run_both(test::device(name), in, std::span(&to, 1), call, {.absolute = 1e-5}, to_string(x));
      // Channels last.
      if (y.rank() != 3) continue;
      const View moved = f32({y[0], y[2], y[1]}).permuted(std::array{0, 2, 1});
      run_both(test::device(name), in, std::span(&moved, 1), call, {.absolute = 1e-5}, "channels last");
    }
  }
}

// Adjacent channels whose places are all one: the copy in f32 keeps the channels adjacent.
TEST_F(Conv, FiltersOfSingleChannelsOfABroadcast) {
  const View x = random_view(rng, {2, 1, 16}, DType::f16).permuted(std::array{0, 2, 1}).broadcast_to({2, 16, 3});
  const View in[] = {x, random_view(rng, {16, 1, 1}, DType::f32)};
  const View got = f32({2, 3, 16}).permuted(std::array{0, 2, 1}), expected = f32({2, 16, 3});
  ConvOptions o;
  o.groups = 16;
  run(cpu, Function::conv, in, got, o, nullptr);
  run_reference(Function::conv, in, expected, o, nullptr);
  expect_close(got, expected, {.absolute = 1e-6});
}

// On the cpu a filter for each channel runs along the channels where these are adjacent.
TEST_F(Conv, FiltersOfSingleChannelsOnTheCpu) {
  struct Case {
    std::int64_t channels;
    Shape x, window, y;  // spatial axes
    ConvOptions options;
  };
  const Case cases[] = {
      {8, {9}, {3}, {9}, {.before = {1}}},
      {19, {11, 8}, {3, 3}, {6, 4}, {.strides = {2, 2}, .before = {1, 1}}},
      {33, {12, 10}, {5, 2}, {8, 10}, {.dilations = {2, 1}, .before = {2, 1}}},
      {600, {5, 5}, {3, 3}, {5, 5}, {.before = {1, 1}}},  // more than a block of an expression
      {16, {4, 5, 6}, {2, 3, 1}, {3, 3, 6}, {}},
      {16, {3}, {2}, {3}, {.before = {4}}},  // windows that lie outside of x alone
  };
  const auto sized = [](std::int64_t n, std::int64_t c, const Shape& spatial) {
    Shape shape{n, c};
    for (const std::int64_t size : spatial) shape.push_back(size);
    return shape;
  };
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    for (const Case& c : cases) {
      const auto channels_last = [&](const Shape& spatial) {
        Shape stored{2};
        std::vector<int> order{0, static_cast<int>(spatial.rank()) + 1};
        for (int d = 0; d < spatial.rank(); ++d) stored.push_back(spatial[d]), order.push_back(d + 1);
        stored.push_back(c.channels);
        return random_view(rng, stored, type).permuted(order);
      };
      ConvOptions o = c.options;
      o.groups = c.channels;
      const View in[] = {channels_last(c.x), random_view(rng, sized(c.channels, 1, c.window), type),
                         random_view(rng, sized(1, c.channels, Shape(Dims::filled(c.x.rank(), 1))), DType::f32)};
      const View got = channels_last(c.y), expected = channels_last(c.y);
      Expression e;
      const int sum = e.apply(ScalarOp::add, {e.input(DType::f32), e.input(DType::f32)});
      const int relu = e.apply(ScalarOp::relu, {sum});
      e.output(type == DType::f32 ? relu : e.cast(relu, type));
      for (const Expression* epilogue : {static_cast<const Expression*>(nullptr), static_cast<const Expression*>(&e)}) {
        const std::span<const View> operands = std::span(in).first(epilogue ? 3 : 2);
        run(cpu, Function::conv, operands, got, o, epilogue);
        run_reference(Function::conv, operands, expected, o, epilogue);
        const std::vector<double> a = values(got), b = values(expected);
        const double step = type == DType::f32 ? 1e-6 : type == DType::f16 ? 1e-3 : 8e-3;
        for (std::size_t i = 0; i < a.size(); ++i) {
          ASSERT_NEAR(a[i], b[i], step * std::max(1.0, std::abs(b[i])) * 4)
              << name(type) << ", " << c.channels << " channels, element " << i;
        }
      }
    }
  }
}

// On the cpu each form, in both orders of memory and every type: the products of windows and of places, and the rows
// and vectors of groups with a channel each.
TEST_F(Conv, FormsOfTheCpu) {
  struct Case {
    std::int64_t batch, channels, outputs;  // of a group
    Shape x, window;                        // spatial axes
    ConvOptions options;
  };
  const Case cases[] = {
      {2, 3, 40, {19, 21}, {3, 3}, {.before = {1, 1}}},                                     // one group
      {3, 40, 70, {9, 37}, {3, 2}, {.strides = {2, 3}, .before = {1, 0}}},                  // several panels
      {2, 3, 8, {40, 41}, {7, 7}, {.strides = {2, 2}, .before = {3, 3}}},                   // long sums
      {2, 8, 8, {18, 19}, {3, 3}, {.before = {1, 1}, .groups = 4}},                         // some groups
      {1, 2, 3, {11, 30}, {2, 3}, {.strides = {1, 2}, .dilations = {3, 2}, .groups = 10}},  // small ones
      {2, 1, 1, {17, 40}, {3, 5}, {.strides = {2, 1}, .before = {1, 2}, .groups = 19}},     // a channel each
      {3, 1, 1, {70}, {4}, {.strides = {2}, .dilations = {3}, .before = {-2}, .groups = 70}},
      {2, 5, 4, {100}, {10}, {.strides = {3}, .before = {4}}},  // a long window
      {1, 4, 6, {5, 6, 19}, {2, 3, 3}, {.before = {1, 0, 1}}},
      // Planes: in pieces of rows and of a row, of several images, with remainders by strides, and with steps of
      // windows.
      {2, 1, 1, {57, 83}, {3, 3}, {.before = {1, 1}, .groups = 5}},
      {2, 1, 1, {9001}, {5}, {.before = {2}, .groups = 2}},
      {9, 1, 1, {7, 7}, {7, 7}, {.before = {3, 3}, .groups = 11}},
      {2, 1, 1, {33, 31}, {3, 3}, {.strides = {3, 3}, .dilations = {2, 2}, .before = {2, -1}, .groups = 4}},
      {1, 1, 1, {3, 40, 45}, {2, 3, 3}, {.strides = {1, 2, 1}, .before = {0, 1, 1}, .groups = 9}},
      {2, 1, 1, {4, 9, 11}, {3, 3, 2}, {.strides = {2, 2, 2}, .before = {1, 1, 0}, .groups = 8}},
      {5, 6, 5, {14, 15}, {3, 3}, {.before = {1, 1}, .groups = 3}},  // gradients of several rows and columns
      {3, 37, 70, {9, 10}, {3, 3}, {.before = {1, 1}}},              // in blocks of channels
      {2, 1, 1, {3, 3}, {2, 2}, {.dilations = {40, 40}, .before = {40, 40}, .groups = 9}},  // far windows
  };
  for (const DType type : {DType::f32, DType::f64, DType::f16}) {
    for (const Case& c : cases) {
      const ConvOptions& o = c.options;
      Shape x{c.batch, c.channels * o.groups}, w{c.outputs * o.groups, c.channels}, y{c.batch, c.outputs * o.groups};
      for (int d = 0; d < c.x.rank(); ++d) {
        const auto of = [d](const Dims& given, std::int64_t otherwise) { return given.empty() ? otherwise : given[d]; };
        const std::int64_t reach = c.x[d] + 2 * of(o.before, 0) - (c.window[d] - 1) * of(o.dilations, 1) - 1;
        x.push_back(c.x[d]), w.push_back(c.window[d]), y.push_back(reach / of(o.strides, 1) + 1);
      }
      const Shape shapes[3][3] = {{x, w, y}, {y, w, x}, {x, y, w}};
      for (const Function f : {Function::conv, Function::transpose, Function::filter_gradient}) {
        for (const bool last : {false, true}) {
          const auto view = [&](const Shape& shape) {
            if (!last) return random_view(rng, shape, type);
            Shape stored{shape[0]};
            std::vector<int> order{0, static_cast<int>(shape.rank()) - 1};
            for (int d = 2; d < shape.rank(); ++d) stored.push_back(shape[d]), order.push_back(d - 1);
            stored.push_back(shape[1]);
            return random_view(rng, stored, type).permuted(order);
          };
          const auto& [first, second, result] = shapes[static_cast<int>(f)];
          const View in[] = {view(first), view(second)}, got = view(result), expected = view(result);
          run(cpu, f, in, got, o, nullptr);
          run_reference(f, in, expected, o, nullptr);
          expect_close(
              got, expected,
              type == DType::f64   ? Tolerance{.absolute = 1e-11}
              : type == DType::f32 ? Tolerance{.absolute = 2e-3}
                                   : Tolerance{.absolute = 1e-2, .relative = 2e-3},
              std::format("{} {}, {} and {}", static_cast<int>(f), name(type), to_string(in[0]), to_string(in[1])));
        }
      }
    }
  }
}

// An element that is no number takes part in the sums of its windows alone, in every form: as in a plain loop.
TEST_F(Conv, ElementsThatAreNoNumbersOnTheCpu) {
  constexpr double kOthers[] = {INFINITY, NAN, -INFINITY};
  for (const auto& [groups, c, out] : {std::tuple(1, 1, 1), {12, 1, 1}, {3, 4, 5}}) {
    const Shape x{2, groups * c, 9, 11}, w{groups * out, c, 3, 3};
    for (const std::int64_t stride : {1, 2}) {
      const Shape y{2, groups * out, (8 / stride) + 1, (10 / stride) + 1};
      const ConvOptions o{.strides = {stride, stride}, .before = {1, 1}, .groups = groups};
      const Shape shapes[3][3] = {{x, w, y}, {y, w, x}, {x, y, w}};
      for (const Function f : {Function::conv, Function::transpose, Function::filter_gradient}) {
        for (int operand = 0; operand < 2; ++operand) {
          const auto& [first, second, result] = shapes[static_cast<int>(f)];
          const View in[] = {f32(first), f32(second)}, got = f32(result), expected = f32(result);
          // At the end of a row, and at the last element of all.
          const View& other = in[operand];
          auto* const elements = kernels::data<float>(other);
          elements[other.shape()[-1] - 1] = static_cast<float>(kOthers[operand]);
          elements[other.count() - 1] = static_cast<float>(kOthers[operand + 1]);
          run(cpu, f, in, got, o, nullptr);
          run_reference(f, in, expected, o, nullptr);
          expect_close(
              got, expected, {.absolute = 1e-4},
              std::format("{} of {} groups, operand {}, stride {}", static_cast<int>(f), groups, operand, stride));
        }
      }
    }
  }
}

// Results of planes in views whose places have no common stride, with operands of such views and of other types.
TEST_F(Conv, PlanesIntoViewsOnTheCpu) {
  Expression e;
  const int sum = e.input(DType::f32), bias = e.input(DType::f32), other = e.input(DType::f16);
  e.output(e.apply(ScalarOp::add, {e.apply(ScalarOp::mul, {sum, bias}), e.cast(other, DType::f32)}));
  for (const std::int64_t width : {5, 14, 90}) {
    ConvOptions o;
    o.before = {1, 1}, o.groups = 6;
    const Shape y{2, 6, 60, width};
    const auto part = [&](DType type) {  // of a larger image
      View v = random_view(rng, {2, 6, 60, width + 3}, type);
      v.layout.shape[3] = width;
      return v;
    };
    const View in[] = {part(DType::f32), f32({6, 1, 3, 3}), f32({6, 1, 1}), part(DType::f16)};
    const View got = part(DType::f32), expected = f32(y);
    run(cpu, Function::conv, in, got, o, &e);
    run_reference(Function::conv, in, expected, o, &e);
    expect_close(got, expected, {.absolute = 1e-4}, std::format("rows of {}", width));
    // Turned, so that the rows of y are columns in memory.
    const View turned = f32({2, 6, width, 60}).permuted(std::array{0, 1, 3, 2});
    run(cpu, Function::conv, in, turned, o, &e);
    expect_close(turned, expected, {.absolute = 1e-4}, std::format("columns of {}", width));
  }
}

// Padding takes no part, also where it would meet an infinity: by the formulas that weft/kernels/conv.h states.
TEST_F(Conv, InfinitiesThatMeetThePaddingOnTheCpu) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto filled = [&](const Shape& shape, std::initializer_list<float> row) {
    const View v = f32(shape);
    auto* const to = reinterpret_cast<float*>(v.buffer.data() + v.offset);
    for (std::int64_t i = 0; i < v.count(); ++i) to[i] = row.begin()[static_cast<std::size_t>(i) % row.size()];
    return v;
  };
  // Groups, and channels and outputs of each.
  for (const auto& [groups, c, out] : {std::tuple(1, 1, 1), {1, 1, 40}, {1, 3, 2}, {12, 1, 1}, {3, 2, 8}}) {
    ConvOptions o;
    o.before = {1};
    o.groups = groups;
    const View x = filled({1, groups * c, 3}, {1, 2, 3}), dy = filled({1, groups * out, 3}, {kInfinity, 1, 1}),
               dw = f32({groups * out, c, 3});
    kernels::conv_filter_gradient(cpu, x, dy, dw, o);
    const std::vector<double> gradient = values(dw);
    for (std::size_t i = 0; i < gradient.size(); ++i)
      EXPECT_EQ(gradient[i], i % 3 == 0 ? 1 * 1 + 1 * 2 : kInfinity) << i << ", groups " << groups;
    const View w = filled({groups * out, c, 3}, {kInfinity, 1, 1}), y = f32({1, groups * out, 3});
    kernels::conv(cpu, x, w, y, o);
    const std::vector<double> result = values(y);
    for (std::size_t i = 0; i < result.size(); ++i)
      EXPECT_EQ(result[i], i % 3 == 0 ? c * (1 + 2) : kInfinity) << i << ", groups " << groups;
  }
}

// The same on every device, in every form: elements that are no numbers at the corners of windows, where these meet the
// padding, and somewhere in the other operand.
TEST_F(Conv, PaddingTakesNoPartOnDevices) {
  struct Case {
    std::int64_t groups, channels, outputs;
    Shape x, window;  // spatial axes
    ConvOptions options;
  };
  const Case cases[] = {
      {1, 16, 16, {8, 8}, {3, 3}, {.before = {1, 1}}},
      {1, 3, 5, {7, 6}, {3, 2}, {.before = {2, 0}}},
      {2, 8, 24, {9}, {4}, {.strides = {2}, .before = {3}}},
      {1, 4, 9, {3, 4, 5}, {2, 3, 3}, {.before = {1, 1, 2}}},
      {1, 16, 16, {9, 8}, {3, 3}, {.strides = {2, 1}, .dilations = {1, 2}, .before = {1, 2}}},
      {8, 1, 1, {9, 8}, {3, 3}, {.before = {1, 1}}},  // depthwise
      {5, 1, 1, {12}, {3}, {.before = {2}}},
      {4, 1, 1, {4, 6, 8}, {2, 3, 3}, {.strides = {1, 2, 1}, .before = {1, 1, 1}}},
      {1, 32, 48, {10, 10}, {3, 3}, {.before = {1, 1}}},
  };
  constexpr double kOthers[] = {INFINITY, NAN, -INFINITY};
  // The usual form, a tile, with k in slices or split, and those of cooperative matrices, of which `few` has one. (A
  // software device takes a second for each tile's compilation.)
  const auto forms_on = [](const gpu::Device& device, bool few) {
    std::vector<std::optional<kernels::MatmulVariant>> all{std::nullopt};
    for (kernels::MatmulVariant v : kernels::matmul_variants()) {
      if (few || v.kind != kernels::MatmulKind::tile || v.tile_m != 32 || v.tile_n != 32) continue;
      if (v.slices == 1) v.splits = 3;
      all.emplace_back(v);
    }
    const std::vector<kernels::MatmulVariant> matrices = kernels::matrix_variants(device.capabilities(), DType::f16);
    for (std::size_t i = few && !matrices.empty() ? matrices.size() - 1 : 0; i < matrices.size(); ++i) {
      all.emplace_back(matrices[i]);
    }
    return all;
  };
  for (const Case& c : cases) {
    ConvOptions o = c.options;
    o.groups = c.groups;
    Shape x{2, c.channels * c.groups}, w{c.outputs * c.groups, c.channels}, y{2, c.outputs * c.groups};
    for (int d = 0; d < c.x.rank(); ++d) {
      const auto of = [d](const Dims& given) { return given.empty() ? 1 : given[d]; };
      const std::int64_t reach = c.x[d] + 2 * o.before[d] - (c.window[d] - 1) * of(o.dilations) - 1;
      x.push_back(c.x[d]), w.push_back(c.window[d]), y.push_back(reach / of(o.strides) + 1);
    }
    const Shape shapes[3][3] = {{x, w, y}, {y, w, x}, {x, y, w}};
    for (const Function f : {Function::conv, Function::transpose, Function::filter_gradient}) {
      for (const DType type : {DType::f32, DType::f16}) {
        for (const bool last : {false, true}) {
          // Each case and function with one type and order of memory, in turn.
          if ((&c - cases + static_cast<int>(f)) % 4 != (type == DType::f16) * 2 + last || leave_out_problem())
            continue;
          const auto view = [&](const Shape& shape) {
            if (!last) return random_view(rng, shape, type);
            Shape stored{shape[0]};
            std::vector<int> order{0, static_cast<int>(shape.rank()) - 1};
            for (int d = 2; d < shape.rank(); ++d) stored.push_back(shape[d]), order.push_back(d - 1);
            stored.push_back(shape[1]);
            return random_view(rng, stored, type).permuted(order);
          };
          const auto& [first, second, result] = shapes[static_cast<int>(f)];
          const View in[] = {view(first), view(second)}, out = view(result);
          // All are tried with the first problem.
          const bool few = &c != cases;
          // The first element, one in the midst and the last one.
          std::int64_t i = 0;
          set_values(in[1], [&](std::int64_t k) {
            return k % (in[1].count() / 2) == 0 || k == in[1].count() - 1 ? kOthers[i++ % 3] : 0.25 * std::cos(k);
          });
          set_element_bits(in[0], in[0].count() / 3, type == DType::f32 ? 0x7f800000 : 0x7c00);
          const std::vector<ConvProblem> problems = problems_of(f, in, out, o, nullptr);
          for (const std::string& name : device_names()) {
            for (const auto& form : forms_on(test::device(name), few)) {
              const KernelCall call = [&](Stream& s, auto from, auto to) {
                if (!s.gpu() || !form) return run(s, f, from, to[0], o, nullptr);
                kernels::call_once(s, {from, to}, [&](Stream& planner) {
                  for (const ConvProblem& p : problems_of(f, from, to[0], o, nullptr)) {
                    if (p.y.count() == 0) continue;
                    if (p.depth() > 0)
                      kernels::conv_product(*planner.gpu(), p, nullptr, &*form);
                    else
                      kernels::conv_direct(*planner.gpu(), p, nullptr);  // y is zeros
                  }
                });
              };
              if (form && !plans(test::device(name), in, out, call)) continue;
              run_both(
                  test::device(name), in, std::span(&out, 1), call,
                  {.ulp = type == DType::f32 ? 0.0 : 2.0, .absolute = type == DType::f32 ? 1e-4 : 1e-2},
                  std::format("function {} of {} and {} to {}, {} groups, {}", static_cast<int>(f), to_string(in[0]),
                              to_string(in[1]), to_string(out), o.groups, form ? to_string(*form) : "the usual form"));
            }
          }
        }
      }
    }
  }
}

// A NaN of a filter is in the 64 sums of one channel that an element of x brings it to.
TEST_F(Conv, ANumberThatIsNoneInATransposedFilter) {
  const View x = f32({1, 16, 8, 8}), w = f32({16, 16, 3, 3}), y = f32({1, 16, 10, 10});
  set_values(x, [](std::int64_t) { return 1; });
  set_values(w, [](std::int64_t i) { return i == 4 ? static_cast<double>(NAN) : 1; });
  const View in[] = {x, w};
  const KernelCall call = [](Stream& s, auto from, auto to) { kernels::conv_transpose(s, from[0], from[1], to[0]); };
  for (const std::string& name : device_names()) run_both(test::device(name), in, std::span(&y, 1), call, {});
  call(cpu, in, std::span(&y, 1));
  const std::vector<double> got = values(y);
  EXPECT_EQ(std::ranges::count_if(got, [](double v) { return std::isnan(v); }), 64);
}

using ConvChunks = ChunksTest;

// Operands that exceed a binding are cut along the batch, the outputs and the image, and along the channels into sums.
TEST_F(ConvChunks, EveryAxis) {
  const auto conv = [](const ConvOptions& o) -> KernelCall {
    return [o](Stream& s, auto in, auto out) { kernels::conv(s, in[0], in[1], out[0], o); };
  };
  const auto f32 = [&](const Shape& shape) { return random_view(rng, shape, DType::f32); };
  const Tolerance near{.absolute = 1e-4};
  both({f32({40, 3, 20, 20}), f32({4, 3, 3, 3})}, {f32({40, 4, 20, 20})}, conv({.before = {1, 1}}), near);
  both({f32({1, 2, 300, 80}), f32({3, 2, 3, 3})}, {f32({1, 3, 150, 80})}, conv({.strides = {2, 1}, .before = {1, 1}}),
       near);
  both({f32({1, 8, 6}), f32({4000, 8, 2})}, {f32({1, 4000, 5})}, conv({}), near);
  both({f32({1, 700, 500}), f32({4, 700, 3})}, {f32({1, 4, 500})}, conv({.before = {1}}), {.absolute = 1e-3});
  both({f32({1, 700, 50}), f32({700, 1, 3})}, {f32({1, 700, 50})}, conv({.before = {1}, .groups = 700}), near);
}

}  // namespace
}  // namespace weft::test
