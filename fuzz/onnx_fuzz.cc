// Any bytes must be a model of ONNX, of which a graph is made that can be written again, or cause a typed error, in a
// bounded time.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "check.h"
#include "weft/error.h"
#include "weft/onnx.h"

namespace {

using namespace weft;

void load(std::span<const std::byte> bytes) {
  try {
    const onnx::Model model = onnx::Model::from_bytes(bytes, {.device = Device::cpu()});
    std::vector<onnx::NamedShape> shapes;
    for (const onnx::Port& port : model.inputs()) {
      if (!port.shape) continue;
      onnx::NamedShape& s = shapes.emplace_back(onnx::NamedShape{port.name, {}});
      for (const onnx::Dimension& d : *port.shape) {
        if (s.shape.rank() < kMaxRank) s.shape.push_back(d.size.value_or(2));
      }
    }
    const Graph graph = model.graph(shapes);
    graph.verify();
    FUZZ_CHECK(graph.hash() == Graph(graph).hash());
  } catch (const InternalError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    FUZZ_CHECK(false);
  } catch (const Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  load(std::as_bytes(std::span(data, size)));
  return 0;
}
