// A profile of the whole program, which Flag::profile_to asks for.
#pragma once

#include "weft/device.h"

namespace weft::profile {

// If the flag names a file, profiles the device from now on, and writes the profile to that file when the program ends
// (from main() or by exit()). Only the first device of the process.
void write_at_exit(const Device& device);

}  // namespace weft::profile
