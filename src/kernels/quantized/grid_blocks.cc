// The block formats of GGUF files whose codes are entries of codebooks: iq1, iq2 and iq3.
#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/quantized/block_parts.h"
#include "kernels/quantized/grids.h"

namespace weft::kernels {
namespace {

std::uint32_t word_at(Bytes at) {
  std::uint32_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}
int half_word(Bytes at) { return at[0] | at[1] << 8; }

// Seven signs are stored of eight: the last is that which makes the number of minuses even.
std::uint8_t eight_signs(std::uint32_t seven) {
  return static_cast<std::uint8_t>(seven | static_cast<std::uint32_t>(std::popcount(seven) & 1) << 7);
}

// What a format's block says: the scale of a run of 16 or 32 elements; of each 8 elements, or 4, which entry of the
// codebook they are, and their signs (or of iq1, whether an eighth comes off: else it is added).
struct Iq2Xxs {
  static constexpr int kBytes = 66, kRuns = 8, kOfEntry = 8;
  static constexpr Grid kGrid = Grid::iq2_xxs;
  static float scale(Bytes b, int run) {
    return half(b) * (0.5f + static_cast<float>(word_at(b + 6 + 8 * run) >> 28)) * 0.25f;
  }
  static int entry(Bytes b, int g) { return b[2 + g / 4 * 8 + g % 4]; }
  static std::uint8_t signs(Bytes b, int g) { return eight_signs(word_at(b + 6 + g / 4 * 8) >> (g % 4 * 7) & 127); }
};
struct Iq2Xs {
  static constexpr int kBytes = 74, kRuns = 16, kOfEntry = 8;
  static constexpr Grid kGrid = Grid::iq2_xs;
  static float scale(Bytes b, int run) {
    return half(b) * (0.5f + static_cast<float>(b[66 + run / 2] >> (run % 2 * 4) & 15)) * 0.25f;
  }
  static int entry(Bytes b, int g) { return half_word(b + 2 + 2 * g) & 511; }
  static std::uint8_t signs(Bytes b, int g) { return eight_signs(static_cast<std::uint32_t>(b[3 + 2 * g] >> 1)); }
};
struct Iq2S {
  static constexpr int kBytes = 82, kRuns = 16, kOfEntry = 8;
  static constexpr Grid kGrid = Grid::iq2_s;
  static float scale(Bytes b, int run) {
    return half(b) * (0.5f + static_cast<float>(b[74 + run / 2] >> (run % 2 * 4) & 15)) * 0.25f;
  }
  static int entry(Bytes b, int g) { return b[2 + g] | (b[66 + g / 4] >> (g % 4 * 2) & 3) << 8; }
  static std::uint8_t signs(Bytes b, int g) { return b[34 + g]; }
};
struct Iq3Xxs {
  static constexpr int kBytes = 98, kRuns = 8, kOfEntry = 4;
  static constexpr Grid kGrid = Grid::iq3_xxs;
  static float scale(Bytes b, int run) {
    return half(b) * (0.5f + static_cast<float>(word_at(b + 66 + 4 * run) >> 28)) * 0.5f;
  }
  static int entry(Bytes b, int g) { return b[2 + g]; }
  static std::uint8_t signs(Bytes b, int g) { return eight_signs(word_at(b + 66 + g / 4 * 4) >> (g % 4 * 7) & 127); }
};
struct Iq3S {
  static constexpr int kBytes = 110, kRuns = 8, kOfEntry = 4;
  static constexpr Grid kGrid = Grid::iq3_s;
  static float scale(Bytes b, int run) {
    return half(b) * static_cast<float>(1 + 2 * (b[106 + run / 2] >> (run % 2 * 4) & 15));
  }
  static int entry(Bytes b, int g) { return b[2 + g] | (b[66 + g / 8] >> (g % 8) & 1) << 8; }
  static std::uint8_t signs(Bytes b, int g) { return b[74 + g]; }
};
struct Iq1S {
  static constexpr int kBytes = 50, kRuns = 8, kOfEntry = 8;
  static constexpr Grid kGrid = Grid::iq1;
  static float scale(Bytes b, int run) {
    return half(b) * static_cast<float>(1 + 2 * (half_word(b + 34 + 2 * run) >> 12 & 7));
  }
  static int entry(Bytes b, int g) { return b[2 + g] | (half_word(b + 34 + g / 4 * 2) >> (g % 4 * 3) & 7) << 8; }
  static std::uint8_t signs(Bytes b, int g) { return b[35 + g / 4 * 2] >> 7; }
};
struct Iq1M {
  static constexpr int kBytes = 56, kRuns = 16, kOfEntry = 8;
  static constexpr Grid kGrid = Grid::iq1;
  static float scale(Bytes b, int run) {
    // The f16 lies in the high halves of bytes of the scales' four words.
    const std::uint8_t bits[2] = {static_cast<std::uint8_t>(b[49] >> 4 | (b[51] & 0xf0)),
                                  static_cast<std::uint8_t>(b[53] >> 4 | (b[55] & 0xf0))};
    return half(bits) * static_cast<float>(1 + 2 * (half_word(b + 48 + run / 4 * 2) >> (run % 4 * 3) & 7));
  }
  static int entry(Bytes b, int g) { return b[g] | (b[32 + g / 2] >> (g % 2 * 4) & 7) << 8; }
  static std::uint8_t signs(Bytes b, int g) { return b[32 + g / 2] >> (g % 2 * 4 + 3) & 1; }
};

template <class Format>
void decode(const std::byte* block, float* to) {
  const auto b = reinterpret_cast<Bytes>(block);
  for (int e = 0; e < 256; ++e) {
    const int g = Format::entry(b, e / Format::kOfEntry);
    const auto number = static_cast<float>(grid_numbers(Format::kGrid)[g * Format::kOfEntry + e % Format::kOfEntry]);
    const float scale = Format::scale(b, e * Format::kRuns / 256);
    const int signs = Format::signs(b, e / 8);
    if constexpr (Format::kGrid == Grid::iq1) {
      to[e] = scale * (number + (signs ? -0.125f : 0.125f));
    } else {
      to[e] = scale * (signs >> (e % 8) & 1 ? -number : number);
    }
  }
}

template <class Format>
struct GridBlock {
  static constexpr int kElements = 256, kBytes = Format::kBytes, kRuns = Format::kRuns;
  WEFT_INLINE static void take(Bytes b, std::uint8_t* codes, float* scale, float*) {
    constexpr int n = Format::kOfEntry;
    constexpr bool ternary = Format::kGrid == Grid::iq1;
    const std::int8_t* const numbers = grid_numbers(Format::kGrid);
    // Of iq1 codes count eighths.
    for (int r = 0; r < kRuns; ++r) scale[r] = Format::scale(b, r) * (ternary ? 0.125f : 1.0f);
    for (int g = 0; g < 32; ++g, codes += 8) {
      std::int8_t eight[8];
      for (int i = 0; i < 8; i += n) std::memcpy(eight + i, numbers + n * Format::entry(b, g * (8 / n) + i / n), n);
      const int signs = Format::signs(b, g);
      for (int i = 0; i < 8; ++i) {
        const int number = ternary ? 8 * eight[i] + 1 - 2 * signs : (signs >> i & 1) != 0 ? -eight[i] : eight[i];
        codes[i] = static_cast<std::uint8_t>(number + 128);
      }
    }
  }
};

template <class Format>
constexpr BlockFormat grid_row(QuantizedScheme scheme, std::string_view piece) {
  return row<GridBlock<Format>>({.scheme = scheme,
                                 .zero = 128,
                                 .piece = piece,
                                 .decode = decode<Format>,
                                 .shared_piece = "block_grid",
                                 .grid = Format::kGrid});
}

using S = QuantizedScheme;
constexpr BlockFormat kBlocks[] = {
    grid_row<Iq3S>(S::iq3_s, "block_iq3_s"),       grid_row<Iq3Xxs>(S::iq3_xxs, "block_iq3_xxs"),
    grid_row<Iq2S>(S::iq2_s, "block_iq2_s"),       grid_row<Iq2Xs>(S::iq2_xs, "block_iq2_xs"),
    grid_row<Iq2Xxs>(S::iq2_xxs, "block_iq2_xxs"), grid_row<Iq1S>(S::iq1_s, "block_iq1_s"),
    grid_row<Iq1M>(S::iq1_m, "block_iq1_m"),
};

}  // namespace

std::span<const BlockFormat> grid_block_formats() { return kBlocks; }

}  // namespace weft::kernels
