// Shared by the tests of the compiler's passes: a graph, and the text of the graph after a pass.
#pragma once

#include <gtest/gtest.h>

#include <sstream>

#include "compiler/passes/literals.h"
#include "compiler/rewrite.h"
#include "graph/graph.h"

namespace weft::compiler {

struct PassTest : testing::Test {
  Tensor f32(const Shape& shape) { return graph.input(std::format("x{}", next++), DType::f32, shape); }

  // The graph after a pass, a node a line, without inputs and the names of fields.
  std::string after(Graph (*pass)(const Graph&, const PassContext&)) {
    // As when a graph is compiled, numbers are in expressions first.
    const Graph result = pass(literals(graph, context), context);
    result.verify();
    std::string text;
    std::istringstream lines(result.to_string());
    for (std::string line; std::getline(lines, line);) {
      if (line.find("= input{") == std::string::npos) text += line + "\n";
    }
    return text;
  }

  Graph graph;
  PassContext context;
  int next = 0;
};

}  // namespace weft::compiler
