// Cases of ONNX's backend tests: folders with a model, and with inputs and the outputs that are expected.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "check_report.h"
#include "weft/device.h"

namespace weft::app {

// The folders in and below these that have a model.onnx and a test_data_set_0, in the order of their names. Throws
// IoError for one that has none.
std::vector<std::filesystem::path> onnx_cases(const std::vector<std::string>& folders);

// Outputs are as expected if they have its type and shape, and each element is within 1e-3 of the expected one's
// magnitude and 1e-5 (for f16 and bf16 1e-2, for 8-bit floats 1/8: a step of theirs); NaN is NaN, and integers are
// equal.
CaseResult run_onnx_case(const std::filesystem::path& folder, const Device& device,
                         const std::optional<Device>& fallback = {});

}  // namespace weft::app
