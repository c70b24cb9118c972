#include "compiler/passes/passes.h"

#include <chrono>
#include <format>

#include "compiler/passes/common_subexpressions.h"
#include "compiler/passes/expand_control_flow.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/fold_scales.h"
#include "compiler/passes/fuse.h"
#include "compiler/passes/fuse_attention.h"
#include "compiler/passes/fuse_elementwise.h"
#include "compiler/passes/fuse_layer_norm.h"
#include "compiler/passes/fuse_softmax.h"
#include "compiler/passes/hoist_views.h"
#include "compiler/passes/literals.h"
#include "compiler/passes/merge_extra_outputs.h"
#include "compiler/passes/merge_gates.h"
#include "compiler/passes/merge_maps.h"
#include "compiler/passes/merge_products.h"
#include "compiler/passes/quantized_products.h"
#include "compiler/passes/resolve_views.h"
#include "compiler/passes/round_shared.h"
#include "compiler/passes/simplify.h"
#include "compiler/passes/store_half.h"
#include "compiler/rewrite.h"
#include "weft/log.h"

namespace weft::compiler {
namespace {

constexpr auto kFusion = &CompileOptions::fusion;
constexpr auto kFolding = &CompileOptions::constant_folding;

constexpr Pass kPasses[] = {
    {"control flow", expand_control_flow},
    {"literals", literals},
    {"simplified", simplify, kFusion},
    {"quantised products", quantized_products, kFusion},  // before constants are dequantised
    {"constants", fold_constants, kFolding},
    {"folded scales", fold_scales, kFolding},
    {"scaled constants", fold_constants, kFolding},
    {"common subexpressions", common_subexpressions},
    {"softmax", fuse_softmax, kFusion},
    {"layer norm", fuse_layer_norm, kFusion},
    {"attention", fuse_attention, kFusion},
    {"rounded", round_shared, kFusion},
    {"regions", fuse_elementwise, kFusion},
    {"hoisted views", hoist_views, kFusion},
    {"elementwise", fuse_elementwise, kFusion},
    {"simplified regions", simplify, kFusion},
    {"merged gates", merge_gates, kFusion},
    {"fused products", fuse<FusionStage::product>, kFusion},
    {"merged products", merge_products, &CompileOptions::packed_qkv},
    {"merged constants", fold_constants, kFolding},
    {"fused reductions", fuse<FusionStage::reduction>, kFusion},
    {"fused rows", fuse<FusionStage::row>, kFusion},
    {"merged maps", merge_maps, kFusion},
    {"extra outputs", merge_extra_outputs, kFusion},
    {"precision", store_half},
    {"simplified casts", simplify, kFusion},
    {"narrow constants", fold_constants, kFolding},
    {"views", resolve_views},
};

}  // namespace

Graph run(const Pass& pass, const Graph& graph, const PassContext& context) {
  return rewrite_subgraphs(pass.run(graph, context), [&](const Graph& inner) { return run(pass, inner, context); });
}

std::span<const Pass> passes() { return kPasses; }

Graph run_passes(const Graph& graph, const PassContext& context) {
  const WithoutLabelScope none;
  Graph current = graph;
  for (const Pass& pass : kPasses) {
    if (pass.enabled && !(context.options.*pass.enabled)) continue;
    const auto start = std::chrono::steady_clock::now();
    current = run(pass, current, context);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
#ifndef NDEBUG
    current.verify();
#endif
    if (log_topic("passes")) {
      log_message(LogLevel::info, std::format("pass {}: {} nodes, {:.0f} µs\n{}", pass.name,
                                              current.impl().nodes().size(), took.count(), current.to_string()));
    }
  }
  return current;
}

}  // namespace weft::compiler
