// Data cases of WebNN: a graph with its inputs, and the outputs that it should have.
#pragma once

#include "check_report.h"
#include "core/json_reader.h"
#include "weft/webnn.h"

namespace weft::app {

// Builds, dispatches and compares. On a GPU a case passes only if a kernel ran for it.
CaseResult run_data_case(const webnn::Context& context, const JsonReader& test_case);

}  // namespace weft::app
