// Scans: GPU results against the CPU's, and against the definition.
#include "weft/kernels/scan.h"
#include "cpu/executor.h"
#include "kernels/operands.h"
#include "kernels/scan/scan_split.h"
#include "kernels/split_form.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using kernels::ScanKind;
using kernels::ScanOptions;

constexpr ScanKind kOps[] = {ScanKind::sum, ScanKind::prod, ScanKind::max, ScanKind::min, ScanKind::log_sum_exp};
constexpr const char* kNames[] = {"sum", "prod", "max", "min", "log_sum_exp"};
constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16, DType::f8e4m3, DType::f8e5m2};
constexpr DType kIntegers[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                               DType::u8, DType::u16, DType::u32, DType::u64};

void run(Stream& stream, ScanKind op, const View& x, const View& y, int axis, const ScanOptions& options) {
  kernels::scan(stream, op, x, y, axis, options);
}

struct Case {
  ScanKind op;
  DType from, to;
  int axis;
  ScanOptions options;
  std::optional<kernels::SplitForm> splits;  // in a form that GPUs use for large tensors
};

void run_split(Stream& stream, const Case& c, const View& x, const View& y) {
  kernels::scan_split_rows(stream, c.op, x, y, c.axis, c.options, *c.splits);
}

Case random_case(Rng& rng, int rank) {
  Case c{pick(rng, kOps), DType::f32, DType::f32, random_int(rng, 0, rank - 1), {rng() % 2 == 0, rng() % 2 == 0}};
  const bool adds = c.op == ScanKind::sum || c.op == ScanKind::prod;
  switch (c.op == ScanKind::log_sum_exp ? 0 : random_int(rng, 0, adds ? 3 : 1)) {
    case 1:
      c.from = pick(rng, kIntegers);
      c.to = adds ? pick(rng, kIntegers) : c.from;
      break;
    case 2:
      c.from = c.to = DType::c64;
      break;
    case 3:
      c.from = DType::boolean;
      c.to = pick(rng, kIntegers);
      break;
    default:
      c.from = pick(rng, kFloats);
      c.to = pick(rng, kFloats);
  }
  if (rng() % 2) c.splits = random_split_form(rng);
  return c;
}

// Half a unit in the last place of the type, plus the error of many additions in f32.
Tolerance tolerance_of(const Case& c, std::int64_t n) {
  const double step = c.to == DType::f32 || c.to == DType::c64 ? 0
                      : c.to == DType::f16                     ? 0x1p-10
                      : c.to == DType::bf16                    ? 0x1p-7
                                                               : 0x1p-2;
  const auto length = static_cast<double>(n);
  switch (c.op) {
    case ScanKind::sum:
      return {.absolute = 1e-5 * std::sqrt(length) * 4 + step * 4 * std::sqrt(length), .relative = step};
    case ScanKind::prod:
      return {.absolute = 1e-30, .relative = step + 3e-7 * length};
    case ScanKind::log_sum_exp:
      return {.absolute = bits(c.to) == 8 ? 0x1p-9 : 1e-5, .relative = step + 1e-5};
    default:
      return {};
  }
}

// Keeps products within the range of the type.
void tame(const View& x, ScanKind op, Rng& rng) {
  if (op != ScanKind::prod || is_integer(x.dtype) || x.dtype == DType::boolean) return;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const double v = rng() % 8 ? (rng() % 2 ? 1 : -1) : rng() % 2 ? 2 : 0.5;
    set_element_bits(x, i, element_bits(host_view(x.dtype, {1}, std::vector<double>{v}), 0));
  }
}

Problem make_problem(Rng& rng, const Case& c, const View& x, const View& y) {
  tame(x, c.op, rng.details());
  Problem p{std::format("{} {} to {} axis {}{}{}{}", kNames[static_cast<int>(c.op)], to_string(x), to_string(y), c.axis,
                        c.options.reverse ? " reverse" : "", c.options.exclusive ? " exclusive" : "",
                        c.splits ? " in parts" : ""),
            {x},
            {y},
            [c](Stream& s, auto in, auto out) { run(s, c.op, in[0], out[0], c.axis, c.options); },
            tolerance_of(c, x.shape()[c.axis])};
  if (c.splits) p.form = [c](Stream& s, auto in, auto out) { run_split(s, c, in[0], out[0]); };
  return p;
}

