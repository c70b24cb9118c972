// Ranges, identities, triangles, one-hot codes: GPU results against the CPU's, and against the definitions.
#include "weft/kernels/generate.h"

#include <limits>

#include "cpu/executor.h"
#include "support/differential.h"
#include "weft/error.h"

namespace weft::test {
namespace {

using kernels::Triangle;

constexpr DType kAll[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8,     DType::i16,     DType::i32,
                          DType::i64, DType::u8,  DType::u16,  DType::u32, DType::u64,    DType::boolean, DType::c64,
                          DType::i4,  DType::u4,  DType::i2,   DType::u2,  DType::f8e4m3, DType::f8e5m2};
constexpr DType kFloats[] = {DType::f32, DType::f16, DType::bf16, DType::f8e5m2};
constexpr DType kIntegers[] = {DType::i8,  DType::i16, DType::i32, DType::i64, DType::u8,
                               DType::u16, DType::u32, DType::u64, DType::i4,  DType::u2};
constexpr DType kIndices[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                              DType::u8, DType::u16, DType::u32, DType::u64};

// A GPU computes floats in f32 where the CPU uses double.
Tolerance range_tolerance(DType type, double largest) {
  const double step = type == DType::f32 ? 0 : type == DType::f16 ? 0x1p-10 : type == DType::bf16 ? 0x1p-7 : 0x1p-2;
  return {.absolute = largest * (0x1p-22 + step)};
}

Problem random_arange(Rng& rng) {
  const std::int64_t n = random_shape(rng, 1, 1)[0];
  const bool floats = rng() % 2;
  const DType type = floats ? pick(rng, kFloats) : pick(rng, kIntegers);
  const View y = random_view(rng, {n}, type, random_output_kind(rng));
  if (!floats) {
    const auto start = static_cast<std::int64_t>(rng.details()()),
               step = static_cast<std::int64_t>(rng.details()() >> (rng.details()() % 64));
    return {std::format("{} from {} by {}", to_string(y), start, step),
            {},
            {y},
            [=](Stream& s, auto, auto out) { kernels::arange(s, start, step, out[0]); },
            kSameBits};
  }
  const double start = random_int(rng.details(), -100, 100) / 8.0, step = random_int(rng.details(), -100, 100) / 16.0;
  return {std::format("{} from {} by {}", to_string(y), start, step),
          {},
          {y},
          [=](Stream& s, auto, auto out) { kernels::arange(s, start, step, out[0]); },
          range_tolerance(type, std::max(std::abs(start), static_cast<double>(n) * std::abs(step)))};
}

const bool registered =
    differential("arange", random_arange) &&
    differential("linspace",
                 [](Rng& rng) {
                   const std::int64_t n = random_shape(rng, 1, 1)[0];
                   const DType type = pick(rng, kFloats);
                   const View y = random_view(rng, {n}, type, random_output_kind(rng));
                   const double start = random_int(rng.details(), -900, 900) / 7.0,
                                stop = random_int(rng.details(), -900, 900) / 7.0;
                   return Problem{std::format("{} from {} to {}", to_string(y), start, stop),
                                  {},
                                  {y},
                                  [=](Stream& s, auto, auto out) { kernels::linspace(s, start, stop, out[0]); },
                                  range_tolerance(type, std::max(std::abs(start), std::abs(stop)))};
                 }) &&
    differential("eye",
                 [](Rng& rng) {
                   const View y = random_view(rng, random_shape(rng, 2), pick(rng, kAll), random_output_kind(rng));
                   const int diagonal = random_int(rng.details(), -9, 9);
                   return Problem{std::format("{} diagonal {}", to_string(y), diagonal),
                                  {},
                                  {y},
                                  [=](Stream& s, auto, auto out) { kernels::eye(s, out[0], diagonal); },
                                  kSameBits};
                 }) &&
    differential("triangle",
                 [](Rng& rng) {
                   const DType type = pick(rng, kAll);
                   const Shape shape = random_shape(rng, 2);
                   const View x =
                       random_view(rng, random_broadcast(rng, shape), type, random_input_kind(rng), Values::special);
                   const View y = random_view(rng, shape, type, random_output_kind(rng));
                   const int diagonal = random_int(rng.details(), -9, 9);
                   const Triangle part = rng() % 2 ? Triangle::lower : Triangle::upper;
                   const bool mask = rng() % 2;
                   return Problem{std::format("{} {} diagonal {}", to_string(x), to_string(y), diagonal),
                                  mask ? std::vector<View>{} : std::vector<View>{x},
                                  {y},
                                  [=](Stream& s, auto in, auto out) {
                                    if (mask)
                                      kernels::triangle(s, part, out[0], diagonal);
                                    else
                                      kernels::triangle(s, part, in[0], out[0], diagonal);
                                  },
                                  kSameBits};
                 }) &&
    differential("one_hot", [](Rng& rng) {
      const Shape shape = random_shape(rng, 0, 7, 300);
      const View indices = random_view(rng, shape, pick(rng, kIndices), random_input_kind(rng));
      const int axis = random_int(rng, 0, shape.rank()), classes = random_int(rng.details(), 0, 20);
      for (std::int64_t i = 0; i < indices.count(); ++i) {
        set_element_bits(indices, i, static_cast<std::uint64_t>(random_int(rng.details(), -25, 25)));
      }
      Shape to = shape;
      to.insert(axis, classes);
      const View y = random_view(rng, to, pick(rng, kAll), random_output_kind(rng));
      return Problem{std::format("{} axis {} of {}", to_string(indices), axis, to_string(y)),
                     {indices},
                     {y},
                     [=](Stream& s, auto in, auto out) { kernels::one_hot(s, in[0], out[0], axis, 2, -1); },
                     kSameBits};
    });

View made(DType type, const Shape& shape) {
  return host_view(type, shape, std::vector<double>(static_cast<std::size_t>(element_count(shape))));
}

TEST(GenerateReference, Ranges) {
  cpu::Executor executor;
  const View f = made(DType::f32, {5});
  kernels::arange(executor, 1, 0.5, f);
  EXPECT_THAT(values(f), testing::ElementsAre(1, 1.5, 2, 2.5, 3));
  kernels::linspace(executor, 0, 1, f);
  EXPECT_THAT(values(f), testing::ElementsAre(0, 0.25, 0.5, 0.75, 1));
  const View i = made(DType::i64, {3});
  kernels::arange(executor, INT64_MAX - 1, -2, i);
  EXPECT_EQ(element_bits(i, 2), static_cast<std::uint64_t>(INT64_MAX - 5));
  const View u = made(DType::u8, {4});
  kernels::arange(executor, 250, 3, u);
  EXPECT_THAT(values(u), testing::ElementsAre(250, 253, 0, 3));
  const View one = made(DType::f16, {1});
  kernels::linspace(executor, 3, 9, one);
  EXPECT_EQ(value(one, 0), 3);
}

TEST(GenerateReference, Matrices) {
  cpu::Executor executor;
  const View y = made(DType::f16, {2, 3});
  kernels::eye(executor, y, 1);
  EXPECT_THAT(values(y), testing::ElementsAre(0, 1, 0, 0, 0, 1));
  kernels::triangle(executor, Triangle::lower, y);
  EXPECT_THAT(values(y), testing::ElementsAre(1, 0, 0, 1, 1, 0));
  const View x = host_view(DType::f16, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6});
  kernels::triangle(executor, Triangle::upper, x, y, 1);
  EXPECT_THAT(values(y), testing::ElementsAre(0, 2, 3, 0, 0, 6));
  const View c = host_view(DType::i8, {3}, std::vector<double>{-1, 0, 5});
  const View hot = made(DType::f32, {3, 3});
  kernels::one_hot(executor, c, hot);
  EXPECT_THAT(values(hot), testing::ElementsAre(0, 0, 1, 1, 0, 0, 0, 0, 0));
}

class Generate : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, Generate, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

TEST_P(Generate, EndsOfLinspaceAreExact) {
  gpu::Device& gpu = device(GetParam());
  Rng rng(3);
  const View y = to_device(gpu, random_view(rng, {1001}, DType::f32));
  gpu::Encoder encoder(gpu);
  kernels::linspace(encoder, 0.1f, 0.7f, y);
  encoder.submit();
  const View host = to_host(gpu, y);
  EXPECT_EQ(value(host, 0), 0.1f);
  EXPECT_EQ(value(host, 1000), 0.7f);
}

// As numpy.linspace: all but the last one are start + i · step.
TEST_P(Generate, LinesWithoutFiniteEnds) {
  gpu::Device& gpu = device(GetParam());
  Rng rng(3);
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto line = [&](double start, double stop, std::int64_t count) {
    const View y = to_device(gpu, random_view(rng, {count}, DType::f32));
    gpu::Encoder encoder(gpu);
    kernels::linspace(encoder, start, stop, y);
    encoder.submit();
    return values(to_host(gpu, y));
  };
  using testing::ElementsAre, testing::IsNan;
  EXPECT_THAT(line(-inf, 1, 3), ElementsAre(IsNan(), IsNan(), 1));
  EXPECT_THAT(line(0, inf, 3), ElementsAre(IsNan(), inf, inf));
  EXPECT_THAT(line(1, -inf, 2), ElementsAre(IsNan(), -inf));
  EXPECT_THAT(line(nan, 1, 2), ElementsAre(IsNan(), 1));
  EXPECT_THAT(line(0, inf, 1), ElementsAre(IsNan()));
}

TEST_P(Generate, Refusals) {
  gpu::Device& gpu = device(GetParam());
  gpu::Encoder encoder(gpu);
  Rng rng(3);
  const auto view = [&](const Shape& shape, DType type) { return to_device(gpu, random_view(rng, shape, type)); };
  EXPECT_THROW(kernels::arange(encoder, 0, 1, view({2, 2}, DType::f32)), InvalidArgument);
  EXPECT_THROW(kernels::arange(encoder, 0, 1, view({2}, DType::boolean)), InvalidArgument);
  EXPECT_THROW(kernels::arange(encoder, 0, 1, view({2}, DType::f64)), Unsupported);
  EXPECT_THROW(kernels::linspace(encoder, 0, 1, view({2}, DType::i32)), InvalidArgument);
  EXPECT_THROW(kernels::eye(encoder, view({2}, DType::i32)), InvalidArgument);
  EXPECT_THROW(kernels::one_hot(encoder, view({2}, DType::f32), view({2, 3}, DType::f32)), InvalidArgument);
  EXPECT_THROW(kernels::one_hot(encoder, view({2}, DType::i32), view({3, 3}, DType::f32)), InvalidArgument);
}

}  // namespace
}  // namespace weft::test
