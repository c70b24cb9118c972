// Outputs in the memory of inputs, as CompileOptions::donate asks for it.
//
//   donate cache → cache_out
//     cache_out = dynamic_update_slice(cache, …)     written where cache lies, after every other reader of cache
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/schedule.h"
#include "weft/compile.h"

namespace weft::compiler {

// Gives each output of a pair (input, output) the input's memory. A call that writes such an output comes after those
// that read the input, or reads it in place; where no order allows that, an intermediate takes the result, and a copy
// at the end moves it. Throws InvalidArgument: an unknown name, one that is given twice, different types.
std::vector<Donation> donate(Schedule& schedule, std::span<const std::pair<std::string, std::string>> pairs);

}  // namespace weft::compiler
