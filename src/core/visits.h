// Counts what walks over graphs and expressions look at: nodes, operands, terms of formulas. What visits a shared
// operand once for each path to it, or searches a list for each node, looks at more than it should; tests compare the
// count with the size of a graph, which says so on any machine.
#pragma once

#include <cstdint>

namespace weft {

// Since the thread began.
std::uint64_t visits();
void count_visits(std::uint64_t count = 1);

}  // namespace weft
