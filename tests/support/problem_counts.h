// Counts of random problems, for runs over many of them: the program prints at its end how many it ran, and which
// failed.
#pragma once

#include <string>

namespace weft::test {

// One more of a kind; `failed`: empty, or how to make it again.
void count_problem(const std::string& kind, const std::string& failed = {});
// Called by main at the end. Says nothing where nothing was counted.
void print_problem_counts();

}  // namespace weft::test
