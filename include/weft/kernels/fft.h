// Discrete Fourier transforms along an axis, of any length. Conventions that all kernels share are in weft/kernels.h.
#pragma once

#include <cstdint>

#include "weft/attributes.h"
#include "weft/kernels/fusion.h"
#include "weft/stream.h"
#include "weft/view.h"

namespace weft::kernels {

// Which of its two sides is real. A real signal's transform is Hermitian: element n - k is the conjugate of element k,
// so that only the elements 0 … n / 2 are kept.
enum class FftKind : std::uint8_t { complex, real_to_complex, complex_to_real };

struct FftOptions {
  std::int64_t length = 0;  // n
  bool inverse = false;     // the sign of the exponent is +
  double scale = 1;         // of the results

  void fields(AttributeVisitor& v) {
    v("length", length, "n, the number of elements that are transformed");
    v("inverse", inverse, false, "with +i in the exponent");
    v.brief("scale", scale, 1, "the factor of the results");
  }
};

// y[k] = scale · Σ x[j] exp(∓2πi jk / n) along `axis`, for j from 0 to n - 1, with n = options.length, at least 1.
//   complex           x c64, y c64 of n elements along the axis
//   real_to_complex   x f32, f16 or bf16, y c64 of n / 2 + 1 elements
//   complex_to_real   x c64, the first n / 2 + 1 elements of a Hermitian signal, y f32, f16 or bf16 of n elements; the
//                     imaginary parts of element 0, and of n / 2 if n is even, do not count
// Along the axis x may have any number of elements: those past what the transform takes are not read, and missing ones
// are 0. All other sizes of x and y are equal. y must not overlap x.
//
// Lengths whose primes are at most 13 are done by Stockham's mixed-radix algorithm, others by Bluestein's. Factors are
// computed in f64 and rounded once. GPUs compute in f32 (the CPU in f64): the root-mean-square error is at most
// 1.2e-7 · log2(n) of the largest result. An infinite or NaN element makes every result of its row NaN or infinite, but
// real ones in which its factor is 0.
//
// Transforms that a workgroup's memory does not hold pass through memory two times or more. Tensors past a binding are
// done in pieces of whole rows; Unsupported where a single row, or what Bluestein's algorithm pads it to, exceeds a
// binding of the device. Throws InvalidArgument.
void fft(Stream& stream, FftKind kind, const View& x, const View& y, int axis, const FftOptions& options,
         const Fusion& fusion = {});

}  // namespace weft::kernels
