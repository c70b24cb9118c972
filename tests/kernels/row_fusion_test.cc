// Softmax and norms with a prologue and an epilogue: against the CPU, and the CPU against the separate steps.
#include "compiler/bound.h"
#include "compiler/evaluate.h"
#include "cpu/executor.h"
#include "kernels/norm/row_norm.h"
#include "kernels/operands.h"
#include "kernels/softmax/softmax_split.h"
#include "kernels/split_form.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "weft/error.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/norm.h"
#include "weft/kernels/softmax.h"

namespace weft::test {
namespace {

enum class Kernel { softmax, log_softmax, layer, rms, group, instance };
constexpr Kernel kKernels[] = {Kernel::softmax, Kernel::log_softmax, Kernel::layer,
                               Kernel::rms,     Kernel::group,       Kernel::instance};
constexpr const char* kNames[] = {"softmax", "log_softmax", "layer_norm", "rms_norm", "group_norm", "instance_norm"};

// The views are inputs, operands of `epilogue`, scale, bias.
struct Fused {
  Kernel kernel = Kernel::softmax;
  int axis = 1;  // the first axis of a row, or the channels'
  std::int64_t groups = 1;
  std::optional<Expression> prologue = std::nullopt, epilogue = std::nullopt;
  std::size_t inputs = 1, operands = 0;
  bool scale = false, bias = false;
  std::optional<kernels::RowForm> form = std::nullopt;
  std::optional<kernels::SplitForm> splits = std::nullopt;
  float epsilon = 1e-2f;

  bool softmax() const { return kernel == Kernel::softmax || kernel == Kernel::log_softmax; }
  bool channels() const { return kernel == Kernel::group || kernel == Kernel::instance; }

