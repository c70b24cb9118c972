// Random numbers. Each function is of a key, which is u32 [2], and gives the same numbers on every device; or takes the
// next key of the default generator. Those that are made by exponentials, logarithms and the like may differ between
// devices by as much as 1e-6 times the scale of the distribution and their own magnitude together.
// Source: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011 (Threefry-2x32 with 20
// rounds, of a key and a counter).
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
#include <initializer_list>
#include <optional>

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
// Integers of 8 to 64 bits, of which each in [low, high) is equally likely, up to 2^-32 of its probability. All
// integers of the type are possible: 2^64, the end of those of u64, is 0x1p64.
Tensor integers(const Shape& shape, Number low, Number high, DType dtype = DType::i32, const Tensor& key = {});
// bool, true with that probability: a number from 0 to 1 (else InvalidArgument), or a tensor that broadcasts to the
// shape, always for 1 or more, never for 0 or less.
Tensor bernoulli(const Shape& shape, const TensorLike& probability, const Tensor& key = {});
// The numbers 0 … n - 1 in random order, i32, or i64 from 2^31 of them on. Throws InvalidArgument for a negative n.
Tensor permutation(std::int64_t n, const Tensor& key = {});
// x with the slices along an axis in random order, all of them moved as a whole. NumPy's permutation.
Tensor permutation(const Tensor& x, int axis = 0, const Tensor& key = {});

// ---- Distributions with parameters. A parameter is a number or a tensor that broadcasts to the shape, of f32, f16 or
// bf16, or of integers; all is computed in f32, and rounded once to the type of the result: f32, f16 or bf16, or for
// counts i32, i8, i16, i64 or one of these floats. Parameters for which there is no distribution throw InvalidArgument
// if they are numbers; elements of tensors make NaN, and counts of integers -1. (Of a scale it is not looked at the
// sign where it is a tensor.) A count that its type does not hold is the largest of the type: of i64 2^63 - 1, of f32
// infinity.
//
//   auto [a, b] = random::split<2>(random::key(1));
//   auto waits = random::exponential({1000}, 2.5, DType::f32, a);             // of mean 2.5
//   auto counts = random::poisson(std::nullopt, rates, DType::i32, b);        // of the rates' shape
//
// gamma(), log_gamma(), chi_square() and the counts are the same bits on every device. The others differ as is said
// above: beta() and dirichlet() by 1e-5 of a result, cauchy() and student_t() by 1e-5 of a result besides.
// Locations, scales, bounds, means and covariances have derivatives, as have the parameters of gamma(), log_gamma(),
// beta(), dirichlet(), chi_square() and student_t(), by implicit reparameterisation, of first order (a second one
// throws Unsupported); counts have none. vmap() over keys gives what a loop over them gives.

// The shape of a result: one that is given, or of std::nullopt that to which the parameters broadcast.
class DrawShape {
 public:
  DrawShape(const Shape& shape) : given(shape) {}                                // NOLINT: implicit, as are the next
  DrawShape(std::initializer_list<std::int64_t> sizes) : given(Shape(sizes)) {}  // NOLINT
  DrawShape(std::nullopt_t) {}                                                   // NOLINT

  std::optional<Shape> given;
};

// Normal numbers of that mean and standard deviation, of which those between `low` and `high` are drawn: PyTorch's
// trunc_normal_, SciPy's truncnorm with bounds of x itself. By the inverse of the distribution function, of the tail
// that is nearer, so that bounds may be up to 12 deviations from the mean; beyond, x is the bound that is nearer to the
// mean. Throws InvalidArgument unless low < high and the deviation is not negative.
Tensor truncated_normal(const DrawShape& shape, const TensorLike& low, const TensorLike& high,
                        const TensorLike& mean = 0, const TensorLike& deviation = 1, DType dtype = DType::f32,
                        const Tensor& key = {});
// With the density exp(-z - exp(-z)) / scale, z = (x - location) / scale: from -3.2 to 23.6 scales.
Tensor gumbel(const DrawShape& shape, const TensorLike& location = 0, const TensorLike& scale = 1,
              DType dtype = DType::f32, const Tensor& key = {});
// With the density exp(-|z|) / (2 scale): up to 22.9 scales.
Tensor laplace(const DrawShape& shape, const TensorLike& location = 0, const TensorLike& scale = 1,
               DType dtype = DType::f32, const Tensor& key = {});
// With the density 1 / (π scale (1 + z²)): up to 2^33 scales.
Tensor cauchy(const DrawShape& shape, const TensorLike& location = 0, const TensorLike& scale = 1,
              DType dtype = DType::f32, const Tensor& key = {});
// With the distribution function 1 / (1 + exp(-z)): up to 23.6 scales.
Tensor logistic(const DrawShape& shape, const TensorLike& location = 0, const TensorLike& scale = 1,
                DType dtype = DType::f32, const Tensor& key = {});
// With the density exp(-x / scale) / scale: from 5.8e-11 to 23.6 scales, never 0. (PyTorch's rate is 1 / scale.)
Tensor exponential(const DrawShape& shape, const TensorLike& scale = 1, DType dtype = DType::f32,
                   const Tensor& key = {});
// With the density x^(a - 1) exp(-x / scale) / (Γ(a) scale^a), a = concentration, 0 or more. NumPy's gamma.
Tensor gamma(const DrawShape& shape, const TensorLike& concentration, const TensorLike& scale = 1,
             DType dtype = DType::f32, const Tensor& key = {});
