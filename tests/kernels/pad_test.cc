// Pad, tile, repeat, roll, concat and split: GPU results against the CPU's, and against the definitions.
#include "weft/kernels/pad.h"
#include "cpu/executor.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"

namespace weft::test {
namespace {

using kernels::PadMode;

constexpr DType kAll[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8,     DType::i16,     DType::i32,
                          DType::i64, DType::u8,  DType::u16,  DType::u32, DType::u64,    DType::boolean, DType::c64,
                          DType::i4,  DType::u4,  DType::i2,   DType::u2,  DType::f8e4m3, DType::f8e5m2};
constexpr PadMode kModes[] = {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::symmetric, PadMode::wrap};

class Pad : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
  Rng rng{11};
};
INSTANTIATE_TEST_SUITE_P(Devices, Pad, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

using Numbers = std::vector<std::int64_t>;

// Sizes and shifts for an output around `x`.
Problem random_pad(Rng& rng) {
  const PadMode mode = pick(rng, kModes);
  const DType type = pick(rng, kAll);
  const bool empty_too = mode == PadMode::constant;
  const Shape from = random_shape(rng, 0, 8, 1500, empty_too);
  Shape to;
  Numbers before;
  for (const std::int64_t n : from) {
    const bool same = rng() % 2;
    before.push_back(same ? 0 : random_int(rng.details(), -3, 5));
    to.push_back(same ? n : std::max<std::int64_t>(n + before.back() + random_int(rng.details(), -2, 4), 0));
  }
  while (element_count(to) > 20000) *std::ranges::max_element(to) = 2;
  const View x = random_view(rng, from, type, random_input_kind(rng), Values::special);
  const View y = random_view(rng, to, type, random_output_kind(rng));
  return {std::format("mode {} {} to {} before {}", static_cast<int>(mode), to_string(x), to_string(y),
                      testing::PrintToString(before)),
          {x},
          {y},
          [=](Stream& s, auto in, auto out) { kernels::pad(s, in[0], out[0], before, mode, -3); },
          kSameBits};
}

Problem random_multiple(Rng& rng, bool tiles) {
  const DType type = pick(rng, kAll);
  const Shape from = random_shape(rng, 0, 8, 600);
  Shape to = from;
  for (auto& n : to) n *= rng() % 2 ? 1 : random_int(rng.details(), 0, 4);
  while (element_count(to) > 20000) to = from;
  const View x = random_view(rng, from, type, random_input_kind(rng), Values::special);
  const View y = random_view(rng, to, type, random_output_kind(rng));
  return {std::format("{} to {}", to_string(x), to_string(y)),
          {x},
          {y},
          [=](Stream& s, auto in, auto out) {
            if (tiles)
              kernels::tile(s, in[0], out[0]);
            else
              kernels::repeat(s, in[0], out[0]);
          },
          kSameBits};
}

Problem random_roll(Rng& rng) {
  const DType type = pick(rng, kAll);
  const Shape shape = random_shape(rng);
  Numbers shifts;
  for (int d = 0; d < shape.rank(); ++d) shifts.push_back(rng() % 2 ? 0 : random_int(rng.details(), -70, 70));
  const View x = random_view(rng, shape, type, random_input_kind(rng), Values::special);
  const View y = random_view(rng, shape, type, random_output_kind(rng));
  return {std::format("{} to {} by {}", to_string(x), to_string(y), testing::PrintToString(shifts)),
          {x},
          {y},
          [=](Stream& s, auto in, auto out) { kernels::roll(s, in[0], out[0], shifts); },
          kSameBits};
}

// A tensor and its pieces along an axis.
Problem random_parts(Rng& rng, bool joins) {
  const DType type = pick(rng, kAll);
  Shape shape = random_shape(rng, 1, 8, 1500);
  const int axis = random_int(rng, 0, shape.rank() - 1);
  Shape whole = shape;
  whole[axis] = 0;
  std::vector<View> parts;
  for (int i = random_int(rng, 1, 4); i > 0; --i) {
    shape[axis] = random_int(rng.details(), 0, 5);
    whole[axis] += shape[axis];
    const Kind kind = joins ? random_input_kind(rng) : random_output_kind(rng);
    parts.push_back(random_view(rng, shape, type, kind, Values::special));
  }
  const Kind kind = joins ? random_output_kind(rng) : random_input_kind(rng);
  const View all = random_view(rng, whole, type, kind, Values::special);
  const std::string what = std::format("{} parts of {} along {}", parts.size(), to_string(all), axis);
  if (joins) {
    return {what, parts, {all}, [=](Stream& s, auto in, auto out) { kernels::concat(s, in, out[0], axis); }, kSameBits};
  }
  return {what, {all}, parts, [=](Stream& s, auto in, auto out) { kernels::split(s, in[0], out, axis); }, kSameBits};
}

const bool registered =
    differential("pad", random_pad) && differential("roll", random_roll) &&
    differential("tile", [](Rng& rng) { return random_multiple(rng, true); }) &&
    differential("repeat", [](Rng& rng) { return random_multiple(rng, false); }) &&
    differential("concat", [](Rng& rng) { return random_parts(rng, true); }) &&
    differential("split", [](Rng& rng) { return random_parts(rng, false); }) &&
    differential("masked_copy", [](Rng& rng) {
      const DType type = pick(rng, kAll);
      const Shape shape = random_shape(rng);
      const View mask =
          random_view(rng, random_broadcast(rng, shape), DType::boolean, random_input_kind(rng), Values::special);
      const View x = random_view(rng, random_broadcast(rng, shape), type, random_input_kind(rng), Values::special);
      const View y = random_view(rng, shape, type, random_output_kind(rng), Values::special);
      return Problem{std::format("{} of {} to {}", to_string(mask), to_string(x), to_string(y)),
                     {mask, x},
                     {y},
                     [](Stream& s, auto in, auto out) { kernels::masked_copy(s, in[0], in[1], out[0]); },
                     kSameBits};
    });

// A last axis of two elements, while a thread writes four: Mesa's OpenGL ES missed the end of the row.
TEST_P(Pad, RowsShorterThanAThreadsElements) {
  for (PadMode mode : kModes) {
    const View x = random_view(rng, {4, 3, 4, 3, 4, 2}, DType::i32),
               y = random_view(rng, {4, 3, 11, 3, 4, 2}, DType::i32, Kind::sliced);
    run_both(
        device(), {{x}}, {{y}},
        [&](Stream& s, auto in, auto out) { kernels::pad(s, in[0], out[0], Numbers{0, 0, 4, 0, 0, 0}, mode, 7); },
        kSameBits, std::format("mode {}", static_cast<int>(mode)));
  }
}

// Rows at any offset within a vec4, of types that share words.
TEST_P(Pad, RowsOfManyLengths) {
  for (DType type : {DType::f32, DType::f16, DType::u8, DType::i64, DType::u4}) {
    for (std::int64_t columns : {1, 3, 4, 30, 32, 33, 64}) {
      for (PadMode mode : kModes) {
        for (const auto& [left, right] : {std::pair{0, 0}, {1, 2}, {4, 4}, {3, 1}, {-1, 2}}) {
          const std::int64_t n = std::max<std::int64_t>(columns + left + right, 0);
          const View x = random_view(rng, {3, 5, columns}, type);
          const View y = random_view(rng, {3, 7, n}, type, rng() % 2 ? Kind::dense : Kind::offset);
          const Numbers before{0, 1, left};
          run_both(
              device(), {{x}}, {{y}},
              [&](Stream& s, auto in, auto out) { kernels::pad(s, in[0], out[0], before, mode, 7); }, kSameBits,
              std::format("{} mode {} {} columns {} {}", name(type), static_cast<int>(mode), columns, left, right));
        }
      }
    }
  }
}

// Rows of x that are long enough to be read once and stored to all their places.
TEST_P(Pad, LongRowsTiledAndRepeated) {
  for (DType type : {DType::f32, DType::f16, DType::u8}) {
    for (const Shape& shape : {Shape{6, 1024}, {3, 2048}, {12, 512}, {30, 512}, {3, 4096}, {6, 8192}}) {
      for (const bool tiles : {true, false}) {
        const View x = random_view(rng, {3, 512}, type), y = random_view(rng, shape, type);
        run_both(
            device(), {{x}}, {{y}},
            [&](Stream& s, auto in, auto out) { (tiles ? kernels::tile : kernels::repeat)(s, in[0], out[0]); },
            kSameBits, std::format("tiles {} {} to {}", tiles, name(type), to_string(shape)));
      }
    }
  }
}

std::vector<double> padded(PadMode mode, std::int64_t before, std::int64_t size) {
  cpu::Executor executor;
  const View x = host_view(DType::i32, {4}, std::vector<double>{0, 1, 2, 3});
  const View y = host_view(DType::i32, {size}, std::vector<double>(static_cast<std::size_t>(size)));
  kernels::pad(executor, x, y, Numbers{before}, mode, 9);
  return values(y);
}

// The results of numpy.pad.
TEST(PadReference, Modes) {
  using testing::ElementsAre;
  EXPECT_THAT(padded(PadMode::constant, 2, 8), ElementsAre(9, 9, 0, 1, 2, 3, 9, 9));
  EXPECT_THAT(padded(PadMode::edge, 2, 8), ElementsAre(0, 0, 0, 1, 2, 3, 3, 3));
  EXPECT_THAT(padded(PadMode::reflect, 5, 14), ElementsAre(1, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1, 2));
  EXPECT_THAT(padded(PadMode::symmetric, 5, 12), ElementsAre(3, 3, 2, 1, 0, 0, 1, 2, 3, 3, 2, 1));
  EXPECT_THAT(padded(PadMode::wrap, 5, 11), ElementsAre(3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1));
  EXPECT_THAT(padded(PadMode::edge, -1, 2), ElementsAre(1, 2));
}

TEST(PadReference, TileRepeatRoll) {
  cpu::Executor executor;
  const View x = host_view(DType::f32, {2, 2}, std::vector<double>{1, 2, 3, 4});
  const View y = host_view(DType::f32, {2, 4}, std::vector<double>(8));
  kernels::tile(executor, x, y);
  EXPECT_THAT(values(y), testing::ElementsAre(1, 2, 1, 2, 3, 4, 3, 4));
  kernels::repeat(executor, x, y);
  EXPECT_THAT(values(y), testing::ElementsAre(1, 1, 2, 2, 3, 3, 4, 4));
  const View z = host_view(DType::f32, {2, 4}, std::vector<double>(8));
  kernels::roll(executor, y, z, Numbers{-3, 5});
  EXPECT_THAT(values(z), testing::ElementsAre(4, 3, 3, 4, 2, 1, 1, 2));
}

TEST(Slice, AsPythonDoes) {
  const View x = host_view(DType::i32, {6}, std::vector<double>{0, 1, 2, 3, 4, 5});
  using kernels::kToEnd;
  const auto part = [&](std::int64_t begin, std::int64_t end, std::int64_t step) {
    return values(kernels::slice(x, 0, begin, end, step));
  };
  using testing::ElementsAre;
  EXPECT_THAT(part(1, 4, 1), ElementsAre(1, 2, 3));
  EXPECT_THAT(part(-2, kToEnd, 1), ElementsAre(4, 5));
  EXPECT_THAT(part(0, kToEnd, 4), ElementsAre(0, 4));
  EXPECT_THAT(part(5, kToEnd, -1), ElementsAre(5, 4, 3, 2, 1, 0));
  EXPECT_THAT(part(kToEnd, kToEnd, -2), ElementsAre(5, 3, 1));
  EXPECT_THAT(part(-1, -4, -1), ElementsAre(5, 4, 3));
  EXPECT_THAT(part(100, -100, -5), ElementsAre(5, 0));
  EXPECT_THAT(part(-100, 2, 1), ElementsAre(0, 1));
  EXPECT_THAT(part(4, 2, 1), ElementsAre());
  EXPECT_THROW(part(0, 1, 0), InvalidArgument);
  const View packed = host_view(DType::u4, {6}, std::vector<double>(6));
  EXPECT_THROW(kernels::slice(packed, 0, 1), Unsupported);
}

TEST_P(Pad, Refusals) {
  gpu::Encoder encoder(device());
  const auto view = [&](const Shape& shape, DType type = DType::f32) {
    return to_device(device(), random_view(rng, shape, type));
  };
  EXPECT_THROW(kernels::pad(encoder, view({4}), view({6}), Numbers{}), InvalidArgument);
  EXPECT_THROW(kernels::pad(encoder, view({4}), view({6}, DType::f16), Numbers{1}), InvalidArgument);
  EXPECT_THROW(kernels::pad(encoder, view({0}), view({6}), Numbers{1}, PadMode::edge), InvalidArgument);
  for (const PadMode mode : {PadMode::edge, PadMode::reflect, PadMode::symmetric, PadMode::wrap}) {
    // Also where y is empty along another axis.
    EXPECT_THROW(kernels::pad(encoder, view({1, 0}), view({0, 3}), Numbers{0, 1}, mode), InvalidArgument);
    EXPECT_NO_THROW(kernels::pad(encoder, view({1, 0}), view({3, 0}), Numbers{1, 0}, mode));
  }
  EXPECT_NO_THROW(kernels::pad(encoder, view({1, 0}), view({0, 3}), Numbers{0, 1}));
  EXPECT_THROW(kernels::tile(encoder, view({4}), view({6})), InvalidArgument);
  EXPECT_THROW(kernels::repeat(encoder, view({4}), view({2, 4})), InvalidArgument);
  EXPECT_THROW(kernels::roll(encoder, view({4}), view({4}), Numbers{1, 2}), InvalidArgument);
  const View parts[] = {view({2, 3}), view({2, 4})};
  EXPECT_THROW(kernels::concat(encoder, parts, view({2, 8}), 1), InvalidArgument);
  EXPECT_THROW(kernels::concat(encoder, parts, view({3, 7}), 1), InvalidArgument);
  EXPECT_THROW(kernels::split(encoder, view({2, 7}), parts, 0), InvalidArgument);
}

// Tensors that exceed a binding.
using PadChunks = ChunksTest;

TEST_F(PadChunks, PadRollTileRepeat) {
  using kernels::PadMode;
  using Numbers = std::vector<std::int64_t>;
  for (const auto& [type, kind] : {std::pair{DType::f32, Kind::reversed},
                                   {DType::f16, Kind::dense},
                                   {DType::u8, Kind::transposed},
                                   {DType::i64, Kind::dense},
                                   {DType::u4, Kind::dense}}) {
    const View x = random_view(rng, {300, 240}, type, kind),
               y = random_view(rng, {320, 250}, type, rng() % 2 ? Kind::dense : Kind::offset);
    for (const PadMode mode : {PadMode::constant, PadMode::edge, PadMode::reflect, PadMode::symmetric, PadMode::wrap}) {
      both(
          {x}, {y}, [&](Stream& s, auto in, auto out) { kernels::pad(s, in[0], out[0], Numbers{13, 5}, mode, 3); },
          kSameBits);
    }
    both(
        {x}, {random_view(rng, {300, 240}, type)},
        [](Stream& s, auto in, auto out) { kernels::roll(s, in[0], out[0], Numbers{-17, 101}); }, kSameBits);
    both(
        {x}, {random_view(rng, {600, 240}, type)},
        [](Stream& s, auto in, auto out) { kernels::tile(s, in[0], out[0]); }, kSameBits);
    both(
        {x}, {random_view(rng, {900, 480}, type)},
        [](Stream& s, auto in, auto out) { kernels::repeat(s, in[0], out[0]); }, kSameBits);
  }
  // One row that exceeds a binding, to a tiny tensor and back.
  const View x = random_view(rng, {1, 100000}, DType::f32);
  both(
      {x}, {random_view(rng, {1, 300}, DType::f32)},
      [](Stream& s, auto in, auto out) { kernels::pad(s, in[0], out[0], Numbers{0, -70001}, PadMode::constant, 0); },
      kSameBits);
  both(
      {random_view(rng, {1, 3}, DType::f32)}, {x},
      [](Stream& s, auto in, auto out) { kernels::pad(s, in[0], out[0], Numbers{0, 99990}, PadMode::reflect); },
      kSameBits);
}

}  // namespace
}  // namespace weft::test
