// Planned calls: what a plan reports, which operands fit, that it gives the call's results, and that calls reuse plans.
#include "weft/kernels/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu/device_impl.h"
#include "kernels/plan_cache.h"
#include "operands.h"
#include "support/devices.h"
#include "support/differential.h"
#include "weft/error.h"
#include "weft/kernels.h"
#include "weft/kernels/table.h"

namespace weft::test {
namespace {

using kernels::Plan;

class PlanTest : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device = test::device(GetParam());
  Rng rng{11};
};
INSTANTIATE_TEST_SUITE_P(Devices, PlanTest, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

void softmax(Stream& s, std::span<const View> v) { kernels::softmax(s, v[0], v[1], -1); }

View dense(DType type, const Shape& shape) { return kernels::operand(type, Layout::dense(shape)); }

TEST_P(PlanTest, TellsWhatWillRun) {
  const Plan p = kernels::plan(Device(device), {dense(DType::f32, {64, 300}), dense(DType::f32, {64, 300})}, softmax);
  ASSERT_EQ(p.dispatches().size(), 1u);
  EXPECT_EQ(p.dispatches()[0].kernel, "softmax");
  EXPECT_EQ(p.dispatches()[0].work.bytes, 2u * 64 * 300 * 4);
  EXPECT_EQ(p.scratch(), 0u);
  const auto sort = [](Stream& s, std::span<const View> v) { kernels::sort(s, v[0], v[1], {}, {}); };
  EXPECT_GT(kernels::plan(Device(device), {dense(DType::f32, {5000}), dense(DType::f32, {5000})}, sort).scratch(),
            5000u * 4);
}

TEST_P(PlanTest, RecordsOnManyBuffersAndStreams) {
  const Shape shape{33, 129};
  const Plan p = kernels::plan(Device(device), {dense(DType::f16, shape), dense(DType::f16, shape)}, softmax);
  gpu::Encoder encoder(device);
  std::vector<std::pair<View, View>> pairs;
  for (int i = 0; i < 3; ++i) {
    const View x = random_view(rng, shape, DType::f16), y = random_view(rng, shape, DType::f16);
    cpu::Executor cpu;
    const View on_gpu = to_device(device, x), result = to_device(device, random_view(rng, shape, DType::f16));
    p.record(encoder, {on_gpu, result});
    kernels::softmax(cpu, x, y, -1);
    pairs.emplace_back(result, y);
  }
  // The same on a recording, run twice.
  const View x = random_view(rng, shape, DType::f16), y = random_view(rng, shape, DType::f16);
  const View input = to_device(device, x), output = to_device(device, y);
  gpu::Recording recording(device);
  p.record(recording, {input, output});
  encoder.replay(recording);
  encoder.replay(recording);
  encoder.submit();
  cpu::Executor cpu;
  kernels::softmax(cpu, x, y, -1);
  pairs.emplace_back(output, y);
  for (const auto& [got, expected] : pairs) expect_close(to_host(device, got), expected, {.ulp = 1, .absolute = 1e-6});
}

TEST_P(PlanTest, ScratchOfTheCallerOrOfTheStream) {
  const Shape shape{3, 3000};
  const auto sort = [](Stream& s, std::span<const View> v) {
    kernels::sort(s, v[0], v[1], {}, {.axis = -1, .descending = true});
  };
  const Plan p = kernels::plan(Device(device), {dense(DType::i32, shape), dense(DType::i32, shape)}, sort);
  const auto bytes = static_cast<std::int64_t>(p.scratch());
  ASSERT_GT(bytes, 0);
  const View x = random_view(rng, shape, DType::i32), y = random_view(rng, shape, DType::i32);
  const View input = to_device(device, x);
  cpu::Executor cpu;
  kernels::sort(cpu, x, y, {}, {.axis = -1, .descending = true});
  const View scratch(device.allocate(p.scratch() + 512), 512, DType::u8, {bytes});
  for (const auto& given : {std::optional<View>(), std::optional(scratch)}) {
    const View result = to_device(device, random_view(rng, shape, DType::i32));
    gpu::Encoder encoder(device);
    p.record(encoder, {input, result}, given);
    encoder.submit();
    expect_close(to_host(device, result), y, kSameBits);
  }
  gpu::Encoder encoder(device);
  const View result = to_device(device, y);
  EXPECT_THROW(p.record(encoder, {input, result}, View(scratch.buffer, 0, DType::u8, {bytes - 1})), InvalidArgument);
  EXPECT_THROW(p.record(encoder, {input, result}, View(scratch.buffer, 16, DType::u8, {bytes})), InvalidArgument);
}

TEST_P(PlanTest, RefusesOperandsThatLieOtherwise) {
  const auto add = [](Stream& s, std::span<const View> v) { kernels::binary(s, ScalarOp::add, v[0], v[1], v[2]); };
  const View plain = dense(DType::f32, {8, 64});
  const Plan p = kernels::plan(Device(device), {plain, plain, dense(DType::f32, {8, 64})}, add);
  // `plain` twice: one operand as both.
  const View a(device.allocate(8192), 0, DType::f32, {8, 64}), b(device.allocate(4096), 0, DType::f32, {8, 64});
  EXPECT_TRUE(p.fits(std::array{a, a, b}));
  const View moved(a.buffer, 4096, DType::f32, {8, 64});
  EXPECT_TRUE(p.fits(std::array{moved, moved, b}));  // whole multiples of 256 bytes
  EXPECT_FALSE(p.fits(std::array{a, moved, b}));     // shared, but at another distance
  EXPECT_FALSE(p.fits(std::array{a, b, b}));         // not shared, and y is an operand
  EXPECT_FALSE(p.fits(std::array{a, a, a}));         // in place
  EXPECT_FALSE(p.fits(std::array{a, a}));
  const View off(a.buffer, 4, DType::f32, {8, 64});
  EXPECT_FALSE(p.fits(std::array{off, off, b}));
  EXPECT_FALSE(p.fits(std::array{View(a.buffer, 0, DType::i32, {8, 64}), a, b}));
  EXPECT_FALSE(p.fits(std::array{View(a.buffer, 0, DType::f32, {8, 64}, {1, 8}), a, b}));
  gpu::Encoder encoder(device);
  EXPECT_THROW(p.record(encoder, {a, a, a}), InvalidArgument);
  cpu::Executor cpu;
  EXPECT_THROW(p.record(cpu, {a, a, b}), InvalidArgument);
  // Operands in buffers of their own also fit if two that are only read share one.
  const Plan apart =
      kernels::plan(Device(device), {dense(DType::f32, {8, 64}), dense(DType::f32, {8, 64}), plain}, add);
  EXPECT_TRUE(apart.fits(std::array{a, moved, b}));
  EXPECT_FALSE(apart.fits(std::array{a, b, moved}));
  EXPECT_THROW(kernels::plan(Device(device), {plain, plain, plain},
                             [&](Stream& s, std::span<const View>) {
                               kernels::unary(s, ScalarOp::exp, plain, dense(DType::f32, {8, 64}));
                             }),
               InternalError);
}

// An operand that a kernel may do without is an empty view, in a plan as in a call by name.
TEST_P(PlanTest, OperandsThatAreNotGiven) {
  struct Case {
    std::string_view kernel;
    std::vector<std::pair<DType, Shape>> inputs;  // the first `needed` must be given
    std::size_t needed;
    std::pair<DType, Shape> output;
    AttributeMap attributes = {};
  };
  const Shape x{4, 6}, channels{6};
  const DType f = DType::f32;
  for (const auto& [kernel, inputs, needed, result, attributes] :
       {Case{"quantize", {{f, x}, {f, {}}, {DType::i8, {}}}, 2, {DType::i8, x}},
        {"dequantize", {{DType::u8, x}, {f, {}}, {DType::u8, {}}}, 2, {f, x}},
        {"layer_norm",
         {{f, x}, {f, channels}, {f, channels}},
         1,
         {f, x},
         {{"first_axis", Number(1)}, {"epsilon", Number(1e-5)}}},
        {"group_norm",
         {{f, x}, {f, channels}, {f, channels}},
         1,
         {f, x},
         {{"groups", Number(2)}, {"epsilon", Number(1e-5)}}},
        {"rms_norm", {{f, x}, {f, channels}}, 1, {f, x}, {{"first_axis", Number(1)}, {"epsilon", Number(1e-5)}}}}) {
    for (std::size_t given = 0; given < std::size_t{1} << (inputs.size() - needed); ++given) {
      std::vector<View> planned, host, views;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const bool is = k < needed || (given >> (k - needed) & 1) != 0;
        planned.push_back(is ? dense(inputs[k].first, inputs[k].second) : View());
        host.push_back(is ? random_view(rng, inputs[k].second, inputs[k].first) : View());
        views.push_back(is ? to_device(device, host.back()) : View());
      }
      planned.push_back(dense(result.first, result.second));
      host.push_back(random_view(rng, result.second, result.first));
      views.push_back(to_device(device, host.back()));
      const auto call = [&](Stream& s, std::span<const View> v) {
        kernels::call(s, kernel, {v.first(v.size() - 1), v.last(1), attributes});
      };
      const Plan p = kernels::plan(Device(device), planned, call);
      ASSERT_TRUE(p.fits(views)) << kernel << ", given " << given;
      gpu::Encoder encoder(device);
      p.record(encoder, views);
      encoder.submit();
      cpu::Executor cpu;
      call(cpu, host);
      expect_close(to_host(device, views.back()), host.back(), {.absolute = 1e-5}, std::string(kernel));
      // What was planned without an operand takes none, and the other way round.
      for (std::size_t k = needed; k < inputs.size(); ++k) {
        std::vector<View> other = views;
        other[k] = views[k].buffer ? View() : to_device(device, random_view(rng, inputs[k].second, inputs[k].first));
        EXPECT_FALSE(p.fits(other)) << kernel;
      }
    }
  }
}

TEST_P(PlanTest, UnsupportedIsSaidWhenPlanned) {
  const View x = dense(DType::f64, {4, 4}), y = dense(DType::f64, {4, 4});
  EXPECT_THROW(kernels::plan(Device(device), {x, y}, softmax), Unsupported);
  EXPECT_THROW(kernels::plan(Device(device), {x, dense(DType::f64, {4, 5})}, softmax), InvalidArgument);
}

TEST_P(PlanTest, InspectionCompilesNothing) {
  const std::size_t before = device.impl().pipelines.size();
  // A shape whose kernel is not in any other test.
  const auto scale = [](Stream& s, std::span<const View> v) {
    Expression e;
    e.output(e.apply(ScalarOp::mul, {e.input(DType::f32), e.constant(0.123456789, DType::f32)}));
    kernels::map(s, e, v.first(1), v.subspan(1));
  };
  const View x = dense(DType::f32, {64}), y = dense(DType::f32, {64});
  const Plan p = kernels::plan(Device(device), {x, y}, scale, kernels::PlanFor::inspection);
  EXPECT_EQ(p.dispatches().size(), 1u);
  EXPECT_EQ(device.impl().pipelines.size(), before);
  gpu::Encoder encoder(device);
  const View real(device.allocate(256), 0, DType::f32, {64}), other(device.allocate(256), 0, DType::f32, {64});
  EXPECT_THROW(p.record(encoder, {real, other}), InvalidArgument);
}

TEST_P(PlanTest, CallsFindTheirPlan) {
  // A device of its own: on one that other tests have filled, a generation of plans may be forgotten meanwhile.
  gpu::Device device = gpu::Device::open(like(this->device));
  const auto plans = [&] { return kernels::PlanCache::of(device).size(); };
  const Shape shape{17, 96};
  const View a = to_device(device, random_view(rng, shape, DType::f32)),
             b = to_device(device, random_view(rng, shape, DType::f32)),
             y = to_device(device, random_view(rng, shape, DType::f32)),
             z = to_device(device, random_view(rng, shape, DType::f32));
  gpu::Encoder encoder(device);
  kernels::binary(encoder, ScalarOp::sub, a, b, y);
  const std::size_t before = plans();
  kernels::binary(encoder, ScalarOp::sub, b, a, z);  // other buffers
  EXPECT_EQ(plans(), before);
  kernels::binary(encoder, ScalarOp::sub, a, a, y);  // one for both
  EXPECT_EQ(plans(), before + 1);
  kernels::binary(encoder, ScalarOp::sub, a, b, a);  // in place
  EXPECT_EQ(plans(), before + 2);
  kernels::binary(encoder, ScalarOp::max, a, b, y);
  EXPECT_EQ(plans(), before + 3);
  const std::size_t pipelines = device.impl().pipelines.size();
  const auto rows = [](const View& v) { return View(v.buffer, v.offset, v.dtype, {16, 96}); };
  kernels::binary(encoder, ScalarOp::sub, rows(a), rows(b), rows(y));  // another size, the same kernel
  EXPECT_EQ(plans(), before + 4);
  EXPECT_EQ(device.impl().pipelines.size(), pipelines);
  encoder.submit();
}

// Calls that differ only in their options, not in layouts.
TEST_P(PlanTest, OptionsArePartOfTheKey) {
  const View x = random_view(rng, {6, 6, 6}, DType::f32);
  cpu::Executor cpu;
  const View on_gpu = to_device(device, x);
  for (int axis = 0; axis < 3; ++axis) {
    for (const bool reverse : {false, true}) {
      for (const bool exclusive : {false, true}) {
        const View y = random_view(rng, {6, 6, 6}, DType::f32), z = to_device(device, y);
        gpu::Encoder encoder(device);
        kernels::scan(encoder, kernels::ScanKind::max, on_gpu, z, axis, {reverse, exclusive});
        encoder.submit();
        kernels::scan(cpu, kernels::ScanKind::max, x, y, axis, {reverse, exclusive});
        expect_close(to_host(device, z), y, kSameBits);
      }
    }
  }
  for (const double value : {1.0, -1.0, 0.0, 3.5}) {
    const View y = random_view(rng, {5}, DType::f32), z = to_device(device, y);
    gpu::Encoder encoder(device);
    kernels::fill(encoder, value, z);
    encoder.submit();
    kernels::fill(cpu, value, y);
    expect_close(to_host(device, z), y, kSameBits);
  }
}

// Views at every offset: kernels use other loads at multiples of 16 bytes, and read past an end only if the buffer
// continues there.
TEST_P(PlanTest, OffsetsAndEnds) {
  cpu::Executor cpu;
  for (int i = 0; i < 40; ++i) {
    const auto n = static_cast<std::int64_t>(1 + rng() % 70);
    const std::uint64_t offset = 2 * (rng() % 300), tail = 2 * (rng() % 9);
    const std::uint64_t size = (offset + static_cast<std::uint64_t>(n) * 2 + tail + 3) / 4 * 4;
    View x = random_view(rng, {n}, DType::f16), y = random_view(rng, {n}, DType::f16);
    const Buffer in = device.allocate(size), out = device.allocate(size);
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data() + offset, x.buffer.data() + x.offset, static_cast<std::size_t>(n) * 2);
    device.upload(in, 0, bytes);
    const View from(in, offset, DType::f16, {n}), to(out, offset, DType::f16, {n});
    gpu::Encoder encoder(device);
    kernels::unary(encoder, ScalarOp::neg, from, to);
    encoder.submit();
    kernels::unary(cpu, ScalarOp::neg, x, y);
    expect_close(to_host(device, to), y, kSameBits);
  }
}

