// Copies, casts and fills on a GPU against the CPU.
#include "kernels/copy/copy.h"
#include "kernels/common/bits.h"
#include "kernels/device_math.h"
#include "support/chunks.h"
#include "support/differential.h"
#include "weft/error.h"
#include "weft/kernels/copy.h"
#include "weft/kernels/elementwise.h"
#include "weft/kernels/index.h"
#include "weft/small_float.h"

namespace weft::test {
namespace {

constexpr DType kAll[] = {DType::f32, DType::f16, DType::bf16, DType::f64, DType::i8,     DType::i16,     DType::i32,
                          DType::i64, DType::u8,  DType::u16,  DType::u32, DType::u64,    DType::boolean, DType::c64,
                          DType::i4,  DType::u4,  DType::i2,   DType::u2,  DType::f8e4m3, DType::f8e5m2};

class Copy : public testing::TestWithParam<std::string> {
 protected:
  gpu::Device& device() { return test::device(GetParam()); }
  void copy(const View& x, const View& y, const Tolerance& tolerance, const std::string& what) {
    run_both(
        device(), {{x}}, {{y}}, [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }, tolerance, what);
  }
  Rng rng{7};
};
INSTANTIATE_TEST_SUITE_P(Devices, Copy, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

// Compares the copied bits with the source, not only with the CPU's result.
void expect_moved(const View& x, const View& y, const std::string& what) {
  const Layout from = x.layout.broadcast_to(y.shape());
  expect_close(y, x.with_layout(from), kSameBits, what);
}

TEST_P(Copy, KeepsBitsOfEveryType) {
  for (DType type : kAll) {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{33}, Shape{64}, Shape{6, 20}, Shape{3, 4, 5}}) {
      for (Kind kind : {Kind::dense, Kind::offset, Kind::transposed}) {
        const View x = random_view(rng, shape, type, kind, Values::special);
        const View y = random_view(rng, shape, type, rng() % 2 ? Kind::dense : Kind::offset);
        const std::string what = std::format("{} {} {}", name(type), to_string(shape), to_string(kind));
        copy(x, y, kSameBits, what);
        expect_moved(x, y, what);
      }
    }
  }
}

TEST_P(Copy, HalvesArePackedByIntegersOnAMinimumDevice) {
  const auto packing = kernels::f16_packing(device());
  EXPECT_TRUE(packing.empty() || !device().capabilities().minimum);
  EXPECT_EQ(kernels::f16_packing(device()), packing);
}

const bool copies = differential("copy", [](Rng& rng) {
  const Shape shape = random_shape(rng);
  const DType from = pick(rng, kAll);
  const DType to = rng() % 3 == 0 ? from : pick(rng, kAll);
  const bool same = from == to;
  const View x = random_view(rng, random_broadcast(rng, shape), from, random_input_kind(rng), Values::special);
  const View y = random_view(rng, shape, to, random_output_kind(rng));
  return Problem{std::format("{} to {}", to_string(x), to_string(y)),
                 {x},
                 {y},
                 [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); },
                 same ? kSameBits : Tolerance{}};
});

const bool fills = differential("fill", [](Rng& rng) {
  const View y = random_view(rng, random_shape(rng), pick(rng, kAll), random_output_kind(rng));
  const double v = value(random_view(rng.details(), {1}, DType::f64, Kind::dense, Values::special), 0);
  return Problem{std::format("{} with {}", to_string(y), v),
                 {},
                 {y},
                 [v](Stream& s, auto, auto out) { kernels::fill(s, v, out[0]); },
                 kSameBits};
});

TEST_P(Copy, AllLayouts) {
  const Shape shapes[] = {
      {7}, {1, 1}, {5, 8}, {16, 32}, {3, 5, 7}, {4, 8, 12}, {2, 3, 4, 5}, {2, 1, 3, 2, 4}, {2, 2, 2, 2, 2, 2, 2, 2}};
  for (DType type : {DType::f32, DType::f16, DType::u8, DType::f64, DType::u4}) {
    for (const Shape& shape : shapes) {
      for (Kind from : kInputKinds) {
        for (Kind to : kOutputKinds) {
          if (type != DType::f32 && rng() % 3) continue;
          const View x = random_view(rng, shape, type, from);
          const View y = random_view(rng, shape, type, to);
          const std::string what =
              std::format("{} {} {} to {}", name(type), to_string(shape), to_string(from), to_string(to));
          copy(x, y, kSameBits, what);
          expect_moved(x, y, what);
        }
      }
    }
  }
}

