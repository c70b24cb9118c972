// Fourier transforms of any length: the fft extension of the array API standard, and NumPy's functions of these names.
//
//   Tensor spectrum = rfft(signal * hann_window(1024));          // c64, 513 elements along the last axis
//   Tensor power = square(abs(spectrum));
//   Tensor image = ifftn(fftn(photo, {}, {-2, -1}) * filter, {}, {-2, -1});
//
// Complex numbers are c64, and real ones f32, f16 or bf16, of which integers and booleans are taken as f32; f64 is a
// TypeError, since there is no complex type of that precision. Sums are computed in f32 on GPUs and in f64 on the cpu.
// All functions have derivatives of any order.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/axes.h"
#include "weft/tensor.h"

namespace weft {

// Which direction of a transform is multiplied, and by what: 1 / n the inverse one, 1 / sqrt(n) both, or 1 / n the
// forward one. n is the number of elements that are transformed, in all axes together.
enum class FftNorm : std::uint8_t { backward, ortho, forward };

// ---- Along one axis. `n`: the length of the signal, at least 1; x is cut to it or filled up with zeros at its end.
// Throw InvalidArgument (an undefined Tensor, a length below 1, an axis that x does not have), TypeError.

// y[k] = Σ x[j] · exp(-2πi jk / n), c64 of n elements along the axis; n is x's size there by default.
Tensor fft(const Operand& x, std::optional<std::int64_t> n = {}, int axis = -1, FftNorm norm = FftNorm::backward);
// The inverse: x[j] = 1/n Σ y[k] · exp(2πi jk / n).
Tensor ifft(const Operand& x, std::optional<std::int64_t> n = {}, int axis = -1, FftNorm norm = FftNorm::backward);
// The first n / 2 + 1 elements of fft(x) of a real x; the others are their conjugates in the opposite order.
Tensor rfft(const Operand& x, std::optional<std::int64_t> n = {}, int axis = -1, FftNorm norm = FftNorm::backward);
// The inverse of rfft: n real elements, by default 2 · (size - 1). Of x the first n / 2 + 1 elements count; of the
// imaginary parts of the first one and, if n is even, the last one nothing does.
Tensor irfft(const Operand& x, std::optional<std::int64_t> n = {}, int axis = -1, FftNorm norm = FftNorm::backward);
// The transform of a signal of which x is the first half and the second one its conjugate: n real elements, by default
// 2 · (size - 1).
Tensor hfft(const Operand& x, std::optional<std::int64_t> n = {}, int axis = -1, FftNorm norm = FftNorm::backward);
// The inverse of hfft: the first n / 2 + 1 elements of ifft(x) of a real x.
Tensor ihfft(const Operand& x, std::optional<std::int64_t> n = {}, int axis = -1, FftNorm norm = FftNorm::backward);

// ---- Along several axes, by default all, or the last ones where `sizes` are given: one for each axis, as `n` above.
// Throw what the functions above throw, and InvalidArgument for an axis that is named twice or another number of sizes.

// fft along each of the axes.
Tensor fftn(const Operand& x, const std::vector<std::int64_t>& sizes = {}, const Axes& axes = {},
            FftNorm norm = FftNorm::backward);
// The inverse: ifft along each of the axes.
Tensor ifftn(const Operand& x, const std::vector<std::int64_t>& sizes = {}, const Axes& axes = {},
             FftNorm norm = FftNorm::backward);
// rfft along the last of the axes, then fft along the others.
Tensor rfftn(const Operand& x, const std::vector<std::int64_t>& sizes = {}, const Axes& axes = {},
             FftNorm norm = FftNorm::backward);
// ifft along all axes but the last one, then irfft along that.
Tensor irfftn(const Operand& x, const std::vector<std::int64_t>& sizes = {}, const Axes& axes = {},
              FftNorm norm = FftNorm::backward);

// ---- Frequencies

// The frequencies of the results of fft, in cycles for each unit of which `spacing` lie between neighbours: 0, 1, …
// and then the negative ones, divided by n · spacing. f32 [n] by default. Throws InvalidArgument for n below 1, and
// TypeError for a type that is no float.
Tensor fftfreq(std::int64_t n, double spacing = 1, DType dtype = DType::f32);
// Those of rfft: [n / 2 + 1], none of them negative.
Tensor rfftfreq(std::int64_t n, double spacing = 1, DType dtype = DType::f32);
// x with the frequency 0 moved to the middle of the axes, by default all.
Tensor fftshift(const Operand& x, const Axes& axes = {});
// The inverse of fftshift.
Tensor ifftshift(const Operand& x, const Axes& axes = {});

}  // namespace weft
