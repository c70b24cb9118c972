// Special functions of single elements, as compositions of others that the compiler fuses into one kernel: SciPy's
// scipy.special functions of these names. erf(), erfc(), erfinv(), lgamma(), digamma(), sigmoid() (SciPy's expit) and
// logsigmoid() are in weft/graph.h.
//
// Floats keep their type, integers and bool are computed as f32; narrow floats are computed in f32 and rounded once.
// NaN gives NaN where nothing else is said. Errors are those of f32 and of f64 against SciPy's f64 at the same
// arguments; GPUs may take denormal numbers for 0. All have derivatives where nothing else is said. They throw
// InvalidArgument (an undefined Tensor), ShapeError and TypeError (c64).
#pragma once

#include "weft/tensor.h"

namespace weft {

// ---- Special functions.

// sin(πx) / (πx), 1 at 0 and exactly 0 at other integers: NumPy's normalised sinc; NaN of infinities. The relative
// error is below 1e-6, of f64 4e-15.
Tensor sinc(const Operand& x);
// x log(y), but 0 where x is 0 and y not NaN. The derivative for x is log(y), and 0 where the value 0 is put for what
// would be NaN.
Tensor xlogy(const TensorLike& x, const TensorLike& y);
// x log(1 + y), but 0 where x is 0 and y not NaN; with the digits of log1p(). Derivatives as of xlogy().
Tensor xlog1py(const TensorLike& x, const TensorLike& y);
// -x log(x), of which the sum is an entropy: 0 at 0, where the derivative counts as 0, and -infinity below.
Tensor entr(const Operand& x);
// log(x / (1 - x)), the inverse of sigmoid(): ∓infinity at 0 and 1, NaN outside. The relative error is below 1e-6, of
// f64 4e-15, also near ½, where the result is 0. Its derivative is infinity at both ends and NaN outside, PyTorch's.
Tensor logit(const Operand& x);
// The probability that a standard normal number is below x. The relative error is below 1e-6 · (1 + x²) for x < 0, of
// f64 4e-15 · (1 + x²), and without the x² above.
Tensor ndtr(const Operand& x);
// log(ndtr(x)), without underflow: about -x² / 2 far below 0. The relative error is below 3e-6, of f64 1e-14, up to 3,
// and above that of ndtr(-x).
Tensor log_ndtr(const Operand& x);
// The x with ndtr(x) = p: ∓infinity at 0 and 1, NaN outside. The relative error is below 2e-6, of f64 1e-14. Source:
// Wichura, "Algorithm AS 241: the percentage points of the normal distribution", 1988.
Tensor ndtri(const Operand& p);
// The derivative of that order of digamma(), which is order 0: at 0, of both signs, and at negative integers infinity
// of odd orders and -infinity of even ones, SciPy's; digamma() itself is -infinity at 0, infinity at -0 and NaN at
// negative integers. NaN of -infinity. The relative error is below 4e-6, of f64 1e-14, up to order 10, wherever the
// result is a normal number; below 0, where even orders have zeros, it is that of the greater one of the result and of
// the value at 1 - x. Derivatives are those of the next order. Throws InvalidArgument for a negative order.
Tensor polygamma(int order, const Operand& x);
// 1/Γ(a) · ∫ t^(a-1) exp(-t) dt from 0 to x, the regularised lower incomplete gamma function: the probability that a
// gamma-distributed number of shape a is below x, and that a Poisson-distributed one of mean x is a at least. PyTorch's
// igamma. 1 of a = 0, 0 of an infinite a; NaN of negative numbers, of (0, 0) and of two infinities. The relative error
// is below 3e-6, also of tails down to the least normal number, of f64 1e-14 · (1 + |log of the result|), where SciPy's
// is more for large a. Its derivative for x, of which the error is 1e-7 · a |log x| and more, is known; for a there is
// none, as in PyTorch: Unsupported.
Tensor gammainc(const TensorLike& a, const TensorLike& x);
// 1 - gammainc(a, x), with the digits of small results: PyTorch's igammac. Errors and derivatives are those of
// gammainc().
Tensor gammaincc(const TensorLike& a, const TensorLike& x);
// 1/B(a, b) · ∫ t^(a-1) (1-t)^(b-1) dt from 0 to x, the regularised incomplete beta function: the probability that a
// beta-distributed number is below x; 1 - betainc(a, b, x) is betainc(b, a, 1 - x). NaN of negative a and b, of x
// outside of [0, 1], of a = b = 0 and of two infinities; of one that is 0 or infinite the limit. Errors are those of
// gammainc(), and there is a derivative for x alone.
Tensor betainc(const TensorLike& a, const TensorLike& b, const TensorLike& x);
// The x >= 0 with gammainc(a, x) = p: 0 at p = 0, infinity at 1. NaN of p outside of [0, 1] and of negative a; in
// between also of an a that is 0 or infinite. The error is what a relative one of 3e-6 in the lesser of p and 1 - p
// makes of x (small a take p to the power 1 / a), and 5e-7 of x; of f64 1e-14 · (1 + |log p|), and 1e-15. A GPU takes a
// p that is a denormal number for 0. Its derivative for p, of which the error is 1e-7 · a |log x| and more, is known;
// for a there is none, as of gammainc(): Unsupported. Source: Gil, Segura and Temme, "Efficient and accurate algorithms
// for the computation and inversion of the incomplete gamma function ratios", 2012, for Halley's method.
Tensor gammaincinv(const TensorLike& a, const TensorLike& p);
// The x >= 0 with gammaincc(a, x) = q: infinity at q = 0, 0 at 1. Errors and derivatives are those of gammaincinv().
Tensor gammainccinv(const TensorLike& a, const TensorLike& q);
// The x in [0, 1] with betainc(a, b, x) = p. NaN of p outside of [0, 1], of a and b that are not above 0, and, but for
// p of 0 and 1, of two infinities; of one that is infinite the limit. Errors are those of gammaincinv(), and there is a
// derivative for p alone.
Tensor betaincinv(const TensorLike& a, const TensorLike& b, const TensorLike& p);
// The Bessel function of the first kind of order 0: even, 1 at 0, 0 at infinities. The error is 5e-7 of √(2/(π|x|)),
// but at most of 1, also at its zeros; of f64 1e-15. Derivatives, as those of the next seven, are formulas of these
// functions, with errors of that size.
Tensor j0(const Operand& x);
// The Bessel function of the first kind of order 1: odd, about x / 2 near 0, ±0 at infinities. Errors are those of
// j0(), for |x| below 2 also relative ones.
Tensor j1(const Operand& x);
// The Bessel function of the second kind of order 0: -infinity at 0, NaN below, 0 at infinity. Errors are those of
// j0(), or as large a part of the result if that is more.
Tensor y0(const Operand& x);
// The Bessel function of the second kind of order 1: about -2 / (πx) near 0, NaN below. Errors are those of y0().
Tensor y1(const Operand& x);
// The modified Bessel function of the second kind of order 0: infinity at 0, NaN below, 0 at infinity. The relative
// error is below 5e-7, of f64 2e-15, where the result is a normal number.
Tensor k0(const Operand& x);
// exp(x) · k0(x), without underflow. The derivative is a difference: its error is 5e-7 of the result, not of itself.
Tensor k0e(const Operand& x);
// The modified Bessel function of the second kind of order 1: about 1 / x near 0. Errors are those of k0().
Tensor k1(const Operand& x);
// exp(x) · k1(x), without underflow. Errors are those of k0e().
Tensor k1e(const Operand& x);
// The modified Bessel function of the first kind of order 0: even, 1 at 0, infinity at infinities. The relative error
// is below 2e-6 where |x| < 8, and 1e-7 · (8 + |x|) above, of f64 1e-14 · (1 + |x| / 8).
Tensor i0(const Operand& x);
// exp(-|x|) · i0(x), without overflow: 0 at infinities. The relative error is below 2e-6, of f64 1e-14.
Tensor i0e(const Operand& x);
// The modified Bessel function of the first kind of order 1: odd, about x / 2 near 0. Errors are those of i0().
Tensor i1(const Operand& x);
// exp(-|x|) · i1(x), without overflow: ±0 at infinities. The relative error is below 2e-6, of f64 1e-14.
Tensor i1e(const Operand& x);

}  // namespace weft
