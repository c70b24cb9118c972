// The command line of apps/weft as a function of Python's.
#pragma once

#include "core.h"

namespace weft::python {

void add_command_line(nb::module_& m);

}  // namespace weft::python
