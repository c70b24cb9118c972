// Softmax, norms, reductions and sorting on the CPU against PyTorch and NumPy in f64 (tests/reference/rows.py,
// rows_numpy.py).
#include "cpu/executor.h"
#include "kernels/operands.h"
#include "support/npy.h"
#include "weft/kernels.h"

namespace weft::test {
namespace {

using kernels::ReduceKind;

View load(const std::string& name) { return load_npy("rows/" + name + ".npy"); }

// f32 results of f32 inputs have a few roundings. Softmax has an error of 2 ULP in its exponentials, of differences
// that were rounded to f32: |x| · 2^-24 more.
void expect_reference(const View& y, const std::string& name, double relative = 4e-7, double absolute = 0) {
  const View reference = load(name);
  const View expected = output(y.dtype, y.shape());
  const std::vector<double> v = values(reference);
  set_values(expected, [&](std::int64_t i) { return v[i]; });
  expect_close(y, expected, {.absolute = absolute, .relative = relative}, name);
}

TEST(RowsReference, Softmax) {
  cpu::Executor executor;
  const View x = load("x");
  for (int axis = 0; axis < 3; ++axis) {
    const View y = output(DType::f32, x.shape());
    kernels::softmax(executor, x, y, axis);
    expect_reference(y, std::format("softmax_{}", axis), 2e-6);
  }
  const View special = load("special"), y = output(DType::f32, special.shape());
  kernels::softmax(executor, special, y, 1);
  expect_reference(y, "special_softmax", 2e-5, 1e-38);
  kernels::log_softmax(executor, special, y, 1);
  expect_reference(y, "special_log_softmax");
  const View z = output(DType::f32, x.shape());
  kernels::log_softmax(executor, x, z, 1);
  expect_reference(z, "log_softmax", 4e-7, 1e-6);
}

TEST(RowsReference, LayerNorm) {
  cpu::Executor executor;
  const View x = load("x");
  for (int axis : {1, 2}) {
    const View y = output(DType::f32, x.shape());
    kernels::layer_norm(executor, x, std::nullopt, std::nullopt, y, axis, 1e-3f);
    expect_reference(y, std::format("layer_norm_{}", axis));
  }
  const View y = output(DType::f32, x.shape());
  kernels::layer_norm(executor, x, load("scale"), load("bias"), y, 1, 1e-12f);
  expect_reference(y, "layer_norm_weighted", 4e-7, 1e-7);
}

TEST(RowsReference, Norms) {
  cpu::Executor executor;
  const View x = load("x"), y = output(DType::f32, x.shape());
  const View scale = load("scale"), bias = load("bias");
  const View row = View(scale.buffer, scale.offset, scale.dtype, {10});
  kernels::rms_norm(executor, x, row, y, 2, 1e-3f);
  expect_reference(y, "rms_norm");
  const auto first_column = [](const View& v) { return View(v.buffer, v.offset, v.dtype, {6}, {10}); };
  const View weights = first_column(scale), biases = first_column(bias);
  kernels::group_norm(executor, x, weights, biases, y, 1, 3, 1e-3f);
  expect_reference(y, "group_norm", 4e-7, 2e-7);
  kernels::instance_norm(executor, x, weights, biases, y, 1, 1e-3f);
  expect_reference(y, "instance_norm", 4e-7, 2e-7);
  kernels::batch_norm(executor, x, load("batch_norm_mean"), load("batch_norm_variance"), weights, biases, y, 1, 1e-3f);
  expect_reference(y, "batch_norm", 1e-6, 1e-6);
}

// Softmax and norms with a prologue and an epilogue.
TEST(RowsReference, WorkAroundThem) {
  cpu::Executor executor;
  const View x = load("x"), scale = load("scale");
  const View row(scale.buffer, scale.offset, scale.dtype, {10});
  const View column(scale.buffer, scale.offset, scale.dtype, {6, 1}, {10, 1});
  const Shape& shape = x.shape();
  View turned = x;
  turned.offset += static_cast<std::uint64_t>((shape[0] - 1) * 60 + 9) * 4;
  turned.layout.strides = {-60, 10, -1};
  const View y = output(DType::f32, shape), sum = output(DType::f32, shape), halves = output(DType::f16, shape);
  kernels::copy(executor, x, halves);
  // A function of the two operands: a · factor + b, or |a| + b.
  const auto joined = [](DType a, double factor, bool magnitude, bool both) {
    Expression e;
    int v = e.cast(e.input(a), DType::f32);
    v = magnitude ? e.apply(ScalarOp::abs, {v}) : e.apply(ScalarOp::mul, {v, e.constant(factor, DType::f32)});
    v = e.apply(ScalarOp::add, {v, e.input(DType::f32)});
    e.output(v);
    if (both) e.output(v);
    return e;
  };
  const Expression scaled = joined(DType::f32, 0.5, false, false), magnitude = joined(DType::f32, 1, true, false);
  const Expression total = joined(DType::f32, 1, false, true), mixed = joined(DType::f16, 1, false, false);
  Expression negative, gate, gelu;
  negative.output(negative.apply(ScalarOp::neg, {negative.input(DType::f32)}));
  const int result = gate.input(DType::f32);
  gate.output(gate.apply(ScalarOp::mul, {result, gate.input(DType::f32)}));
  gelu.output(gelu.apply(ScalarOp::gelu_erf, {gelu.input(DType::f32)}));

  kernels::softmax(executor, x, y, 2, {.prologue = {&scaled, std::span(&row, 1)}});
  expect_reference(y, "work_softmax", 2e-6);
  kernels::log_softmax(executor, x, y, 1, {{&magnitude, std::span(&row, 1)}, {&negative, {}}});
  expect_reference(y, "work_log_softmax", 1e-6, 1e-6);
  kernels::layer_norm(executor, x, {}, {}, y, 2, 1e-3f,
                      {{&total, std::span(&turned, 1), std::span(&sum, 1)}, {&gate, std::span(&column, 1)}});
  expect_reference(y, "work_layer_norm", 1e-6, 1e-6);
  expect_reference(sum, "work_sum", 1e-7, 1e-7);
  kernels::rms_norm(executor, halves, row, y, 2, 1e-3f, {.prologue = {&mixed, std::span(&turned, 1)}});
  expect_reference(y, "work_rms_norm", 1e-6, 1e-6);
  kernels::layer_norm(executor, x, row, row, y, 2, 1e-3f, {.epilogue = {&gelu, {}}});
  expect_reference(y, "work_gelu", 2e-6, 1e-6);
}

TEST(RowsReference, Order) {
  cpu::Executor executor;
  for (const char* name : {"x", "special", "integers"}) {
    const View x = load(name), places = output(DType::i32, x.shape()), y = output(x.dtype, x.shape());
    for (bool descending : {false, true}) {
      kernels::sort(executor, x, y, places, {.descending = descending});
      expect_close(places, load(std::format("{}_{}", name, descending ? "descending" : "ascending")), kSameBits, name);
      for (std::int64_t i = 0; i < y.count(); ++i) {
        const std::int64_t n = x.shape()[-1];
        ASSERT_EQ(element_bits(y, i), element_bits(x, i / n * n + static_cast<std::int64_t>(element_bits(places, i))));
      }
      Shape reduced = x.shape();
      reduced.erase(1);
      const View at = output(DType::i32, reduced);
      kernels::arg_reduce(executor, descending ? kernels::ArgKind::max : kernels::ArgKind::min, x, at, std::array{1});
      const std::vector<double> expected = values(load(std::format("{}_arg{}", name, descending ? "max" : "min")));
      EXPECT_EQ(values(at), expected) << name;
    }
  }
}

struct Op {
  ReduceKind op;
  const char* name;
  double correction = 0;
};
constexpr Op kOps[] = {{ReduceKind::sum, "sum"},
                       {ReduceKind::mean, "mean"},
                       {ReduceKind::prod, "prod"},
                       {ReduceKind::min, "min"},
                       {ReduceKind::max, "max"},
                       {ReduceKind::sum_squares, "sum_squares"},
                       {ReduceKind::l1, "l1"},
                       {ReduceKind::l2, "l2"},
                       {ReduceKind::log_sum, "log_sum"},
                       {ReduceKind::log_sum_exp, "log_sum_exp"},
                       {ReduceKind::any, "any"},
                       {ReduceKind::all, "all"},
                       {ReduceKind::count, "count"},
                       {ReduceKind::variance, "variance"},
                       {ReduceKind::deviation, "deviation", 1}};
bool floats_only(ReduceKind op) {
  return op == ReduceKind::mean || op == ReduceKind::l2 || op == ReduceKind::log_sum || op == ReduceKind::log_sum_exp ||
         op == ReduceKind::variance || op == ReduceKind::deviation || op == ReduceKind::count;
}
bool is_logic(ReduceKind op) { return op == ReduceKind::any || op == ReduceKind::all; }

// Each of `axes_list` in turn; the reference holds their results one after the other.
void check(const std::string& input, const Op& op, const std::vector<std::vector<int>>& axes_list) {
  cpu::Executor executor;
  const View x = load(input);
  const std::vector<double> reference = values(load(std::format("{}_{}", input, op.name)));
  std::size_t at = 0;
  for (const std::vector<int>& axes : axes_list) {
    Shape shape;
    for (int d = 0; d < x.rank(); ++d) {
      if (std::ranges::find(axes, d) == axes.end()) shape.push_back(x.shape()[d]);
    }
    const View y = output(op.op == ReduceKind::count ? DType::i32 : is_logic(op.op) ? DType::boolean : x.dtype, shape);
    kernels::reduce(executor, op.op, x, y, axes, op.correction);
    ASSERT_LE(at + y.count(), reference.size());
    const View expected = output(y.dtype, shape);
    set_values(expected, [&](std::int64_t) { return reference[at++]; });
    expect_close(y, expected, {.relative = 4e-7}, std::format("{} of {}", op.name, input));
  }
  EXPECT_EQ(at, reference.size());
}

TEST(RowsReference, Reduce) {
  for (const Op& op : kOps) {
    check("x", op, {{0}, {1}, {2}, {0, 2}, {0, 1, 2}});
    check("special", op, {{1}});  // a sum of squares of 3e38 is finite in the reference's f64, and infinite in f32
    if (!floats_only(op.op)) check("integers", op, {{1}});
  }
}

}  // namespace
}  // namespace weft::test
