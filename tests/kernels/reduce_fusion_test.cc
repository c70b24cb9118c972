// Reductions with a prologue and an epilogue, against the CPU and against the separate steps.
#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/differential.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/reduce.h"

namespace weft::test {
namespace {

using kernels::ReduceKind;

// A test's problem: the views are inputs, then operands of `epilogue`; outputs are y, then the extra outputs.
struct Fused {
  ReduceKind op = ReduceKind::sum;
  std::vector<int> axes;
  Expression prologue, epilogue;
  bool has_before = true, has_after = false;
  std::size_t inputs = 1;
  double correction = 0;

  void operator()(Stream& s, std::span<const View> in, std::span<const View> out) const {
    kernels::reduce(s, op, in[0], out[0], axes, correction,
                    {{has_before ? &prologue : nullptr, in.subspan(1, inputs - 1), out.subspan(1)},
                     {has_after ? &epilogue : nullptr, in.subspan(inputs)}});
  }
};

Expression product(DType a, DType b, DType type) {
  Expression e;
  const int x = e.input(a);
  const int y = e.input(b);
  e.output(e.apply(ScalarOp::mul, {e.cast(x, type), e.cast(y, type)}));
  return e;
}

// sqrt(|result|) · operand, in `type`
Expression root_times(DType operand, DType type) {
  Expression e;
  const int result = e.input(DType::f32);
  const int factor = e.cast(e.input(operand), DType::f32);
  const int root = e.apply(ScalarOp::sqrt, {e.apply(ScalarOp::abs, {result})});
  e.output(e.cast(e.apply(ScalarOp::mul, {root, factor}), type));
  return e;
}

// Adds extra outputs to the prologue: exact functions of the inputs.
std::vector<DType> add_beside(Rng& rng, Expression& prologue, bool floats) {
  constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};
  constexpr DType kIntegers[] = {DType::i8, DType::u16, DType::i32, DType::u64, DType::boolean};
  std::vector<DType> types;
  for (auto more = rng() % 4; more > 1; --more) {
    const int x = static_cast<int>(rng() % 2);  // nodes 0 and 1 are the inputs
    types.push_back(floats ? pick(rng, kFloats) : pick(rng, kIntegers));
    if (types.back() == DType::boolean) {
      prologue.output(prologue.apply(ScalarOp::not_equal, {x, prologue.constant(0, prologue.nodes()[x].type)}));
    } else {
      prologue.output(prologue.cast(prologue.apply(ScalarOp::abs, {x}), types.back()));
    }
  }
  return types;
}

const bool registered = differential("reduce_with_work", [](Rng& rng) {
  constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16};
  constexpr DType kIntegers[] = {DType::i8, DType::u8, DType::i32, DType::u32, DType::i64};
  constexpr ReduceKind kFloatOps[] = {
      ReduceKind::sum, ReduceKind::mean, ReduceKind::max,         ReduceKind::min,      ReduceKind::sum_squares,
      ReduceKind::l1,  ReduceKind::l2,   ReduceKind::log_sum_exp, ReduceKind::variance, ReduceKind::deviation};
  constexpr ReduceKind kIntegerOps[] = {ReduceKind::sum, ReduceKind::max, ReduceKind::min};
  Fused f;
  const Shape shape = random_shape(rng, 0, 6, 4096, false);
  for (int d = 0; d < shape.rank(); ++d) {
    if (rng() % 2) f.axes.push_back(d);
  }
  const bool floats = rng() % 3 != 0;
  const DType a = floats ? pick(rng, kFloats) : pick(rng, kIntegers);
  const DType b = floats ? pick(rng, kFloats) : pick(rng, kIntegers);
  const DType x = floats ? (rng() % 4 ? DType::f32 : a) : b;
  f.op = floats ? pick(rng, kFloatOps) : pick(rng, kIntegerOps);
  f.prologue = product(a, b, x);
  f.inputs = 2;
  f.correction = random_int(rng, 0, 1);
  f.has_after = floats && rng() % 2;
  const std::vector<DType> extra_outputs = is_moment(f.op) ? std::vector<DType>() : add_beside(rng, f.prologue, floats);
  const bool ones = rng() % 2;
  Shape result;
  for (int d = 0; d < shape.rank(); ++d) {
    const bool gone = std::ranges::find(f.axes, d) != f.axes.end();
    if (!gone || ones) result.push_back(gone ? 1 : shape[d]);
  }
  // One of the inputs has the whole shape.
  std::vector<View> inputs{random_view(rng, shape, a, random_input_kind(rng)),
                           random_view(rng, random_broadcast(rng, shape), b, random_input_kind(rng))};
  DType y = x;
  if (f.has_after) {
    const DType operand = pick(rng, kFloats);
    y = pick(rng, kFloats);
    f.epilogue = root_times(operand, y);
    inputs.push_back(random_view(rng, random_broadcast(rng, result), operand, random_input_kind(rng)));
  }
  // At most some thousands of products of two normal numbers: the rounding error of f32 sums is below this.
  const Tolerance tolerance =
      floats ? Tolerance{.ulp = 2, .absolute = f.has_after ? 5e-3 : 2e-3, .relative = 1e-4} : Tolerance{};
  std::vector<View> outputs{random_view(rng, result, y, random_output_kind(rng))};
  for (const DType type : extra_outputs) outputs.push_back(random_view(rng, shape, type, random_output_kind(rng)));
  return Problem{
      std::format("op {} of {} and {}, {} axes{}, {} beside", static_cast<int>(f.op), weft::to_string(inputs[0]),
                  weft::to_string(inputs[1]), f.axes.size(), f.has_after ? ", work after" : "", extra_outputs.size()),
      inputs, outputs, f, tolerance};
});

class ReduceFusionTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device = test::device(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Devices, ReduceFusionTest, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

// Unaligned rows: two operands of 16 bits, one of them with rows of another length, and a number for each row; in
// buffers that end with the last element.
TEST_P(ReduceFusionTest, RowsThatBeginAnywhere) {
  Rng rng(31);
  const auto exact = [](const View& v) {
    const auto bytes = static_cast<std::uint64_t>(v.layout.offset_range()[1] + 1) * bits(v.dtype) / 8;
    View copy(Buffer::host((bytes + 3) / 4 * 4), 0, v.dtype, v.shape(), v.strides());
    std::memcpy(copy.buffer.data(), v.buffer.data() + v.offset, bytes);
    return copy;
  };
  for (const auto& [type, n] :
       {std::pair{DType::f16, 1001}, {DType::f16, 513}, {DType::f32, 514}, {DType::f32, 513}, {DType::f32, 1027}}) {
    const View wide = random_view(rng, {5, n + 2}, type, Kind::dense, Values::ordinary);
    const View a = exact(random_view(rng, {5, n}, type, Kind::dense, Values::ordinary));
    const View b = exact(kernels::slice(wide, 1, 0, n));
    const View s = random_view(rng, {5, 1}, DType::f32, Kind::dense, Values::ordinary).broadcast_to({5, n});
    Fused f{.axes = {1}, .inputs = 3};
    const int product = f.prologue.apply(ScalarOp::mul, {f.prologue.cast(f.prologue.input(type), DType::f32),
                                                         f.prologue.cast(f.prologue.input(type), DType::f32)});
    f.prologue.output(f.prologue.apply(ScalarOp::mul, {product, f.prologue.input(DType::f32)}));
    run_both(device, std::array{a, b, s}, std::array{random_view(rng, {5}, DType::f32)}, f,
             {.absolute = 1e-3, .relative = 1e-5}, std::format("{} {}", name(type), n));
  }
}

// Long rows are split: the prologue belongs to the first pass, the epilogue to the second.
TEST_P(ReduceFusionTest, LongRowsInParts) {
  for (const Shape& shape : {Shape{1, 200000}, Shape{3, 100001}, Shape{100000, 4}}) {
    const View x = view_of(DType::f32, shape, Kind::dense, normal(1, 1));
    const View w = view_of(DType::f32, {1, shape[1]}, Kind::dense, normal(2, 1));
    const View factor = view_of(DType::f32, {1}, Kind::dense, normal(3, 1));
    for (const int axis : {0, 1}) {
      Shape result = shape;
      result[axis] = 1;
      for (const ReduceKind op :
           {ReduceKind::sum, ReduceKind::log_sum_exp, ReduceKind::variance, ReduceKind::deviation}) {
        const Fused f{.op = op,
                      .axes = {axis},
                      .prologue = product(DType::f32, DType::f32, DType::f32),
                      .epilogue = root_times(DType::f32, DType::f32),
                      .has_after = true,
                      .inputs = 2,
                      .correction = 0.5};
        run_both(device, std::array{x, w, factor}, std::array{output(DType::f32, result)}, f,
                 {.absolute = 1e-4, .relative = 1e-5},
                 std::format("{} of {} over {}", static_cast<int>(op), weft::to_string(shape), axis));
      }
    }
  }
}

// Extra outputs: the reduced values are stored too, in split rows, in vectors of four, in place of an input.
TEST_P(ReduceFusionTest, FurtherResults) {
  for (const auto& [op, type] : {std::pair{ReduceKind::sum, DType::f32},
                                 {ReduceKind::log_sum_exp, DType::f32},
                                 {ReduceKind::max, DType::f16},
                                 {ReduceKind::sum, DType::u8}}) {
    Expression prologue;
    const int x = prologue.input(type), w = prologue.input(type);
    const int made = prologue.apply(ScalarOp::add, {x, w});
    const DType y = type == DType::u8 ? DType::u32 : DType::f32;
    prologue.output(prologue.cast(made, y));
    prologue.output(made);
    prologue.output(prologue.cast(x, DType::f32));
    bool in_place = false;
    for (const Shape& shape : {Shape{1, 100000}, Shape{3, 20001}, Shape{20000, 4}, Shape{37, 64}, Shape{40, 33}}) {
      const auto small = [](std::int64_t i) { return static_cast<double>(i % 7); };
      for (const int axis : {0, 1}) {
        const View a = view_of(type, shape, Kind::dense, small), b = view_of(type, {1, shape[1]}, Kind::dense, small);
        Shape result = shape;
        result[axis] = 1;
        run_both(device, std::array{a, b},
                 std::array{output(y, result), in_place ? a : output(type, shape), output(DType::f32, shape)},
                 Fused{.op = op, .axes = {axis}, .prologue = prologue, .inputs = 2},
                 {.absolute = 1e-4, .relative = 1e-5},
                 std::format("{} of {} {} over {}{}", static_cast<int>(op), weft::name(type), weft::to_string(shape),
                             axis, in_place ? " in place" : ""));
        in_place = !in_place;
      }
      in_place = !in_place;
    }
  }
}

TEST_P(ReduceFusionTest, LogicOfComparisons) {
  Expression less;
  const int a = less.input(DType::f32);
  less.output(less.apply(ScalarOp::less, {a, less.input(DType::f32)}));
  for (const ReduceKind op : {ReduceKind::any, ReduceKind::all}) {
    const View x =
        view_of(DType::f32, {9, 40}, Kind::dense, [](std::int64_t i) { return static_cast<double>(i % 41); });
    const View bound =
        view_of(DType::f32, {9, 1}, Kind::dense, [](std::int64_t i) { return static_cast<double>(i * 6); });
    run_both(device, std::array{x, bound}, std::array{output(DType::boolean, {9})},
             Fused{.op = op, .axes = {1}, .prologue = less, .inputs = 2}, {});
  }
}

// The CPU gives the results of the three separate calls.
TEST(ReduceFusion, EqualsItsSteps) {
  cpu::Executor cpu;
  for (const bool across : {false, true}) {
    const View a = view_of(DType::f32, {33, 70}, Kind::dense, normal(5));
    const View b = view_of(DType::f32, {70}, Kind::dense, normal(6));
    const Shape result{across ? 70 : 33};
    const View factor = view_of(DType::f32, result, Kind::dense, normal(7));
    const std::vector<int> axes{across ? 0 : 1};
    const View made = output(DType::f32, {33, 70}), sum = output(DType::f32, result),
               expected = output(DType::f32, result);
    kernels::binary(cpu, ScalarOp::mul, a, b, made);
    const Expression epilogue = root_times(DType::f32, DType::f32);
    for (const ReduceKind op :
         {ReduceKind::sum, ReduceKind::log_sum_exp, ReduceKind::variance, ReduceKind::deviation}) {
      kernels::reduce(cpu, op, made, sum, axes, 1.5);
      kernels::map(cpu, epilogue, std::array{sum, factor}, std::array{expected});
      const View y = output(DType::f32, result);
      Fused{.op = op,
            .axes = axes,
            .prologue = product(DType::f32, DType::f32, DType::f32),
            .epilogue = epilogue,
            .has_after = true,
            .inputs = 2,
            .correction = 1.5}(cpu, std::array{a, b, factor}, std::array{y});
      expect_close(y, expected, {.ulp = 1});
    }
  }
}

TEST(ReduceFusion, ArgumentsAreChecked) {
  cpu::Executor cpu;
  const View x = output(DType::f32, {4, 5}), y = output(DType::f32, {4}), narrow = output(DType::f16, {4});
  const Expression e = product(DType::f32, DType::f32, DType::f32);
  const Expression epilogue = root_times(DType::f32, DType::f32);
  const auto run = [&](ReduceKind op, std::vector<View> in, const View& out, const Expression* prologue = nullptr,
                       const Expression* epilogue = nullptr, std::span<const View> operands = {},
                       std::span<const View> extra = {}) {
    kernels::reduce(cpu, op, in[0], out, std::array{1}, 0,
                    {{prologue, std::span<const View>(in).subspan(1), extra}, {epilogue, operands}});
  };
  EXPECT_NO_THROW(run(ReduceKind::sum, {x, x}, y, &e));
  const Expression whole = product(DType::f32, DType::f32, DType::i32);
  EXPECT_NO_THROW(run(ReduceKind::log_sum_exp, {x, x}, y, &e));
  EXPECT_THROW(run(ReduceKind::log_sum_exp, {x, x}, y, &whole), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, {x}, y, &e), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, {x, x}, y), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, {x, output(DType::f16, {5})}, y, &e), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, {x}, narrow, nullptr, &epilogue, std::span(&y, 1)), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, {x}, y, nullptr, &epilogue, std::span(&x, 1)), InvalidArgument);
  EXPECT_NO_THROW(run(ReduceKind::sum, {x}, y, nullptr, &epilogue, std::span(&y, 1)));
  // Extra outputs.
  Expression two = e;
  two.output(two.outputs()[0]);
  const View extra_outputs = output(DType::f32, {4, 5}), wrong = output(DType::f16, {4, 5});
  EXPECT_NO_THROW(run(ReduceKind::sum, {x, x}, y, &two, nullptr, {}, std::span(&extra_outputs, 1)));
  EXPECT_NO_THROW(run(ReduceKind::sum, {x, x}, y, &two, nullptr, {}, std::span(&x, 1)));
  EXPECT_THROW(run(ReduceKind::sum, {x, x}, y, &two), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, {x, x}, y, &e, nullptr, {}, std::span(&extra_outputs, 1)), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, {x, x}, y, &two, nullptr, {}, std::span(&wrong, 1)), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::sum, {x, x}, y, &two, nullptr, {}, std::span(&y, 1)), InvalidArgument);
  EXPECT_THROW(run(ReduceKind::variance, {x, x}, y, &two, nullptr, {}, std::span(&extra_outputs, 1)), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
