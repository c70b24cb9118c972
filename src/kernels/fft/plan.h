// How a Fourier transform of some length is done: by which factors, in which passes, with which tables.
#pragma once

#include <complex>
#include <cstdint>
#include <span>
#include <vector>

namespace weft::kernels {

// exp(-2πi k / n), each part rounded to f64 about once. 0 <= k < n <= 2⁶¹.
std::complex<double> root_of_unity(std::uint64_t k, std::uint64_t n);
// exp(-πi k² / n) for k < n: Bluestein's chirp.
std::vector<std::complex<double>> chirp(std::int64_t n);
// Its conjugate, divided by m, as the kernel of a circular convolution of m elements; its transform is the filter.
std::vector<std::complex<double>> chirp_kernel(std::span<const std::complex<double>> chirp, std::int64_t m);

// The largest prime that a stage takes.
constexpr int kLargestPrime = 13;
// The primes of n in ascending order, with repetitions.
std::vector<std::int64_t> primes_of(std::int64_t n);
// True if no prime of n exceeds kLargestPrime.
bool is_smooth(std::int64_t n);
// A length of at least `n` whose primes are at most 5, and whose transform is expected to be the cheapest.
std::int64_t smooth_length(std::int64_t n);

// A smooth n as the product of as few radices of at most `largest` as possible, the largest of them first.
std::vector<int> radices_of(std::int64_t n, int largest);
// A smooth n as the product of as few factors as possible, none above `limit`, that are as equal as possible. Empty if
// there are none.
std::vector<std::int64_t> pass_lengths(std::int64_t n, std::int64_t limit);

}  // namespace weft::kernels
