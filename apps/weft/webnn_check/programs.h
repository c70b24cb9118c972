// Programs of WebNN: calls of its interfaces in order, and what each should do.
#pragma once

#include "check_report.h"
#include "core/json_reader.h"
#include "weft/device.h"

namespace weft::app {

// Every context that the program creates is on that device.
CaseResult run_program(const Device& device, const JsonReader& program);

}  // namespace weft::app