// The logarithms of what gamma() of scale 1 gives for the key, finite also where that underflows: most numbers do of
// concentrations below 0.01. JAX's loggamma.
Tensor log_gamma(const DrawShape& shape, const TensorLike& concentration, DType dtype = DType::f32,
                 const Tensor& key = {});
// With the density x^(a - 1) (1 - x)^(b - 1) / B(a, b), as the sigmoid of a difference of log_gamma(); NaN where both a
// and b are 0.
Tensor beta(const DrawShape& shape, const TensorLike& a, const TensorLike& b, DType dtype = DType::f32,
            const Tensor& key = {});
// Probabilities along a last axis, with the density Π x[i]^(concentration[i] - 1) up to a factor, as softmax of
// log_gamma(). concentration is [..., n], whose axes in front broadcast to the shape; the result [shape..., n].
Tensor dirichlet(const DrawShape& shape, const Tensor& concentration, DType dtype = DType::f32, const Tensor& key = {});
// Of that many degrees of freedom, which need not be whole: twice gamma() of half of them.
Tensor chi_square(const DrawShape& shape, const TensorLike& freedom, DType dtype = DType::f32, const Tensor& key = {});
// A normal number over the root of chi_square() / freedom; of infinitely many degrees normal.
Tensor student_t(const DrawShape& shape, const TensorLike& freedom, const TensorLike& location = 0,
                 const TensorLike& scale = 1, DType dtype = DType::f32, const Tensor& key = {});
// Counts of that mean, 0 or more.
Tensor poisson(const DrawShape& shape, const TensorLike& rate, DType dtype = DType::i32, const Tensor& key = {});
// How many of `count` trials succeed, of which each does with that probability. `count` is a whole number or a tensor
// of integers, below 2^63.
Tensor binomial(const DrawShape& shape, const TensorLike& count, const TensorLike& probability,
                DType dtype = DType::i32, const Tensor& key = {});
// The number of trials up to the first that succeeds, 1 or more: NumPy's and JAX's (PyTorch's distribution counts those
// before it). Of a probability 0 it is the largest number of the type, of floats infinity.
Tensor geometric(const DrawShape& shape, const TensorLike& probability, DType dtype = DType::i32,
                 const Tensor& key = {});

// Indices along an axis of `logits`, i32, each with a probability in proportion to the exponential of its logit, which
// need not be normalised, and may be of any size. The logits' other axes broadcast to the shape. -1 where a logit is
// NaN or all are -infinity. The noise of random_categorical() is never stored; from 16 draws of a single distribution
// on they are searched in sums of its probabilities instead, and then devices may differ about a draw in 10^7, where
// rounding decides. Throws ShapeError for an axis without elements.
Tensor categorical(const DrawShape& shape, const Tensor& logits, int axis = -1, const Tensor& key = {});
// How often each of n categories is drawn in `count` draws, [shape..., n], with probabilities in proportion to
// `weights` [..., n], 0 or more, whose axes in front broadcast to the shape, as has `count`, a whole number or a tensor
// of integers, below 2^63. By binomial counts of halves of the categories, whatever the count. i32, or i64 for a count
// past i32's range and a tensor of a type with such numbers. -1 everywhere for a negative count and where a weight is
// negative or not finite, or all are 0.
Tensor multinomial(const DrawShape& shape, const TensorLike& count, const Tensor& weights, const Tensor& key = {});
// Normal vectors [shape..., n] of that mean [..., n] and covariance [..., n, n], which is positive definite and of
// which the lower triangle is read; reading what another one made throws LinAlgError, as of cholesky(). Axes in front
// broadcast to the shape.
Tensor multivariate_normal(const DrawShape& shape, const Tensor& mean, const Tensor& covariance,
                           DType dtype = DType::f32, const Tensor& key = {});

// Orthogonal matrices [batch..., n, n] in f32, f16 or bf16, evenly distributed (by Haar's measure): q of the QR factors
// of normal numbers, with the signs that make r's diagonal positive. Throws InvalidArgument for a negative n. Source:
// Mezzadri, "How to generate random matrices from the classical compact groups", 2007.
Tensor orthogonal(std::int64_t n, const Shape& batch = {}, DType dtype = DType::f32, const Tensor& key = {});

struct ChoiceOptions {
  bool replace = true;  // false: no index twice
  Tensor weights = {};  // [n], 0 or more: in proportion to which indices are drawn; undefined: all alike
  int axis = 0;         // of x
};
// Indices below n of that shape, i32, or i64 from 2^31 on. Without replacement the first of permutation(), or by
// weights those with the greatest logarithms of weights with Gumbel noise, in their order, which is that of drawing one
// by one; indices of weight 0 come last. Throws InvalidArgument where n is 0 and the shape is not empty, and where more
// than n are asked for without replacement. Source: Efraimidis and Spirakis, "Weighted random sampling with a
// reservoir", 2006.
Tensor choice(std::int64_t n, const Shape& shape, const ChoiceOptions& options = {}, const Tensor& key = {});
// The slices of x along options.axis at such indices: x's shape with `shape` in place of the axis. NumPy's choice.
Tensor choice(const Tensor& x, const Shape& shape, const ChoiceOptions& options = {}, const Tensor& key = {});

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
