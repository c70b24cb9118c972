// weft run --compare: which node of a model computes something else than elsewhere.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "output.h"
#include "weft/onnx.h"

namespace weft::app {

struct CompareArguments {
  std::string with;  // "auto", "ort" or "cpu"; empty: nothing is compared
  std::string python = "python3";
  double tolerance = 1e-3;
};

// --compare, --tolerance and --python.
void add_compare_options(CLI::App& command, CompareArguments& arguments);

// Computes each node of the model on the operands that the reference computed, and compares its results with the
// reference's; then the outputs of the whole model. Floats agree if they differ by no more than the tolerance times the
// larger of the expected element's magnitude and the root mean square of all; integers if they are equal, those of 8
// bits if they differ by no more than 1, since they are rounded. Tells the first node that differs, with both values.
// Whether all agree. Results of random nodes are others in each run, and are told and not compared. Throws
// InvalidArgument where the reference is no other than the model's device, or is not installed.
bool compare(const std::string& path, const onnx::Model& model, const std::vector<onnx::NamedValue>& inputs,
             const CompareArguments& arguments, Output& out);

}  // namespace weft::app