TEST_P(Copy, TransposesOfManySizes) {
  for (DType type : {DType::f32, DType::f16, DType::u8, DType::c64}) {
    for (const Shape& shape : {Shape{8, 8}, Shape{64, 64}, Shape{65, 33}, Shape{128, 72}, Shape{9, 200},
                               Shape{3, 40, 68}, Shape{2, 36, 3, 44}, Shape{48, 3, 44}, Shape{160, 132}}) {
      for (const Kind to : {Kind::dense, Kind::offset}) {
        const View x = random_view(rng, shape, type, Kind::transposed);
        const View y = random_view(rng, shape, type, to);
        const std::string what = std::format("{} {} {}", name(type), to_string(shape), to_string(to));
        copy(x, y, kSameBits, what);
        expect_moved(x, y, what);
      }
    }
  }
}

// Images to channels last, and matrices, of rows at any offset within a word; elements around the outputs are
// unchanged.
TEST_P(Copy, TransposesOfRowsThatBeginAnywhere) {
  for (DType type : {DType::f32, DType::bf16, DType::i8, DType::c64}) {
    for (const Shape& shape : {Shape{3, 3, 1001}, Shape{2, 4, 700}, Shape{2, 7, 65}, Shape{3, 2, 2049},
                               Shape{2, 5, 2730}, Shape{2, 131, 67}, Shape{3, 63, 129}, Shape{2, 8, 301}}) {
      for (const bool cut : {false, true}) {
        const auto inner = [&](View v) {  // a slice begins and ends within rows of another length
          return cut ? kernels::slice(kernels::slice(v, 2, 1, -2), 1, 0, -1) : v;
        };
        Shape wide = shape;
        if (cut) wide[1] += 1, wide[2] += 3;
        const View x = inner(random_view(rng, wide, type, Kind::offset)).permuted(std::array{0, 2, 1});
        const View y = random_view(rng, x.shape(), type, Kind::offset);
        const std::string what = std::format("{} {}{}", name(type), to_string(shape), cut ? " cut" : "");
        copy(x, y, kSameBits, what);
        expect_moved(x, y, what);
        // Through tiles, unless most of their elements would be unused.
        if (type == DType::c64 || x.shape()[1] * x.shape()[2] < 2048) continue;
        gpu::Encoder encoder(device());
        const View from = kernels::as_unsigned(to_device(device(), x)), to = to_device(device(), y);
        EXPECT_TRUE(kernels::transpose_gpu(encoder, from, kernels::as_unsigned(to))) << what;
      }
    }
  }
}

TEST_P(Copy, CastsBetweenAllTypes) {
  for (DType from : kAll) {
    for (DType to : kAll) {
      if (from == to || from == DType::c64 || to == DType::c64 || from == DType::f64 || to == DType::f64) continue;
      const bool packed = bits(from) < 8 || bits(to) < 8;
      if (packed && from != DType::f32 && to != DType::f32 && from != DType::i8 && to != DType::i8) continue;
      // All pairs on the first device; the pipelines are the same on the others, so some of the pairs are enough there.
      if (GetParam() != devices()[0].name && rng() % 4) continue;
      const View x = random_view(rng, {203}, from, Kind::dense, Values::special);
      const View y = random_view(rng, {203}, to);
      // Both sides round once, to nearest even: the same bits, except for a flushed denormal.
      copy(x, y, {}, std::format("{} to {}", name(from), name(to)));
    }
  }
}

// Integers that f32 cannot hold, near the midpoints between two numbers of bf16, are rounded once. (Such integers are
// out of range for f16 and the 8-bit types.)
TEST_P(Copy, WideIntegersRoundOnce) {
  const auto nearest = [](long double v) {
    const auto guess = bfloat16(static_cast<float>(v)).bits;
    std::uint16_t best = guess;
    for (const int step : {-1, 1}) {
      const auto other = static_cast<std::uint16_t>(guess + step);
      const auto error = [&](std::uint16_t b) {
        return std::abs(static_cast<long double>(static_cast<float>(bfloat16::from_bits(b))) - v);
      };
      if (error(other) < error(best) || (error(other) == error(best) && other % 2 == 0)) best = other;
    }
    return best;
  };
  for (const DType from : {DType::i32, DType::u32, DType::i64, DType::u64}) {
    std::vector<std::uint64_t> numbers;
    for (int top = 24; top < bits(from) - (is_signed(from) ? 1 : 0); ++top) {
      for (const std::uint64_t odd : {1, 77, 99, 255}) {
        const std::uint64_t middle = (256 + odd) << (top - 8);
        for (const std::uint64_t v : {middle - 1, middle, middle + 1, middle - 3, middle + 5}) {
          numbers.push_back(v);
          if (is_signed(from)) numbers.push_back(0 - v);
        }
      }
    }
    const auto n = static_cast<std::int64_t>(numbers.size());
    const View x = random_view(rng, {n}, from), y = random_view(rng, {n}, DType::bf16);
    for (std::int64_t i = 0; i < n; ++i) set_element_bits(x, i, numbers[i]);
    copy(x, y, kSameBits, std::string(name(from)));
    for (std::int64_t i = 0; i < n; ++i) {
      const auto exact = is_signed(from) ? static_cast<long double>(static_cast<std::int64_t>(numbers[i]))
                                         : static_cast<long double>(numbers[i]);
      EXPECT_EQ(element_bits(y, i), nearest(exact)) << name(from) << " " << static_cast<double>(exact);
    }
    // The same where computing continues with the result.
    Expression e;
    e.output(e.apply(ScalarOp::neg, {e.cast(e.input(from), DType::bf16)}));
    const View negative = random_view(rng, {n}, DType::bf16);
    run_both(
        device(), {{x}}, {{negative}}, [&](Stream& s, auto in, auto out) { kernels::map(s, e, in, out); }, kSameBits,
        std::string(name(from)));
    for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(element_bits(negative, i), element_bits(y, i) ^ 0x8000u);
  }
}

