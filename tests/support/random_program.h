// Random programs of tensor operations, small and reproducible from a seed.
//
// A program is made by running it on the cpu with an evaluation after each operation; what a run that evaluates later,
// or on another device, may differ by follows from the operations. Integers, bool, and floats that were never rounded
// have to be the same; operations that are not continuous (comparisons, floor, argmax, …) take only such operands.
// Other floats have a bound on their error, which each operation carries on and adds its own rounding to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/tensor.h"

namespace weft::test {

struct ProgramStep {
  std::string text;           // "v7 = add(v3, v5)"
  std::vector<int> operands;  // values
  // Operands may be moved from.
  std::function<std::vector<Tensor>(std::vector<Tensor>& operands)> run;
  int results = 1;  // as many more values
};

// What evaluation after each operation gave.
struct ProgramValue {
  TensorType type;
  std::vector<double> elements;
  std::vector<std::byte> bytes;
  bool exact = true;
  double error = 0;  // how far an element may be from that, if it is not exact
  // Of floats: all are multiples of 2^-grid, and none is larger than top.
  int grid = 0;
  double top = 0;
};

struct RandomProgram {
  std::vector<ProgramStep> steps;
  std::vector<ProgramValue> values;
  std::string to_string() const;
};

// Makes a program of 5 to 50 operations; the default device is the cpu meanwhile.
RandomProgram random_program(unsigned seed);

}  // namespace weft::test
