// The list of what is done to a graph before it runs.
#pragma once

#include "compiler/target.h"
#include "weft/compile.h"

namespace weft::compiler {

struct PassContext {
  Target target;
  CompileOptions options;
  std::vector<PrecisionDecision>* decisions = nullptr;  // where they are reported, if somebody asks
};

struct Pass {
  std::string_view name;
  Graph (*run)(const Graph& graph, const PassContext& context);
  bool CompileOptions::* enabled = nullptr;  // the option that turns it off; none: always
};

// In the order in which they run.
std::span<const Pass> passes();

// One, on the graph and on those that its ops own.
Graph run(const Pass& pass, const Graph& graph, const PassContext& context);

// Runs them. Each one's time and result are logged under the topic "passes".
Graph run_passes(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
