// Compaction: GPU results against the CPU's, and against the definition.
#include "weft/kernels/compact.h"
#include "cpu/executor.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "support/throws.h"
#include "weft/error.h"

namespace weft::test {
namespace {

constexpr DType kAll[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8,     DType::i16,     DType::i32,
                          DType::i64, DType::u8,  DType::u16,  DType::u32, DType::u64,    DType::boolean, DType::c64,
                          DType::i4,  DType::u4,  DType::i2,   DType::u2,  DType::f8e4m3, DType::f8e5m2};

// A mask with some false elements, of every type's zeros.
View random_mask(Rng& rng, const Shape& shape) {
  const View mask =
      random_view(rng, shape, rng() % 2 ? DType::boolean : pick(rng, kAll), random_input_kind(rng), Values::special);
  Rng& values = rng.details();
  const auto often = values() % 5;
  const std::uint64_t negative = is_floating(mask.dtype) ? std::uint64_t{1} << (bits(mask.dtype) - 1) : 0;
  for (std::int64_t i = 0; i < mask.count(); ++i) {
    if (values() % 4 < often) set_element_bits(mask, i, values() % 2 ? 0 : negative);
  }
  return mask;
}

Problem problem(Rng& rng, int form, const Shape& shape) {
  const DType type = pick(rng, kAll);
  const View count = random_view(rng, {}, DType::u32);
  const std::int64_t capacity = rng() % 3 ? element_count(shape) : element_count(shape) / 2;
  if (form == 2) {
    constexpr DType kTypes[] = {DType::i32, DType::u32, DType::i64, DType::u64};
    const View x = random_mask(rng, shape);
    const View y = random_view(rng, {capacity, shape.rank()}, pick(rng, kTypes), random_output_kind(rng));
    return {std::format("nonzero {} to {}", to_string(x), to_string(y)),
            {x, y},
            {y, count},
            [](Stream& s, auto in, auto out) { kernels::nonzero(s, in[0], out[0], out[1]); },
            kSameBits};
  }
  const View mask = random_mask(rng, random_broadcast(rng, shape));
  const View list = random_view(rng, {capacity}, type, form ? random_input_kind(rng) : random_output_kind(rng));
  const View tensor =
      random_view(rng, shape, type, form ? random_output_kind(rng) : random_input_kind(rng), Values::special);
  const std::string what = std::format("{} of {} and {}", to_string(mask), to_string(tensor), to_string(list));
  if (form == 0) {
    return {"compress " + what,
            {tensor, mask},
            {list, count},
            [](Stream& s, auto in, auto out) { kernels::compress(s, in[0], in[1], out[0], out[1]); },
            kSameBits};
  }
  return {"expand " + what,
          {list, mask},
          {tensor, count},
          [](Stream& s, auto in, auto out) { kernels::expand(s, in[0], in[1], out[0], out[1]); },
          kSameBits};
}

const bool registered =
    differential(
        "compress", [](Rng& rng) { return problem(rng, 0, random_shape(rng, 0, 8, 20000)); }, 2) &&
    differential(
        "expand", [](Rng& rng) { return problem(rng, 1, random_shape(rng, 0, 8, 20000)); }, 2) &&
    differential("nonzero", [](Rng& rng) { return problem(rng, 2, random_shape(rng, 0, 8, 20000)); }, 2);

class Compact : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, Compact, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

// Many blocks.
TEST_P(Compact, ManyBlocks) {
  Rng rng(5);
  for (int form = 0; form < 3; ++form) {
    const Problem p = problem(rng, form, {3, 50001});
    run_both(device(GetParam()), p.inputs, p.outputs, p.call, p.tolerance, p.what);
  }
}

TEST_P(Compact, Refusals) {
  gpu::Device& gpu = device(GetParam());
  gpu::Encoder encoder(gpu);
  Rng rng(3);
  const auto view = [&](const Shape& shape, DType type) { return to_device(gpu, random_view(rng, shape, type)); };
  const View x = view({4, 3}, DType::f32), mask = view({4, 1}, DType::boolean), y = view({12}, DType::f32),
             count = view({1}, DType::u32);
  EXPECT_THROW(kernels::compress(encoder, x, view({2}, DType::boolean), y, count), InvalidArgument);
  EXPECT_THROW(kernels::compress(encoder, x, mask, view({12}, DType::f16), count), InvalidArgument);
  EXPECT_THROW(kernels::compress(encoder, x, mask, y, view({2}, DType::u32)), InvalidArgument);
  EXPECT_THROW(kernels::nonzero(encoder, x, view({12, 3}, DType::i32), count), InvalidArgument);
  EXPECT_THROW(kernels::nonzero(encoder, x, view({12, 2}, DType::i16), count), InvalidArgument);
}

// A denormal is true, at every position.
TEST_P(Compact, DenormalsAreTrue) {
  Rng rng(7);
  for (const DType type : {DType::f32, DType::bf16}) {
    for (const std::int64_t n : {7, 33, 64, 1001}) {
      const View mask = random_view(rng, {n}, type), x = random_view(rng, {n}, DType::i32),
                 y = random_view(rng, {n}, DType::i32), count = random_view(rng, {1}, DType::u32);
      for (std::int64_t i = 0; i < n; ++i) {
        const std::uint64_t sign = i % 2 ? std::uint64_t{1} << (bits(type) - 1) : 0;
        set_element_bits(mask, i, i % 5 == 0 ? sign : sign | 1);
      }
      run_both(
          device(GetParam()), {{x, mask}}, {{y, count}},
          [](Stream& s, auto in, auto out) { kernels::compress(s, in[0], in[1], out[0], out[1]); }, kSameBits,
          std::string(name(type)));
      EXPECT_EQ(value(count, 0), static_cast<double>(n - (n + 4) / 5));
    }
  }
}

// A view of stride 0 can have any number of elements.
TEST_P(Compact, MoreElementsThanAreCounted) {
  gpu::Device& gpu = device(GetParam());
  gpu::Encoder encoder(gpu);
  const Shape shape{std::int64_t{1} << 52};
  const View x(gpu.allocate(4), 0, DType::f32, shape, {0}), y(gpu.allocate(64), 0, DType::i32, {16, 1}),
      count(gpu.allocate(4), 0, DType::u32, {1});
  EXPECT_THAT(
      thrown_by([&] { kernels::nonzero(encoder, x, y, count); }),
      testing::StartsWith("Unsupported: nonzero: f32 [4503599627370496] strides [0] has 4503599627370496 elem"));
}

TEST(CompactCpu, MoreElementsThanAreCounted) {
  cpu::Executor executor;
  const Buffer zero = Buffer::host(4);
  const View count = host_view(DType::u32, {}, {{0.0}});
  const auto refused = [&](const Shape& shape, DType type) {
    const View x(zero, 0, DType::f32, shape, Strides::filled(shape.rank(), 0)),
        y(Buffer::host(256), 0, type, {16, shape.rank()});
    return thrown_by([&] { kernels::nonzero(executor, x, y, count); });
  };
  EXPECT_THAT(refused({std::int64_t{1} << 32}, DType::i64),
              testing::StartsWith("Unsupported: nonzero: f32 [4294967296] strides [0] has 4294967296 elements; fewer"));
  EXPECT_EQ(refused({(std::int64_t{1} << 31) + 64}, DType::i32),
            "InvalidArgument: nonzero: y is i32 [16, 1], which holds positions among 2^31 elements, and there are "
            "2147483712; expected i64 or u64");
}

TEST(CompactReference, Definition) {
  cpu::Executor executor;
  const View x = host_view(DType::f32, {2, 3}, std::vector<double>{1, 0, -3, 0, 5, 6});
  const View count = host_view(DType::u32, {}, std::vector<double>{0});
  const View y = host_view(DType::f32, {6}, std::vector<double>(6, 9));
  kernels::compress(executor, x, x, y, count);
  EXPECT_EQ(value(count, 0), 4);
  EXPECT_THAT(values(y), testing::ElementsAre(1, -3, 5, 6, 9, 9));
  const View at = host_view(DType::i64, {3, 2}, std::vector<double>(6));
  kernels::nonzero(executor, x, at, count);
  EXPECT_EQ(value(count, 0), 4);
  EXPECT_THAT(values(at), testing::ElementsAre(0, 0, 0, 2, 1, 1));
  const View z = host_view(DType::f32, {2, 3}, std::vector<double>(6));
  kernels::expand(executor, y, x, z, count);
  EXPECT_THAT(values(z), testing::ElementsAre(1, 0, -3, 0, 5, 6));
}

// Tensors that exceed a binding.
using CompactChunks = ChunksTest;

TEST_F(CompactChunks, CompressExpandNonzero) {
  for (const DType type : {DType::f32, DType::u8, DType::i64}) {
    for (const auto& [shape, kind] : {std::pair{Shape{100000}, Kind::dense}, {Shape{30, 1200}, Kind::reversed}}) {
      const std::int64_t n = element_count(shape);
      const View x = random_view(rng, shape, type, kind);
      const View mask = random_view(rng, shape, DType::boolean, kind);
      for (const std::int64_t capacity : {n, n / 3}) {
        both(
            {x, mask}, {random_view(rng, {capacity}, type), random_view(rng, {1}, DType::u32)},
            [&](Stream& s, auto in, auto out) { kernels::compress(s, in[0], in[1], out[0], out[1]); }, kSameBits);
        both(
            {random_view(rng, {capacity}, type), mask}, {x, random_view(rng, {1}, DType::u32)},
            [&](Stream& s, auto in, auto out) { kernels::expand(s, in[0], in[1], out[0], out[1]); }, kSameBits);
      }
      both(
          {mask}, {random_view(rng, {n / 2, shape.rank()}, DType::i32), random_view(rng, {1}, DType::u32)},
          [&](Stream& s, auto in, auto out) { kernels::nonzero(s, in[0], out[0], out[1]); }, kSameBits);
    }
  }
}

}  // namespace
}  // namespace weft::test