  void operator()(Stream& s, std::span<const View> in, std::span<const View> out) const {
    const std::size_t results = epilogue ? epilogue->outputs().size() : 1;
    const kernels::Fusion work{
        {prologue ? &*prologue : nullptr, in.subspan(1, inputs - 1), out.subspan(results)},
        {epilogue ? &*epilogue : nullptr, in.subspan(inputs, operands), out.subspan(1, results - 1)}};
    const View &x = in[0], &y = out[0];
    const auto weights = in.subspan(inputs + operands);
    const auto w = scale ? std::optional(weights[0]) : std::nullopt;
    const auto b = bias ? std::optional(weights.back()) : std::nullopt;
    if ((form || splits) && s.gpu()) {
      const char* name = kNames[static_cast<int>(kernel)];
      const kernels::RowViews views = kernels::row_views(name, x, y, work);
      if (softmax()) {
        const bool log = kernel == Kernel::log_softmax;
        if (form) return kernels::softmax_in_form(s, views, axis, log, *form);
        return kernels::softmax_split_rows(s, views, axis, log, *splits);
      }
      const std::int64_t own = kernel == Kernel::group ? groups : -1;
      const kernels::RowNorm norm = kernel == Kernel::layer ? kernels::make_layer_norm(views, w, b, axis, epsilon)
                                    : kernel == Kernel::rms
                                        ? kernels::make_rms_norm(views, w, axis, epsilon)
                                        : kernels::make_group_norm(name, views, w, b, axis, own, epsilon);
      if (form) return row_norm_in_form(s, norm, *form);
      return kernels::row_norm_split_rows(s, norm, *splits);
    }
    switch (kernel) {
      case Kernel::softmax:
        return kernels::softmax(s, x, y, axis, work);
      case Kernel::log_softmax:
        return kernels::log_softmax(s, x, y, axis, work);
      case Kernel::layer:
        return kernels::layer_norm(s, x, w, b, y, axis, epsilon, work);
      case Kernel::rms:
        return kernels::rms_norm(s, x, w, y, axis, epsilon, work);
      case Kernel::group:
        return kernels::group_norm(s, x, w, b, y, axis, groups, epsilon, work);
      case Kernel::instance:
        return kernels::instance_norm(s, x, w, b, y, axis, epsilon, work);
    }
  }
};

// a · 0.5 + b, as `type`; with `sum` the sum as a second result, of type `stored`.
Expression scaled_sum(DType a, DType b, DType type, std::optional<DType> stored = {}) {
  Expression e;
  const int x = e.cast(e.input(a), DType::f32);
  const int y = e.cast(e.input(b), DType::f32);
  const int sum = e.apply(ScalarOp::add, {e.apply(ScalarOp::mul, {x, e.constant(0.5, DType::f32)}), y});
  e.output(e.cast(sum, type));
  if (stored) e.output(e.cast(sum, *stored));
  return e;
}

// (result + 0.25) · operand, as `type`; with `second` also its absolute value.
Expression gated(DType operand, DType type, std::optional<DType> second = {}) {
  Expression e;
  const int result = e.input(DType::f32);
  const int gate = e.cast(e.input(operand), DType::f32);
  const int y = e.apply(ScalarOp::mul, {e.apply(ScalarOp::add, {result, e.constant(0.25, DType::f32)}), gate});
  e.output(e.cast(y, type));
  if (second) e.output(e.cast(e.apply(ScalarOp::abs, {y}), *second));
  return e;
}

// A chain of random operations that are smooth and keep values small, over inputs of these types. `exact`: only
// operations that do not round, so that a device cannot give other results.
Expression random_expression(Rng& rng, std::span<const DType> inputs, DType type, std::optional<DType> second,
                             bool exact) {
  using enum ScalarOp;
  const std::vector<ScalarOp> unary =
      exact ? std::vector{neg, abs, relu} : std::vector{neg, abs, relu, tanh, sigmoid, silu, square, sin};
  const std::vector<ScalarOp> binary = exact ? std::vector{max, min} : std::vector{max, min, add, sub, mul};
  Expression e;
  std::vector<int> values;
  for (const DType t : inputs) values.push_back(e.input(t));
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    const bool whole = !is_floating(inputs[k]);
    int v = e.cast(values[k], DType::f32);
    if (whole && inputs[k] != DType::boolean) v = e.apply(mul, {v, e.constant(0.02, DType::f32)});
    values[k] = v;
  }
  int v = values[0];
  for (std::size_t k = 1; k < values.size(); ++k)
    v = e.apply(pick(rng, std::span<const ScalarOp>(binary)), {v, values[k]});
  const int middle = v;
  for (int n = random_int(rng, 0, 2); n > 0; --n) {
    const int low = e.constant(-4, DType::f32), high = e.constant(4, DType::f32);
    v = e.apply(pick(rng, std::span<const ScalarOp>(unary)), {e.apply(clamp, {v, low, high})});
  }
  e.output(e.cast(v, type));
  if (second) e.output(e.cast(rng() % 2 ? middle : v, *second));
  return e;
}

constexpr std::size_t kMaxBuffers = 8;  // the limit of every device

constexpr DType kFloats[] = {DType::f32, DType::f32, DType::f16, DType::bf16};
constexpr DType kAny[] = {DType::f32, DType::f32, DType::f16, DType::bf16,   DType::i8,
                          DType::u8,  DType::i32, DType::i64, DType::boolean};

const bool registered = differential("row_fusion", [](Rng& rng) {
  Fused f{.kernel = pick(rng, kKernels)};
  const int least = f.channels() ? 2 : 1;
  const Shape shape = random_shape(rng, least, f.kernel == Kernel::group ? 7 : 8, 4096, false);
  f.axis = random_int(rng, least - 1, shape.rank() - 1);
  const std::int64_t channels = shape[f.axis];
  f.groups = channels % 3 == 0 ? 3 : channels % 2 == 0 ? 2 : 1;
  Shape weights;
  if (f.channels())
    weights = {channels};
  else if (!f.softmax())
    weights = Shape(std::span(shape.begin() + f.axis, shape.end()));
  f.scale = !f.softmax() && rng() % 2;
  f.bias = !f.softmax() && f.kernel != Kernel::rms && rng() % 2;

  std::vector<View> in, out;
  const auto operand = [&](const Shape& s, DType type) {
    in.push_back(random_view(rng, s, type, random_input_kind(rng)));
  };
  const auto some = [&] { return rng() % 2 ? random_broadcast(rng, shape) : shape; };
  const bool has_before = rng() % 4 != 0, has_after = !has_before || rng() % 2;
  f.inputs = has_before ? static_cast<std::size_t>(random_int(rng, 1, 3)) : 1;
  std::vector<DType> types;
  for (std::size_t k = 0; k < f.inputs; ++k) {
    types.push_back(has_before ? pick(rng, kAny) : pick(rng, kFloats));
    operand(k == 0 ? shape : some(), types[k]);  // one has the whole shape
  }
  std::optional<DType> extra_outputs, second;
  if (has_before) {
    if (rng() % 2) extra_outputs = pick(rng, kFloats);
    // A norm amplifies a step of a 16-bit type.
    const DType x = rng() % 3 ? DType::f32 : pick(rng, kFloats);
    f.prologue = random_expression(rng, types, x, extra_outputs, bits(x) < 32);
  }
  DType y = pick(rng, kFloats);
  if (has_after) {
    f.operands = rng() % 3;
    std::vector<DType> read{DType::f32};
    for (std::size_t k = 0; k < f.operands; ++k) {
      read.push_back(pick(rng, kAny));
      operand(some(), read.back());
    }
    if (rng() % 3 == 0) second = pick(rng, kFloats);
    f.epilogue = random_expression(rng, read, y, second, false);
  }
  const auto fits = [&] { return in.size() + 1 + second.has_value() + extra_outputs.has_value() + 1 <= kMaxBuffers; };
  f.scale = f.scale && fits();
  if (f.scale) operand(weights, pick(rng, kFloats));
  f.bias = f.bias && fits();
  if (f.bias) operand(weights, pick(rng, kFloats));
  out.push_back(random_view(rng, shape, y, random_output_kind(rng)));
  if (second) out.push_back(random_view(rng, shape, *second, random_output_kind(rng)));
  if (extra_outputs) out.push_back(random_view(rng, shape, *extra_outputs, random_output_kind(rng)));

  Problem p{std::format("{} at {}, {} inputs, {} operands, before {}, after {}: {}", kNames[static_cast<int>(f.kernel)],
                        f.axis, f.inputs, f.operands, f.prologue ? f.prologue->to_string() : "-",
                        f.epilogue ? f.epilogue->to_string() : "-", weft::to_string(in[0])),
            in,
            out,
            f,
            {.ulp = 2, .absolute = 1e-4, .relative = 1e-4}};
  if (rng() % 3) {
    Fused formed = f;
    // Split rows need a binding for scratch as well.
    if (in.size() + out.size() < kMaxBuffers && rng() % 2)
      formed.splits = random_split_form(rng);
    else
      formed.form = random_row_form(rng);
    p.form = formed;
  }
  return p;
});

class RowFusionTest : public testing::TestWithParam<std::string> {
 protected:
  void run(const Fused& f, const std::vector<View>& in, const std::vector<View>& out, const std::string& what = "") {
    run_both(device, in, out, f, {.ulp = 1, .absolute = 2e-5, .relative = 2e-5},
             std::format("{} {}", kNames[static_cast<int>(f.kernel)], what));
  }
  gpu::Device& device = test::device(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, RowFusionTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

// softmax(0.5 x + mask), layer norm of x + residual with the sum as an extra output, gated: rows held in registers and
// rows that are read twice, vectors of four and single elements, along and across.
TEST_P(RowFusionTest, OfAllKernels) {
  for (const Kernel kernel : kKernels) {
    const bool channels = kernel == Kernel::group || kernel == Kernel::instance;
    for (const Shape& shape : {Shape{3, 4, 40}, Shape{2, 4, 7}, Shape{2, 2, 20000}}) {
      const View x = view_of(DType::f32, shape, Kind::dense, normal(1, 0.2));
      const View r = view_of(DType::f32, shape, Kind::dense, normal(2));
      const View mask = view_of(DType::f32, {1, shape[2]}, Kind::dense, normal(3));
      Fused f{.kernel = kernel, .axis = channels ? 1 : 2, .groups = 2, .inputs = 2};
      f.prologue = scaled_sum(DType::f32, DType::f32, DType::f32);
      run(f, {x, mask}, {output(DType::f32, shape)}, "mask");
      f.prologue = scaled_sum(DType::f32, DType::f32, DType::f32, DType::f32);
      f.epilogue = gated(DType::f32, DType::f32, DType::f16);
      f.operands = 1;
      run(f, {x, r, mask}, {output(DType::f32, shape), output(DType::f16, shape), output(DType::f32, shape)}, "gate");
      f = {.kernel = kernel, .axis = f.axis, .groups = 2, .epilogue = gated(DType::f32, DType::f16), .operands = 1};
      run(f, {x, r}, {output(DType::f16, shape)}, "after alone");
    }
  }
}

TEST_P(RowFusionTest, TypesAndLayouts) {
  for (const Kernel kernel : {Kernel::softmax, Kernel::layer}) {
    for (const auto& [a, b] : {std::pair{DType::f16, DType::f32},
                               {DType::u8, DType::bf16},
                               {DType::f32, DType::i64},
                               {DType::i4, DType::f16}}) {
      for (const Kind kind : {Kind::dense, Kind::transposed, Kind::sliced, Kind::reversed}) {
        const Shape shape{8, 24};
        if (a == DType::i4 && kind != Kind::dense) continue;
        Rng rng(7);
        const View x = a == DType::i4 ? random_view(rng, shape, a) : view_of(a, shape, kind, normal(1, 2));
        const View y = view_of(b, shape, kind == Kind::dense ? Kind::transposed : Kind::dense, normal(2, 3));
        Fused f{.kernel = kernel, .prologue = scaled_sum(a, b, DType::f32, DType::f16), .inputs = 2};
        for (const int axis : {0, 1}) {
          f.axis = axis;
          if (kernel == Kernel::layer && axis == 0) continue;
          run(f, {x, y}, {output(DType::f32, shape, kind), output(DType::f16, shape)}, weft::to_string(x));
          // Results lie across rows: a thread processes four adjacent rows.
          run(f, {x, y}, {output(DType::f32, shape, Kind::transposed), output(DType::f16, shape, Kind::transposed)},
              weft::to_string(x));
        }
      }
    }
  }
}

// Split rows with and without look-back, with and without extra outputs, along rows and across, with whole and partial
// tiles.
TEST_P(RowFusionTest, InParts) {
  for (const Kernel kernel : kKernels) {
    const bool channels = kernel == Kernel::group || kernel == Kernel::instance;
    for (const auto& [shape, kind] : {std::pair{Shape{2, 4, 2048}, Kind::dense},
                                      {{2, 4, 1100}, Kind::dense},
                                      {{3, 2, 333}, Kind::dense},
                                      {{8, 4, 160}, Kind::transposed}}) {
      for (const bool look_back : {false, true}) {
        for (const std::uint32_t spin_limit : {0u, 4096u}) {
          if (spin_limit == 0 && (!look_back || shape[2] != 1100)) continue;
          Fused f{.kernel = kernel, .axis = channels ? 1 : 2, .groups = 2, .inputs = 2};
          f.splits = kernels::SplitForm{.threads = 32,
                                        .register_steps = 4,
                                        .interleave = 2,
                                        .look_back = look_back,
                                        .spin_limit = spin_limit,
                                        .tiles_per_split = shape[2] == 2048 ? 2u : 1u};
          f.scale = f.bias = !f.softmax() && kernel != Kernel::rms && shape[2] == 1100;
          const Shape weights = channels ? Shape{shape[1]} : Shape{shape[2]};
          const std::vector<View> own(f.scale ? 2 : 0, view_of(DType::f32, weights, Kind::dense, normal(4)));
          const auto operands = [&](std::vector<View> in) {
            in.insert(in.end(), own.begin(), own.end());
            return in;
          };
          const std::string what =
              std::format("{} waits {} patience {}", weft::to_string(shape), look_back, spin_limit);
          const View x = view_of(DType::f32, shape, kind, normal(1, 0.2));
          const View r = view_of(DType::f32, shape, kind, normal(2));
          const View mask = view_of(DType::f32, {1, shape[2]}, Kind::dense, normal(3));
          const auto y = [&](DType type) { return output(type, shape, kind); };
          f.prologue = scaled_sum(DType::f32, DType::f32, DType::f32);
          f.epilogue = gated(DType::f32, DType::f32, DType::f16);
          f.operands = 1;
          run(f, operands({x, r, mask}), {y(DType::f32), y(DType::f16)}, what + " gate");
          if (!f.scale) {
            f.prologue = scaled_sum(DType::f32, DType::f32, DType::f32, DType::f32);
            run(f, {x, r, r}, {y(DType::f32), y(DType::f16), y(DType::f32)}, what + " sum");
          }
          // With look-back these rows stay in registers as packed pairs.
          f.prologue.reset();
          f.inputs = 1;
          f.epilogue = gated(DType::f16, DType::f32);
          const View h = view_of(DType::f16, shape, kind, normal(5)), g = view_of(DType::f16, shape, kind, normal(6));
          run(f, operands({h, g}), {y(DType::f32)}, what + " after alone");
        }
      }
    }
  }
}

// A norm's x and residual in place: the sum replaces one, the result the other.
TEST_P(RowFusionTest, InPlace) {
  for (const auto& [n, splits] :
       {std::pair<std::int64_t, std::optional<kernels::SplitForm>>{16, {}},
        {17, {}},
        {20000, {}},
        {1000, kernels::SplitForm{.threads = 32, .register_steps = 3}},
        {1000, kernels::SplitForm{.threads = 32, .register_steps = 3, .look_back = true, .spin_limit = 0}}}) {
    const Shape shape{5, n};
    const View x = view_of(DType::f32, shape, Kind::dense, normal(1)),
               r = view_of(DType::f32, shape, Kind::dense, normal(2));
    const View y = output(DType::f32, shape), sum = output(DType::f32, shape);
    const Fused f{.kernel = Kernel::layer,
                  .prologue = scaled_sum(DType::f32, DType::f32, DType::f32, DType::f32),
                  .inputs = 2,
                  .splits = splits};
    cpu::Executor cpu;
    const View gpu_x = to_device(device, x), gpu_r = to_device(device, r);
    gpu::Encoder encoder(device);
    f(encoder, std::array{gpu_x, gpu_r}, std::array{gpu_x, gpu_r});
    encoder.submit();
    f(cpu, std::array{x, r}, std::array{y, sum});
    f(cpu, std::array{x, r}, std::array{x, r});
    expect_close(x, y, {});
    expect_close(r, sum, {});
    expect_close(to_host(device, gpu_x), y, {.absolute = 2e-5});
    expect_close(to_host(device, gpu_r), sum, {.ulp = 1});
  }
}

TEST_P(RowFusionTest, OneDispatch) {
  const Shape shape{64, 256};
  const View x = to_device(device, view_of(DType::f32, shape, Kind::dense, normal(1)));
  const View r = to_device(device, view_of(DType::f32, shape, Kind::dense, normal(2)));
  const View y = to_device(device, output(DType::f32, shape)), sum = to_device(device, output(DType::f32, shape));
  gpu::Recording recording(device);
  const Fused f{.kernel = Kernel::rms,
                .prologue = scaled_sum(DType::f32, DType::f32, DType::f32, DType::f32),
                .epilogue = gated(DType::f32, DType::f32),
                .inputs = 2,
                .operands = 1};
  f(recording, std::array{x, r, r}, std::array{y, sum});
  ASSERT_EQ(recording.dispatches().size(), 1u);
  const Work& work = recording.dispatches()[0].work;
  EXPECT_EQ(work.bytes, 5 * 64 * 256 * 4u);
  EXPECT_GT(work.flops, 0);
}

// The CPU gives the results of the separate calls.
TEST(RowFusion, EqualsItsSteps) {
  cpu::Executor cpu;
  for (const Kernel kernel : kKernels) {
    for (const std::int64_t n : {5, 40, 1500}) {
      for (const DType type : {DType::f32, DType::f64}) {
        const Shape shape{7, 6, n};
        const View a = view_of(DType::f32, shape, Kind::dense, normal(5)),
                   b = view_of(DType::f32, {n}, Kind::dense, normal(6));
        const View gate = view_of(DType::f32, {6, 1}, Kind::dense, normal(7));
        const View sum = output(type, shape), plain = output(type, shape), expected = output(type, shape);
        kernels::map(cpu, scaled_sum(DType::f32, DType::f32, type), std::array{a, b}, std::array{sum});
        Fused f{.kernel = kernel, .axis = 1, .groups = 3};
        f(cpu, std::array{sum}, std::array{plain});
        Expression epilogue = gated(DType::f32, DType::f32);
        if (type == DType::f64) {
          epilogue = {};
          const int y = epilogue.input(type);
          const int g = epilogue.cast(epilogue.input(DType::f32), type);
          epilogue.output(
              epilogue.apply(ScalarOp::mul, {epilogue.apply(ScalarOp::add, {y, epilogue.constant(0.25, type)}), g}));
        }
        kernels::map(cpu, epilogue, std::array{plain, gate}, std::array{expected});
        f.prologue = scaled_sum(DType::f32, DType::f32, type, type);
        f.epilogue = epilogue;
        f.inputs = 2;
        f.operands = 1;
        const View y = output(type, shape), stored = output(type, shape);
        f(cpu, std::array{a, b, gate}, std::array{y, stored});
        expect_close(stored, sum, {});
        expect_close(y, expected, {.ulp = 1}, kNames[static_cast<int>(kernel)]);
      }
    }
  }
}

TEST(RowFusion, ArgumentsAreChecked) {
  cpu::Executor cpu;
  const View x = output(DType::f32, {4, 5}), y = output(DType::f32, {4, 5}), z = output(DType::f32, {4, 5});
  const View half = output(DType::f16, {4, 5}), row = output(DType::f32, {5});
  const Expression sum = scaled_sum(DType::f32, DType::f32, DType::f32),
                   both = scaled_sum(DType::f32, DType::f32, DType::f32, DType::f32);
  const Expression gate = gated(DType::f32, DType::f32), whole = scaled_sum(DType::f32, DType::f32, DType::i32);
  const auto run = [&](std::vector<View> in, std::vector<View> out, const Expression* prologue = nullptr,
                       const Expression* epilogue = nullptr, std::span<const View> operands = {}) {
    const std::span<const View> inputs(in), outputs(out);
    kernels::softmax(cpu, in[0], out[0], 1, {{prologue, inputs.subspan(1), outputs.subspan(1)}, {epilogue, operands}});
  };
  EXPECT_NO_THROW(run({x, row}, {y}, &sum));
  EXPECT_NO_THROW(run({x}, {y}));
  EXPECT_THROW(run({x, row}, {y}), InvalidArgument);
  EXPECT_THROW(run({x}, {y}, &sum), InvalidArgument);
  EXPECT_THROW(run({x, half}, {y}, &sum), InvalidArgument);
  EXPECT_THROW(run({x, x}, {row}, &sum), InvalidArgument);
  EXPECT_THROW(run({x, x}, {y, z}, &sum), InvalidArgument);
  EXPECT_THROW(run({x, x}, {y}, &both), InvalidArgument);
  EXPECT_THROW(run({x, x}, {y, half}, &both), InvalidArgument);
  EXPECT_THROW(run({x, x}, {y}, &whole), InvalidArgument);
  EXPECT_THROW(run({x}, {half}, nullptr, &gate, std::span(&row, 1)), InvalidArgument);
  EXPECT_THROW(run({x}, {y}, nullptr, &gate), InvalidArgument);
  EXPECT_THROW(run({x}, {y}, nullptr, nullptr, std::span(&row, 1)), InvalidArgument);
  EXPECT_NO_THROW(run({x}, {y}, nullptr, &gate, std::span(&row, 1)));
  // An extra output must not be an operand that is read later, nor share memory with the result.
  EXPECT_NO_THROW(run({x, z}, {y, z}, &both));
  EXPECT_THROW(run({x, z}, {y, z}, &both, &gate, std::span(&z, 1)), InvalidArgument);
  EXPECT_THROW(run({x, z}, {y, y}, &both), InvalidArgument);
}

// Tensors that exceed a binding.
using RowWorkChunks = ChunksTest;

// A prologue and an epilogue run in the dispatches of the rows' chunks.
TEST_F(RowWorkChunks, LongRows) {
  using Build = std::function<void(Graph&, const Tensor& x, const Tensor& r)>;
  const std::pair<Shape, Build> cases[] = {
      {{2, 40000}, [](Graph& g, const Tensor& x, const Tensor& r) { g.output("y", relu(softmax(x * 0.5 + r, 1))); }},
      {{30000, 4}, [](Graph& g, const Tensor& x, const Tensor& r) { g.output("y", log_softmax(x + r, 0) * r); }},
      {{2, 4, 9000},
       [](Graph& g, const Tensor& x, const Tensor& r) { g.output("y", silu(group_norm(x + r, {}, {}, 2, 1e-5))); }},
      {{70000},
       [](Graph& g, const Tensor& x, const Tensor& r) {
         const Tensor sum = x + r;
         g.output("y", layer_norm(sum, {}, {}, 1e-5, 0) * 2.0);
         g.output("sum", sum);
       }},
      {{2, 40000},
       [](Graph& g, const Tensor& x, const Tensor& r) {
         g.output("y", reduce(ReduceKind::log_sum_exp, x * 0.5 + r, {1}));
       }},
      {{30000, 4}, [](Graph& g, const Tensor& x, const Tensor& r) { g.output("y", sqrt(variance(x - r, {0}) + 1.0)); }},
      {{2, 40000},
       [](Graph& g, const Tensor& x, const Tensor& r) {
         const Tensor sum = x + r;
         g.output("y", relu(reduce(ReduceKind::max, sum, {1})));
         g.output("sum", sum);
       }},
      {{30000, 4},
       [](Graph& g, const Tensor& x, const Tensor& r) {
         g.output("y", reduce(ReduceKind::max, x, {1}));
         g.output("r", x * r);
       }},
  };
  const Device gpu(*device);
  for (const auto& [shape, build] : cases) {
    Graph g;
    build(g, g.input("x", DType::f32, shape), g.input("r", DType::f32, shape));
    Executable exe = compile(g, gpu);
    EXPECT_EQ(exe.report().steps.size(), 1u) << exe.report().graph;
    const std::map<std::string, TensorData> inputs{{"x", noise(shape, 1)}, {"r", noise(shape, 2)}};
    for (const std::uint64_t shift : {0, 4}) {  // so that vectors of four are not aligned
      const Bound bound(gpu, g, inputs, shift);
      bound.run(exe);
      bound.compare(compiler::evaluate(g, inputs), to_string(shape));
    }
  }
}

// Not fused: operands whose layout differs from that of the rows, or too many operands.
TEST_F(RowWorkChunks, WhatIsNotFused) {
  gpu::DeviceOptions options;
  options.adapter = std::to_string(device->adapter().index);
  options.minimum = true;
  options.binding_limit = 64 << 10;
  const Device gpu(gpu::Device::open(options));
  const auto check = [&](const Graph& g, const std::map<std::string, TensorData>& inputs) {
    Executable exe = compile(g, gpu);
    const Bound bound(gpu, g, inputs);
    bound.run(exe);
    bound.compare(compiler::evaluate(g, inputs), exe.report().graph);
  };
  for (const bool prologue : {false, true}) {
    Graph g;
    const Tensor a = g.input("a", DType::f32, {4, 300, 200}), turned = permute(a, {2, 0, 1});
    const Tensor b = prologue ? turned * 2.0 : g.input("b", DType::f32, {200, 4, 300});
    const Tensor y = layer_norm(b, {}, {}, 1e-5, 1);
    g.output("y", prologue ? y : y * turned);
    std::map<std::string, TensorData> inputs{{"a", noise({4, 300, 200}, 1)}};
    if (!prologue) inputs.emplace("b", noise({200, 4, 300}, 2));
    check(g, inputs);
  }
  Graph g;
  std::map<std::string, TensorData> inputs;
  const auto next = [&] {
    const std::string name = std::format("x{}", inputs.size());
    inputs.emplace(name, noise({2, 40000}, static_cast<unsigned>(inputs.size())));
    return g.input(name, DType::f32, {2, 40000});
  };
  Tensor y = softmax(relu(next()), 1);
  for (int i = 0; i < 6; ++i) y = y * next();
  g.output("y", y);
  check(g, inputs);
}

}  // namespace
}  // namespace weft::test
