// Random matrices of quantised weights, in every scheme: their elements are small multiples of powers of two, so that
// products with small integers are exact in f32, in any order.
#pragma once

#include <cstring>

#include "kernels/operands.h"
#include "kernels/quantized/blocks.h"
#include "support/differential.h"
#include "weft/kernels/quantized.h"
#include "weft/small_float.h"

namespace weft::test {

struct RandomWeights {
  kernels::QuantizedFormat format;
  std::vector<View> views;  // values, and which of these there are:
  bool scales = false, zeros = false, groups = false;
  Shape shape;  // of the weights

  kernels::QuantizedMatrix matrix(std::span<const View> from) const {
    std::size_t next = 1;
    const auto maybe = [&](bool there) { return there ? std::optional(from[next++]) : std::nullopt; };
    kernels::QuantizedMatrix w{format, from[0]};
    w.scales = maybe(scales);
    w.zeros = maybe(zeros);
    w.groups = maybe(groups);
    return w;
  }
};

// Where a block's f16 scales are.
inline std::vector<int> halves_of(kernels::QuantizedScheme scheme) {
  using S = kernels::QuantizedScheme;
  switch (scheme) {
    case S::q4_1:
    case S::q5_1:
      return {0, 2};
    case S::q2_k:
      return {80, 82};
    case S::q3_k:
      return {108};
    case S::q4_k:
    case S::q5_k:
      return {0, 2};
    case S::q6_k:
      return {208};
    case S::tq1_0:
      return {52};
    case S::tq2_0:
      return {64};
    case S::ggml_mxfp4:
    case S::ggml_nvfp4:
    case S::iq1_m:
      return {};
    default:
      return {0};
  }
}

inline View random_bytes(Rng& rng, const Shape& shape, DType type) {
  const View view = random_view(rng, shape, type, Kind::dense);
  std::byte* const bytes = view.buffer.data() + view.offset;
  const std::uint64_t size = byte_size(type, static_cast<std::uint64_t>(view.count()));
  for (std::uint64_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(rng.details()() & 255);
  return view;
}

// Weights of that scheme with `leading` axes and about so many rows and columns.
inline RandomWeights random_weights(Rng& rng, kernels::QuantizedScheme scheme, const Shape& leading, std::int64_t rows,
                                    std::int64_t columns) {
  using S = kernels::QuantizedScheme;
  Rng& details = rng.details();
  RandomWeights w;
  w.format.scheme = scheme;
  const auto with = [&](std::initializer_list<std::int64_t> last) {
    Shape shape = leading;
    for (const std::int64_t size : last) shape.push_back(size);
    return shape;
  };
  const auto up = [](std::int64_t size, std::int64_t to) {
    return std::max<std::int64_t>(1, (size + to - 1) / to) * to;
  };
  constexpr DType kNumbers[] = {DType::f32, DType::f16, DType::bf16}, kWords[] = {DType::u32, DType::i32};
  const auto numbers = [&](const Shape& shape, DType type, bool halves) {
    const View view = random_view(rng, shape, type, Kind::dense);
    set_values(view, [&](std::int64_t) {
      return halves ? std::ldexp(1.0, random_int(details, -2, 0)) * (details() % 2 ? 1 : -1)
                    : random_int(details, -3, 3);
    });
    return view;
  };
  const auto add_scales = [&](const Shape& shape) {
    w.scales = true;
    w.views.push_back(numbers(shape, pick(rng, kNumbers), true));
  };
  switch (scheme) {
    case S::integers: {
      constexpr DType kTypes[] = {DType::i8, DType::u8, DType::i4, DType::u4, DType::i2, DType::u2};
      const DType type = pick(rng, kTypes);
      constexpr int kGroups[] = {0, 1, 4, 6, 16, 32}, kRows[] = {1, 1, 0, 2, 3};
      w.format.group = pick(rng, kGroups), w.format.group_rows = pick(rng, kRows);
      w.shape = with({rows, columns});
      w.views.push_back(random_bytes(rng, w.shape, type));
      const auto groups = [](std::int64_t size, std::int64_t group) {
        return group == 0 ? 1 : (size + group - 1) / group;
      };
      const Shape scales = with({groups(rows, w.format.group_rows), groups(columns, w.format.group)});
      add_scales(scales);
      if (rng() % 2) {
        w.zeros = true;
        w.views.push_back(random_bytes(rng, scales, type));
      }
      break;
    }
    case S::affine: {
      constexpr int kBits[] = {1, 2, 3, 4, 4, 5, 6, 8}, kGroups[] = {32, 64, 128};
      w.format.bits = pick(rng, kBits), w.format.group = pick(rng, kGroups);
      const std::int64_t n = up(columns, w.format.group);
      w.shape = with({rows, n});
      w.views.push_back(random_bytes(rng, with({rows, n * w.format.bits / 32}), pick(rng, kWords)));
      add_scales(with({rows, n / w.format.group}));
      w.zeros = true;
      w.views.push_back(numbers(w.views[1].shape(), w.views[1].dtype, false));
      break;
    }
    case S::mxfp4:
    case S::mxfp8:
    case S::nvfp4: {
      const int bits = scheme == S::mxfp8 ? 8 : 4, group = scheme == S::nvfp4 ? 16 : 32;
      const std::int64_t n = up(columns, 32);
      w.shape = with({rows, n});
      View values = random_bytes(rng, with({rows, n * bits / 32}), pick(rng, kWords));
      if (bits == 8) {
        // Numbers of few bits, and no NaN.
        std::byte* const bytes = values.buffer.data() + values.offset;
        for (std::int64_t i = 0; i < values.count() * 4; ++i) bytes[i] &= std::byte{0xb8};
      }
      w.views.push_back(values);
      const bool e4m3 = scheme == S::nvfp4;
      View scales =
          random_view(rng, with({rows, n / group}), e4m3 && rng() % 2 ? DType::f8e4m3 : DType::u8, Kind::dense);
      std::byte* const bytes = scales.buffer.data() + scales.offset;
      for (std::int64_t i = 0; i < scales.count(); ++i) {
        // 2^-1 to 2^1, of E4M3 of either sign.
        bytes[i] = static_cast<std::byte>(e4m3 ? (6 + details() % 3) << 3 | (details() % 2) << 7 : 126 + details() % 3);
      }
      w.scales = true;
      w.views.push_back(scales);
      break;
    }
    case S::nbits: {
      constexpr int kBits[] = {2, 3, 4, 4, 5, 6, 7, 8}, kGroups[] = {16, 32, 64, 128, 256, 512, 2048};
      w.format.bits = pick(rng, kBits), w.format.group = pick(rng, kGroups);
      const std::int64_t blocks = up(columns, w.format.group) / w.format.group;
      if (rng() % 2)
        w.format.columns = blocks * w.format.group - random_int(details, 0, static_cast<int>(w.format.group) - 1);
      w.shape = with({rows, w.format.columns ? w.format.columns : blocks * w.format.group});
      w.views.push_back(random_bytes(rng, with({rows, blocks, w.format.group * w.format.bits / 8}), DType::u8));
      add_scales(with({rows, blocks}));
      if (rng() % 3) {
        w.zeros = true;
        w.views.push_back(rng() % 2 ? random_bytes(rng, with({rows, (blocks * w.format.bits + 7) / 8}), DType::u8)
                                    : numbers(w.views[1].shape(), w.views[1].dtype, false));
      }
      break;
    }
    case S::gptq:
    case S::gptq_v2: {
      constexpr int kBits[] = {2, 3, 4, 4, 8}, kGroups[] = {16, 32, 40, 128};
      w.format.bits = pick(rng, kBits), w.format.group = pick(rng, kGroups);
      const std::int64_t k = up(rows, 32);
      w.shape = with({k, columns});
      w.views.push_back(random_bytes(rng, with({k * w.format.bits / 32, columns}), pick(rng, kWords)));
      const std::int64_t groups = (k + w.format.group - 1) / w.format.group;
      add_scales(with({groups, columns}));
      if (rng() % 4) {
        w.zeros = true;
        w.views.push_back(random_bytes(rng, with({groups, (columns * w.format.bits + 31) / 32}), pick(rng, kWords)));
      }
      if (rng() % 2) {
        w.groups = true;
        w.views.push_back(random_view(rng, with({k}), pick(rng, kWords), Kind::dense));
        set_values(w.views.back(), [&](std::int64_t) { return random_int(details, 0, static_cast<int>(groups)); });
      }
      break;
    }
    case S::awq: {
      constexpr int kGroups[] = {16, 32, 40, 128};
      w.format.group = pick(rng, kGroups);
      const std::int64_t n = up(columns, 8), groups = (rows + w.format.group - 1) / w.format.group;
      w.shape = with({rows, n});
      w.views.push_back(random_bytes(rng, with({rows, n / 8}), pick(rng, kWords)));
      add_scales(with({groups, n}));
      w.zeros = true;
      w.views.push_back(random_bytes(rng, with({groups, n / 8}), pick(rng, kWords)));
      break;
    }
    default: {
      const kernels::BlockFormat& blocks = kernels::block_format(scheme);
      const std::int64_t n = up(columns, blocks.elements);
      w.shape = with({rows, n});
      w.views.push_back(random_bytes(rng, with({rows, n / blocks.elements * blocks.bytes}), DType::u8));
      std::byte* block = w.views[0].buffer.data() + w.views[0].offset;
      for (std::int64_t i = 0; i < w.views[0].count(); i += blocks.bytes, block += blocks.bytes) {
        for (const int at : halves_of(scheme)) {
          const float16 half(std::ldexp(1.0f, random_int(details, -1, 0)));
          std::memcpy(block + at, &half, 2);
        }
        if (scheme == S::ggml_mxfp4) block[0] = static_cast<std::byte>(126 + details() % 3);
        // 2^-1 to 2^1; of iq1_m the f16 lies in half bytes.
        for (int k = 0; scheme == S::ggml_nvfp4 && k < 4; ++k)
          block[k] = static_cast<std::byte>((6 + details() % 3) << 3);
        if (scheme == S::iq1_m) {
          const std::uint32_t bits = float16(std::ldexp(1.0f, random_int(details, -1, 0))).bits;
          for (int k = 0; k < 4; ++k) {
            std::byte& high = block[49 + 2 * k];
            high = (high & std::byte{15}) | static_cast<std::byte>((bits >> (4 * k) & 15) << 4);
          }
        }
      }
    }
  }
  return w;
}

inline kernels::QuantizedScheme random_scheme(Rng& rng) {
  return static_cast<kernels::QuantizedScheme>(
      random_int(rng, 0, static_cast<int>(std::size(kernels::kQuantizedSchemes)) - 1));
}

}  // namespace weft::test