TEST_P(PlanTest, TheCacheForgetsWhatIsOld) {
  kernels::PlanCache cache(device.impl().pipelines);
  const auto plan = std::make_shared<const Plan::State>();
  cache.add("often", plan);
  for (std::size_t i = 0; i < 3 * kernels::PlanCache::kGeneration; ++i) {
    cache.add(std::to_string(i), plan);
    if (i % 1000 == 0) {
      ASSERT_TRUE(cache.find("often"));
    }
  }
  EXPECT_LE(cache.size(), 2 * kernels::PlanCache::kGeneration);
  EXPECT_FALSE(cache.find("0"));
  EXPECT_TRUE(cache.find("often"));
}

// What a kernel takes on the way from the host's memory is an error of its own if there is none.
TEST(PlanOnCpu, HostMemoryThatRunsOutIsTyped) {
  cpu::Executor cpu;
  for (const bool long_list : {false, true}) {
    try {
      kernels::call(cpu, kernels::CallKey("kernel_name", 1), {}, [&](Stream&) {
        if (long_list) throw std::length_error("vector");
        throw std::bad_alloc();
      });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const OutOfMemory& e) {
      EXPECT_THAT(e.what(), testing::StartsWith("kernel_name: "));
    }
  }
}

TEST(PlanOnCpu, RunsTheCalls) {
  Rng rng(3);
  const View x = random_view(rng, {4, 9}, DType::f32), y = random_view(rng, {4, 9}, DType::f32),
             z = random_view(rng, {4, 9}, DType::f32);
  const Plan p = kernels::plan(Device::cpu(), {dense(DType::f32, {4, 9}), dense(DType::f32, {4, 9})}, softmax);
  EXPECT_EQ(p.scratch(), 0u);
  EXPECT_TRUE(p.dispatches().empty());
  cpu::Executor cpu;
  p.record(cpu, {x, y});
  kernels::softmax(cpu, x, z, -1);
  expect_close(y, z, kSameBits);
  for (TestDevice& d : devices()) {
    gpu::Encoder encoder(d.device);
    EXPECT_THROW(p.record(encoder, {x, y}), InvalidArgument);
    break;
  }
}

}  // namespace
}  // namespace weft::test
