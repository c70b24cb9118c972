// Random numbers. Each function is of a key, which is u32 [2], and gives the same numbers on every device
// (weft/kernels/random.h: Threefry-2x32 as a counter); or takes the next key of the default generator.
//
//   random::seed(7);
//   auto x = random::normal({1024, 1024});            // another tensor each time, the same ones in each program run
//   auto key = random::key(42);
//   auto [a, b] = random::split<2>(key);              // independent keys; use none twice
//   auto y = random::uniform({4}, -1, 1, DType::f32, a);
//
// The default generator starts from a seed that the system gives, or from random::seed(). Threads share it: which of
// them gets which key depends on their order. In a function that compile() traces it would give the same numbers in each
// call, so it throws InvalidArgument there: give such a function a key as an argument.
#pragma once

#include <array>
#include <cstdint>

#include "weft/tensor.h"

namespace weft::random {

void seed(std::uint64_t seed);
// The next key of the default generator.
Tensor next_key();
Tensor key(std::uint64_t seed);
// Keys of independent streams, u32 [count, 2].
Tensor split(const Tensor& key, std::int64_t count);
template <std::size_t count>
std::array<Tensor, count> split(const Tensor& key);

// All of these throw InvalidArgument (an empty range, one outside of the type, a negative deviation), ShapeError and
// TypeError.
// Uniform in [low, high), of a type f32, f16 or bf16.
Tensor uniform(const Shape& shape, double low = 0, double high = 1, DType dtype = DType::f32, const Tensor& key = {});
Tensor normal(const Shape& shape, double mean = 0, double deviation = 1, DType dtype = DType::f32,
              const Tensor& key = {});
// In [low, high), high - low at most 2^32.
Tensor integers(const Shape& shape, std::int64_t low, std::int64_t high, DType dtype = DType::i32,
                const Tensor& key = {});
// True with that probability, a number or a tensor that broadcasts to the shape.
Tensor bernoulli(const Shape& shape, const TensorLike& probability, const Tensor& key = {});
// The numbers 0 … n - 1 in random order, i32.
Tensor permutation(std::int64_t n, const Tensor& key = {});
// x with the entries along an axis in random order.
Tensor permutation(const Tensor& x, int axis = 0, const Tensor& key = {});

// Which of the keys of split() an entry is.
Tensor key_at(const Tensor& keys, std::int64_t i);
template <std::size_t count>
std::array<Tensor, count> split(const Tensor& key) {
  const Tensor keys = split(key, static_cast<std::int64_t>(count));
  std::array<Tensor, count> each;
  for (std::size_t i = 0; i < count; ++i) each[i] = key_at(keys, static_cast<std::int64_t>(i));
  return each;
}

}  // namespace weft::random
