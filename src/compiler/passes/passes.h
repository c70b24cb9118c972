// The list of the compiler's passes.
#pragma once

#include "compiler/target.h"
#include "weft/compile.h"

namespace weft::compiler {

struct PassContext {
  Target target;
  CompileOptions options;
  std::vector<PrecisionDecision>* decisions = nullptr;  // where they are reported; null: nowhere
};

struct Pass {
  std::string_view name;
  Graph (*run)(const Graph& graph, const PassContext& context);
  bool CompileOptions::* enabled = nullptr;  // the option that turns it off; none: always
};

// In the order in which they run.
std::span<const Pass> passes();

// Runs one pass, on the graph and on the subgraphs of its ops.
Graph run(const Pass& pass, const Graph& graph, const PassContext& context);

// Runs all passes. The time and result of each are logged under the topic "passes".
Graph run_passes(const Graph& graph, const PassContext& context);

}  // namespace weft::compiler
