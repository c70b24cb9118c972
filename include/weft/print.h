// Tensors as text, as NumPy writes arrays:
//
//   std::cout << x;      [[ 1.   2.5  3. ]
//                         [ 4.   5.  -6. ]]
//   print(x);            the same on standard output, and a new line
//
// Numbers have as few digits as tell them apart, and at most `precision` behind the point; columns are aligned. Of a
// large tensor the ends of each axis are shown, and only these are read. A type that is not f32, and a device that is
// not the default, stand behind the last bracket: [1 2 3] i32 on cpu.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>

#include "weft/future.h"
#include "weft/tensor.h"

namespace weft {

struct PrintOptions {
  int precision = 8;              // digits behind the point
  std::int64_t threshold = 1000;  // elements; larger tensors are summarised
  std::int64_t edge = 3;          // elements at each end of an axis that a summary shows
  int width = 75;                 // columns
  std::string separator = {};     // behind each element and bracket that another one follows: "," as in Python's lists
  bool suffix = true;             // whether type and device stand behind the last bracket
};

// Evaluates the tensor and waits. Throws what eval() does.
std::string to_string(const Tensor& x, const PrintOptions& options = {});
// The same without waiting, of the values that it has when everything submitted so far is done.
Future<std::string> async_to_string(const Tensor& x, const PrintOptions& options = {});
// Writes to_string(x) with the default options.
std::ostream& operator<<(std::ostream& out, const Tensor& x);
// Writes to_string(x, options) and a new line to standard output.
void print(const Tensor& x, const PrintOptions& options = {});

}  // namespace weft
