// Differential tests: each kernel has a generator of random problems (types, ranks 0 to 8, strides, offsets,
// broadcasts), and every problem runs on a device and on the CPU (run_both), then again with a NaN in one of its
// inputs.
//
// Shaders depend on a problem's form; WEFT_DIFFERENTIAL_ALIKE problems of each form differ in sizes, strides and values
// (Rng). Each kernel runs WEFT_DIFFERENTIAL_CASES problems on each device (by default a small fixed number, in nightly
// runs many), with forms numbered from WEFT_SEED on. A failure prints the seed that reproduces it, and the program
// prints at its end how many problems it ran.
//
// A quarter as many run on a device whose bindings are too small for most of them ("narrow"): there a kernel works in
// chunks, or refuses by name.
//
// Many problems are divided into several tests for each kernel and device, so that processes can share them
// (GTEST_TOTAL_SHARDS, GTEST_SHARD_INDEX). After WEFT_DIFFERENTIAL_SECONDS, if it is set, the rest is skipped.
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
  // Set where the CPU's form is not the reference: then this is the reference, and the CPU is compared with it too.
  KernelCall reference;
  // A form that a GPU does not choose for tensors this small; only for views that have passed the call's own checks and
  // have elements.
  KernelCall form;
  // The inputs, by their numbers, in which a NaN arrives where the kernel says; empty: in all.
  std::vector<std::size_t> nan_inputs = {};
  // The call to compare: `call`, or `form` on a GPU.
  KernelCall drawn() const;
};

using Generator = std::function<Problem(Rng& rng)>;

// At namespace scope: const bool registered = differential("copy", [](Rng& rng) { … });
// For a kernel whose shaders take `cost` times as long to compile as others', that many times fewer forms run, each
// with more problems. `problems`: how many run by default on each device, with a form each; where they are fewer, each
// device draws others.
inline constexpr int kDefaultProblems = 12;
bool differential(const std::string& kernel, Generator generator, int cost = 1, int problems = kDefaultProblems);
// Called by main, after all have registered.
void register_differential_tests();
// The kernels that are registered, and a problem of one of them, for other tests.
std::vector<std::string> differential_kernels();
Problem random_problem(const std::string& kernel, Rng& rng);

// Building blocks of generators.
int random_int(Rng& rng, int low, int high);  // low…high; of sizes and values: random_int(rng.details(), …)
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
