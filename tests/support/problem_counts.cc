#include "support/problem_counts.h"

#include <format>
#include <iostream>
#include <map>
#include <vector>

namespace weft::test {
namespace {

struct Count {
  long problems = 0;
  std::vector<std::string> failed;
};
std::map<std::string, Count>& counts() {
  static std::map<std::string, Count> all;
  return all;
}

}  // namespace

void count_problem(const std::string& kind, const std::string& failed) {
  Count& count = counts()[kind];
  ++count.problems;
  if (!failed.empty()) count.failed.push_back(failed);
}

void print_problem_counts() {
  for (const auto& [kind, count] : counts()) {
    std::cout << std::format("[ PROBLEMS ] {}: {}, failed: {}\n", kind, count.problems, count.failed.size());
    for (const std::string& what : count.failed) std::cout << "[ PROBLEMS ]   " << what << "\n";
  }
}

}  // namespace weft::test
