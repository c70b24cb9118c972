// Codes of quantised weights, a byte each, and the numbers that they stand for, many at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/quantized/formats.h"

namespace weft::kernels::code_loops {

// The codes of 8 · groups elements of `bits` bits, one after the other from the byte at `from` on. Of the last group,
// bytes behind from + bytes count as zeros, and are not read.
void unpack(const std::byte* from, std::int64_t bytes, int bits, std::int64_t groups, std::uint8_t* to);

// The codes of words of eight in AWQ's order.
void unpack_awq(const std::byte* from, std::int64_t words, std::uint8_t* to);

// Codes that begin at bit `shift` of words, and end in the words at `next`.
void unpack_words(const std::byte* from, const std::byte* next, int shift, int bits, std::int64_t count,
                  std::uint8_t* to);

// What makes weights of numbers: (number - zero) · scale, or number · scale + zero. Of each there is one for `run`
// elements: 1, 16 or 32.
struct Factors {
  const float *scale, *zero;
  int run;
  ZeroForm form;  // none: the product alone; bias: zero is added; any other: it is subtracted first
};

// Weights of whole runs. Rounds as WeightDecoder::plain_row() does.
void widen(const std::uint8_t* codes, std::int64_t count, CodeType type, int bits, const Factors& factors, float* to);

}  // namespace weft::kernels::code_loops
