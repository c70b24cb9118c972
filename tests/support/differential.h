// Differential tests: each kernel names a generator of random problems (types, ranks 0 to 8, strides, offsets,
// broadcasts), and every problem runs on a device and on its CPU twin (run_both).
//
// One test for each kernel and device. WEFT_DIFFERENTIAL_CASES sets how many problems each runs (a nightly run takes
// thousands; the default is a seeded few), WEFT_SEED where they begin. A failure prints the seed that makes it again.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/kernel_test.h"

namespace weft::test {

struct Problem {
  std::string what;  // types, shapes and options, for the report
  std::vector<View> inputs, outputs;
  KernelCall call;
  Tolerance tolerance;
};

using Generator = std::function<Problem(Rng& rng)>;

// At namespace scope: const bool registered = differential("copy", [](Rng& rng) { … });
bool differential(const std::string& kernel, Generator generator);
// Called by main, once all have registered.
void register_differential_tests();

// What generators are made of.
int random_int(Rng& rng, int low, int high);  // low…high
template <class T>
const T& pick(Rng& rng, std::span<const T> values) {
  return values[rng() % values.size()];
}
template <class T, std::size_t n>
const T& pick(Rng& rng, const T (&values)[n]) {
  return values[rng() % n];
}
// Of `min_rank`…`max_rank` dimensions and at most about `most` elements; sizes 1 and odd sizes are common, size 0 rare
// and only if `zero`.
Shape random_shape(Rng& rng, int min_rank = 0, int max_rank = 8, std::int64_t most = 4096, bool zero = true);
// A shape that broadcasts to `target`: some leading dimensions gone, some sizes 1.
Shape random_broadcast(Rng& rng, const Shape& target);
Kind random_input_kind(Rng& rng);
Kind random_output_kind(Rng& rng);

}  // namespace weft::test
