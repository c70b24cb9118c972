// Checks of a launcher's operands against the schema of its kernel.
#pragma once

#include <initializer_list>
#include <string_view>

#include "weft/view.h"

namespace weft::kernels {

// Throws InvalidArgument unless the operands fit the schema of the kernel of that name. Optional ones that are not
// given are null.
void check_views(std::string_view kernel, std::initializer_list<const View*> inputs,
                 std::initializer_list<const View*> outputs);

}  // namespace weft::kernels
