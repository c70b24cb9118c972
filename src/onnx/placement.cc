#include "onnx/placement.h"

#include "compiler/plan_calls.h"
#include "compiler/schedule.h"
#include "core/format.h"
#include "weft/error.h"

namespace weft::onnx {
namespace {

// The kernels that a message of plan_calls() lists, in one line: each once.
std::string kernels_of(std::string_view message) {
  std::string text;
  for (std::size_t at = message.find('\n'); at != message.npos;) {
    const std::size_t end = message.find('\n', at + 1);
    std::string_view line = message.substr(at + 1, end == message.npos ? end : end - at - 1);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    if (text.find(line) == std::string::npos) text += (text.empty() ? "" : "; ") + std::string(line);
    at = end;
  }
  return text.empty() ? std::string(message) : text;
}

}  // namespace

std::string in_words(const NodeProto& node) {
  std::string name = node.name;
  for (std::size_t i = 0; name.empty() && i < node.outputs.size(); ++i) name = node.outputs[i];
  return std::format("'{}' ({}{}{})", name, node.domain, node.domain.empty() ? "" : ".", node.op_type);
}

Placement find_refused(const Source& source, const Known& known,
                       const std::map<std::string, std::size_t, std::less<>>& sequences, const Device& device,
                       const CompileOptions& options) {
  Placement found;
  const DefaultDeviceScope here(device);
  const auto each = [&](std::size_t index, const NodeProto&, Graph& graph, const Unsupported* error) {
    if (error) {
      found.lacking.emplace(index, error->what());
      return;
    }
    if (graph.outputs().empty()) return;  // computed while the graph is made
    try {
      compiler::Schedule schedule = compiler::make_schedule(optimized(graph, device, options), graph.impl().captured());
      compiler::plan_calls(schedule, device, kernels::PlanFor::inspection);
    } catch (const Unsupported& e) {
      found.refused.emplace(index, kernels_of(e.what()));
    }
  };
  Graph unused;
  Tracer tracer(source, unused, known, {.each_alone = each});
  try {
    (void)tracer.trace(sequences);
  } catch (const NeedsElements&) {
  } catch (const Error&) {
    // What was found comes first: it is why the nodes are looked at.
  }
  return found;
}

}  // namespace weft::onnx
