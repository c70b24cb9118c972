// The codebooks of GGUF's iq formats: a code is the index of an entry, of eight elements or four.
#pragma once

#include <cstdint>
#include <span>

namespace weft::kernels {

enum class Grid : std::uint8_t {
  none,
  iq2_xxs,
  iq2_xs,
  iq2_s,    // these of eight magnitudes: 8, 25 or 43
  iq3_xxs,  // of four: 4, 12, 20, 28, 36, 44, 52 or 62
  iq3_s,    // of four: 1, 3, 5, …, 15
  iq1,      // of eight numbers: -1, 0 or 1
};

// Two entries of 16 bits in a word, the first in its low half: of eight elements two bits each, of four elements four.
// The number of a field of 0, 1, … is the one in that place above.
std::span<const std::uint32_t> grid_words(Grid grid);
// The numbers of all entries, one behind the other.
const std::int8_t* grid_numbers(Grid grid);

}  // namespace weft::kernels
