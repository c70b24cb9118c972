// Functions of tensors against cases that a script of tests/reference wrote.
#pragma once

#include <map>
#include <string>

#include "support/array_functions.h"
#include "weft/axes.h"
#include "weft/device.h"

namespace weft::test {

using FunctionTable = std::map<std::string, ArrayFunction>;

// Calls the functions that the cases of tests/data/FOLDER/FILE name, on the default device, and compares values, types
// and shapes. A software GPU, which spends its time on compiling shaders, takes some of each function's cases; f64 is
// the cpu's alone. Functions of the table without a case fail.
void expect_reference_values(const std::string& folder, const std::string& file, const FunctionTable& functions);

// A case's arguments.
template <class T>
T argument(const ArrayCall& c, const char* name, T otherwise) {
  return c.arguments.value(name, otherwise);
}
inline Axes axes_of(const ArrayCall& c) {
  return c.arguments.contains("axes") ? Axes(c.arguments.at("axes").get<std::vector<int>>()) : Axes();
}
inline bool keep_dims_of(const ArrayCall& c) { return argument(c, "keep_dims", false); }

}  // namespace weft::test
