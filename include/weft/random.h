// Random numbers. Each function is of a key, which is u32 [2], and gives the same numbers on every device (normal ones
// within a few ULP); or takes the next key of the default generator. Source: Salmon, Moraes, Dror and Shaw, "Parallel
// random numbers: as easy as 1, 2, 3", 2011 (Threefry-2x32 with 20 rounds, of a key and a counter).
//
//   random::seed(7);
//   auto x = random::normal({1024, 1024});            // another tensor each time, the same ones in each program run
//   auto key = random::key(42);
//   auto [a, b] = random::split<2>(key);              // independent keys; use none twice
//   auto y = random::uniform({4}, -1, 1, DType::f32, a);
//
// The default generator starts from a seed that the system gives, or from random::seed(). Threads share it: which of
// them gets which key depends on their order. In a function that compile() traces it would give the same numbers in
// each call, so it throws InvalidArgument there: give such a function a key as an argument.
#pragma once

#include <array>
#include <cstdint>

#include "weft/tensor.h"

namespace weft::random {

// Starts the default generator anew: the same seed gives the same numbers afterwards. PyTorch's manual_seed.
void seed(std::uint64_t seed);
// The next key of the default generator.
Tensor next_key();
// The key of a seed, u32 [2]: its low word, then its high one.
Tensor key(std::uint64_t seed);
// Keys of independent streams, u32 [count, 2], which depend on the key alone; draw nothing else from that key. Throws
// ShapeError for a negative count and for another shape of the key.
Tensor split(const Tensor& key, std::int64_t count);
// The same as separate keys.
template <std::size_t count>
std::array<Tensor, count> split(const Tensor& key);

// All of these throw InvalidArgument (an empty range, one outside of the type, a negative deviation), ShapeError and
// TypeError.

// Numbers distributed evenly over [low, high), f32, f16 or bf16; never `high`, also where they are rounded to 16 bits.
Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType dtype = DType::f32, const Tensor& key = {});
// Normally distributed numbers, f32, f16 or bf16, with this mean and standard deviation; they reach 6.7 deviations.
// Source: Box and Muller, "A note on the generation of random normal deviates", 1958.
Tensor normal(const Shape& shape, double mean = 0, double deviation = 1, DType dtype = DType::f32,
              const Tensor& key = {});
// Integers of 8 to 64 bits, of which each in [low, high) is equally likely; high - low is at most 2^32.
Tensor integers(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype = DType::i32,
                const Tensor& key = {});
// bool, true with that probability, a number or a tensor that broadcasts to the shape; always for 1 or more, never for
// 0 or less.
Tensor bernoulli(const Shape& shape, const TensorLike& probability, const Tensor& key = {});
// The numbers 0 … n - 1 in random order, i32, or i64 from 2^31 of them on. Throws InvalidArgument for a negative n.
Tensor permutation(std::int64_t n, const Tensor& key = {});
// x with the slices along an axis in random order, all of them moved as a whole. NumPy's permutation.
Tensor permutation(const Tensor& x, int axis = 0, const Tensor& key = {});

// Key i of split(), u32 [2]. Throws IndexError if there is none.
Tensor key_at(const Tensor& keys, std::int64_t i);
template <std::size_t count>
std::array<Tensor, count> split(const Tensor& key) {
  const Tensor keys = split(key, static_cast<std::int64_t>(count));
  std::array<Tensor, count> each;
  for (std::size_t i = 0; i < count; ++i) each[i] = key_at(keys, static_cast<std::int64_t>(i));
  return each;
}

}  // namespace weft::random