TEST_P(Copy, Fill) {
  for (DType type : kAll) {
    for (double v : {0.0, 1.0, -2.5, 1e10, static_cast<double>(NAN)}) {
      for (const Shape& shape : {Shape{}, Shape{13}, Shape{16, 8}, Shape{0}}) {
        const View y = random_view(rng, shape, type, rng() % 2 ? Kind::offset : Kind::transposed);
        run_both(
            device(), {}, {{y}}, [v](Stream& s, auto, auto out) { kernels::fill(s, v, out[0]); }, kSameBits,
            std::format("{} in {} {}", v, name(type), to_string(shape)));
        if (type == DType::i8 && v == -2.5 && y.count()) {
          EXPECT_EQ(value(y, 0), -2);
        }
        if (type == DType::u8 && v == 1e10 && y.count()) {
          EXPECT_EQ(value(y, 0), 255);
        }
        if (type == DType::c64 && v == 1 && y.count()) {
          EXPECT_EQ(element_bits(y, 0), 0x3f800000u);
        }
      }
    }
  }
}

// A reversed packed view whose lowest element is the upper half of the last byte before a binding's alignment.
TEST_P(Copy, PackedElementsJustBelowABindingsAlignment) {
  const View x = random_view(rng, {90}, DType::u4);
  const View y(Buffer::host(512), 300, DType::u4, {90}, {-1});
  copy(x, y, kSameBits, "to reversed");
  copy(y, x, kSameBits, "from reversed");
}

TEST_P(Copy, Refusals) {
  gpu::Encoder encoder(device());
  const View a = to_device(device(), random_view(rng, {4}, DType::f32));
  const View b = to_device(device(), random_view(rng, {5}, DType::f32));
  EXPECT_THROW(kernels::copy(encoder, a, b), InvalidArgument);
}

class Gather : public Copy {};
INSTANTIATE_TEST_SUITE_P(Devices, Gather, testing::ValuesIn(device_names()), [](const auto& i) { return i.param; });

