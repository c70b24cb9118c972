// Random numbers of distributions with parameters, as graphs have them: functions of a key, u32 [2], of an element's
// row-major index and of its parameters alone. weft/random.h makes keys, and has these and many more distributions with
// a generator of their own; random_bits(), random_uniform(), random_normal() and random_integers() are in weft/graph.h.
#pragma once

#include "weft/tensor.h"

namespace weft {

// ---- Random numbers of distributions. Parameters are f32, f16 or bf16, computed with in f32, and broadcast to the
// shape. What decides about a number is made of sums and products that are rounded one by one, so that results are the
// same bits on every device; denormal parameters count as 0. Throw InvalidArgument (an undefined Tensor), ShapeError
// (another shape of the key, a negative size, parameters that do not broadcast) and TypeError.

// Numbers distributed evenly over (-1, 1), never 0, f32. Their magnitudes have 24 significant bits down to 2^-33: what
// distributions with tails are made of.
Tensor random_signed_uniform(const Operand& key, const Shape& shape);
// Numbers with the gamma distribution of that concentration (shape) and scale 1, of f32, f16 or bf16; with `logarithm`
// their natural logarithms, which are finite also where the numbers are too small for their type. Of concentration 0
// they are 0, of infinity infinity, of NaN or a negative one NaN. Derivatives by implicit reparameterisation, of first
// order, as PyTorch's. Sources: Marsaglia and Tsang, "A simple method for generating gamma variables", 2000; Figurnov,
// Mohamed and Mnih, "Implicit reparameterization gradients", 2018.
Tensor random_gamma(const Operand& key, const Operand& concentration, const Shape& shape, DType dtype = DType::f32,
                    bool logarithm = false);
// The derivatives of samples of random_gamma(), or with `logarithm` of their logarithms, for their concentrations,
// where the probability below each stays the same; of the operands' common shape and the samples' type. 0 for a sample
// 0, NaN for a concentration that is not above 0. It has no derivative. PyTorch's _standard_gamma_grad, JAX's
// random_gamma_grad.
Tensor random_gamma_gradient(const Operand& concentration, const Operand& sample, bool logarithm = false);
// Counts, of i32, i64 or f32: the largest number of the type (of f32 infinity) where it does not hold one, and -1 (of
// f32 NaN) for parameters without a distribution.

// Counts with Poisson distributions of these means: 0 for a rate 0. Source: Hörmann, "The transformed rejection method
// for generating Poisson random variables", 1993 (PTRS), for rates of 10 and more; inversion below.
Tensor random_poisson(const Operand& key, const Operand& rate, const Shape& shape, DType dtype = DType::i32);
// How many of `count` trials, i32 or i64, succeed, of which each does with that probability, in [0, 1]. Source:
// Hörmann, "The generation of binomial random variates", 1993 (BTRS), where 10 or more trials have the rarer outcome on
// average; inversion below.
Tensor random_binomial(const Operand& key, const Operand& count, const Operand& probability, const Shape& shape,
                       DType dtype = DType::i32);
// The number of trials up to and with the first that succeeds, each with that probability, in [0, 1]: 1 or more, and of
// a probability 0 the largest number of the type.
Tensor random_geometric(const Operand& key, const Operand& probability, const Shape& shape, DType dtype = DType::i32);
// i32, of the shape of the logits without the axis: an index along it, each with a probability in proportion to the
// exponential of its logit, as the index of the greatest logit with Gumbel noise, which is never stored. -1 where a
// logit is NaN or all are -infinity. Throws ShapeError for an axis without elements or with more than 2^31. Source:
// Maddison, Tarlow and Minka, "A* sampling", 2014.
Tensor random_categorical(const Operand& key, const Operand& logits, int axis = -1);

}  // namespace weft
