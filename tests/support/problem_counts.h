// Counts random problems: at its end the test program prints how many it ran, and which failed.
#pragma once

#include <string>

namespace weft::test {

// Counts a problem of that kind; `failed`: how to reproduce it, or empty if it passed.
void count_problem(const std::string& kind, const std::string& failed = {});
// Called by main at the end. Prints nothing if nothing was counted.
void print_problem_counts();

}  // namespace weft::test
