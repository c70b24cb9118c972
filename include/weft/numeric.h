// Numerical functions of samples: interpolation, integrals and differences, convolution of signals, polynomials.
// NumPy's and SciPy's functions of these names. diff() is in weft/array.h.
//
//   Tensor y = interp(x, tensor({0, 1, 2}), tensor({3, 5, 4}));
//   Tensor s = convolve(signal, window, ConvolveMode::same);
//
// Axes may be negative. Floats keep their type, integers and bool are computed as f32. They record what is to be
// computed, and have derivatives. They throw InvalidArgument (an undefined Tensor), ShapeError and TypeError.
#pragma once

#include <cstdint>
#include <numbers>
#include <optional>
#include <vector>

#include "weft/tensor.h"

namespace weft {

// ---- Interpolation, integrals and differences. c64 is a TypeError for interp(), unwrap() and coordinates. Distances
// between points, samples and coordinates may be past the range of their type, as may be a `distance`, which is a
// number of f64 whatever the type. A period is one of the type in which it is computed, f32 or f64, as is its half.

struct InterpOptions {
  std::optional<double> left = {};   // below the first point; default: its value
  std::optional<double> right = {};  // above the last point; default: its value
  // The line repeats after so much: points are in any order, and there is no left and right. Not 0.
  std::optional<double> period = {};
};
// The value at x, of any shape, of the line through the points (points[i], values[i]), both of rank 1 and as long, one
// point at least: points ascend, which is not checked. NaN for NaN, and with a period for infinities. Throws
// InvalidArgument for a period that is 0 or not finite in that type.
Tensor interp(const Operand& x, const Operand& points, const Operand& values, const InterpOptions& options = {});

// The integral along an axis by the trapezoidal rule, of samples at this distance: Σ distance · (y[i] + y[i + 1]) / 2;
// 0 of a single sample.
Tensor trapezoid(const Operand& y, double distance = 1, int axis = -1);
// The same of samples at these coordinates: of rank 1, or of y's rank and broadcast to it.
Tensor trapezoid(const Operand& y, const Operand& coordinates, int axis = -1);
// The integral up to each sample but the first along an axis, which is one shorter: SciPy's. With `initial` it begins
// with that, and is as long as y.
Tensor cumulative_trapezoid(const Operand& y, double distance = 1, int axis = -1, std::optional<double> initial = {});
// The same of samples at these coordinates: of rank 1, or of y's rank and broadcast to it.
Tensor cumulative_trapezoid(const Operand& y, const Operand& coordinates, int axis = -1,
                            std::optional<double> initial = {});

// How gradient() takes the first and the last sample: by two points, or by three, so that it is exact for parabolas.
enum class EdgeOrder : std::uint8_t { first, second };
// The derivative along an axis of samples at this distance: half the difference of the neighbours, at the ends that of
// two samples or of three. Throws ShapeError for less than two samples, or three with EdgeOrder::second.
Tensor gradient(const Operand& f, int axis, double distance = 1, EdgeOrder edges = EdgeOrder::first);
// The same of samples at these coordinates, of rank 1: between neighbours at two distances exact for parabolas.
Tensor gradient(const Operand& f, int axis, const Operand& coordinates, EdgeOrder edges = EdgeOrder::first);
// The derivatives along all axes.
std::vector<Tensor> gradient(const Operand& f);

// x with multiples of the period added along an axis, so that neighbours differ by no more than half of it; differences
// that are no more than `discontinuity` stay (default: half the period, and never less). Floats alone. Throws
// InvalidArgument for a period that is not more than 0 and finite in the type.
Tensor unwrap(const Operand& x, int axis = -1, double period = 2 * std::numbers::pi,
              std::optional<double> discontinuity = {});

// ---- Convolution of signals, of rank 1.

// Which places of the one signal along the other are computed, for n and m elements.
enum class ConvolveMode : std::uint8_t {
  full,   // all at which they overlap: n + m - 1
  same,   // the middle of these: max(n, m); of fft_convolve() n, as in SciPy
  valid,  // those at which they overlap in full: max(n, m) - min(n, m) + 1
};
// Σ_j a[j] · b[i - j]. The operands are converted to the type that they have in common; floats and c64 keep it.
// Integers of 8 bits or more are exact: they wrap in the type that sum() has for them, i64 and u64 in their own, and of
// bool it is whether some product is true, as in NumPy. f32 and c64 signals of which the shorter has 1024 elements and
// more go by fft(): their errors are relative to the largest result, and NaN or an infinity reaches all results. Throws
// ShapeError for another rank, and for signals without elements, TypeError for integers below 8 bits.
Tensor convolve(const Operand& a, const Operand& b, ConvolveMode mode = ConvolveMode::full);
// Σ_j a[i + j] · conj(b[j]), NumPy's correlate: as convolve() with b reversed and, of complex numbers, conjugated.
Tensor correlate(const Operand& a, const Operand& b, ConvolveMode mode = ConvolveMode::valid);

// ---- Polynomials.

// coefficients[0] x^(n - 1) + … + coefficients[n - 1] by Horner's rule, of x's shape; 0 without coefficients, which are
// of rank 1 (else ShapeError). Each of them is an operation.
Tensor polyval(const Operand& coefficients, const Operand& x);
// The coefficients, of the highest power first, of the polynomial of that degree with the least sum of squares of
// weights · (y - polyval(coefficients, x)) at samples x [n], real, and y [n], or [n, k] of k functions: [degree + 1],
// or [degree + 1, k]. Weights [n] are 1 by default. By lstsq_svd() of the powers of x, each scaled to norm 1; of powers
// that are not independent, as of fewer samples than coefficients, the scaled coefficients are the shortest, and
// singular values of no more than `rcond` times the largest count as 0, by default n times the distance from 1 to the
// next number (2^-23, of f64 2^-52). f16 and bf16 are computed in f32. NumPy's polyfit. Throws InvalidArgument for a
// negative degree, ShapeError for other shapes and for no samples.
Tensor polyfit(const Operand& x, const Operand& y, std::int64_t degree, const Operand& weights = {},
               std::optional<double> rcond = {});

}  // namespace weft
