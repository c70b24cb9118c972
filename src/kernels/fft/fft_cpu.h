// Fourier transforms on the CPU, in f64.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "cpu/executor.h"
#include "kernels/fft/problem.h"

namespace weft::kernels {

void fft_cpu(cpu::Executor& executor, const FftProblem& problem);

// The forward transform of one row, of any length.
std::vector<std::complex<double>> transform(std::vector<std::complex<double>> x);

}  // namespace weft::kernels
