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
void random_uniform(Stream& stream, const View& key, double low, double high, const View& y);

// y normal: by Box and Muller's transform of u = w[i] and v = w[i + 1], i even, as fractions:
//   y[i] = mean + deviation · sqrt(-2 ln u) · cos(2πv), y[i + 1] the same with sin.
// Within 1e-6 deviations of it on every device. u has 24 significant bits down to 2^-33, so values reach 6.7
// deviations; v has 26. y is f32, f16 or bf16; deviation >= 0. Source: Box and Muller, "A note on the generation of
// random normal deviates", 1958.
void random_normal(Stream& stream, const View& key, double mean, double deviation, const View& y);

// y an integer in [low, high): low plus the upper part of (w[2i] + 2^32 · w[2i + 1]) · (high - low) / 2^64. Where
// high - low is more than 2^32 the upper 64 bits of the fraction are these, and the lower ones those of the block with
// the counter (i mod 2^32, 2^31 + ⌊i / 2^32⌋). A number's probability differs from its neighbours' by at most 2^-32 of
// itself. low and high - 1 are integers of y's type, of 8 to 64 bits; a high of 2^64 is a floating number.
void random_integers(Stream& stream, const View& key, const Number& low, const Number& high, const View& y);

// y in (-1, 1) without 0, evenly: the sign is the upper bit of w[i], the magnitude the other 31 bits as a fraction,
// with 24 significant bits, down to 2^-33. So a distribution with two tails has both as far out as one of 32 bits. y is
// f32. The same bits on every device.
void random_signed_uniform(Stream& stream, const View& key, const View& y);

// ---- Distributions with parameters, which broadcast to y. Element i takes the words of the blocks (i, attempt), whose
// counters are (i mod 2^32, attempt + 2^8 · ⌊i / 2^32⌋); by rejection as many attempts as it needs, of at most 64. What
// decides is computed of sums and products alone, each rounded once, so that results are the same bits on every device
// (whose f32 has no denormal numbers, or that of none here). Parameters are f32, f16 or bf16, and computed with in f32.

// y with gamma distributions of that concentration (shape) and scale 1, f32, f16 or bf16; `logarithm`: its logarithm,
// which is finite also where y underflows to 0. Of a concentration 0 (or denormal) y is 0, of infinity infinity, of a
// negative one or NaN it is NaN. Sources: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000,
// with its boost for concentrations below 1; the normal variates are inverse distribution functions of 31 bits, up to
// 6.5 deviations.
void random_gamma(Stream& stream, const View& key, const View& concentration, const View& y, bool logarithm = false);

// y = the derivatives of samples of random_gamma(), or of their logarithms, for their concentrations, with the
// probability below each fixed: within 2e-5 of it in f32, relatively. Operands broadcast to y, which has the samples'
// type. 0 for a sample 0; NaN for a concentration of 0, below or NaN, and for a sample NaN. Source: Figurnov, Mohamed
// and Mnih, "Implicit reparameterization gradients", 2018.
void random_gamma_gradient(Stream& stream, const View& concentration, const View& sample, const View& y,
                           bool logarithm = false);

// Counts y are i32, i64 or f32. One that y's type does not hold is its largest number, of f32 infinity; without a
// distribution y is -1, of f32 NaN. Counts are computed in 64 bits; where distributions are so wide that f32 has no
// digits for each count, the digits it lacks are evenly distributed, of the words of attempt 254.

// y with Poisson distributions. Of a rate 0 (or denormal) y is 0; of a negative rate or NaN there is none. Rates below
// 10 by inversion of one number of 33 bits, others by Hörmann's PTRS; from 2^63 on y is the rate. Source: Hörmann, "The
// transformed rejection method for generating Poisson random variables", 1993.
void random_poisson(Stream& stream, const View& key, const View& rate, const View& y);

// y how many of `count` (i32 or i64) independent trials of that probability succeed; there is no distribution for a
// negative count and for a probability outside of [0, 1] or NaN. Where the mean number of the rarer outcome is below 10
// by inversion, else by Hörmann's BTRS. Source: Hörmann, "The generation of binomial random variates", 1993.
void random_binomial(Stream& stream, const View& key, const View& count, const View& probability, const View& y);

// y 1 or more: the number of trials up to the first that succeeds, ⌊ln(u) / ln(1 - probability)⌋ + 1 with u of 34 bits;
// the largest number of its type for a probability 0 (or denormal); there is no distribution for one outside of [0, 1]
// or NaN.
void random_geometric(Stream& stream, const View& key, const View& probability, const View& y);

// y i32 = the first i along the axis with the greatest (logits[i] - top) - ln(-ln(1 - u[i])), top being the greatest
// logit and the uniform numbers u of 33 bits each: i with a probability in proportion to exp(logits[i]). Row r of y
// takes for categories 2b and 2b + 1 the block with the counter (b, r). -1 where a logit is NaN or all are -infinity;
// the first infinite one if there is one. The axis has 1 to 2^31 categories; y has the other axes, at most 2^32
// elements. Source: Maddison, Tarlow and Minka, "A* sampling", 2014.
void random_categorical(Stream& stream, const View& key, const View& logits, const View& y, int axis = -1);

}  // namespace weft::kernels
