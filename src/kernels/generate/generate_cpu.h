// The CPU kernels of ranges; all other generators are expressions on both devices.
#pragma once

#include "cpu/executor.h"
#include "weft/view.h"

namespace weft::kernels {

// How linspace() goes from start to stop: the first `from_start` numbers are start + i · step, the others
// stop - (count - 1 - i) · back. Between finite numbers it goes half the way from either end. Else all but the last one
// are counted from the start, which makes them infinite or NaN, as in NumPy's numpy.linspace.
struct Distances {
  double step, back;
  std::int64_t from_start;
};
Distances distances(double start, double stop, std::int64_t count);

void arange_cpu(cpu::Executor& executor, double start, double step, const View& y);
void arange_cpu(cpu::Executor& executor, std::uint64_t start, std::uint64_t step, const View& y);
void linspace_cpu(cpu::Executor& executor, double start, double stop, const View& y);

}  // namespace weft::kernels