TEST_P(Gather, EveryAxisTypeAndLayout) {
  const struct {
    Shape x, indices;
  } cases[] = {{{10}, {7}},      {{10}, {}},
               {{30, 16}, {5}},  {{30, 16}, {2, 3}},
               {{4, 9, 8}, {6}}, {{3, 5, 2, 4}, {2, 2}},
               {{6, 1, 5}, {1}}, {{2, 3, 2, 2, 2}, {2, 1, 2, 2}}};
  const DType indices_types[] = {DType::i64, DType::i32, DType::u8, DType::i8, DType::u32, DType::u64, DType::i16};
  for (DType type : {DType::f32, DType::f16, DType::u8, DType::f64, DType::c64, DType::u4}) {
    for (const auto& c : cases) {
      for (int axis = 0; axis < c.x.rank(); ++axis) {
        Shape shape = c.x;
        shape.erase(axis);
        for (int k = 0; k < c.indices.rank(); ++k) shape.insert(axis + k, c.indices[k]);
        const View x = random_view(rng, c.x, type, kInputKinds[rng() % 6], Values::special);
        const View y = random_view(rng, shape, type, kOutputKinds[rng() % 5]);
        const DType index_type = indices_types[rng() % std::size(indices_types)];
        const View indices = random_view(rng, c.indices, index_type, kInputKinds[rng() % 6]);
        // Most are in range, some count from the end, some are outside.
        for (std::int64_t i = 0; i < indices.count(); ++i) {
          const std::int64_t n = c.x[axis];
          const std::int64_t v = rng() % 8 == 0
                                     ? (is_signed(index_type) ? -100 + 200 * static_cast<int>(rng() % 2) : 120)
                                     : static_cast<std::int64_t>(rng() % (2 * n)) - (is_signed(index_type) ? n : 0);
          set_element_bits(indices, i, static_cast<std::uint64_t>(v));
        }
        const View in[] = {x, indices};
        const std::string what =
            std::format("{} axis {} indices {} to {}", to_string(x), axis, to_string(indices), to_string(y));
        run_both(
            device(), in, {{y}},
            [axis](Stream& s, auto i, auto o) { kernels::gather(s, i[0], i[1], o[0], axis - i[0].rank()); }, kSameBits,
            what);
        // Against the definition.
        for (std::int64_t i = 0; i < y.count(); ++i) {
          std::int64_t rest = i;
          Dims at = Dims::filled(shape.rank(), 0);
          for (int d = shape.rank() - 1; d >= 0; --d) {
            at[d] = rest % shape[d];
            rest /= shape[d];
          }
          std::int64_t flat = 0;
          for (int k = 0; k < c.indices.rank(); ++k) flat = flat * c.indices[k] + at[axis + k];
          auto index = static_cast<std::int64_t>(value(indices, flat));
          if (index < 0) index += c.x[axis];
          index = std::clamp<std::int64_t>(index, 0, c.x[axis] - 1);
          std::int64_t from = 0;
          for (int d = 0, k = 0; d < c.x.rank(); ++d) {
            from = from * c.x[d] + (d == axis ? index : at[k]);
            k += d == axis ? c.indices.rank() : 1;
          }
          ASSERT_EQ(element_bits(y, i), element_bits(x, from)) << what << " element " << i;
        }
      }
    }
  }
}

TEST_P(Gather, HugeIndicesAreClamped) {
  const View x = random_view(rng, {50}, DType::f32);
  const View indices = random_view(rng, {6}, DType::i64);
  const std::int64_t v[] = {std::int64_t{1} << 40,
                            -(std::int64_t{1} << 40),
                            (std::int64_t{1} << 32) + 3,
                            -(std::int64_t{1} << 32) - 3,
                            INT64_MAX,
                            INT64_MIN};
  for (int i = 0; i < 6; ++i) set_element_bits(indices, i, static_cast<std::uint64_t>(v[i]));
  const View y = random_view(rng, {6}, DType::f32);
  const View in[] = {x, indices};
  run_both(device(), in, {{y}}, [](Stream& s, auto i, auto o) { kernels::gather(s, i[0], i[1], o[0], 0); }, kSameBits);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(element_bits(y, i), element_bits(x, v[i] > 0 ? 49 : 0));
}

TEST_P(Gather, Refusals) {
  gpu::Encoder encoder(device());
  auto view = [&](const Shape& shape, DType type) { return to_device(device(), random_view(rng, shape, type)); };
  const View x = view({4, 5}, DType::f32);
  EXPECT_THROW(kernels::gather(encoder, x, view({3}, DType::f32), view({3, 5}, DType::f32), 0), InvalidArgument);
  EXPECT_THROW(kernels::gather(encoder, x, view({3}, DType::i32), view({3, 4}, DType::f32), 0), InvalidArgument);
  EXPECT_THROW(kernels::gather(encoder, x, view({3}, DType::i32), view({3, 5}, DType::f16), 0), InvalidArgument);
  EXPECT_THROW(kernels::gather(encoder, x, view({3}, DType::i32), view({3, 5}, DType::f32), 2), InvalidArgument);
  EXPECT_THROW(kernels::gather(encoder, view({0, 5}, DType::f32), view({3}, DType::i32), view({3, 5}, DType::f32), 0),
               InvalidArgument);
}

// Tensors that exceed a binding.
using CopyChunks = ChunksTest;

TEST_F(CopyChunks, TypesCastsAndFill) {
  for (const DType type : {DType::f16, DType::i8, DType::u64, DType::u4}) {
    const View x = random_view(rng, {200000}, type), y = random_view(rng, {200000}, type);
    both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }, kSameBits);
    both({}, {y}, [](Stream& s, auto, auto out) { kernels::fill(s, 3, out[0]); }, kSameBits);
  }
  const View x = random_view(rng, {300, 200}, DType::i16), y = random_view(rng, {300, 200}, DType::f32);
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }, {});
}

TEST_F(CopyChunks, Transposition) {
  const View x = random_view(rng, {3, 260, 140}, DType::f32, Kind::transposed),
             y = random_view(rng, {3, 260, 140}, DType::f32);
  both({x}, {y}, [](Stream& s, auto in, auto out) { kernels::copy(s, in[0], out[0]); }, kSameBits);
}

}  // namespace
}  // namespace weft::test