const bool registered = differential("scan", [](Rng& rng) {
  const Shape shape = random_shape(rng, 1, 8, rng() % 3 ? 4096 : 40000);
  Case c = random_case(rng, shape.rank());
  // Powers of two with many factors overflow the narrow floats, in one order earlier than in the other.
  if (c.op == ScanKind::prod && !is_integer(c.to)) c.to = c.from == DType::c64 ? c.to : DType::f32;
  if (c.op == ScanKind::sum && bits(c.to) == 8 && is_floating(c.to)) c.to = DType::f16;
  const View x = random_view(rng, shape, c.from, random_input_kind(rng));
  const View y = random_view(rng, shape, c.to, random_output_kind(rng));
  return make_problem(rng, c, x, y);
});

class Scan : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
  Rng rng{23};
};
INSTANTIATE_TEST_SUITE_P(Devices, Scan, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

// Rows along and across, short, long and split, in vectors of four and single elements.
TEST_P(Scan, EveryPlan) {
  const Shape shapes[] = {{1000}, {20000}, {200, 5}, {200, 64}, {3, 4096}, {64, 33}, {6, 130, 12}, {2, 9000, 4}};
  for (const Shape& shape : shapes) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      for (ScanKind op : kOps) {
        for (DType type : {DType::f32, DType::f16, DType::i32, DType::i64}) {
          if (op == ScanKind::log_sum_exp && !is_floating(type)) continue;
          if (op == ScanKind::prod && type == DType::f16) continue;
          if (rng() % 3) continue;
          const Case c{op, type, type, axis, {rng() % 2 == 0, rng() % 2 == 0}};
          const Problem p = make_problem(rng, c, random_view(rng, shape, type), random_view(rng, shape, type));
          run_both(device(), p.inputs, p.outputs, p.drawn(), p.tolerance, p.what);
        }
      }
    }
  }
}

TEST_P(Scan, LongRowsInParts) {
  for (const auto& [shape, axis] : {std::pair{Shape{2, 90000}, 1}, {Shape{100001}, 0}, {Shape{50000, 2}, 0}}) {
    for (ScanKind op : kOps) {
      const DType type = op == ScanKind::prod ? DType::u32 : DType::f32;
      const Case c{op, type, type, axis, {rng() % 2 == 0, rng() % 2 == 0}};
      const Problem p = make_problem(rng, c, random_view(rng, shape, type), random_view(rng, shape, type));
      run_both(device(), p.inputs, p.outputs, p.drawn(), p.tolerance, p.what);
    }
  }
}

TEST_P(Scan, FormsOfParts) {
  constexpr kernels::SplitForm kForms[] = {
      {.threads = 128, .register_steps = 4, .interleave = 8},
      {.threads = 512, .register_steps = 8, .interleave = 2},
      {.threads = 64, .register_steps = 4, .interleave = 1},
      {.threads = 64, .register_steps = 4, .interleave = 4, .look_back = true, .spin_limit = 3},
      {.threads = 64, .register_steps = 4, .interleave = 4, .tiles_per_split = 3}};
  int turn = 0;
  for (const auto& [shape, axis] :
       {std::pair{Shape{2, 40000}, 1}, {Shape{30001}, 0}, {Shape{9000, 8}, 0}, {Shape{5001, 3}, 0}}) {
    for (ScanKind op : kOps) {
      for (DType type : {DType::f32, DType::i32, DType::i64, DType::f16}) {
        if ((op == ScanKind::log_sum_exp && is_integer(type)) || (op == ScanKind::prod && is_floating(type))) continue;
        if (op == ScanKind::sum && type == DType::f16) continue;
        if (++turn % 4) continue;
        const Case c{op, type, type, axis, {turn % 8 == 0, turn % 3 == 0}, kForms[turn / 4 % 5]};
        const Problem p = make_problem(rng, c, random_view(rng, shape, type), random_view(rng, shape, type));
        run_both(device(), p.inputs, p.outputs, p.drawn(), p.tolerance, p.what);
      }
    }
  }
  // NaN and infinities are passed on between splits.
  for (const ScanKind op : {ScanKind::sum, ScanKind::max, ScanKind::log_sum_exp}) {
    for (const kernels::SplitForm& form : {kForms[0], kForms[2], kForms[3], kForms[4]}) {
      const View x = view_of(DType::f32, {3, 5000}, Kind::dense, [](std::int64_t i) {
        return i % 5000 == 1000 ? (i < 5000 ? NAN : i < 10000 ? INFINITY : -INFINITY) : static_cast<double>(i % 7);
      });
      const Case c{op, DType::f32, DType::f32, 1, {}, form};
      const Problem p = make_problem(rng, c, x, random_view(rng, {3, 5000}, DType::f32));
      // If the first element is 0, the result is the logarithm of a sum that may be one rounding from 1.
      run_both(device(), p.inputs, p.outputs, p.drawn(), {.absolute = 0x1p-22, .relative = 1e-4}, p.what);
    }
  }
}

