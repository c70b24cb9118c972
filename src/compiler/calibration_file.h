// Calibrations on disk: a JSON file for each adapter, driver and version of Weft.
#pragma once

#include <string>
#include <utility>

#include "weft/device.h"

namespace weft::compiler {

// Name and driver; of the cpu its model and the number of cores.
std::pair<std::string, std::string> identity_of(const Device& device);

}  // namespace weft::compiler
