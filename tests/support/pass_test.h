// What tests of the compiler's passes share: a graph, and what a pass makes of it as text.
#pragma once

#include <gtest/gtest.h>

#include <sstream>

#include "compiler/rewrite.h"
#include "graph/graph.h"

namespace weft::compiler {

struct PassTest : testing::Test {
  Value f32(const Shape& shape) { return graph.input(std::format("x{}", next++), DType::f32, shape); }

  // The graph after a pass, a node a line, without inputs and without the fields' names.
  std::string after(Graph (*pass)(const Graph&, const PassContext&)) {
    const Graph result = pass(graph, context);
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
