// Signals: windows, short-time Fourier transforms, convolution by transforms, linear filters, cosine and Hadamard
// transforms, with the results of PyTorch's, SciPy's and MLX's functions.
//
//   const StftOptions options{.hop_length = 256, .window = hann_window(1024)};
//   Tensor spectrum = stft(signal, 1024, options);         // c64 [513, frames]
//   Tensor again = istft(spectrum, 1024, options, signal.size());
//   Tensor smooth = fft_convolve(signal, gaussian_window(101, 20), ConvolveMode::same);
//
// Sums are computed in f32 on GPUs and in f64 on the cpu; f64 is a TypeError but for windows and filters, as in
// weft/fft.h. They are made of other operations, so that they have derivatives of any order, for signals and for
// windows.
#pragma once

#include <cstdint>
#include <optional>

#include "weft/fft.h"
#include "weft/kernels/pad.h"
#include "weft/numeric.h"
#include "weft/tensor.h"

namespace weft {

// ---- Windows: [n], constants whose elements are computed in f64 and rounded once. With N = n, or N = n - 1 if not
// periodic: a periodic window is what transforms take, the symmetric one, whose last element is its first, is what
// filters are made with. Of n = 1 it is 1. Throw InvalidArgument (a negative n, a parameter out of range), TypeError (a
// type that is no float) and OutOfMemory.

// (1 - cos(2πk / N)) / 2.
Tensor hann_window(std::int64_t n, bool periodic = true, DType dtype = DType::f32);
// 0.54 - 0.46 cos(2πk / N).
Tensor hamming_window(std::int64_t n, bool periodic = true, DType dtype = DType::f32);
// 0.42 - 0.5 cos(2πk / N) + 0.08 cos(4πk / N).
Tensor blackman_window(std::int64_t n, bool periodic = true, DType dtype = DType::f32);
// 0.35875 - 0.48829 cos(2πk / N) + 0.14128 cos(4πk / N) - 0.01168 cos(6πk / N). Source: Harris, "On the Use of Windows
// for Harmonic Analysis with the Discrete Fourier Transform", 1978.
Tensor blackman_harris_window(std::int64_t n, bool periodic = true, DType dtype = DType::f32);
// 1 - |2k / N - 1|: a triangle.
Tensor bartlett_window(std::int64_t n, bool periodic = true, DType dtype = DType::f32);
// I0(beta · sqrt(1 - (2k / N - 1)²)) / I0(beta), I0 being the modified Bessel function; beta is finite.
Tensor kaiser_window(std::int64_t n, double beta = 12, bool periodic = true, DType dtype = DType::f32);
// exp(-((k - N / 2) / deviation)² / 2); the deviation is finite and greater than 0.
Tensor gaussian_window(std::int64_t n, double deviation, bool periodic = true, DType dtype = DType::f32);
// 1 in the middle; the part `alpha` of it, half at each end, is that of a Hann window: of alpha = 0 a rectangle, of 1 a
// Hann window. alpha is in [0, 1].
Tensor tukey_window(std::int64_t n, double alpha = 0.5, bool periodic = true, DType dtype = DType::f32);

// ---- Short-time Fourier transforms

struct StftOptions {
  std::int64_t hop_length = 0;     // elements from one frame to the next; 0: n_fft / 4
  std::int64_t window_length = 0;  // at most n_fft; 0: the window's, or n_fft
  Operand window = {};             // [window_length], floats, with zeros at both sides to n_fft; default: ones
  bool center = true;              // frame t is around x[t · hop_length], and x is padded by n_fft / 2 at both ends
  kernels::PadMode padding = kernels::PadMode::reflect;  // how
  bool normalized = false;                               // by 1 / sqrt(n_fft)
  // Of n_fft elements along the axis of frequencies only the first n_fft / 2 + 1. Default: that x is real; of istft,
  // that x has as many.
  std::optional<bool> onesided = {};
};

// The transforms of overlapping frames of n_fft elements of x [..., n], times the window: c64 [..., frequencies,
// frames], with 1 + (n - n_fft) / hop_length frames, n counting padding. x is real (integers are taken as f32) or c64,
// then not onesided. PyTorch's stft. Throws InvalidArgument (an undefined Tensor, a length out of range), ShapeError (x
// without axes or shorter than a frame, or than half a frame that is reflected; a window of another shape), TypeError.
Tensor stft(const Operand& x, std::int64_t n_fft, const StftOptions& options = {});

// The signal [..., length] whose stft comes nearest to x [..., frequencies, frames], by least squares: the inverse
// transforms times the window, added where they overlap and divided by the sum of the windows' squares. f32, or c64
// with `complex` (x then is not onesided). `length`: the signal's, which is cut, or filled up with zeros behind the
// last frame; default: what the frames cover, with `center` without half a frame at both ends. PyTorch's istft. Source:
// Griffin and Lim, "Signal Estimation from Modified Short-Time Fourier Transform", 1984. Throws what stft() throws, and
// InvalidArgument where the sum of squares is below 1e-11, if the host has the window's values; else elements there are
// NaN or infinite.
Tensor istft(const Operand& x, std::int64_t n_fft, const StftOptions& options = {},
             std::optional<std::int64_t> length = {}, bool complex = false);

// ---- Convolution

// y[k] = Σ a[j] · b[k - j] along an axis, of the same place in both from the end, by Fourier transforms of a fast
// length, in O(n log n) steps; other axes broadcast. Of real numbers or c64; the result has the operands' common type,
// of integers f32. An infinite or NaN element makes its whole row NaN. SciPy's fftconvolve. Throws InvalidArgument (an
// undefined Tensor, an axis that an operand does not have), ShapeError (no elements along the axis, shapes that do not
// broadcast) and TypeError.
Tensor fft_convolve(const Operand& a, const Operand& b, ConvolveMode mode = ConvolveMode::full, int axis = -1);

// ---- Linear filters along an axis, for real numbers and c64 of the types that b, a, x and the state have in common;
// integers are taken as f32, f16 and bf16 are computed in f32, f64 on the cpu. Blocks of 256 elements are computed side
// by side, and their states by about log2(n / 256) steps: no step waits for the element before. They have derivatives
// for coefficients, signals and states. Errors are of the size of those of the recurrence itself in the same type: with
// h, the response of 1 / a to an impulse, and p and q coefficients they are within 2^-24 (f64: 2^-53) times (p + 512)
// |h| ∗ |b| ∗ |x| + (q + 1) |h| ∗ |a| ∗ |h| ∗ |b| ∗ |x|, where h has decayed within 256 elements. Filters that are
// slower, or of an order above 4, have more digits as sosfilt(). From the first element on that is NaN or infinite
// results are NaN, unless a is of one coefficient. Throw InvalidArgument (an undefined Tensor, an a[0] of 0 that the
// host has), ShapeError and TypeError.

// What a filter gives of a part of a signal: the filtered part, and the state from which the next part goes on.
struct FilterResult {
  Tensor y, state;
};

// y with a[0] y[t] = Σ_j b[j] x[t - j] - Σ_j a[j] y[t - j], j ≥ 1, of coefficients b [p] and a [q], x and y being 0 in
// front of x. SciPy's lfilter.
Tensor lfilter(const Operand& b, const Operand& a, const Operand& x, int axis = -1);
// The same from a state, of x's shape with max(p, q) - 1 elements along the axis (other axes broadcast), and the state
// behind x: SciPy's lfilter with zi and zf. It is what is still to be added to the next results, of the transposed
// direct form II. An undefined one is 0.
FilterResult lfilter(const Operand& b, const Operand& a, const Operand& x, const Operand& state, int axis = -1);
// A cascade of filters of the second order, [sections, 6] with the rows b0, b1, b2, a0, a1, a2: lfilter() by the first
// row, of its result by the second, and so on. SciPy's sosfilt, which wants each a0 to be 1.
Tensor sosfilt(const Operand& sos, const Operand& x, int axis = -1);
// The same from states [sections, …], each of x's shape with 2 elements along the axis, and the states behind x:
// SciPy's sosfilt with zi and zf.
FilterResult sosfilt(const Operand& sos, const Operand& x, const Operand& state, int axis = -1);

// ---- Cosine transforms along an axis of n elements, to which x is cut or filled up with zeros; x's size by default.
// Reals; the result has x's type, of integers f32. SciPy's dct and idct of these types. Norms are those of weft/fft.h
// for 2n elements, and `ortho` makes the transform orthogonal. Throw InvalidArgument (an undefined Tensor, a length
// below 1, an axis that x does not have, another type) and TypeError.

// Type 2: y[k] = 2 Σ x[j] cos(π k (2j + 1) / 2n). Type 3: y[k] = x[0] + 2 Σ x[j] cos(π (2k + 1) j / 2n), j from 1 on.
Tensor dct(const Operand& x, int type = 2, std::optional<std::int64_t> n = {}, int axis = -1,
           FftNorm norm = FftNorm::backward);
// The inverse of dct() of this type: the other type, divided by 2n unless the norm says otherwise.
Tensor idct(const Operand& x, int type = 2, std::optional<std::int64_t> n = {}, int axis = -1,
            FftNorm norm = FftNorm::backward);

// ---- Hadamard transforms

// scale · H x along the last axis of x [..., n], of f32, f16 or bf16, computed in f32; default of the scale: 1 /
// sqrt(n), with which the transform is orthogonal. H of a power of two is Sylvester's, whose element (i, j) is -1 to
// the number of bits that i and j have in common, and its own transpose. n may also be 12, 20 or 28 times a power of
// two: H is then the Kronecker product of that matrix, by Paley (1933) or Williamson (1944), and Sylvester's. MLX's
// hadamard_transform. Throws InvalidArgument (an undefined Tensor), ShapeError (another n) and TypeError.
Tensor hadamard_transform(const Operand& x, std::optional<double> scale = {});

}  // namespace weft
