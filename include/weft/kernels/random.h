// Random numbers from a counter. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>

#include "weft/number.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// All of these are functions of a key, u32 [2], and an element's row-major index i in y, independent of y's strides and
// the device. Threefry-2×32 with 20 rounds turns block number b, as the counter (low word, high word of b), into the
// words w[2b] and w[2b + 1]; w[0], w[1], … is the key's stream. Keys of independent streams are the rows of random_bits
// of one key into u32 [n, 2]; draw nothing else from that key. (JAX counts differently: its stream depends on the
// array's size, or, "partitionable", uses a block for each element.) Source: Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", 2011.

// y = the stream's bits: y's elements, row after row, are the stream's bytes, words low byte first. So an element of
// 32 bits is w[i], one of 64 bits w[2i] with w[2i + 1] above it. y is an integer of 8 to 64 bits.
void random_bits(Stream& stream, const View& key, const View& y);

// y uniform in [low, high): low + u · (high - low) in f32, u = the upper 24 bits of w[i] as a fraction, rounded to y's
// type but never to `high`. The same bits on every device, for normal numbers. y is f32, f16 or bf16; low < high are
// first rounded to it, their difference must be finite.
void random_uniform(Stream& stream, const View& key, float low, float high, const View& y);

// y normal: by Box and Muller's transform of u = w[i] and v = w[i + 1], i even, as fractions:
//   y[i] = mean + deviation · sqrt(-2 ln u) · cos(2πv), y[i + 1] the same with sin.
// Within a few ULP of it on every device. u has 24 significant bits down to 2^-33, so values reach 6.7 deviations; v
// has 26. y is f32, f16 or bf16; deviation >= 0.
// Source: Box and Muller, "A note on the generation of random normal deviates", 1958.
void random_normal(Stream& stream, const View& key, float mean, float deviation, const View& y);

// y an integer in [low, high): low plus the upper part of (w[2i] + 2^32 · w[2i + 1]) · (high - low) / 2^64. A number's
// probability differs from its neighbours' by at most (high - low) · 2^-64 of 1 / (high - low). high - low is at most
// 2^32; low and high - 1 are integers of y's type, of 8 to 64 bits.
void random_integers(Stream& stream, const View& key, const Number& low, const Number& high, const View& y);

}  // namespace weft::kernels
