// Putting expressions together.
#pragma once

#include <span>
#include <vector>

#include "weft/expression.h"

namespace weft::compiler {

// Adds what `from` computes to `to`: input i of `from` is node args[i]. Nodes that are there already are used again.
// Returns the nodes of from's outputs.
std::vector<int> splice(Expression& to, const Expression& from, std::span<const int> args);

// True if computing it twice costs less than a trip through memory: a few operations, none of them a function.
bool is_cheap(const Expression& expression);

}  // namespace weft::compiler