TEST_P(Scan, InPlace) {
  const View x = random_view(rng, {30, 70}, DType::f32);
  for (int axis : {0, 1}) {
    run_both(device(), {{x}}, {{x}},
             [axis](Stream& s, auto in, auto out) { kernels::scan(s, ScanKind::max, in[0], out[0], axis); }, {});
  }
}

TEST_P(Scan, SpecialValues) {
  for (ScanKind op : kOps) {
    for (const bool exclusive : {false, true}) {
      const View x =
          host_view(DType::f32, {5, 4},
                    std::vector<double>{1, NAN, 2,    3,    1,     INFINITY, 2,   -INFINITY, -INFINITY, -INFINITY,
                                        0, 1,   1e38, 1e38, -1e38, 1,        200, -200,      100,       0});
      const View y = random_view(rng, {5, 4}, DType::f32);
      run_both(
          device(), {{x}}, {{y}},
          [=](Stream& s, auto in, auto out) { kernels::scan(s, op, in[0], out[0], 1, {.exclusive = exclusive}); },
          {.relative = 1e-5}, kNames[static_cast<int>(op)]);
    }
  }
}

TEST_P(Scan, RepeatsToTheBit) {
  const View x = to_device(device(), random_view(rng, {3, 50000}, DType::f32));
  std::vector<View> results;
  for (int i = 0; i < 3; ++i) {
    const View y = to_device(device(), random_view(rng, {3, 50000}, DType::f32));
    gpu::Encoder encoder(device());
    run(encoder, ScanKind::sum, x, y, 1, {});
    encoder.submit();
    results.push_back(to_host(device(), y));
  }
  expect_close(results[1], results[0], kSameBits);
  expect_close(results[2], results[0], kSameBits);
}

TEST_P(Scan, Refusals) {
  gpu::Encoder encoder(device());
  const auto view = [&](const Shape& shape, DType type) { return to_device(device(), random_view(rng, shape, type)); };
  const View x = view({4}, DType::f32);
  EXPECT_THROW(kernels::scan(encoder, ScanKind::sum, x, view({5}, DType::f32), 0), InvalidArgument);
  EXPECT_THROW(kernels::scan(encoder, ScanKind::sum, x, view({4}, DType::i32), 0), InvalidArgument);
  EXPECT_THROW(kernels::scan(encoder, ScanKind::sum, x, x, 1), InvalidArgument);
  EXPECT_THROW(kernels::scan(encoder, ScanKind::max, view({4}, DType::i8), view({4}, DType::i32), 0), InvalidArgument);
  EXPECT_THROW(kernels::scan(encoder, ScanKind::max, view({4}, DType::c64), view({4}, DType::c64), 0), InvalidArgument);
  EXPECT_THROW(kernels::scan(encoder, ScanKind::log_sum_exp, view({4}, DType::i32), x, 0), InvalidArgument);
  EXPECT_THROW(kernels::scan(encoder, ScanKind::sum, view({4}, DType::u4), view({4}, DType::u4), 0), InvalidArgument);
  EXPECT_THROW(kernels::scan(encoder, ScanKind::sum, view({4}, DType::f64), view({4}, DType::f64), 0), Unsupported);
}

TEST(ScanReference, Definition) {
  cpu::Executor executor;
  using testing::ElementsAre;
  const View x = host_view(DType::i8, {2, 3}, std::vector<double>{1, -2, 3, 4, 5, 100});
  const View y = host_view(DType::i8, {2, 3}, std::vector<double>(6));
  kernels::scan(executor, ScanKind::sum, x, y, 1);
  EXPECT_THAT(values(y), ElementsAre(1, -1, 2, 4, 9, 109));
  kernels::scan(executor, ScanKind::sum, x, y, 1, {.reverse = true, .exclusive = true});
  EXPECT_THAT(values(y), ElementsAre(1, 3, 0, 105, 100, 0));
  kernels::scan(executor, ScanKind::prod, x, y, 0);
  EXPECT_THAT(values(y), ElementsAre(1, -2, 3, 4, -10, 44));
  kernels::scan(executor, ScanKind::max, x, y, 1, {.exclusive = true});
  EXPECT_THAT(values(y), ElementsAre(-128, 1, 1, -128, 4, 5));
}

// Tensors that exceed a binding.
using ScanChunks = ChunksTest;
using ScanChunksOnDevice = ChunksOnDevice;
INSTANTIATE_TEST_SUITE_P(Devices, ScanChunksOnDevice, testing::ValuesIn(device_names()),
                         [](const auto& i) { return i.param; });

TEST_F(ScanChunks, Rows) {
  for (const Kind kind : {Kind::dense, Kind::transposed}) {
    const View x = random_view(rng, {5, 90, 128}, DType::f32, kind), y = random_view(rng, {5, 90, 128}, DType::f32);
    for (const int axis : {1, -1}) {
      if (kind == Kind::transposed && axis == -1) continue;  // a row would exceed a binding
      both({x}, {y},
           [axis](Stream& s, auto in, auto out) { kernels::scan(s, kernels::ScanKind::sum, in[0], out[0], axis, {}); },
           {.absolute = 1e-4});
    }
  }
}

TEST_F(ScanChunks, LongRows) {
  for (const auto& [shape, axis] : {std::pair{Shape{50001}, 0}, {{2, 40000}, 1}, {{20000, 5}, 0}}) {
    for (const auto& [op, type] : {std::pair{kernels::ScanKind::sum, DType::i32},
                                   {kernels::ScanKind::sum, DType::i64},
                                   {kernels::ScanKind::max, DType::f32},
                                   {kernels::ScanKind::log_sum_exp, DType::f32}}) {
      for (const bool reverse : {false, true}) {
        const View x = random_view(rng, shape, type), y = random_view(rng, shape, type);
        both(
            {x}, {y},
            [&, axis = axis, op = op](Stream& s, auto in, auto out) {
              const kernels::ScanOptions options{.reverse = reverse, .exclusive = axis == 1};
              kernels::scan(s, op, in[0], out[0], axis, options);
            },
            op == kernels::ScanKind::log_sum_exp ? Tolerance{.relative = 1e-4} : kSameBits);
      }
    }
  }
}

// Rows of few elements with large strides, among others like them.
TEST_P(ScanChunksOnDevice, RowsFarAmongOthers) {
  for (const auto& [shape, axis, kind] : {std::tuple{Shape{30, 701, 40}, 1, Kind::dense},
                                          {Shape{40, 701, 30}, 1, Kind::transposed},
                                          {Shape{3, 5, 9001}, 0, Kind::sliced}}) {
    for (const DType type : {DType::f32, DType::f16}) {
      const View x = random_view(rng, shape, type, kind), y = random_view(rng, shape, type, kind);
      for (const bool reverse : {false, true}) {
        const kernels::ScanOptions options{.reverse = reverse};
        both(
            {x}, {y},
            [&, axis = axis](Stream& s, auto in, auto out) {
              kernels::scan(s, kernels::ScanKind::max, in[0], out[0], axis, options);
            },
            kSameBits);
      }
    }
  }
}

// Many rows, each longer than a binding: the partial results of their chunks must fit a binding, too.
TEST_F(ScanChunks, ManyLongRows) {
  const View x = random_view(rng, {3, 40000}, DType::f32), y = random_view(rng, {3, 40000}, DType::f32);
  both(
      {x}, {y}, [&](Stream& s, auto in, auto out) { kernels::scan(s, kernels::ScanKind::max, in[0], out[0], 0, {}); },
      kSameBits);
}

}  // namespace
}  // namespace weft::test
